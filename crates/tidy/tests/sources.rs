//! Invariants that the text of the sources shows: where unsafe code, foreign functions, IO and backend names may stand.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path from the repository's root, with `/`, and its text.
struct Source {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every file of the repository with one of the extensions, build output left out.
fn sources(extensions: &[&str]) -> Vec<Source> {
    fn walk(dir: &Path, root: &Path, extensions: &[&str], found: &mut Vec<Source>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "gen" {
                    walk(&path, root, extensions, found);
                }
            } else if path
                .extension()
                .is_some_and(|e| extensions.iter().any(|x| e == *x))
            {
                let relative = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                found.push(Source {
                    path: relative,
                    text: fs::read_to_string(&path).unwrap(),
                });
            }
        }
    }
    let root = root();
    let mut found = Vec::new();
    walk(&root, &root, extensions, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no source found below {}", root.display());
    found
}

/// The code of a line: what stands before a `//` comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The text before the unit tests: a test may name what the code must not.
fn production(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

/// `file:line` of every line whose code has one of the words, in the files that `watched` picks, unit tests left out.
fn lines_with(files: &[Source], watched: impl Fn(&str) -> bool, words: &[&str]) -> Vec<String> {
    files
        .iter()
        .filter(|s| watched(&s.path))
        .flat_map(|s| {
            production(&s.text)
                .lines()
                .enumerate()
                .filter(|(_, line)| words.iter().any(|w| code(line).contains(w)))
                .map(move |(i, line)| format!("{}:{}: {}", s.path, i + 1, line.trim()))
        })
        .collect()
}

#[track_caller]
fn nowhere(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

const TIDY: &str = "crates/tidy/";

#[test]
fn foreign_functions_are_defined_in_one_file_of_each_crate_that_meets_c() {
    let allowed = [
        "rocm-backend/src/hip/sys.rs",
        "crates/rocm-soft/src/entry.rs",
        "crates/rocm-soft-c/src/abi.rs",
        // The source of a GPU kernel, in a string.
        "rocm-backend/examples/custom_kernel.rs",
    ];
    let found = lines_with(
        &sources(&["rs"]),
        |p| !allowed.contains(&p) && !p.starts_with(TIDY) && !p.contains("/tests/"),
        &["extern \"C\"", "extern \"system\"", "global_asm!"],
    );
    nowhere(
        found,
        "foreign functions belong in rocm-backend/src/hip/sys.rs, or in the one file of rocm-soft or rocm-soft-c",
    );
}

#[test]
fn the_model_and_the_oracle_do_no_io_and_read_no_clock() {
    let found = lines_with(
        &sources(&["rs"]),
        |p| p.starts_with("crates/parity-model/src/") || p.starts_with("crates/parity-oracle/src/"),
        &[
            "std::fs",
            "std::env",
            "std::process",
            "std::net",
            "std::time",
            "std::io",
        ],
    );
    nowhere(found, "parity-model and parity-oracle are pure");
}

#[test]
fn a_report_reads_no_clock_environment_or_file() {
    let found = lines_with(
        &sources(&["rs"]),
        |p| p.starts_with("crates/parity-report/src/"),
        &[
            "std::fs",
            "std::env::",
            "std::process",
            "std::time",
            "Instant::now",
            "SystemTime",
        ],
    );
    nowhere(found, "a report is a pure function of the record");
}

#[test]
fn the_emulator_reads_no_clock_and_iterates_no_hash_map() {
    let found = lines_with(
        &sources(&["rs"]),
        |p| p.starts_with("crates/gfx-emu/src/"),
        &[
            "std::time",
            "Instant::now",
            "SystemTime",
            "std::env",
            "HashMap",
            "HashSet",
            "use rand",
        ],
    );
    nowhere(found, "the emulator's results depend on its inputs alone");
}

#[test]
fn backend_names_stand_in_one_module() {
    let found = lines_with(
        &sources(&["rs"]),
        |p| {
            [
                "crates/parity-model/src/",
                "crates/parity-oracle/src/",
                "crates/parity-exec/src/",
                "crates/parity-report/src/",
                "parity-cli/src/",
            ]
            .iter()
            .any(|d| p.starts_with(d))
                && p != "crates/parity-exec/src/backend.rs"
        },
        &["\"cuda\"", "\"rocm\"", "\"cpu\""],
    );
    nowhere(found, "backend names belong in crates/parity-exec/src/backend.rs");
}

#[test]
fn every_module_says_its_job_in_its_first_lines() {
    let found: Vec<_> = sources(&["rs"])
        .into_iter()
        .filter(|s| !s.text.lines().take(3).any(|l| l.starts_with("//!")))
        .map(|s| s.path)
        .collect();
    nowhere(
        found,
        "a file starts with a `//!` line: its job, and what it is not",
    );
}

#[test]
fn files_stay_readable_in_one_sitting() {
    /// Tables are as long as what they list.
    const TABLES: [&str; 1] = ["crates/gfx-emu/src/isa/"];
    let found: Vec<_> = sources(&["rs", "hip", "h"])
        .into_iter()
        .filter(|s| !TABLES.iter().any(|t| s.path.starts_with(t)))
        .filter(|s| s.text.lines().count() > 800)
        .map(|s| s.path)
        .collect();
    nowhere(found, "files over 800 lines want splitting by concept");
}

#[test]
fn work_left_undone_carries_an_issue_number() {
    let words = ["TODO", "FIXME", "XXX"];
    let found: Vec<_> = sources(&["rs", "hip", "h", "sh", "toml", "md"])
        .iter()
        .filter(|s| !s.path.starts_with(TIDY))
        .flat_map(|s| {
            s.text.lines().enumerate().filter_map(move |(i, line)| {
                let at = words
                    .iter()
                    .find_map(|w| line.find(w).map(|at| &line[at + w.len()..]))?;
                let numbered = at
                    .strip_prefix("(#")
                    .is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
                (!numbered).then(|| format!("{}:{}", s.path, i + 1))
            })
        })
        .collect();
    nowhere(found, "write TODO(#123), or do it");
}

#[test]
fn the_checks_above_can_fail() {
    let planted = [Source {
        path: "x.rs".into(),
        text: "let a = 1;\nuse std::fs; // why\n// std::env in a comment\n".into(),
    }];
    assert_eq!(
        lines_with(&planted, |_| true, &["std::fs", "std::env"]),
        ["x.rs:2: use std::fs; // why"]
    );
}
