//! Known failures that a backend shares with the reference: both run code of candle's that is wrong, and no kernel can mend
//! it. They are counted beside the parity score, and leave its meaning alone.

use parity_model::{
    Verdict,
    record::{CaseRecord, RunRecord},
};

use crate::{
    facts::{self, Score, agrees, count_text},
    gfm::Table,
    markdown::backend_title,
};

/// The definition of a shared failure for readers.
pub(crate) const SHARED_DEFINITION: &str = "A known failure is shared where the reference fails in the same way: the outputs are the \
     same, to the bit or within the case's limit, or both refuse with the same class of error. Code of candle's that runs on every \
     backend is at fault there, and the backend does what the reference does. The parity score counts none of them as agreement.";

/// How many of a backend's known failures are the reference's too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The backend's score.
    pub score: Score,
    /// Known failures that the reference shares.
    pub shared: usize,
}

impl Shared {
    /// Counts those of the backend in `column`; `None` for the reference, and where there is no known failure.
    pub fn of(run: &RunRecord, column: usize) -> Option<Shared> {
        let score = Score::of(facts::column(run, column));
        if score.known == 0 || reference(run) == Some(column) {
            return None;
        }
        Some(Shared {
            score,
            shared: count(run, run.cases.iter(), column),
        })
    }

    /// `99.9 % (37,347/37,352)`: results that agree with the oracle or fail as the reference does.
    fn with_reference(self) -> String {
        let score = Score {
            agreed: self.score.agreed + self.shared,
            ..self.score
        };
        let (agreed, executed) = (count_text(score.agreed), count_text(score.executed));
        format!("{} ({agreed}/{executed})", score.percent())
    }
}

impl std::fmt::Display for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} of {} known failures are the reference's too; {} agree with the oracle or fail as the reference does",
            count_text(self.shared),
            count_text(self.score.known),
            self.with_reference()
        )
    }
}

/// How many results of `column` among `cases` are shared failures.
pub fn count<'a>(run: &RunRecord, cases: impl Iterator<Item = &'a CaseRecord>, column: usize) -> usize {
    let Some(reference) = reference(run).filter(|reference| *reference != column) else {
        return 0;
    };
    cases
        .filter(|case| is_shared(case, reference, column).unwrap_or(false))
        .count()
}

/// A row for each backend with known failures besides the reference, and what the figures mean; `None` without such a backend.
pub fn section(run: &RunRecord) -> Option<String> {
    let mut table = Table::new([
        "backend",
        "known failures",
        "shared with the reference",
        "agree with the oracle or fail as the reference",
    ]);
    for column in 0..run.backends.len() {
        if let Some(found) = Shared::of(run, column) {
            table.row([
                backend_title(run, column),
                count_text(found.score.known),
                count_text(found.shared),
                found.with_reference(),
            ]);
        }
    }
    (!table.is_empty()).then(|| format!("{}\n{SHARED_DEFINITION}\n", table.render()))
}

fn reference(run: &RunRecord) -> Option<usize> {
    let mut backends = run.backends.iter();
    backends.position(|info| info.backend == run.reference)
}

fn is_shared(case: &CaseRecord, reference: usize, column: usize) -> Option<bool> {
    let (theirs, ours) = (case.results.get(reference)?, case.results.get(column)?);
    let reference_fails = !agrees(theirs.verdict) && theirs.verdict != Verdict::NotRun;
    let measured_alike = ours.vs_reference.as_ref().is_some_and(|error| error.outside == 0);
    // What the CPU computed for the backend is of course what the CPU computes.
    let by_itself = ours.fallbacks.is_empty();
    Some(
        ours.verdict == Verdict::KnownFailure
            && reference_fails
            && by_itself
            && (measured_alike || ours.as_reference),
    )
}
