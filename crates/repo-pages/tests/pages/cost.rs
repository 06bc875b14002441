//! The page of counters: the stored record is of today's rows, and the page shows all of them on every card.

use std::path::{Path, PathBuf};

use parity_bench::cost::{Card, Counted};
use parity_run::{bench, cost, specs};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_stored_counters_are_of_the_rows_that_are_counted_today() {
    let run = cost::read(&root().join("reports/cost.json.gz")).unwrap();
    let mut today: Vec<String> = specs::load(&root().join("op-specs/cost"))
        .unwrap()
        .iter()
        .map(|case| case.id().to_string())
        .collect();
    let mut stored: Vec<String> = run.rows.iter().map(|row| row.case.clone()).collect();
    today.sort();
    stored.sort();
    assert_eq!(stored, today, "`ci/cost --record` counts them anew");
    let cards: Vec<&str> = run.devices.iter().map(|device| device.target.as_str()).collect();
    assert_eq!(cards, ["gfx1100", "gfx942", "gfx90a"]);
    for row in &run.rows {
        for (card, column) in cards.iter().zip(0..) {
            let kernels = row.kernels(column);
            assert!(
                kernels.is_some_and(|kernels| !kernels.is_empty()),
                "{} on {card}",
                row.case
            );
        }
    }
}

#[test]
fn stored_counters_do_not_contradict_each_other() {
    let run = cost::read(&root().join("reports/cost.json.gz")).unwrap();
    for row in &run.rows {
        for (info, column) in run.devices.iter().zip(0..) {
            let line = Card::of(&info.target).unwrap().line as u64;
            for kernel in row.kernels(column).unwrap() {
                let of = |name| kernel.counter(name);
                let what = || format!("{} on {}: {kernel:?}", row.case, info.target);
                // The emulator's lines have the size that the card's have here.
                assert!(of("useful_bytes") <= of("lines") * line, "{}", what());
                assert!(of("useful_bytes") <= of("lane_bytes"), "{}", what());
                assert!(of("launch_lines") <= of("group_lines"), "{}", what());
                assert!(of("group_lines") <= of("lines"), "{}", what());
                assert!(of("lds_conflicts") <= of("lds_cycles"), "{}", what());
                assert!(of("active_lanes") <= of("lane_slots"), "{}", what());
                assert_eq!(
                    of("lane_slots"),
                    kernel.vector() * u64::from(kernel.lanes),
                    "{}",
                    what()
                );
                assert!(
                    of("workgroups") <= of("waves") && of("waves") <= of("work_items"),
                    "{}",
                    what()
                );
            }
        }
    }
}

#[test]
fn the_page_shows_every_row_and_a_rank_correlation() {
    let run = cost::read(&root().join("reports/cost.json.gz")).unwrap();
    let measured = bench::read(&root().join("reports/silicon.json.gz")).unwrap();
    let page = repo_pages::cost(&run, &run, &measured);
    assert_eq!(page.name, "cost.md");
    for row in &run.rows {
        let lines = page.text.matches(&format!("| `{}` | ", row.label())).count();
        assert!(lines >= run.devices.len(), "{}: {lines} lines", row.label());
    }
    let correlated = page.text.lines().find(|line| line.starts_with("| gfx1100 | 0."));
    assert!(correlated.is_some(), "a correlation above 0");
    assert!(!page.text.contains("NaN"));
}

#[test]
fn the_page_says_what_became_cheaper_and_what_dearer() {
    let run = cost::read(&root().join("reports/cost.json.gz")).unwrap();
    let measured = bench::read(&root().join("reports/silicon.json.gz")).unwrap();
    let all = |before| {
        let page = repo_pages::cost(&run, before, &measured);
        let line = page.text.lines().find(|line| line.starts_with("| all | "));
        (line.unwrap().to_owned(), page.text)
    };
    let count = run.rows.len();
    let (line, text) = all(&run);
    assert!(
        line.starts_with(&format!("| all | 1.00 (0 and 0 of {count}) |")),
        "{line}"
    );
    assert!(text.contains("No row became dearer."));
    // Half of all lines and instructions: what is there now is twice as dear.
    let mut half = run.clone();
    for row in &mut half.rows {
        for result in &mut row.results {
            if let Counted::Kernels(kernels) = result {
                kernels
                    .iter_mut()
                    .flat_map(|kernel| kernel.counters.values_mut())
                    .for_each(|counter| *counter = counter.div_ceil(2));
            }
        }
    }
    let (line, text) = all(&half);
    assert!(line.contains(&format!("and {count} of {count})")), "{line}");
    assert!(text.contains(&format!("Dearer by the most, of {}:", 3 * count)));
}
