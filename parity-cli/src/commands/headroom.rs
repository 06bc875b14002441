//! `parity headroom`: the limits of a stored run that are nearly used up, and those that are hardly used.

use std::fmt::Write;

use parity_model::record::RunRecord;
use parity_report::{agrees, share_text};

use crate::{
    args::HeadroomArgs,
    columns::columns,
    exit::{Exit, Failure},
    output::print,
    records::{self, Stored},
};

/// A limit used beyond this share has no room left for another input, compiler or card.
const TIGHT: f64 = 0.8;

/// A limit used below this share would let an error a hundred times as large pass.
const LOOSE: f64 = 0.01;

pub(crate) fn headroom(args: &HeadroomArgs) -> Result<Exit, Failure> {
    let stored = records::read(&args.record)?;
    let groups = groups(&stored.run);
    if groups.is_empty() {
        let message = format!("{} holds no result that agrees and has a value", stored.path);
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    print(&page(&stored, &groups))?;
    Ok(Exit::Ok)
}

/// The cases of one op and dtype that have the same limit, on all backends: a limit is for all of them.
#[derive(Debug, PartialEq)]
struct Group<'a> {
    op: &'a str,
    dtype: &'a str,
    limit: &'a str,
    /// Results that agree and have a value.
    results: usize,
    /// The largest share of a limit that any of them uses.
    used: f64,
    /// The backend and the case that use it.
    worst: (&'a str, &'a str),
}

impl Group<'_> {
    /// Whether there is no smaller limit.
    fn is_exact(&self) -> bool {
        ["exact", "same bits"]
            .iter()
            .any(|word| self.limit.starts_with(word))
    }
}

/// In order of first appearance.
fn groups(run: &RunRecord) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for case in &run.cases {
        for (info, result) in run.backends.iter().zip(&case.results) {
            let Some(metrics) = result.vs_oracle.as_ref().filter(|_| agrees(result.verdict)) else {
                continue;
            };
            // Nothing was compared, so nothing was used.
            if metrics.elements == 0 {
                continue;
            }
            let same = |group: &&mut Group<'_>| {
                (group.op, group.dtype, group.limit) == (&case.op, &case.dtype, &case.limit)
            };
            let worst = (info.backend.as_str(), case.id.as_str());
            match groups.iter_mut().rev().find(same) {
                Some(group) => {
                    group.results += 1;
                    if metrics.limit_used > group.used {
                        (group.used, group.worst) = (metrics.limit_used, worst);
                    }
                }
                None => groups.push(Group {
                    op: &case.op,
                    dtype: &case.dtype,
                    limit: &case.limit,
                    results: 1,
                    used: metrics.limit_used,
                    worst,
                }),
            }
        }
    }
    groups
}

fn page(stored: &Stored, groups: &[Group<'_>]) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_page(&mut page, stored, groups);
    page
}

fn write_page(page: &mut String, stored: &Stored, groups: &[Group<'_>]) -> std::fmt::Result {
    let exact = groups.iter().filter(|group| group.is_exact()).count();
    writeln!(
        page,
        "{}: {} limits, one for each op, dtype and source; {exact} are exact and have no room to speak of",
        stored.path,
        groups.len()
    )?;
    let mut tight: Vec<_> = groups.iter().filter(|group| group.used > TIGHT).collect();
    tight.sort_by(|a, b| b.used.total_cmp(&a.used));
    section(page, "used more than 80 %: another input may be outside", &tight)?;
    let (unused, mut loose): (Vec<_>, Vec<_>) = groups
        .iter()
        .filter(|group| group.used < LOOSE && !group.is_exact())
        .partition(|group| group.used == 0.0);
    loose.sort_by(|a, b| a.used.total_cmp(&b.used));
    section(
        page,
        "used less than 1 %: an error a hundred times as large would pass",
        &loose,
    )?;
    section(
        page,
        "not used at all: every result was exact here, which another library need not be",
        &unused,
    )
}

fn section(page: &mut String, title: &str, groups: &[&Group<'_>]) -> std::fmt::Result {
    writeln!(page, "\n{title}: {}", groups.len())?;
    let row = |group: &&Group<'_>| {
        let (backend, case) = group.worst;
        let plural = if group.results == 1 { "" } else { "s" };
        let mut row = vec![
            format!("{} {}", group.op, group.dtype),
            share(group.used),
            format!("{} result{plural}", group.results),
            group.limit.to_owned(),
        ];
        if group.used > 0.0 {
            row.push(format!("most on {backend}: {case}"));
        }
        row
    };
    page.push_str(&columns("  ", &groups.iter().map(row).collect::<Vec<_>>()));
    Ok(())
}

/// As in the tables, but small shares are told apart.
fn share(used: f64) -> String {
    match used {
        used if used > 0.0 && used < LOOSE => format!("{:.1e}%", used * 100.0),
        used => share_text(used),
    }
}
