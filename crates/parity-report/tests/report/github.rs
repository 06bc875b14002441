//! The rendering for GitHub workflows: its commands are whole lines, and its summary holds what failed.

use parity_model::Verdict;
use parity_report::github;

use crate::common::{case, pass, result, run};

#[test]
fn a_failure_is_one_annotation_on_one_line() {
    let text = github::annotations(&run());
    let want = "::error title=parity%3A mismatch on rocm::unary/exp:f16:[2,3]:contiguous:uniform(-1,1)%0A1 of 6 elements%0Ais \
                infinite%0Aagain: parity run --backend rocm --case 'unary/exp:f16:[2,3]:contiguous:uniform(-1,1)' --seed 7\n";
    assert_eq!(text, want);
}

#[test]
fn what_a_command_takes_for_its_own_is_escaped() {
    let mut run = run();
    run.cases[2].results[1].note = Some("100 %\r\nlost".to_owned());
    let text = github::annotations(&run);
    assert!(text.contains("%0A100 %25%0D%0Alost%0A"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn more_failures_than_github_shows_are_counted() {
    let mut run = run();
    let failed = |i: usize| {
        let mut failed = case("exp", "f32", vec![pass(0.0), result(Verdict::Crash, None, None)]);
        failed.id = format!("case {i}");
        failed
    };
    run.cases = (0..13).map(failed).collect();
    run.planned = 13;
    let text = github::annotations(&run);
    assert_eq!(text.matches("::error ").count(), 10);
    assert!(
        text.ends_with("::notice title=parity::failures besides those annotated: 3; see the summary\n"),
        "{text}"
    );
    assert!(
        github::summary(&run).contains("`case 12`"),
        "the summary has them"
    );
}

#[test]
fn a_run_that_executed_nothing_is_an_error() {
    let mut run = run();
    for case in &mut run.cases {
        case.results
            .iter_mut()
            .for_each(|result| result.verdict = Verdict::NotRun);
    }
    assert!(github::annotations(&run).contains("nothing was executed, which is never a pass"));
    assert!(github::summary(&run).starts_with("## Parity: nothing was executed\n"));
}

#[test]
fn the_summary_says_what_ran_and_what_failed() {
    let page = github::summary(&run());
    for text in [
        "## Parity: 1 failing\n",
        "3 cases",
        "seed 7",
        "| unary",
        "1/3",
        "1 mismatch",
        "again",
    ] {
        assert!(page.contains(text), "`{text}` is not in\n{page}");
    }
    let mut good = run();
    good.cases.pop();
    good.planned = 2;
    let page = github::summary(&good);
    assert!(
        page.starts_with("## Parity: all results pass or fail as known\n"),
        "{page}"
    );
    assert!(!page.contains("Failures"), "{page}");
}
