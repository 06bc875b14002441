//! The records of all shards of a plan become the record of the whole run.

use parity_model::record::{CaseRecord, RunRecord, Shard};
use parity_report::text::describe;

use crate::{error::Error, provenance, records::Stored};

/// Records that are not the parts of one run.
fn refused(message: String) -> Error {
    Error::Data(message)
}

/// The whole run of some shards, in any order. Its time is the sum of theirs, its start the first of theirs.
///
/// # Errors
/// Records that are not shards, not of one run, or not all of it.
pub fn merge(parts: Vec<Stored>) -> Result<RunRecord, Error> {
    let nothing = || refused("there is nothing to merge".to_owned());
    if parts.is_empty() {
        return Err(nothing());
    }
    let shards = parts.iter().map(shard).collect::<Result<Vec<_>, _>>()?;
    for (other, its) in parts.iter().zip(&shards).skip(1) {
        same_run(&parts[0], shards[0], other, its)?;
    }
    complete(&parts, &shards)?;
    let planned = shards[0].planned;
    let seconds = parts.iter().map(|part| part.run.seconds).sum();
    // RFC 3339 in UTC sorts as text.
    let started = parts.iter().map(|part| part.run.started.clone()).min();
    let mut placed: Vec<(usize, CaseRecord)> = Vec::with_capacity(planned);
    let mut whole: Option<RunRecord> = None;
    for Stored { mut run, .. } in parts {
        let places = run.shard.take().map_or_else(Vec::new, |shard| shard.places);
        placed.extend(places.into_iter().zip(std::mem::take(&mut run.cases)));
        whole.get_or_insert(run);
    }
    placed.sort_by_key(|(place, _)| *place);
    let whole = whole.ok_or_else(nothing)?;
    Ok(RunRecord {
        seconds,
        started: started.unwrap_or_default(),
        planned,
        cases: placed.into_iter().map(|(_, case)| case).collect(),
        ..whole
    })
}

/// What a record says about its part, if that is sound.
fn shard(stored: &Stored) -> Result<&Shard, Error> {
    let Stored { path, run } = stored;
    let Some(shard) = &run.shard else {
        return Err(refused(format!(
            "{path} is a whole run, not a shard; `parity run --shard I/N --format json --out FILE` writes shards"
        )));
    };
    let ordered = shard.places.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = shard.places.last().is_none_or(|last| *last < shard.planned);
    if shard.places.len() != run.cases.len() || !ordered || !inside {
        return Err(refused(format!(
            "{path}: its {} places do not fit its {} cases of {} planned; repeat the run of shard {}/{}",
            shard.places.len(),
            run.cases.len(),
            shard.planned,
            shard.index,
            shard.of
        )));
    }
    Ok(shard)
}

/// Refuses parts that do not come from one run: what a single header line will say must be true of all of them.
fn same_run(a: &Stored, a_shard: &Shard, b: &Stored, b_shard: &Shard) -> Result<(), Error> {
    let facts = |run: &RunRecord, shard: &Shard| {
        let devices: Vec<_> = run
            .backends
            .iter()
            .map(|info| format!("{} = {}", info.backend, describe(info)))
            .collect();
        let mut facts = provenance::facts(run);
        facts.extend([
            (
                "backends",
                format!("{}; reference {}", devices.join("; "), run.reference),
            ),
            ("options", run.repro_args.join(" ")),
            ("number of shards", shard.of.to_string()),
            (
                "selection of cases",
                format!("{} cases, {}", shard.planned, shard.plan),
            ),
        ]);
        facts
    };
    let pairs = facts(&a.run, a_shard).into_iter().zip(facts(&b.run, b_shard));
    match pairs.into_iter().find(|(a, b)| a != b) {
        None => Ok(()),
        Some(((what, one), (_, other))) => Err(refused(format!(
            "the records are not of one run: the {what} differs\n  {}: {one}\n  {}: {other}\nrun every shard with the \
             same parity, specs, backends and options",
            a.path, b.path
        ))),
    }
}

/// Refuses parts that hold a case twice, or not all cases.
fn complete(parts: &[Stored], shards: &[&Shard]) -> Result<(), Error> {
    let mut owner: Vec<Option<&str>> = vec![None; shards[0].planned];
    for (part, shard) in parts.iter().zip(shards) {
        for &place in &shard.places {
            if let Some(other) = owner[place].replace(&part.path) {
                return Err(refused(format!(
                    "{other} and {} hold the same cases, both of shard {}/{}; name each shard once",
                    part.path, shard.index, shard.of
                )));
            }
        }
    }
    let missing = owner.iter().filter(|owner| owner.is_none()).count();
    if missing == 0 {
        return Ok(());
    }
    let of = shards[0].of;
    let absent = (1..=of).filter(|index| shards.iter().all(|shard| shard.index != *index));
    let absent: Vec<_> = absent.map(|index| format!("{index}/{of}")).collect();
    Err(refused(format!(
        "{missing} of {} cases are missing: no record of shard {}",
        owner.len(),
        absent.join(", ")
    )))
}
