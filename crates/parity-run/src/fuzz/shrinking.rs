//! The smallest case of each group. All groups are searched side by side, so that each start of the workers serves all of them.

use parity_exec::Stop;
use parity_model::{Case, findings::Findings};

use super::{
    FuzzProgress, FuzzSettings,
    bench::{Bench, Seen},
    groups::{Group, Groups, Key},
};
use crate::{error::Error, shrink::Search};

/// The smallest case that a search found for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The group.
    pub key: Key,
    /// The case's id.
    pub case: String,
    /// Cases that were run for it.
    pub runs: usize,
}

/// Searches the groups that the settings ask for.
pub(super) fn shrink(
    settings: &FuzzSettings,
    bench: &mut impl Bench,
    findings: &Findings,
    groups: &Groups,
    stop: &Stop,
    watch: &impl Fn(FuzzProgress),
) -> Result<Vec<Shrunk>, Error> {
    let wanted = groups
        .groups
        .iter()
        .filter(|(key, _)| settings.shrink_known || key.finding.is_none());
    let mut wanted: Vec<(&Key, &Group)> = wanted.collect();
    wanted.sort_by_key(|(key, group)| (key.finding.is_some(), std::cmp::Reverse(group.count)));
    wanted.truncate(settings.shrink_groups);
    let start = |(key, group): (&Key, &Group)| {
        let case: Case = group.case.parse().ok()?;
        Some((key.clone(), Search::new(case, settings.shrink_runs)))
    };
    let mut searches: Vec<(Key, Search)> = wanted.into_iter().filter_map(start).collect();
    let columns = bench.backends();
    loop {
        let batches: Vec<Vec<Case>> = searches.iter().map(|(_, search)| search.batch()).collect();
        let busy = batches.iter().filter(|batch| !batch.is_empty()).count();
        if busy == 0 || stop.requested() {
            break;
        }
        watch(FuzzProgress::Shrinking(busy));
        // A case that hangs costs its time limit each time: where a group is of such, there is one start after the other.
        let Some(seen) = bench.run(&batches.concat())? else {
            break;
        };
        let mut seen = seen.into_iter();
        for ((key, search), batch) in searches.iter_mut().zip(batches) {
            let column = columns.iter().position(|name| *name == key.backend);
            let results = seen.by_ref().take(batch.len());
            let fails = results.zip(&batch).map(|(results, case)| {
                let seen = column.and_then(|column| results.into_iter().nth(column));
                seen.is_some_and(|seen| alike(key, case, &seen, findings))
            });
            let fails: Vec<bool> = fails.collect();
            search.take(&fails);
        }
    }
    let shrunk = searches.into_iter().map(|(key, search)| Shrunk {
        key,
        case: search.case.id().to_string(),
        runs: search.runs,
    });
    Ok(shrunk.collect())
}

/// Whether a case fails as those of the group do: the same verdict, the same kind of outcome, explained by the same finding.
fn alike(key: &Key, case: &Case, seen: &Seen, findings: &Findings) -> bool {
    let known = || {
        findings
            .explain_drawn(&key.backend, case, seen.verdict)
            .map(|known| known.finding.name.as_str())
    };
    seen.verdict == key.verdict && seen.how == key.how && known() == key.finding.as_deref()
}
