//! Rewrites the text of a list of known failures: comments, order and spelling of what stays are kept.

use std::mem;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::changes::{Added, Changes};

/// What separates an entry from the one before it.
const BLANK_LINE: &str = "\n";

/// The text of the changed list.
///
/// # Errors
/// Why it cannot be rewritten.
pub(super) fn rewrite(
    text: &str,
    changes: &Changes,
    backend: &str,
    reason: &str,
    link: Option<&str>,
) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("it is no TOML: {error}"))?;
    let old = match document.remove("known") {
        None => ArrayOfTables::new(),
        Some(Item::ArrayOfTables(tables)) => tables,
        Some(_) => return Err("its entries must be written as [[known]] tables to be rewritten".to_owned()),
    };
    let mut tables: Vec<Table> = Vec::new();
    let mut carried = String::new();
    for (i, mut table) in old.into_iter().enumerate() {
        table.set_position(None);
        let before = format!("{}{}", mem::take(&mut carried), prefix(&table));
        if changes.removed.iter().any(|(removed, _)| *removed == i) {
            carried = section(&before).to_owned();
            continue;
        }
        table.decor_mut().set_prefix(before);
        let narrowed = changes.narrowed.iter().find(|(narrowed, ..)| *narrowed == i);
        let Some((_, patterns, _)) = narrowed else {
            tables.push(table);
            continue;
        };
        for (n, pattern) in patterns.iter().enumerate() {
            let mut part = table.clone();
            set(&mut part, "id", pattern);
            if n > 0 {
                part.decor_mut().set_prefix(BLANK_LINE);
            }
            tables.push(part);
        }
    }
    tables.extend(
        changes
            .added
            .iter()
            .map(|added| entry(added, backend, reason, link)),
    );
    let rest = format!("{carried}{}", document.trailing().as_str().unwrap_or_default());
    // With no table before it, the head of the file is what trails.
    let was_empty = text
        .parse::<DocumentMut>()
        .is_ok_and(|old| old.get("known").is_none());
    match tables.first_mut().filter(|_| was_empty) {
        Some(first) => {
            let before = if rest.is_empty() { "" } else { BLANK_LINE };
            first.decor_mut().set_prefix(format!("{rest}{before}"));
            document.set_trailing("");
        }
        None => document.set_trailing(rest),
    }
    if !tables.is_empty() {
        document.insert("known", Item::ArrayOfTables(tables.into_iter().collect()));
    }
    Ok(document.to_string())
}

/// The comments and blank lines in front of a table.
fn prefix(table: &Table) -> String {
    let raw = table.decor().prefix().and_then(|prefix| prefix.as_str());
    raw.unwrap_or(BLANK_LINE).to_owned()
}

/// The comments that are not about the entry itself: those that a blank line separates from it.
fn section(before: &str) -> &str {
    before.rfind("\n\n").map_or("", |end| &before[..end + 1])
}

/// Sets a value of a table and keeps what stands around it.
fn set(table: &mut Table, key: &str, text: &str) {
    let decor = table
        .get(key)
        .and_then(Item::as_value)
        .map(|old| old.decor().clone());
    table.insert(key, value(text));
    let new = table.get_mut(key).and_then(Item::as_value_mut);
    if let (Some(new), Some(decor)) = (new, decor) {
        *new.decor_mut() = decor;
    }
}

fn entry(added: &Added, backend: &str, reason: &str, link: Option<&str>) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix(BLANK_LINE);
    let words = [
        ("id", Some(added.pattern.as_str())),
        ("backend", Some(backend)),
        ("verdict", Some(added.verdict.name())),
        ("reason", Some(reason)),
        ("link", link),
    ];
    for (key, word) in words {
        if let Some(word) = word {
            table.insert(key, value(word));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use parity_model::Verdict;

    use super::*;

    const LIST: &str = r#"# The head of the file.

# ---- Section one.

[[known]]
id = "a:*"    # why so wide
backend = "one"
verdict = "mismatch"
reason = "it's \"so\""

# About b alone.
[[known]]
id = "b:*"
backend = "one"
verdict = "crash"
reason = "r"

# ---- Section two.

[[known]]
id = "c:*"
backend = "two"
verdict = "crash"
reason = "r"
# The tail.
"#;

    fn added(pattern: &str) -> Added {
        Added {
            pattern: pattern.to_owned(),
            verdict: Verdict::Mismatch,
            cases: 1,
        }
    }

    fn rewritten(changes: &Changes) -> String {
        rewrite(LIST, changes, "one", "the \"reason\"", None).unwrap()
    }

    #[test]
    fn without_changes_not_a_byte_changes() {
        assert_eq!(rewritten(&Changes::default()), LIST);
    }

    #[test]
    fn a_removed_entry_takes_its_own_comment_along_and_leaves_that_of_its_section() {
        let text = rewritten(&Changes {
            removed: vec![(1, String::new())],
            ..Changes::default()
        });
        let gone = "# About b alone.\n[[known]]\nid = \"b:*\"\nbackend = \"one\"\nverdict = \"crash\"\nreason = \"r\"\n\n";
        assert_eq!(text, LIST.replace(gone, ""));
        let text = rewritten(&Changes {
            removed: vec![(0, String::new())],
            ..Changes::default()
        });
        assert!(
            text.starts_with(
                "# The head of the file.\n\n# ---- Section one.\n\n# About b alone.\n[[known]]\n"
            ),
            "{text}"
        );
        let text = rewritten(&Changes {
            removed: vec![(2, String::new())],
            ..Changes::default()
        });
        assert!(text.ends_with("# ---- Section two.\n# The tail.\n"), "{text}");
    }

    #[test]
    fn a_narrowed_entry_keeps_all_but_its_pattern() {
        let narrowed = vec![(0, vec!["a:1".to_owned(), "a:2".to_owned()], String::new())];
        let text = rewritten(&Changes {
            narrowed,
            ..Changes::default()
        });
        let twice = "[[known]]\nid = \"a:1\"    # why so wide\nbackend = \"one\"\nverdict = \"mismatch\"\nreason = \"it's \\\"so\\\"\"\n\n\
                     [[known]]\nid = \"a:2\"    # why so wide\n";
        assert!(text.contains(twice), "{text}");
        assert!(
            text.starts_with("# The head of the file.\n\n# ---- Section one.\n\n[[known]]"),
            "{text}"
        );
    }

    #[test]
    fn a_new_entry_comes_last_and_reads_back() {
        let text = rewritten(&Changes {
            added: vec![added("d:*")],
            ..Changes::default()
        });
        let known = parity_model::known::KnownFailures::parse("k.toml", &text).unwrap();
        let last = known.entries.last().unwrap();
        assert_eq!(
            (last.id.as_str(), last.reason.as_str()),
            ("d:*", "the \"reason\"")
        );
        assert_eq!(known.entries.len(), 4);
    }

    #[test]
    fn a_list_of_nothing_begins_with_its_head() {
        let changes = Changes {
            added: vec![added("d:*")],
            ..Changes::default()
        };
        let text = rewrite("# Head.\n", &changes, "one", "r", Some("https://example.org/1")).unwrap();
        assert_eq!(
            text,
            "# Head.\n\n[[known]]\nid = \"d:*\"\nbackend = \"one\"\nverdict = \"mismatch\"\nreason = \"r\"\nlink = \
             \"https://example.org/1\"\n"
        );
    }

    #[test]
    fn entries_written_in_line_are_not_rewritten() {
        let error = rewrite("known = []\n", &Changes::default(), "one", "r", None).unwrap_err();
        assert!(error.contains("[[known]]"), "{error}");
    }
}
