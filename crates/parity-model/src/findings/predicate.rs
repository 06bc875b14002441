//! Predicates over cases: which cases a row of a finding means. Says nothing of verdicts.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use crate::op::Role;
use crate::{Case, Check, DType, Family, Layout, ValueSet};

/// What a predicate without `check` is about: cases that are to compute something.
pub const COMPUTES: [Check; 3] = [Check::Value, Check::Layout, Check::Batch];

/// What a pattern of a shape says of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The dimension has this extent.
    Is(usize),
    /// `>N`: the dimension has a greater extent.
    Above(usize),
    /// `*`: the dimension has any extent.
    Any,
    /// `..`: any number of dimensions of any extents, none too. A pattern has it once at most.
    Rest,
}

impl Extent {
    fn fits(self, extent: usize) -> bool {
        match self {
            Extent::Is(wanted) => wanted == extent,
            Extent::Above(least) => extent > least,
            Extent::Any | Extent::Rest => true,
        }
    }
}

/// The extent as `finding.toml` has it.
impl Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Is(extent) => write!(f, "{extent}"),
            Extent::Above(extent) => write!(f, "\">{extent}\""),
            Extent::Any => f.write_str("\"*\""),
            Extent::Rest => f.write_str("\"..\""),
        }
    }
}

/// What a predicate asks of a case. Every key that is not empty must hold; of a list any element suffices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicate {
    /// Names of ops; one that ends in `*` means every op whose name begins so.
    pub ops: Vec<String>,
    /// Families, any op of which is meant besides those that [`Predicate::ops`] names.
    pub families: Vec<Family>,
    /// Dtypes of the data.
    pub dtypes: Vec<DType>,
    /// Dtypes of single arguments, by their number.
    pub dtypes_of: BTreeMap<usize, Vec<DType>>,
    /// Dtypes of the ids or the condition.
    pub index_dtypes: Vec<DType>,
    /// Layouts that some argument has.
    pub layouts: Vec<LayoutWord>,
    /// Layouts of single arguments, by their number.
    pub layouts_of: BTreeMap<usize, Vec<LayoutWord>>,
    /// Ranks of the first argument.
    pub ranks: Vec<usize>,
    /// Shapes of single arguments, by their number.
    pub shapes_of: BTreeMap<usize, Vec<Vec<Extent>>>,
    /// Whether some argument has no element.
    pub empty: Option<bool>,
    /// Value sets.
    pub values: Vec<Values>,
    /// Values of parameters, by their names. A name of several parameters has lists of as many values.
    pub params: BTreeMap<String, Vec<Vec<f64>>>,
    /// What is asked of the output; where empty, one of [`COMPUTES`].
    pub checks: Vec<Check>,
    /// Cases that are not meant.
    pub except: Vec<Predicate>,
}

/// How an argument lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutWord {
    /// This layout.
    Is(Layout),
    /// Whatever the layout, the elements do not follow one another in row-major order.
    Strided,
    /// Whatever the layout, the first element is not the first one of the storage.
    Inside,
    /// Whatever the layout, a dimension of several elements has stride 0.
    Repeated,
    /// Whatever the layout, the storage holds more elements than the view shows places of.
    Part,
}

impl LayoutWord {
    /// Every word.
    pub fn all() -> Vec<LayoutWord> {
        let layouts = Layout::ALL.into_iter().map(LayoutWord::Is);
        layouts
            .chain([
                LayoutWord::Strided,
                LayoutWord::Inside,
                LayoutWord::Repeated,
                LayoutWord::Part,
            ])
            .collect()
    }

    /// The word that `finding.toml` uses; of a view that is spelled out, what its text begins with.
    pub const fn name(self) -> &'static str {
        match self {
            LayoutWord::Is(layout) => layout.name(),
            LayoutWord::Strided => "strided",
            LayoutWord::Inside => "inside",
            LayoutWord::Repeated => "repeated",
            LayoutWord::Part => "part",
        }
    }

    fn holds(self, case: &Case, argument: usize) -> bool {
        match self {
            LayoutWord::Is(layout) => case.args[argument].layout == layout,
            LayoutWord::Part => case.plan(argument).is_some_and(|plan| {
                let shown: usize = case.args[argument].shape.iter().product();
                shown < plan.base_shape.iter().product()
            }),
            LayoutWord::Strided | LayoutWord::Inside | LayoutWord::Repeated => {
                let Some(view) = case.plan(argument).map(|plan| plan.strided()) else {
                    return false;
                };
                let mut dims = view.dims.iter().zip(&view.strides);
                match self {
                    LayoutWord::Inside => view.offset > 0,
                    LayoutWord::Repeated => dims.any(|(dim, stride)| *dim > 1 && *stride == 0),
                    LayoutWord::Strided | LayoutWord::Part | LayoutWord::Is(_) => !view.is_contiguous(),
                }
            }
        }
    }
}

impl Display for LayoutWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutWord::Is(layout) => layout.fmt(f),
            LayoutWord::Strided | LayoutWord::Inside | LayoutWord::Repeated | LayoutWord::Part => {
                f.pad(self.name())
            }
        }
    }
}

/// What a case is filled with.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// This set.
    Is(ValueSet),
    /// Any set of this name, whatever its bounds: `uniform`.
    Named(String),
}

impl Values {
    fn holds(&self, set: ValueSet) -> bool {
        match self {
            Values::Is(one) => *one == set,
            Values::Named(name) => set.to_string().split('(').next() == Some(name.as_str()),
        }
    }
}

impl Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Is(set) => write!(f, "{set}"),
            Values::Named(name) => f.write_str(name),
        }
    }
}

fn any<T>(list: &[T], holds: impl Fn(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(holds)
}

impl Predicate {
    /// Whether the predicate holds for the case.
    pub fn matches(&self, case: &Case) -> bool {
        let checks = if self.checks.is_empty() {
            &COMPUTES
        } else {
            self.checks.as_slice()
        };
        checks.contains(&case.check) && self.holds(case)
    }

    /// Whether the op is one of those that are meant; every op is where none is named.
    pub fn names_op(&self, op: crate::Op) -> bool {
        let name = op.name();
        let means = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        (self.ops.is_empty() && self.families.is_empty())
            || self.families.contains(&op.family())
            || self.ops.iter().any(means)
    }

    /// Everything but the check, which an exception leaves alone where it names none.
    fn holds(&self, case: &Case) -> bool {
        self.names_op(case.op)
            && any(&self.dtypes, |dtype| *dtype == case.dtype)
            && any(&self.index_dtypes, |dtype| index_dtype(case) == Some(*dtype))
            && any(&self.ranks, |rank| {
                case.args.first().is_some_and(|arg| arg.shape.len() == *rank)
            })
            && self
                .empty
                .is_none_or(|empty| empty == case.args.iter().any(|arg| arg.shape.contains(&0)))
            && any(&self.values, |values| values.holds(case.values))
            && self
                .params
                .iter()
                .all(|(name, values)| has_param(case, name, values))
            && self.arguments_hold(case)
            && !self
                .except
                .iter()
                .any(|except| any(&except.checks, |check| *check == case.check) && except.holds(case))
    }

    fn arguments_hold(&self, case: &Case) -> bool {
        let count = case.args.len();
        let some = |word: &LayoutWord| (0..count).any(|argument| word.holds(case, argument));
        let all = |holds: &dyn Fn(usize) -> bool, argument: &usize| *argument < count && holds(*argument);
        any(&self.layouts, some)
            && self
                .dtypes_of
                .iter()
                .all(|(argument, dtypes)| all(&|i| dtypes.contains(&case.args[i].dtype), argument))
            && self
                .layouts_of
                .iter()
                .all(|(argument, words)| all(&|i| words.iter().any(|word| word.holds(case, i)), argument))
            && self.shapes_of.iter().all(|(argument, shapes)| {
                all(
                    &|i| shapes.iter().any(|shape| fits(shape, &case.args[i].shape)),
                    argument,
                )
            })
    }
}

/// The dtype of the ids or the condition.
fn index_dtype(case: &Case) -> Option<DType> {
    let chosen = |role: &Role| matches!(role, Role::Condition | Role::Index);
    let argument = case.op.roles().iter().position(chosen)?;
    case.args.get(argument).map(|arg| arg.dtype)
}

/// Whether the case has the parameter, with one of the values.
fn has_param(case: &Case, name: &str, values: &[Vec<f64>]) -> bool {
    let names = case.op.params();
    let Some(first) = names
        .iter()
        .position(|param| param.trim_end_matches("..") == name)
    else {
        return false;
    };
    let count = if names[first].ends_with("..") {
        case.params.len() - first
    } else {
        1
    };
    let found = case.params.get(first..first + count).unwrap_or_default();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    values.iter().any(|value| bits(value) == bits(found))
}

fn fits(pattern: &[Extent], shape: &[usize]) -> bool {
    let alike = |pattern: &[Extent], shape: &[usize]| {
        pattern.len() == shape.len()
            && pattern
                .iter()
                .zip(shape)
                .all(|(wanted, extent)| wanted.fits(*extent))
    };
    let Some(rest) = pattern.iter().position(|extent| *extent == Extent::Rest) else {
        return alike(pattern, shape);
    };
    let (before, after) = (&pattern[..rest], &pattern[rest + 1..]);
    shape.len() >= before.len() + after.len()
        && alike(before, &shape[..before.len()])
        && alike(after, &shape[shape.len() - after.len()..])
}

/// `["a", "b"]`.
fn quoted<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", items.join(", "))
}

/// `[1, 2]`.
fn bare<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

/// `{ 0 = .., 1 = .. }`.
fn table<K: Display, V>(map: &BTreeMap<K, V>, value: impl Fn(&V) -> String) -> String {
    let entries: Vec<_> = map
        .iter()
        .map(|(key, v)| format!("{key} = {}", value(v)))
        .collect();
    format!("{{ {} }}", entries.join(", "))
}

/// The keys of a row, as `finding.toml` has them: `op = ["relu"], values = ["nan"]`.
impl Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |words: &Vec<LayoutWord>| quoted(words);
        let shapes = |shapes: &Vec<Vec<Extent>>| bare(shapes.iter().map(bare));
        let param = |values: &Vec<f64>| match values.as_slice() {
            [one] => one.to_string(),
            several => bare(several),
        };
        let params = |lists: &Vec<Vec<f64>>| bare(lists.iter().map(param));
        let mut keys = Vec::new();
        let mut key = |name: &str, given: bool, value: String| {
            if given {
                keys.push(format!("{name} = {value}"));
            }
        };
        key("op", !self.ops.is_empty(), quoted(&self.ops));
        key("family", !self.families.is_empty(), quoted(&self.families));
        key("dtype", !self.dtypes.is_empty(), quoted(&self.dtypes));
        key(
            "dtype",
            !self.dtypes_of.is_empty(),
            table(&self.dtypes_of, |dtypes| quoted(dtypes)),
        );
        key(
            "index_dtype",
            !self.index_dtypes.is_empty(),
            quoted(&self.index_dtypes),
        );
        key("params", !self.params.is_empty(), table(&self.params, params));
        key("rank", !self.ranks.is_empty(), bare(&self.ranks));
        key(
            "shape",
            !self.shapes_of.is_empty(),
            table(&self.shapes_of, shapes),
        );
        key(
            "empty",
            self.empty.is_some(),
            self.empty.unwrap_or_default().to_string(),
        );
        key("layout", !self.layouts.is_empty(), words(&self.layouts));
        key(
            "layout",
            !self.layouts_of.is_empty(),
            table(&self.layouts_of, words),
        );
        key("values", !self.values.is_empty(), quoted(&self.values));
        key("check", !self.checks.is_empty(), quoted(&self.checks));
        let except: Vec<_> = self
            .except
            .iter()
            .map(|except| format!("{{ {except} }}"))
            .collect();
        key("except", !except.is_empty(), format!("[{}]", except.join(", ")));
        f.write_str(&keys.join(", "))
    }
}
