//! What a compiler's log says of a candle that has no worker.

use std::path::Path;

/// Lines of the compiler's that an error repeats.
const SAID: usize = 20;

/// Codes of the compiler's for a name that is not there: trait, member, type, value, import, path, method, field.
const NOT_THERE: [&str; 11] = [
    "E0405", "E0407", "E0412", "E0425", "E0432", "E0433", "E0437", "E0560", "E0576", "E0599", "E0609",
];

/// Why a candle has no worker, after a build that failed with this log.
pub(super) fn refusal(sources: &str, text: &str, log: &Path) -> String {
    let (lacks, log) = (lacking(text), log.display());
    if lacks.is_empty() {
        let said = errors(text);
        return format!(
            "candle-core {sources} does not compile below parity's worker (all of it: {log}):\n{said}"
        );
    }
    let shown = lacks
        .iter()
        .take(SAID)
        .map(|line| format!("\n  {line}"))
        .collect::<String>();
    format!(
        "candle-core {sources} has no worker: parity's sources and candle-nn use what this candle lacks:{shown}\n\
         add that to a copy of those sources and name its folder, or take another candle (all that the compiler said: {log})"
    )
}

/// Which names a build misses, each in the compiler's words with the first place that uses it and how many there are.
fn lacking(log: &str) -> Vec<String> {
    let mut found: Vec<(&str, &str, usize)> = Vec::new();
    for line in log.lines() {
        let Some((place, said)) = line.split_once(": error[") else {
            continue;
        };
        let Some((code, words)) = said.split_once("]: ") else {
            continue;
        };
        if !NOT_THERE.contains(&code) {
            continue;
        }
        match found.iter_mut().find(|(known, ..)| *known == words) {
            Some((.., places)) => *places += 1,
            None => found.push((words, place, 1)),
        }
    }
    let line = |(words, place, places): (&str, &str, usize)| {
        // The crate's folder and what is inside: where the registry or the cache lies says nothing.
        let place = place.split_once("/registry/src/").map_or(place, |(_, rest)| {
            rest.split_once('/').map_or(rest, |(_, inside)| inside)
        });
        let more = match places - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{words}, at {place}{more}")
    };
    found.into_iter().map(line).collect()
}

/// The errors of a compiler's log, or its end where it has none.
fn errors(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let of_errors = lines.iter().filter(|line| line.contains("error"));
    let mut said: Vec<&str> = of_errors.copied().take(SAID).collect();
    if said.is_empty() {
        said = lines[lines.len().saturating_sub(SAID)..].to_vec();
    }
    said.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_candle_lacks_are_counted_and_other_errors_are_said_as_they_are() {
        let log = "   Compiling candle-nn v0.11.1\n\
            /h/.cargo/registry/src/index-1/candle-nn-0.11.1/src/a.rs:2:3: error[E0425]: cannot find function `pool` in module `u`\n\
            crates/parity-exec/src/b.rs:1:1: error[E0432]: unresolved import `candle_core::x`\n\
            /h/.cargo/registry/src/index-1/candle-nn-0.11.1/src/a.rs:9:3: error[E0425]: cannot find function `pool` in module `u`\n\
            crates/parity-exec/src/b.rs:4:1: error[E0308]: mismatched types\n\
            error: could not compile `candle-nn` (lib) due to 2 previous errors\n";
        let first = "cannot find function `pool` in module `u`, at candle-nn-0.11.1/src/a.rs:2:3 and 1 more";
        let second = "unresolved import `candle_core::x`, at crates/parity-exec/src/b.rs:1:1";
        assert_eq!(lacking(log), [first, second]);
        let why = refusal("0.9.9, sources 0", log, Path::new("/c/build.log"));
        let begin = format!(
            "candle-core 0.9.9, sources 0 has no worker: parity's sources and candle-nn use what this candle lacks:\n  {first}\n  {second}\n"
        );
        assert!(why.starts_with(&begin), "{why}");
        assert!(
            why.contains("take another candle") && why.contains("/c/build.log"),
            "{why}"
        );
        // The control: a type that does not fit is not a missing name.
        let other = "src/x.rs:1:1: error[E0308]: mismatched types\n";
        let why = refusal("0.9.9, sources 0", other, Path::new("/c/build.log"));
        assert!(
            why.contains("does not compile") && why.ends_with("error[E0308]: mismatched types"),
            "{why}"
        );
    }

    #[test]
    fn what_the_compiler_says_is_cut_to_its_errors() {
        let log = "   Compiling a\nsrc/x.rs:1:1: error[E0599]: no method\nwarning: b\nerror: could not compile `c`\n";
        assert_eq!(
            errors(log),
            "src/x.rs:1:1: error[E0599]: no method\nerror: could not compile `c`"
        );
        assert_eq!(errors("killed"), "killed");
    }
}
