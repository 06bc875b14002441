//! The patches of CONTRIBUTING.md apply to the sources as they are. `ci/walkthrough` applies, builds and runs them; this is what can be
//! seen without a build.

use std::collections::BTreeMap;
use std::fs;

use tidy::root;

/// A hunk: the file, the lines that have to be there, and the lines in their place.
type Hunk = (String, Vec<String>, Vec<String>);

/// The hunks of the `diff` blocks of a page, in order.
fn hunks(page: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut inside, mut file) = (false, String::new());
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```diff";
        } else if let Some(name) = line.strip_prefix("+++ ").filter(|_| inside) {
            name.trim().clone_into(&mut file);
        } else if inside && line.starts_with("@@") {
            hunks.push((file.clone(), vec![], vec![]));
        } else if let Some((_, before, after)) = hunks.last_mut().filter(|_| inside) {
            let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
            if sign != "+" {
                before.push(text.to_owned());
            }
            if sign != "-" {
                after.push(text.to_owned());
            }
        }
    }
    hunks
}

/// What keeps the hunks from being applied, one after the other, to files that `read` gives.
fn misfits(hunks: Vec<Hunk>, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for (file, before, after) in hunks {
        let lines = files.entry(file.clone()).or_insert_with(|| {
            read(&file)
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect()
        });
        let places: Vec<usize> = match before.is_empty() && lines.is_empty() {
            true => vec![0],
            false => (0..=lines.len().saturating_sub(before.len()))
                .filter(|&at| lines.get(at..at + before.len()) == Some(&before[..]))
                .collect(),
        };
        match places[..] {
            [at] => drop(lines.splice(at..at + before.len(), after)),
            _ => found.push(format!(
                "{file}: {} times, expected once:\n{}",
                places.len(),
                before.join("\n")
            )),
        }
    }
    found
}

#[test]
fn the_patches_of_the_walkthroughs_apply() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap_or_default();
    let hunks = hunks(&page);
    assert!(hunks.len() > 20, "{} hunks", hunks.len());
    let found = misfits(hunks, |file| fs::read_to_string(root().join(file)).ok());
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn a_patch_that_does_not_fit_is_found() {
    let page = "```diff\n+++ a.rs\n@@\n one\n+two\n@@\n two\n-three\n```\n";
    let with = |text: &'static str| misfits(hunks(page), move |_| Some(text.to_owned()));
    assert_eq!(with("one\nthree\n"), [""; 0]);
    assert_eq!(with("one\nfour\n").len(), 1);
    assert_eq!(with("one\none\nthree\n").len(), 2);
    assert_eq!(misfits(hunks(page), |_| None).len(), 2);
}
