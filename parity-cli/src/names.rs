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
    fn of_many_words_the_nearest_are_named() {
        let names: Vec<String> = (0..40).map(|i| format!("name-{i}")).collect();
        let known = names.iter().map(|name| (name.as_str(), ()));
        let message = look_up("thing", "nothing-9", known).unwrap_err().message;
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
