//! Words that users write for ops, dtypes, layouts, tiers and backends. A wrong word is an error that names the nearest
//! right one.

use parity_exec::{Backend, BackendDevice};
use parity_model::{DType, Family, Layout, Op, Tier, near};

use crate::{error::Error, selection::Ops};

/// The op of this name, or the family's ops.
///
/// # Errors
/// There is neither.
pub fn ops(word: &str) -> Result<Ops, Error> {
    let families = Family::NAMED
        .iter()
        .map(|family| (family.name(), Ops::Family(*family)));
    let ops = Op::all().into_iter().map(|op| (op.name(), Ops::One(op)));
    look_up("op or family", word, families.chain(ops))
}

/// The dtype of this name.
///
/// # Errors
/// There is no such dtype.
pub fn dtype(word: &str) -> Result<DType, Error> {
    look_up("dtype", word, DType::ALL.map(|dtype| (dtype.name(), dtype)))
}

/// The layout of this name.
///
/// # Errors
/// There is no such layout.
pub fn layout(word: &str) -> Result<Layout, Error> {
    look_up("layout", word, Layout::ALL.map(|layout| (layout.name(), layout)))
}

/// The tier of this name.
///
/// # Errors
/// There is no such tier.
pub fn tier(word: &str) -> Result<Tier, Error> {
    look_up("tier", word, Tier::ALL.map(|tier| (tier.name(), tier)))
}

/// The device of this name: `rocm` for the one that the environment chooses, `rocm:gfx942` for a certain one.
///
/// # Errors
/// There is no such backend, or it has no such device.
pub fn device(word: &str) -> Result<BackendDevice, Error> {
    let (name, device) = match word.split_once(':') {
        None => (word, None),
        Some((name, device)) => (name, Some(device)),
    };
    let backends = Backend::ALL.map(|backend| (backend.name(), backend));
    let backend = look_up("backend", name, backends)?;
    match device {
        None => Ok(backend.into()),
        Some(device) => BackendDevice::new(backend, device).map_err(Error::settings),
    }
}

/// The element of `known` that is called `word`.
pub(crate) fn look_up<'a, T>(
    what: &str,
    word: &str,
    known: impl IntoIterator<Item = (&'a str, T)>,
) -> Result<T, Error> {
    let mut names = Vec::new();
    for (name, value) in known {
        if name == word {
            return Ok(value);
        }
        names.push(name);
    }
    Err(Error::Settings(unknown(what, word, &names)))
}

/// `unknown dtype 'f23': did you mean 'f32'?`
fn unknown(what: &str, word: &str, names: &[&str]) -> String {
    format!("unknown {what} `{word}`: {}", near::advice(word, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, want: &str) {
        let failure = look_up("color", word, [("red", 1), ("green", 2)]).unwrap_err();
        assert_eq!(failure.to_string(), want);
    }

    #[test]
    fn a_typo_is_met_with_the_nearest_word_and_nonsense_with_all_of_them() {
        check("gren", "unknown color `gren`: did you mean `green`?");
        check("erd", "unknown color `erd`: did you mean `red`?");
        check(
            "turquoise",
            "unknown color `turquoise`: expected one of red, green",
        );
    }

    #[test]
    fn a_right_word_is_found() {
        assert_eq!(look_up("color", "green", [("red", 1), ("green", 2)]).unwrap(), 2);
    }
}
