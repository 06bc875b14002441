//! Words the user wrote, looked up in lists of the words there are; a wrong one is met with the nearest right one.

use crate::exit::{Exit, Failure};

/// The element of `known` that is called `word`.
pub(crate) fn look_up<'a, T>(
    what: &str,
    word: &str,
    known: impl IntoIterator<Item = (&'a str, T)>,
) -> Result<T, Failure> {
    let mut names = Vec::new();
    for (name, value) in known {
        if name == word {
            return Ok(value);
        }
        names.push(name);
    }
    Err(Failure::new(Exit::Usage, unknown(what, word, &names)))
}

/// `unknown dtype 'f23': did you mean 'f32'?`
fn unknown(what: &str, word: &str, names: &[&str]) -> String {
    let distance = |name: &&&str| strsim::damerau_levenshtein(word, name);
    match names
        .iter()
        .min_by_key(distance)
        .filter(|name| distance(name) <= 2)
    {
        Some(nearest) => format!("unknown {what} `{word}`: did you mean `{nearest}`?"),
        None => format!("unknown {what} `{word}`: expected one of {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, want: &str) {
        let failure = look_up("color", word, [("red", 1), ("green", 2)]).unwrap_err();
        assert_eq!((failure.exit, failure.message.as_str()), (Exit::Usage, want));
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
