//! Invariants that the sources show: where unsafe code, foreign functions, IO and backend names may be. Each rule has a
//! test over the repository, and a test over lines as a hurried person would write them, which the rule must find.

mod files;
mod pages;
mod planted;
mod reach;
mod tables;
mod types;
mod variables;
mod walkthroughs;
mod words;

use tidy::{Named, Source, sources};

/// A rule over sources: `file:line: what` of everything that breaks it.
pub(crate) type Rule = fn(&[Source]) -> Vec<String>;

/// `file:line: name` of every name that `forbidden` picks, in the files that `watched` picks. Test code is left out.
pub(crate) fn names(
    files: &[Source],
    watched: impl Fn(&str) -> bool,
    forbidden: impl Fn(&Named) -> bool,
) -> Vec<String> {
    let watched = files.iter().filter(|file| !file.is_test() && watched(&file.path));
    watched
        .flat_map(|file| {
            let mentions = file
                .mentions()
                .into_iter()
                .filter(|mention| forbidden(&mention.named));
            mentions
                .map(|mention| format!("{}:{}: {:?}", file.path, mention.line, mention.named))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Whether a path is one of `modules` or leads into one.
pub(crate) fn leads_into(named: &Named, modules: &[&str]) -> bool {
    let Named::Path(path) = named else { return false };
    modules.iter().any(|module| {
        path.strip_prefix(module)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// Whether a path has one of `words` in it.
pub(crate) fn has_word(named: &Named, words: &[&str]) -> bool {
    matches!(named, Named::Path(path) if path.split("::").any(|part| words.contains(&part)))
}

pub(crate) fn below(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

#[track_caller]
pub(crate) fn holds(rule: Rule, extensions: &[&str], why: &str) {
    let found = rule(&sources(extensions));
    assert!(found.is_empty(), "{why}:\n{}", found.join("\n"));
}

/// A file whose only flaw is `text`.
pub(crate) fn planted(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}
