//! A run: plan, execute, judge, record; in a journal on the way, so that a run that is cut off can go on.

use std::{
    fmt, mem,
    time::{Duration, Instant},
};

use parity_exec::{Backend, CANDLE_VERSION, Execution, Settings as Supervision, Stop, Supervisor};
use parity_model::{
    Case,
    findings::Findings,
    journal::{Header, JOURNAL_VERSION},
    record::{CaseRecord, RECORD_VERSION, RunRecord, Shard},
};
use parity_report::{Totals, text};

use crate::{
    column::Column,
    digest,
    error::Error,
    findings,
    golden::Golden,
    journal::{Book, LiveJournal, same_devices, same_run},
    judge::{Judge, Prepared},
    provenance,
    settings::Settings,
    shard::{Part, Times},
    specs,
};

/// How long a worker may take to open its device: a first use of a real GPU loads code for seconds.
pub const START_LIMIT: Duration = Duration::from_secs(120);

/// Failures that a page of text spells out.
const MAX_FAILURES: usize = 25;

/// What is run, and what it is judged by.
pub struct Plan {
    /// The cases, in the order of their results.
    pub cases: Vec<Case>,
    /// The failures that are known.
    pub findings: Findings,
    /// Every case of the specs.
    pub all: Vec<Case>,
    /// Recorded outputs: the first column, where there are any.
    golden: Option<Golden>,
    /// [`RunRecord::not_recorded`].
    not_recorded: usize,
    /// [`RunRecord::specs`].
    specs: String,
    shard: Option<Shard>,
}

/// How a run is kept and ended.
#[derive(Debug, Default)]
pub struct Session {
    /// Where its journal goes.
    pub book: Book,
    /// Ends it early.
    pub stop: Stop,
}

/// A run that has come to its end, or was stopped.
pub struct Finished {
    /// The record; a case that was not judged is `not-run` in it.
    pub record: RunRecord,
    /// Cases that were not judged, because the run was stopped.
    pub missing: usize,
}

/// Something that happens in a run. Judgements come from several threads, as they come in.
pub enum Event<'a> {
    /// Every backend has answered, and the first case is about to run.
    Begun {
        /// Cases of the plan.
        planned: usize,
        /// Those of them that the journal has results of.
        judged: usize,
    },
    /// A case has been judged; its outputs are dropped next.
    Judged {
        /// The case, with its inputs and the right answer.
        prepared: &'a Prepared<'a>,
        /// What every column's backend did.
        executions: &'a [Execution],
        /// The judgement.
        record: &'a CaseRecord,
    },
}

impl Finished {
    /// Results that fail the run; a run passes if there is none.
    ///
    /// # Errors
    /// The results do not add up to the plan.
    pub fn failing(&self) -> Result<usize, Error> {
        failing(&self.record)
    }
}

/// The record as `parity run` prints it.
impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = text::Options {
            width: None,
            color: false,
            max_failures: MAX_FAILURES,
        };
        f.write_str(&text::render(&self.record, &options))
    }
}

/// Results of a record that fail its run.
///
/// # Errors
/// The results do not add up to the plan.
pub fn failing(record: &RunRecord) -> Result<usize, Error> {
    let totals = Totals::of_run(record).map_err(Error::Internal)?;
    Ok(totals.iter().map(Totals::failing).sum())
}

impl Plan {
    /// Reads specs, findings and recorded outputs, and selects the cases.
    ///
    /// # Errors
    /// What cannot be read or is wrong, and a selection of nothing.
    pub fn load(settings: &Settings) -> Result<Plan, Error> {
        let dir = specs::find(settings.selection.spec_dir.as_deref())?;
        let all = specs::load(&dir)?;
        let findings = findings::load(settings.findings.as_deref(), &dir, &all)?;
        let mut cases = settings.selection.which.select(&all)?;
        let against = settings.against.as_deref();
        let golden = against
            .map(|word| Golden::open(word, &dir, settings.seed))
            .transpose()?;
        let not_recorded = match golden.as_ref().filter(|_| settings.recorded_only) {
            Some(golden) => golden.keep_recorded(&mut cases)?,
            None => 0,
        };
        Ok(Plan {
            golden,
            not_recorded,
            specs: digest::rules(&all, &findings),
            all,
            cases,
            findings,
            shard: None,
        })
    }

    /// A plan of cases that come from no spec, judged by the oracle alone.
    pub(crate) fn of(cases: Vec<Case>) -> Plan {
        Plan {
            specs: digest::rules(&[], &Findings::default()),
            cases,
            findings: Findings::default(),
            all: vec![],
            golden: None,
            not_recorded: 0,
            shard: None,
        }
    }

    /// Leaves the part's cases alone; with times, parts take about as long as each other.
    ///
    /// # Errors
    /// No case falls into the part.
    pub fn keep(&mut self, part: Part, times: Option<&Times>) -> Result<(), Error> {
        let (cases, shard) = part.of(mem::take(&mut self.cases), times)?;
        self.cases = cases;
        self.shard = Some(shard);
        Ok(())
    }

    /// Runs and judges the plan, or what a journal has left of it, until the end or a stop; `watch` sees what happens.
    ///
    /// # Errors
    /// A backend that is not available, a journal of another run or that cannot be written.
    pub fn run(
        &self,
        settings: &Settings,
        session: Session,
        watch: impl Fn(Event<'_>) + Sync,
    ) -> Result<Finished, Error> {
        let Session { book, stop } = session;
        let mut header = self.header(settings);
        if let Book::Old(_, journal) = &book {
            same_run(journal, &header)?;
        }
        let clock = Instant::now();
        let supervisor = supervise(settings, &stop)?;
        header.run.backends.truncate(usize::from(self.golden.is_some()));
        header.run.backends.extend_from_slice(supervisor.backends());
        if let Book::Old(_, journal) = &book {
            same_devices(journal, &header.run.backends)?;
        }
        let ledger = LiveJournal::open(book, header, clock, stop)?;
        let places = ledger.to_run();
        let cases: Vec<Case> = places.iter().map(|&place| self.cases[place].clone()).collect();
        watch(Event::Begun {
            planned: self.cases.len(),
            judged: self.cases.len() - cases.len(),
        });
        let names = settings.columns.iter().map(Column::name);
        let judge = Judge {
            backends: names.collect(),
            golden: self.golden.as_ref(),
            findings: &self.findings,
            no_fallback: settings.no_fallback,
        };
        supervisor.run(
            &cases,
            |index, column| ledger.start(places[index], judge.backends[column]),
            |index, case, executions| {
                let prepared = Prepared::of(case, settings.seed);
                let record = judge.record(&prepared, &executions);
                watch(Event::Judged {
                    prepared: &prepared,
                    executions: &executions,
                    record: &record,
                });
                ledger.result(places[index], record);
            },
        );
        let journal = ledger.close()?;
        let record = journal.record();
        Ok(Finished {
            record: record.map_err(|error| Error::Internal(error.to_string()))?,
            missing: journal.missing(),
        })
    }

    /// What is known of the run before its backends have answered: of those, name and place.
    fn header(&self, settings: &Settings) -> Header {
        let golden = self.golden.as_ref();
        let backends = settings.columns.iter().map(Column::info);
        let reference = golden.map_or(Backend::REFERENCE.name(), Golden::name);
        Header {
            version: JOURNAL_VERSION,
            plan: digest::plan(&self.cases),
            cases: self.cases.iter().map(Case::id).collect(),
            run: RunRecord {
                version: RECORD_VERSION,
                parity_version: provenance::VERSION.to_owned(),
                candle_version: match &settings.candle {
                    None => CANDLE_VERSION.to_owned(),
                    Some(candle) => candle.to_string(),
                },
                commit: provenance::commit(),
                started: provenance::now(),
                seconds: 0.0,
                seed: settings.seed,
                specs: self.specs.clone(),
                shard: self.shard.clone(),
                reference: reference.to_owned(),
                backends: golden.map(Golden::info).into_iter().chain(backends).collect(),
                repro_args: settings.repro_args(),
                planned: self.cases.len(),
                not_recorded: self.not_recorded,
                cases: vec![],
            },
        }
    }
}

/// Starts a worker for every column.
fn supervise(settings: &Settings, stop: &Stop) -> Result<Supervisor, Error> {
    let commands = settings.columns.iter().map(|column| column.command(settings));
    let supervision = Supervision {
        jobs: settings.jobs,
        case_limit: settings.case_limit,
        start_limit: START_LIMIT,
        seed: settings.seed,
        memory_limit: settings.memory_limit,
        cover: settings.cover,
        wave_limit: None,
        twice: settings.deterministic,
        stop: stop.clone(),
    };
    Ok(Supervisor::start(
        commands.collect::<Result<_, _>>()?,
        supervision,
    )?)
}
