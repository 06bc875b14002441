//! The record as JSON, and back. Field order is declaration order and nothing is left out, so the bytes are stable.

use parity_model::record::{RECORD_VERSION, RunRecord};

/// Why a stored record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not a run record.
    #[error("not a run record: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Written by another version of the layout.
    #[error("the record has layout version {found}, this parity reads version {RECORD_VERSION}")]
    Version {
        /// The version found.
        found: u64,
    },
    /// Fewer or more results than the record plans.
    #[error("the record is incomplete: {0}")]
    Incomplete(String),
}

/// Renders a record, indented, with a final newline.
///
/// # Errors
/// When a value has no JSON form; none of the record's has.
pub fn render(run: &RunRecord) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(run)?;
    text.push('\n');
    Ok(text)
}

/// Reads a record back and checks that it is whole.
///
/// # Errors
/// Malformed text, another layout version, or a record whose results do not add up to its plan.
pub fn parse(text: &str) -> Result<RunRecord, ReadError> {
    let read = serde_json::from_str::<RunRecord>(text);
    let found = match &read {
        Ok(run) => Some(u64::from(run.version)),
        // A record of another layout should say so rather than name a missing field.
        Err(_) => serde_json::from_str::<serde_json::Value>(text)
            .ok()
            .and_then(|value| value.get("version")?.as_u64()),
    };
    if let Some(found) = found.filter(|found| *found != u64::from(RECORD_VERSION)) {
        return Err(ReadError::Version { found });
    }
    let run = read?;
    crate::Totals::of_run(&run).map_err(ReadError::Incomplete)?;
    Ok(run)
}
