//! One row of an op spec: the lists that are crossed to cases.

use std::cell::Cell;

use super::dtypes::{Choice, ValuesByDtype, dtypes};
use super::layouts::LayoutPattern;
use super::params::{Params, Wrong};
use super::reader::{Table, Value, suggest};
use crate::op::Differentiable;
use crate::{Check, DType, Family, LimitSpec, Op, Tier};

/// What a row says. Its lists are right one by one; whether they go together is asked when they are crossed.
pub(super) struct SpecRow<'r, 'i> {
    table: Table<'r, 'i>,
    /// The part of a sweep that the row is made of, e.g. `elementwise.sizes`.
    part: Option<String>,
    /// Whether something did not go together.
    reported: Cell<bool>,
    pub(super) ops: Vec<Op>,
    pub(super) params: Params<'r, 'i>,
    pub(super) dtypes: Vec<Choice>,
    pub(super) index_dtypes: Vec<DType>,
    pub(super) shapes: Vec<Vec<Vec<usize>>>,
    pub(super) layouts: Vec<LayoutPattern>,
    pub(super) values: ValuesByDtype,
    pub(super) checks: Vec<Check>,
    pub(super) skip_impossible: bool,
    pub(super) tier: Tier,
    pub(super) limit: LimitSpec,
    pub(super) timeout: Option<f64>,
    pub(super) isolated: bool,
    pub(super) tags: Vec<String>,
}

impl<'r, 'i> SpecRow<'r, 'i> {
    /// Reads the lists; what is wrong with them is reported.
    pub(super) fn read(table: &Table<'r, 'i>, family: Family, part: Option<String>) -> Option<Self> {
        let ops = table.require("ops", r#"ops = ["exp"]"#);
        let dtypes = table.require("dtypes", r#"dtypes = ["f32"]"#);
        let shapes = table.require("shapes", "shapes = [[2, 3]]");
        let layouts = table.require("layouts", r#"layouts = ["contiguous"]"#);
        let values = table.require("values", r#"values = ["uniform(-10,10)"]"#);
        let tier = table.require("tier", r#"tier = "ci""#);
        let params = table.get("params").map(|params| Params::read(&params));
        let index_dtypes = table.get("index_dtypes").map(|list| list.list(read_dtype));
        let checks = read_checks(table);
        let skip = table.get("skip_impossible").map(|skip| skip.boolean());
        let limit = table.get("limit").map(|limit| read_limit(&limit));
        let timeout = table.get("timeout").map(|timeout| read_timeout(&timeout));
        let isolated = table.get("isolated").map(|isolated| isolated.boolean());
        let tags = table.get("tags").map(|tags| tags.list(read_tag));

        let ops = ops.and_then(|ops| read_ops(table, &ops, family));
        let arities: Vec<usize> = ops.iter().flatten().map(|op| op.arity()).collect();
        let refused = checks
            .as_ref()
            .is_some_and(|checks| checks.iter().all(|check| check.refusal().is_some()));
        let dtypes = dtypes.and_then(|list| list.list(|item| read_dtypes(item, &arities, refused)));
        let shapes = shapes.filter(|shapes| shapes.array(false).is_some());
        let shapes = shapes.and_then(|shapes| shapes.list(|shape| read_shapes(shape, &arities)));
        let layouts = layouts.and_then(|layouts| layouts.list(|layout| read_layouts(layout, &arities)));
        let values = values.and_then(|values| ValuesByDtype::read(&values));
        let tier = tier.and_then(|tier| tier.word("tier", &Tier::ALL, Tier::name));
        Some(SpecRow {
            table: table.clone(),
            part,
            reported: Cell::new(false),
            ops: ops?,
            params: params.map_or(Some(Params::Absent), |params| params)?,
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

    /// The lists of dtypes for `op`.
    pub(super) fn dtypes_of(&self, op: Op) -> Vec<Vec<DType>> {
        dtypes(&self.dtypes, op, &self.checks, self.part.is_some())
    }

    /// Whether something that does not go together was reported.
    pub(super) fn is_wrong(&self) -> bool {
        self.reported.get()
    }

    /// Whether the cases are there to be refused.
    pub(super) fn refused(&self) -> bool {
        self.checks.iter().all(|check| check.refusal().is_some())
    }

    /// Reports what is wrong with the parameters, at the name that it is about.
    pub(super) fn error_in_params(&self, wrong: &Wrong<'_, 'r, 'i>) {
        match (&self.part, wrong.at) {
            (None, Some(named)) => {
                self.reported.set(true);
                let report = named.value.report;
                report.error(named.span.clone(), wrong.message.as_str(), wrong.help.as_str());
            }
            (Some(_), _) | (None, None) => self.error("params", &wrong.message, &wrong.help),
        }
    }

    /// Reports what does not go together, at the list that it is about; of a sweep, at the group that uses it.
    pub(super) fn error(&self, key: &str, message: &str, help: &str) {
        self.reported.set(true);
        let (report, span) = (self.table.report, self.table.span.clone());
        match (&self.part, self.table.get(key)) {
            (Some(part), _) => report.error(span, format!("in `{part}`: {message}"), help),
            (None, Some(value)) => value.error(message, help),
            (None, None) => report.error(span, message, help),
        }
    }
}

/// The ops that `ops` names less those of `except`. The word `all` means every op of the family.
fn read_ops(table: &Table<'_, '_>, value: &Value<'_, '_>, family: Family) -> Option<Vec<Op>> {
    let ops = if value.is_array() || value.string()? != "all" {
        value.list(|op| read_op(op, family))?
    } else {
        let of_family = |op: &&Op| op.family() == family;
        Op::all().iter().filter(of_family).copied().collect()
    };
    let Some(except) = table.get("except") else {
        return Some(ops);
    };
    let except = except.list(|op| {
        let name = op.string()?;
        let found = ops.iter().copied().find(|op| op.name() == name);
        if found.is_none() {
            let help = suggest(name, ops.iter().map(|op| op.name()));
            op.error(
                format!("`{name}` is not among the ops that it is excepted from"),
                help,
            );
        }
        found
    })?;
    Some(ops.into_iter().filter(|op| !except.contains(op)).collect())
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

/// An op of the family, or the gradient of one.
fn read_op(value: &Value<'_, '_>, family: Family) -> Option<Op> {
    let all = Op::all();
    let name = value.string()?;
    if family == Family::Own && all.iter().all(|op| op.name() != name) {
        value.error(
            format!("this program has registered no op `{name}` of its own"),
            "specs of the family `own` are for the program that registers their ops: see `parity_run::own`",
        );
        return None;
    }
    let op = value.word("op", &all, Op::name)?;
    let differentiated = if let Op::Grad(grad) = op
        && let Differentiable::Op(of) = grad.of()
    {
        of.family() == family
    } else {
        false
    };
    if op.family() != family && !differentiated {
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

/// An item of `dtypes`; of one dtype for each argument, as many as each op has.
fn read_dtypes(value: &Value<'_, '_>, arities: &[usize], refused: bool) -> Option<Choice> {
    let choice = Choice::read(value, refused)?;
    let count = match &choice {
        Choice::Each(dtypes) => dtypes.len(),
        Choice::Class(_) | Choice::Without(_) => 1,
    };
    let few = arities.iter().find(|arity| count != 1 && count != **arity);
    if let Some(arity) = few {
        not_one_for_each(value, count, "dtypes", *arity);
    }
    few.is_none().then_some(choice)
}

/// `checks = ["value", "layout"]`, or `refuses = "invalid"` for cases that have no value.
fn read_checks(table: &Table<'_, '_>) -> Option<Vec<Check>> {
    let of_kind = |refuses: bool| -> Vec<Check> {
        let wanted = |check: &Check| check.refusal().is_some() == refuses;
        Check::ALL.into_iter().filter(wanted).collect()
    };
    if table.has_both("checks", "refuses") {
        table.get("refuses")?.error(
            "what is refused has no output to check",
            "remove `checks` or `refuses`, or make two groups of them",
        );
        return None;
    }
    match table.first(&["checks", "refuses"]) {
        None => Some(vec![Check::Value]),
        Some(checks) if checks.key() == "checks" => {
            checks.list(|check| check.word("check", &of_kind(false), Check::name))
        }
        Some(refuses) => {
            let refuses = refuses.word("class of refusal", &of_kind(true), Check::name);
            refuses.map(|check| vec![check])
        }
    }
}

/// Reports that `count` items are neither one for all arguments nor one for each.
fn not_one_for_each(value: &Value<'_, '_>, count: usize, what: &str, arity: usize) {
    value.error(
        format!("{count} {what} are named for {arity} arguments"),
        "name one for all arguments, or one for each; ops with another number of arguments go into another group",
    );
}

/// `[2, 3]`, or the shapes of the first arguments or of all: `[[2, 3], [3, 4]]`.
fn read_shapes(value: &Value<'_, '_>, arities: &[usize]) -> Option<Vec<Vec<usize>>> {
    let nested = value.array(true)?;
    if nested.is_empty() || !nested[0].is_array() {
        return Some(vec![list_of(value, true, Value::size)?]);
    }
    let shapes = nested
        .iter()
        .map(|shape| list_of(shape, true, Value::size))
        .collect::<Option<Vec<_>>>()?;
    let few = arities.iter().find(|arity| **arity < shapes.len());
    if let Some(arity) = few {
        value.error(
            format!("{} shapes are named for {arity} arguments", shapes.len()),
            "name one for each, or fewer where the rest follows from the op",
        );
    }
    few.is_none().then_some(shapes)
}

/// `contiguous`, or one word an argument: `contiguous,broadcast`; or a pattern.
fn read_layouts(value: &Value<'_, '_>, arities: &[usize]) -> Option<LayoutPattern> {
    let pattern = LayoutPattern::read(value)?;
    let few = arities.iter().find(|arity| !pattern.fits(**arity));
    if let Some(arity) = few {
        not_one_for_each(value, pattern.len(), "layouts", *arity);
    }
    few.is_none().then_some(pattern)
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
        format!("`{tag}` is not a tag"),
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
