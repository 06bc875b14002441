//! Whether the settings ask for the run that a journal holds. What differs is named, all of it.

use parity_model::{
    journal::{Header, Journal},
    record::BackendInfo,
};
use parity_report::text::describe;

use crate::{error::Error, provenance};

/// Refuses a journal of another run than `mine`; which devices serve it, [`same_devices`] compares.
pub(crate) fn same_run(journal: &Journal, mine: &Header) -> Result<(), Error> {
    refuse(facts(journal.header()).into_iter().zip(facts(mine)))
}

/// Refuses to go on with a run on other devices.
pub(crate) fn same_devices(journal: &Journal, mine: &[BackendInfo]) -> Result<(), Error> {
    let theirs = &journal.header().run.backends;
    let fact = |info: &BackendInfo| (format!("device of {}", info.backend), describe(info));
    refuse(theirs.iter().map(fact).zip(mine.iter().map(fact)))
}

/// Everything that a line of the journal must have in common with a line of this run, in words.
fn facts(header: &Header) -> Vec<(String, String)> {
    let Header { plan, run, cases, .. } = header;
    let shard = run.shard.as_ref();
    let shard = shard.map_or_else(
        || "all".to_owned(),
        |shard| format!("{}/{} of {}", shard.index, shard.of, shard.plan),
    );
    let column = |info: &BackendInfo| BackendInfo {
        // Known when the backend has answered.
        selector: None,
        ..info.clone()
    };
    let columns = run.backends.iter().map(column);
    let columns: Vec<_> = columns.filter_map(|info| info.option()).collect();
    // Specs are compared by what they say, not by where they are.
    let options = run
        .repro_args
        .iter()
        .filter(|arg| !arg.starts_with("--spec-dir "));
    let options: Vec<_> = options
        .filter(|arg| !arg.starts_with("--seed "))
        .cloned()
        .collect();
    let mut facts = provenance::facts(run);
    facts.extend([
        ("selection of cases", format!("{} cases, {plan}", cases.len())),
        ("part of the plan", shard),
        ("backends", columns.join(", ")),
        ("options", options.join(" ")),
    ]);
    let named = facts.into_iter().map(|(what, value)| (what.to_owned(), value));
    named.collect()
}

fn refuse(pairs: impl Iterator<Item = ((String, String), (String, String))>) -> Result<(), Error> {
    let differences: Vec<_> = pairs
        .filter(|((_, theirs), (_, mine))| theirs != mine)
        .map(|((what, theirs), (_, mine))| format!("\n  the {what}: `{theirs}` in the journal, `{mine}` now"))
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::Data(format!(
        "the journal is of another run; what differs:{}\ngo on with the command line, the specs and the parity that the run \
         began with, or begin another with --journal",
        differences.concat()
    )))
}
