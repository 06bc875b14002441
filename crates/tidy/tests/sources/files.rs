//! Files as a reader meets them: the length of lines and of files, the first words, and work that is left undone.

use tidy::{Source, sources};

use crate::{below, holds};

/// Lines of prose that are longer than an editor shows, in the pages for readers. Rows of tables and code are as long as they are.
pub(crate) fn long_prose(files: &[Source]) -> Vec<String> {
    const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];
    const WIDTH: usize = 130;
    let watched = files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    watched
        .flat_map(|file| {
            let mut code = false;
            let lines = file.text.lines().enumerate().filter(move |(_, line)| {
                code ^= line.starts_with("```");
                !code && !line.starts_with('|') && line.chars().count() > WIDTH
            });
            lines
                .map(|(i, _)| format!("{}:{}", file.path, i + 1))
                .collect::<Vec<_>>()
        })
        .collect()
}

pub(crate) fn modules_say_their_job(files: &[Source]) -> Vec<String> {
    let silent = files.iter().filter(|file| {
        let mut first = file.text.lines().take(3);
        file.path.ends_with(".rs") && !first.any(|line| line.starts_with("//!"))
    });
    silent.map(|file| file.path.clone()).collect()
}

pub(crate) fn readable_in_one_sitting(files: &[Source]) -> Vec<String> {
    /// Tables are as long as what they list, and rules that go instruction by instruction as they are.
    const BY_INSTRUCTION: [&str; 3] = [
        "crates/gfx-emu/src/isa/",
        "crates/gfx-emu/src/prove/",
        "crates/gfx-emu/tests/isa/prove.rs",
    ];
    let long = files
        .iter()
        .filter(|file| !below(&file.path, &BY_INSTRUCTION) && file.text.lines().count() > 660);
    long.map(|file| file.path.clone()).collect()
}

pub(crate) fn work_left_undone_has_a_number(files: &[Source]) -> Vec<String> {
    let unnumbered = |line: &str| {
        ["TODO", "FIXME", "XXX"].iter().any(|word| {
            let Some((_, after)) = line.split_once(word) else {
                return false;
            };
            let number = after.strip_prefix("(#").unwrap_or_default();
            !number.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let watched = files.iter().filter(|file| !file.path.starts_with("crates/tidy/"));
    watched
        .flat_map(|file| {
            let lines = file.text.lines().enumerate().filter(|(_, line)| unnumbered(line));
            lines
                .map(|(i, _)| format!("{}:{}", file.path, i + 1))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn lines_of_prose_fit_an_editor() {
    holds(long_prose, &["md"], "break lines of prose after 130 characters");
}

#[test]
fn every_module_says_its_job_in_its_first_lines() {
    holds(
        modules_say_their_job,
        &["rs"],
        "a file starts with a `//!` line: its job, and what it does not do",
    );
}

#[test]
fn files_stay_readable_in_one_sitting() {
    holds(
        readable_in_one_sitting,
        &["rs", "hip", "h"],
        "split files of more than 660 lines by concept",
    );
}

#[test]
fn work_left_undone_carries_an_issue_number() {
    holds(
        work_left_undone_has_a_number,
        &["rs", "hip", "h", "sh", "toml", "md"],
        "write TODO(#123), or do it",
    );
}

/// The lines of all files of a folder together, where they are more than `most`.
fn longer_than(files: &[Source], folder: &str, most: usize) -> Option<String> {
    let own = files.iter().filter(|file| file.path.starts_with(folder));
    let lines: usize = own.map(|file| file.text.lines().count()).sum();
    (lines > most).then(|| format!("{folder}: {lines} lines, at most {most}"))
}

#[test]
fn specs_and_findings_stay_short() {
    let files = sources(&["toml"]);
    for (folder, most) in [("op-specs/", 5000), ("findings/", 1500)] {
        assert_eq!(
            longer_than(&files, folder, most),
            None,
            "a sweep, a class or a predicate says it once"
        );
        assert!(longer_than(&files, folder, 1000).is_some(), "{folder} is read");
    }
}
