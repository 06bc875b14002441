//! What code may reach: foreign functions, files, the clock, the environment.

use tidy::{Named, Source, sources};

use crate::{below, has_word, holds, leads_into, names};

/// What reads or writes something outside the program.
const IO: [&str; 6] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::time",
    "std::io",
];

/// The files that may define or declare foreign functions.
const FOREIGN: [&str; 16] = [
    "rocm-backend/src/hip/sys.rs",
    "crates/rocm-soft/src/entry.rs",
    "crates/rocm-soft-c/src/abi.rs",
    "crates/hsa-soft/src/abi.rs",
    "crates/hip-soft/src/abi.rs",
    // What it calls of the host's C library.
    "crates/hip-soft/src/abi/print.rs",
    "crates/rocm-nvidia/src/entry.rs",
    "crates/rocm-nvidia/src/cuda.rs",
    "crates/rocm-nvidia/src/blas.rs",
    "crates/rocm-nvidia/src/miopen.rs",
    "crates/rocm-nvidia/src/rocrand.rs",
    "crates/rocm-nvidia/src/library.rs",
    // The macro by which the drivers define theirs.
    "crates/rocm-rs/src/driver.rs",
    // Declarations alone, as in the bindings that are rocm-rs's own.
    "crates/rocm-rs/src/rccl.rs",
    // They call what hsa-soft and hip-soft define, as a program does.
    "fuzz/targets/barriers.rs",
    "fuzz/targets/fat_binary.rs",
];

pub(crate) fn foreign_functions(files: &[Source]) -> Vec<String> {
    let watched = files
        .iter()
        .filter(|file| !file.is_test() && !FOREIGN.contains(&file.path.as_str()));
    watched
        .flat_map(|file| {
            let mentions = file.mentions();
            let foreign = mentions.windows(2).filter(|pair| {
                let is_abi = |abi: &Named| matches!(abi, Named::Literal(text) if text.starts_with('C') || text == "system");
                has_word(&pair[0].named, &["global_asm"])
                    || has_word(&pair[0].named, &["extern"]) && is_abi(&pair[1].named)
            });
            foreign.map(|pair| format!("{}:{}", file.path, pair[0].line)).collect::<Vec<_>>()
        })
        .collect()
}

pub(crate) fn pure_model_and_oracle(files: &[Source]) -> Vec<String> {
    let crates = [
        "crates/parity-model/src/",
        "crates/parity-oracle/src/",
        "crates/parity-fuzz/src/",
        "crates/parity-selftest/src/",
        "crates/parity-bench/src/",
    ];
    let watched = |path: &str| below(path, &crates);
    names(files, watched, |named| leads_into(named, &IO))
}

/// A report, and what reads or writes bytes that it is handed.
pub(crate) fn pure_report(files: &[Source]) -> Vec<String> {
    let crates = [
        "crates/parity-report/src/",
        "crates/code-object/src/",
        "crates/zoo-protocol/src/",
    ];
    let watched = |path: &str| below(path, &crates);
    let wanted = |named: &Named| {
        leads_into(
            named,
            &["std::fs", "std::env", "std::process", "std::net", "std::time"],
        )
    };
    names(files, watched, |named| {
        wanted(named) || has_word(named, &["Instant", "SystemTime"])
    })
}

pub(crate) fn deterministic_emulator(files: &[Source]) -> Vec<String> {
    let watched = |path: &str| path.starts_with("crates/gfx-emu/src/");
    let words = ["HashMap", "HashSet", "Instant", "SystemTime", "rand"];
    names(files, watched, |named| {
        leads_into(named, &IO) || has_word(named, &words)
    })
}

#[test]
fn foreign_functions_are_defined_in_one_file_of_each_crate_that_meets_c() {
    holds(
        foreign_functions,
        &["rs"],
        "foreign functions belong in rocm-backend/src/hip/sys.rs, or in the files of rocm-soft, rocm-soft-c, hsa-soft, hip-soft and rocm-nvidia that are for them",
    );
}

/// The files of [`FOREIGN`] that the row of this invariant in the page of architecture does not name.
fn foreign_but_not_documented(architecture: &str) -> Vec<&'static str> {
    let mut rows = architecture.lines();
    let row = rows.find(|line| line.contains("| foreign functions are in"));
    let named = |path: &str| row.is_some_and(|row| row.contains(&format!("`{path}`")));
    FOREIGN.into_iter().filter(|path| !named(path)).collect()
}

#[test]
fn the_page_of_architecture_names_every_file_of_foreign_functions() {
    let pages = sources(&["md"]);
    let page = pages.iter().find(|page| page.path == "ARCHITECTURE.md");
    let text = &page.expect("the page is a tracked file").text;
    assert_eq!(foreign_but_not_documented(text), [""; 0]);
    let planted = text.replace("`crates/rocm-nvidia/src/library.rs`", "others");
    assert_eq!(
        foreign_but_not_documented(&planted),
        ["crates/rocm-nvidia/src/library.rs"]
    );
}

#[test]
fn the_model_and_the_oracle_do_no_io_and_read_no_clock() {
    holds(
        pure_model_and_oracle,
        &["rs"],
        "the crates that model, judge, draw, break and compare are pure",
    );
}

#[test]
fn a_report_reads_no_clock_environment_or_file() {
    holds(
        pure_report,
        &["rs"],
        "a report is a pure function of the record, and a reader one of the bytes",
    );
}

#[test]
fn the_emulator_does_no_io_reads_no_clock_and_has_no_hash_order() {
    holds(
        deterministic_emulator,
        &["rs"],
        "the emulator's results depend on its inputs alone",
    );
}

/// The files and folders that the rule for contributors names: `` `crates/x/src/` (`a.rs`, `a/`) `` is two of them.
fn with_unsafe_code(contributing: &str) -> Vec<String> {
    let rule = contributing
        .split("\n- ")
        .find(|rule| rule.starts_with("`unsafe` is in"));
    let parts: Vec<&str> = rule.unwrap_or_default().split('`').skip(1).collect();
    let (mut folder, mut named) = (None, Vec::new());
    for part in parts.chunks(2).skip(1) {
        let [word, after] = part else { break };
        let is_head = after.trim_start().starts_with('(');
        match (&folder, is_head) {
            (_, true) => folder = Some((*word).to_owned()),
            (Some(inside), false) => named.push(format!("{inside}{word}")),
            (None, false) => named.push((*word).to_owned()),
        }
        if after.contains(')') {
            folder = None;
        }
    }
    named
}

/// Sources of crates that have unsafe code where the rule names none.
fn unsafe_elsewhere(files: &[Source], named: &[String]) -> Vec<String> {
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    // Packages of examples/ are their readers' own.
    let watched =
        |path: &str| path.contains("/src/") && !path.starts_with("examples/") && !below(path, &named);
    names(files, watched, |named| has_word(named, &["unsafe"]))
}

#[test]
fn unsafe_code_is_where_the_rule_for_contributors_says() {
    let pages = sources(&["md"]);
    let page = pages.iter().find(|page| page.path == "CONTRIBUTING.md");
    let text = &page.expect("the page is a tracked file").text;
    let named = with_unsafe_code(text);
    assert!(
        named.contains(&"crates/hip-soft/src/work.rs".to_owned()),
        "{named:?}"
    );
    let files = sources(&["rs"]);
    let found = unsafe_elsewhere(&files, &named);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let fewer = with_unsafe_code(&text.replace("`entry/`", "others"));
    let found = unsafe_elsewhere(&files, &fewer);
    assert!(
        found
            .iter()
            .any(|at| at.starts_with("crates/rocm-soft/src/entry/graph.rs")),
        "{found:?}"
    );
}
