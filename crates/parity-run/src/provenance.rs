//! Where and when this binary and a run come from.

use parity_model::record::RunRecord;

/// parity's version, as records name it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit the binary was built from, where it was built in a checkout.
pub fn commit() -> Option<String> {
    option_env!("PARITY_COMMIT").map(str::to_owned)
}

/// What must be the same of runs whose results belong together, in words: all but the cases, the devices and the options.
pub(crate) fn facts(run: &RunRecord) -> Vec<(&'static str, String)> {
    let commit = run.commit.as_deref().unwrap_or("unknown");
    vec![
        ("parity version", run.parity_version.clone()),
        ("commit of parity", commit.to_owned()),
        ("candle version", run.candle_version.clone()),
        ("digest of the specs", run.specs.clone()),
        ("seed", run.seed.to_string()),
        ("number of cases left out", run.not_recorded.to_string()),
    ]
}

/// Now, RFC 3339, UTC, whole seconds.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
