//! A run of random cases as text and as JSON.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Value, json};

use super::{Group, Key, Report};
use crate::settings::quoted;

/// Groups that nothing explains, as text spells them out; JSON has all.
const MAX_GROUPS: usize = 200;

/// The line that repeats a case on the backend of its group. `with` are further options, each after a space.
fn repro(key: &Key, case: &str, with: &str) -> String {
    format!(
        "parity run --backend {} --case {}{with}",
        quoted(&key.backend),
        quoted(case)
    )
}

/// What a run came to, for people. `with` are the options that a repro needs besides.
pub fn text(report: &Report, with: &str) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = writeln!(
        page,
        "seed {}: {} cases in {} rounds, {:.1} s, {:.0} cases/s on {}",
        report.header.seed,
        report.cases,
        report.rounds,
        report.seconds,
        report.cases as f64 / report.seconds.max(1e-9),
        report.header.backends.join(", ")
    );
    if report.groups.left_out > 0 {
        let count = report.groups.left_out;
        let _ = writeln!(
            page,
            "{count} of them were drawn and not run: a finding says that they never end"
        );
    }
    for backend in &report.header.backends {
        let tally = report.groups.verdicts.get(backend);
        let words = tally
            .into_iter()
            .flatten()
            .map(|(verdict, count)| format!("{count} {verdict}"));
        let sum: u64 = tally.into_iter().flat_map(BTreeMap::values).sum();
        let _ = writeln!(
            page,
            "{backend}: {sum} = {}",
            words.collect::<Vec<_>>().join(" + ")
        );
    }
    explained(report, with, &mut page);
    found(report, &mut page);
    if let Some(least) = report.rediscover {
        let _ = writeln!(page, "\n{}", verdict(report, least));
        return page;
    }
    let unexplained: Vec<_> = report.unexplained().collect();
    if !unexplained.is_empty() {
        let _ = writeln!(page, "\nunexplained, {} groups:", unexplained.len());
    }
    for (key, group) in unexplained.iter().take(MAX_GROUPS) {
        let _ = writeln!(
            page,
            "\n{} {} on {} ({}; {}): {} cases, {}",
            key.op,
            key.verdict.name(),
            key.backend,
            key.how,
            key.class,
            group.count,
            group.note
        );
        let _ = writeln!(page, "  {}", repro(key, report.smallest(key, group), with));
    }
    if unexplained.len() > MAX_GROUPS {
        let more = unexplained.len() - MAX_GROUPS;
        let _ = writeln!(page, "\nand {more} groups more: --format json has them all");
    }
    let end = match (report.stopped, unexplained.len()) {
        (true, _) => STOPPED.to_owned(),
        (false, 0) => "ok: every failure is explained by a finding".to_owned(),
        (false, groups) => format!("{groups} groups of failures that no finding explains"),
    };
    let _ = writeln!(page, "\n{end}");
    page
}

/// What is said of a run that did not come to its end.
const STOPPED: &str = "stopped; --resume goes on with its journal, where it keeps one";

/// Whether a run showed as many findings as it has to.
fn verdict(report: &Report, least: f64) -> String {
    let share = report.share();
    match (report.stopped, report.passes()) {
        (true, _) => STOPPED.to_owned(),
        (false, true) => {
            format!("ok: {share:.1} % of the findings were found again, and {least} % have to be")
        }
        (false, false) => format!("{share:.1} % of the findings were found again, and {least} % have to be"),
    }
}

/// A line for each finding: how many cases show it, and the smallest.
fn explained(report: &Report, with: &str, page: &mut String) {
    let mut findings: BTreeMap<&str, (u64, usize, &Key, &Group)> = BTreeMap::new();
    for (key, group) in &report.groups.groups {
        let Some(name) = &key.finding else { continue };
        let known = findings.entry(name).or_insert((0, usize::MAX, key, group));
        known.0 += group.count;
        // The shortest id is the easiest to read.
        if group.case.len() < known.1 {
            (known.1, known.2, known.3) = (group.case.len(), key, group);
        }
    }
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(page, "\nexplained, {} findings:", findings.len());
    for (name, (count, _, key, group)) in findings {
        let _ = writeln!(
            page,
            "  {count:>7} {name}: {}",
            repro(key, report.smallest(key, group), with)
        );
    }
}

/// A line for each finding that a run without excuses shows, and the names of those that it could show and does not.
fn found(report: &Report, page: &mut String) {
    if report.sought.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "\nfound again, {} of {} findings that these backends can show, {:.1} % (cases that it explains alone + cases that others \
         explain, too):",
        report.sought.len() - report.missing().count(),
        report.sought.len(),
        report.share()
    );
    for (name, found) in &report.groups.found {
        let _ = writeln!(page, "  {:>7} + {:<6} {name}", found.alone, found.shared);
    }
    let missing: Vec<&str> = report.missing().collect();
    if !missing.is_empty() {
        let _ = writeln!(page, "not found: {}", missing.join(", "));
    }
}

/// What a run came to, all of it.
pub fn json(report: &Report, with: &str) -> Value {
    let group = |(key, group): (&Key, &Group)| {
        let smallest = report.smallest(key, group);
        json!({
            "finding": key.finding,
            "backend": key.backend,
            "op": key.op,
            "verdict": key.verdict,
            "how": key.how,
            "class": key.class,
            "count": group.count,
            "drawn": group.case,
            "note": group.note,
            "smallest": smallest,
            "repro": repro(key, smallest, with),
        })
    };
    json!({
        "header": report.header,
        "cases": report.cases,
        "rounds": report.rounds,
        "seconds": report.seconds,
        "stopped": report.stopped,
        "left_out": report.groups.left_out,
        "verdicts": report.groups.verdicts,
        "found": report.groups.found,
        "sought": report.sought,
        "share": report.share(),
        "groups": report.groups.groups.iter().map(group).collect::<Vec<_>>(),
    })
}
