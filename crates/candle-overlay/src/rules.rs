//! The rules: where upstream says Metal, what is written beside it for Rocm.
//!
//! One [`Rules`] walks one file. It only collects insertions; whatever says metal and is reached by no rule ends in
//! the audit, so a construct this file does not know is found, not lost.

use std::{collections::BTreeMap, ops::Range};

use syn::{
    Arm, Attribute, Expr, ExprMatch, ExprMethodCall, Ident, ImplItemFn, ImplItemMacro, ItemEnum, ItemFn,
    ItemImpl, ItemMacro, ItemMod, ItemTrait, ItemUse, TraitItemFn, UseTree,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use crate::{
    arms,
    overrides::Overrides,
    text::{Edits, Renamer, has_ident, indent, metal_tokens, reindent, rename, says_metal, without},
};

/// Functions of upstream's in which Cuda has an arm, Metal none, and Rocm has what Cuda has.
const AS_CUDA: [&str; 2] = ["QTensor::dequantize_f16", "QTensor::indexed_moe_forward"];

/// Tests of upstream's that ask for Cuda where two kernels serve one product, as they do on Rocm.
const TWO_KERNELS: [&str; 1] = ["quantized_tests::qmm_batch"];

/// What was done to one file.
#[derive(Debug, Default)]
pub(crate) struct RuledFile {
    pub(crate) edits: Edits,
    /// How often each rule was used, by its name in the audit.
    pub(crate) sites: BTreeMap<&'static str, usize>,
    /// What is compiled with upstream's `metal` feature only, and has no counterpart therefore.
    pub(crate) skipped: Vec<String>,
    /// Byte ranges that a rule dealt with.
    pub(crate) covered: Vec<Range<usize>>,
    /// Every function and its range, for naming places.
    pub(crate) functions: Vec<(Range<usize>, String)>,
}

/// Whether something depends on upstream's `metal` feature.
enum Gate {
    Open,
    /// `#[cfg(feature = "metal")]`, or a condition that mentions it in any other way.
    WithMetal,
    /// `#[cfg(not(feature = "metal"))]`, at this place.
    WithoutMetal(Range<usize>),
}

pub(crate) struct Rules<'a> {
    source: &'a str,
    renamer: &'a mut Renamer,
    overrides: &'a mut Overrides,
    /// Names of the enclosing module file, trait or type, innermost last.
    owners: Vec<String>,
    /// Inside a function of [`AS_CUDA`].
    as_cuda: bool,
    /// In one of upstream's test files.
    tests: bool,
    /// Inside a test of [`TWO_KERNELS`].
    two_kernels: bool,
    /// In a match of a test: what it asserts on the CPU, to which Rocm is held where upstream has figures for each device.
    cpu_body: Option<Range<usize>>,
    out: RuledFile,
}

impl<'a> Rules<'a> {
    /// Applies the rules to the parsed `file` whose text is `source` and whose path in upstream's crate is `path`.
    pub(crate) fn apply(
        source: &'a str,
        path: &str,
        file: &syn::File,
        renamer: &'a mut Renamer,
        overrides: &'a mut Overrides,
    ) -> RuledFile {
        let mut rules = Rules {
            source,
            renamer,
            overrides,
            owners: vec![module_name(path).to_owned()],
            as_cuda: false,
            tests: path.starts_with("tests/"),
            two_kernels: false,
            cpu_body: None,
            out: RuledFile::default(),
        };
        rules.visit_file(file);
        rules.out
    }

    fn gate(&self, attributes: &[Attribute]) -> Gate {
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"))
        {
            let range = attribute.span().byte_range();
            let condition: String = self.source[range.clone()].split_whitespace().collect();
            if condition == "#[cfg(not(feature=\"metal\"))]" {
                return Gate::WithoutMetal(range);
            }
            if says_metal(&condition) {
                return Gate::WithMetal;
            }
        }
        Gate::Open
    }

    fn used(&mut self, rule: &'static str, covered: Range<usize>) {
        *self.out.sites.entry(rule).or_default() += 1;
        self.out.covered.push(covered);
    }

    /// The text of `range` for Rocm; `None` when it is gated on the feature, which is noted as skipped.
    fn counterpart(&mut self, range: &Range<usize>, attributes: &[Attribute], name: &str) -> Option<String> {
        let text = match self.gate(attributes) {
            Gate::Open => self.source[range.clone()].to_owned(),
            Gate::WithoutMetal(cfg) => without(self.source, range, &cfg),
            Gate::WithMetal => {
                self.out.skipped.push(name.to_owned());
                self.out.covered.push(range.clone());
                return None;
            }
        };
        Some(self.renamer.rename(&text))
    }

    /// Writes the counterpart of an item or variant after it, `gap` between the two.
    fn duplicate(
        &mut self,
        rule: &'static str,
        range: Range<usize>,
        attributes: &[Attribute],
        name: &str,
        gap: &str,
    ) {
        if let Some(text) = self.counterpart(&range, attributes, name) {
            let text = format!("{gap}{}{text}", indent(self.source, range.start));
            self.out.edits.insert(range.end, &text);
            self.used(rule, range);
        }
    }

    /// Deals with a function; false when it does not say metal in its name and its body is to be walked.
    fn function(
        &mut self,
        range: Range<usize>,
        attributes: &[Attribute],
        name: &Ident,
        matches: impl FnOnce(&mut Matches),
    ) -> bool {
        let name = name.to_string();
        self.out.functions.push((range.clone(), name.clone()));
        if matches!(self.gate(attributes), Gate::WithMetal) {
            self.out.skipped.push(format!("fn {name}"));
            self.out.covered.push(range);
            return true;
        }
        if !says_metal(&name) {
            return false;
        }
        let renamed = self.renamer.rename(&name);
        let owner = self.owners.last().map(String::as_str).unwrap_or_default();
        let mut found = Matches::default();
        matches(&mut found);
        let text = match self.overrides.function(&format!("{owner}::{renamed}")) {
            Some(text) => reindent(&text, indent(self.source, range.start)),
            None => self.function_text(&range, attributes, &found),
        };
        for sibling in found.siblings(self.source) {
            let arm = rename(&self.source[sibling.clone()], "Cuda", "Rocm");
            self.out.edits.insert(
                sibling.end,
                &format!("\n{}{arm}", indent(self.source, sibling.start)),
            );
            self.used("sibling arm", sibling);
        }
        let text = format!("\n\n{}{text}", indent(self.source, range.start));
        self.out.edits.insert(range.end, &text);
        self.used("function", range);
        true
    }

    /// The renamed function, in which Metal is now one of the others.
    fn function_text(&mut self, range: &Range<usize>, attributes: &[Attribute], found: &Matches) -> String {
        let start = match self.gate(attributes) {
            Gate::WithoutMetal(cfg) => {
                self.source[..range.end].len() - self.source[cfg.end..range.end].trim_start().len()
            }
            Gate::Open | Gate::WithMetal => range.start,
        };
        let (mut text, mut done) = (String::new(), start);
        for sibling in found.siblings(self.source) {
            let arm = self.renamer.rename(&self.source[sibling.clone()]);
            text += &self.renamer.rename(&self.source[done..sibling.end]);
            text += &format!(
                "\n{}{}",
                indent(self.source, sibling.start),
                rename(&arm, "Cuda", "Metal")
            );
            done = sibling.end;
        }
        text + &self.renamer.rename(&self.source[done..range.end])
    }

    fn arm(&mut self, arm: &Arm) -> bool {
        let pattern = arm.pat.span().byte_range();
        if !has_ident(&self.source[pattern.clone()], "Metal") {
            return false;
        }
        if let Some(case) = arms::metal_case(&arm.pat, self.source) {
            let text = self.renamer.rename(&self.source[case.clone()]);
            self.out.edits.insert(case.end, &format!(" | {text}"));
            self.used("or-pattern case", case);
            return false;
        }
        let range = arm.span().byte_range();
        if let Some(body) = self.cpu_body.clone() {
            let pattern = self.renamer.rename(&self.source[pattern]);
            let text = format!("{pattern} => {},", &self.source[body]);
            self.insert_arm(arm, &text);
            self.used("cpu figures", range);
            return true;
        }
        let name = format!("arm {}", &self.source[pattern]);
        if let Some(text) = self.counterpart(&range, &arm.attrs, &name) {
            self.insert_arm(arm, &text);
            self.used("match arm", range);
        }
        true
    }

    fn insert_arm(&mut self, arm: &Arm, text: &str) {
        let range = arm.span().byte_range();
        let comma = if arm.comma.is_some() || matches!(*arm.body, Expr::Block(_)) {
            ""
        } else {
            ","
        };
        self.out.edits.insert(
            range.end,
            &format!("{comma}\n{}{text}", indent(self.source, range.start)),
        );
    }

    fn use_names(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.use_names(&path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|item| match item {
                UseTree::Name(name) if says_metal(&name.ident.to_string()) => {
                    let range = name.span().byte_range();
                    let text = self.renamer.rename(&self.source[range.clone()]);
                    self.out.edits.insert(range.end, &format!(", {text}"));
                    self.used("name in use", range);
                }
                other => self.use_names(other),
            }),
            UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Rules<'_> {
    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        let range = node.span().byte_range();
        if !self.function(range, &node.attrs, &node.sig.ident, |found| {
            found.visit_item_fn(node)
        }) {
            let owner = self.owners.last().map(String::as_str).unwrap_or_default();
            self.two_kernels = TWO_KERNELS.contains(&format!("{owner}::{}", node.sig.ident).as_str());
            visit::visit_item_fn(self, node);
            self.two_kernels = false;
        }
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        let range = node.span().byte_range();
        if !self.function(range, &node.attrs, &node.sig.ident, |found| {
            found.visit_impl_item_fn(node)
        }) {
            let owner = self.owners.last().map(String::as_str).unwrap_or_default();
            self.as_cuda = AS_CUDA.contains(&format!("{owner}::{}", node.sig.ident).as_str());
            visit::visit_impl_item_fn(self, node);
            self.as_cuda = false;
        }
    }

    fn visit_trait_item_fn(&mut self, node: &'ast TraitItemFn) {
        let range = node.span().byte_range();
        if !self.function(range, &node.attrs, &node.sig.ident, |found| {
            found.visit_trait_item_fn(node)
        }) {
            visit::visit_trait_item_fn(self, node);
        }
    }

    fn visit_item_impl(&mut self, node: &'ast ItemImpl) {
        self.owners
            .push(self.source[node.self_ty.span().byte_range()].to_owned());
        visit::visit_item_impl(self, node);
        self.owners.pop();
    }

    fn visit_item_trait(&mut self, node: &'ast ItemTrait) {
        self.owners.push(node.ident.to_string());
        visit::visit_item_trait(self, node);
        self.owners.pop();
    }

    fn visit_expr_method_call(&mut self, node: &'ast ExprMethodCall) {
        let range = node.span().byte_range();
        if self.tests && self.two_kernels && node.method == "is_cuda" {
            let receiver = &self.source[node.receiver.span().byte_range()];
            self.out
                .edits
                .insert(range.end, &format!(" || {receiver}.is_rocm()"));
            self.used("two kernels", range);
        }
        visit::visit_expr_method_call(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        self.visit_expr(&node.expr);
        let outer = self.cpu_body.take();
        if self.tests {
            self.cpu_body = arms::cpu_body(node, self.source);
        }
        let alone = arms::cuda_alone(node, self.source);
        let mut cloned = self.as_cuda;
        for arm in &node.arms {
            // What lies inside a cloned arm is cloned with it; cloning there too would mix the two backends.
            if self.arm(arm) {
                cloned = true
            } else if !(self.as_cuda && alone.iter().any(|other| std::ptr::eq(*other, arm))) {
                self.visit_arm(arm)
            }
        }
        if cloned {
            for arm in alone {
                let text = rename(&self.source[arm.span().byte_range()], "Cuda", "Rocm");
                self.insert_arm(arm, &text);
                self.used("cuda arm", arm.pat.span().byte_range());
            }
        }
        self.cpu_body = outer;
    }

    fn visit_item_enum(&mut self, node: &'ast ItemEnum) {
        for variant in node
            .variants
            .iter()
            .filter(|variant| says_metal(&variant.ident.to_string()))
        {
            let range = variant.span().byte_range();
            let name = format!("variant {}::{}", node.ident, variant.ident);
            if let Some(text) = self.counterpart(&range, &variant.attrs, &name) {
                let text = format!(",\n{}{text}", indent(self.source, range.start));
                self.out.edits.insert(range.end, &text);
                self.used("enum variant", range);
            }
        }
    }

    fn visit_item_mod(&mut self, node: &'ast ItemMod) {
        if says_metal(&node.ident.to_string()) {
            let gap = if node.content.is_some() { "\n\n" } else { "\n" };
            let name = format!("mod {}", node.ident);
            self.duplicate("module", node.span().byte_range(), &node.attrs, &name, gap);
        } else {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_use(&mut self, node: &'ast ItemUse) {
        let range = node.span().byte_range();
        let gated = !matches!(self.gate(&node.attrs), Gate::Open);
        if gated {
            let name = self.source[node.tree.span().byte_range()].to_owned();
            self.duplicate("use", range, &node.attrs, &format!("use {name}"), "\n\n");
        } else {
            self.use_names(&node.tree);
        }
    }

    fn visit_impl_item_macro(&mut self, node: &'ast ImplItemMacro) {
        let range = node.span().byte_range();
        if says_metal(&self.source[range.clone()]) {
            let name = self.source[node.mac.path.span().byte_range()].to_owned();
            self.duplicate("macro call", range, &node.attrs, &format!("{name}!"), "\n");
        }
    }

    fn visit_item_macro(&mut self, node: &'ast ItemMacro) {
        let close = node.mac.delimiter.span().close().byte_range().start;
        if let Some(name) = &node.ident {
            if let Some(arms) = self.overrides.macro_arms(&name.to_string()) {
                self.out.edits.insert(close, &arms);
                self.used("macro arms", node.span().byte_range());
            }
        } else if node.mac.path.is_ident("test_device") {
            let tokens = node.mac.tokens.clone();
            for (range, name) in metal_tokens(self.source, tokens) {
                let text = self.renamer.rename(&name);
                self.out.edits.insert(range.end, &format!(", {text}"));
                self.used("test name", range);
            }
        }
    }
}

/// The `match` expressions of one function.
#[derive(Default)]
struct Matches(Vec<MatchPlace>);

struct MatchPlace {
    catches_all: bool,
    arms: Vec<ArmPlace>,
}

struct ArmPlace {
    pattern: Range<usize>,
    whole: Range<usize>,
}

impl Matches {
    /// In a function about Metal, a match without a catch-all needs one more arm for the backend that is now new
    /// to it. It says what the Cuda arm says.
    fn siblings(&self, source: &str) -> Vec<Range<usize>> {
        let of = |name| move |arm: &&ArmPlace| has_ident(&source[arm.pattern.clone()], name);
        let open = self.0.iter().filter(|place| !place.catches_all);
        let about_metal = open.filter(|place| place.arms.iter().any(|arm| of("Metal")(&arm)));
        about_metal
            .filter_map(|place| place.arms.iter().find(of("Cuda")))
            .map(|arm| arm.whole.clone())
            .collect()
    }
}

impl<'ast> Visit<'ast> for Matches {
    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        let place = |arm: &Arm| ArmPlace {
            pattern: arm.pat.span().byte_range(),
            whole: arm.span().byte_range(),
        };
        self.0.push(MatchPlace {
            catches_all: node.arms.iter().any(arms::catches_all),
            arms: node.arms.iter().map(place).collect(),
        });
        visit::visit_expr_match(self, node);
    }
}

/// `utils` for `src/utils.rs`, `quantized` for `src/quantized/mod.rs`.
fn module_name(path: &str) -> &str {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.rsplit('/').next().unwrap_or(path)
}
