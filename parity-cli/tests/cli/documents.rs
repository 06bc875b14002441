//! What the documents say that can be held to the program: links, commands and their flags, verdicts, families, counts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use parity_model::Verdict;
use parity_model::op::{Family, formats::BlockFormat};

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
        // What is quoted as code is not a link.
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
    let cases = format!("{} cases", grouped(cases));
    let families = format!("{} families", Family::ALL.len());
    assert!(readme.contains(&families), "the README does not say `{families}`");
    assert!(readme.contains(&cases), "the README does not say `{cases}`");
}

/// The bytes of the files of a folder and of those below it.
fn bytes_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let sizes = entries.map(|entry| match entry.path() {
        path if path.is_dir() => bytes_of(&path),
        path => fs::metadata(path).unwrap().len(),
    });
    sizes.sum()
}

#[test]
fn the_readme_tells_the_size_of_the_recording_and_counts_the_formats_of_blocks() {
    let readme = readme();
    let size = |bytes: u64| {
        format!(
            "is in [golden/](golden/README.md), {:.0} MiB",
            bytes as f64 / 1_048_576.0
        )
    };
    let bytes = bytes_of(&root().join("golden"));
    assert!(
        readme.contains(&size(bytes)),
        "the README does not say `{}`",
        size(bytes)
    );
    assert!(!readme.contains(&size(bytes + (1 << 20))));
    let words: Vec<&str> = readme.split_whitespace().collect();
    let count = BlockFormat::ALL.len();
    let word = ["fourteen", "fifteen", "sixteen"]
        .into_iter()
        .zip(14..)
        .find(|(_, number)| *number == count);
    let (word, _) = word.expect("a word for the number");
    assert!(
        words.join(" ").contains(&format!("all {word} formats")),
        "the README does not say `all {word} formats`"
    );
}

/// A number as documents write it: 10,326.
fn grouped(count: usize) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}

/// The lines of the README that show what its first command printed, and name another number of cases than that command has.
fn stale_sample(readme: &str, command: &str, cases: usize) -> Vec<String> {
    let after = readme.split_once(command).map_or("", |(_, after)| after);
    let sample = after
        .split("```")
        .find(|part| part.starts_with("text"))
        .unwrap_or_default();
    let parts = sample.lines().flat_map(|line| line.split("; "));
    let counts = parts.filter_map(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        let (number, expected) = match words[..] {
            [number, "cases"] => (number, cases),
            [_, number, "planned", ..] => (number, cases),
            ["ok:", "none", "of", number, ..] => (number, 2 * cases),
            _ => return None,
        };
        Some((part, number == expected.to_string()))
    });
    let counts: Vec<_> = counts.collect();
    assert_eq!(
        counts.len(),
        4,
        "the sample has a head, two sums and a last line: {counts:?}"
    );
    let stale = counts.into_iter().filter(|(_, right)| !right);
    stale.map(|(part, _)| part.to_owned()).collect()
}

#[test]
fn the_sample_of_the_readme_has_the_cases_that_its_command_selects() {
    let command = "./parity run --backend rocm --ops unary,binary\n";
    let list = parity(&["list", "cases", "--ops", "unary,binary"], &root(), &[]);
    let cases = list.exits(0).stdout.lines().count();
    let readme = readme();
    let stale = stale_sample(&readme, command, cases);
    assert!(
        stale.is_empty(),
        "`{command}` selects {cases} cases:\n{}",
        stale.join("\n")
    );
    assert_eq!(stale_sample(&readme, command, cases + 1).len(), 4);
}

/// What a document says of the number of cases of the ci tier and is wrong, and of the full tier on a day: today's number where it names
/// no day, else that of the record of that day. `records` are the days of records and their numbers.
fn wrong_counts(text: &str, today: usize, records: &[(String, usize)]) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = |tail: &'static str| {
        let places = text.match_indices(tail).collect::<Vec<_>>();
        places.into_iter().filter_map(|(at, _)| {
            let number = text[..at]
                .rsplit(' ')
                .next()?
                .trim_start_matches(|c: char| !c.is_ascii_digit());
            let rest = text[at + tail.len()..]
                .split_whitespace()
                .next()
                .unwrap_or_default();
            (!number.is_empty()).then(|| {
                (
                    number.to_owned(),
                    rest.trim_matches(|c: char| !c.is_ascii_digit()),
                )
            })
        })
    };
    let of_today = said(" cases of the ci tier")
        .filter(|(number, _)| *number != grouped(today))
        .map(|(number, _)| format!("{number} cases of the ci tier, which has {}", grouped(today)));
    let of_a_day = said(" cases that the full tier had on").filter_map(|(number, day)| {
        let known = records
            .iter()
            .any(|(of, cases)| of == day && grouped(*cases) == number);
        (!known).then(|| format!("{number} cases on {day}, of which there is no such record: {records:?}"))
    });
    of_today.chain(of_a_day).collect()
}

#[test]
fn the_documents_name_as_many_cases_of_the_ci_tier_as_there_are_or_were() {
    let report = parity(
        &["report", "reports/h200.json.gz", "--format", "text"],
        &root(),
        &[],
    );
    let head = report.stdout.lines().nth(1).unwrap_or_default();
    let day = head
        .strip_prefix("started ")
        .and_then(|rest| rest.split('T').next());
    let cases = head
        .rsplit("; ")
        .next()
        .and_then(|last| last.strip_suffix(" cases"));
    let record = (day.unwrap().to_owned(), cases.unwrap().parse().unwrap());
    let list = parity(&["list", "cases"], &root(), &[]).exits(0);
    let (today, records) = (list.stdout.lines().count(), [record]);
    let documents = documents();
    // What was so when a line of the change log was written stays as it was.
    let documents = documents
        .iter()
        .filter(|(path, _)| !path.ends_with("CHANGELOG.md"));
    let wrong = documents.flat_map(|(path, text)| {
        let found = wrong_counts(text, today, &records).into_iter();
        found.map(move |what| format!("{}: {what}", path.display()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let readme = readme();
    let (day, cases) = &records[0];
    let dated = format!("{} cases that the full tier had on {day}", grouped(*cases));
    assert_eq!(
        readme.matches(&dated).count(),
        2,
        "the README says twice `{dated}`"
    );
    assert!(
        readme.contains(&format!("/{})", grouped(*cases))),
        "the table's last row is of the record"
    );
}

#[test]
fn a_count_of_the_ci_tier_that_is_of_no_record_is_found() {
    let records = [("2026-11-26".to_owned(), 1234)];
    let wrong = |text: &str| wrong_counts(text, 5678, &records).len();
    assert_eq!(
        wrong("all 5,678 cases of the ci\ntier, the (1,234 cases that the full tier had on 2026-11-26)."),
        0
    );
    assert_eq!(wrong("how many cases of the ci tier agree"), 0);
    assert_eq!(wrong("all 1,234 cases of the ci tier"), 1);
    assert_eq!(wrong("1,235 cases that the full tier had on 2026-11-26"), 1);
    assert_eq!(wrong("1,234 cases that the full\ntier had on 2026-11-27"), 1);
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
