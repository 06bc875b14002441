//! What the README says of the stored runs, and the check that finds stale pages.

use std::{
    fs,
    path::{Path, PathBuf},
};

use parity_model::record::RunRecord;
use parity_run::records;
use repo_pages::{Material, Page, Sources, pages};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

fn stored(name: &str) -> RunRecord {
    records::read(&root().join("reports").join(name)).unwrap().run
}

#[test]
fn the_readmes_throughput_is_that_of_the_stored_run() {
    let run = stored("run.json.gz");
    assert_eq!(run.backends.len(), 2);
    let cases = run.planned;
    let want = format!(
        "took {:.1} s for {},{:03} cases on the CPU and on the software GPU, on two cores: {:.0} cases/s",
        run.seconds,
        cases / 1000,
        cases % 1000,
        (cases as f64 / run.seconds).floor()
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&readme()).contains(&want), "README.md does not say: {want}");
}

#[test]
fn the_readmes_four_columns_are_those_of_the_stored_run() {
    let run = stored("h200.json.gz");
    let material = Material {
        run: &run,
        models: None,
        coverage: None,
        objects: &[],
        sources: &Sources::default(),
    };
    let pages = pages(&material).unwrap();
    let page = &pages
        .iter()
        .find(|page| page.name == "components.md")
        .unwrap()
        .text;
    let readme = readme();
    let section = readme.split("## On four devices").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20, "both tables are there");
    for row in rows {
        assert!(page.lines().any(|line| line == row), "the run has no {row}");
    }
    assert!(section.contains(&run.started), "the run started {}", run.started);
}

#[test]
fn a_page_that_was_edited_or_is_gone_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    let page = Page {
        name: "a.md",
        text: "# One\ntwo\nthree\n".to_owned(),
    };
    let path = dir.path().join(page.name);
    assert!(page.difference(&path).unwrap().starts_with("cannot read "));
    fs::write(&path, &page.text).unwrap();
    assert_eq!(page.difference(&path), None);
    fs::write(&path, page.text.replace("two", "2")).unwrap();
    let words = page.difference(&path).unwrap();
    assert!(words.ends_with("a.md:2 is not what is generated"), "{words}");
}
