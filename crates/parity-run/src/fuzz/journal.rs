//! The journal of a run of random cases: a header, then a line for each round with what became of it. A round that has no line is
//! run again: its cases follow from the seed.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::groups::Groups;
use crate::{
    error::Error,
    journal::{Book, JournalFile},
};

/// Version of the layout of the lines.
pub const FUZZ_VERSION: u32 = 1;

/// What a run goes by: two with the same header draw the same cases and name the same failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FUZZ_VERSION`].
    pub version: u32,
    /// `parity`'s own version.
    pub parity_version: String,
    /// Commit of the binary, where known.
    pub commit: Option<String>,
    /// candle-core's version.
    pub candle_version: String,
    /// Which list of cases.
    pub seed: u64,
    /// Cases of a round.
    pub round: u64,
    /// Ops that are drawn from, comma separated; empty for all.
    pub ops: String,
    /// Dtypes that are drawn from, likewise.
    pub dtypes: String,
    /// The columns, the reference first.
    pub backends: Vec<String>,
    /// Digest of the findings.
    pub findings: String,
}

/// What became of the cases of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number of its first case.
    pub from: u64,
    /// Cases.
    pub cases: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Verdicts and failures.
    pub groups: Groups,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Fuzz(Header),
    Round(Round),
}

/// Where rounds are written to; the default is nowhere.
#[derive(Debug, Default)]
pub struct Journal {
    open: Option<JournalFile>,
    /// The header and the rounds of the run to go on with.
    old: Option<(Header, Vec<Round>)>,
}

impl Journal {
    /// A new file, or an empty one.
    ///
    /// # Errors
    /// A file that cannot be made, that holds something, or that another run writes to.
    pub fn new(path: &Path) -> Result<Journal, Error> {
        match Book::new(path)? {
            Book::New(open) => Ok(Journal {
                open: Some(open),
                old: None,
            }),
            Book::None | Book::Old(..) => Ok(Journal::default()),
        }
    }

    /// The file of the run to go on with.
    ///
    /// # Errors
    /// A file that is not there, that holds no such journal, or that another run writes to.
    pub fn resume(path: &Path) -> Result<Journal, Error> {
        let (open, text) = JournalFile::old(path)?;
        let name = path.display().to_string();
        let (header, rounds, whole) = parse(&name, &text)?;
        open.cut(whole)?;
        Ok(Journal {
            open: Some(open),
            old: Some((header, rounds)),
        })
    }

    /// Begins a run, or goes on with one: gives its rounds.
    pub(super) fn begin(&mut self, header: &Header) -> Result<Vec<Round>, Error> {
        let Some((theirs, rounds)) = self.old.take() else {
            self.line(&Line::Fuzz(header.clone()))?;
            return Ok(vec![]);
        };
        let differences = theirs.differences(header);
        if differences.is_empty() {
            return Ok(rounds);
        }
        Err(Error::Data(format!(
            "the journal is of another run; what differs:{}\ngo on with what the run began with, or begin another with --journal",
            differences.concat()
        )))
    }

    /// Writes what became of a round, in one piece.
    pub(super) fn round(&mut self, round: &Round) -> Result<(), Error> {
        self.line(&Line::Round(round.clone()))
    }

    fn line(&mut self, line: &Line) -> Result<(), Error> {
        self.open.as_mut().map_or(Ok(()), |open| open.line(line))
    }
}

impl Header {
    fn differences(&self, mine: &Header) -> Vec<String> {
        let facts = |header: &Header| {
            [
                ("parity version", header.parity_version.clone()),
                ("commit of parity", header.commit.clone().unwrap_or_default()),
                ("candle version", header.candle_version.clone()),
                ("seed", header.seed.to_string()),
                ("round", header.round.to_string()),
                ("ops", header.ops.clone()),
                ("dtypes", header.dtypes.clone()),
                ("backends", header.backends.join(",")),
                ("digest of the findings", header.findings.clone()),
            ]
        };
        let pairs = facts(self).into_iter().zip(facts(mine));
        let differ = pairs.filter(|(theirs, mine)| theirs != mine);
        differ
            .map(|((what, theirs), (_, mine))| {
                format!("\n  the {what}: `{theirs}` in the journal, `{mine}` now")
            })
            .collect()
    }
}

/// The header, the rounds, and how many bytes are whole lines: a writer that was killed leaves a torn one at the end.
fn parse(name: &str, text: &[u8]) -> Result<(Header, Vec<Round>, usize), Error> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let (mut header, mut rounds, mut whole) = (None, vec![], 0);
    for (index, line) in lines.enumerate() {
        let Some(body) = line.strip_suffix(b"\n") else {
            break;
        };
        let corrupt = |why: &str| {
            Error::Data(format!(
                "{name}:{}: no line of a journal of `parity fuzz`: {why}; begin another with --journal",
                index + 1
            ))
        };
        match (
            serde_json::from_slice(body).map_err(|error| corrupt(&error.to_string()))?,
            index,
        ) {
            (Line::Fuzz(found), 0) if found.version == FUZZ_VERSION => header = Some(found),
            (Line::Fuzz(found), 0) => {
                let why = format!(
                    "its layout has version {}, and this parity reads {FUZZ_VERSION}",
                    found.version
                );
                return Err(corrupt(&why));
            }
            (Line::Round(round), 1..) => rounds.push(round),
            (Line::Fuzz(_), _) => return Err(corrupt("a second header")),
            (Line::Round(_), _) => return Err(corrupt("the header is missing")),
        }
        whole += line.len();
    }
    let header = header.ok_or_else(|| {
        Error::Data(format!(
            "{name} holds no run: it ends before the end of its first line; start the run anew"
        ))
    })?;
    Ok((header, rounds, whole))
}
