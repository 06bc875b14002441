//! Classes of dtypes, and lists that depend on the dtype.

use super::reader::{Value, suggest};
use crate::{Check, DType, Op, ValueSet};

/// A word for several dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DtypeClass {
    Floats,
    Ints,
    All,
}

impl DtypeClass {
    pub(super) const ALL: [DtypeClass; 3] = [DtypeClass::Floats, DtypeClass::Ints, DtypeClass::All];

    pub(super) const fn name(self) -> &'static str {
        match self {
            DtypeClass::Floats => "floats",
            DtypeClass::Ints => "ints",
            DtypeClass::All => "all",
        }
    }

    const fn holds(self, dtype: DType) -> bool {
        match self {
            DtypeClass::Floats => dtype.is_float(),
            DtypeClass::Ints => !dtype.is_float(),
            DtypeClass::All => true,
        }
    }
}

/// Every word that `dtypes` may have, except the `-` of one that is left out.
fn words() -> impl Iterator<Item = &'static str> + Clone {
    let classes = DtypeClass::ALL.iter().map(|class| class.name());
    DType::ALL.iter().map(|dtype| dtype.name()).chain(classes)
}

/// An item of `dtypes`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Choice {
    /// `floats`: those of the class for which the op means something.
    Class(DtypeClass),
    /// `-f8e4m3`: not this one of a class.
    Without(DType),
    /// `f32`; of a case that is to be refused, also one dtype for each argument.
    Each(Vec<DType>),
}

impl Choice {
    /// `f32`, `floats`, `-f32`, or, of a case that is to be refused, one word an argument: `f32,f16`.
    pub(super) fn read(value: &Value<'_, '_>, refused: bool) -> Option<Choice> {
        let text = value.string()?;
        let dtype = |word: &str| {
            let dtype = word.trim().parse::<DType>().ok();
            if dtype.is_none() {
                value.error(format!("unknown dtype `{}`", word.trim()), suggest(word, words()));
            }
            dtype
        };
        if let Some(class) = DtypeClass::ALL.into_iter().find(|class| class.name() == text) {
            return Some(Choice::Class(class));
        }
        match text.strip_prefix('-') {
            Some(word) => Some(Choice::Without(dtype(word)?)),
            None if refused => Some(Choice::Each(text.split(',').map(dtype).collect::<Option<_>>()?)),
            None => Some(Choice::Each(vec![dtype(text)?])),
        }
    }
}

/// The lists of dtypes, one for all data or one for each argument, that the choices give an op. Of a class, those for which
/// the op means something; where that is what is to be refused, those for which it means nothing. A sweep is about ops of
/// many kinds, so its dtypes count as a class, also where they are named one by one.
pub(super) fn dtypes(choices: &[Choice], op: Op, checks: &[Check], of_sweep: bool) -> Vec<Vec<DType>> {
    let wanted = !checks.contains(&Check::Unsupported);
    let mut found: Vec<Vec<DType>> = Vec::new();
    for choice in choices {
        match choice {
            Choice::Each(dtypes) if of_sweep && op.accepts(dtypes[0]) != wanted => {}
            Choice::Each(dtypes) => found.push(dtypes.clone()),
            Choice::Class(class) => {
                let left_out = |dtype: &DType| choices.contains(&Choice::Without(*dtype));
                let of_class = DType::ALL
                    .into_iter()
                    .filter(|dtype| class.holds(*dtype) && op.accepts(*dtype) == wanted && !left_out(dtype));
                found.extend(of_class.map(|dtype| vec![dtype]));
            }
            Choice::Without(_) => {}
        }
    }
    let mut once: Vec<Vec<DType>> = Vec::new();
    for dtypes in found {
        if !once.contains(&dtypes) {
            once.push(dtypes);
        }
    }
    once
}

/// What arguments are filled with, by their dtype.
pub(super) struct ValuesByDtype(Vec<(Vec<DType>, Vec<ValueSet>)>);

impl ValuesByDtype {
    /// A list, or a table of lists: `{ floats = "uniform(-1,1)", ints = "ints(0,9)", i16 = "any" }`.
    pub(super) fn read(value: &Value<'_, '_>) -> Option<ValuesByDtype> {
        if !value.is_table() {
            return Some(ValuesByDtype(vec![(
                DType::ALL.to_vec(),
                value.list(read_values)?,
            )]));
        }
        let mut lists = Vec::new();
        for (span, list) in value.entries()? {
            let class = DtypeClass::ALL
                .into_iter()
                .find(|class| class.name() == list.key());
            let dtype = list.key().parse::<DType>().ok();
            let of = match (class, dtype) {
                (Some(class), _) => DType::ALL
                    .into_iter()
                    .filter(|dtype| class.holds(*dtype))
                    .collect(),
                (None, Some(dtype)) => vec![dtype],
                (None, None) => {
                    let message = format!("unknown dtype `{}`", list.key());
                    list.report.error(span, message, suggest(list.key(), words()));
                    return None;
                }
            };
            lists.push((of, list.list(read_values)?));
        }
        // The word for the fewest dtypes counts.
        lists.sort_by_key(|(of, _)| of.len());
        Some(ValuesByDtype(lists))
    }

    /// The length of the longest list.
    pub(super) fn most(&self) -> usize {
        self.0.iter().map(|(_, values)| values.len()).max().unwrap_or(0)
    }

    /// The value sets of a dtype; none where the table has no word for it.
    pub(super) fn of(&self, dtype: DType) -> &[ValueSet] {
        let list = self.0.iter().find(|(of, _)| of.contains(&dtype));
        list.map_or(&[], |(_, values)| values)
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
