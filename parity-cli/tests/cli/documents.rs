//! What the documents say that can be held to the program: links, commands and their flags, verdicts, families, counts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use parity_model::Verdict;
use parity_model::op::Family;

use crate::common::parity;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// Every markdown file of the repository: its path and its text.
fn documents() -> Vec<(PathBuf, String)> {
    fn walk(dir: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "gen" {
                    walk(&path, found);
                }
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &mut found);
    assert!(found.iter().any(|(path, _)| path.ends_with("README.md")));
    found
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The lines of a document outside its blocks of code, and those inside.
fn prose_and_code(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut prose, mut code, mut inside) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            code.push(line);
        } else {
            prose.push(line);
        }
    }
    (prose, code)
}

/// The name by which a link reaches a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The targets of a document's links.
fn links(text: &str) -> Vec<String> {
    let (prose, _) = prose_and_code(text);
    let mut found = Vec::new();
    for line in prose {
        // What is quoted as code is no link.
        let plain: String = line.split('`').step_by(2).collect();
        for (at, _) in plain.match_indices("](") {
            let target: String = plain[at + 2..]
                .chars()
                .take_while(|c| !matches!(c, ')' | ' '))
                .collect();
            found.push(target);
        }
    }
    found
}

/// Why a link of the document at `path` leads nowhere; `None` when it leads somewhere, or out of the repository.
fn broken(path: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() {
        path.to_path_buf()
    } else {
        path.parent()?.join(file)
    };
    if !file.exists() {
        return Some(format!("{}: {target}: there is no such file", path.display()));
    }
    if fragment.is_empty() || file.extension().is_none_or(|extension| extension != "md") {
        return None;
    }
    let text = fs::read_to_string(&file).unwrap();
    let (prose, _) = prose_and_code(&text);
    let named = format!("<a id=\"{fragment}\">");
    let there = prose
        .iter()
        .any(|line| line.contains(&named) || line.starts_with('#') && anchor(line) == fragment);
    (!there).then(|| format!("{}: {target}: the page has no such heading", path.display()))
}

#[test]
fn every_link_of_every_document_leads_somewhere() {
    let documents = documents();
    let all = documents
        .iter()
        .flat_map(|(path, text)| links(text).into_iter().map(move |link| (path, link)));
    let broken: Vec<String> = all.filter_map(|(path, link)| broken(path, &link)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_link_to_a_file_or_a_heading_that_is_not_there_is_found() {
    let page = root().join("README.md");
    assert_eq!(
        links("see [a](b.md#c) and `[d](e)`\n```\n[f](g)\n```"),
        ["b.md#c"]
    );
    assert!(broken(&page, "nowhere.md").is_some() && broken(&page, "#no-such-heading").is_some());
    assert!(broken(&page, "ARCHITECTURE.md#invariants").is_none());
    assert_eq!(
        anchor("## What a `verdict` means, and why"),
        "what-a-verdict-means-and-why"
    );
}

/// The subcommands that `parity --help` lists.
fn subcommands() -> BTreeSet<String> {
    let help = parity(&["--help"], &root(), &[]).exits(0).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let entries = lines.take_while(|line| !line.is_empty());
    entries
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect()
}

/// The words that follow `parity` in a shell line, up to what ends the command; `None` where the line calls another program,
/// or is what a program printed.
fn call(line: &str) -> Option<Vec<&str>> {
    let command = line.strip_prefix("$ ").unwrap_or(line);
    let command = command.split(" #").next()?;
    let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
    words
        .next()
        .filter(|program| ["parity", "./parity"].contains(program))?;
    let words: Vec<&str> = words.collect();
    let first = words.first()?;
    let is_word = first.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let end = words
        .iter()
        .position(|word| ["|", ">", "&&", "||", ";", "\\"].contains(word));
    is_word.then(|| words[..end.unwrap_or(words.len())].to_vec())
}

/// What a shell line asks of `parity` that it does not have.
fn unknown(line: &str, subcommands: &BTreeSet<String>) -> Option<String> {
    let words = call(line)?;
    let subcommand = *words.first()?;
    if subcommand.starts_with('-') {
        return None;
    }
    if !subcommands.contains(subcommand) {
        return Some(format!("`{line}`: there is no `parity {subcommand}`"));
    }
    // Some subcommands have subcommands of their own.
    let has_own = ["baseline", "golden", "list"].contains(&subcommand);
    let nested = words.get(1).filter(|word| has_own && !word.starts_with('-'));
    let mut help = vec![subcommand];
    help.extend(nested);
    help.push("--help");
    let help = parity(&help, &root(), &[]).exits(0).stdout;
    let known: BTreeSet<&str> = help
        .split(|c: char| !(c.is_alphanumeric() || c == '-'))
        .filter(|word| word.starts_with("--"))
        .collect();
    let flags = words.iter().filter(|word| word.starts_with("--"));
    let mut names = flags.map(|flag| flag.split('=').next().unwrap_or_default());
    let stranger = names.find(|flag| !known.contains(flag))?;
    Some(format!("`{line}`: `parity {subcommand}` has no `{stranger}`"))
}

#[test]
fn every_command_of_every_document_is_one_that_parity_has() {
    let subcommands = subcommands();
    let documents = documents();
    let lines: BTreeSet<&str> = documents
        .iter()
        .flat_map(|(_, text)| prose_and_code(text).1)
        .filter(|line| call(line).is_some())
        .collect();
    assert!(lines.len() > 10, "the documents show commands: {lines:?}");
    let unknown: Vec<String> = lines
        .into_iter()
        .filter_map(|line| unknown(line, &subcommands))
        .collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn a_command_or_a_flag_that_parity_lacks_is_found() {
    let subcommands = subcommands();
    assert!(subcommands.contains("run"), "{subcommands:?}");
    assert!(unknown("./parity ruin --ops add", &subcommands).is_some());
    assert!(unknown("A=b parity run --no-such-flag 3 | tail", &subcommands).is_some());
    assert!(unknown("parity run --ops add # --no-such-flag", &subcommands).is_none());
}

/// The words in backquotes in the first cell of the rows of the table whose head has the cell `head`.
fn first_cells(text: &str, head: &str) -> BTreeSet<String> {
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with(&format!("| {head} |")))
        .skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| {
            cell.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn the_readme_explains_every_verdict_and_no_other() {
    let explained = first_cells(&readme(), "verdict");
    let verdicts = Verdict::ALL
        .iter()
        .map(|verdict| verdict.name().to_owned())
        .collect();
    assert_eq!(explained, verdicts);
}

#[test]
fn the_readme_names_every_command_and_no_other() {
    let cells = first_cells(&readme(), "command");
    let named: BTreeSet<String> = cells
        .iter()
        .filter_map(|cell| {
            cell.strip_prefix("parity ")?
                .split_whitespace()
                .next()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(named, subcommands());
}

#[test]
fn the_readme_counts_the_families_and_the_cases_that_there_are() {
    let readme = readme();
    let cases = parity(&["list", "cases"], &root(), &[])
        .exits(0)
        .stdout
        .lines()
        .count();
    let cases = format!("{},{:03} cases", cases / 1000, cases % 1000);
    let families = format!("{} families", Family::ALL.len());
    assert!(readme.contains(&families), "the README does not say `{families}`");
    assert!(readme.contains(&cases), "the README does not say `{cases}`");
}

#[test]
fn the_readme_names_every_family_of_the_specs() {
    let readme = readme();
    let specs = readme
        .lines()
        .skip_while(|line| !line.starts_with("- **The specs**"))
        .take(3);
    let specs: Vec<&str> = specs.flat_map(|line| line.split([',', ' ', '.', ':'])).collect();
    let missing: Vec<&str> = Family::ALL
        .iter()
        .map(|family| family.name())
        .filter(|name| !specs.contains(name))
        .collect();
    assert!(missing.is_empty(), "the README's list of specs lacks {missing:?}");
}
