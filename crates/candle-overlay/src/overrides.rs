//! Our own text where the renamed one would be wrong: functions, and further arms of upstream's macros.
//!
//! `glue/overrides.rs` is never compiled itself. A function in `mod utils` or `trait CustomOp1` there takes the
//! place of the derived function of that name in the file `utils.rs` or the trait (or type) `CustomOp1`.

use std::collections::BTreeMap;

use syn::{Item, TraitItem, spanned::Spanned as _};

/// The parsed `glue/overrides.rs`. Every entry must find its place; the audit lists those that did not.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    functions: BTreeMap<String, (String, bool)>,
    macros: BTreeMap<String, (String, bool)>,
}

impl Overrides {
    /// # Errors
    /// A syntax error, or an item that is neither a module, a trait nor a macro.
    pub(crate) fn parse(source: &str) -> Result<Overrides, syn::Error> {
        let mut overrides = Overrides::default();
        for item in syn::parse_file(source)?.items {
            match &item {
                Item::Mod(module) => {
                    for item in module.content.iter().flat_map(|(_, items)| items) {
                        let Item::Fn(function) = item else {
                            return Err(syn::Error::new(item.span(), "expected a function"));
                        };
                        overrides.add(source, &module.ident, &function.sig.ident, item.span());
                    }
                }
                Item::Trait(owner) => {
                    for item in &owner.items {
                        let TraitItem::Fn(function) = item else {
                            return Err(syn::Error::new(item.span(), "expected a function"));
                        };
                        overrides.add(source, &owner.ident, &function.sig.ident, item.span());
                    }
                }
                Item::Macro(definition) if definition.ident.is_some() => {
                    let name = definition
                        .ident
                        .as_ref()
                        .map(ToString::to_string)
                        .unwrap_or_default();
                    let delimiter = definition.mac.delimiter.span();
                    let body = delimiter.open().byte_range().end..delimiter.close().byte_range().start;
                    let arms = format!("    {}\n", source[body].trim());
                    overrides.macros.insert(name, (arms, false));
                }
                // The imports make the file read, and check, like the code that it replaces.
                Item::Use(_) => {}
                other => {
                    return Err(syn::Error::new(
                        other.span(),
                        "expected a module, a trait or a macro",
                    ));
                }
            }
        }
        Ok(overrides)
    }

    fn add(&mut self, source: &str, owner: &syn::Ident, name: &syn::Ident, span: proc_macro2::Span) {
        let text = source[span.byte_range()].to_owned();
        self.functions.insert(format!("{owner}::{name}"), (text, false));
    }

    /// The text for the function `owner::name`.
    pub(crate) fn function(&mut self, path: &str) -> Option<String> {
        take(&mut self.functions, path)
    }

    /// The further arms of the macro `name`.
    pub(crate) fn macro_arms(&mut self, name: &str) -> Option<String> {
        take(&mut self.macros, name)
    }

    /// The entries that no place asked for.
    pub(crate) fn unused(&self) -> impl Iterator<Item = &str> {
        self.functions
            .iter()
            .chain(&self.macros)
            .filter(|(_, (_, used))| !used)
            .map(|(path, _)| path.as_str())
    }
}

fn take(entries: &mut BTreeMap<String, (String, bool)>, key: &str) -> Option<String> {
    let (text, used) = entries.get_mut(key)?;
    *used = true;
    Some(text.clone())
}
