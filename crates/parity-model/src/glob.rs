//! Patterns over case ids: `*` stands for any run of characters, every other character for itself.
//!
//! Ids are full of brackets and parentheses, so there are no classes and no `?`.

/// Whether `pattern` matches the whole of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        // The leftmost place is never worse than a later one: what follows may then start earlier.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_runs_and_everything_else_for_itself() {
        let id = "unary/exp:f32:[2,3]:transposed:uniform(-10,10)";
        for pattern in [
            id,
            "*",
            "unary/*",
            "*:f32:*",
            "unary/exp:*:uniform(-10,10)",
            "*exp*[2,3]*",
            "u*n*a*r*y*",
        ] {
            assert!(matches(pattern, id), "{pattern}");
        }
        for pattern in [
            "",
            "exp",
            "unary",
            "*:f16:*",
            "unary/*:special",
            "unary/exp:f32:[2]*",
            "*exp*exp*",
        ] {
            assert!(!matches(pattern, id), "{pattern}");
        }
    }

    #[test]
    fn neighbouring_parts_do_not_share_characters() {
        assert!(!matches("ab*bc", "abc"));
        assert!(matches("ab*bc", "abbc"));
        assert!(matches("a**c", "ac"));
    }
}
