//! Environment variables: where they are read, and which pages link to the page of all.

use tidy::{Named, Source};

use crate::{below, holds, names};

/// A name of ours in a string: to read a variable takes its name.
pub(crate) fn environment_variables(files: &[Source]) -> Vec<String> {
    const HOMES: [&str; 2] = [
        "crates/rocm-env/",
        // Starts candle's own tests, and sets variables for them.
        "crates/candle-overlay/src/bin/upstream-tests/",
    ];
    let watched = |path: &str| !below(path, &HOMES) && !path.contains("/examples/");
    let ours = |text: &str| {
        let rest = text.strip_prefix("ROCM_").unwrap_or_default();
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    names(
        files,
        watched,
        |named| matches!(named, Named::Literal(text) if ours(text)),
    )
}

/// A variable that is read by another way than its name in the source, so that nothing shows whose it is: `env::var_os(name)`.
pub(crate) fn environment_by_value(files: &[Source]) -> Vec<String> {
    const HOMES: [&str; 4] = [
        "crates/rocm-env/",
        // Cargo's variables and NVIDIA's, when crates are built.
        "crates/candle-overlay/src/",
        // CUDA_HOME and CUDA_PATH.
        "crates/kernel-build/src/toolchain.rs",
        // The dynamic linker's lists, which it makes longer for the program that it starts.
        "crates/gfx-tool/src/exec.rs",
    ];
    let watched = files.iter().filter(|file| {
        !file.is_test()
            && !below(&file.path, &HOMES)
            && !file.path.ends_with("build.rs")
            && !file.path.contains("/examples/")
    });
    watched
        .flat_map(|file| {
            let mentions = file.mentions();
            let reads = |named: &Named| {
                let Named::Path(path) = named else { return false };
                match path.rsplit_once("::") {
                    Some((_, word)) => ["var", "var_os", "vars", "vars_os"].contains(&word),
                    None => ["var_os", "vars_os"].contains(&path.as_str()),
                }
            };
            let by_value = (0..mentions.len()).filter(|at| {
                let next = mentions.get(at + 1).map(|mention| &mention.named);
                reads(&mentions[*at].named) && !matches!(next, Some(Named::Literal(_)))
            });
            by_value
                .map(|at| format!("{}:{}", file.path, mentions[at].line))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Pages that mention an environment variable and do not link to the page of all.
pub(crate) fn unlinked_variables(files: &[Source]) -> Vec<String> {
    const PAGE: &str = "environment.md";
    let mentioned = |text: &str| {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut words = text.split(|c| !part(c));
        words
            .find(|word| rocm_env::ALL.iter().any(|entry| entry.about().name == *word))
            .map(str::to_owned)
    };
    let pages = files
        .iter()
        .filter(|file| file.path.ends_with(".md") && !file.path.ends_with(PAGE));
    let unlinked = pages.filter(|file| !file.text.contains(&format!("{PAGE})")));
    unlinked
        .filter_map(|file| Some(format!("{}: {}", file.path, mentioned(&file.text)?)))
        .collect()
}

#[test]
fn environment_variables_are_read_through_their_table() {
    holds(
        environment_variables,
        &["rs"],
        "a variable is a row of crates/rocm-env/src/table.rs, and is read there",
    );
}

#[test]
fn no_variable_is_read_by_a_name_that_the_source_does_not_show() {
    holds(
        environment_by_value,
        &["rs"],
        "ask rocm_env for a variable of ours (`get`, `is_set`, `set_to`), and write the name of another's where it is read",
    );
}

#[test]
fn a_page_that_mentions_an_environment_variable_links_to_the_page_of_all() {
    holds(unlinked_variables, &["md"], "link to docs/environment.md");
}
