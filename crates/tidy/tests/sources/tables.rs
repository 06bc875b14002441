//! Matches over the tables of ops and of instructions, which name every row.

use tidy::{Source, sources};

use crate::{below, holds, planted};

/// The enums of the table of ops.
const TABLES_OF_OPS: [&str; 22] = [
    "Family",
    "Op",
    "Unary",
    "Binary",
    "Cast",
    "Where",
    "Reduce",
    "Keep",
    "Indexing",
    "Matmul",
    "Conv",
    "Pool",
    "Upsample",
    "Copies",
    "Sort",
    "Nn",
    "Layers",
    "Random",
    "Quantized",
    "BlockFormat",
    "Differentiable",
    "GradOnly",
];

pub(crate) fn tables_are_matched_whole(files: &[Source]) -> Vec<String> {
    // Shapes follow from an op's own rule: a new op has one, and needs no line here.
    const BY_THE_RULE: [&str; 2] = [
        "crates/parity-model/src/spec/shapes.rs",
        "crates/parity-fuzz/src/",
    ];
    // Faults of certain ops, which other ops do not have.
    const FAULTS: &str = "crates/parity-selftest/src/";
    // It has tables of its own, see below.
    const EMULATOR: &str = "crates/gfx-emu/src/";
    // A worker that answers what a test wants.
    const MOCK: &str = "crates/parity-exec/mock/";
    let watched = files.iter().filter(|file| {
        let apart = below(&file.path, &BY_THE_RULE) || below(&file.path, &[FAULTS, EMULATOR, MOCK]);
        !file.is_test() && !apart && below(&file.path, &["crates/", "parity-cli/"])
    });
    watched
        .flat_map(|file| {
            let lines = file.open_matches(&TABLES_OF_OPS);
            lines
                .into_iter()
                .map(|line| format!("{}:{line}", file.path))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// What executes an instruction, and what that has to know: the enums of the emulator's `isa/unit.rs`.
const TABLES_OF_INSTRUCTIONS: [&str; 12] = [
    "Unit",
    "Relative",
    "Element",
    "Control",
    "Condition",
    "RegisterCount",
    "ScalarAccess",
    "Transfer",
    "Atomic",
    "Atomic32",
    "Atomic64",
    "Share",
];

/// Matches of the interpreter, and of what watches and counts what it does.
pub(crate) fn units_are_matched_whole(files: &[Source]) -> Vec<String> {
    // What it does not know it calls the interpreter for.
    const COMPILER: &str = "crates/gfx-emu/src/exec/jit/";
    let watched = files.iter().filter(|file| {
        let executes = below(
            &file.path,
            &[
                "crates/gfx-emu/src/exec/",
                "crates/gfx-emu/src/cost.rs",
                "crates/gfx-emu/src/cover.rs",
            ],
        );
        executes && !file.is_test() && !file.path.starts_with(COMPILER)
    });
    watched
        .flat_map(|file| {
            let lines = file.open_matches(&TABLES_OF_INSTRUCTIONS);
            lines
                .into_iter()
                .map(|line| format!("{}:{line}", file.path))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn a_new_op_does_not_compile_until_every_match_knows_it() {
    holds(
        tables_are_matched_whole,
        &["rs"],
        "name the variants: a `_` arm takes an op that nobody thought of",
    );
}

#[test]
fn a_new_unit_of_the_emulator_does_not_compile_until_every_match_knows_it() {
    holds(
        units_are_matched_whole,
        &["rs"],
        "name the variants: a `_` arm takes an instruction that nobody thought of",
    );
}

/// The enums that files declare, those of a macro's pattern left out.
fn enums(files: &[Source], watched: impl Fn(&str) -> bool) -> Vec<String> {
    let texts = files
        .iter()
        .filter(|file| watched(&file.path))
        .map(|file| &file.text);
    let words = texts.flat_map(|text| text.lines().filter_map(|line| line.trim().split_once("enum ")));
    let declared = words.filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
    let names =
        declared.filter_map(|(_, after)| after.split(|c: char| !c.is_alphanumeric() && c != '$').next());
    names
        .filter(|name| !name.starts_with('$'))
        .map(str::to_owned)
        .collect()
}

/// Those that `tables` lacks.
fn missing(enums: Vec<String>, tables: &[&str]) -> Vec<String> {
    enums
        .into_iter()
        .filter(|name| !tables.contains(&name.as_str()))
        .collect()
}

#[test]
fn every_table_is_one_that_the_rules_watch() {
    let files = sources(&["rs"]);
    let ops = |path: &str| path.starts_with("crates/parity-model/src/ops/");
    assert!(enums(&files, ops).len() > 15, "{:?}", enums(&files, ops));
    assert_eq!(missing(enums(&files, ops), &TABLES_OF_OPS), [""; 0]);
    let units = |path: &str| path == "crates/gfx-emu/src/isa/unit.rs";
    assert!(enums(&files, units).len() > 10, "{:?}", enums(&files, units));
    assert_eq!(missing(enums(&files, units), &TABLES_OF_INSTRUCTIONS), [""; 0]);

    let new = "ops! {\n    /// New ops.\n    pub enum Fancy;\n}\npub(crate) enum Unary { A }\npub enum $family { }\n";
    let new = [planted("crates/parity-model/src/ops/fancy.rs", new)];
    assert_eq!(missing(enums(&new, ops), &TABLES_OF_OPS), ["Fancy"]);
}
