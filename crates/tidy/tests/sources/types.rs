//! Names of types: within a crate, one stands for one thing.

use std::collections::BTreeMap;

use tidy::{Source, sources};

use crate::{holds, planted};

/// Names that a crate may declare more than once, each with its reason.
const ACCEPTED: [(&str, &[&str], &str); 4] = [
    (
        "crates/gfx-emu",
        &["F16", "Bf16", "F32", "F64"],
        "the format, and the lane that holds a number of it",
    ),
    (
        "crates/gfx-emu",
        &["CompiledProgram"],
        "hosts without the instructions it needs have none",
    ),
    (
        "crates/parity-oracle",
        &["Tensor"],
        "the tape's, and the same with what programs outside may call",
    ),
    (
        "crates/rocm-soft",
        &["Result"],
        "Rust's, with the error of each of AMD's libraries",
    ),
];

/// Every declaration of a type whose name another type of its crate has.
pub(crate) fn types_of_one_name(files: &[Source]) -> Vec<String> {
    let mut declared: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        for (line, name) in file.types() {
            let places = declared.entry((program(&file.path), name)).or_default();
            places.push(format!("{}:{line}", file.path));
        }
    }
    let accepted = |of: &str, name: &str| {
        ACCEPTED
            .iter()
            .any(|(program, names, _)| *program == of && names.contains(&name))
    };
    declared
        .into_iter()
        .filter(|((of, name), places)| places.len() > 1 && !accepted(of, name))
        .map(|((_, name), places)| format!("{}: {name}", places.join(", ")))
        .collect()
}

/// The folder of the crate that a file belongs to, or the file where it is a program by itself.
fn program(path: &str) -> &str {
    if ["/examples/", "/targets/", "/bin/"]
        .iter()
        .any(|part| path.contains(part))
    {
        return path;
    }
    let folders = if path.starts_with("crates/") { 2 } else { 1 };
    path.match_indices('/')
        .nth(folders - 1)
        .map_or(path, |(end, _)| &path[..end])
}

#[test]
fn a_name_of_a_type_stands_for_one_thing_in_its_crate() {
    holds(types_of_one_name, &["rs"], "call one of the types what it is");
}

#[test]
fn names_are_held_apart_within_a_crate_and_not_between_crates() {
    let one = || planted("crates/parity-run/src/a.rs", "pub enum Progress { Started }\n");
    let found = |path: &str, text: &str| types_of_one_name(&[one(), planted(path, text)]);
    let two = ["crates/parity-run/src/a.rs:1, crates/parity-run/src/b.rs:3: Progress"];
    for hurried in [
        "\n\npub(crate) struct Progress(u64);\n",
        "ops! {\n/// Steps.\npub enum Progress;\n}\n",
        "fn f() {\n\ntype Progress = u64; }\n",
        "impl A { type B = u64; }\n\ntype Progress = u64;\n",
    ] {
        assert_eq!(found("crates/parity-run/src/b.rs", hurried), two, "{hurried}");
    }
    for fine in [
        "impl A for B {\n type Progress = u64; }\n",
        "trait A { type Progress: Copy; fn f() -> impl Copy { } }\n",
        "#[cfg(test)]\nmod tests { struct Progress; }\n",
        "// struct Progress;\nuse fuzz::Progress;\n",
        "macro_rules! a { () => { type Progress = u64; fn f() {} }; }\n",
        "macro_rules! a { ($Progress:ident) => { struct $Progress; } }\n",
    ] {
        assert_eq!(found("crates/parity-run/src/b.rs", fine), [""; 0], "{fine}");
    }
    let same = "struct Progress;\n";
    assert_eq!(found("crates/parity-zoo/src/b.rs", same), [""; 0]);
    assert_eq!(found("crates/parity-run/examples/b.rs", same), [""; 0]);
}

#[test]
fn what_is_accepted_is_there() {
    let declared: Vec<(String, String)> = sources(&["rs"])
        .iter()
        .flat_map(|file| {
            file.types()
                .into_iter()
                .map(|(_, name)| (program(&file.path).to_owned(), name))
        })
        .collect();
    for (of, names, why) in ACCEPTED {
        for name in names {
            let count = declared
                .iter()
                .filter(|(program, x)| program == of && x == name)
                .count();
            assert!(
                count > 1,
                "{name} stands for one thing in {of} now: not \"{why}\""
            );
        }
    }
}
