//! The reader of op specs: one TOML text to one [`SpecFile`].

use std::ops::Range;

use super::reader::{Report, Table, Value, document};
use super::{Group, SpecError, SpecFile};
use crate::case::shape_text;
use crate::{Case, DType, Family, Layout, LimitSpec, Op, Tier, ValueSet};

const GROUP_KEYS: [&str; 9] = [
    "ops",
    "params",
    "dtypes",
    "shapes",
    "layouts",
    "values",
    "tier",
    "skip_impossible",
    "limit",
];

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
    let family = family.and_then(|family| family.word("op family", &Family::ALL, Family::name));
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
    let skip = table.get("skip_impossible").map(|skip| skip.boolean());
    let limit = table.get("limit").map(|limit| read_limit(&limit));

    let ops = ops.and_then(|ops| ops.list(|op| read_op(op, family)));
    let dtypes = dtypes.and_then(|list| list.list(|dtype| dtype.word("dtype", &DType::ALL, DType::name)));
    let shapes = shapes.and_then(|shapes| shapes.list(|shape| list_of(shape, true, Value::size)));
    let layouts = layouts.and_then(|layouts| layouts.list(|layout| read_layouts(layout, family)));
    let values = values.and_then(|values| values.list(read_values));
    let tier = tier.and_then(|tier| tier.word("tier", &Tier::ALL, Tier::name));
    Some(Group {
        span: table.span.clone(),
        ops: ops?,
        params: params.map_or(Some(vec![vec![]]), |params| params)?,
        dtypes: dtypes?,
        shapes: shapes?,
        layouts: layouts?,
        values: values?,
        tier: tier?,
        skip_impossible: skip.map_or(Some(false), |skip| skip)?,
        limit: limit.map_or(Some(LimitSpec::Derived), |limit| limit)?,
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

/// `contiguous`, or one word an argument: `contiguous,broadcast`.
fn read_layouts(value: &Value<'_, '_>, family: Family) -> Option<Vec<Layout>> {
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
    match layouts[..] {
        [one] => Some(vec![one; family.arity()]),
        _ if layouts.len() == family.arity() => Some(layouts),
        _ => {
            let message = format!(
                "`{text}` names {} layouts for {} arguments",
                layouts.len(),
                family.arity()
            );
            value.error(
                message,
                "name one for all arguments, or one for each, separated by commas",
            );
            None
        }
    }
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
    for op in &group.ops {
        for dtype in group.dtypes.iter().filter(|dtype| !op.accepts(**dtype)) {
            let takes: Vec<&str> = op.dtypes().iter().map(|dtype| dtype.name()).collect();
            let message = format!("`{op}` means nothing for {dtype}");
            report.error(span("dtypes"), message, format!("it takes {}", takes.join(", ")));
        }
    }
    check_layouts(report, group, &span("layouts"), &span("shapes"));
    let mut seen = Vec::new();
    for case in super::expand::cases(group).filter(|case| case.op.accepts(case.dtype)) {
        if let Err(message) = check_values(&case)
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

/// What [`Case::check`] says beyond dtypes, parameters and layouts, which have been reported by then.
fn check_values(case: &Case) -> Result<(), String> {
    if case.params.len() != case.op.params().len() {
        return Ok(());
    }
    case.check()
}

fn check_params(table: &Table<'_, '_>, group: &Group, span: Range<usize>) {
    for op in &group.ops {
        let names = op.params();
        for params in group.params.iter().filter(|params| params.len() != names.len()) {
            let message = format!("`{op}` takes {} parameters, not {}", names.len(), params.len());
            let help = match names {
                [] => "remove `params`, or give the op a group of its own".to_owned(),
                names => format!("params is a list of lists: [[{}]]", names.join(", ")),
            };
            table.report.error(span.clone(), message, help);
        }
    }
}

fn check_layouts(
    report: &Report<'_>,
    group: &Group,
    layouts_span: &Range<usize>,
    shapes_span: &Range<usize>,
) {
    let possible =
        |layouts: &[Layout], shape: &[usize]| layouts.iter().all(|layout| layout.plan(shape).is_some());
    if group.skip_impossible {
        for layouts in &group.layouts {
            if !group.shapes.iter().any(|shape| possible(layouts, shape)) {
                let message = format!(
                    "layout `{}` is possible for no shape of the group",
                    names(layouts)
                );
                report.error(layouts_span.clone(), message, needs(layouts));
            }
        }
        for shape in &group.shapes {
            if !group.layouts.iter().any(|layouts| possible(layouts, shape)) {
                let message = format!(
                    "shape {} is possible in no layout of the group",
                    shape_text(shape)
                );
                report.error(shapes_span.clone(), message, "add \"contiguous\" to the layouts");
            }
        }
        return;
    }
    for layouts in &group.layouts {
        for shape in group.shapes.iter().filter(|shape| !possible(layouts, shape)) {
            let message = format!(
                "layout `{}` is impossible for the shape {}",
                names(layouts),
                shape_text(shape)
            );
            let help = format!(
                "{}; skip_impossible = true leaves such combinations out",
                needs(layouts)
            );
            report.error(layouts_span.clone(), message, help);
        }
    }
}

/// The layouts as a spec spells them: one word if they are alike.
fn names(layouts: &[Layout]) -> String {
    let mut names: Vec<&str> = layouts.iter().map(|layout| layout.name()).collect();
    if names.iter().all(|name| *name == names[0]) {
        names.truncate(1);
    }
    names.join(",")
}

fn needs(layouts: &[Layout]) -> String {
    let mut needs: Vec<String> = layouts
        .iter()
        .map(|layout| format!("`{layout}` needs {}", layout.needs()))
        .collect();
    needs.dedup();
    needs.join(" and ")
}
