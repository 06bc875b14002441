//! Words that users write for ops, dtypes, layouts, tiers and backends. A wrong word is an error that names the nearest
//! right one.

use parity_exec::{Backend, BackendDevice};
use parity_model::{DType, Family, Layout, Op, Tier};

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

/// Names that a message still lists.
const LISTED: usize = 24;

/// Of more names than that, so many of the nearest.
const NEAREST: usize = 6;

/// `unknown dtype 'f23': did you mean 'f32'?`
fn unknown(what: &str, word: &str, names: &[&str]) -> String {
    let distance = |name: &&&str| strsim::damerau_levenshtein(word, name);
    match names
        .iter()
        .min_by_key(distance)
        .filter(|name| distance(name) <= 2)
    {
        Some(nearest) => format!("unknown {what} `{word}`: did you mean `{nearest}`?"),
        None if names.len() <= LISTED => {
            format!("unknown {what} `{word}`: expected one of {}", names.join(", "))
        }
        None => {
            let mut near = names.to_vec();
            near.sort_by_key(|name| strsim::damerau_levenshtein(word, name));
            near.truncate(NEAREST);
            format!(
                "unknown {what} `{word}`: there are {}, such as {}; `parity list` shows all",
                names.len(),
                near.join(", ")
            )
        }
    }
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
    fn of_many_words_the_nearest_are_named() {
        let names: Vec<String> = (0..40).map(|i| format!("name-{i}")).collect();
        let known = names.iter().map(|name| (name.as_str(), ()));
        let message = look_up("thing", "nothing-9", known).unwrap_err().to_string();
        assert!(
            message.starts_with("unknown thing `nothing-9`: there are 40, such as name-9, "),
            "{message}"
        );
        assert!(
            message.ends_with("`parity list` shows all") && message.len() < 150,
            "{message}"
        );
    }

    #[test]
    fn a_right_word_is_found() {
        assert_eq!(look_up("color", "green", [("red", 1), ("green", 2)]).unwrap(), 2);
    }
}
