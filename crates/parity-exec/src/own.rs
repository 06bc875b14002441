//! The calls of a program's own ops. [`parity_model::op::own`] declares the ops; this module says how candle computes them.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use parity_model::op::Own;

pub use candle_core::{Result, Tensor};

/// The op on its arguments, all on one device, and its parameters.
pub type CandleCall = dyn Fn(&[Tensor], &[f64]) -> Result<Tensor> + Send + Sync;

/// How an op is called, for execution and for readers.
pub(crate) struct Registered {
    pub(crate) call: Box<CandleCall>,
    /// The call as Rust source: the arguments are `x0`, `x1` and so on, and `{alpha}` is the value of the parameter `alpha`.
    source: &'static str,
}

static REGISTRY: RwLock<BTreeMap<&'static str, Arc<Registered>>> = RwLock::new(BTreeMap::new());

/// Keeps the call of the op of this name, until the process ends. `source` is the call as a Rust expression for readers: the
/// arguments are `x0`, `x1` and so on, and `{alpha}` stands for the value of the parameter `alpha`.
///
/// # Errors
/// There is such an op already.
pub fn register(
    name: &'static str,
    call: Box<CandleCall>,
    source: &'static str,
) -> std::result::Result<(), String> {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if registry.contains_key(name) {
        return Err(format!(
            "the call of `{name}` was registered before: register each op once"
        ));
    }
    registry.insert(name, Arc::new(Registered { call, source }));
    Ok(())
}

/// How the op is called; `None` where nobody said it.
pub(crate) fn find(op: Own) -> Option<Arc<Registered>> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    registry.get(op.name()).cloned()
}

impl Registered {
    /// The call with the values of the parameters in the place of their names.
    pub(crate) fn text(&self, names: &[&str], params: &[f64]) -> String {
        let values = names.iter().zip(params);
        values.fold(self.source.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), &format!("{value:?}"))
        })
    }
}

/// Compares what the supervisor's program registered with what this one did: each name with its declaration.
///
/// # Errors
/// A sentence that names an op that this program lacks or declares otherwise, and how to mend it.
pub(crate) fn agree(supervisor: &[(String, String)]) -> std::result::Result<(), String> {
    let here = parity_model::op::own::signatures();
    for (name, declaration) in supervisor {
        let mend = "let the program that serves as worker register the same ops before `serve_if_asked`";
        match here.iter().find(|(known, _)| known == name) {
            None => {
                return Err(format!(
                    "the worker's program has registered no op `{name}` of its own: {mend}"
                ));
            }
            Some((_, own)) if own != declaration => {
                return Err(format!(
                    "the worker's program declares its op `{name}` otherwise, as {own} and not as {declaration}: {mend}"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_lacks_an_op_or_has_another_says_which_and_how_to_mend_it() {
        let op = |name: &str| (name.to_owned(), "()".to_owned());
        assert_eq!(agree(&[]), Ok(()));
        let why = agree(&[op("nobodys")]).unwrap_err();
        assert!(
            why.contains("no op `nobodys`") && why.contains("serve_if_asked"),
            "{why}"
        );
        assert!(!why.contains('\n'), "one line: {why}");
    }

    #[test]
    fn readers_get_the_call_with_its_parameters() {
        let registered = Registered {
            call: Box::new(|args, _| Ok(args[0].clone())),
            source: "mine::gated(&x0, &x1, {alpha})?",
        };
        assert_eq!(registered.text(&["alpha"], &[2.0]), "mine::gated(&x0, &x1, 2.0)?");
    }
}
