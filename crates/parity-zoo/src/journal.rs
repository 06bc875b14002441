//! A run of models in a file, as JSON lines. What a model comes to is written when it is known, so that a run that is cut off loses
//! nothing that it had, and another one goes on with it.
//!
//! The first line says what decides the results. Each of the others has the results of one model in one dtype on all devices. Here are the
//! lines; the file is its caller's.

use std::{collections::BTreeMap, path::Path};

use parity_model::record::BackendInfo;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zoo_protocol::ModelSpec;

use crate::{
    Error, Settings,
    record::{ModelResult, ModelVerdict, Record, VERSION},
    run::plan,
};

/// How every journal begins, and no record does.
const START: &str = r#"{"zoo_journal":"#;

/// What decides the results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// [`VERSION`] of the results.
    zoo_journal: u32,
    candle_version: String,
    seed: u64,
    backends: Vec<BackendInfo>,
    /// SHA-256 of the selected models with their dtypes, in hex.
    models: String,
    /// Results of the whole run.
    planned: usize,
}

impl Header {
    /// Of a run of these models.
    ///
    /// # Errors
    /// A spec has no JSON form.
    pub(crate) fn of(
        models: &[ModelSpec],
        settings: &Settings,
        backends: &[BackendInfo],
    ) -> Result<Header, Error> {
        let specs = serde_json::to_vec(models).map_err(Error::Formless)?;
        Ok(Header {
            zoo_journal: VERSION,
            candle_version: settings.candle_version.clone(),
            seed: settings.seed,
            backends: backends.to_vec(),
            models: Sha256::digest(specs)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            planned: plan(models) * backends.len(),
        })
    }

    /// What a run and the journal must have in common, in words.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let device = |info: &BackendInfo| format!("{} ({}, {})", info.backend, info.device, info.driver);
        let devices: Vec<_> = self.backends.iter().map(device).collect();
        vec![
            ("candle", self.candle_version.clone()),
            ("seed", self.seed.to_string()),
            ("devices", devices.join(", ")),
            (
                "selected models",
                format!("{} results, {}", self.planned, self.models),
            ),
        ]
    }
}

/// What one model in one dtype came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Its place in the plan, from 0.
    place: usize,
    /// Seconds since the run began.
    seconds: f64,
    results: Vec<ModelResult>,
}

/// A run that a journal holds.
#[derive(Debug)]
pub struct Begun {
    header: Header,
    found: BTreeMap<usize, Vec<ModelResult>>,
    seconds: f64,
    /// Bytes of the whole lines. What follows was being written when the run ended.
    pub whole: usize,
}

/// Writes a line, and says in words why it cannot.
pub type Keep = Box<dyn FnMut(Vec<u8>) -> Result<(), String> + Send>;

/// A journal that a run writes to.
pub struct Journal {
    keep: Keep,
    /// The run to go on with; none in a new journal.
    begun: Option<Begun>,
}

impl Journal {
    /// Of a run that begins.
    pub fn new(keep: Keep) -> Journal {
        Journal { keep, begun: None }
    }

    /// Of a run that goes on with another; `keep` writes after the whole lines of that.
    pub fn after(begun: Begun, keep: Keep) -> Journal {
        Journal {
            keep,
            begun: Some(begun),
        }
    }

    /// Begins the run of that header, or goes on with it: the results that it has, and the seconds that it took. A model whose worker
    /// died or ran out of time has no result.
    ///
    /// # Errors
    /// The journal is of another run, or cannot be written.
    pub(crate) fn begin(
        &mut self,
        header: &Header,
    ) -> Result<(BTreeMap<usize, Vec<ModelResult>>, f64), Error> {
        let Some(begun) = self.begun.take() else {
            self.line(header)?;
            return Ok((BTreeMap::new(), 0.0));
        };
        let pairs = begun.header.facts().into_iter().zip(header.facts());
        let other: Vec<_> = pairs
            .filter(|((_, theirs), (_, mine))| theirs != mine)
            .map(|((what, theirs), (_, mine))| {
                format!("\n  the {what}: `{theirs}` in the journal, `{mine}` now")
            })
            .collect();
        if !other.is_empty() {
            return Err(Error::OtherRun(other.concat()));
        }
        let mut found = begun.found;
        let again =
            |result: &ModelResult| matches!(result.verdict, ModelVerdict::Died | ModelVerdict::Timeout);
        found.retain(|_, results| !results.iter().any(again));
        Ok((found, begun.seconds))
    }

    /// Writes what a model came to.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn keep(&mut self, place: usize, seconds: f64, results: &[ModelResult]) -> Result<(), Error> {
        self.line(&Line {
            place,
            seconds,
            results: results.to_vec(),
        })
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec(line).map_err(Error::Formless)?;
        (self.keep)(text).map_err(Error::Unkept)
    }
}

/// Whether a file with these first bytes is a journal of models.
pub(crate) fn is_journal(bytes: &[u8]) -> bool {
    bytes.starts_with(START.as_bytes())
}

impl Begun {
    /// What a journal's whole lines say. The last one of a model counts.
    ///
    /// # Errors
    /// A line that a journal does not have.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Begun, Error> {
        let wrong = |line: usize, why: &dyn std::fmt::Display| Error::Data {
            path: path.to_owned(),
            why: format!("line {line}: {why}; `parity model --journal FILE` writes a journal"),
        };
        let whole = bytes
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        let mut lines = bytes[..whole].split(|&byte| byte == b'\n').enumerate();
        let (_, first) = lines.next().unwrap_or_default();
        let header: Header = serde_json::from_slice(first).map_err(|why| wrong(1, &why))?;
        if header.zoo_journal != VERSION {
            let (found, ours) = (header.zoo_journal, VERSION);
            return Err(wrong(1, &format!("version {found}; this parity reads {ours}")));
        }
        let (mut found, mut seconds) = (BTreeMap::new(), 0.0);
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let line: Line = serde_json::from_slice(line).map_err(|why| wrong(number + 1, &why))?;
            seconds = line.seconds;
            found.insert(line.place, line.results);
        }
        Ok(Begun {
            header,
            found,
            seconds,
            whole,
        })
    }
}

/// The results that a journal has.
///
/// # Errors
/// A line that a journal does not have.
pub(crate) fn record(path: &Path, bytes: &[u8]) -> Result<Record, Error> {
    let lines = Begun::read(path, bytes)?;
    let results: Vec<_> = lines.found.into_values().flatten().collect();
    Ok(Record {
        zoo_version: VERSION,
        candle_version: lines.header.candle_version,
        seed: lines.header.seed,
        seconds: lines.seconds,
        backends: lines.header.backends,
        missing: lines.header.planned.saturating_sub(results.len()),
        results,
    })
}
