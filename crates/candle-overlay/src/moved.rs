//! Moves a test that upstream wrote for the CPU alone to the ROCm device: `Device::Cpu` becomes a ROCm device, and each
//! `#[test]` gets a name that ends in `_rocm`. Figures and tolerances stay upstream's; a tensor's expected text names the device.
//!
//! A test in which no device is named, neither in itself nor in what it calls, has nothing to move and is ignored. Candle's
//! attention for the CPU reads host memory: its operands are copied there, and its result is copied back, so that all else
//! of such a test runs on the device.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::Peekable,
    ops::Range,
};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree, token_stream::IntoIter};
use syn::{
    Attribute, ImplItemFn, ItemFn, ItemMacro,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use crate::derive::DeriveError;

/// A test file on the ROCm device.
#[derive(Debug)]
pub struct Moved {
    /// Its source.
    pub text: String,
    /// What became of each `#[test]` function, by its name upstream.
    pub fates: BTreeMap<String, Fate>,
}

/// What became of one of upstream's tests of the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It runs on the ROCm device under this name.
    Moved {
        /// The function's name.
        name: String,
        /// Whether it calls one of candle's functions that work in host memory only.
        calls_host: bool,
    },
    /// It is ignored, for this reason.
    Ignored(String),
}

/// Why a test has nothing to move.
pub const NO_DEVICE: &str = "names no device";

/// A function of candle's that works in host memory only, and which of its arguments are tensors.
struct HostOnly {
    name: &'static str,
    tensors: &'static [usize],
    /// These are an `Option<&Tensor>`.
    options: &'static [usize],
}

const HOST_ONLY: [HostOnly; 2] = [
    HostOnly {
        name: "flash_attn",
        tensors: &[0, 1, 2],
        options: &[],
    },
    HostOnly {
        name: "flash_attn_varlen_cpu",
        tensors: &[0, 1, 2, 4, 5],
        options: &[3],
    },
];

/// A place of the source, and the text that replaces it.
struct Change {
    range: Range<usize>,
    text: String,
    what: What,
}

#[derive(PartialEq, Eq)]
enum What {
    Device,
    HostCall,
    Else,
}

/// The test file moved to the ROCm device; none when it names no device of its own, so that there is nothing to move.
/// `library` is the name under which its crate knows candle-core. `ignored` gives the reason for which a test, by its name,
/// is not to run.
///
/// # Errors
/// [`DeriveError::Syntax`].
pub fn on_rocm(
    path: &str,
    source: &str,
    library: &str,
    ignored: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Moved>, DeriveError> {
    let syntax = |error: syn::Error| DeriveError::Syntax {
        file: path.to_owned(),
        line: error.span().start().line,
        message: error.to_string(),
    };
    let file = syn::parse_file(source).map_err(syntax)?;
    let tokens: TokenStream = source.parse().map_err(|error| syntax(syn::Error::from(error)))?;
    let mut mover = Mover {
        source,
        library,
        imports_cpu: imports_cpu(tokens.clone()),
        changes: Vec::new(),
    };
    mover.walk(tokens);
    let mut changes = mover.changes;
    if !changes.iter().any(|change| change.what == What::Device) {
        return Ok(None);
    }
    let mut functions = Functions {
        source,
        ..Functions::default()
    };
    functions.visit_file(&file);
    let fates = functions.fates(&mut changes, ignored);
    changes.sort_by_key(|change| (change.range.start, change.range.end));
    let (mut text, mut done) = (String::new(), 0);
    for change in &changes {
        text.push_str(&source[done..change.range.start]);
        text.push_str(&change.text);
        done = change.range.end;
    }
    text.push_str(&source[done..]);
    if text.contains("crate::rocm()") {
        text.push_str(&format!(
            "\nfn rocm() -> {library}::Device {{\n    {library}::Device::new_rocm(0).unwrap()\n}}\n"
        ));
    }
    syn::parse_file(&text).map_err(syntax)?;
    Ok(Some(Moved {
        text: format!(
            "// @generated from upstream's {path} by candle-overlay\n#![allow(dead_code, unused_imports)]\n{text}"
        ),
        fates,
    }))
}

/// Whether a `use` brings the name `Cpu` in.
fn imports_cpu(tokens: TokenStream) -> bool {
    let (mut in_use, mut path) = (false, 0);
    tokens.into_iter().any(|token| {
        path = match (&token, path) {
            (TokenTree::Ident(ident), _) if ident == "Device" => 1,
            (TokenTree::Punct(punct), 1 | 2) if punct.as_char() == ':' => path + 1,
            (TokenTree::Ident(ident), 3) if ident == "Cpu" => 4,
            _ => 0,
        };
        match &token {
            TokenTree::Ident(ident) if ident == "use" => in_use = true,
            TokenTree::Punct(punct) if punct.as_char() == ';' => in_use = false,
            TokenTree::Group(group) if in_use => return group.to_string().contains("Device :: Cpu"),
            TokenTree::Group(group) => return imports_cpu(group.stream()),
            _ => {}
        }
        in_use && path == 4
    })
}

/// Finds the devices, the calls that make a test for each device, and the calls of [`HOST_ONLY`].
struct Mover<'a> {
    source: &'a str,
    library: &'a str,
    imports_cpu: bool,
    changes: Vec<Change>,
}

impl Mover<'_> {
    fn change(&mut self, range: Range<usize>, text: impl Into<String>, what: What) {
        self.changes.push(Change {
            range,
            text: text.into(),
            what,
        });
    }

    fn insert(&mut self, at: usize, text: &str) {
        self.change(at..at, text, What::Else);
    }

    fn walk(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        // How far into `Device::Cpu` the last tokens are, and whether a path goes on.
        let (mut device, mut in_path) = (0, false);
        while let Some(token) = tokens.next() {
            let is_pattern = is_pattern(tokens.peek());
            match &token {
                TokenTree::Ident(ident) if ident == "use" => {
                    tokens.by_ref().find(is_semicolon);
                }
                TokenTree::Ident(ident) if ident == "Cpu" && !is_pattern => {
                    let range = ident.span().byte_range();
                    if device == 3 {
                        self.change(range, "new_rocm(0).unwrap()", What::Device);
                    } else if !in_path && self.imports_cpu {
                        self.change(range, "crate::rocm()", What::Device);
                    }
                }
                TokenTree::Ident(ident) if ident == "test_device" => self.test_device(ident, &mut tokens),
                TokenTree::Ident(ident) => {
                    if let Some(row) = HOST_ONLY.iter().find(|row| ident == row.name) {
                        self.host_call(ident.span().byte_range(), row, tokens.clone());
                    }
                }
                TokenTree::Group(group) => self.walk(group.stream()),
                TokenTree::Literal(literal) => self.printed(literal.span().byte_range()),
                TokenTree::Punct(_) => {}
            }
            in_path = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ':');
            device = match (&token, device) {
                (TokenTree::Ident(ident), _) if ident == "Device" => 1,
                (TokenTree::Punct(_), 1 | 2) if in_path => device + 1,
                _ => 0,
            };
        }
    }

    /// A tensor prints its device after its dtype, except the CPU: `Tensor[[2], f32]`, `Tensor[[2], f32, rocm:0]`.
    fn printed(&mut self, literal: Range<usize>) {
        let text = &self.source[literal.clone()];
        let ends: Vec<usize> = text
            .match_indices("Tensor[[")
            .filter_map(|(at, _)| {
                let dtype = at + text[at..].find("], ")? + 3;
                Some(literal.start + dtype + text[dtype..].find(']')?)
            })
            .collect();
        for end in ends {
            self.insert(end, ", rocm:0");
        }
    }

    /// A call with a name for ROCm has its test in the file that was not moved, and goes. One without, as in a macro of
    /// the file's own, becomes the test of the CPU, moved.
    fn test_device(&mut self, ident: &proc_macro2::Ident, tokens: &mut Peekable<IntoIter>) {
        if !matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!') {
            return;
        }
        let call: Vec<TokenTree> = tokens.take(3).collect();
        let Some(TokenTree::Group(group)) = call.get(1) else {
            return;
        };
        let end = call.last().map_or(0, |token| token.span().byte_range().end);
        let names = arguments(group);
        let text = match &names[..] {
            [function, cpu, _, _] => format!(
                "#[test]\n        fn {}() -> Result<()> {{\n            {}(&{}::Device::new_rocm(0)?)\n        }}",
                &self.source[cpu.clone()],
                &self.source[function.clone()],
                self.library
            ),
            _ => String::new(),
        };
        self.change(ident.span().byte_range().start..end, text, What::Else);
    }

    /// Copies the tensors among the arguments to the host, and the result back.
    fn host_call(&mut self, name: Range<usize>, row: &HostOnly, rest: Peekable<IntoIter>) {
        // After the name comes at most `::<T>`.
        let behind = rest.take(6).find_map(|token| match token {
            TokenTree::Group(group) => Some(group),
            _ => None,
        });
        let Some(group) = behind.filter(|group| group.delimiter() == Delimiter::Parenthesis) else {
            return;
        };
        let host = format!(".to_device(&{}::Device::Cpu)", self.library);
        for (number, argument) in arguments(&group).into_iter().enumerate() {
            let (before, behind) = match number {
                _ if row.tensors.contains(&number) => ("&(", format!("){host}?")),
                _ if row.options.contains(&number) => {
                    ("(", format!(").map(|x| x{host}).transpose()?.as_ref()"))
                }
                _ => continue,
            };
            self.insert(argument.start, before);
            self.insert(argument.end, &behind);
        }
        if let Some(mask) = mask(&group) {
            self.insert(mask.span_open().byte_range().end, "(");
            self.insert(mask.span_close().byte_range().start, &format!("){host}?"));
        }
        let back = format!(
            ".and_then(|x| x.to_device(&{}::Device::new_rocm(0)?))",
            self.library
        );
        self.insert(group.span_close().byte_range().end, &back);
        self.change(name.start..name.start, "", What::HostCall);
    }
}

/// The tensor of an argument `AttnMask::Mask(tensor)`.
fn mask(call: &Group) -> Option<Group> {
    let tokens: Vec<TokenTree> = call.stream().into_iter().collect();
    tokens.windows(2).find_map(|pair| match pair {
        [TokenTree::Ident(name), TokenTree::Group(mask)] if name == "Mask" => Some(mask.clone()),
        _ => None,
    })
}

/// Where the arguments of a call are.
fn arguments(call: &Group) -> Vec<Range<usize>> {
    let tokens: Vec<TokenTree> = call.stream().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let range = |argument: &[TokenTree]| {
        let (first, last) = (argument.first()?, argument.last()?);
        Some(first.span().byte_range().start..last.span().byte_range().end)
    };
    tokens.split(is_comma).filter_map(range).collect()
}

fn is_semicolon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';')
}

/// Whether the tokens before `next` are a pattern of a match.
fn is_pattern(next: Option<&TokenTree>) -> bool {
    matches!(next, Some(TokenTree::Punct(punct)) if ['=', '|'].contains(&punct.as_char()))
}

/// The functions and macros of a file, and which of them are tests.
#[derive(Default)]
struct Functions<'a> {
    source: &'a str,
    all: Vec<SourceFunction>,
}

struct SourceFunction {
    name: String,
    range: Range<usize>,
    /// Where the name is, for a test.
    test: Option<Range<usize>>,
}

impl Functions<'_> {
    /// What becomes of each test; notes their new names among the changes.
    fn fates(
        &self,
        changes: &mut Vec<Change>,
        ignored: &dyn Fn(&str) -> Option<String>,
    ) -> BTreeMap<String, Fate> {
        let holding = |what: What| -> BTreeSet<usize> {
            let starts = changes
                .iter()
                .filter(|change| change.what == what)
                .map(|change| change.range.start);
            starts
                .flat_map(|at| (0..self.all.len()).filter(move |one| self.all[*one].range.contains(&at)))
                .collect()
        };
        let (devices, host_calls) = (holding(What::Device), holding(What::HostCall));
        let mut fates = BTreeMap::new();
        for (number, function) in self.all.iter().enumerate() {
            let Some(at) = &function.test else { continue };
            let reached = self.reached(number);
            let name = format!("{}_rocm", function.name);
            let none = reached.is_disjoint(&devices).then(|| NO_DEVICE.to_owned());
            let reason = ignored(&function.name).or(none);
            changes.push(Change {
                range: at.clone(),
                text: name.clone(),
                what: What::Else,
            });
            let fate = match reason {
                Some(reason) => {
                    changes.push(Change {
                        range: function.range.start..function.range.start,
                        text: format!("#[ignore = {reason:?}]\n"),
                        what: What::Else,
                    });
                    Fate::Ignored(reason)
                }
                None => Fate::Moved {
                    name,
                    calls_host: !reached.is_disjoint(&host_calls),
                },
            };
            fates.insert(function.name.clone(), fate);
        }
        fates
    }

    /// The function `start` and whatever in this file it names, and that names, and so on.
    fn reached(&self, start: usize) -> BTreeSet<usize> {
        let (mut reached, mut waiting) = (BTreeSet::new(), vec![start]);
        while let Some(next) = waiting.pop() {
            if !reached.insert(next) {
                continue;
            }
            let mut names = BTreeSet::new();
            let tokens = self.source[self.all[next].range.clone()].parse();
            idents(tokens.unwrap_or_default(), &mut names);
            waiting.extend((0..self.all.len()).filter(|one| names.contains(&self.all[*one].name)));
        }
        reached
    }

    fn add(&mut self, name: &proc_macro2::Ident, attributes: &[Attribute], range: Range<usize>) {
        let is_test = attributes
            .iter()
            .any(|attribute| attribute.path().is_ident("test"));
        self.all.push(SourceFunction {
            name: name.to_string(),
            range,
            test: is_test.then(|| name.span().byte_range()),
        });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        self.add(&node.sig.ident, &node.attrs, node.span().byte_range());
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        self.add(&node.sig.ident, &[], node.span().byte_range());
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_item_macro(&mut self, node: &'ast ItemMacro) {
        if let Some(name) = &node.ident {
            self.add(name, &[], node.span().byte_range());
        }
    }
}

fn idents(tokens: TokenStream, names: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                names.insert(ident.to_string());
            }
            TokenTree::Group(group) => idents(group.stream(), names),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(source: &str) -> Option<Moved> {
        let reason = |name: &str| name.contains("cpu").then(|| "of the CPU".to_owned());
        on_rocm("tests/x.rs", source, "candle", &reason).unwrap()
    }

    fn text(source: &str) -> Option<String> {
        Some(moved(source)?.text.lines().skip(2).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn devices_and_names_of_tests_are_moved_in_macros_too() {
        let source = "#[test]\nfn adds() { assert!(ok(&candle::Device::Cpu)); helper(Device::Cpu) }\nfn helper(_: Device) {}";
        let want = "#[test]\nfn adds_rocm() { assert!(ok(&candle::Device::new_rocm(0).unwrap())); \
                    helper(Device::new_rocm(0).unwrap()) }\nfn helper(_: Device) {}";
        assert_eq!(text(source).unwrap(), want);
    }

    #[test]
    fn a_device_brought_in_by_name_is_moved() {
        for import in ["use candle::Device::Cpu;", "use candle::{DType, Device::Cpu};"] {
            let source = format!("{import}\n#[test]\nfn adds() {{ f(&Cpu) }}");
            let want = format!(
                "{import}\n#[test]\nfn adds_rocm() {{ f(&crate::rocm()) }}\nfn rocm() -> candle::Device {{\n    \
                 candle::Device::new_rocm(0).unwrap()\n}}"
            );
            assert_eq!(text(&source).unwrap(), want);
        }
    }

    #[test]
    fn a_test_that_is_not_to_run_is_ignored_with_the_reason() {
        let source = "#[test]\nfn a_cpu_test() { f(Device::Cpu) }\nfn cpu_helper() {}";
        let want = "#[ignore = \"of the CPU\"]\n#[test]\nfn a_cpu_test_rocm() { f(Device::new_rocm(0).unwrap()) }\n\
                    fn cpu_helper() {}";
        assert_eq!(text(source).unwrap(), want);
    }

    #[test]
    fn a_test_without_a_device_in_it_or_in_what_it_calls_is_ignored() {
        let source = "#[test]\nfn parses() { g() }\nfn g() {}\n#[test]\nfn adds() { h() }\nfn h() { g(); d(Device::Cpu) }";
        let fates = moved(source).unwrap().fates;
        assert_eq!(fates["parses"], Fate::Ignored(NO_DEVICE.to_owned()));
        let adds = Fate::Moved {
            name: "adds_rocm".to_owned(),
            calls_host: false,
        };
        assert_eq!(fates["adds"], adds);
    }

    #[test]
    fn what_reads_host_memory_gets_its_operands_there() {
        let source = "#[test]\nfn attends() { let d = Device::Cpu; flash_attn::<f32>(&q.t()?, &k, &v, 0.5, AttnMask::Mask(m))?; }";
        let moved = moved(source).unwrap();
        let want = "flash_attn::<f32>(&(&q.t()?).to_device(&candle::Device::Cpu)?, &(&k).to_device(&candle::Device::Cpu)?, \
                    &(&v).to_device(&candle::Device::Cpu)?, 0.5, AttnMask::Mask((m).to_device(&candle::Device::Cpu)?))\
                    .and_then(|x| x.to_device(&candle::Device::new_rocm(0)?))?;";
        assert!(moved.text.contains(want), "{}", moved.text);
        assert!(matches!(
            moved.fates["attends"],
            Fate::Moved { calls_host: true, .. }
        ));
    }

    #[test]
    fn what_a_tensor_prints_names_the_device() {
        let source =
            r#"#[test] fn shows() { p(Device::Cpu, "[1.]\nTensor[[2, 1], f32]", "Tensor::[x], y]") }"#;
        let text = moved(source).unwrap().text;
        assert!(
            text.contains(r#""[1.]\nTensor[[2, 1], f32, rocm:0]", "Tensor::[x], y]""#),
            "{text}"
        );
    }

    #[test]
    fn patterns_stay_and_calls_that_have_a_variant_go() {
        let source = "test_device!(f, f_cpu, f_gpu, f_metal, f_rocm);\nfn g() { match d { Device::Cpu => h(Device::Cpu), _ => {} } }";
        let want = "\nfn g() { match d { Device::Cpu => h(Device::new_rocm(0).unwrap()), _ => {} } }";
        assert_eq!(text(source).unwrap(), want);
    }

    #[test]
    fn a_test_that_a_macro_makes_for_each_device_is_made_for_rocm() {
        let source = "macro_rules! m { ($f: ident, $c: ident) => { test_device!($f, $c, $g, $h); } }\nfn g() { d(Device::Cpu) }";
        let text = text(source).unwrap();
        assert!(text.contains("fn $c() -> Result<()>"), "{text}");
        assert!(text.contains("$f(&candle::Device::new_rocm(0)?)"), "{text}");
    }

    #[test]
    fn a_file_without_a_device_of_its_own_is_not_moved() {
        assert_eq!(text("#[test]\nfn adds() { assert!(DeviceCpu == Cpu) }"), None);
        assert!(on_rocm("tests/x.rs", "fn (", "candle", &|_| None).is_err());
    }
}
