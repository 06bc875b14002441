//! Words that one place knows: the names of backends, and the library that parses command lines.

use tidy::{Named, Source};

use crate::{below, has_word, holds, names};

/// The crates that treat backends alike, or ask crates/parity-exec/src/backend.rs.
pub(crate) const NEUTRAL: [&str; 15] = [
    "crates/kernel-coverage/src/",
    "crates/parity-bench/src/",
    "crates/parity-exec/src/",
    "crates/parity-fuzz/src/",
    "crates/parity-golden/src/",
    "crates/parity-model/src/",
    "crates/parity-oracle/src/",
    "crates/parity-report/src/",
    "crates/parity-run/src/",
    "crates/parity-selftest/src/",
    "crates/parity-zoo/src/",
    "crates/repo-pages/src/",
    "crates/zoo-protocol/src/",
    "crates/zoo-worker/src/",
    "parity-cli/src/",
];

pub(crate) fn backend_names(files: &[Source]) -> Vec<String> {
    const HOME: &str = "crates/parity-exec/src/backend.rs";
    // Records that unit tests judge.
    const SAMPLES: &str = "crates/parity-zoo/src/samples.rs";
    let watched = |path: &str| below(path, &NEUTRAL) && path != HOME && path != SAMPLES;
    // The word alone, or at the head of a device such as `rocm:gfx942`. Messages to people may name a backend.
    names(
        files,
        watched,
        |named| matches!(named, Named::Literal(text) if ["cpu", "cuda", "rocm"].contains(&text.split(':').next().unwrap_or_default())),
    )
}

/// The modules of the command line know the library that parses it, and nothing else of the command does.
pub(crate) fn clap_below_the_arguments(files: &[Source]) -> Vec<String> {
    let watched = |path: &str| {
        path.starts_with("parity-cli/src/")
            && path != "parity-cli/src/args.rs"
            && !path.starts_with("parity-cli/src/args/")
    };
    let words = ["clap", "clap_complete", "clap_mangen"];
    names(files, watched, |named| has_word(named, &words))
}

#[test]
fn backend_names_are_in_one_module() {
    holds(
        backend_names,
        &["rs"],
        "backend names belong in crates/parity-exec/src/backend.rs",
    );
}

#[test]
fn the_library_of_the_command_line_is_named_by_its_modules_alone() {
    holds(
        clap_below_the_arguments,
        &["rs"],
        "clap belongs in parity-cli/src/args.rs and args/: `Command::of_line`, `word`, `manual`",
    );
}
