//! Random cases in rounds: drawn from the table of ops, run and judged as any case is, and grouped by how they fail.
//!
//! A round is a plan of [`ROUND`] cases. Case numbers go on from round to round, so that a seed means one endless list of
//! cases, whatever the time that a run has and however often it was cut off.

mod bench;
mod groups;
mod journal;
mod page;
mod shrinking;

use std::time::{Duration, Instant};

use parity_exec::{CANDLE_VERSION, Stop};
use parity_fuzz::Pool;
use parity_model::{
    Case, DType, Op, Verdict,
    findings::{FindingRow, Findings},
};

pub use bench::{Bench, Seen, Workers};
pub use groups::{Found, Group, Groups, Key, Tally};
pub use journal::{FUZZ_VERSION, Header, Journal, Round};
pub use page::{json, text};
pub use shrinking::Shrunk;

use crate::{digest, error::Error, provenance, selection::Ops};

/// Cases of a round.
pub const ROUND: u64 = 4096;

/// What is fuzzed, and for how long.
#[derive(Clone, Debug)]
pub struct FuzzSettings {
    /// Ops to draw from; all where there is none.
    pub ops: Vec<Ops>,
    /// Dtypes of the data to draw from; all where there is none.
    pub dtypes: Vec<DType>,
    /// Which list of cases.
    pub seed: u64,
    /// Ends the run after so many cases.
    pub cases: Option<u64>,
    /// Ends the run with the first round that ends after this, over all parts of a run that goes on with a journal.
    pub time: Option<Duration>,
    /// Cases that the search for the smallest case of one group may run.
    pub shrink_runs: usize,
    /// Groups that are shrunk at most, those of the most cases first.
    pub shrink_groups: usize,
    /// Whether groups that a finding explains are shrunk too.
    pub shrink_known: bool,
    /// Whether findings excuse failures. Else every failure fails the run, and [`Groups::found`] says which findings it shows.
    pub excuse: bool,
    /// Of a hundred findings that a run could show which excuses nothing, those that it has to: it passes by this alone.
    pub rediscover: Option<f64>,
}

impl FuzzSettings {
    /// The pool of cases.
    ///
    /// # Errors
    /// No op means anything for any of the dtypes.
    fn pool(&self) -> Result<Pool, Error> {
        let of_family = |op: &Op| self.ops.iter().any(|ops| ops.have(*op));
        let ops: Vec<Op> = Op::all().iter().filter(|op| of_family(op)).copied().collect();
        Pool::new(&ops, &self.dtypes).ok_or_else(|| {
            let words: Vec<_> = self.ops.iter().map(ToString::to_string).collect();
            let dtypes: Vec<_> = self.dtypes.iter().map(ToString::to_string).collect();
            Error::Nothing(format!(
                "nothing to draw: {} means nothing for {}",
                words.join(" or "),
                dtypes.join(" or ")
            ))
        })
    }

    fn header(&self, bench: &impl Bench, findings: &Findings) -> Header {
        let words = |words: Vec<String>| words.join(",");
        let none = Findings::default();
        Header {
            version: FUZZ_VERSION,
            parity_version: provenance::VERSION.to_owned(),
            commit: provenance::commit(),
            candle_version: CANDLE_VERSION.to_owned(),
            seed: self.seed,
            round: ROUND,
            ops: words(self.ops.iter().map(ToString::to_string).collect()),
            dtypes: words(self.dtypes.iter().map(ToString::to_string).collect()),
            backends: bench.backends(),
            findings: digest::rules(&[], if self.excuse { findings } else { &none }),
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// What it ran.
    pub header: Header,
    /// Every round, summed up.
    pub groups: Groups,
    /// Cases drawn.
    pub cases: u64,
    /// Rounds.
    pub rounds: u64,
    /// Seconds of the rounds; shrinking is not counted.
    pub seconds: f64,
    /// The smallest case of each group that was shrunk.
    pub shrunk: Vec<Shrunk>,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
    /// Findings with a row for a backend of the run, where they excuse nothing: those that it could show.
    pub sought: Vec<String>,
    /// Of a hundred of these, those that it has to show.
    pub rediscover: Option<f64>,
}

impl Report {
    /// Groups that no finding explains.
    pub fn unexplained(&self) -> impl Iterator<Item = (&Key, &Group)> {
        self.groups.groups.iter().filter(|(key, _)| key.finding.is_none())
    }

    /// Whether every failure is explained, or as many findings were shown as have to be.
    pub fn passes(&self) -> bool {
        match self.rediscover {
            Some(least) => self.share() >= least,
            None => self.unexplained().next().is_none(),
        }
    }

    /// Findings that the run could show and did not.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let sought = self.sought.iter().map(String::as_str);
        sought.filter(|name| !self.groups.found.contains_key(*name))
    }

    /// Of a hundred findings that the run could show, those that it did: 0 where it could show none.
    pub fn share(&self) -> f64 {
        let found = self.sought.len() - self.missing().count();
        100.0 * found as f64 / self.sought.len().max(1) as f64
    }

    /// The smallest case that is known of a group: that of the search, or the smallest that was drawn.
    pub fn smallest<'r>(&'r self, key: &Key, group: &'r Group) -> &'r str {
        let shrunk = self.shrunk.iter().find(|shrunk| shrunk.key == *key);
        shrunk.map_or(group.case.as_str(), |shrunk| shrunk.case.as_str())
    }
}

/// What is told of a run on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FuzzProgress {
    /// A round has ended: cases so far.
    Round(u64),
    /// Smaller cases of this many groups are looked for.
    Shrinking(usize),
}

/// Runs rounds until the time or the cases are over, or until `stop`; then shrinks what fails. `journal` is a new one, or one to
/// go on with.
///
/// # Errors
/// Nothing to draw from, a backend that is not available, a journal of another run or that cannot be written.
pub fn fuzz(
    settings: &FuzzSettings,
    bench: &mut impl Bench,
    findings: &Findings,
    journal: Option<Journal>,
    stop: &Stop,
    watch: impl Fn(FuzzProgress),
) -> Result<Report, Error> {
    let pool = settings.pool()?;
    let header = settings.header(bench, findings);
    let mut journal = journal.unwrap_or_default();
    let old = journal.begin(&header)?;
    let mut report = Report {
        header,
        groups: Groups::default(),
        cases: 0,
        rounds: 0,
        seconds: 0.0,
        shrunk: vec![],
        stopped: false,
        sought: vec![],
        rediscover: settings.rediscover,
    };
    if !settings.excuse {
        report.sought = sought(findings, &report.header.backends);
    }
    for round in old {
        report.add(round)?;
    }
    while !report.is_over(settings) {
        let clock = Instant::now();
        let most = settings
            .cases
            .map_or(ROUND, |cases| ROUND.min(cases - report.cases));
        let numbers = report.cases..report.cases + most;
        let drawn: Vec<Case> = numbers.map(|number| pool.case(settings.seed, number)).collect();
        let Some(groups) = round(&drawn, bench, findings, settings.excuse)?.filter(|_| !stop.requested())
        else {
            report.stopped = true;
            break;
        };
        let round = Round {
            from: report.cases,
            cases: most,
            seconds: clock.elapsed().as_secs_f64(),
            groups,
        };
        journal.round(&round)?;
        report.add(round)?;
        watch(FuzzProgress::Round(report.cases));
    }
    if !report.stopped {
        let none = Findings::default();
        let known = if settings.excuse { findings } else { &none };
        report.shrunk = shrinking::shrink(settings, bench, known, &report.groups, stop, &watch)?;
    }
    Ok(report)
}

impl Report {
    fn is_over(&self, settings: &FuzzSettings) -> bool {
        settings.cases.is_some_and(|cases| self.cases >= cases)
            || settings
                .time
                .is_some_and(|time| self.seconds >= time.as_secs_f64())
    }

    fn add(&mut self, round: Round) -> Result<(), Error> {
        if round.from != self.cases {
            return Err(Error::Data(format!(
                "a round begins with case {}, and {} were drawn before it; the journal was damaged: begin another",
                round.from, self.cases
            )));
        }
        self.cases += round.cases;
        self.rounds += 1;
        self.seconds += round.seconds;
        self.groups.add(round.groups);
        Ok(())
    }
}

/// Findings with a row for one of the columns, but for those that no random case shows.
fn sought(findings: &Findings, backends: &[String]) -> Vec<String> {
    let shows = |row: &FindingRow| backends.iter().any(|backend| row.is_about(backend));
    let found = findings.findings.iter().filter(|finding| !finding.undrawn);
    let found = found.filter(|finding| finding.rows.iter().chain(&finding.drawn).any(shows));
    found.map(|finding| finding.name.clone()).collect()
}

/// Runs the cases once and groups what became of them; `None` where the run was stopped.
///
/// A case that a finding says never ends is not run: each would cost its whole time limit, and tell nothing new.
fn round(
    cases: &[Case],
    bench: &mut impl Bench,
    findings: &Findings,
    excuse: bool,
) -> Result<Option<Groups>, Error> {
    let backends = bench.backends();
    let hangs = |case: &Case| {
        let known = |backend: &String| findings.explain_drawn(backend, case, Verdict::Timeout).is_some();
        excuse && backends.iter().any(known)
    };
    let (left_out, run): (Vec<Case>, Vec<Case>) = cases.iter().cloned().partition(hangs);
    let Some(seen) = bench.run(&run)? else {
        return Ok(None);
    };
    let mut groups = Groups {
        left_out: left_out.len() as u64,
        ..Groups::default()
    };
    for (case, results) in run.iter().zip(seen) {
        for (backend, seen) in backends.iter().zip(results) {
            groups.put(backend, case, &seen, findings, excuse);
        }
    }
    Ok(Some(groups))
}
