//! The text of source files, and the definitions in them: a page that names one has looked for it. Of a published package
//! the line is named, for it stays where it is; of our own files the item, which a line inserted above it does not move.

use std::collections::BTreeMap;

/// Source text by path: our files by their path from the repository's root, those of a published crate below
/// `name-version/`, as in `candle-core-0.11.1/src/backend.rs`.
#[derive(Clone, Debug, Default)]
pub struct Sources(BTreeMap<String, String>);

/// Where a definition is to be looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) path: &'a str,
    /// Words of a line that must come first, such as the head of an `impl`; empty for none.
    pub(crate) inside: &'a str,
    pub(crate) item: Item<'a>,
}

/// What a line is known by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'a> {
    /// The definition of the function of this name.
    Fn(&'a str),
    /// These words.
    Text(&'a str),
}

/// A line that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) path: &'a str,
    /// From 1.
    pub(crate) number: usize,
    /// The function, or the words, that the line is known by.
    pub(crate) item: String,
    /// Whether it begins a function that does nothing but refuse.
    pub(crate) refuses: bool,
}

impl Line<'_> {
    /// `candle-core-0.11.1/src/backend.rs:18`.
    pub(crate) fn plain(&self) -> String {
        format!("`{}:{}`", self.path, self.number)
    }

    /// A link from a page in `reports/` to the file, with the item to look for in it.
    pub(crate) fn link(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        format!("[{name}](../{}) `{}`", self.path, self.item)
    }
}

impl Sources {
    /// Our folders that pages look into.
    pub const FOLDERS: [&str; 2] = ["crates/candle-core/glue", "rocm-backend/src"];

    /// Adds a file.
    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.0.insert(path.into(), text.into());
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Files whose path begins so, in order.
    pub(crate) fn below<'s, 'f>(
        &'s self,
        folder: &'f str,
    ) -> impl Iterator<Item = (&'s str, &'s str)> + use<'s, 'f> {
        let files = self.0.iter().filter(move |(path, _)| path.starts_with(folder));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The first line that is what `place` says.
    pub(crate) fn find(&self, place: &Place<'_>) -> Option<Line<'_>> {
        let (path, text) = self.0.get_key_value(place.path)?;
        let mut lines = text.lines().enumerate();
        if !place.inside.is_empty() {
            lines.find(|(_, line)| line.contains(place.inside))?;
        }
        let (index, _) = lines.find(|(_, line)| place.item.is_in(line))?;
        Some(Line {
            path,
            number: index + 1,
            item: match place.item {
                Item::Fn(name) => format!("fn {name}"),
                Item::Text(words) => words.to_owned(),
            },
            refuses: matches!(place.item, Item::Fn(_)) && refuses(text.lines().skip(index)),
        })
    }

    /// The names of the functions that the trait `name` of a file declares, in order.
    pub(crate) fn methods(&self, path: &str, name: &str) -> Vec<&str> {
        let Some(text) = self.text(path) else {
            return vec![];
        };
        let head = format!("pub trait {name}");
        let body = text.lines().skip_while(|line| !line.starts_with(&head)).skip(1);
        let body = body.take_while(|line| !line.starts_with('}'));
        body.filter_map(function_name).collect()
    }
}

impl Item<'_> {
    fn is_in(self, line: &str) -> bool {
        match self {
            Item::Fn(name) => function_name(line) == Some(name),
            Item::Text(words) => line.contains(words),
        }
    }
}

/// The name of the function that is defined or declared on a line.
pub(crate) fn function_name(line: &str) -> Option<&str> {
    let mut words = line.trim_start();
    for qualifier in ["pub ", "pub(crate) ", "pub(super) ", "const ", "unsafe "] {
        words = words.strip_prefix(qualifier).unwrap_or(words);
    }
    let rest = words.strip_prefix("fn ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&rest[..end])
}

/// Whether the function that begins here does nothing but return an error.
fn refuses<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let mut body = lines.skip_while(|line| !line.trim_end().ends_with('{')).skip(1);
    let first = body.next().unwrap_or_default().trim_start();
    ["crate::bail!(", "bail!(", "Err("]
        .iter()
        .any(|words| first.starts_with(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "pub trait Storage {\n    fn exp(&self) -> Self;\n    unsafe fn raw(\n        &self,\n    );\n}\n\
        impl Storage for Cuda {\n    fn exp(&self) -> Self {\n        run()\n    }\n\n    unsafe fn raw(\n        &self,\n    ) {\n        \
        crate::bail!(\"no\")\n    }\n    fn exponent<T>(&self) {\n    }\n}\n";

    fn line(inside: &str, item: Item<'_>) -> Option<(usize, bool)> {
        let mut sources = Sources::default();
        sources.add("a/lib.rs", TEXT);
        let path = "a/lib.rs";
        let found = sources.find(&Place { path, inside, item });
        found.map(|line| (line.number, line.refuses))
    }

    #[test]
    fn a_definition_is_found_by_its_whole_name_behind_the_line_it_stands_in() {
        assert_eq!(line("", Item::Fn("exp")), Some((2, false)));
        assert_eq!(line("for Cuda", Item::Fn("exp")), Some((8, false)));
        assert_eq!(line("for Cuda", Item::Fn("exponent")), Some((17, false)));
        assert_eq!(line("for Cuda", Item::Fn("expo")), None);
        assert_eq!(line("for Rocm", Item::Fn("exp")), None);
        assert_eq!(line("", Item::Text("run()")), Some((9, false)));
    }

    #[test]
    fn a_function_that_only_refuses_is_told_from_one_that_works() {
        assert_eq!(line("for Cuda", Item::Fn("raw")), Some((12, true)));
    }

    #[test]
    fn the_methods_of_a_trait_are_those_it_declares() {
        let mut sources = Sources::default();
        sources.add("a/lib.rs", TEXT);
        assert_eq!(sources.methods("a/lib.rs", "Storage"), ["exp", "raw"]);
        assert!(sources.methods("a/lib.rs", "Device").is_empty());
    }
}
