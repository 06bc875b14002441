//! The page of counters: the stored record is of today's rows, and the page shows all of them on every card.

use std::path::{Path, PathBuf};

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
fn the_page_shows_every_row_and_a_rank_correlation() {
    let run = cost::read(&root().join("reports/cost.json.gz")).unwrap();
    let measured = bench::read(&root().join("reports/silicon.json.gz")).unwrap();
    let page = repo_pages::cost(&run, &measured);
    assert_eq!(page.name, "cost.md");
    for row in &run.rows {
        let lines = page.text.matches(&format!("| `{}` | ", row.label())).count();
        assert!(lines >= run.devices.len(), "{}: {lines} lines", row.label());
    }
    let correlated = page.text.lines().find(|line| line.starts_with("| gfx1100 | 0."));
    assert!(correlated.is_some(), "a correlation above 0");
    assert!(!page.text.contains("NaN"));
}
