//! What every rendering of a run says of it in the same words: results in order, scores, figures, repro commands.
//! Lays nothing out.

use parity_model::{
    Verdict,
    record::{BackendInfo, CaseRecord, CaseResult, RunRecord},
};

use crate::cells::WorstError;

/// One result with the names that place it.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) case: &'a CaseRecord,
    pub(crate) backend: &'a str,
    pub(crate) result: &'a CaseResult,
}

/// Every result, in plan order.
pub(crate) fn results(run: &RunRecord) -> impl Iterator<Item = Found<'_>> {
    let names = || run.backends.iter().map(|backend| backend.backend.as_str());
    run.cases.iter().flat_map(move |case| {
        names().zip(&case.results).map(move |(backend, result)| Found {
            case,
            backend,
            result,
        })
    })
}

/// The results of the backend in `column`, in plan order.
pub(crate) fn column(run: &RunRecord, column: usize) -> impl Iterator<Item = &CaseResult> {
    run.cases.iter().filter_map(move |case| case.results.get(column))
}

/// ` --backend rocm`, with a space before it: what a command needs to run the column's backend where it ran. Empty for
/// recorded outputs, which run nowhere.
pub fn backend_arg(info: &BackendInfo) -> String {
    match (info.option(), &info.host) {
        (None, _) => String::new(),
        (Some(option), None) => format!(" --backend {option}"),
        // A command holds whatever a shell does something with.
        (Some(option), Some(_)) => format!(" --backend '{}'", option.replace('\'', r"'\''")),
    }
}

/// The command that repeats one case. An id holds no single quote, so quoting it is enough for a shell.
pub fn repro(run: &RunRecord, id: &str, backend: &str) -> String {
    let info = run.backends.iter().find(|info| info.backend == backend);
    let mut command = format!(
        "parity run{} --case '{id}'",
        info.map(backend_arg).unwrap_or_default()
    );
    for argument in &run.repro_args {
        command.push(' ');
        command.push_str(argument);
    }
    command
}

/// `3 cases`, and what else was asked for.
pub(crate) fn planned_text(run: &RunRecord) -> String {
    format!("{} cases{}", count_text(run.planned), part_text(run))
}

/// Which part the planned cases are of what was asked for; empty where they are all of it.
pub(crate) fn part_text(run: &RunRecord) -> String {
    let shard = run
        .shard
        .as_ref()
        .map(|shard| format!(", shard {}/{} of {}", shard.index, shard.of, shard.planned));
    shard.unwrap_or_default() + &left_out_text(run)
}

/// `; 7,629 selected cases are not recorded and were left out`; empty where none was.
pub fn left_out_text(run: &RunRecord) -> String {
    match run.not_recorded {
        0 => String::new(),
        count => format!(
            "; {} selected cases are not recorded and were left out",
            count_text(count)
        ),
    }
}

/// How many of a backend's results agree, by the one definition all pages use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Pass, error-parity and reference-suspect, computed by the backend itself.
    pub agreed: usize,
    /// Everything that ran, known failures and CPU fallbacks included.
    pub executed: usize,
    /// Known failures among the executed.
    pub known: usize,
    /// Executed results of which the CPU computed a part; never counted as agreed.
    pub by_fallback: usize,
    /// Results that make the run fail, those that never ran included.
    pub failing: usize,
    /// Planned and never executed.
    pub not_run: usize,
}

/// The definition of [`Score`] for readers.
pub const SCORE_DEFINITION: &str = "The parity score is the share of executed results that agree with the right answer. Three verdicts agree: \
pass; error-parity, where the reference and the backend refuse alike; and reference-suspect, where the reference is wrong and this backend is not. \
A known failure does not agree. A result of which the CPU computed a part does not agree. A result that was not executed is not counted.";

impl Score {
    /// Counts some results of one backend.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> Score {
        let mut score = Score::default();
        for result in results {
            let fell_back = !result.fallbacks.is_empty();
            let verdict = result.verdict;
            score.executed += usize::from(verdict != Verdict::NotRun);
            score.not_run += usize::from(verdict == Verdict::NotRun);
            score.known += usize::from(verdict == Verdict::KnownFailure);
            score.failing += usize::from(verdict.fails_run());
            score.by_fallback += usize::from(fell_back);
            score.agreed += usize::from(agrees(verdict) && !fell_back);
        }
        score
    }

    /// `98.7 %`, rounded down so that only a full score reads 100; `-` where nothing was executed.
    pub fn percent(self) -> String {
        if self.executed == 0 {
            return "-".to_owned();
        }
        if self.agreed == self.executed {
            return "100 %".to_owned();
        }
        let permille = self.agreed * 1000 / self.executed;
        format!("{}.{} %", permille / 10, permille % 10)
    }
}

/// Whether a verdict says that the backend does as it should: it does not fail the run, and no known failure excuses it.
pub fn agrees(verdict: Verdict) -> bool {
    !verdict.fails_run() && verdict != Verdict::KnownFailure
}

/// Results of one backend that share a reason.
pub(crate) struct Reason<'a> {
    pub(crate) backend: &'a str,
    pub(crate) text: &'a str,
    pub(crate) cases: Vec<&'a CaseRecord>,
}

/// Known failures by backend and reason, in order of first appearance.
pub(crate) fn known_failures(run: &RunRecord) -> Vec<Reason<'_>> {
    let mut reasons: Vec<Reason<'_>> = Vec::new();
    for found in results(run).filter(|found| found.result.verdict == Verdict::KnownFailure) {
        let text = found.result.note.as_deref().unwrap_or("no reason recorded");
        let same = |reason: &&mut Reason<'_>| reason.backend == found.backend && reason.text == text;
        match reasons.iter_mut().find(same) {
            Some(reason) => reason.cases.push(found.case),
            None => reasons.push(Reason {
                backend: found.backend,
                text,
                cases: vec![found.case],
            }),
        }
    }
    reasons
}

/// `0.98`, `254`, `1.2e6` or `inf`: three digits or so.
pub fn ulp_text(ulp: f64) -> String {
    match ulp {
        ulp if ulp.is_infinite() => "inf".to_owned(),
        ulp if ulp < 100.0 => format!("{ulp:.2}"),
        ulp if ulp < 1e4 => format!("{ulp:.0}"),
        ulp => format!("{ulp:.1e}"),
    }
}

/// `49%`; beyond ten times the limit the factor says nothing more.
pub fn share_text(limit_used: f64) -> String {
    if limit_used <= 10.0 {
        format!("{:.0}%", limit_used * 100.0)
    } else {
        ">1000%".to_owned()
    }
}

/// `0` for exact results, else `0.98 49%`.
pub fn error_text(worst: WorstError) -> String {
    if worst.ulp == 0.0 {
        return "0".to_owned();
    }
    format!("{} {}", ulp_text(worst.ulp), share_text(worst.limit_used))
}

/// A count with a comma every three digits: `13,429`.
pub fn count_text(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_counts_known_failures_as_executed_and_leaves_out_what_never_ran() {
        let results = Verdict::ALL.map(CaseResult::of);
        let score = Score::of(&results);
        assert_eq!((score.agreed, score.executed), (3, 12));
        assert_eq!((score.known, score.not_run), (1, 1));
        assert_eq!(score.percent(), "25.0 %");
    }

    #[test]
    fn a_pass_that_the_cpu_computed_is_no_agreement() {
        let mut fallen = CaseResult::of(Verdict::Pass);
        fallen.fallbacks.push("softmax".to_owned());
        let score = Score::of(&[fallen, CaseResult::of(Verdict::Pass)]);
        assert_eq!((score.agreed, score.executed, score.by_fallback), (1, 2, 1));
    }

    #[test]
    fn only_a_full_score_reads_100() {
        let mut results = vec![CaseResult::of(Verdict::Pass); 9999];
        results.push(CaseResult::of(Verdict::Mismatch));
        assert_eq!(Score::of(&results).percent(), "99.9 %");
        assert_eq!(Score::of(&results[..9999]).percent(), "100 %");
        assert_eq!(Score::of(&[]).percent(), "-");
    }

    #[test]
    fn counts_are_grouped_by_three() {
        for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count_text(count), text);
        }
    }
}
