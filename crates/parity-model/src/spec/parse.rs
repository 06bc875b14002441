//! The reader of op specs: TOML texts to files of cases, and the sweeps that the files share. What a row of lists means is
//! in [`super::row`] and [`super::cross`].

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeTable;

use super::cross::cross;
use super::reader::{Report, Table, Value, document, suggest};
use super::row::SpecRow;
use super::{Group, SpecError, SpecFile};
use crate::Family;

/// The keys that `[defaults]` may have: what a row inherits.
pub const DEFAULT_KEYS: [&str; 13] = [
    "dtypes",
    "index_dtypes",
    "shapes",
    "layouts",
    "values",
    "checks",
    "refuses",
    "tier",
    "skip_impossible",
    "limit",
    "timeout",
    "isolated",
    "tags",
];

/// The keys that a part of a sweep may have besides [`DEFAULT_KEYS`].
pub const PART_KEYS: [&str; 2] = ["params", "except"];

/// The keys that a row, an item of `cases`, may have besides those of a part.
pub const ROW_KEYS: [&str; 1] = ["ops"];

/// The keys that a `[[group]]` may have besides those of a row.
pub const GROUP_KEYS: [&str; 4] = ["cases", "sweep", "without", "with"];

fn part_keys() -> Vec<&'static str> {
    [DEFAULT_KEYS.as_slice(), &PART_KEYS].concat()
}

fn row_keys() -> Vec<&'static str> {
    [&ROW_KEYS, part_keys().as_slice()].concat()
}

fn group_keys() -> Vec<&'static str> {
    [row_keys().as_slice(), &GROUP_KEYS].concat()
}

/// The parts of each sweep, by the sweep's name and their own.
type Sweeps<'r, 'i> = BTreeMap<String, BTreeMap<String, Table<'r, 'i>>>;

/// Reads one op spec that needs no other file. `file_name` appears in errors and nowhere else.
///
/// # Errors
/// As [`read`].
pub fn parse(file_name: &str, text: &str) -> Result<SpecFile, Vec<SpecError>> {
    let report = Report::new(file_name);
    let document = document(&report, text);
    let root = open(&report, &document);
    let sweeps = sweeps(&root);
    let file = file(&root, &sweeps);
    report.finish(file)
}

/// Reads op specs, each a name and a text, that share the sweeps of all of them. A file with sweeps alone gives no
/// [`SpecFile`].
///
/// # Errors
/// Everything that is wrong with the files, at once and in their order: bad TOML, unknown keys, unknown names, empty or
/// repeated list entries, and combinations of the lists that mean nothing.
pub fn read(files: &[(&str, &str)]) -> Result<Vec<SpecFile>, Vec<SpecError>> {
    let reports: Vec<Report<'_>> = files.iter().map(|(name, _)| Report::new(name)).collect();
    let texts = files.iter().zip(&reports);
    let documents: Vec<_> = texts.map(|((_, text), report)| document(report, text)).collect();
    let roots: Vec<Table<'_, '_>> = documents
        .iter()
        .zip(&reports)
        .map(|(document, report)| open(report, document))
        .collect();
    let mut shared = Sweeps::new();
    for root in &roots {
        for (name, parts) in sweeps(root) {
            if shared.contains_key(&name) {
                let span = root.get("sweep").map_or(root.span.clone(), |sweep| sweep.span());
                let message = format!("another file has a sweep `{name}`");
                root.report.error(span, message, "give one of them another name");
            }
            shared.insert(name, parts);
        }
    }
    let of_sweeps_alone = |root: &&Table<'_, '_>| {
        root.get("sweep").is_some() && root.get("family").is_none() && root.get("group").is_none()
    };
    let specs = roots.iter().filter(|root| !of_sweeps_alone(root));
    let specs: Vec<SpecFile> = specs.map(|root| file(root, &shared)).collect();
    let errors: Vec<SpecError> = reports.into_iter().flat_map(Report::errors).collect();
    if errors.is_empty() { Ok(specs) } else { Err(errors) }
}

fn open<'r, 'i>(report: &'r Report<'r>, document: &'r Spanned<DeTable<'i>>) -> Table<'r, 'i> {
    let keys = ["family", "defaults", "group", "sweep"];
    Table::open(report, document.get_ref(), document.span(), &keys)
}

/// `[sweep.NAME.PART]`, each with lists of a row.
fn sweeps<'r, 'i>(root: &Table<'r, 'i>) -> Sweeps<'r, 'i> {
    let mut sweeps = Sweeps::new();
    let entries = root.get("sweep").and_then(|sweeps| sweeps.entries());
    for (_, sweep) in entries.unwrap_or_default() {
        let parts = sweep.entries().unwrap_or_default().into_iter();
        let parts = parts.filter_map(|(_, part)| Some((part.key().to_owned(), part.table(&part_keys())?)));
        sweeps.insert(sweep.key().to_owned(), parts.collect());
    }
    sweeps
}

fn file(root: &Table<'_, '_>, sweeps: &Sweeps<'_, '_>) -> SpecFile {
    let family = root.require("family", r#"family = "unary""#);
    let family = family.and_then(|family| family.word("op family", Family::NAMED, Family::name));
    let defaults = root
        .get("defaults")
        .and_then(|defaults| defaults.table(&DEFAULT_KEYS));
    let groups = root
        .require("group", "a [[group]]")
        .and_then(|groups| groups.array(false));
    let mut file = SpecFile {
        name: root.report.file.to_owned(),
        family: family.unwrap_or(Family::Unary),
        groups: vec![],
    };
    for value in groups.unwrap_or_default() {
        let Some(group) = value.table(&group_keys()) else {
            continue;
        };
        // Without a family, nothing can be said about ops and layouts: the missing family is error enough.
        let Some(family) = family else { continue };
        let rows = rows(&group, defaults.as_ref(), sweeps);
        let (mut cases, mut is_wrong) = (Vec::new(), rows.is_empty());
        for (table, part) in &rows {
            let row = SpecRow::read(table, family, part.clone());
            cases.extend(row.iter().flat_map(cross));
            is_wrong |= row.is_none_or(|row| row.is_wrong());
        }
        if cases.is_empty() && !is_wrong {
            let message = "the group holds no case";
            root.report
                .error(group.span.clone(), message, "no op of it takes any dtype of it");
        }
        file.groups.push(Group {
            span: group.span,
            cases,
        });
    }
    file
}

/// A row of lists, and the part of a sweep that it is made of, if it is.
type SweptRow<'r, 'i> = (Table<'r, 'i>, Option<String>);

/// The rows of a group: its `cases`, or itself, each once for every part of its sweep.
fn rows<'r, 'i>(
    group: &Table<'r, 'i>,
    defaults: Option<&Table<'r, 'i>>,
    sweeps: &Sweeps<'r, 'i>,
) -> Vec<SweptRow<'r, 'i>> {
    let inherits = |table: Table<'r, 'i>| match defaults {
        Some(defaults) => table.over(defaults),
        None => table,
    };
    let rows: Vec<Table<'r, 'i>> = match group.get("cases") {
        None => vec![inherits(group.clone())],
        Some(cases) => {
            let rows = cases.array(false).unwrap_or_default();
            let rows = rows.iter().filter_map(|row| row.table(&row_keys()));
            rows.map(|row| inherits(row.over(group))).collect()
        }
    };
    let Some(sweep) = group.get("sweep") else {
        for value in [group.get("without"), group.get("with")].into_iter().flatten() {
            value.error(
                format!(
                    "`{}` is about the parts of a sweep, and the group has none",
                    value.key()
                ),
                "add sweep = \"..\", or remove it",
            );
        }
        return rows.into_iter().map(|row| (row, None)).collect();
    };
    let Some((name, parts)) = named(&sweep, sweeps) else {
        return vec![];
    };
    let part_of = |value: &Value<'_, '_>, name: &str| {
        if !parts.contains_key(name) {
            let help = suggest(name, parts.keys().map(String::as_str));
            value.error(format!("the sweep has no part `{name}`"), help);
        }
    };
    let without = group.get("without").and_then(|names| {
        names.list(|name| {
            let part = name.text()?;
            part_of(name, &part);
            Some(part)
        })
    });
    let without = without.unwrap_or_default();
    let mut with = BTreeMap::new();
    for (_, value) in group
        .get("with")
        .and_then(|with| with.entries())
        .unwrap_or_default()
    {
        part_of(&value, value.key());
        with.extend(
            value
                .table(&part_keys())
                .map(|table| (value.key().to_owned(), table)),
        );
    }
    let parts = parts.iter().filter(|(part, _)| !without.contains(part));
    let of_part = |(part, table): (&String, &Table<'r, 'i>)| -> Vec<SweptRow<'r, 'i>> {
        let row = |row: &Table<'r, 'i>| {
            let row = row.under(table);
            let row = with.get(part).map_or(row.clone(), |with| row.under(with));
            (row, Some(format!("{name}.{part}")))
        };
        rows.iter().map(row).collect()
    };
    parts.flat_map(of_part).collect()
}

/// The parts of the sweep that a group names.
fn named<'s, 'r, 'i>(
    value: &Value<'r, 'i>,
    sweeps: &'s Sweeps<'r, 'i>,
) -> Option<(&'s String, &'s BTreeMap<String, Table<'r, 'i>>)> {
    let name = value.string()?;
    let sweep = sweeps.get_key_value(name);
    if sweep.is_none() {
        let help = match sweeps.is_empty() {
            true => "no file has a [sweep.NAME.PART]".to_owned(),
            false => suggest(name, sweeps.keys().map(String::as_str)),
        };
        value.error(format!("unknown sweep `{name}`"), help);
    }
    sweep
}
