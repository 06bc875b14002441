//! Rows of words in aligned columns, for pages that are read once.

use std::fmt::Write;

/// Every row on a line of its own after `indent`; a column is as wide as its widest word. Rows may differ in length.
pub(crate) fn columns(indent: &str, rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let words = rows.iter().filter_map(|row| row.get(column));
        words.map(|word| word.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..count).map(width).collect();
    let mut page = String::new();
    for row in rows {
        let mut line = indent.to_owned();
        for (word, width) in row.iter().zip(&widths) {
            // Writing to a `String` does not fail.
            let _ = write!(line, "{word:width$}  ");
        }
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let rows = [vec!["a", "bb", "c"], vec!["aaa", "b"]];
        let rows = rows.map(|row| row.into_iter().map(str::to_owned).collect());
        assert_eq!(columns("  ", &rows), "  a    bb  c\n  aaa  b\n");
    }
}
