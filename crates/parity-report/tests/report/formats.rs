//! CSV, JUnit, markdown and HTML: what each says of the same record, and that a stored one renders to the same bytes.

use parity_model::{Verdict, record::RunRecord, verdict::Worst};
use parity_report::{csv, html, json, junit, markdown};
use quick_junit::{NonSuccessKind, Report, TestCaseStatus};

use crate::common::{case, has_line, pass, result, run};

fn stored(run: &RunRecord) -> RunRecord {
    json::parse(&json::render(run).unwrap()).unwrap()
}

#[test]
fn every_format_of_a_stored_run_has_the_bytes_of_the_live_one() {
    let (live, stored) = (run(), stored(&run()));
    assert_eq!(csv::render(&stored), csv::render(&live));
    assert_eq!(markdown::render(&stored), markdown::render(&live));
    assert_eq!(junit::render(&stored).unwrap(), junit::render(&live).unwrap());
    assert_eq!(html::render(&stored).unwrap(), html::render(&live).unwrap());
}

#[test]
fn no_format_hides_another_result() {
    // The negative control of the test above: the renderers do look at the record.
    let (mut other, run) = (run(), run());
    other.cases[0].results[1] = pass(0.75);
    assert_ne!(csv::render(&other), csv::render(&run));
    assert_ne!(markdown::render(&other), markdown::render(&run));
    assert_ne!(html::render(&other).unwrap(), html::render(&run).unwrap());
    other.cases[0].results[1] = result(Verdict::Timeout, None, None);
    assert_ne!(junit::render(&other).unwrap(), junit::render(&run).unwrap());
}

#[test]
fn csv_has_a_row_per_case_and_backend_and_quotes_what_would_be_taken_apart() {
    let mut run = run();
    run.cases[2].results[1].note = Some("says \"no\", twice\nover".to_owned());
    let page = csv::render(&run);
    let want = "id,family,op,dtype,layout,backend,level,verdict,worst_ulp,worst_abs,worst_rel,share_of_limit,cpu_fallbacks,note
\"unary/exp:f32:[2,3]:contiguous:uniform(-1,1)\",unary,exp,f32,contiguous,cpu,host,pass,0.5,0.5,0.25,0.25,,
\"unary/exp:f32:[2,3]:contiguous:uniform(-1,1)\",unary,exp,f32,contiguous,rocm,isa,pass,1.25,0.5,0.25,0.625,,
";
    assert!(page.starts_with(want), "{page}");
    let last = "rocm,isa,mismatch,inf,0.5,0.25,inf,,\"says \"\"no\"\", twice\nover\"\n";
    assert!(page.ends_with(last), "{page}");
}

#[test]
fn csv_gives_every_digit_of_a_large_error_in_few_characters() {
    let mut run = run();
    let error = 4.300_000_000_000_1e75;
    run.cases[0].results[1].vs_oracle.as_mut().unwrap().max_abs = error;
    let page = csv::render(&run);
    let field = page.lines().nth(2).unwrap().rsplit(',').nth(4).unwrap();
    assert_eq!(field.parse(), Ok(error));
    assert!(field.len() < 20, "{field}");
}

#[test]
fn junit_has_a_suite_per_backend_with_failures_repro_lines_and_known_failures_skipped() {
    let page = junit::render(&run()).unwrap();
    let report = Report::deserialize_from_str(&page).unwrap();
    let names: Vec<_> = report
        .test_suites
        .iter()
        .map(|suite| suite.name.as_str())
        .collect();
    assert_eq!(names, ["cpu", "rocm"]);
    assert_eq!((report.tests, report.failures, report.errors), (6, 1, 0));
    let statuses: Vec<_> = report.test_suites[1]
        .test_cases
        .iter()
        .map(|case| &case.status)
        .collect();
    assert!(matches!(statuses[0], TestCaseStatus::Success { .. }));
    assert!(matches!(statuses[1], TestCaseStatus::Skipped { message, .. }
            if message.as_deref() == Some("flushes denormals")));
    let TestCaseStatus::NonSuccess {
        kind,
        message,
        description,
        ..
    } = statuses[2]
    else {
        panic!("{page}")
    };
    assert_eq!(*kind, NonSuccessKind::Failure);
    assert_eq!(message.as_deref(), Some("mismatch: 1 of 6 elements"));
    let again =
        "again: parity run --backend rocm --case 'unary/exp:f16:[2,3]:contiguous:uniform(-1,1)' --seed 7";
    assert!(description.as_deref().unwrap().ends_with(again), "{page}");
}

#[test]
fn junit_calls_what_came_to_no_comparison_an_error() {
    for verdict in [Verdict::Crash, Verdict::Timeout, Verdict::NotRun] {
        let mut run = run();
        run.cases[0].results[1] = result(verdict, None, None);
        let page = junit::render(&run).unwrap();
        let report = Report::deserialize_from_str(&page).unwrap();
        assert_eq!((report.failures, report.errors), (1, 1), "{page}");
    }
}

#[test]
fn markdown_has_provenance_totals_tables_known_failures_and_failures_with_repro() {
    let page = markdown::render(&run());
    for line in [
        "- parity 0.1.0, commit `abc-dirty`, candle-core 0.11.1",
        "- started 2026-01-02T03:04:05Z, took 1.5 s, seed 7",
        "- 3 cases of `unary`",
        "| rocm (isa) |       3 |    1 |             1 |        1 |   33.3 % (1/3) |",
        "| rocm (isa) | f16 | f32 |",
        "| exp | 0/1 inf >1000%, 1 failing | 1/1 1.25 62% |",
        "1 on rocm: flushes denormals",
        "- `unary/log:f32:[2,3]:contiguous:uniform(-1,1)`",
        "- mismatch on rocm: 1 of 6 elements is infinite  ",
        "  `parity run --backend rocm --case 'unary/exp:f16:[2,3]:contiguous:uniform(-1,1)' --seed 7`",
    ] {
        assert!(has_line(&page, line), "{line}\nis not in\n{page}");
    }
}

#[test]
fn markdown_of_an_empty_run_does_not_say_that_all_is_well() {
    let mut empty = run();
    empty.cases.clear();
    empty.planned = 0;
    assert!(markdown::render(&empty).ends_with("Nothing ran, which is a failure.\n"));
}

#[test]
fn html_takes_nothing_from_elsewhere_and_lets_no_text_become_markup() {
    let mut run = run();
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    run.cases[2].results[1].note = Some(evil.to_owned());
    run.cases[1].results[1].note = Some(evil.to_owned());
    run.backends[1].device = evil.to_owned();
    let page = html::render(&run).unwrap();
    assert!(
        !page.contains("<script>alert") && !page.contains("<img"),
        "{page}"
    );
    assert_eq!(page.matches("</script>").count(), 2, "the data's and the page's");
    for outside in ["http://", "https://", "src=\"", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn html_shows_a_failing_cell_as_such() {
    let page = html::render(&run()).unwrap();
    let cells: Vec<_> = page
        .split("<button")
        .filter_map(|button| button.split_once("</button>"))
        .map(|(button, _)| button)
        .filter(|cell| cell.contains("data-cell="))
        .collect();
    let failing = |cell: &&&str| cell.contains("class=\"bad\"");
    let failing: Vec<_> = cells.iter().filter(failing).collect();
    assert_eq!(failing.len(), 1, "{failing:?}");
    assert!(failing[0].contains(
        "title=\"exp f16: 0 of 1 agree, worst error inf ULP, &gt;1000% of its limit, 1 mismatch\""
    ));
    assert_eq!(cells.len(), 6, "three cells on two backends");
}

#[test]
fn html_counts_every_error_and_draws_its_dot_by_magnitude() {
    let mut run = run();
    let mut inexact = |case: usize, expected: &str, ulp: f64| {
        let metrics = run.cases[case].results[0].vs_oracle.as_mut().unwrap();
        metrics.max_ulp = ulp;
        metrics.worst = Some(Worst {
            index: vec![0],
            inputs: vec![],
            expected: expected.to_owned(),
            got: "1".to_owned(),
            ulp,
            limit: "2 ULP".to_owned(),
        });
    };
    inexact(0, "-1", 1.5);
    inexact(1, "0", f64::INFINITY);
    inexact(2, "NaN", f64::INFINITY);
    let page = html::render(&run).unwrap();
    assert!(
        page.contains("Results by error in ULP: exact: 0; to 1: 0; to 2: 1; to 4: 0"),
        "{page}"
    );
    let plot = page.split("class=\"scatter\"").nth(1).unwrap();
    let plot = plot.split("</figure>").next().unwrap();
    assert!(
        plot.contains("agrees: 2; known failure: 0; fails the run: 0"),
        "{plot}"
    );
    assert!(plot.contains("3 inexact results, 1 left out"), "{plot}");
    let dots = plot.split("class=\"dots\" d=\"").nth(1).unwrap();
    let dots = dots.split('"').next().unwrap();
    // A zero and an infinite error have their lanes, to the left and at the top.
    assert_eq!(dots.matches('M').count(), 2, "{dots}");
    assert!(dots.starts_with("M58 24h0"), "{dots}");
}

#[test]
fn html_of_fifteen_thousand_cases_on_two_backends_is_below_half_a_mebibyte() {
    let mut run = run();
    let worst = Worst {
        index: vec![12, 34],
        inputs: vec!["-0.12345678901234567".to_owned(), "318901361842.99915".to_owned()],
        expected: "0.98765432109876543".to_owned(),
        got: "0.98765432109876521".to_owned(),
        ulp: 1.234_567_89,
        limit: "2 ULP + 1.2345e-7".to_owned(),
    };
    run.cases = (0..15_000)
        .map(|i| {
            let mut inexact = pass(1.234_567_89);
            inexact.vs_oracle.as_mut().unwrap().worst = Some(worst.clone());
            let results = if i % 4 == 0 {
                vec![inexact.clone(), inexact]
            } else {
                vec![pass(0.0), pass(0.0)]
            };
            let mut case = case(["exp", "log", "sin"][i % 3], ["f16", "f32"][i % 2], results);
            case.id = format!(
                "unary/exp:f32:[{i},3,33],[{i},3,33]:transposed,broadcast:geometric(0.0001,100000000000)"
            );
            case
        })
        .collect();
    run.planned = run.cases.len();
    let bytes = html::render(&run).unwrap().len();
    assert!(bytes < 512 << 10, "{bytes} bytes");
}
