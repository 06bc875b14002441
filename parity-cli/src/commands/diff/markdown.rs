//! The differences of two runs as GitHub-flavoured markdown, for a pull request: what was compared, a count for each pair of
//! verdicts, then the results that differ, by finding.

use std::fmt::Write;

use parity_model::{Verdict, record::CaseResult};
use parity_report::{
    count_text,
    gfm::{Table, code, words},
};
use parity_run::{
    changes::{Change, ChangeClass, Changes},
    records::Stored,
};

use super::{error, surroundings};

/// Bytes of a page. GitHub refuses a comment of more than 65,536 characters.
const PAGE: usize = 60_000;

/// Bytes of the page's last line, which says what is not listed.
const END: usize = 200;

/// Results of a group that the page lists; what is left of [`PAGE`] may be too little for as many.
const LISTED: usize = 20;

/// Rows of the table of verdicts, and lines that say what else differs between the runs.
const KINDS: usize = 40;

/// Characters of a note, a title or a version; what is longer is cut there.
const WORDS: usize = 200;

/// What a note of an unexpected pass begins with, before the finding's.
const LISTED_AS: &str = "listed as a known failure: ";

/// The page.
pub(super) fn write_page(
    page: &mut String,
    before: &Stored,
    after: &Stored,
    found: &Changes<'_>,
    outcome: &str,
) -> std::fmt::Result {
    let (other, all) = (found.list.len(), found.same + found.list.len());
    writeln!(
        page,
        "## Parity: {} of {} results differ\n",
        count_text(other),
        count_text(all)
    )?;
    writeln!(page, "{}\n", words(outcome))?;
    let mut runs = Table::new(["run", "candle-core", "parity", "started", "cases"]).texts(4);
    for (name, Stored { path, run }) in [("before", before), ("after", after)] {
        let commit = run.commit.as_deref().unwrap_or("no commit");
        runs.row([
            format!("{name}: {}", code(&cut(path))),
            words(&cut(&run.candle_version)),
            format!("{} ({})", words(&cut(&run.parity_version)), words(&cut(commit))),
            words(&cut(&run.started)),
            count_text(run.planned),
        ]);
    }
    page.push_str(&runs.render());
    for line in surroundings(before, after).iter().take(KINDS) {
        write!(page, "\n- {}", words(&cut(line)))?;
    }
    if found.list.is_empty() {
        return writeln!(page, "\nEvery result says the same.");
    }
    write_kinds(page, found)?;
    let groups = groups(&found.list);
    let mut unlisted = (0, 0);
    for group in &groups {
        let room = PAGE.saturating_sub(page.len() + END);
        match section(group, room) {
            Some(section) => page.push_str(&section),
            None => unlisted = (unlisted.0 + 1, unlisted.1 + group.list.len()),
        }
    }
    match unlisted {
        (0, _) => Ok(()),
        (groups, results) => writeln!(
            page,
            "\nThe page is full: {} groups of {} results more are not listed.",
            count_text(groups),
            count_text(results)
        ),
    }
}

/// How many results went from which verdict to which, the most frequent first.
fn write_kinds(page: &mut String, found: &Changes<'_>) -> std::fmt::Result {
    let mut kinds: Vec<(ChangeClass, [&str; 2], usize)> = Vec::new();
    for change in &found.list {
        let pair = pair(change);
        match kinds
            .iter_mut()
            .find(|(class, of, _)| (*class, *of) == (change.class, pair))
        {
            Some((.., count)) => *count += 1,
            None => kinds.push((change.class, pair, 1)),
        }
    }
    kinds.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let mut table = Table::new(["before", "after", "change", "results"]).texts(3);
    for (class, [old, new], count) in kinds.iter().take(KINDS) {
        let mended = [*old, *new] == [Verdict::KnownFailure.name(), Verdict::UnexpectedPass.name()];
        let change = if mended { "mended" } else { class.name() };
        table.row([*old, *new, change, &count_text(*count)]);
    }
    writeln!(
        page,
        "\n{}\n{} results say the same.",
        table.render(),
        count_text(found.same)
    )
}

/// The verdicts of a change; `-` where a run has no result.
fn pair(change: &Change<'_>) -> [&'static str; 2] {
    [change.before, change.after].map(|result| result.map_or("-", |result| result.verdict.name()))
}

/// Results that differ and that one finding names, or none.
struct Group<'a> {
    /// The finding's name and title.
    finding: Option<(&'a str, &'a str)>,
    list: Vec<&'a Change<'a>>,
}

/// The changes by finding: those of none first, then the larger groups.
fn groups<'a>(list: &'a [Change<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for change in list {
        let finding = change
            .before
            .and_then(finding)
            .or_else(|| change.after.and_then(finding));
        let name = |finding: Option<(&'a str, &'a str)>| finding.map(|(name, _)| name);
        match groups
            .iter_mut()
            .find(|group| name(group.finding) == name(finding))
        {
            Some(group) => group.list.push(change),
            None => groups.push(Group {
                finding,
                list: vec![change],
            }),
        }
    }
    groups.sort_by_key(|group| (group.finding.is_some(), std::cmp::Reverse(group.list.len())));
    for group in &mut groups {
        // The worst first: some may be left out.
        group
            .list
            .sort_by_key(|change| ChangeClass::ALL.iter().position(|class| *class == change.class));
    }
    groups
}

/// The name and the title of the finding that a result's note begins with.
fn finding(result: &CaseResult) -> Option<(&str, &str)> {
    if !matches!(result.verdict, Verdict::KnownFailure | Verdict::UnexpectedPass) {
        return None;
    }
    let note = result.note.as_deref()?;
    note.strip_prefix(LISTED_AS).unwrap_or(note).split_once(": ")
}

/// A group as a section of at most `room` bytes, with as many of its results as that holds; `None` where it holds none.
fn section(group: &Group<'_>, room: usize) -> Option<String> {
    let title = match group.finding {
        None => "No finding names these".to_owned(),
        Some((name, title)) => format!("{}: {}", code(&cut(name)), words(&cut(title))),
    };
    let all = group.list.len();
    let mut listed = all.min(LISTED);
    while listed > 0 {
        let mut table = Table::new(["case", "backend", "before", "after", "why"]).texts(5);
        for change in &group.list[..listed] {
            table.row(row(change));
        }
        let more = match all - listed {
            0 => String::new(),
            more => format!("\nand {} more\n", count_text(more)),
        };
        let section = format!(
            "\n### {title}\n\n<details><summary>{} results</summary>\n\n{}{more}\n</details>\n",
            count_text(all),
            table.render()
        );
        if section.len() <= room {
            return Some(section);
        }
        listed /= 2;
    }
    None
}

fn row(change: &Change<'_>) -> [String; 5] {
    let [old, new] = match change.class {
        ChangeClass::Grew => [change.before, change.after].map(error),
        ChangeClass::Broken
        | ChangeClass::Gone
        | ChangeClass::New
        | ChangeClass::Fixed
        | ChangeClass::Changed => pair(change).map(str::to_owned),
    };
    // A finding's own words stand above its table.
    let own = change.after.filter(|result| finding(result).is_none());
    let why = own.and_then(|result| result.note.as_deref()).unwrap_or_default();
    [
        code(&change.case.id),
        change.backend.to_owned(),
        old,
        new,
        words(&cut(why)),
    ]
}

/// The beginning of a text from a record.
fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(WORDS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
