//! `parity golden`: records what a device computes, and checks what was recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Mutex, PoisonError},
};

use parity_exec::{Backend, CANDLE_VERSION};
use parity_golden::{Bundle, Provenance, Recorder, Stale};
use parity_model::{Case, Tier, record::RunRecord};
use rayon::prelude::*;

use super::run::{Plan, execute};
use crate::{
    args::{GoldenArgs, GoldenCommand, RecordArgs, VerifyArgs},
    exit::{Exit, Failure},
    golden::{bundles, folder, names, unusable},
    judge::Brief,
    output::print,
    settings::{RunSettings, Selection},
    specs,
};

/// Stale entries that are spelt out.
const MAX_STALE: usize = 10;

pub(crate) fn golden(args: GoldenArgs) -> Result<Exit, Failure> {
    match args.command {
        GoldenCommand::Record(args) => record(*args),
        GoldenCommand::Verify(args) => verify(&args),
    }
}

fn record(args: RecordArgs) -> Result<Exit, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if args.name.is_empty() || !args.name.chars().all(plain) || args.name.starts_with('.') {
        let message = format!(
            "--name {:?}: a bundle's name is letters, digits, `-`, `_` and `.`",
            args.name
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let settings = RunSettings::resolve(args.how, Selection::resolve(args.select)?, args.jobs)?;
    let Some(column) = settings
        .stations
        .iter()
        .position(|s| s.backend != Backend::REFERENCE)
    else {
        let message = "the reference runs everywhere: record another backend, such as --backend cuda";
        return Err(Failure::new(Exit::Usage, message));
    };
    if settings.stations.len() > column + 1 {
        let message = "a bundle holds one backend's outputs: name one with --backend";
        return Err(Failure::new(Exit::Usage, message));
    }
    let spec_dir = specs::find(settings.selection.spec_dir.as_deref())?;
    let plan = Plan::load(&settings)?;
    let recorder = Mutex::new(Recorder::default());
    let run = execute(&settings, &plan, |brief, executions| {
        let Some(execution) = executions.get(column) else {
            return;
        };
        let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.add(
            &brief.id,
            &brief.inputs,
            &brief.want.tensor(),
            execution.outcome.clone(),
        );
    })?;
    let dir = bundles(&spec_dir).join(&args.name);
    let recorder = recorder.into_inner().unwrap_or_else(PoisonError::into_inner);
    keep(&recorder, &dir, &run, column)
}

/// Writes what was recorded, unless a part of it never ran.
fn keep(recorder: &Recorder, dir: &Path, run: &RunRecord, column: usize) -> Result<Exit, Failure> {
    if let Some(case) = recorder.missing().first() {
        let message = format!("nothing is recorded: {case} and perhaps others did not run");
        return Err(Failure::new(Exit::Unavailable, message));
    }
    let backend = run.backends[column].clone();
    let (name, device) = (backend.backend.clone(), backend.device.clone());
    let provenance = Provenance {
        backend,
        recorded: run.started.clone(),
        parity_version: run.parity_version.clone(),
        candle_version: run.candle_version.clone(),
        commit: run.commit.clone(),
        seed: run.seed,
        specs: run.specs.clone(),
    };
    let size = recorder.write(dir, provenance).map_err(unusable)?;
    print(&format!(
        "recorded {} cases of {name} ({device}) in {}: {} outputs in full, the others are the oracle's answer to the bit; \
         {} KiB\nnext: parity golden verify {}\n",
        size.cases,
        dir.display(),
        size.values,
        size.bytes.div_ceil(1024),
        dir.file_name().unwrap_or_default().to_string_lossy(),
    ))?;
    Ok(Exit::Ok)
}

fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let spec_dir = specs::find(args.spec_dir.as_deref())?;
    let all = specs::load(&spec_dir)?;
    let chosen = match args.names.is_empty() {
        true => names(&spec_dir),
        false => args.names.clone(),
    };
    if chosen.is_empty() {
        let message = format!(
            "there is no golden bundle in {}; `parity golden record --name NAME` makes one",
            bundles(&spec_dir).display()
        );
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    let mut exit = Exit::Ok;
    for name in &chosen {
        let bundle = Bundle::open(&folder(name, &spec_dir)?).map_err(unusable)?;
        let findings = Findings::of(&bundle, &all);
        print(&report(name, &bundle, &findings))?;
        if !findings.stale.is_empty() {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

/// How a bundle and the specs as they are differ.
struct Findings {
    /// Entries that answer for no case any more, a line each.
    stale: Vec<String>,
    /// By tier, the cases of the specs that it has no entry for: it may have been recorded of some only, and a run that asks
    /// for another is told.
    missing: BTreeMap<Tier, usize>,
    /// Cases of the specs.
    all: usize,
}

impl Findings {
    fn of(bundle: &Bundle, all: &[Case]) -> Findings {
        let seed = bundle.manifest().provenance.seed;
        let mut findings = Findings {
            stale: vec![],
            missing: BTreeMap::new(),
            all: all.len(),
        };
        if let Err(stale) = bundle.fits(seed, CANDLE_VERSION) {
            findings.stale.push(stale.to_string());
            return findings;
        }
        let ids: BTreeSet<_> = all.iter().map(|case| case.id().to_string()).collect();
        let gone = bundle.orphans(&ids).into_iter();
        let gone = gone.map(|id| format!("{id}: recorded, and no spec has it any more"));
        findings.stale.extend(gone);
        let check = |case| {
            let brief = Brief::of(case, seed);
            let outcome = bundle.outcome(&brief.id, &brief.inputs, &brief.want.tensor());
            outcome.err().map(|stale| (case, stale))
        };
        let unanswered: Vec<(&Case, Stale)> = all.par_iter().filter_map(check).collect();
        for (case, stale) in unanswered {
            match stale {
                Stale::NotRecorded => *findings.missing.entry(case.tier).or_default() += 1,
                stale => findings.stale.push(format!("{}: {stale}", case.id())),
            }
        }
        findings
    }

    /// How many cases have no entry, a line; empty where all have one.
    fn missing_text(&self, backend: &str, name: &str) -> String {
        let missing: usize = self.missing.values().sum();
        if missing == 0 {
            return String::new();
        }
        let tiers = self
            .missing
            .iter()
            .map(|(tier, count)| format!("{count} of tier {tier}"));
        format!(
            "  {missing} of the {} cases of the specs are not recorded ({}): they are compared with nothing; on such a device, \
             parity golden record --backend {backend} --name {name} records those of tier ci and below\n",
            self.all,
            tiers.collect::<Vec<_>>().join(", ")
        )
    }
}

fn report(name: &str, bundle: &Bundle, findings: &Findings) -> String {
    let manifest = bundle.manifest();
    let recorded = &manifest.provenance;
    let mut page = format!(
        "golden:{name}: {} cases of {} on {} ({}), level {}, recorded {} with candle-core {} and seed {}; {} outputs in full\n",
        manifest.cases,
        recorded.backend.backend,
        recorded.backend.device,
        recorded.backend.driver,
        recorded.backend.level,
        recorded.recorded,
        recorded.candle_version,
        recorded.seed,
        manifest.values,
    );
    let Findings { stale, .. } = findings;
    if stale.is_empty() {
        page += "  ok: every file has its digest, and every entry belongs to a case as the specs have it\n";
    }
    for entry in stale.iter().take(MAX_STALE) {
        page += &format!("  stale: {entry}\n");
    }
    let backend = &recorded.backend.backend;
    if !stale.is_empty() {
        page += &format!(
            "  {} entries are stale: they are compared with nothing; record the bundle again on such a device: parity golden \
             record --backend {backend} --name {name}\n",
            stale.len(),
        );
    }
    page + &findings.missing_text(backend, name)
}
