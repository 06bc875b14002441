//! The records of all shards of a plan become the record of the whole run.

use parity_model::record::{CaseRecord, RunRecord, Shard};
use parity_report::text::describe;

use crate::{error::Error, provenance, records::Stored};

/// Why records do not make one run. Each names the files.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// No record was given.
    #[error("there is nothing to merge")]
    Nothing,
    /// A record of a whole run.
    #[error(
        "{0} is a whole run, not a shard; `parity run --shard I/N --output json --out FILE` writes shards"
    )]
    Whole(String),
    /// A record whose shard contradicts its cases.
    #[error(
        "{path}: its {} places do not fit its {cases} cases of {} planned; repeat the run of shard {}/{}",
        shard.places.len(), shard.planned, shard.index, shard.of
    )]
    Unsound {
        /// The file.
        path: String,
        /// Cases in it.
        cases: usize,
        /// What it says about its part.
        shard: Box<Shard>,
    },
    /// Records of different runs.
    #[error(
        "the records are not of one run: the {what} differs\n  {}: {}\n  {}: {}\nrun every shard with the same parity, \
         specs, backends and options",
        one.0, one.1, other.0, other.1
    )]
    OtherRun {
        /// What differs.
        what: &'static str,
        /// A file, and what it says of that.
        one: (String, String),
        /// Another file, and what it says.
        other: (String, String),
    },
    /// Two records of the same cases.
    #[error("{one} and {other} hold the same cases, both of shard {index}/{of}; name each shard once")]
    Twice {
        /// A file.
        one: String,
        /// The other file.
        other: String,
        /// Which part, from 1.
        index: usize,
        /// Parts in all.
        of: usize,
    },
    /// Shards without which the run is not whole.
    #[error("{missing} of {all} cases are missing: no record of shard {}", absent.join(", "))]
    Missing {
        /// Cases that are missing.
        missing: usize,
        /// Cases of the plan.
        all: usize,
        /// The shards, as `2/4`.
        absent: Vec<String>,
    },
}

/// The whole run of some shards, in any order. Its time is the sum of theirs, its start the first of theirs.
///
/// # Errors
/// Records that are no shards, not of one run, or not all of it.
pub fn merge(parts: Vec<Stored>) -> Result<RunRecord, Error> {
    if parts.is_empty() {
        return Err(MergeError::Nothing.into());
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
    let whole = whole.ok_or(MergeError::Nothing)?;
    Ok(RunRecord {
        seconds,
        started: started.unwrap_or_default(),
        planned,
        cases: placed.into_iter().map(|(_, case)| case).collect(),
        ..whole
    })
}

/// What a record says about its part, if that is sound.
fn shard(stored: &Stored) -> Result<&Shard, MergeError> {
    let Stored { path, run } = stored;
    let Some(shard) = &run.shard else {
        return Err(MergeError::Whole(path.clone()));
    };
    let ordered = shard.places.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = shard.places.last().is_none_or(|last| *last < shard.planned);
    if shard.places.len() != run.cases.len() || !ordered || !inside {
        return Err(MergeError::Unsound {
            path: path.clone(),
            cases: run.cases.len(),
            shard: Box::new(shard.clone()),
        });
    }
    Ok(shard)
}

/// Refuses parts that do not come from one run: what a single header line will say must be true of all of them.
fn same_run(a: &Stored, a_shard: &Shard, b: &Stored, b_shard: &Shard) -> Result<(), MergeError> {
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
        Some(((what, one), (_, other))) => Err(MergeError::OtherRun {
            what,
            one: (a.path.clone(), one),
            other: (b.path.clone(), other),
        }),
    }
}

/// Refuses parts that hold a case twice, or not all cases.
fn complete(parts: &[Stored], shards: &[&Shard]) -> Result<(), MergeError> {
    let mut owner: Vec<Option<&str>> = vec![None; shards[0].planned];
    for (part, shard) in parts.iter().zip(shards) {
        for &place in &shard.places {
            if let Some(other) = owner[place].replace(&part.path) {
                return Err(MergeError::Twice {
                    one: other.to_owned(),
                    other: part.path.clone(),
                    index: shard.index,
                    of: shard.of,
                });
            }
        }
    }
    let missing = owner.iter().filter(|owner| owner.is_none()).count();
    if missing == 0 {
        return Ok(());
    }
    let of = shards[0].of;
    let absent = (1..=of).filter(|index| shards.iter().all(|shard| shard.index != *index));
    let absent = absent.map(|index| format!("{index}/{of}"));
    Err(MergeError::Missing {
        missing,
        all: owner.len(),
        absent: absent.collect(),
    })
}
