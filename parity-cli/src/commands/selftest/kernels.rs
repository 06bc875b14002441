//! `parity selftest --kernels`: breaks kernels on purpose.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use parity_run::{
    Column, Settings, Stop,
    mutants::{self, Cost, Listed, Name, Options, Progress, Score, Trial},
    records,
};
use serde_json::{Value, json};

use crate::{
    args::{SelftestArgs, SelftestFormat},
    commands::run::progress,
    exit::{Exit, Failure},
    interrupt,
    output::put_page,
    settings,
};

pub(super) fn selftest(args: SelftestArgs, min: f64) -> Result<Exit, Failure> {
    let options = Options {
        kernels: args.kernels.unwrap_or_default(),
        samples: args.samples,
        tries: args.tries.max(1),
        seed: args.seed,
        random: args.random,
        only: args.survivors_of.as_deref().map(survivors_of).transpose()?,
        distrust: args.distrust,
    };
    let selection = settings::selection(args.select)?;
    let cases = selection.cases()?;
    let mut settings = Settings {
        columns: Column::all(&[args.backend])?,
        seed: args.seed,
        ..Settings::default()
    };
    settings.jobs = args.jobs.unwrap_or(settings.jobs).max(1);
    let stop = Stop::default();
    interrupt::listen(&stop)?;
    let bar = progress(0);
    let trial = mutants::run(&cases, &settings, &options, &stop, &|event| match event {
        Progress::Steps(steps) => {
            bar.set_length(steps as u64);
            bar.set_position(0);
        }
        Progress::Step => bar.inc(1),
    });
    bar.finish_and_clear();
    let trial = trial?;
    let page = match args.format {
        SelftestFormat::Text => text(&trial, min),
        SelftestFormat::Json => format!("{:#}\n", in_json(&trial, min)),
    };
    put_page(args.out.as_deref(), &page)?;
    Ok(match (stop.requested(), trial.passes(min)) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Ok,
        (false, false) => Exit::Failed,
    })
}

/// The mutants that survived in a page that `--format json` wrote.
fn survivors_of(path: &Path) -> Result<BTreeSet<Name>, Failure> {
    let wrong = |what: &str| {
        let path = path.display();
        let message =
            format!("{path}: {what}; expected what `parity selftest --kernels --format json` writes");
        Failure::new(Exit::BadData, message)
    };
    let page: Value =
        serde_json::from_slice(&records::bytes(path)?).map_err(|error| wrong(&error.to_string()))?;
    let survivors = page["survivors"]
        .as_array()
        .ok_or_else(|| wrong("no list `survivors`"))?;
    let name = |survivor: &Value| {
        Some(Name {
            kernel: survivor["kernel"].as_str()?.to_owned(),
            pc: survivor["pc"].as_i64()?,
            after: survivor["after"].as_str()?.to_owned(),
        })
    };
    let names: Option<BTreeSet<Name>> = survivors.iter().map(name).collect();
    names.ok_or_else(|| wrong("a survivor without `kernel`, `pc` or `after`"))
}

/// A mutant in a line: which it is, and where its source is if that is known.
fn which(mutant: &Listed) -> (String, String) {
    let source = mutant.source.as_ref();
    (
        format!(
            "{} {} {:#06x} {}: {} -> {}",
            mutant.target, mutant.kernel, mutant.pc, mutant.kind, mutant.before, mutant.after
        ),
        source.map_or_else(String::new, |(file, line)| format!("  {file}:{line}")),
    )
}

/// How counters differ, in a word.
fn cost(cost: Cost) -> &'static str {
    match cost {
        Cost::Same => "same",
        Cost::Other => "other",
        Cost::Dearer => "dearer",
    }
}

fn row(page: &mut String, name: &str, score: &Score) {
    // Writing to a `String` does not fail.
    let _ = writeln!(
        page,
        "{name:<44} {:>7} {:>8} {:>9} {:>10} {:>8.2}",
        score.killed,
        score.survived,
        score.tolerated,
        score.equivalent,
        score.percent()
    );
}

fn text(trial: &Trial, min: f64) -> String {
    let mut page = String::new();
    let options = &trial.options;
    let _ = writeln!(
        page,
        "{}: {} of {} selected cases pass and run kernels; {} mutants drawn by seed {}, {} more in instructions that no case executes\n",
        trial.backend, trial.witnesses, trial.selected, trial.drawn, options.seed, trial.unreached
    );
    let heading = |page: &mut String, what: &str| {
        let _ = writeln!(
            page,
            "{what:<44} {:>7} {:>8} {:>9} {:>10} {:>8}",
            "killed", "survived", "tolerated", "equivalent", "percent"
        );
    };
    heading(&mut page, "kind");
    for (kind, score) in &trial.kinds {
        row(&mut page, kind, score);
    }
    page.push('\n');
    heading(&mut page, "kernel");
    for kernel in &trial.kernels {
        row(
            &mut page,
            &format!("{} {}", kernel.target, kernel.kernel),
            &kernel.score,
        );
    }
    page.push('\n');
    for survivor in &trial.survivors {
        let (mutant, source) = which(&survivor.mutant);
        let _ = writeln!(
            page,
            "survived: {mutant} ({} of {} cases, {} results with other bits, counters {}){source}",
            survivor.tried,
            survivor.reaching,
            survivor.tolerated,
            cost(survivor.cost),
        );
    }
    for hole in &trial.holes {
        let (mutant, source) = which(&hole.mutant);
        let _ = writeln!(page, "hole: {mutant}, noticed by {}{source}", hole.case);
    }
    for (reason, count) in &trial.reasons {
        let _ = writeln!(page, "equivalent, {count} mutants: {reason}");
    }
    let score = &trial.score;
    let _ = writeln!(
        page,
        "{} killed ({} where allocations lie elsewhere alone, {} by random cases alone), {} survived ({} change a result, within its limit; {} others change counters alone, {} of them by more than the gate of costs allows), {} equivalent, {} not run: score {:.2} %, {min} % needed; {:.2} % with those that the gate of costs refuses; {:.2} % of what any case notices",
        score.killed,
        score.elsewhere,
        score.by_random,
        score.survived,
        score.tolerated,
        score.counted,
        score.dearer,
        score.equivalent,
        score.not_run,
        score.percent(),
        score.percent_with_costs(),
        score.percent_of_known()
    );
    page
}

fn counts(score: &Score) -> Value {
    json!({
        "killed": score.killed,
        "elsewhere": score.elsewhere,
        "by_random": score.by_random,
        "survived": score.survived,
        "tolerated": score.tolerated,
        "counted": score.counted,
        "dearer": score.dearer,
        "equivalent": score.equivalent,
        "not_run": score.not_run,
        "percent": score.percent(),
        "percent_with_costs": score.percent_with_costs(),
        "percent_of_known": score.percent_of_known(),
    })
}

fn in_json(trial: &Trial, min: f64) -> Value {
    let which = |mutant: &Listed| {
        json!({
            "target": mutant.target,
            "kernel": mutant.kernel,
            "pc": mutant.pc,
            "kind": mutant.kind,
            "before": mutant.before,
            "after": mutant.after,
            "source": mutant.source.as_ref().map(|(file, line)| format!("{file}:{line}")),
        })
    };
    let and = |mut what: Value, more: Value| {
        if let (Some(all), Value::Object(more)) = (what.as_object_mut(), more) {
            all.extend(more);
        }
        what
    };
    let survivors = trial.survivors.iter().map(|survivor| {
        let more = json!({
            "tried": survivor.tried,
            "tolerated": survivor.tolerated,
            "reaching": survivor.reaching,
            "counters": cost(survivor.cost),
        });
        and(which(&survivor.mutant), more)
    });
    let holes = trial
        .holes
        .iter()
        .map(|hole| and(which(&hole.mutant), json!({"case": hole.case.to_string()})));
    json!({
        "backend": trial.backend,
        "kernels_matching": trial.options.kernels,
        "seed": trial.options.seed,
        "random": trial.options.random,
        "tries": trial.options.tries,
        "selected": trial.selected,
        "witnesses": trial.witnesses,
        "drawn": trial.drawn,
        "unreached": trial.unreached,
        "min": min,
        "score": counts(&trial.score),
        "kinds": trial.kinds.iter().map(|(kind, score)| json!({"kind": kind, "score": counts(score)})).collect::<Vec<_>>(),
        "kernels": trial.kernels.iter().map(|kernel| json!({
            "target": kernel.target,
            "kernel": kernel.kernel,
            "score": counts(&kernel.score),
        })).collect::<Vec<_>>(),
        "survivors": survivors.collect::<Vec<_>>(),
        "holes": holes.collect::<Vec<_>>(),
        "killers": trial.killers.iter().map(|(case, count)| json!({"case": case.to_string(), "mutants": count})).collect::<Vec<_>>(),
        "equivalent": trial.reasons.iter().map(|(reason, count)| json!({"reason": reason, "mutants": count})).collect::<Vec<_>>(),
    })
}
