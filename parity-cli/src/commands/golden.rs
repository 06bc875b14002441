//! `parity golden`: records what a device computes, checks what was recorded, and leaves out what no spec has any more.

use parity_run::{
    golden::{self, Pruned, Recorded, Verified},
    quoted,
};

use super::run::watched;
use crate::{
    args::{GoldenArgs, GoldenCommand, PruneArgs, RecordArgs, VerifyArgs},
    exit::{Exit, Failure},
    output::print,
    settings::{selection, settings},
};

/// Entries of a kind that are spelt out.
const MAX_SPELT: usize = 10;

pub(crate) fn golden(args: GoldenArgs) -> Result<Exit, Failure> {
    match args.command {
        GoldenCommand::Record(args) => record(*args),
        GoldenCommand::Verify(args) => verify(&args),
        GoldenCommand::Prune(args) => prune(&args),
    }
}

fn record(args: RecordArgs) -> Result<Exit, Failure> {
    let settings = settings(args.how, selection(args.select)?, args.jobs)?;
    let Recorded { dir, info, size } =
        watched(|watch| golden::record(&args.name, &settings, |event| watch(&event)))?;
    print(&format!(
        "recorded {} cases of {} ({}) in {}: {} outputs in full, the others are the oracle's answer to the bit; {} KiB\nnext: \
         parity golden verify {}\n",
        size.cases,
        info.backend,
        info.device,
        dir.display(),
        size.values,
        size.bytes.div_ceil(1024),
        args.name,
    ))?;
    Ok(Exit::Ok)
}

fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let bundles = golden::verify(&args.names, args.specs.spec_dir.as_deref())?;
    if bundles.is_empty() {
        let message = "there is no golden bundle; `parity golden record --name NAME` makes one";
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    for verified in &bundles {
        print(&report(verified))?;
    }
    let whole = |verified: &Verified| verified.gone.is_empty() && verified.stale.is_empty();
    Ok(if bundles.iter().all(whole) {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

fn prune(args: &PruneArgs) -> Result<Exit, Failure> {
    let Pruned { dir, gone, size } = golden::prune(&args.name, args.specs.spec_dir.as_deref())?;
    let Some(size) = size else {
        print("ok: the specs have every recorded case; nothing was left out\n")?;
        return Ok(Exit::Ok);
    };
    print(&format!(
        "{}{} cases are left out of {}, {} are left, {} outputs in full\nnext: parity golden verify {}\n",
        some_of(&gone, ""),
        gone.len(),
        dir.display(),
        size.cases,
        size.values,
        quoted(&args.name),
    ))?;
    Ok(Exit::Ok)
}

/// The first of some entries, a line each.
fn some_of(entries: &[String], words: &str) -> String {
    let lines = entries.iter().take(MAX_SPELT);
    lines.map(|entry| format!("  {words}{entry}\n")).collect()
}

/// How many cases have no entry, a line; empty where all have one.
fn missing_text(bundle: &Verified, backend: &str) -> String {
    let name = &bundle.name;
    let missing: usize = bundle.missing.values().sum();
    if missing == 0 {
        return String::new();
    }
    let tiers = bundle
        .missing
        .iter()
        .map(|(tier, count)| format!("{count} of tier {tier}"));
    format!(
        "  {missing} of the {} cases of the specs are not recorded ({}): they are compared with nothing; on such a device, \
         parity golden record --backend {backend} --name {name} records those of tier ci and below\n",
        bundle.all,
        tiers.collect::<Vec<_>>().join(", ")
    )
}

fn report(verified: &Verified) -> String {
    let Verified {
        name,
        bundle,
        gone,
        stale,
        ..
    } = verified;
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
    if gone.is_empty() && stale.is_empty() {
        page += "  ok: every file has its digest, and every entry belongs to a case as the specs have it\n";
    }
    if !gone.is_empty() {
        page += &some_of(gone, "recorded, and no spec has it any more: ");
        page += &format!(
            "  no spec has {} of the recorded cases any more: parity golden prune {} leaves them out\n",
            gone.len(),
            quoted(name),
        );
    }
    page += &some_of(stale, "stale: ");
    let backend = &recorded.backend.backend;
    if !stale.is_empty() {
        page += &format!(
            "  {} entries are stale: they are compared with nothing; record the bundle again on such a device: parity golden \
             record --backend {backend} --name {name}\n",
            stale.len(),
        );
    }
    page + &missing_text(verified, backend)
}
