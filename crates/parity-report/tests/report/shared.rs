//! Known failures that the reference shares: counted beside the score, and only where the record shows that both fail alike.

use parity_model::{Verdict, record::RunRecord};
use parity_report::{Score, Shared, github, html, markdown, text};

use crate::common::{case, has_line, pass, result, run};

/// One case that both fail as known, with the same output; `change` spoils something of it.
fn both_fail(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let known = || result(Verdict::KnownFailure, Some(9.0), Some("candle's own"));
    let mut ours = known();
    ours.vs_reference = pass(0.0).vs_oracle;
    let mut run = run();
    run.cases = vec![
        case("exp", "f32", vec![pass(0.5), pass(0.5)]),
        case("log", "f32", vec![known(), ours]),
    ];
    run.planned = run.cases.len();
    change(&mut run);
    run
}

fn shared(run: &RunRecord) -> usize {
    Shared::of(run, 1).map_or(0, |found| found.shared)
}

#[test]
fn the_same_wrong_output_on_both_is_shared_and_no_agreement() {
    let run = both_fail(|_| {});
    assert_eq!(shared(&run), 1);
    let score = Shared::of(&run, 1).unwrap().score;
    assert_eq!((score.agreed, score.executed, score.known), (1, 2, 1));
    assert_eq!(score, Score::of(run.cases.iter().map(|case| &case.results[1])));
    assert_eq!(
        Shared::of(&run, 0),
        None,
        "the reference shares nothing with itself"
    );
}

#[test]
fn a_refusal_that_both_make_is_shared_without_a_measure() {
    let refused = |alike: bool| {
        both_fail(|run| {
            let ours = &mut run.cases[1].results[1];
            (ours.vs_oracle, ours.vs_reference, ours.as_reference) = (None, None, alike);
        })
    };
    assert_eq!(shared(&refused(true)), 1);
    assert_eq!(shared(&refused(false)), 0);
}

#[test]
fn a_failure_of_the_backends_own_is_not_shared() {
    let otherwise_wrong = both_fail(|run| {
        let ours = &mut run.cases[1].results[1];
        ours.vs_reference.as_mut().unwrap().outside = 1;
    });
    assert_eq!(shared(&otherwise_wrong), 0, "both are wrong, each in its own way");
    for verdict in [Verdict::Pass, Verdict::NotRun] {
        let alone = both_fail(|run| run.cases[1].results[0].verdict = verdict);
        assert_eq!(shared(&alone), 0, "the reference does not fail: {verdict:?}");
    }
    let fallen = both_fail(|run| {
        let ours = &mut run.cases[1].results[1];
        ours.fallbacks.push("exp".to_owned());
    });
    assert_eq!(shared(&fallen), 0, "the CPU computed both");
    let unlisted = both_fail(|run| run.cases[1].results[1].verdict = Verdict::Mismatch);
    assert_eq!(shared(&unlisted), 0, "what fails the run is excused by nothing");
}

#[test]
fn every_page_with_a_score_has_the_second_figure_beside_it() {
    let words = "1 of 1 known failures are the reference's too; 100 % (2/2) agree with the oracle or fail as the reference does";
    let options = text::Options {
        width: None,
        color: false,
        max_failures: 10,
    };
    let row = "| rocm (isa) | 1 | 1 | 100 % (2/2) |";
    let run = both_fail(|_| {});
    let text = text::render(&run, &options);
    assert!(text.contains(&format!("\n  {words}\n")), "{text}");
    assert!(html::render(&run).unwrap().contains(words));
    assert!(github::summary(&run).contains(words));
    let page = markdown::render(&run);
    assert!(has_line(&page, row), "{page}");
    assert!(page.contains("A known failure is shared where"), "{page}");

    let none = both_fail(|run| run.cases.truncate(1));
    assert!(!text::render(&none, &options).contains("known failures"));
    assert!(!markdown::render(&none).contains("A known failure is shared where"));
}
