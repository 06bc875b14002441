//! What a message says of a word that is none of the known ones.

/// Names that a message still lists.
const LISTED: usize = 24;

/// Of more names than that, so many of the nearest.
const NEAREST: usize = 6;

/// How to mend `word`: the known name that is at most two mistakes away from it, else all names, else the nearest of many.
///
/// ```
/// use parity_model::near::advice;
///
/// assert_eq!(advice("sqr_t", &["sqr", "sqrt"]), "did you mean `sqrt`?");
/// assert_eq!(advice("softmax", &["sqr", "sqrt"]), "expected one of sqr, sqrt");
/// ```
pub fn advice(word: &str, known: &[&str]) -> String {
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), *name))
        .collect();
    // Of names that are as near, the first one.
    near.sort_by_key(|(mistakes, _)| *mistakes);
    match near.first() {
        Some((mistakes, name)) if *mistakes <= 2 && 2 * mistakes <= name.len() => {
            format!("did you mean `{name}`?")
        }
        _ if known.len() <= LISTED => format!("expected one of {}", known.join(", ")),
        _ => {
            let names: Vec<&str> = near.iter().take(NEAREST).map(|(_, name)| *name).collect();
            format!(
                "there are {}, such as {}; `parity list` shows all",
                known.len(),
                names.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_letters_in_the_wrong_order_are_one_mistake() {
        assert_eq!(advice("erd", &["red", "green"]), "did you mean `red`?");
        assert_eq!(
            advice("ab", &["red", "green"]),
            "expected one of red, green",
            "the control"
        );
    }

    #[test]
    fn of_many_words_the_nearest_are_named() {
        let names: Vec<String> = (0..40).map(|i| format!("name-{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let said = advice("nothing-9", &names);
        assert!(said.starts_with("there are 40, such as name-9, "), "{said}");
        assert!(
            said.ends_with("`parity list` shows all") && said.len() < 120,
            "{said}"
        );
    }
}
