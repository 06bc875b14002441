//! Completes the glue's trait impls with the methods it does not implement: each is an error naming the method.
//!
//! Upstream's own stand-in for an absent Metal has every signature; a method that a new candle adds to the backend
//! trait therefore compiles at once, and says at run time that it is not implemented.

use std::collections::BTreeSet;

use syn::{ImplItem, ImplItemFn, Item, ItemImpl, ReturnType, spanned::Spanned as _};

use crate::text::{Edits, rename};

/// Adds to every impl in `glue` the functions that the same impl in `stand_in`, renamed, has beyond it.
///
/// # Errors
/// A syntax error in either text, or a missing function that has no receiver or returns no `Result`.
pub(crate) fn fill(glue: &str, stand_in: &str) -> Result<String, syn::Error> {
    let upstream = syn::parse_file(stand_in)?;
    let upstream: Vec<&ItemImpl> = upstream.items.iter().filter_map(as_impl).collect();
    let mut edits = Edits::default();
    for ours in syn::parse_file(glue)?.items.iter().filter_map(as_impl) {
        let have: BTreeSet<String> = functions(ours)
            .map(|function| function.sig.ident.to_string())
            .collect();
        let key = header(ours, glue);
        let Some(theirs) = upstream
            .iter()
            .find(|theirs| rename(&header(theirs, stand_in), "Metal", "Rocm") == key)
        else {
            continue;
        };
        let mut added = String::new();
        for function in functions(theirs).filter(|function| !have.contains(&function.sig.ident.to_string())) {
            added += &missing(function, stand_in)?;
        }
        edits.insert(ours.brace_token.span.close().byte_range().start, &added);
    }
    Ok(edits.apply(glue))
}

/// The text of a function that says it is not implemented.
fn missing(function: &ImplItemFn, source: &str) -> Result<String, syn::Error> {
    let result = match &function.sig.output {
        ReturnType::Type(_, output) => source[output.span().byte_range()].contains("Result"),
        ReturnType::Default => false,
    };
    if function.sig.receiver().is_none() || !result {
        let message = format!(
            "the glue must implement `{}`: it cannot return an error",
            function.sig.ident
        );
        return Err(syn::Error::new(function.sig.ident.span(), message));
    }
    let range = function.span().byte_range().start..function.block.span().byte_range().start;
    let signature = rename(source[range].trim_end(), "Metal", "Rocm");
    Ok(format!(
        "\n    {signature} {{\n        Err(self.not_implemented(\"{}\"))\n    }}\n",
        function.sig.ident
    ))
}

fn as_impl(item: &Item) -> Option<&ItemImpl> {
    match item {
        Item::Impl(item) => Some(item),
        _ => None,
    }
}

fn functions(item: &ItemImpl) -> impl Iterator<Item = &ImplItemFn> {
    item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(function) => Some(function),
        _ => None,
    })
}

/// The trait's last name, if any, and the type: what tells one impl from another.
fn header(item: &ItemImpl, source: &str) -> String {
    let name = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
    let name = name.map(|segment| segment.ident.to_string()).unwrap_or_default();
    format!("{name} {}", &source[item.self_ty.span().byte_range()])
}
