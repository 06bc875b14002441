//! A run as JUnit XML, for CI systems that show test results: a suite per backend, a test case per case.

use core::time::Duration; // core's: it has no clock

use parity_model::{
    Verdict,
    record::{BackendInfo, CaseRecord, CaseResult, RunRecord},
};
use quick_junit::{NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::facts;

/// Renders the XML.
///
/// A case whose verdict fails the run is a `failure`, or an `error` where it never came to a comparison (a crash, a
/// timeout, never run). A known failure is `skipped`, with its reason.
///
/// # Errors
/// When the XML writer fails, which writing to memory does not.
pub fn render(run: &RunRecord) -> Result<String, SerializeError> {
    let mut report = Report::new("parity");
    for (column, backend) in run.backends.iter().enumerate() {
        report.add_test_suite(suite(run, column, backend));
    }
    // quick-junit counts skipped tests on the root as well, where the schema of Jenkins' xUnit plugin has no such
    // count. The root's tag comes first.
    let count = format!(" skipped=\"{}\"", report.skipped);
    report.to_string().map(|xml| xml.replacen(&count, "", 1))
}

fn suite(run: &RunRecord, column: usize, backend: &BackendInfo) -> TestSuite {
    let mut suite = TestSuite::new(backend.backend.as_str());
    for (name, value) in [
        ("parity", run.parity_version.as_str()),
        ("candle-core", run.candle_version.as_str()),
        ("commit", run.commit.as_deref().unwrap_or("unknown")),
        ("started", run.started.as_str()),
        ("seed", run.seed.to_string().as_str()),
        ("device", backend.device.as_str()),
        ("driver", backend.driver.as_str()),
        ("target", backend.target.as_str()),
        ("level", backend.level.as_str()),
    ] {
        suite.add_property(Property::new(name, value));
    }
    for case in &run.cases {
        if let Some(result) = case.results.get(column) {
            suite.add_test_case(test_case(run, case, &backend.backend, result));
        }
    }
    suite
}

fn test_case(run: &RunRecord, case: &CaseRecord, backend: &str, result: &CaseResult) -> TestCase {
    let note = result.note.as_deref().unwrap_or_default();
    let mut status = match state(result.verdict) {
        CaseState::Success => TestCaseStatus::success(),
        CaseState::Skipped => TestCaseStatus::skipped(),
        CaseState::Failure => TestCaseStatus::non_success(NonSuccessKind::Failure),
        CaseState::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    let verdict = result.verdict.name();
    match state(result.verdict) {
        CaseState::Success => {}
        CaseState::Skipped => {
            status.set_type(verdict).set_message(note);
        }
        CaseState::Failure | CaseState::Error => {
            let first = note.lines().next().unwrap_or(verdict);
            status
                .set_type(verdict)
                .set_message(format!("{verdict}: {first}"));
            status.set_description(description(run, case, backend, result));
        }
    }
    let mut test = TestCase::new(case.id.as_str(), status);
    test.set_classname(format!("{backend}.{}.{}.{}", case.family, case.op, case.dtype));
    // A stored number of milliseconds may be anything; one that is not a time counts as zero.
    test.set_time(Duration::try_from_secs_f64(result.millis / 1000.0).unwrap_or_default());
    test
}

/// The note in full, the worst element, the limit and the command that repeats the case.
fn description(run: &RunRecord, case: &CaseRecord, backend: &str, result: &CaseResult) -> String {
    let mut text = String::new();
    if let Some(note) = &result.note {
        text.push_str(note.trim_end());
        text.push('\n');
    }
    if let Some(worst) = result.vs_oracle.as_ref().and_then(|error| error.worst.as_ref()) {
        text.push_str(&format!(
            "worst element {:?}: expected {}, got {}, {} ULP\n",
            worst.index,
            worst.expected,
            worst.got,
            facts::ulp_text(worst.ulp)
        ));
    }
    text.push_str(&format!("limit: {}\n", case.limit));
    text.push_str(&format!("again: {}", facts::repro(run, &case.id, backend)));
    text
}

enum CaseState {
    Success,
    Skipped,
    Failure,
    Error,
}

fn state(verdict: Verdict) -> CaseState {
    match verdict {
        Verdict::Pass | Verdict::ErrorParity | Verdict::ReferenceSuspect => CaseState::Success,
        Verdict::KnownFailure => CaseState::Skipped,
        Verdict::Mismatch
        | Verdict::Unsupported
        | Verdict::Nondeterministic
        | Verdict::Fallback
        | Verdict::UnexpectedPass
        | Verdict::Untrusted => CaseState::Failure,
        Verdict::Crash | Verdict::Timeout | Verdict::NotRun => CaseState::Error,
    }
}
