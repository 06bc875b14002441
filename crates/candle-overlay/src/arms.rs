//! Questions about match arms: which case of an or-pattern is Metal's, which arm catches all, which is Cuda's alone.

use std::{collections::BTreeSet, ops::Range};

use syn::{
    Arm, ExprMatch, Pat, PatOr,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use crate::text::has_ident;

/// The Metal case of an or-pattern that other backends share, anywhere in `pattern`. `None`: the arm is Metal's own.
pub(crate) fn metal_case(pattern: &Pat, source: &str) -> Option<Range<usize>> {
    struct Search<'a>(&'a str, Option<Range<usize>>);
    impl<'ast> Visit<'ast> for Search<'_> {
        fn visit_pat_or(&mut self, node: &'ast PatOr) {
            let cases = node.cases.iter().map(|case| case.span().byte_range());
            let (metal, others): (Vec<_>, Vec<_>) =
                cases.partition(|case| has_ident(&self.0[case.clone()], "Metal"));
            match metal.into_iter().next() {
                Some(case) if !others.is_empty() => self.1 = Some(case),
                _ => visit::visit_pat_or(self, node),
            }
        }
    }
    let mut search = Search(source, None);
    search.visit_pat(pattern);
    search.1
}

/// Whether the arm takes whatever comes: `_`, `other`, `(lhs, rhs)`.
pub(crate) fn catches_all(arm: &Arm) -> bool {
    fn irrefutable(pattern: &Pat) -> bool {
        match pattern {
            Pat::Wild(_) | Pat::Rest(_) => true,
            // A constant or a unit variant looks like a binding, except for its capital letter.
            Pat::Ident(binding) => {
                binding.subpat.is_none()
                    && binding
                        .ident
                        .to_string()
                        .starts_with(|first: char| first.is_lowercase())
            }
            Pat::Tuple(tuple) => tuple.elems.iter().all(irrefutable),
            Pat::Paren(inner) => irrefutable(&inner.pat),
            Pat::Reference(inner) => irrefutable(&inner.pat),
            _ => false,
        }
    }
    arm.guard.is_none() && irrefutable(&arm.pat)
}

/// The Cuda arms of a match that have no Metal arm of the same form, where a catch-all would swallow Rocm silently.
///
/// Moving a tensor from device to device is such a case: Cuda has several devices, Metal one.
pub(crate) fn cuda_alone<'a>(node: &'a ExprMatch, source: &str) -> Vec<&'a Arm> {
    if !node.arms.iter().any(catches_all) {
        return Vec::new();
    }
    let pattern = |arm: &Arm| &source[arm.pat.span().byte_range()];
    let form = |arm: &Arm, name: &str| pattern(arm).to_lowercase().replace(name, "?");
    let metal: BTreeSet<String> = node
        .arms
        .iter()
        .filter(|arm| has_ident(pattern(arm), "Metal"))
        .map(|arm| form(arm, "metal"))
        .collect();
    node.arms
        .iter()
        .filter(|arm| {
            arm.attrs.is_empty() && has_ident(pattern(arm), "Cuda") && !has_ident(pattern(arm), "Metal")
        })
        .filter(|arm| !metal.contains(&form(arm, "cuda")))
        .collect()
}

/// What a match on a device does on the CPU, where it has an arm for that and nothing else.
pub(crate) fn cpu_body(node: &ExprMatch, source: &str) -> Option<Range<usize>> {
    let cpu = |arm: &&Arm| arm.guard.is_none() && &source[arm.pat.span().byte_range()] == "Device::Cpu";
    node.arms.iter().find(cpu).map(|arm| arm.body.span().byte_range())
}
