//! The reader of op specs: one TOML text to one [`SpecFile`].

use std::ops::Range;

use super::expand::{each, impossible};
use super::reader::{Report, Table, Value, document};
use super::{Group, SpecError, SpecFile};
use crate::case::shape_text;
use crate::{Check, DType, Family, Layout, LimitSpec, Op, Tier, ValueSet};

/// Every key of a `[[group]]`.
pub const GROUP_KEYS: [&str; 15] = [
    "ops",
    "params",
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

/// A group whose lists cross to more cases is a mistake: expanding it would not end.
const MOST_CASES: usize = 1 << 20;

/// The size of the cross of a group's lists, possible and impossible combinations alike.
fn cross(group: &Group) -> usize {
    let lists = [
        group.ops.len(),
        group.params.len(),
        group.dtypes.len(),
        group.index_dtypes.len().max(1),
        group.shapes.len(),
        group.layouts.len(),
        group.values.len(),
        group.checks.len(),
    ];
    lists.into_iter().fold(1, usize::saturating_mul)
}

/// Reads one op spec. `file_name` appears in errors and nowhere else.
///
/// # Errors
/// Everything that is wrong with the file, at once and in file order: bad TOML, unknown keys, unknown names, empty or
/// repeated list entries, and combinations of the lists that mean nothing.
pub fn parse(file_name: &str, text: &str) -> Result<SpecFile, Vec<SpecError>> {
    let report = Report::new(file_name);
    let document = document(&report, text);
    let root = Table::open(&report, document.get_ref(), document.span(), &["family", "group"]);
    let family = root.require("family", r#"family = "unary""#);
    let family = family.and_then(|family| family.word("op family", Family::ALL, Family::name));
    let groups = root
        .require("group", "a [[group]]")
        .and_then(|groups| groups.array(false));
    let mut file = SpecFile {
        name: file_name.to_owned(),
        family: family.unwrap_or(Family::Unary),
        groups: vec![],
    };
    for value in groups.unwrap_or_default() {
        let Some(table) = value.table(&GROUP_KEYS) else {
            continue;
        };
        // Without a family, nothing can be said about ops and layouts: the missing family is error enough.
        let Some(family) = family else { continue };
        if let Some(group) = group(&table, family) {
            check_combinations(&table, &group);
            file.groups.push(group);
        }
    }
    report.finish(file)
}

fn group(table: &Table<'_, '_>, family: Family) -> Option<Group> {
    let ops = table.require("ops", r#"ops = ["exp"]"#);
    let dtypes = table.require("dtypes", r#"dtypes = ["f32"]"#);
    let shapes = table.require("shapes", "shapes = [[2, 3]]");
    let layouts = table.require("layouts", r#"layouts = ["contiguous"]"#);
    let values = table.require("values", r#"values = ["uniform(-10,10)"]"#);
    let tier = table.require("tier", r#"tier = "ci""#);
    let params = table
        .get("params")
        .map(|params| params.list(|list| list_of(list, true, Value::number)));
    let index_dtypes = table.get("index_dtypes").map(|list| list.list(read_dtype));
    let checks = read_checks(table);
    let skip = table.get("skip_impossible").map(|skip| skip.boolean());
    let limit = table.get("limit").map(|limit| read_limit(&limit));
    let timeout = table.get("timeout").map(|timeout| read_timeout(&timeout));
    let isolated = table.get("isolated").map(|isolated| isolated.boolean());
    let tags = table.get("tags").map(|tags| tags.list(read_tag));

    let ops = ops.and_then(|ops| ops.list(|op| read_op(op, family)));
    let arity = |op: &Op| op.arity();
    let arities: Option<Vec<usize>> = ops.as_ref().map(|ops| ops.iter().map(arity).collect());
    let arities = arities.as_deref().unwrap_or_default();
    let refused = checks
        .as_ref()
        .is_some_and(|checks| checks.iter().all(|check| check.refusal().is_some()));
    let dtypes = dtypes.and_then(|list| list.list(|dtypes| read_dtypes(dtypes, arities, refused)));
    let shapes = shapes.and_then(|shapes| shapes.list(|shape| read_shapes(shape, arities)));
    let layouts = layouts.and_then(|layouts| layouts.list(|layout| read_layouts(layout, arities)));
    let values = values.and_then(|values| values.list(read_values));
    let tier = tier.and_then(|tier| tier.word("tier", &Tier::ALL, Tier::name));
    Some(Group {
        span: table.span.clone(),
        ops: ops?,
        params: params.map_or(Some(vec![vec![]]), |params| params)?,
        dtypes: dtypes?,
        index_dtypes: index_dtypes.map_or(Some(vec![]), |dtypes| dtypes)?,
        shapes: shapes?,
        layouts: layouts?,
        values: values?,
        checks: checks?,
        tier: tier?,
        skip_impossible: skip.map_or(Some(false), |skip| skip)?,
        limit: limit.map_or(Some(LimitSpec::Derived), |limit| limit)?,
        timeout: timeout.map_or(Some(None), |timeout| timeout.map(Some))?,
        isolated: isolated.map_or(Some(false), |isolated| isolated)?,
        tags: tags.map_or(Some(vec![]), |tags| tags)?,
    })
}

/// An array whose elements may repeat, such as the dimensions of a shape.
fn list_of<'r, 'i, T>(
    value: &Value<'r, 'i>,
    may_be_empty: bool,
    read: impl Fn(&Value<'r, 'i>) -> Option<T>,
) -> Option<Vec<T>> {
    let elements = value.array(may_be_empty)?;
    let items: Vec<Option<T>> = elements.iter().map(read).collect();
    items.into_iter().collect()
}

fn read_op(value: &Value<'_, '_>, family: Family) -> Option<Op> {
    let op = value.word("op", Op::ALL, Op::name)?;
    if op.family() != family {
        let message = format!("`{op}` is not in the family `{family}`");
        value.error(
            message,
            format!("it belongs into a file with family = \"{}\"", op.family()),
        );
        return None;
    }
    Some(op)
}

fn read_dtype(value: &Value<'_, '_>) -> Option<DType> {
    value.word("dtype", &DType::ALL, DType::name)
}

/// `f32`, or, of a case that is to be refused, one word an argument: `f32,f16`.
fn read_dtypes(value: &Value<'_, '_>, arities: &[usize], refused: bool) -> Option<Vec<DType>> {
    let text = value.string()?;
    if !(refused && text.contains(',')) {
        return Some(vec![read_dtype(value)?]);
    }
    let dtype = |word: &str| {
        let dtype = word.trim().parse::<DType>();
        if let Err(error) = &dtype {
            let help = super::reader::suggest(word, DType::ALL.iter().map(|dtype| dtype.name()));
            value.error(error.to_string(), help);
        }
        dtype.ok()
    };
    let dtypes: Vec<DType> = text.split(',').map(dtype).collect::<Option<_>>()?;
    one_or_each(value, dtypes.len(), "dtypes", arities).then_some(dtypes)
}

/// `checks = ["value", "layout"]`, or `refuses = "invalid"` for cases that have no value.
fn read_checks(table: &Table<'_, '_>) -> Option<Vec<Check>> {
    let of_kind = |refuses: bool| -> Vec<Check> {
        let wanted = |check: &Check| check.refusal().is_some() == refuses;
        Check::ALL.into_iter().filter(wanted).collect()
    };
    match (table.get("checks"), table.get("refuses")) {
        (None, None) => Some(vec![Check::Value]),
        (Some(_), Some(refuses)) => {
            refuses.error(
                "what is refused has no output to check",
                "remove `checks` or `refuses`, or make two groups of them",
            );
            None
        }
        (Some(checks), None) => checks.list(|check| check.word("check", &of_kind(false), Check::name)),
        (None, Some(refuses)) => {
            let refuses = refuses.word("class of refusal", &of_kind(true), Check::name);
            refuses.map(|check| vec![check])
        }
    }
}

/// Whether `count` items are one for all arguments, or one for each, whatever the op of the group; else an error.
fn one_or_each(value: &Value<'_, '_>, count: usize, what: &str, arities: &[usize]) -> bool {
    let wrong = arities.iter().find(|arity| count != 1 && count != **arity);
    if let Some(arity) = wrong {
        value.error(
            format!("{count} {what} are named for {arity} arguments"),
            "name one for all arguments, or one for each; ops with another number of arguments go into another group",
        );
    }
    wrong.is_none()
}

/// `[2, 3]`, or one shape an argument: `[[2, 3], [3, 4]]`.
fn read_shapes(value: &Value<'_, '_>, arities: &[usize]) -> Option<Vec<Vec<usize>>> {
    let nested = value.array(true)?;
    if nested.is_empty() || !nested[0].is_array() {
        return Some(vec![list_of(value, true, Value::size)?]);
    }
    let shapes = nested
        .iter()
        .map(|shape| list_of(shape, true, Value::size))
        .collect::<Option<Vec<_>>>()?;
    one_or_each(value, shapes.len(), "shapes", arities).then_some(shapes)
}

/// `contiguous`, or one word an argument: `contiguous,broadcast`.
fn read_layouts(value: &Value<'_, '_>, arities: &[usize]) -> Option<Vec<Layout>> {
    let text = value.string()?;
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    let layout = |word: &&str| {
        let layout = word.parse::<Layout>();
        if let Err(error) = &layout {
            let help = super::reader::suggest(word, Layout::ALL.iter().map(|layout| layout.name()));
            value.error(error.to_string(), help);
        }
        layout.ok()
    };
    let layouts: Vec<Layout> = words.iter().map(layout).collect::<Option<_>>()?;
    one_or_each(value, layouts.len(), "layouts", arities).then_some(layouts)
}

fn read_values(value: &Value<'_, '_>) -> Option<ValueSet> {
    let text = value.string()?;
    match text.parse::<ValueSet>() {
        Ok(set) => Some(set),
        Err(error) => {
            value.error(format!("invalid value set `{text}`"), error.why);
            None
        }
    }
}

/// A word that the command line can name: lists of tags are separated by commas.
fn read_tag(value: &Value<'_, '_>) -> Option<String> {
    let tag = value.text()?;
    if tag
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    {
        return Some(tag);
    }
    value.error(
        format!("`{tag}` is no tag"),
        "a tag is made of letters, digits, `-` and `_`",
    );
    None
}

/// Seconds.
fn read_timeout(value: &Value<'_, '_>) -> Option<f64> {
    match value.number()? {
        seconds if seconds > 0.0 && seconds <= 86_400.0 => Some(seconds),
        seconds => {
            value.error(
                format!("a case cannot take {seconds} seconds"),
                "name the seconds a case may take on one backend",
            );
            None
        }
    }
}

/// `{ ulp = 4, abs = 1e-6, source = ".." }` or `{ bits = true, source = ".." }`.
fn read_limit(value: &Value<'_, '_>) -> Option<LimitSpec> {
    let table = value.table(&["ulp", "abs", "bits", "source"])?;
    let source = table
        .require("source", r#"source = "..", where the limit comes from"#)
        .and_then(|s| s.text());
    let bits = table.get("bits").map(|bits| bits.boolean());
    let (ulp, abs) = (table.get("ulp"), table.get("abs"));
    let named = ulp.is_some() || abs.is_some();
    let number = |value: Option<Value<'_, '_>>| match value {
        None => Some(0.0),
        Some(value) => match value.number()? {
            x if x >= 0.0 => Some(x),
            x => {
                value.error(format!("a limit of {x} is below zero"), "");
                None
            }
        },
    };
    let (ulp, abs) = (number(ulp), number(abs));
    match bits {
        Some(None) => None,
        Some(Some(true)) if named => {
            value.error(
                "`bits` leaves no room for `ulp` or `abs`",
                "remove one or the other",
            );
            None
        }
        Some(Some(true)) => Some(LimitSpec::Bits { source: source? }),
        Some(Some(false)) | None if !named => {
            value.error(
                "the limit names no number",
                "add ulp, abs or bits = true, or remove the limit",
            );
            None
        }
        Some(Some(false)) | None => Some(LimitSpec::Fixed {
            ulp: ulp?,
            abs: abs?,
            source: source?,
        }),
    }
}

/// Reports what the lists of a group do not allow together. Each cause is reported once, at the list it is about.
fn check_combinations(table: &Table<'_, '_>, group: &Group) {
    let span = |key: &str| table.get(key).map_or(table.span.clone(), |value| value.span());
    let report = table.report;
    check_params(table, group, span("params"));
    let refused = group.checks.iter().all(|check| check.refusal().is_some());
    for op in group.ops.iter().filter(|_| !refused) {
        for dtype in group.dtypes.iter().flatten().filter(|dtype| !op.accepts(**dtype)) {
            let takes: Vec<&str> = op.dtypes().iter().map(|dtype| dtype.name()).collect();
            let message = format!("`{op}` means nothing for {dtype}");
            report.error(span("dtypes"), message, format!("it takes {}", takes.join(", ")));
        }
    }
    check_ids(table, group);
    if cross(group) > MOST_CASES {
        report.error(
            table.span.clone(),
            format!("the lists of the group cross to more than {MOST_CASES} cases"),
            "split the group, and leave out what need not meet",
        );
        return;
    }
    check_possible(report, group, [span("shapes"), span("layouts"), span("checks")]);
    let mut seen = Vec::new();
    for case in super::expand::cases(group).filter(|case| refused || case.op.accepts(case.dtype)) {
        // Dtypes, parameters, shapes and layouts have been reported by then; an id of a float dtype too.
        let ids = case
            .args
            .iter()
            .all(|arg| arg.dtype == case.dtype || !arg.dtype.is_float());
        if (ids || refused)
            && let Err(message) = case.check()
            && !seen.contains(&message)
        {
            report.error(
                span("values"),
                message.clone(),
                "split the group, or choose other values",
            );
            seen.push(message);
        }
    }
}

fn check_ids(table: &Table<'_, '_>, group: &Group) {
    let given = !group.index_dtypes.is_empty();
    // Where each argument has a dtype of its own, so have the ids.
    let own = group.dtypes.iter().all(|dtypes| dtypes.len() > 1);
    let wrong = |op: &&Op| op.takes_ids() != given && (given || !own);
    for op in group.ops.iter().filter(wrong) {
        let (message, help) = if given {
            (
                format!("`{op}` takes no ids and no condition"),
                "remove `index_dtypes`, or give the op a group of its own",
            )
        } else {
            (
                format!("`{op}` takes ids or a condition, and their dtypes are missing"),
                "add index_dtypes = [\"u32\"]",
            )
        };
        let span = table
            .get("index_dtypes")
            .map_or(table.span.clone(), |value| value.span());
        table.report.error(span, message, help);
    }
    let refused = group.checks.iter().all(|check| check.refusal().is_some());
    let float = group
        .index_dtypes
        .iter()
        .find(|dtype| dtype.is_float() && !refused);
    if let (Some(dtype), Some(value)) = (float, table.get("index_dtypes")) {
        value.error(
            format!("ids and conditions are integers, not {dtype}"),
            "use u8, u32, i16, i32 or i64",
        );
    }
}

fn check_params(table: &Table<'_, '_>, group: &Group, span: Range<usize>) {
    for op in &group.ops {
        let names = op.params();
        for params in group
            .params
            .iter()
            .filter(|params| !op.takes_params(params.len()))
        {
            let message = format!("`{op}` takes {} parameters, not {}", names.len(), params.len());
            let help = match names {
                [] => "remove `params`, or give the op a group of its own".to_owned(),
                names => format!("params is a list of lists: [[{}]]", names.join(", ")),
            };
            table.report.error(span.clone(), message, help);
        }
    }
}

/// Which of a group's lists each combination is made of.
struct Combination {
    /// The place of the item in its list: of shapes, of layouts, of checks.
    places: [usize; 3],
    /// Why it cannot be, if it cannot.
    why_not: Option<String>,
}

/// Every combination of shapes, layouts and checks, for each op and each of its parameters.
fn combinations(group: &Group) -> Vec<Combination> {
    let mut all = Vec::new();
    for &op in &group.ops {
        for params in group.params.iter().filter(|params| op.takes_params(params.len())) {
            for (s, shapes) in group.shapes.iter().enumerate() {
                for (l, layouts) in group.layouts.iter().enumerate() {
                    let (shapes, layouts) = (each(shapes, op.arity()), each(layouts, op.arity()));
                    all.extend(group.checks.iter().enumerate().map(|(c, &check)| Combination {
                        places: [s, l, c],
                        why_not: impossible(op, params, &shapes, &layouts, check),
                    }));
                }
            }
        }
    }
    all
}

/// Reports shapes, layouts and checks that cannot be: every combination, or, where the group leaves out those that cannot
/// be, those that are in none.
fn check_possible(report: &Report<'_>, group: &Group, spans: [Range<usize>; 3]) {
    let all = combinations(group);
    if !group.skip_impossible {
        let mut seen = Vec::new();
        for why in all.iter().filter_map(|combination| combination.why_not.as_ref()) {
            if seen.contains(&why) {
                continue;
            }
            let about = if why.starts_with("layout") {
                1
            } else if why.starts_with("check") {
                2
            } else {
                0
            };
            let help = "skip_impossible = true leaves such combinations out";
            report.error(spans[about].clone(), why.clone(), help);
            seen.push(why);
        }
        return;
    }
    let shape = |i: usize| {
        let shapes: Vec<String> = group.shapes[i].iter().map(|shape| shape_text(shape)).collect();
        format!(
            "shape {} is possible in no combination of the group",
            shapes.join(",")
        )
    };
    let layout = |i: usize| {
        let names: Vec<&str> = group.layouts[i].iter().map(|layout| layout.name()).collect();
        format!(
            "layout `{}` is possible for no shape of the group",
            names.join(",")
        )
    };
    let check = |i: usize| format!("check `{}` is possible for no call of the group", group.checks[i]);
    let (shapes, layouts, checks) = (group.shapes.len(), group.layouts.len(), group.checks.len());
    let lists: [(usize, &dyn Fn(usize) -> String); 3] =
        [(shapes, &shape), (layouts, &layout), (checks, &check)];
    for (list, (count, message)) in lists.into_iter().enumerate() {
        for i in 0..count {
            let with = all.iter().filter(|combination| combination.places[list] == i);
            let why_not: Option<Vec<&String>> =
                with.map(|combination| combination.why_not.as_ref()).collect();
            // One in no combination at all: the parameters are wrong, which has been reported.
            if let Some(why) = why_not.and_then(|why_not| why_not.last().copied()) {
                report.error(spans[list].clone(), message(i), why.clone());
            }
        }
    }
}
