//! Moves a test that upstream wrote for the CPU alone to the ROCm device: `Device::Cpu` becomes a ROCm device, and each
//! `#[test]` gets a name that ends in `_rocm`. Figures and tolerances stay upstream's. What tests the CPU itself is marked as
//! ignored, with the reason.

use std::{iter::Peekable, ops::Range};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::derive::DeriveError;

/// The test file moved to the ROCm device; none when it names no device of its own, so that there is nothing to move.
/// `ignored` gives the reason for which a test, by its name, is not to run there.
///
/// # Errors
/// [`DeriveError::NotText`], [`DeriveError::Syntax`].
pub fn on_rocm(
    path: &str,
    bytes: &[u8],
    ignored: &dyn Fn(&str) -> Option<&'static str>,
) -> Result<Option<String>, DeriveError> {
    let source = str::from_utf8(bytes).map_err(|_| DeriveError::NotText {
        file: path.to_owned(),
    })?;
    let syntax = |error: syn::Error| DeriveError::Syntax {
        file: path.to_owned(),
        line: error.span().start().line,
        message: error.to_string(),
    };
    let tokens: TokenStream = source.parse().map_err(|error| syntax(syn::Error::from(error)))?;
    let mut changes = Vec::new();
    collect(tokens, ignored, &mut changes);
    if !changes.iter().any(|(_, to)| to.starts_with("new_rocm")) {
        return Ok(None);
    }
    changes.sort_by_key(|(range, _)| range.start);
    let (mut out, mut done) = (String::new(), 0);
    for (range, to) in &changes {
        out.push_str(&source[done..range.start]);
        out.push_str(to);
        done = range.end;
    }
    out.push_str(&source[done..]);
    syn::parse_file(&out).map_err(syntax)?;
    Ok(Some(format!(
        "// @generated from upstream's {path} by candle-overlay\n#![allow(dead_code, unused_imports)]\n{out}"
    )))
}

/// Finds what changes, and what it becomes.
fn collect(
    tokens: TokenStream,
    ignored: &dyn Fn(&str) -> Option<&'static str>,
    changes: &mut Vec<(Range<usize>, String)>,
) {
    let mut tokens = tokens.into_iter().peekable();
    // Behind `#[test]`, before its `fn`; and how far into `Device::Cpu` the last tokens are.
    let (mut is_test, mut device) = (false, 0);
    while let Some(token) = tokens.next() {
        device = match (&token, device) {
            (TokenTree::Ident(ident), _) if ident == "Device" => 1,
            (TokenTree::Punct(punct), 1 | 2) if punct.as_char() == ':' => device + 1,
            (TokenTree::Ident(ident), 3) if ident == "Cpu" && !is_pattern(tokens.peek()) => {
                changes.push((ident.span().byte_range(), "new_rocm(0).unwrap()".to_owned()));
                0
            }
            _ => 0,
        };
        match token {
            TokenTree::Ident(ident) if ident == "fn" && is_test => {
                if let Some(TokenTree::Ident(name)) = tokens.peek() {
                    if let Some(reason) = ignored(&name.to_string()) {
                        changes.push((ident.span().byte_range(), format!("#[ignore = {reason:?}]\nfn")));
                    }
                    changes.push((name.span().byte_range(), format!("{name}_rocm")));
                }
                is_test = false;
            }
            // What this makes has a ROCm variant already.
            TokenTree::Ident(ident) if ident == "test_device" => drop_call(&ident, &mut tokens, changes),
            TokenTree::Group(group) => {
                is_test |= group.delimiter() == Delimiter::Bracket && group.stream().to_string() == "test";
                collect(group.stream(), ignored, changes);
            }
            _ => {}
        }
    }
}

/// Whether what stands before `next` is a pattern of a match.
fn is_pattern(next: Option<&TokenTree>) -> bool {
    matches!(next, Some(TokenTree::Punct(punct)) if ['=', '|'].contains(&punct.as_char()))
}

/// Takes out a call of the macro `name` with its semicolon; a mention in a `use` stays.
fn drop_call(
    name: &proc_macro2::Ident,
    tokens: &mut Peekable<proc_macro2::token_stream::IntoIter>,
    changes: &mut Vec<(Range<usize>, String)>,
) {
    if !matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!') {
        return;
    }
    let end = tokens
        .take(3)
        .last()
        .map_or(name.span().byte_range().end, |token| {
            token.span().byte_range().end
        });
    changes.push((name.span().byte_range().start..end, String::new()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(source: &str) -> Option<String> {
        let reason = |name: &str| name.contains("cpu").then_some("of the CPU");
        let text = on_rocm("tests/x.rs", source.as_bytes(), &reason).unwrap()?;
        Some(text.lines().skip(2).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn devices_and_names_of_tests_are_moved_in_macros_too() {
        let source = "#[test]\nfn adds() { assert!(ok(&candle::Device::Cpu)); helper(Device::Cpu) }\nfn helper(_: Device) {}";
        let want = "#[test]\nfn adds_rocm() { assert!(ok(&candle::Device::new_rocm(0).unwrap())); \
                    helper(Device::new_rocm(0).unwrap()) }\nfn helper(_: Device) {}";
        assert_eq!(moved(source).unwrap(), want);
    }

    #[test]
    fn a_test_of_the_cpu_is_ignored_with_the_reason() {
        let source = "#[test]\nfn a_cpu_test() { f(Device::Cpu) }\nfn cpu_helper() {}";
        let want = "#[test]\n#[ignore = \"of the CPU\"]\nfn a_cpu_test_rocm() { f(Device::new_rocm(0).unwrap()) }\n\
                    fn cpu_helper() {}";
        assert_eq!(moved(source).unwrap(), want);
    }

    #[test]
    fn patterns_stay_and_calls_that_have_a_variant_go() {
        let source = "test_device!(f, f_cpu, f_gpu, f_metal);\nfn g() { match d { Device::Cpu => h(Device::Cpu), _ => {} } }";
        let want = "\nfn g() { match d { Device::Cpu => h(Device::new_rocm(0).unwrap()), _ => {} } }";
        assert_eq!(moved(source).unwrap(), want);
    }

    #[test]
    fn a_file_without_a_device_of_its_own_is_not_moved() {
        assert_eq!(moved("#[test]\nfn adds() { assert!(DeviceCpu == Cpu) }"), None);
        assert!(on_rocm("tests/x.rs", b"fn (", &|_| None).is_err());
    }
}
