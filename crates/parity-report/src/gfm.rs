//! Pieces of GitHub-flavoured markdown: tables that read well unrendered too, code spans, escapes. Knows no runs.

/// A table under construction. The first columns are text, the others are figures and are aligned to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Columns of text; one unless said otherwise.
    texts: usize,
}

impl Table {
    /// A table of no row but its header.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Table {
        Table {
            rows: vec![cells(header)],
            texts: 1,
        }
    }

    /// The first `columns` are text.
    pub fn texts(mut self, columns: usize) -> Table {
        self.texts = columns;
        self
    }

    /// Whether there is no row but the header.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        self.rows.push(cells(row));
    }

    /// The table, each column as wide as its widest cell, and a final newline.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        let mut page = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            let cell = |(column, width): (usize, &usize)| {
                let text = row.get(column).map_or("", String::as_str);
                let pad = " ".repeat(width - text.chars().count());
                if column < self.texts {
                    format!(" {text}{pad} |")
                } else {
                    format!(" {pad}{text} |")
                }
            };
            let line: String = widths.iter().enumerate().map(cell).collect();
            page.push_str(&format!("|{line}\n"));
            if i == 0 {
                page.push_str(&rule(&widths, self.texts));
            }
        }
        page
    }
}

fn rule(widths: &[usize], texts: usize) -> String {
    let rule = |(column, width): (usize, &usize)| {
        if column < texts {
            format!(" {} |", "-".repeat(*width))
        } else {
            format!(" {}: |", "-".repeat(width - 1))
        }
    };
    let line: String = widths.iter().enumerate().map(rule).collect();
    format!("|{line}\n")
}

fn cells<S: Into<String>>(row: impl IntoIterator<Item = S>) -> Vec<String> {
    let cell = |text: S| one_line(&text.into()).replace('|', "\\|");
    row.into_iter().map(cell).collect()
}

/// Text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A code span, fenced by more backticks than the text has in a row.
pub fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Words from elsewhere, on one line, with what markdown would take for markup escaped.
pub fn words(text: &str) -> String {
    let mut escaped = String::new();
    let mut in_code = false;
    for c in one_line(text).chars() {
        // Reasons quote code in backticks; between them nothing is markup.
        in_code ^= c == '`';
        if !in_code && matches!(c, '*' | '_' | '<' | '>' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    if in_code {
        escaped.push('`');
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_padded_and_its_bars_escaped() {
        let mut table = Table::new(["op", "f32"]);
        table.row(["a|b", "1/1 0.50"]);
        table.row(["exp"]);
        let want = "| op   |      f32 |\n| ---- | -------: |\n| a\\|b | 1/1 0.50 |\n| exp  |          |\n";
        assert_eq!(table.render(), want);
    }

    #[test]
    fn code_with_backticks_stays_one_span() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a``b`"), "``` a``b` ```");
    }

    #[test]
    fn markup_in_words_is_escaped_outside_code() {
        assert_eq!(words("a *b*\n<i> `x_y<0>` z_"), "a \\*b\\* \\<i\\> `x_y<0>` z\\_");
        assert_eq!(words("an `open one"), "an `open one`");
    }
}
