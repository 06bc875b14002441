//! `parity golden`: records what a device computes, and checks what was recorded.

use parity_run::golden::{self, Recorded, Verified};

use super::run::watched;
use crate::{
    args::{GoldenArgs, GoldenCommand, RecordArgs, VerifyArgs},
    exit::{Exit, Failure},
    output::print,
    settings::{selection, settings},
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
    let stale = bundles.iter().any(|verified| !verified.stale.is_empty());
    Ok(if stale { Exit::Failed } else { Exit::Ok })
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
        name, bundle, stale, ..
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
    page + &missing_text(verified, backend)
}
