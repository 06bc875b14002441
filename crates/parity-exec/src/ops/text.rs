//! The expression of a row of [`super::candle`] as source for readers: tensors and parameters by what they are in a case,
//! `if`s decided that ask for a parameter, one statement a line. It works on text that the compiler took for Rust, and
//! reads of it what those rows need: names, brackets, and strings that hold neither brackets nor `;`.

/// A function that rows use, with its source on one line or several.
pub(super) struct Helper {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
}

/// The text that replaces each name of a row.
pub(super) struct Names(Vec<(&'static str, String)>);

impl Names {
    /// The tensors of a row are called `x0`, `x1` and so on.
    pub(super) fn of_tensors(names: &[&'static str]) -> Names {
        let numbered = names.iter().enumerate();
        Names(numbered.map(|(i, name)| (*name, format!("x{i}"))).collect())
    }

    /// One name more.
    pub(super) fn with(mut self, name: &'static str, text: String) -> Names {
        self.0.push((name, text));
        self
    }

    /// The expression under these names, with the helpers that it uses.
    pub(super) fn source(&self, call: &str, helpers: &[Helper]) -> String {
        let call = lines(&decided(&self.replaced(&one_line(call))));
        let used = helpers
            .iter()
            .filter(|helper| words(&call).any(|(_, word)| word == helper.name));
        let used: Vec<String> = used.map(|helper| lines(&one_line(helper.source))).collect();
        if used.is_empty() {
            return call;
        }
        let body = format!("{}\n{call}", used.join("\n")).replace('\n', "\n    ");
        format!("{{\n    {body}\n}}")
    }

    /// `text` with the names replaced. What follows a `.` or `::` is another thing of that name, and so is what is
    /// before a `:`; a field of a structure that its value names is written out.
    fn replaced(&self, text: &str) -> String {
        let (mut out, mut done) = (String::new(), 0);
        for (at, word) in words(text) {
            let (before, after) = (text[..at].trim_end(), text[at + word.len()..].trim_start());
            let elsewhere = before.ends_with("::")
                || before.ends_with('.') && !before.ends_with("..")
                || after.starts_with(':') && !after.starts_with("::");
            let Some((_, value)) = self.0.iter().find(|(name, _)| *name == word && !elsewhere) else {
                continue;
            };
            let listed = before.ends_with(',') && after.starts_with([',', '}'])
                || before.ends_with('{') && after.starts_with(',');
            out.push_str(&text[done..at]);
            if listed && innermost(before) == Some('{') {
                out.push_str(&format!("{word}: "));
            }
            out.push_str(value);
            done = at + word.len();
        }
        out + &text[done..]
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names and keywords in a text, each with its place. The contents of strings and the letters in numbers are
/// left out.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = &text[at..];
            let first = rest.chars().next()?;
            let len = match first {
                '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                c if part(c) => rest.find(|c| !part(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            at += len;
            if part(first) && !first.is_ascii_digit() {
                return Some((at - len, &rest[..len]));
            }
        }
    })
}

/// 1 for a bracket that opens, -1 for one that closes.
fn step(c: char) -> i32 {
    i32::from("([{".contains(c)) - i32::from(")]}".contains(c))
}

/// The last bracket that opened before the end of the text and did not close.
fn innermost(text: &str) -> Option<char> {
    let mut depth = 0;
    text.chars().rev().find(|c| {
        depth -= step(*c);
        depth < 0
    })
}

/// The length of the block that a text begins with, brackets and all.
fn block(text: &str) -> usize {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += step(c);
        depth == 0
    });
    end.map_or(text.len(), |end| end + 1)
}

/// `text` with what runs in the place of each `if` whose condition is known.
fn decided(text: &str) -> String {
    for (at, _) in words(text).filter(|(_, word)| *word == "if") {
        let Some((condition, from)) = text[at + 2..].split_once(" {") else {
            continue;
        };
        let condition = condition.trim();
        let known = ["true", "false"].contains(&condition);
        let numbers = condition
            .split_once(" == ")
            .and_then(|(a, b)| Some((a.parse::<u64>().ok()?, b.parse::<u64>().ok()?)));
        let holds = match numbers {
            Some((a, b)) => a == b,
            None if known => condition == "true",
            None => continue,
        };
        let from = format!("{{{from}");
        let (yes, rest) = from.split_at(block(&from));
        let Some(other) = rest.strip_prefix(" else ") else {
            continue;
        };
        // The alternative may be a chain of further `if`s.
        let mut end = other.find('{').map_or(0, |open| open + block(&other[open..]));
        while let Some(further) = other[end..].strip_prefix(" else ") {
            let open = other.len() - further.len() + further.find('{').unwrap_or(0);
            end = open + block(&other[open..]);
        }
        let (no, rest) = other.split_at(end);
        let chosen = if holds { yes } else { no };
        // Braces around an expression are a warning of the compiler's.
        let inside = chosen.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let chosen = inside
            .filter(|text| !text.contains(';'))
            .map_or(chosen, str::trim);
        return decided(&format!("{}{chosen}{rest}", &text[..at]));
    }
    text.to_owned()
}

/// A line of text as several: each statement of a block on one of its own.
fn lines(text: &str) -> String {
    let mut out = String::new();
    // The brackets that are open, and whether each holds statements.
    let mut open: Vec<bool> = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let mut new_line = c == ';' && open.last() == Some(&true);
        if step(c) > 0 {
            open.push(c == '{' && has_statements(&text[at..]));
            new_line = open.last() == Some(&true);
        }
        if step(c) < 0 && open.pop() == Some(true) {
            out.truncate(out.trim_end().len());
            out.push_str(&format!("\n{}", "    ".repeat(statements(&open))));
            let after = text[at + 1..].trim_start();
            let next =
                after.starts_with(|c: char| c.is_alphabetic() || c == '*') && !after.starts_with("else ");
            new_line = next && open.last() == Some(&true);
        }
        out.push(c);
        if new_line {
            rest.next_if(|(_, c)| *c == ' ');
            out.push_str(&format!("\n{}", "    ".repeat(statements(&open))));
        }
    }
    out
}

/// How many of the open brackets hold statements.
fn statements(open: &[bool]) -> usize {
    open.iter().filter(|open| **open).count()
}

/// Whether the block that a text begins with has a `;` of its own.
fn has_statements(text: &str) -> bool {
    let mut depth = 0;
    text[..block(text)].chars().any(|c| {
        depth += step(c);
        c == ';' && depth == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(call: &str, want: &str) {
        let names = Names::of_tensors(&["x", "ids"])
            .with("dim", "1".to_owned())
            .with("causal", "true".to_owned())
            .with("end", "3".to_owned());
        let helpers = [Helper {
            name: "weights",
            source: "fn weights(x: &Tensor) -> Tensor { let y = x.clone(); y }",
        }];
        assert_eq!(names.source(call, &helpers), want);
    }

    #[test]
    fn names_become_what_they_are_in_the_case_and_other_things_of_the_name_stay() {
        check("x.gather(&ids, dim)?", "x0.gather(&x1, 1)?");
        check("x.dim(dim)?", "x0.dim(1)?");
        check(
            "ids.ids(\"x ids\", 0..end, a::x)",
            "x1.ids(\"x ids\", 0..3, a::x)",
        );
        check("S { x: x.clone(), dim, y }", "S { x: x0.clone(), dim: 1, y }");
        check("S { dim, y }", "S { dim: 1, y }");
        check("f(x, dim, { dim })", "f(x0, 1, { 1 })");
    }

    #[test]
    fn an_if_that_asks_for_a_parameter_is_decided() {
        check("g(if causal { x } else { ids })", "g(x0)");
        check("if dim == 0 { a } else if dim == 1 { b } else { c }", "b");
        check("if dim == 0 { a } else if dim == 2 { b } else { c }", "c");
        check("if a == 1 { x } else { ids }", "if a == 1 { x0 } else { x1 }");
        check(
            "if causal { let a = x; a } else { ids }",
            "{\n    let a = x0;\n    a\n}",
        );
    }

    #[test]
    fn a_statement_has_a_line() {
        check(
            "{ let mut y = [0; 3]; if let Some(last) = y.last_mut() { *last = 1; } S { a: \"x\", b } }",
            "{\n    let mut y = [0; 3];\n    if let Some(last) = y.last_mut() {\n        *last = 1;\n    }\n    \
             S { a: \"x\", b }\n}",
        );
    }

    #[test]
    fn a_helper_comes_with_the_call_that_uses_it() {
        let helper =
            "{\n    fn weights(x: &Tensor) -> Tensor {\n        let y = x.clone();\n        y\n    }\n    ";
        check("weights(&x)", &format!("{helper}weights(&x0)\n}}"));
    }
}
