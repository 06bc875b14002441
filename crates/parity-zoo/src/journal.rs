//! A run of models in a file, as JSON lines. What a model comes to is written when it is known, so that a run that is cut off loses
//! nothing that it had, and another one goes on with it.
//!
//! The first line says what decides the results. Each of the others has the results of one model in one dtype on all devices.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use parity_model::record::BackendInfo;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zoo_protocol::ModelSpec;

use crate::{
    Error, Settings,
    record::{Record, Result, VERSION, Verdict},
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
    ) -> std::result::Result<Header, Error> {
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
    results: Vec<Result>,
}

/// What a journal's whole lines say.
struct Lines {
    header: Header,
    found: BTreeMap<usize, Vec<Result>>,
    seconds: f64,
    /// Bytes of the whole lines. What follows was being written when the run ended.
    whole: usize,
}

/// A journal that a run writes to.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What the file held: none in a new one.
    old: Option<(Header, BTreeMap<usize, Vec<Result>>, f64)>,
}

impl Journal {
    /// A new file.
    ///
    /// # Errors
    /// A file that cannot be made, that holds something, or that another run writes to.
    pub fn new(path: &Path) -> std::result::Result<Journal, Error> {
        let journal = Journal::open(path, OpenOptions::new().append(true).create(true))?;
        let length = journal
            .file
            .metadata()
            .map_err(|why| journal.unwritten(why))?
            .len();
        match length {
            0 => Ok(journal),
            _ => Err(Error::Busy(format!(
                "{} exists already: `--resume` goes on with the run that it holds, another name keeps it",
                path.display()
            ))),
        }
    }

    /// The file of a run to go on with.
    ///
    /// # Errors
    /// A file that is not there, that holds no journal, or that another run writes to.
    pub fn resume(path: &Path) -> std::result::Result<Journal, Error> {
        let unread = |why| Error::Read {
            path: path.to_owned(),
            why,
        };
        let mut bytes = vec![];
        File::open(path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(unread)?;
        let lines = parse(path, &bytes)?;
        let mut journal = Journal::open(path, OpenOptions::new().append(true))?;
        // A torn line would make the next one a part of it.
        journal
            .file
            .set_len(lines.whole as u64)
            .map_err(|why| journal.unwritten(why))?;
        journal.old = Some((lines.header, lines.found, lines.seconds));
        Ok(journal)
    }

    fn open(path: &Path, options: &OpenOptions) -> std::result::Result<Journal, Error> {
        let file = options.open(path).map_err(|why| Error::Write {
            path: path.to_owned(),
            why,
        })?;
        let name = path.display();
        match file.try_lock() {
            Ok(()) => Ok(Journal {
                path: path.to_owned(),
                file,
                old: None,
            }),
            Err(TryLockError::WouldBlock) => Err(Error::Busy(format!(
                "another run writes to {name}: wait for its end, or stop it"
            ))),
            Err(TryLockError::Error(why)) => Err(Error::Write {
                path: path.to_owned(),
                why,
            }),
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
    ) -> std::result::Result<(BTreeMap<usize, Vec<Result>>, f64), Error> {
        let Some((theirs, mut found, seconds)) = self.old.take() else {
            self.line(header)?;
            return Ok((BTreeMap::new(), 0.0));
        };
        let pairs = theirs.facts().into_iter().zip(header.facts());
        let other: Vec<_> = pairs
            .filter(|((_, theirs), (_, mine))| theirs != mine)
            .map(|((what, theirs), (_, mine))| {
                format!("\n  the {what}: `{theirs}` in the journal, `{mine}` now")
            })
            .collect();
        if !other.is_empty() {
            return Err(Error::Data {
                path: self.path.clone(),
                why: format!(
                    "the journal is of another run; what differs:{}\ngo on with the command line and the specs that the run began \
                     with, or begin another one with --journal",
                    other.concat()
                ),
            });
        }
        let again = |result: &Result| matches!(result.verdict, Verdict::Died | Verdict::Timeout);
        found.retain(|_, results| !results.iter().any(again));
        Ok((found, seconds))
    }

    /// Writes what a model came to.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn keep(
        &mut self,
        place: usize,
        seconds: f64,
        results: &[Result],
    ) -> std::result::Result<(), Error> {
        self.line(&Line {
            place,
            seconds,
            results: results.to_vec(),
        })
    }

    /// Writes a line in one piece.
    fn line(&mut self, line: &impl Serialize) -> std::result::Result<(), Error> {
        let mut text = serde_json::to_vec(line).map_err(Error::Formless)?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(|why| self.unwritten(why))
    }

    fn unwritten(&self, why: std::io::Error) -> Error {
        Error::Write {
            path: self.path.clone(),
            why,
        }
    }
}

/// Whether a file with these first bytes is a journal of models.
pub(crate) fn is_journal(bytes: &[u8]) -> bool {
    bytes.starts_with(START.as_bytes())
}

/// The whole lines. The last one of a model counts.
fn parse(path: &Path, bytes: &[u8]) -> std::result::Result<Lines, Error> {
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
    Ok(Lines {
        header,
        found,
        seconds,
        whole,
    })
}

/// The results that a journal has.
///
/// # Errors
/// A line that is none of a journal's.
pub(crate) fn record(path: &Path, bytes: &[u8]) -> std::result::Result<Record, Error> {
    let lines = parse(path, bytes)?;
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
