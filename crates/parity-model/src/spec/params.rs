//! Parameters, by name or by place.

use std::ops::Range;

use super::cross::MOST_CASES;
use super::reader::{Value, suggest};
use crate::Op;
use crate::op::Role;

/// `params`: what it says of every op of a row.
pub(super) enum Params<'r, 'i> {
    /// Nothing.
    Absent,
    /// Lists of numbers, one for each parameter.
    ByPlace(Vec<Vec<f64>>),
    /// Tables of names, in each of which every combination of the named values counts.
    ByName(Vec<Vec<Named<'r, 'i>>>),
}

/// One name in a table of parameters.
pub(super) struct Named<'r, 'i> {
    pub(super) span: Range<usize>,
    pub(super) value: Value<'r, 'i>,
    numbers: Numbers,
}

enum Numbers {
    One(f64),
    Several(Vec<f64>),
    Lists(Vec<Vec<f64>>),
}

impl<'r, 'i> Params<'r, 'i> {
    /// `[[1, 2], [3, 4]]`, `{ dim = [0, 1] }`, or a list of such tables.
    pub(super) fn read(value: &Value<'r, 'i>) -> Option<Params<'r, 'i>> {
        if value.is_table() {
            return Some(Params::ByName(vec![table(value)?]));
        }
        let items = value.array(false)?;
        if items.iter().any(Value::is_table) {
            let tables: Vec<_> = items.iter().map(table).collect();
            return Some(Params::ByName(tables.into_iter().collect::<Option<_>>()?));
        }
        Some(Params::ByPlace(value.list(numbers)?))
    }

    /// The lists that `op` gets.
    ///
    /// # Errors
    /// What of the parameters is wrong for `op`.
    pub(super) fn of(&self, op: Op) -> Result<Vec<Vec<f64>>, Wrong<'_, 'r, 'i>> {
        match self {
            Params::Absent => combinations(op, &[]),
            Params::ByName(tables) => {
                let lists: Result<Vec<_>, _> = tables.iter().map(|table| combinations(op, table)).collect();
                Ok(lists?.concat())
            }
            Params::ByPlace(lists) => {
                let few = lists.iter().find(|params| !op.takes_params(params.len()));
                match few {
                    None => Ok(lists.clone()),
                    Some(params) => Err(wrong(None, count(op, params.len()), names(op))),
                }
            }
        }
    }
}

/// What is wrong with the parameters of an op.
pub(super) struct Wrong<'t, 'r, 'i> {
    /// The name that it is about, if it is about one.
    pub(super) at: Option<&'t Named<'r, 'i>>,
    pub(super) message: String,
    pub(super) help: String,
}

fn wrong<'t, 'r, 'i>(at: Option<&'t Named<'r, 'i>>, message: String, help: String) -> Wrong<'t, 'r, 'i> {
    Wrong { at, message, help }
}

fn table<'r, 'i>(value: &Value<'r, 'i>) -> Option<Vec<Named<'r, 'i>>> {
    let named = |(span, value): (Range<usize>, Value<'r, 'i>)| {
        let numbers = if !value.is_array() {
            Numbers::One(value.number()?)
        } else if value.array(false)?.iter().all(Value::is_array) {
            Numbers::Lists(value.list(numbers)?)
        } else {
            Numbers::Several(
                value
                    .array(false)?
                    .iter()
                    .map(Value::number)
                    .collect::<Option<_>>()?,
            )
        };
        Some(Named { span, value, numbers })
    };
    let all: Vec<_> = value.entries()?.into_iter().map(named).collect();
    all.into_iter().collect()
}

/// Numbers that may repeat, such as the dimensions of a shape.
fn numbers(value: &Value<'_, '_>) -> Option<Vec<f64>> {
    let numbers: Vec<_> = value.array(true)?.iter().map(Value::number).collect();
    numbers.into_iter().collect()
}

/// Every combination of the values that a table names, in the order of the op's parameters.
fn combinations<'t, 'r, 'i>(op: Op, table: &'t [Named<'r, 'i>]) -> Result<Vec<Vec<f64>>, Wrong<'t, 'r, 'i>> {
    let known = |named: &&Named<'_, '_>| {
        op.params()
            .iter()
            .any(|param| stands_for(named.value.key(), param))
    };
    if let Some(named) = table.iter().find(|named| !known(named)) {
        let message = format!("`{op}` has no parameter `{}`", named.value.key());
        let help = match op.params() {
            [] => "it has none: remove it, or give the op a group of its own".to_owned(),
            params => suggest(
                named.value.key(),
                params.iter().map(|param| param.trim_end_matches("..")),
            ),
        };
        return Err(wrong(Some(named), message, help));
    }
    let mut lists = vec![vec![]];
    for param in op.params() {
        let named = table.iter().find(|named| stands_for(named.value.key(), param));
        let choices = match named {
            Some(named) => choices(named, param).map_err(|why| wrong(Some(named), why, String::new()))?,
            None => default(op, param).ok_or_else(|| {
                let message = match table {
                    [] => count(op, 0),
                    _ => format!("`{op}` needs the parameter `{}`", param.trim_end_matches("..")),
                };
                wrong(None, message, names(op))
            })?,
        };
        if lists.len().saturating_mul(choices.len()) > MOST_CASES {
            let message = format!("the parameters cross to more than {MOST_CASES} lists");
            return Err(wrong(None, message, "name fewer values".to_owned()));
        }
        let with = |list: &Vec<f64>| -> Vec<Vec<f64>> {
            choices
                .iter()
                .map(|choice| [list.as_slice(), choice].concat())
                .collect()
        };
        lists = lists.iter().flat_map(with).collect();
    }
    Ok(lists)
}

/// Whether a name in a spec is for the parameter: `dim` also for one of the dimensions of `dims..`.
fn stands_for(name: &str, param: &str) -> bool {
    name == param.trim_end_matches("..") || (name, param) == ("dim", "dims..")
}

/// The values of a parameter, each as the numbers that it takes.
fn choices(named: &Named<'_, '_>, param: &str) -> Result<Vec<Vec<f64>>, String> {
    let name = named.value.key();
    let takes_several = param.ends_with("..") && name == param.trim_end_matches("..");
    match &named.numbers {
        Numbers::One(x) => Ok(vec![vec![*x]]),
        Numbers::Several(list) if takes_several => Ok(vec![list.clone()]),
        Numbers::Several(list) => Ok(list.iter().map(|x| vec![*x]).collect()),
        Numbers::Lists(lists) if takes_several => Ok(lists.clone()),
        Numbers::Lists(_) => Err(format!(
            "`{name}` is one number, or a list of numbers to be taken in turn"
        )),
    }
}

/// The values of a parameter that a table may leave out. A gradient is then by every argument that has one.
fn default(op: Op, param: &str) -> Option<Vec<Vec<f64>>> {
    match param {
        "padding" | "output_padding" => Some(vec![vec![0.0]]),
        "stride" | "dilation" | "groups" if op.params().contains(&"padding") => Some(vec![vec![1.0]]),
        "wrt" => {
            let arguments = (0_u32..).zip(&op.roles()[..op.arity() - 1]);
            let data = arguments.filter(|(_, role)| **role == Role::Data);
            Some(data.map(|(i, _)| vec![f64::from(i)]).collect())
        }
        _ => None,
    }
}

fn count(op: Op, found: usize) -> String {
    format!("`{op}` takes {} parameters, not {found}", op.params().len())
}

fn names(op: Op) -> String {
    let names = op.params().iter().map(|name| name.trim_end_matches(".."));
    match op.params() {
        [] => "remove `params`, or give the op a group of its own".to_owned(),
        _ => format!("its parameters are {}", names.collect::<Vec<_>>().join(", ")),
    }
}
