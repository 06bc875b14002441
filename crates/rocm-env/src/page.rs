//! The table as docs/environment.md shows it. A test of this crate holds that file to it.

use std::fmt::Write;

use crate::{ALL, About, OTHERS};

const HEAD: &str = "\
# Environment variables

A test writes this page from `crates/rocm-env/src/table.rs`, where every crate reads its variables from:
`WRITE_ENVIRONMENT=1 cargo test -p rocm-env` after a change there.

All have defaults. A variable that is set to nothing counts as not set, if its row says nothing else. A value that is none
of those below is an error when a device is opened, and the error lists what can be said. A process reads a variable once.
`parity doctor` prints all of them, with their values.
";

/// The page, in markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let about = || ALL.iter().map(|entry| entry.about());
    table(
        &mut page,
        "When programs run",
        about().filter(|about| !about.building),
    );
    table(
        &mut page,
        "When crates are built",
        about().filter(|about| about.building),
    );
    page.push_str(
        "\n## Variables of others\n\nTheir words are their owners'.\n\n| variable | what it does here | read by |\n|---|---|---|\n",
    );
    for other in OTHERS {
        // Writing to a `String` does not fail.
        let _ = writeln!(page, "| `{}` | {} | {} |", other.name, other.does, other.readers);
    }
    page
}

fn table<'a>(page: &mut String, title: &str, rows: impl Iterator<Item = &'a About>) {
    let _ = writeln!(
        page,
        "\n## {title}\n\n| variable | what it does | values | not set | read by |\n|---|---|---|---|---|"
    );
    for about in rows {
        let About {
            name,
            does,
            default,
            readers,
            ..
        } = about;
        let _ = writeln!(
            page,
            "| `{name}` | {does} | {} | {default} | {readers} |",
            (about.form)()
        );
    }
}
