//! `parity diff --format markdown`: the table of a pull request, of a real record and copies of it with verdicts changed.

use std::fs;

use serde_json::{Value, json};

use crate::stored::Stored;

/// A record whose cases 0 to 2 fail as two findings say, and one where the first of these is mended and case 3 is broken.
fn mended() -> Stored {
    let stored = Stored::new();
    let set = |record: &mut Value, case: usize, verdict: &str, note: Option<&str>| {
        let result = &mut record["cases"][case]["results"][0];
        (result["verdict"], result["note"]) = (json!(verdict), json!(note));
    };
    let (first, second) = ("one: *adds* wrongly", "two: logs | wrongly");
    let before = |record: &mut Value| {
        set(record, 0, "known-failure", Some(first));
        set(record, 1, "known-failure", Some(first));
        set(record, 2, "known-failure", Some(second));
    };
    stored.store("before.json", before);
    stored.store("after.json", |record| {
        before(record);
        record["candle_version"] = json!("0.11.1, sources 0123456789ab, of /home/me/candle");
        let note = "listed as a known failure: one: *adds* wrongly";
        set(record, 0, "unexpected-pass", Some(note));
        set(record, 1, "unexpected-pass", Some(note));
        set(record, 3, "mismatch", Some("1 of 72 elements: [0, 1] is 2"));
    });
    stored
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "`{text}` is not in\n{page}");
}

/// The lines of a page without the padding of its tables.
fn narrow(page: &str) -> String {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_page_counts_pairs_of_verdicts_and_groups_the_cases_by_finding() {
    let stored = mended();
    for (more, outcome) in [
        (&[][..], "WORSE: 3 of 6 results"),
        (&["--verdicts"], "DIFFERENT: 3 of 6 results"),
    ] {
        let args = [
            &["diff", "before.json", "after.json", "--format", "markdown"],
            more,
        ]
        .concat();
        let page = narrow(&stored.parity(&args).exits(100).stdout);
        shows(&page, "## Parity: 3 of 6 results differ\n");
        shows(&page, outcome);
        shows(&page, "0.11.1, sources 0123456789ab, of /home/me/candle");
        shows(&page, "| known-failure | unexpected-pass | mended | 2 |");
        shows(&page, "| pass | mismatch | broken | 1 |");
        shows(&page, "3 results say the same.");
        shows(
            &page,
            &format!(
                "| `{}` | cpu | pass | mismatch | 1 of 72 elements: \\[0, 1\\] is 2 |",
                stored.id(3)
            ),
        );
        // Both cases stand below the finding, once; the finding that is as it was has no section.
        let (_, of_one) = page.split_once("### `one`: \\*adds\\* wrongly").unwrap();
        for case in [0, 1] {
            shows(
                of_one,
                &format!(
                    "| `{}` | cpu | known-failure | unexpected-pass | |",
                    stored.id(case)
                ),
            );
            assert_eq!(page.matches(stored.id(case)).count(), 1, "{page}");
        }
        assert!(!page.contains("logs"), "{page}");
    }
}

#[test]
fn a_page_of_no_difference_says_so_and_passes() {
    let stored = Stored::new();
    let args = [
        "diff", "a.json", "a.json", "--format", "markdown", "--out", "page.md",
    ];
    assert_eq!(stored.parity(&args).exits(0).stdout, "");
    let page = fs::read_to_string(stored.specs.path("page.md")).unwrap();
    shows(&page, "## Parity: 0 of 6 results differ\n");
    shows(&page, "Every result says the same.");
    assert!(!page.contains("<details>"), "{page}");
}

#[test]
fn a_page_is_bounded_however_much_differs_and_says_what_it_leaves_out() {
    let stored = Stored::new();
    let many = |record: &mut Value, verdict: &str| {
        let case = record["cases"][0].clone();
        let cases = (0..3000).map(|number| {
            let mut case = case.clone();
            case["id"] = json!(format!(
                "binary/add:f32:[{number}],[{number}]:contiguous,contiguous:any"
            ));
            let note = format!("finding-{}: {}", number % 300, "what it does ".repeat(50));
            case["results"][0]["verdict"] = json!(verdict);
            case["results"][0]["note"] = json!(note);
            case
        });
        record["cases"] = cases.collect();
        record["planned"] = json!(3000);
    };
    stored.store("old.json", |record| many(record, "known-failure"));
    stored.store("new.json", |record| many(record, "mismatch"));
    let args = ["diff", "old.json", "new.json", "--format", "markdown"];
    let page = stored.parity(&args).exits(100).stdout;
    assert!((30_000..60_000).contains(&page.len()), "{}", page.len());
    shows(&page, "3,000 of 3,000 results differ");
    let last = page.lines().last().unwrap();
    let listed = page.matches("\n### ").count();
    shows(
        last,
        &format!(
            "The page is full: {} groups of {} results more are not listed.",
            300 - listed,
            // count_text separates thousands.
            {
                let left = (300 - listed) * 10;
                format!("{},{:03}", left / 1000, left % 1000)
            }
        ),
    );
}
