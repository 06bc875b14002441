//! The pages of `parity selftest`: faults by family, and what goes unnoticed, as text and as JSON.

use std::fmt::Write;

use parity_model::{CaseId, DType, Family};
use parity_run::selftest::{Made, SelftestRun};
use parity_selftest::{PERTURBATIONS, Pair};
use serde_json::{Value, json};

use crate::columns::columns;

/// Cases of a list that text spells out.
const SHOWN: usize = 10;

pub(super) fn text(trial: &SelftestRun) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_text(&mut page, trial);
    page
}

fn write_text(page: &mut String, trial: &SelftestRun) -> std::fmt::Result {
    let tally = &trial.tally;
    writeln!(
        page,
        "{} cases, seed {}; right outputs: {} pass, {} untrusted, {} not passed",
        tally.cases,
        trial.seed,
        tally.cases - tally.untrusted - tally.refused.len(),
        tally.untrusted,
        tally.refused.len()
    )?;
    if trial.made == Made::All {
        writeln!(
            page,
            "\nwrong outputs noticed of those made, by fault and family:"
        )?;
        page.push_str(&columns("  ", &matrix(trial)));
        let untrusted: usize = trial.pairs.iter().map(|pair| pair.counts.untrusted).sum();
        writeln!(
            page,
            "of those noticed, as untrusted and not as a mismatch: {untrusted}"
        )?;
    }

    let survivors: Vec<_> = trial.pairs.iter().filter(|pair| pair.survives()).collect();
    section(page, "no case of the op notices", &survivors, |pair| {
        survivor_case(pair).unwrap_or_default()
    })?;
    let declared: Vec<_> = trial
        .pairs
        .iter()
        .filter(|pair| !pair.killed() && !pair.survives())
        .collect();
    section(
        page,
        "no case can notice, for a declared reason",
        &declared,
        |pair| pair.declared.unwrap_or_default().to_owned(),
    )?;
    let partly: Vec<_> = trial
        .pairs
        .iter()
        .filter(|pair| pair.killed() && !pair.blind.is_empty())
        .collect();
    section(page, "noticed, but in no case of some dtypes", &partly, |pair| {
        format!(
            "{}; {}",
            names(&pair.blind),
            survivor_case(pair).unwrap_or_default()
        )
    })?;
    verdict(page, trial)
}

/// A row a fault, a column a family, and a last one for all of them.
fn matrix(trial: &SelftestRun) -> Vec<Vec<String>> {
    let families: Vec<Family> = Family::ALL
        .iter()
        .copied()
        .filter(|family| trial.ops().any(|op| op.family() == *family))
        .collect();
    let cell = |pairs: &[&Pair]| {
        let (killed, all) = pairs.iter().fold((0, 0), |(killed, all), pair| {
            (killed + pair.counts.killed(), all + pair.counts.applicable())
        });
        if all == 0 {
            "-".to_owned()
        } else {
            format!("{killed}/{all}")
        }
    };
    let mut rows = vec![vec!["fault".to_owned()]];
    rows[0].extend(families.iter().map(|family| family.name().to_owned()));
    rows[0].push("all".to_owned());
    for perturbation in PERTURBATIONS {
        let of_all: Vec<&Pair> = trial
            .pairs
            .iter()
            .filter(|pair| pair.perturbation == perturbation.name)
            .collect();
        if of_all.is_empty() {
            continue;
        }
        let mut row = vec![perturbation.name.to_owned()];
        row.extend(families.iter().map(|family| {
            let of_family: Vec<&Pair> = of_all
                .iter()
                .copied()
                .filter(|pair| pair.op.family() == *family)
                .collect();
            cell(&of_family)
        }));
        row.push(cell(&of_all));
        rows.push(row);
    }
    rows
}

fn section(
    page: &mut String,
    title: &str,
    pairs: &[&Pair],
    more: impl Fn(&Pair) -> String,
) -> std::fmt::Result {
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(page, "\n{title}: {}", pairs.len())?;
    let row = |pair: &&Pair| {
        let op = format!("{}/{}", pair.op.family(), pair.op);
        vec![op, pair.perturbation.to_owned(), more(pair)]
    };
    page.push_str(&columns("  ", &pairs.iter().map(row).collect::<Vec<_>>()));
    Ok(())
}

/// `passes in unary/exp:…`: a case to look at.
fn survivor_case(pair: &Pair) -> Option<String> {
    pair.survivor.as_ref().map(|id| format!("passes in {id}"))
}

fn names(dtypes: &[DType]) -> String {
    dtypes
        .iter()
        .map(|dtype| dtype.name())
        .collect::<Vec<_>>()
        .join(", ")
}

fn verdict(page: &mut String, trial: &SelftestRun) -> std::fmt::Result {
    let refused = &trial.tally.refused;
    if !refused.is_empty() {
        writeln!(page, "\nright outputs that are not passed: {}", refused.len())?;
        for id in refused.iter().take(SHOWN) {
            writeln!(page, "  {id}")?;
        }
        if let Some(more @ 1..) = refused.len().checked_sub(SHOWN) {
            writeln!(page, "  and {more} more")?;
        }
    }
    for (entry, why) in &trial.stale {
        let (op, perturbation) = (entry.op, entry.perturbation);
        writeln!(
            page,
            "\nstale: `{perturbation}` is declared to go unnoticed in `{op}`, and {why}: remove the entry"
        )?;
    }
    let score = trial.score;
    let all = score.killed + score.survived;
    writeln!(
        page,
        "\n{}: {} of {all} pairs of op and fault are noticed ({}), at least {} % must be; {} more are declared",
        if trial.passes() { "ok" } else { "FAILED" },
        score.killed,
        share(score.killed, all),
        trial.min,
        score.declared
    )
}

/// `99.76 %`, rounded down, so that a bar that was missed never reads as reached.
fn share(part: usize, all: usize) -> String {
    let Some(parts) = (part * 10_000).checked_div(all) else {
        return "there is none".to_owned();
    };
    format!("{}.{:02} %", parts / 100, parts % 100)
}

pub(super) fn json(trial: &SelftestRun) -> String {
    let ids = |ids: &[CaseId]| ids.iter().map(CaseId::to_string).collect::<Vec<_>>();
    let pair = |pair: &Pair| {
        json!({
            "family": pair.op.family().name(),
            "op": pair.op.name(),
            "fault": pair.perturbation,
            "mismatch": pair.counts.mismatch,
            "untrusted": pair.counts.untrusted,
            "survived": pair.counts.survived,
            "killed": pair.killed(),
            "blind_dtypes": pair.blind.iter().map(|dtype| dtype.name()).collect::<Vec<_>>(),
            "survivor": pair.survivor.as_ref().map(CaseId::to_string),
            "declared": pair.declared,
        })
    };
    let no_place = |op: parity_model::Op| {
        let missing = PERTURBATIONS.iter().map(|perturbation| perturbation.name);
        let missing = missing.filter(|name| {
            !trial
                .pairs
                .iter()
                .any(|pair| (pair.op, pair.perturbation) == (op, *name))
        });
        (op.name().to_owned(), missing.collect::<Vec<_>>().into())
    };
    let stale = trial
        .stale
        .iter()
        .map(|(entry, why)| json!({ "op": entry.op, "fault": entry.perturbation, "why": why }));
    let faults = PERTURBATIONS
        .iter()
        .map(|perturbation| (perturbation.name.to_owned(), perturbation.stands_for.into()));
    let page = json!({
        "cases": trial.tally.cases,
        "seed": trial.seed,
        "min": trial.min,
        "passes": trial.passes(),
        "killed": trial.score.killed,
        "survived": trial.score.survived,
        "declared": trial.score.declared,
        "right_untrusted": trial.tally.untrusted,
        "right_not_passed": ids(&trial.tally.refused),
        "stale": stale.collect::<Vec<_>>(),
        "faults": faults.collect::<serde_json::Map<String, Value>>(),
        "pairs": trial.pairs.iter().map(pair).collect::<Vec<_>>(),
        "no_case_has_a_place_for": trial.ops().map(no_place).collect::<serde_json::Map<String, Value>>(),
    });
    format!("{page:#}\n")
}
