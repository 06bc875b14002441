//! Holds reports/candle-findings.md and these tests together: every finding's code stands on the page as it runs here.

use std::{collections::BTreeSet, fs, path::Path};

use parity_model::Case;

/// The files of findings and, on the page, the class each of them is.
const CLASSES: [(&str, &str); 6] = [
    (include_str!("wrong_results.rs"), "wrong result"),
    (include_str!("gradients.rs"), "wrong result"),
    (include_str!("crashes.rs"), "crash or hang"),
    (include_str!("refused.rs"), "missing or refused"),
    (include_str!("accuracy.rs"), "loses accuracy by design"),
    (include_str!("cuda.rs"), "on CUDA"),
];

struct Finding {
    name: &'static str,
    class: &'static str,
    body: String,
}

/// Every test of these files, its body as it stands there, without the indentation.
fn findings() -> Vec<Finding> {
    let of_class = |(source, class): (&'static str, &'static str)| {
        let tests = source.split("\n#[test]\nfn ").skip(1);
        tests.map(move |test| {
            let (head, rest) = test.split_once(" {\n").unwrap();
            let body = rest.split_once("\n}").unwrap().0;
            let lines = body.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
            Finding {
                name: head.split_once('(').unwrap().0,
                class,
                body: lines.collect::<Vec<_>>().join("\n"),
            }
        })
    };
    CLASSES.into_iter().flat_map(of_class).collect()
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/candle-findings.md");
    fs::read_to_string(path).unwrap()
}

/// The cases that a section names; what it says of the model's limits names cases that cannot be yet.
fn case_ids(section: &str) -> Vec<String> {
    let harness = section.split("\n- Harness: ").nth(1).unwrap_or_default();
    let item = harness.split("\n- ").next().unwrap_or_default();
    let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
    let possible = item.split("; the model").next().unwrap_or_default();
    let quoted = possible.split('`').skip(1).step_by(2);
    quoted
        .filter(|text| text.contains(':'))
        .map(str::to_owned)
        .collect()
}

/// What the page says that the tests do not, and the other way round.
fn complaints(page: &str) -> Vec<String> {
    let findings = findings();
    let sections: Vec<_> = page.split("\n### ").skip(1).collect();
    let mut complaints = vec![];
    let mut demand = |kept: bool, complaint: String| {
        if !kept {
            complaints.push(complaint);
        }
    };
    for Finding { name, class, body } in &findings {
        let head = format!("Class: {class}. Test: `{name}`.");
        let own: Vec<_> = sections
            .iter()
            .filter(|section| section.contains(&head))
            .collect();
        demand(
            own.len() == 1,
            format!("{name} has {} sections of its class", own.len()),
        );
        let code = format!("```rust\n{body}\n```");
        let shown = own.iter().all(|section| section.contains(&code));
        demand(shown, format!("the page shows other code than {name} runs"));
    }
    for section in &sections {
        let title = section.lines().next().unwrap_or_default();
        for id in case_ids(section) {
            demand(
                id.parse::<Case>().is_ok(),
                format!("{title}: no case is called {id}"),
            );
        }
    }
    for class in CLASSES
        .map(|(_, class)| class)
        .into_iter()
        .collect::<BTreeSet<_>>()
    {
        let count = findings.iter().filter(|finding| finding.class == class).count();
        let row = format!("| {class} | {count} |");
        demand(page.contains(&row), format!("the page's table has no row {row}"));
    }
    let total = findings.len();
    demand(
        sections.len() == total,
        format!("{} sections, {total} findings", sections.len()),
    );
    demand(
        page.contains(&format!("| all | {total} |")),
        format!("the total is {total}"),
    );
    let names: BTreeSet<_> = findings.iter().map(|finding| finding.name).collect();
    demand(names.len() == total, "two findings have one name".to_owned());
    complaints
}

#[test]
fn the_page_shows_every_finding_once_with_its_class_and_the_code_that_runs() {
    let complaints = complaints(&page());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_page_with_other_code_a_lost_section_or_a_wrong_count_is_complained_of() {
    let page = page();
    let alterations = [
        (".relu()?", ".gelu()?", 1),
        ("`unary/relu:f32", "`unary/rely:f32", 1),
        ("| wrong result | ", "| wrong result | 1", 1),
        (
            "Class: crash or hang. Test: `dividing",
            "Class: wrong result. Test: `dividing",
            1,
        ),
    ];
    for (from, to, expected) in alterations {
        let complaints = complaints(&page.replacen(from, to, 1));
        assert_eq!(complaints.len(), expected, "{from}: {complaints:?}");
    }
    let (kept, _) = page.rsplit_once("\n### ").unwrap();
    assert_eq!(
        complaints(kept).len(),
        2,
        "one section is lost, and the count is wrong"
    );
}
