//! Text in, text out: insertions by byte offset, and the renaming of Metal to Rocm.
//!
//! Sources are edited as text, not printed from a syntax tree, so that comments and formatting stay upstream's.

use std::{collections::BTreeMap, ops::Range};

use proc_macro2::{TokenStream, TokenTree};

/// Insertions into one source text.
#[derive(Debug, Default)]
pub(crate) struct Edits(BTreeMap<usize, String>);

impl Edits {
    /// Inserts `text` before byte `at`; several insertions at one place stay in the order they were made.
    pub(crate) fn insert(&mut self, at: usize, text: &str) {
        self.0.entry(at).or_default().push_str(text);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn apply(&self, source: &str) -> String {
        let mut out = String::with_capacity(source.len() + self.0.values().map(String::len).sum::<usize>());
        let mut done = 0;
        for (&at, text) in &self.0 {
            out.push_str(&source[done..at]);
            out.push_str(text);
            done = at;
        }
        out.push_str(&source[done..]);
        out
    }
}

/// Renamings that plain Metal to Rocm gets wrong. Each row must be used; the audit lists the ones that were not.
const REWRITES: &[(&str, &str)] = &[
    // Our device is a real one, and its module is named as a user would look for it.
    (
        "mod dummy_rocm_backend;",
        "pub mod rocm;\npub use ::rocm_backend;",
    ),
    ("dummy_rocm_backend::", "rocm::"),
    ("dummy_rocm", "rocm_storage"),
    // The message of the wrapped error says all there is to say.
    ("#[error(\"Rocm error {0}\")]", "#[error(transparent)]"),
    // The bytes of F4, F6 and F8E8M0, where upstream has them for its other devices.
    (
        "return Err(Error::Msg(\"Rocm support not compiled\".to_string()));",
        "Storage::Rocm(crate::rocm::packed(device, dtype, data)?)",
    ),
];

/// Turns what upstream says of Metal into what is said of Rocm.
#[derive(Debug, Default)]
pub(crate) struct Renamer {
    used: [bool; REWRITES.len()],
}

impl Renamer {
    pub(crate) fn rename(&mut self, text: &str) -> String {
        let mut text = rename(text, "Metal", "Rocm");
        for (used, (from, to)) in self.used.iter_mut().zip(REWRITES) {
            if text.contains(from) {
                *used = true;
                text = text.replace(from, to);
            }
        }
        text
    }

    /// The rows of the table that no text needed.
    pub(crate) fn unused(&self) -> impl Iterator<Item = &'static str> {
        self.used
            .iter()
            .zip(REWRITES)
            .filter(|(used, _)| !**used)
            .map(|(_, (from, _))| *from)
    }
}

/// Renames a backend given in its type's spelling (`Metal`), in that spelling and in lower case.
pub(crate) fn rename(text: &str, from: &str, to: &str) -> String {
    text.replace(from, to)
        .replace(&from.to_lowercase(), &to.to_lowercase())
}

/// The white space that the line of byte `at` begins with.
pub(crate) fn indent(source: &str, at: usize) -> &str {
    let line = &source[source[..at].rfind('\n').map_or(0, |newline| newline + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// `text`, whose last line is indented as deep as its first, moved to the depth of `indent`.
pub(crate) fn reindent(text: &str, indent: &str) -> String {
    let last = text.lines().last().unwrap_or_default();
    let old = &last[..last.len() - last.trim_start().len()];
    text.replace(&format!("\n{old}"), &format!("\n{indent}"))
}

/// The text of `range` without `cut` and the white space after it.
pub(crate) fn without(source: &str, range: &Range<usize>, cut: &Range<usize>) -> String {
    format!(
        "{}{}",
        &source[range.start..cut.start],
        source[cut.end..range.end].trim_start()
    )
}

/// Whether `text` says metal, in whatever case.
pub(crate) fn says_metal(text: &str) -> bool {
    text.to_ascii_lowercase().contains("metal")
}

/// Whether `word` is one of the identifiers of `text`. False for text that does not parse as tokens.
pub(crate) fn has_ident(text: &str, word: &str) -> bool {
    fn search(tokens: TokenStream, word: &str) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == word,
            TokenTree::Group(group) => search(group.stream(), word),
            _ => false,
        })
    }
    text.parse().is_ok_and(|tokens| search(tokens, word))
}

/// Every identifier and literal of `source` that says metal, with its place. Comments, doc comments too, are prose.
pub(crate) fn metal_tokens(source: &str, tokens: TokenStream) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => found.extend(metal_tokens(source, group.stream())),
            TokenTree::Ident(_) | TokenTree::Literal(_) => {
                let range = token.span().byte_range();
                let text = &source[range.clone()];
                if says_metal(text) && !text.starts_with("//") && !text.starts_with("/*") {
                    found.push((range, text.to_owned()));
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
    found
}
