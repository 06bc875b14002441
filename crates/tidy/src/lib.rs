//! Reads the repository's Rust files as tokens, so that `tests/` can say what a file names. It judges nothing itself:
//! ARCHITECTURE.md says why each rule exists, and the tests say where it holds.
//!
//! Tokens, and not lines of text, because a rule must hold however a sentence of Rust is written: `use std::{fs, io}`
//! names `std::fs`, a comment names nothing, and code below the unit tests is code. What `#[cfg(test)]` marks is left out,
//! wherever it is in a file.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, LineColumn, TokenStream, TokenTree};

/// A file of the repository.
pub struct Source {
    /// The path from the repository's root, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// A path or a string literal that the code of a file names, macro bodies included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The line, from 1.
    pub line: usize,
    /// What is named.
    pub named: Named,
}

/// What a [`Mention`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A path of one word or more, as in `std::fs::read`. A tree of imports gives one path a leaf.
    Path(String),
    /// The content of a string literal, as it is written between the quotes.
    Literal(String),
    /// A match arm or a closure's argument that takes anything: `_ =>`.
    Wildcard,
}

/// The repository's root.
///
/// # Panics
/// When the folder of this crate is gone.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize()
        .unwrap_or_else(|error| panic!("cannot find {}: {error}", root.display()))
}

/// Every file of the repository with one of the extensions, in order of the paths. Build output, derived sources and
/// hidden folders are left out.
///
/// # Panics
/// When a file cannot be read, or none is found: a check of no files would prove nothing.
pub fn sources(extensions: &[&str]) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    walk(&root, &root, extensions, &mut found);
    assert!(!found.is_empty(), "no source found below {}", root.display());
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(dir: &Path, root: &Path, extensions: &[&str], found: &mut Vec<Source>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("cannot read {}: {error}", dir.display()));
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "gen" {
                walk(&path, root, extensions, found);
            }
        } else if path
            .extension()
            .is_some_and(|e| extensions.iter().any(|x| e == *x))
        {
            let text = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
            let relative = path.strip_prefix(root).unwrap_or(&path);
            found.push(Source {
                path: relative.to_string_lossy().replace('\\', "/"),
                text,
            });
        }
    }
}

impl Source {
    /// Whether all of the file is test code: it lies in a folder of tests, or is the module `tests` of its parent.
    pub fn is_test(&self) -> bool {
        ["/tests/", "/benches/"]
            .iter()
            .any(|part| self.path.contains(part))
            || self.path.ends_with("/tests.rs")
    }

    /// Everything that the code names, in order. What `#[cfg(test)]` marks is left out, and so are comments and documentation.
    ///
    /// # Panics
    /// When the text is not made of Rust's tokens, which no file that compiles is.
    pub fn mentions(&self) -> Vec<Mention> {
        let tokens: TokenStream = self
            .text
            .parse()
            .unwrap_or_else(|error| panic!("{}: not Rust: {error}", self.path));
        let mut mentions = Vec::new();
        read(tokens, &mut mentions);
        mentions
    }
}

impl Source {
    /// The lines of `match`es that name variants of one of `enums` in an arm and take anything in another: `_`, a new name,
    /// or a tuple of `_`. A new variant would go unseen there. What `#[cfg(test)]` marks is left out.
    ///
    /// # Panics
    /// As [`Source::mentions`].
    pub fn open_matches(&self, enums: &[&str]) -> Vec<usize> {
        let tokens: TokenStream = self
            .text
            .parse()
            .unwrap_or_else(|error| panic!("{}: not Rust: {error}", self.path));
        let mut lines = Vec::new();
        open_matches(tokens, enums, &mut lines);
        lines
    }
}

impl Source {
    /// The types that the file declares, each with its line: structs, enums, unions, traits and aliases, those of a macro's call and
    /// those within functions too. Types that belong to a trait are left out, with the aliases that macros make, which may be such, and
    /// so is what `#[cfg(test)]` marks.
    ///
    /// # Panics
    /// As [`Source::mentions`].
    pub fn types(&self) -> Vec<(usize, String)> {
        let tokens: TokenStream = self
            .text
            .parse()
            .unwrap_or_else(|error| panic!("{}: not Rust: {error}", self.path));
        let mut found = Vec::new();
        types(tokens, [false; 2], &mut found);
        found
    }
}

/// Reads the tokens of one level: whether it is the body of an `impl` or a `trait`, and whether it is in a macro's definition.
fn types(tokens: TokenStream, [belong, in_macro]: [bool; 2], found: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut at, mut next_belong, mut next_in_macro) = (0, false, in_macro);
    while at < tokens.len() {
        if mark(&tokens, at) == Some('#') {
            at = attribute(&tokens, at);
            continue;
        }
        match (&tokens[at], tokens.get(at + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) => {
                let word = word.to_string();
                let is_type = ["struct", "enum", "union", "trait"].contains(&word.as_str());
                if is_type || (word == "type" && !belong && !in_macro) {
                    found.push((line(name.span().start()), name.to_string()));
                }
                next_belong |= ["impl", "trait"].contains(&word.as_str());
            }
            (TokenTree::Ident(word), _) if word == "impl" => next_belong = true,
            (TokenTree::Ident(word), _) if word == "macro_rules" => next_in_macro = true,
            (TokenTree::Group(group), _) => {
                let is_body = group.delimiter() == Delimiter::Brace;
                types(group.stream(), [is_body && next_belong, next_in_macro], found);
                next_belong &= !is_body;
                next_in_macro = in_macro;
            }
            _ => {}
        }
        at += 1;
    }
}

fn open_matches(tokens: TokenStream, enums: &[&str], lines: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut at, mut start, mut names_variant, mut open) = (0, 0, false, None);
    while at < tokens.len() {
        if mark(&tokens, at) == Some('#') {
            at = attribute(&tokens, at);
            start = at;
            continue;
        }
        if let Some(TokenTree::Group(group)) = tokens.get(at) {
            open_matches(group.stream(), enums, lines);
        }
        if is_arrow(&tokens, at) {
            let pattern = without_guard(&tokens[start..at]);
            names_variant |= names_one_of(pattern, enums);
            if takes_anything(pattern) {
                open = open.or_else(|| Some(line(pattern[0].span().start())));
            }
            at += 2;
            // The arm ends with its block, or with a comma.
            if let Some(block) = group(&tokens, at, Delimiter::Brace) {
                open_matches(block.stream(), enums, lines);
                start = at + 1 + usize::from(mark(&tokens, at + 1) == Some(','));
                at = start;
                continue;
            }
        }
        at += 1;
        if mark(&tokens, at - 1) == Some(',') {
            start = at;
        }
    }
    lines.extend(open.filter(|_| names_variant));
}

fn without_guard(pattern: &[TokenTree]) -> &[TokenTree] {
    let guard = pattern
        .iter()
        .position(|token| matches!(token, TokenTree::Ident(word) if word == "if"));
    &pattern[..guard.unwrap_or(pattern.len())]
}

/// Whether the pattern has `Name::` for one of the names, at any depth.
fn names_one_of(pattern: &[TokenTree], names: &[&str]) -> bool {
    pattern.iter().enumerate().any(|(i, token)| match token {
        TokenTree::Ident(word) => names.iter().any(|name| word == name) && mark(pattern, i + 1) == Some(':'),
        TokenTree::Group(group) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            names_one_of(&inner, names)
        }
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Whether the pattern is `_`, a new name, or a tuple of such.
fn takes_anything(pattern: &[TokenTree]) -> bool {
    match pattern {
        [TokenTree::Ident(word)] => {
            let word = word.to_string();
            !["true", "false"].contains(&word.as_str())
                && word.starts_with(|c: char| c == '_' || c.is_lowercase())
        }
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let parts = inner.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ','));
            let mut parts = parts.filter(|part| !part.is_empty()).peekable();
            parts.peek().is_some() && parts.all(takes_anything)
        }
        _ => false,
    }
}

/// Reads the tokens of one level: of a file, or of what is between two brackets.
fn read(tokens: TokenStream, mentions: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at = match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => attribute(&tokens, at),
            TokenTree::Ident(word) if word == "_" && is_arrow(&tokens, at + 1) => {
                mentions.push(Mention {
                    line: line(word.span().start()),
                    named: Named::Wildcard,
                });
                at + 1
            }
            TokenTree::Ident(_) => path(&tokens, at, "", mentions),
            TokenTree::Group(group) => {
                read(group.stream(), mentions);
                at + 1
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if let Some(content) = content(&text) {
                    mentions.push(Mention {
                        line: line(literal.span().start()),
                        named: Named::Literal(content.to_owned()),
                    });
                }
                at + 1
            }
            TokenTree::Punct(_) => at + 1,
        };
    }
}

/// The content of a string literal, raw and byte strings included; `None` for other literals, a quote as a `char` too.
fn content(literal: &str) -> Option<&str> {
    let quoted = literal.trim_start_matches(['b', 'c', 'r', '#']);
    quoted
        .strip_prefix('"')?
        .rsplit_once('"')
        .map(|(content, _)| content)
}

const fn line(at: LineColumn) -> usize {
    at.line
}

fn mark(tokens: &[TokenTree], at: usize) -> Option<char> {
    match tokens.get(at) {
        Some(TokenTree::Punct(mark)) => Some(mark.as_char()),
        _ => None,
    }
}

fn group(tokens: &[TokenTree], at: usize, delimiter: Delimiter) -> Option<&Group> {
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

fn is_arrow(tokens: &[TokenTree], at: usize) -> bool {
    mark(tokens, at) == Some('=') && mark(tokens, at + 1) == Some('>')
}

/// The place after the attribute that begins at `at`, and after the item that it marks where it is `#[cfg(test)]`.
fn attribute(tokens: &[TokenTree], at: usize) -> usize {
    let inner = usize::from(mark(tokens, at + 1) == Some('!'));
    let Some(content) = group(tokens, at + 1 + inner, Delimiter::Bracket) else {
        return at + 1;
    };
    let next = at + 2 + inner;
    let of_tests = content.stream().to_string().replace(' ', "") == "cfg(test)";
    if !of_tests || inner == 1 {
        return next;
    }
    // The item ends with its first `;` or its first block.
    let end = (next..tokens.len())
        .find(|&i| mark(tokens, i) == Some(';') || group(tokens, i, Delimiter::Brace).is_some());
    end.map_or(tokens.len(), |end| end + 1)
}

/// Reads the path that begins with the word at `at`, and the tree of imports at its end if there is one. Returns the
/// place after it.
fn path(tokens: &[TokenTree], at: usize, prefix: &str, mentions: &mut Vec<Mention>) -> usize {
    let Some(TokenTree::Ident(word)) = tokens.get(at) else {
        return at + 1;
    };
    let start = line(word.span().start());
    let mut text = format!("{prefix}{word}");
    let mut next = at + 1;
    while mark(tokens, next) == Some(':') && mark(tokens, next + 1) == Some(':') {
        match tokens.get(next + 2) {
            Some(TokenTree::Ident(word)) => {
                text = format!("{text}::{word}");
                next += 3;
            }
            Some(TokenTree::Group(tree)) if tree.delimiter() == Delimiter::Brace => {
                imports(tree, &format!("{text}::"), mentions);
                return next + 3;
            }
            _ => break,
        }
    }
    mentions.push(Mention {
        line: start,
        named: Named::Path(text),
    });
    next
}

/// Reads the leaves of a tree of imports.
fn imports(tree: &Group, prefix: &str, mentions: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = tree.stream().into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(_) => {
                at = path(&tokens, at, prefix, mentions);
                // What follows up to the comma is a new name for the same thing.
                while at < tokens.len() && mark(&tokens, at) != Some(',') {
                    at += 1;
                }
            }
            _ => at += 1,
        }
    }
}
