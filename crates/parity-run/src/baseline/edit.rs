//! Rewrites the text of a `finding.toml`: what stays keeps its spelling and its comments. Decides nothing.

use std::collections::BTreeMap;

use parity_model::{
    Verdict,
    findings::{FindingRow, Predicate},
};
use toml_edit::{Array, DocumentMut, Value, value};

/// A row as text.
pub(super) fn row_text(cases: &Predicate, backends: &[&str], verdict: Verdict, may_pass: bool) -> String {
    let backends: Vec<_> = backends.iter().map(|backend| format!("{backend:?}")).collect();
    let may_pass = if may_pass { ", may_pass = true" } else { "" };
    let (backends, verdict) = (backends.join(", "), verdict.name());
    format!("{{ {cases}, backends = [{backends}], verdict = {verdict:?}{may_pass} }}")
}

/// The row for its other backends, if it has any, and for this one with other predicates.
pub(super) fn replacement(row: &FindingRow, backend: &str, predicates: &[Predicate]) -> Vec<String> {
    let others: Vec<&str> = row
        .backends
        .iter()
        .map(String::as_str)
        .filter(|name| *name != backend)
        .collect();
    let text = |cases, backends: &[&str]| row_text(cases, backends, row.verdict, row.may_pass);
    let rest = (!others.is_empty()).then(|| text(&row.cases, &others));
    let narrowed = predicates.iter().map(|cases| text(cases, &[backend]));
    rest.into_iter().chain(narrowed).collect()
}

/// The text with other rows in the place of those that `rows` names, and with more of them at the end; `None` where no row
/// is left.
///
/// # Errors
/// Why it cannot be rewritten.
pub(super) fn rewrite(
    text: &str,
    rows: &BTreeMap<usize, Vec<String>>,
    more: &[String],
) -> Result<Option<String>, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("it is not TOML: {error}"))?;
    let old = document.get("matches").and_then(|item| item.as_array());
    let old = old.ok_or("its rows must be written as matches = [{ .. }] to be rewritten")?;
    let mut new = old.clone();
    new.clear();
    for (i, row) in old.iter().enumerate() {
        match rows.get(&i) {
            None => new.push_formatted(row.clone()),
            Some(texts) => {
                for (n, text) in texts.iter().enumerate() {
                    new.push_formatted(parsed(text)?.decorated(prefix(row, n > 0), ""));
                }
            }
        }
    }
    for text in more {
        let before = old.iter().last().map_or("\n  ", |row| prefix(row, true));
        new.push_formatted(parsed(text)?.decorated(before, ""));
    }
    if new.is_empty() {
        return Ok(None);
    }
    document["matches"] = value(new);
    Ok(Some(document.to_string()))
}

fn parsed(row: &str) -> Result<Value, String> {
    row.parse()
        .map_err(|error| format!("`{row}` is not a row: {error}"))
}

/// What is before a row: the line break and the indentation, and the comments unless it is for one row `more`.
fn prefix(row: &Value, more: bool) -> &str {
    let before = row
        .decor()
        .prefix()
        .and_then(|prefix| prefix.as_str())
        .unwrap_or(" ");
    match before.rfind('\n') {
        Some(line) if more => &before[line..],
        Some(_) | None => before,
    }
}

/// The text of a new finding.
pub(super) fn create(
    title: &str,
    reason: &str,
    link: Option<&str>,
    rows: &[String],
) -> Result<String, String> {
    let mut document = DocumentMut::new();
    document["title"] = value(title);
    document["class"] = value("unexplained");
    document["reason"] = value(reason);
    if let Some(link) = link {
        document["link"] = value(link);
    }
    let mut matches = Array::new();
    for text in rows {
        matches.push_formatted(parsed(text)?.decorated("\n  ", ""));
    }
    matches.set_trailing_comma(true);
    matches.set_trailing("\n");
    document["matches"] = value(matches);
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"title = "a"
# Why.
reason = "b"
matches = [
  { op = ["relu"] }, # the first
  { op = ["log"] },
]
"#;

    #[test]
    fn what_stays_keeps_its_spelling() {
        let rows = BTreeMap::from([(
            1,
            vec!["{ op = [\"exp\"] }".to_owned(), "{ op = [\"sin\"] }".to_owned()],
        )]);
        let new = rewrite(TEXT, &rows, &[]).unwrap().unwrap();
        let expected = TEXT.replace(
            "  { op = [\"log\"] },\n",
            "  { op = [\"exp\"] },\n  { op = [\"sin\"] },\n",
        );
        assert_eq!(new, expected);
        let more = rewrite(TEXT, &BTreeMap::new(), &["{ op = [\"exp\"] }".to_owned()])
            .unwrap()
            .unwrap();
        assert_eq!(more, TEXT.replace("},\n]", "},\n  { op = [\"exp\"] },\n]"));
    }

    #[test]
    fn a_finding_without_a_row_is_none() {
        let rows = BTreeMap::from([(0, vec![]), (1, vec![])]);
        assert_eq!(rewrite(TEXT, &rows, &[]), Ok(None));
        assert!(rewrite("title = \"x\"", &rows, &[]).is_err());
    }

    #[test]
    fn a_new_finding_is_read_back() {
        let rows = [
            r#"{ op = ["relu"], backends = ["cpu"], verdict = "mismatch" }"#.to_owned(),
            r#"{ op = ["log"], backends = ["cpu"], verdict = "crash" }"#.to_owned(),
        ];
        let text = create("a \"title\"", "why", Some("https://example.org/1"), &rows).unwrap();
        let findings = crate::findings::parse(&[("new", "new.toml".to_owned(), text.as_str())]).unwrap();
        let finding = &findings.findings[0];
        assert_eq!((finding.title.as_str(), finding.rows.len()), ("a \"title\"", 2));
        assert_eq!(finding.link.as_deref(), Some("https://example.org/1"));
        assert!(text.ends_with("},\n]\n"), "{text}");
    }
}
