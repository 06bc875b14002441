//! Layouts of a case's arguments: words, and patterns that expand to several.

use super::reader::{Value, suggest};
use crate::op::Role;
use crate::{Layout, Op};

/// The word for every layout that is possible for the shape.
const EVERY: &str = "*";
/// The word for contiguous arguments up to the last one.
const REST: &str = "..";

/// An item of `layouts`: a word for all arguments, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LayoutPattern {
    words: Vec<Word>,
    /// Whether the arguments after those of the words are contiguous.
    rest: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// `*`.
    Every,
    /// `transposed`, or `{transposed,sliced}`.
    Of(Vec<Layout>),
}

impl LayoutPattern {
    /// `contiguous`, `*`, `transposed,contiguous`, `*,..`, `contiguous,{sliced,stepped}`.
    pub(super) fn read(value: &Value<'_, '_>) -> Option<LayoutPattern> {
        let mut words = split(value.string()?);
        let rest = words.last() == Some(&REST);
        if rest {
            words.pop();
        }
        let layout = |word: &str| {
            let layout = word.trim().parse::<Layout>();
            if let Err(error) = &layout {
                value.error(
                    error.to_string(),
                    suggest(word, Layout::ALL.iter().map(|layout| layout.name())),
                );
            }
            layout.ok()
        };
        let word = |word: &&str| {
            if *word == EVERY {
                return Some(Word::Every);
            }
            let several = word.strip_prefix('{').and_then(|word| word.strip_suffix('}'));
            let layouts = several.unwrap_or(word).split(',').map(layout);
            Some(Word::Of(layouts.collect::<Option<_>>()?))
        };
        let words = words.iter().map(word).collect::<Option<_>>()?;
        Some(LayoutPattern { words, rest })
    }

    /// The number of its words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether the pattern says something about `arity` arguments and no others.
    pub(super) fn fits(&self, arity: usize) -> bool {
        match self.rest {
            true => self.words.len() <= arity,
            false => self.words.len() == 1 || self.words.len() == arity,
        }
    }

    /// The most layouts that the pattern can expand to.
    pub(super) fn most(&self) -> usize {
        let choices = self.words.iter().map(|word| match word {
            Word::Every => Layout::ALL.len(),
            Word::Of(layouts) => layouts.len(),
        });
        choices.fold(1, usize::saturating_mul)
    }

    /// The layouts that the pattern expands to, one for each argument of `op`. `*` means every possible layout,
    /// any other word the layouts that it names.
    pub(super) fn layouts(&self, op: Op, shapes: &[Vec<usize>]) -> Vec<Vec<Layout>> {
        let possible = |argument: usize, layout: Layout| {
            let blocks = op.roles()[argument] == Role::Blocks && layout != Layout::Contiguous;
            !blocks && layout.plan(&shapes[argument]).is_some()
        };
        let arguments = 0..op.arity();
        if let ([word], false) = (self.words.as_slice(), self.rest) {
            let all_alike: Vec<Layout> = match word {
                Word::Of(layouts) => layouts.clone(),
                Word::Every => {
                    let everywhere = |layout: &Layout| arguments.clone().all(|i| possible(i, *layout));
                    Layout::ALL.into_iter().filter(everywhere).collect()
                }
            };
            return all_alike
                .into_iter()
                .map(|layout| vec![layout; op.arity()])
                .collect();
        }
        let mut lists = vec![vec![]];
        for i in arguments {
            let choices: Vec<Layout> = match self.words.get(i) {
                None => vec![Layout::Contiguous],
                Some(Word::Of(layouts)) => layouts.clone(),
                Some(Word::Every) => Layout::ALL
                    .into_iter()
                    .filter(|layout| possible(i, *layout))
                    .collect(),
            };
            let with = |list: &Vec<Layout>| -> Vec<Vec<Layout>> {
                choices
                    .iter()
                    .map(|choice| [list.as_slice(), &[*choice]].concat())
                    .collect()
            };
            lists = lists.iter().flat_map(with).collect();
        }
        lists
    }
}

impl std::fmt::Display for LayoutPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = |word: &Word| match word {
            Word::Every => EVERY.to_owned(),
            Word::Of(layouts) => {
                let names: Vec<String> = layouts.iter().map(Layout::to_string).collect();
                match names.as_slice() {
                    [one] => one.clone(),
                    names => format!("{{{}}}", names.join(",")),
                }
            }
        };
        let rest = self.rest.then(|| REST.to_owned());
        let words: Vec<String> = self.words.iter().map(word).chain(rest).collect();
        f.write_str(&words.join(","))
    }
}

/// The words between the commas that are in no braces.
fn split(text: &str) -> Vec<&str> {
    let (mut words, mut from, mut inside) = (Vec::new(), 0, false);
    for (i, c) in text.char_indices() {
        match c {
            '{' => inside = true,
            '}' => inside = false,
            ',' if !inside => {
                words.push(text[from..i].trim());
                from = i + 1;
            }
            _ => {}
        }
    }
    words.push(text[from..].trim());
    words
}
