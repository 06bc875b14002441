//! The text page and the JSON form of a record: what they say, and that a stored run renders to the same bytes.

use parity_model::record::{RECORD_VERSION, Shard};
use parity_report::{Totals, json, markdown, text};

use crate::common::run;

const PLAIN: text::Options = text::Options {
    width: None,
    color: false,
    max_failures: 10,
};

#[test]
fn a_stored_run_renders_to_the_bytes_of_the_live_one() {
    let live = run();
    let stored = json::parse(&json::render(&live).unwrap()).unwrap();
    assert_eq!(json::render(&stored).unwrap(), json::render(&live).unwrap());
    assert_eq!(text::render(&stored, &PLAIN), text::render(&live, &PLAIN));
}

#[test]
fn the_page_of_a_shard_says_that_it_is_a_part() {
    let mut run = run();
    assert!(!text::render(&run, &PLAIN).contains("shard"));
    run.shard = Some(Shard {
        index: 2,
        of: 3,
        planned: 99,
        plan: "00".repeat(32),
        places: (0..run.planned).collect(),
    });
    let page = text::render(&run, &PLAIN);
    assert!(page.contains(" cases, shard 2/3 of 99\n"), "{page}");
}

#[test]
fn cases_that_were_left_out_are_counted_at_both_ends_of_the_page() {
    let mut run = run();
    assert!(!text::render(&run, &PLAIN).contains("left out"));
    run.not_recorded = 7629;
    let page = text::render(&run, &PLAIN);
    let left_out = "; 7,629 selected cases are not recorded and were left out\n";
    assert_eq!(page.matches(left_out).count(), 2, "{page}");
    assert!(page.ends_with(left_out), "{page}");
}

#[test]
fn the_header_names_versions_seed_and_every_device() {
    let page = text::render(&run(), &PLAIN);
    for line in [
        "parity 0.1.0 (abc-dirty), candle-core 0.11.1",
        "started 2026-01-02T03:04:05Z, took 1.5 s; seed 7; 3 cases",
        "  cpu   cpu device, driver driver 1.2, level host; the reference",
        "  rocm  rocm device, target gfx1100, driver driver 1.2, level isa",
    ] {
        assert!(
            page.lines().any(|found| found == line),
            "{line}\nis not in\n{page}"
        );
    }
}

#[test]
fn a_cell_shows_passes_runs_worst_error_and_every_other_verdict() {
    let page = text::render(&run(), &PLAIN);
    let table = page.split("unary on rocm").nth(1).unwrap();
    let rows: Vec<_> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<String>())
        .collect();
    for row in [
        "│┆f16┆f32│",
        "│exp┆0/1inf>1000%┆1/11.2562%│",
        "│┆1mismatch┆│",
        "│log┆-┆0/1│",
        "│┆┆1known-failure│",
    ] {
        assert!(
            rows.iter().any(|found| found == row),
            "{row}\nis not in\n{rows:#?}"
        );
    }
}

#[test]
fn a_pass_that_the_cpu_computed_is_marked_in_its_cell_and_in_the_totals() {
    let mut run = run();
    assert!(!text::render(&run, &PLAIN).contains("CPU fallback"));
    run.cases[0].results[1]
        .fallbacks
        .push("softmax-last-dim".to_owned());
    let page = text::render(&run, &PLAIN);
    assert!(page.contains("┆ 1 by CPU fallback"), "{page}");
    assert!(
        page.contains("  1 computed by CPU fallback: softmax-last-dim\n"),
        "{page}"
    );
}

#[test]
fn totals_add_up_to_the_plan() {
    let page = text::render(&run(), &PLAIN);
    assert!(page.contains("\ncpu: 3 planned = 3 pass\n"), "{page}");
    assert!(
        page.contains("\nrocm: 3 planned = 1 pass + 1 known-failure + 1 mismatch\n"),
        "{page}"
    );
    assert!(
        page.contains("nearest to its limit, 62% used: unary/exp:f32"),
        "{page}"
    );
    assert!(page.contains("  rocm, 1 of them: flushes denormals\n"), "{page}");
}

#[test]
fn a_failure_comes_with_its_words_its_limit_and_the_command_that_repeats_it() {
    let page = text::render(&run(), &PLAIN);
    let want = "  mismatch on rocm: unary/exp:f16:[2,3]:contiguous:uniform(-1,1)
    1 of 6 elements
    is infinite
    limit: 2 ULP: the math library
    again: parity run --backend rocm --case 'unary/exp:f16:[2,3]:contiguous:uniform(-1,1)' --seed 7
";
    assert!(page.contains(want), "{page}");
    assert!(page.ends_with("\nFAILED: 1 of 6 results\n"), "{page}");
}

#[test]
fn failures_beyond_the_maximum_are_counted() {
    let page = text::render(
        &run(),
        &text::Options {
            max_failures: 0,
            ..PLAIN
        },
    );
    assert!(
        page.contains("  and 1 more; the JSON output has them all\n"),
        "{page}"
    );
    assert!(!page.contains("again:"), "{page}");
}

#[test]
fn a_run_without_failures_says_so_and_an_empty_one_does_not() {
    let mut run = run();
    run.cases.truncate(1);
    run.planned = 1;
    assert!(text::render(&run, &PLAIN).ends_with("\nok: none of 2 results fails the run\n"));
    run.cases.clear();
    run.planned = 0;
    assert!(text::render(&run, &PLAIN).ends_with("\nFAILED: nothing ran\n"));
}

#[test]
fn color_and_width_are_the_callers() {
    let plain = text::render(&run(), &PLAIN);
    assert!(!plain.contains('\x1b'));
    assert!(text::render(&run(), &text::Options { color: true, ..PLAIN }).contains('\x1b'));
    let narrow = text::render(
        &run(),
        &text::Options {
            width: Some(30),
            ..PLAIN
        },
    );
    let boxes = narrow.lines().filter(|line| line.starts_with(['│', '┌']));
    assert!(
        boxes.map(|line| line.chars().count()).max().unwrap() <= 30,
        "{narrow}"
    );
}

#[test]
fn a_run_that_lost_a_case_or_a_result_is_refused() {
    let mut lost = run();
    lost.cases.pop();
    assert_eq!(
        Totals::of_run(&lost).unwrap_err(),
        "3 cases are planned and 2 are recorded"
    );
    let error = json::parse(&json::render(&lost).unwrap()).unwrap_err();
    assert!(matches!(error, json::ReadError::Incomplete(_)), "{error}");

    let mut lost = run();
    lost.cases[1].results.pop();
    let error = Totals::of_run(&lost).unwrap_err();
    assert!(
        error.ends_with("has 1 results, the run has 2 backends"),
        "{error}"
    );
}

#[test]
fn another_layout_version_is_named_as_such() {
    let mut run = run();
    run.version = RECORD_VERSION + 1;
    let error = json::parse(&json::render(&run).unwrap()).unwrap_err();
    assert!(
        matches!(error, json::ReadError::Version { found } if found == u64::from(run.version)),
        "{error}"
    );
    assert!(matches!(json::parse("{}"), Err(json::ReadError::Malformed(_))));
}

#[test]
fn hardware_is_named_by_its_target_and_is_not_taken_for_another() {
    let mut run = run();
    let last = run.backends.len() - 1;
    for (level, target, title) in [
        ("hardware", "sm_90", "rocm (hardware, sm_90)"),
        ("hardware", "gfx942", "rocm (hardware, gfx942)"),
        ("hardware", "", "rocm (hardware)"),
        ("isa", "gfx942", "rocm (isa)"),
    ] {
        let backend = &mut run.backends[last];
        backend.backend = "rocm".to_owned();
        backend.level = level.to_owned();
        backend.target = target.to_owned();
        assert_eq!(markdown::backend_title(&run, last), title);
    }
}
