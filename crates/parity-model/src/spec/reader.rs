//! Reading a spanned TOML document while collecting everything that is wrong with it.

use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::SpecError;

/// Where the errors of a file go.
pub(super) struct Report<'a> {
    pub(super) file: &'a str,
    errors: RefCell<Vec<SpecError>>,
    /// The first error of syntax. What is read after it is a guess, and so is what seems to be missing.
    broken: RefCell<Option<SpecError>>,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Report {
            file,
            errors: RefCell::new(vec![]),
            broken: RefCell::new(None),
        }
    }

    fn said(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> SpecError {
        SpecError {
            file: self.file.to_owned(),
            span,
            message: message.into(),
            help: Some(help.into()).filter(|help: &String| !help.is_empty()),
        }
    }

    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let error = self.said(span, message, help);
        // A sweep is read once for every group that uses it.
        let mut errors = self.errors.borrow_mut();
        if !errors.contains(&error) {
            errors.push(error);
        }
    }

    /// What was wrong, in file order, up to the place where the file ceases to be TOML.
    pub(super) fn errors(self) -> Vec<SpecError> {
        let mut errors = self.errors.into_inner();
        if let Some(broken) = self.broken.into_inner() {
            errors.retain(|error| error.span.end <= broken.span.start);
            errors.push(broken);
        }
        errors.sort_by_key(|error| error.span.start);
        errors
    }

    /// The value if nothing was wrong, else what was, in file order.
    pub(super) fn finish<T>(self, value: T) -> Result<T, Vec<SpecError>> {
        let errors = self.errors();
        if errors.is_empty() { Ok(value) } else { Err(errors) }
    }
}

/// Parses TOML; the first syntax error is reported, as those after it follow from it, and leaves what could be read.
pub(super) fn document<'i>(report: &Report<'_>, text: &'i str) -> Spanned<DeTable<'i>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let place = |error: &toml::de::Error| error.span().unwrap_or(0..text.len());
    if let Some(error) = errors.iter().min_by_key(|error| place(error).start) {
        let said = report.said(place(error), error.message(), "the file is not valid TOML here");
        report.broken.replace(Some(said));
    }
    document
}

/// A table with a fixed set of keys, and the tables that have what it leaves out.
#[derive(Clone)]
pub(super) struct Table<'r, 'i> {
    pub(super) report: &'r Report<'r>,
    pub(super) span: Range<usize>,
    /// The tables in which a key is looked for, in this order, with the file of each.
    layers: Vec<(&'r Report<'r>, &'r DeTable<'i>)>,
}

impl<'r, 'i> Table<'r, 'i> {
    /// Opens a table, reporting every key that is not in `keys`.
    pub(super) fn open(
        report: &'r Report<'r>,
        table: &'r DeTable<'i>,
        span: Range<usize>,
        keys: &[&str],
    ) -> Self {
        for key in table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref();
            let help = suggest(name, keys.iter().copied());
            report.error(key.span(), format!("unknown key `{name}`"), help);
        }
        Table {
            report,
            span,
            layers: vec![(report, table)],
        }
    }

    /// This table, which has from `below` what it leaves out.
    pub(super) fn over(mut self, below: &Table<'r, 'i>) -> Self {
        self.layers.extend(&below.layers);
        self
    }

    /// This table in its place, with the words of `above` in front of its own.
    pub(super) fn under(&self, above: &Table<'r, 'i>) -> Self {
        Table {
            report: self.report,
            span: self.span.clone(),
            layers: [above.layers.as_slice(), self.layers.as_slice()].concat(),
        }
    }

    /// The value of an optional key.
    pub(super) fn get(&self, key: &str) -> Option<Value<'r, 'i>> {
        self.first(&[key])
    }

    /// The value of the first of `keys` that a table has, in the nearest table that has one.
    pub(super) fn first(&self, keys: &[&str]) -> Option<Value<'r, 'i>> {
        let in_layer = |(report, table): &(&'r Report<'r>, &'r DeTable<'i>)| {
            let key = keys.iter().find(|key| table.contains_key(**key))?;
            Some(Value {
                report,
                key: (*key).to_owned(),
                value: table.get(*key)?,
            })
        };
        self.layers.iter().find_map(in_layer)
    }

    /// Whether one table has both keys.
    pub(super) fn has_both(&self, one: &str, other: &str) -> bool {
        let both = |(_, table): &(_, &DeTable<'i>)| table.contains_key(one) && table.contains_key(other);
        self.layers.iter().any(both)
    }

    /// The value of a key that must be there.
    pub(super) fn require(&self, key: &str, example: &str) -> Option<Value<'r, 'i>> {
        let value = self.get(key);
        if value.is_none() && self.report.broken.borrow().is_none() {
            self.report.error(
                self.span.clone(),
                format!("missing key `{key}`"),
                format!("add {example}"),
            );
        }
        value
    }
}

/// A value and its key.
pub(super) struct Value<'r, 'i> {
    pub(super) report: &'r Report<'r>,
    key: String,
    value: &'r Spanned<DeValue<'i>>,
}

impl<'r, 'i> Value<'r, 'i> {
    pub(super) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// The key.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn error(&self, message: impl Into<String>, help: impl Into<String>) {
        self.report.error(self.span(), message, help);
    }

    fn wrong_type<T>(&self, wanted: &str) -> Option<T> {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.error(format!("`{}` must be {wanted}, not {found}", self.key), "");
        None
    }

    pub(super) fn string(&self) -> Option<&'r str> {
        self.value
            .get_ref()
            .as_str()
            .or_else(|| self.wrong_type("a string"))
    }

    /// A string that is not blank.
    pub(super) fn text(&self) -> Option<String> {
        let text = self.string()?.trim();
        if text.is_empty() {
            self.error(format!("`{}` must not be empty", self.key), "");
            return None;
        }
        Some(text.to_owned())
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.value
            .get_ref()
            .as_bool()
            .or_else(|| self.wrong_type("a boolean"))
    }

    /// A float or an integer.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self.value.get_ref() {
            DeValue::Float(x) => x.as_str().parse::<f64>().ok(),
            DeValue::Integer(x) => i64::from_str_radix(x.as_str(), x.radix()).ok().map(|x| x as f64),
            _ => None,
        };
        match number {
            Some(x) if x.is_finite() => Some(x),
            Some(_) => {
                self.error(format!("`{}` must be finite", self.key), "");
                None
            }
            None => self.wrong_type("a number"),
        }
    }

    pub(super) fn size(&self) -> Option<usize> {
        let DeValue::Integer(x) = self.value.get_ref() else {
            return self.wrong_type("an integer");
        };
        let size = usize::from_str_radix(x.as_str(), x.radix()).ok();
        if size.is_none() {
            self.error(
                format!("`{}` must hold sizes, and {x} is not one", self.key),
                "sizes are 0 and above",
            );
        }
        size
    }

    pub(super) fn table(&self, keys: &[&str]) -> Option<Table<'r, 'i>> {
        let table = self
            .value
            .get_ref()
            .as_table()
            .or_else(|| self.wrong_type("a table"))?;
        Some(Table::open(self.report, table, self.span(), keys))
    }

    pub(super) fn is_array(&self) -> bool {
        self.value.get_ref().as_array().is_some()
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().as_table().is_some()
    }

    /// The text, of a value that is one.
    pub(super) fn as_str(&self) -> Option<&str> {
        self.value.get_ref().as_str()
    }

    /// The place of each key of a table whose keys are names, and its value.
    pub(super) fn entries(&self) -> Option<Vec<(Range<usize>, Value<'r, 'i>)>> {
        let table = self
            .value
            .get_ref()
            .as_table()
            .or_else(|| self.wrong_type("a table"))?;
        let entry = |(key, value): (&Spanned<_>, &'r Spanned<DeValue<'i>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            let value = Value {
                report: self.report,
                key: name.clone().into_owned(),
                value,
            };
            (key.span(), value)
        };
        Some(table.iter().map(entry).collect())
    }

    /// The elements of an array; an empty one is an error unless `may_be_empty`.
    pub(super) fn array(&self, may_be_empty: bool) -> Option<Vec<Value<'r, 'i>>> {
        let array = self
            .value
            .get_ref()
            .as_array()
            .or_else(|| self.wrong_type("an array"))?;
        if array.is_empty() && !may_be_empty {
            self.error(
                format!("`{}` is empty", self.key),
                "a group without it would hold no case: name at least one",
            );
            return None;
        }
        Some(
            array
                .iter()
                .map(|value| Value {
                    report: self.report,
                    key: self.key.clone(),
                    value,
                })
                .collect(),
        )
    }

    /// Reads a list in which nothing is twice: every element of a non-empty array, or the value itself, which is then all
    /// of it.
    pub(super) fn list<T: PartialEq>(&self, read: impl Fn(&Value<'r, 'i>) -> Option<T>) -> Option<Vec<T>> {
        if !self.is_array() {
            return read(self).map(|one| vec![one]);
        }
        let mut list = Vec::new();
        let elements = self.array(false)?;
        let count = elements.len();
        for element in elements {
            match read(&element) {
                Some(item) if list.contains(&item) => {
                    element.error(
                        format!("`{}` names this twice", self.key),
                        "the cases would be the same: remove one",
                    );
                }
                Some(item) => list.push(item),
                None => {}
            }
        }
        (list.len() == count).then_some(list)
    }

    /// A word of a table of names.
    pub(super) fn word<T: Copy>(
        &self,
        what: &str,
        table: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Option<T> {
        let word = self.string()?;
        let found = table.iter().copied().find(|item| name(*item) == word);
        if found.is_none() {
            self.error(
                format!("unknown {what} `{word}`"),
                suggest(word, table.iter().map(|item| name(*item))),
            );
        }
        found
    }
}

/// How to mend `word`, which is none of `known`.
pub(super) fn suggest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> String {
    crate::near::advice(word, &known.collect::<Vec<_>>())
}
