//! The journal of a run: what was planned, started and judged, line by line, and the record that follows from it.
//!
//! A record is a function of the lines alone, so that a run that was killed and one that came to its end are read alike.
//! Writing the lines down, and reading them back from a file, is the caller's.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    Case, CaseId, Verdict,
    record::{CaseRecord, CaseResult, RunRecord},
};

/// Version of the lines; bumped when a reader of the old ones would misread the new ones.
pub const JOURNAL_VERSION: u32 = 1;

/// [`CaseRecord::limit`] of a case without a result: the limit is computed when a result is judged.
const NO_LIMIT: &str = "none: no result to judge";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line, and only the first.
    Journal(Box<Header>),
    /// A backend is about to be given a case.
    Start {
        /// The case's place in the plan, from 0.
        place: usize,
        /// The backend's name.
        backend: String,
    },
    /// A case has been judged on every backend. A later line of the same place takes the place of an earlier one.
    Result {
        /// The case's place in the plan, from 0.
        place: usize,
        /// Seconds since the run began; of a resumed run, the seconds it was interrupted are left out.
        at: f64,
        /// What became of it.
        case: Box<CaseRecord>,
    },
    /// The run has come to its end, or was told to stop.
    End {
        /// [`RunRecord::seconds`].
        seconds: f64,
    },
}

/// What a run is, before its first case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`JOURNAL_VERSION`].
    pub version: u32,
    /// SHA-256 of the ids of [`Header::cases`], in hex.
    pub plan: String,
    /// The record with everything that is known beforehand: no cases, no seconds.
    pub run: RunRecord,
    /// The planned cases, in order.
    pub cases: Vec<CaseId>,
}

/// A line that is not valid at its place in the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// A second header.
    #[error("a second header")]
    Header,
    /// A place outside the plan.
    #[error("place {0} is not in the plan")]
    Place(usize),
    /// A backend that the run does not have.
    #[error("the run has no backend `{0}`")]
    Backend(String),
    /// A result of another case.
    #[error("place {place} is `{planned}`, not `{found}`")]
    Case {
        /// The place named.
        place: usize,
        /// The case the plan has there.
        planned: CaseId,
        /// The case the line has.
        found: String,
    },
    /// More or fewer results than backends.
    #[error("{found} results, and the run has {columns} backends")]
    Columns {
        /// Results in the line.
        found: usize,
        /// Backends of the run.
        columns: usize,
    },
}

/// The lines of a run, read in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    header: Header,
    results: BTreeMap<usize, CaseRecord>,
    /// Place and column of every case that a backend was given.
    started: BTreeSet<(usize, usize)>,
    seconds: f64,
}

impl Journal {
    /// A run of which nothing has been started.
    pub fn new(header: Header) -> Journal {
        Journal {
            header,
            results: BTreeMap::new(),
            started: BTreeSet::new(),
            seconds: 0.0,
        }
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Takes the next line in.
    ///
    /// # Errors
    /// When the line does not fit the plan; the journal stays as it was.
    pub fn push(&mut self, line: Line) -> Result<(), BadLine> {
        match line {
            Line::Journal(_) => return Err(BadLine::Header),
            Line::Start { place, backend } => {
                self.planned(place)?;
                let columns = &self.header.run.backends;
                let column = columns.iter().position(|info| info.backend == backend);
                let column = column.ok_or(BadLine::Backend(backend))?;
                self.started.insert((place, column));
            }
            Line::Result { place, at, case } => {
                let (planned, columns) = (self.planned(place)?, self.header.run.backends.len());
                if planned.as_str() != case.id {
                    return Err(BadLine::Case {
                        place,
                        planned: planned.clone(),
                        found: case.id,
                    });
                }
                if case.results.len() != columns {
                    return Err(BadLine::Columns {
                        found: case.results.len(),
                        columns,
                    });
                }
                self.results.insert(place, *case);
                self.seconds = self.seconds.max(at);
            }
            Line::End { seconds } => self.seconds = self.seconds.max(seconds),
        }
        Ok(())
    }

    fn planned(&self, place: usize) -> Result<&CaseId, BadLine> {
        self.header.cases.get(place).ok_or(BadLine::Place(place))
    }

    /// Seconds the run has taken so far.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Cases without a result.
    pub fn missing(&self) -> usize {
        self.header.cases.len() - self.results.len()
    }

    /// The places that a resumed run has to run: those without a result, and those where a backend crashed, ran out of
    /// time or never ran.
    pub fn open(&self) -> Vec<usize> {
        let lost = |result: &CaseResult| match result.verdict {
            Verdict::Crash | Verdict::Timeout | Verdict::NotRun => true,
            Verdict::Pass
            | Verdict::Mismatch
            | Verdict::ReferenceSuspect
            | Verdict::ErrorParity
            | Verdict::Unsupported
            | Verdict::Nondeterministic
            | Verdict::Fallback
            | Verdict::KnownFailure
            | Verdict::UnexpectedPass
            | Verdict::Untrusted => false,
        };
        let open = |place: &usize| {
            let record = self.results.get(place);
            record.is_none_or(|record| record.results.iter().any(lost))
        };
        (0..self.header.cases.len()).filter(open).collect()
    }

    /// The record of the run as far as it came; a case without a result is `not-run` on every backend.
    ///
    /// # Errors
    /// When a case without a result has an id that names no case: the header is not parity's own.
    pub fn record(&self) -> Result<RunRecord, crate::case::BadCaseId> {
        let places = self.header.cases.iter().enumerate();
        let cases = places.map(|(place, id)| match self.results.get(&place) {
            Some(record) => Ok(record.clone()),
            None => self.not_run(place, id),
        });
        Ok(RunRecord {
            seconds: self.seconds,
            planned: self.header.cases.len(),
            cases: cases.collect::<Result<_, _>>()?,
            ..self.header.run.clone()
        })
    }

    fn not_run(&self, place: usize, id: &CaseId) -> Result<CaseRecord, crate::case::BadCaseId> {
        let case: Case = id.as_str().parse()?;
        let result = |column| CaseResult {
            note: Some(if self.started.contains(&(place, column)) {
                "started, and the run ended before it was judged".to_owned()
            } else {
                "the run ended before it was started".to_owned()
            }),
            ..CaseResult::of(Verdict::NotRun)
        };
        let results = (0..self.header.run.backends.len()).map(result).collect();
        Ok(CaseRecord::of(&case, NO_LIMIT.to_owned(), results))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BackendInfo, RECORD_VERSION};

    fn id(size: usize) -> CaseId {
        format!("unary/neg:f32:[{size}]:contiguous:any").parse().unwrap()
    }

    fn info(backend: &str) -> BackendInfo {
        BackendInfo {
            backend: backend.to_owned(),
            device: "device".to_owned(),
            level: "host".to_owned(),
            driver: "driver".to_owned(),
            target: String::new(),
            host: None,
            selector: None,
        }
    }

    /// A plan of three cases on two backends.
    fn journal() -> Journal {
        Journal::new(Header {
            version: JOURNAL_VERSION,
            plan: "0f".to_owned(),
            run: RunRecord {
                version: RECORD_VERSION,
                parity_version: "0.1.0".to_owned(),
                candle_version: "0.11.1".to_owned(),
                commit: None,
                started: "2026-01-01T00:00:00Z".to_owned(),
                seconds: 0.0,
                seed: 0,
                specs: "ab".to_owned(),
                shard: None,
                reference: "one".to_owned(),
                backends: vec![info("one"), info("two")],
                repro_args: vec![],
                planned: 3,
                not_recorded: 0,
                cases: vec![],
            },
            cases: (1..4).map(id).collect(),
        })
    }

    fn result(place: usize, verdicts: [Verdict; 2]) -> Line {
        let results = verdicts.map(|verdict| CaseResult {
            millis: 1.0,
            ..CaseResult::of(verdict)
        });
        let case: Case = id(place + 1).as_str().parse().unwrap();
        Line::Result {
            place,
            at: 2.5,
            case: Box::new(CaseRecord::of(&case, "exact".to_owned(), results.into())),
        }
    }

    fn start(place: usize, backend: &str) -> Line {
        Line::Start {
            place,
            backend: backend.to_owned(),
        }
    }

    const PASS: [Verdict; 2] = [Verdict::Pass, Verdict::Pass];

    #[test]
    fn what_has_no_result_is_not_run_and_says_how_far_it_came() {
        let mut journal = journal();
        for line in [start(0, "one"), start(0, "two"), result(0, PASS), start(1, "one")] {
            journal.push(line).unwrap();
        }
        let record = journal.record().unwrap();
        assert_eq!((record.planned, record.cases.len(), record.seconds), (3, 3, 2.5));
        assert_eq!(record.cases[0].results[0].verdict, Verdict::Pass);
        let notes: Vec<_> = record.cases[1..]
            .iter()
            .flat_map(|case| &case.results)
            .map(|result| (result.verdict, result.note.as_deref().unwrap_or_default()))
            .collect();
        let (begun, idle) = (
            (Verdict::NotRun, "started, and the run ended before it was judged"),
            (Verdict::NotRun, "the run ended before it was started"),
        );
        assert_eq!(notes, [begun, idle, idle, idle]);
        assert_eq!(record.cases[2].id, id(3).as_str());
        assert_eq!(journal.missing(), 2);
    }

    #[test]
    fn crashes_timeouts_and_what_never_ran_are_run_again_and_nothing_else_is() {
        for verdict in Verdict::ALL {
            let mut journal = journal();
            journal.push(result(0, PASS)).unwrap();
            journal.push(result(1, [Verdict::Pass, verdict])).unwrap();
            let again = [Verdict::Crash, Verdict::Timeout, Verdict::NotRun].contains(&verdict);
            let want = if again { vec![1, 2] } else { vec![2] };
            assert_eq!(journal.open(), want, "{}", verdict.name());
        }
    }

    #[test]
    fn a_later_result_takes_the_place_of_an_earlier_one() {
        let mut journal = journal();
        journal.push(result(1, [Verdict::Pass, Verdict::Crash])).unwrap();
        journal.push(result(1, PASS)).unwrap();
        assert_eq!(
            journal.record().unwrap().cases[1].results[1].verdict,
            Verdict::Pass
        );
        assert_eq!(journal.open(), [0, 2]);
    }

    #[test]
    fn a_line_that_does_not_fit_the_plan_is_refused() {
        let mut journal = journal();
        let header = Line::Journal(Box::new(journal.header().clone()));
        assert_eq!(journal.push(header), Err(BadLine::Header));
        assert_eq!(journal.push(result(3, PASS)), Err(BadLine::Place(3)));
        assert_eq!(
            journal.push(start(0, "three")),
            Err(BadLine::Backend("three".to_owned()))
        );
        let Line::Result { at, case, .. } = result(0, PASS) else {
            panic!("result makes results")
        };
        let misplaced = Line::Result {
            place: 1,
            at,
            case: case.clone(),
        };
        let error = journal.push(misplaced).unwrap_err().to_string();
        assert!(error.starts_with("place 1 is `unary/neg:f32:[2]"), "{error}");
        let mut short = case;
        short.results.pop();
        let short = Line::Result {
            place: 0,
            at,
            case: short,
        };
        assert_eq!(
            journal.push(short),
            Err(BadLine::Columns { found: 1, columns: 2 })
        );
        assert_eq!(journal.missing(), 3);
    }

    #[test]
    fn a_line_is_an_object_named_for_its_kind() {
        let line = serde_json::to_string(&start(4, "one")).unwrap();
        assert_eq!(line, r#"{"start":{"place":4,"backend":"one"}}"#);
        let header = Line::Journal(Box::new(journal().header().clone()));
        let line = serde_json::to_string(&header).unwrap();
        assert!(
            line.starts_with(r#"{"journal":{"version":1,"plan":"0f","#),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Line>(&line).unwrap(), header);
    }
}
