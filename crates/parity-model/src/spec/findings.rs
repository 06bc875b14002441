//! The reader of `finding.toml`. What its rows mean is said in `crate::findings`.

use std::collections::BTreeMap;

use super::SpecError;
use super::reader::{Report, Table, Value, document, suggest};
use crate::findings::{
    Class, Extent, FINDING_KEYS, Finding, FindingRow, FindingText, LayoutWord, PREDICATE_KEYS, Predicate,
    ROW_KEYS, Values,
};
use crate::{Check, DType, Family, Layout, Op, ValueSet, Verdict};

pub(crate) fn parse(file: &FindingText<'_>, backends: &[&str]) -> Result<Finding, Vec<SpecError>> {
    let report = Report::new(file.file);
    let document = document(&report, file.text);
    let root = Table::open(&report, document.get_ref(), document.span(), &FINDING_KEYS);
    let found = finding(&root, file, backends);
    let Some(finding) = found else {
        return report.finish(()).and(Err(Vec::new()));
    };
    report.finish(finding)
}

fn finding(root: &Table<'_, '_>, file: &FindingText<'_>, backends: &[&str]) -> Option<Finding> {
    check_name(root, file.name);
    let title = root.require("title", r#"title = "..", the mistake in a line"#);
    let class = root.require("class", r#"class = "wrong result", what sort of mistake it is"#);
    let reason = root.require("reason", r#"reason = "..", what candle does"#);
    let class = class.and_then(|class| class.word("class", &Class::ALL, Class::name));
    if class.is_some_and(|class| class != Class::Unexplained) {
        root.require("right", r#"right = "..", what is right and who says so"#);
        root.require("where", r#"where = "..", the place in candle's sources"#);
        root.require("fix", r#"fix = "..", how candle could mend it"#);
    }
    let (title, reason) = (
        title.and_then(|title| title.text()),
        reason.and_then(|reason| reason.text()),
    );
    let text = |key: &str| root.get(key).map_or(Some(None), |value| value.text().map(Some));
    let (right, location, elsewhere) = (text("right"), text("where"), text("elsewhere"));
    let (fix, link) = (text("fix"), text("link"));
    let shared = Shared {
        backends: root.get("backends").map(|list| names(&list, backends)),
        verdict: root.get("verdict").map(|value| verdict(&value)),
    };
    let matches = root.require("matches", "matches = [{ op = [..] }], the cases that show it");
    let read = |list: Option<Value<'_, '_>>, may_be_empty: bool| {
        list.map_or(Some(vec![]), |list| {
            let rows: Vec<_> = list
                .array(may_be_empty)?
                .iter()
                .map(|value| row(value, &shared, backends))
                .collect();
            rows.into_iter().collect::<Option<Vec<_>>>()
        })
    };
    let (rows, drawn) = (read(matches, false), read(root.get("fuzz"), true));
    let undrawn = root.get("fuzz").is_some() && drawn.as_ref().is_some_and(Vec::is_empty);
    Some(Finding {
        name: file.name.to_owned(),
        file: file.file.to_owned(),
        title: title?,
        class: class?,
        reason: reason?,
        right: right?,
        location: location?,
        elsewhere: elsewhere?,
        fix: fix?,
        link: link?,
        rows: rows?,
        drawn: drawn?,
        undrawn,
    })
}

/// A folder's name is a part of links and of Rust paths.
fn check_name(root: &Table<'_, '_>, name: &str) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        root.report.error(
            0..0,
            format!("the folder `{name}` has another name than a finding may have"),
            "use small letters, digits and hyphens, a letter first",
        );
    }
}

/// What the rows of a finding have where they do not say it themselves.
struct Shared {
    backends: Option<Option<Vec<String>>>,
    verdict: Option<Option<Verdict>>,
}

fn row(value: &Value<'_, '_>, shared: &Shared, known: &[&str]) -> Option<FindingRow> {
    let keys = [&PREDICATE_KEYS[..], &ROW_KEYS].concat();
    let table = value.table(&keys)?;
    let backends = table.get("backends").map(|list| names(&list, known));
    let verdict = table.get("verdict").map(|value| verdict(&value));
    let (backends, verdict) = (backends.or(shared.backends.clone()), verdict.or(shared.verdict));
    if backends.is_none() {
        table.require("backends", r#"backends = [".."], here or for all rows"#);
    }
    if verdict.is_none() {
        table.require("verdict", r#"verdict = "mismatch", here or for all rows"#);
    }
    let may_pass = table
        .get("may_pass")
        .map_or(Some(false), |may_pass| may_pass.boolean());
    let cases = predicate(&table, true);
    let verdict = verdict??;
    if matches!(verdict, Verdict::Crash | Verdict::Timeout)
        && let Some(family) = table.get("family")
    {
        let message = format!(
            "a `{}` is excused for ops that are named, not for a family",
            verdict.name()
        );
        family.error(message, "name the ops by `op`");
    }
    Some(FindingRow {
        backends: backends??,
        verdict,
        may_pass: may_pass?,
        cases: cases?,
        span: table.span.clone(),
    })
}

fn names(list: &Value<'_, '_>, known: &[&str]) -> Option<Vec<String>> {
    list.list(|value| {
        let name = value.text()?;
        if !known.contains(&name.split(':').next().unwrap_or_default()) {
            value.error(
                format!("unknown backend `{name}`"),
                suggest(&name, known.iter().copied()),
            );
            return None;
        }
        Some(name)
    })
}

fn verdict(value: &Value<'_, '_>) -> Option<Verdict> {
    let explainable: Vec<Verdict> = Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.fails_run())
        .collect();
    value.word("verdict", &explainable, Verdict::name)
}

/// What the keys of a table say of cases. A row names its ops; an exception need not.
fn predicate(table: &Table<'_, '_>, names_ops: bool) -> Option<Predicate> {
    let ops = list(table, "op", op);
    let families = list(table, "family", |value| {
        value.word("op family", Family::NAMED, Family::name)
    });
    if names_ops && table.get("family").is_none() {
        table.require(
            "op",
            r#"op = [".."], or family = [".."]: a finding is about some ops"#,
        );
    }
    let (dtypes, dtypes_of) = by_argument(table, "dtype", dtype_words);
    let layout = |value: &Value<'_, '_>| {
        // A view is spelled out, and no word of the list.
        if let Some(Ok(view)) = value
            .string()
            .filter(|word| word.starts_with("view("))
            .map(str::parse)
        {
            return Some(vec![LayoutWord::Is(Layout::View(view))]);
        }
        Some(vec![value.word(
            "layout",
            &LayoutWord::all(),
            LayoutWord::name,
        )?])
    };
    let (layouts, layouts_of) = by_argument(table, "layout", layout);
    let index_dtypes = list(table, "index_dtype", dtype_words).map(|lists| lists.concat());
    let found = Predicate {
        ops: ops?,
        families: families?,
        dtypes: dtypes?,
        dtypes_of: dtypes_of?,
        index_dtypes: index_dtypes?,
        layouts: layouts?,
        layouts_of: layouts_of?,
        ranks: list(table, "rank", Value::size)?,
        shapes_of: table.get("shape").map_or(Some(BTreeMap::new()), |value| {
            arguments(&value, |list| list.list(shape))
        })?,
        empty: table
            .get("empty")
            .map_or(Some(None), |empty| empty.boolean().map(Some))?,
        values: list(table, "values", values)?,
        params: params(table)?,
        checks: list(table, "check", |value| {
            value.word("check", &Check::ALL, Check::name)
        })?,
        except: list(table, "except", |value| {
            predicate(&value.table(&PREDICATE_KEYS)?, false)
        })?,
    };
    params_exist(table, &found)?;
    Some(found)
}

/// The elements of a list that need not be there.
fn list<'r, 'i, T: PartialEq>(
    table: &Table<'r, 'i>,
    key: &str,
    read: impl Fn(&Value<'r, 'i>) -> Option<T>,
) -> Option<Vec<T>> {
    table.get(key).map_or(Some(vec![]), |value| value.list(read))
}

/// A name of an op, or what several names begin with and a star.
fn op(value: &Value<'_, '_>) -> Option<String> {
    let name = value.text()?;
    let one = Predicate {
        ops: vec![name.clone()],
        ..Predicate::default()
    };
    if !Op::all().iter().any(|op| one.names_op(*op)) {
        value.error(
            format!("unknown op `{name}`"),
            suggest(&name, Op::all().iter().map(|op| op.name())),
        );
        return None;
    }
    Some(name)
}

/// The dtypes that a word means: `f32`, `floats`, `ints`.
fn dtype_words(value: &Value<'_, '_>) -> Option<Vec<DType>> {
    let word = value.string()?;
    let of_class = |floats: bool| {
        DType::ALL
            .into_iter()
            .filter(|dtype| dtype.is_float() == floats)
            .collect()
    };
    match word {
        "floats" => Some(of_class(true)),
        "ints" => Some(of_class(false)),
        word => match word.parse::<DType>() {
            Ok(dtype) => Some(vec![dtype]),
            Err(error) => {
                let words = DType::ALL
                    .iter()
                    .map(|dtype| dtype.name())
                    .chain(["floats", "ints"]);
                value.error(error.to_string(), suggest(word, words));
                None
            }
        },
    }
}

/// Lists of words by argument.
type ByArgument<T> = BTreeMap<usize, Vec<T>>;

/// A list for some argument, or a table of lists by the number of the argument.
fn by_argument<'r, 'i, T: PartialEq + Clone>(
    table: &Table<'r, 'i>,
    key: &str,
    read: impl Fn(&Value<'r, 'i>) -> Option<Vec<T>>,
) -> (Option<Vec<T>>, Option<ByArgument<T>>) {
    let words = |value: &Value<'r, 'i>| Some(value.list(&read)?.concat());
    match table.get(key) {
        None => (Some(vec![]), Some(BTreeMap::new())),
        Some(value) if value.is_table() => (Some(vec![]), arguments(&value, words)),
        Some(value) => (words(&value), Some(BTreeMap::new())),
    }
}

/// A table whose keys are numbers of arguments.
fn arguments<'r, 'i, T>(
    value: &Value<'r, 'i>,
    read: impl Fn(&Value<'r, 'i>) -> Option<Vec<T>>,
) -> Option<ByArgument<T>> {
    let most = Op::all().iter().map(|op| op.arity()).max().unwrap_or(0);
    let mut all = Some(BTreeMap::new());
    for (span, list) in value.entries()? {
        let argument = list
            .key()
            .parse::<usize>()
            .ok()
            .filter(|argument| *argument < most);
        if argument.is_none() {
            let message = format!("`{}` is not the number of an argument", list.key());
            value.report.error(
                span,
                message,
                "arguments are counted from 0: { 0 = [..], 1 = [..] }",
            );
        }
        let items = read(&list);
        all = match (all, argument, items) {
            (Some(mut all), Some(argument), Some(items)) => {
                all.insert(argument, items);
                Some(all)
            }
            (_, _, _) => None,
        };
    }
    all
}

/// `[5, "*", ">8192"]`.
fn shape(value: &Value<'_, '_>) -> Option<Vec<Extent>> {
    let mut rest = false;
    let extent = |part: &Value<'_, '_>| match part.as_str() {
        Some("*") => Some(Extent::Any),
        Some("..") if std::mem::replace(&mut rest, true) => {
            part.error("a second `..` in one shape", "leave one of them out");
            None
        }
        Some("..") => Some(Extent::Rest),
        Some(word) => {
            let digits = word
                .strip_prefix('>')
                .filter(|least| least.bytes().all(|byte| byte.is_ascii_digit()));
            let least = digits.and_then(|digits| digits.parse().ok());
            if least.is_none() {
                part.error(
                    format!("`{word}` is not an extent"),
                    r#"an extent is a number, "*" (any), ">8192" (any above) or ".." (any number of them)"#,
                );
            }
            least.map(Extent::Above)
        }
        None => part.size().map(Extent::Is),
    };
    value.array(true)?.iter().map(extent).collect()
}

/// A value set, or the name of sets of any bounds.
fn values(value: &Value<'_, '_>) -> Option<Values> {
    let text = value.string()?;
    if ["uniform", "geometric", "ints", "nonzero"].contains(&text) {
        return Some(Values::Named(text.to_owned()));
    }
    match text.parse::<ValueSet>() {
        Ok(set) => Some(Values::Is(set)),
        Err(error) => {
            value.error(format!("invalid value set `{text}`"), error.why);
            None
        }
    }
}

/// `{ dim = [0, 1], dims = [[0, 2]] }`.
fn params(table: &Table<'_, '_>) -> Option<BTreeMap<String, Vec<Vec<f64>>>> {
    let Some(value) = table.get("params") else {
        return Some(BTreeMap::new());
    };
    let numbers = |value: &Value<'_, '_>| match value.is_array() {
        true => value
            .array(true)?
            .iter()
            .map(Value::number)
            .collect::<Option<Vec<_>>>(),
        false => Some(vec![value.number()?]),
    };
    let entries = value.entries()?;
    let entries = entries
        .iter()
        .map(|(_, list)| Some((list.key().to_owned(), list.list(numbers)?)));
    entries.collect()
}

/// Complains of a parameter that no op of the predicate has.
fn params_exist(table: &Table<'_, '_>, found: &Predicate) -> Option<()> {
    let all = Op::all();
    let ops = all.iter().filter(|op| found.names_op(**op));
    let known: Vec<&str> = ops
        .flat_map(|op| op.params())
        .map(|name| name.trim_end_matches(".."))
        .collect();
    for (span, value) in table
        .get("params")
        .map_or(Some(vec![]), |value| value.entries())?
    {
        if !known.contains(&value.key()) {
            let message = format!("no op of this row has a parameter `{}`", value.key());
            table
                .report
                .error(span, message, suggest(value.key(), known.iter().copied()));
            return None;
        }
    }
    Some(())
}
