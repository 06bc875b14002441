//! Functions of ours in front of upstream's: for a crate that is taken as it is, but for functions that ask which device they have and know no
//! ROCm.
//!
//! A file of the glue has upstream's path and public functions of upstream's names. Each of upstream's is renamed, with [`BEHIND`]
//! before its name, and ours stands after them: it deals with a ROCm device, and calls upstream's for every other one.

use std::{collections::BTreeMap, fmt::Write as _};

use syn::{Item, Visibility, spanned::Spanned as _};

use crate::{
    derive::{DeriveError, Derived, Glue, syntax, text},
    pristine::Source,
    text::Edits,
};

/// What upstream's functions have before their names where ours are in front of them.
pub const BEHIND: &str = "elsewhere_";

/// Derives the whole of `src/`.
///
/// # Errors
/// [`DeriveError`]: a text that does not parse, before or after, and a function of the glue that upstream has not.
pub fn front(source: &Source, glue: &Glue) -> Result<Derived, DeriveError> {
    let mut files: BTreeMap<String, Vec<u8>> = source
        .files()
        .filter(|(path, _)| path.starts_with("src/"))
        .map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
        .collect();
    let mut audit = String::from(
        "# The functions of this release that ours are in front of. Regenerate and read the difference when it changes:\n\
         #   CANDLE_OVERLAY_BLESS=1 cargo test -p candle-overlay\n\n",
    );
    for (path, ours) in glue.files() {
        let (name, place) = (format!("glue/{path}"), format!("src/{path}"));
        let upstream = files.get(&place).map(Vec::as_slice).unwrap_or_default();
        let upstream = text(&place, upstream)?;
        let parsed = syn::parse_file(ours).map_err(|error| syntax(&name, &error))?;
        let theirs = syn::parse_file(upstream).map_err(|error| syntax(&place, &error))?;
        let mut edits = Edits::default();
        for function in functions(&parsed).filter(|function| matches!(function.vis, Visibility::Public(_))) {
            let mut count = 0;
            for behind in functions(&theirs).filter(|behind| behind.sig.ident == function.sig.ident) {
                edits.insert(behind.vis.span().byte_range().start, "#[doc(hidden)]\n");
                edits.insert(behind.sig.ident.span().byte_range().start, BEHIND);
                count += 1;
            }
            if count == 0 {
                let error = syn::Error::new(function.span(), format!("{place} has no such function"));
                return Err(syntax(&name, &error));
            }
            // Writing to a String cannot fail.
            let _ = writeln!(audit, "{place}: {}: {count}", function.sig.ident);
        }
        // What a file says of itself stands at its top alone.
        let ours = ours.replace("//!", "//");
        let derived = format!(
            "// @generated from upstream's {place} by candle-overlay\n{}\n// @generated from {name}\n{ours}",
            edits.apply(upstream)
        );
        syn::parse_file(&derived).map_err(|error| syntax(&format!("derived {place}"), &error))?;
        files.insert(place, derived.into_bytes());
    }
    Ok(Derived { files, audit })
}

fn functions(file: &syn::File) -> impl Iterator<Item = &syn::ItemFn> {
    file.items.iter().filter_map(|item| match item {
        Item::Fn(function) => Some(function),
        _ => None,
    })
}
