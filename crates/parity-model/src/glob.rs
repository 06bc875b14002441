//! Patterns over case ids: `*` matches any run of characters, `{a,b}` `a` or `b`, any other character itself.
//!
//! Ids have many brackets and parentheses, so there are no classes and no `?`. Ids have no braces. A choice in
//! braces is plain text: a star in it matches a star.

/// Whether `pattern` matches the whole of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some(special) = pattern.find(['*', '{']) else {
        return pattern == text;
    };
    let (plain, rest) = pattern.split_at(special);
    let Some(text) = text.strip_prefix(plain) else {
        return false;
    };
    if let Some(rest) = rest.strip_prefix('*') {
        // A star at the end, which most patterns have, takes what is left.
        return rest.is_empty() || suffixes(text).any(|text| matches(rest, text));
    }
    match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((choices, rest)) => choices
            .split(',')
            .filter_map(|choice| text.strip_prefix(choice))
            .any(|text| matches(rest, text)),
        None => rest == text,
    }
}

/// `text`, and what is left of it after each of its characters.
fn suffixes(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.char_indices().map(|(start, _)| start);
    starts.chain([text.len()]).map(|start| &text[start..])
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn braces_hold_choices() {
        let pattern = "unary/{exp,log}:{f32,bf16}:*";
        assert!(matches(pattern, "unary/exp:bf16:[4]:contiguous:any"));
        assert!(matches(pattern, "unary/log:f32:[4]:contiguous:any"));
        assert!(!matches(pattern, "unary/sin:f32:[4]:contiguous:any"));
        assert!(!matches(pattern, "unary/exp:f16:[4]:contiguous:any"));
    }

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
