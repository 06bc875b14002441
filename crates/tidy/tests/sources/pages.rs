//! What pages for readers name of the repository: files, folders, scripts and packages, which are there.

use std::collections::BTreeSet;
use std::path::Path;

use tidy::{Source, root, sources};

use crate::planted;

/// Folders of the repository by which a path begins, and its scripts.
const FOLDERS: [&str; 11] = [
    "ci/",
    "crates/",
    "docs/",
    "examples/",
    "findings/",
    "fuzz/",
    "golden/",
    "model-specs/",
    "op-specs/",
    "parity-cli/",
    "rocm-backend/",
];

/// The words of a page, code and prose alike, without the marks around them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    line.split(move |c| !part(c))
        .map(|word| word.trim_end_matches(['.', '/']).trim_start_matches("./"))
}

/// Whether `word` is a path that has to be there: not `op-specs/FAMILY.toml`, and nothing that programs write.
fn is_path(word: &str) -> bool {
    // `op-specs/FAMILY.toml`.
    let stands_for_others = |part: &str| {
        let name = part.split('.').next().unwrap_or_default();
        name.len() > 1 && name != "README" && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    FOLDERS.iter().any(|folder| word.starts_with(folder))
        && !word.starts_with("fuzz/artifacts")
        && !word.split('/').any(stands_for_others)
}

/// Paths and packages that pages name and that are not there. The list of changes says what was; pages of `reports/` are generated.
fn absent(pages: &[Source], packages: &BTreeSet<String>) -> Vec<String> {
    let root = root();
    let watched = pages.iter().filter(|page| {
        page.path != "CHANGELOG.md"
            && (!page.path.starts_with("reports/") || page.path == "reports/README.md")
    });
    let mut found = Vec::new();
    for page in watched {
        let folder = root.join(&page.path);
        let folder = folder.parent().unwrap_or(&root);
        for (i, line) in page.text.lines().enumerate() {
            let there = |word: &&str| root.join(word).exists() || folder.join(word).exists();
            // Of `src/{a,b}.rs` the word ends at the brace and is not a whole path.
            let whole = line.split('{').next().unwrap_or_default();
            let whole = match whole == line {
                true => line,
                false => whole.rsplit_once(' ').map_or("", |(before, _)| before),
            };
            for word in words(whole).filter(|word| is_path(word) && !there(word)) {
                found.push(format!("{}:{}: there is no {word}", page.path, i + 1));
            }
            let mut parts = line.split_whitespace().skip_while(|word| *word != "-p");
            let package = parts.nth(1).and_then(|name| words(name).next());
            let missing = package.filter(|name| line.contains("cargo ") && !packages.contains(*name));
            found.extend(missing.map(|name| format!("{}:{}: there is no package {name}", page.path, i + 1)));
        }
    }
    found
}

/// The names of the packages of the repository, those of examples included.
fn packages() -> BTreeSet<String> {
    let manifests = sources(&["toml"]);
    let manifests = manifests
        .iter()
        .filter(|file| Path::new(&file.path).ends_with("Cargo.toml"));
    let names = manifests.flat_map(|file| {
        file.text
            .lines()
            .filter_map(|line| line.strip_prefix("name = \""))
    });
    names.map(|name| name.trim_end_matches('"').to_owned()).collect()
}

#[test]
fn what_a_page_names_is_there() {
    let packages = packages();
    assert!(
        packages.contains("parity-cli") && packages.contains("gfx-emu"),
        "{packages:?}"
    );
    let found = absent(&sources(&["md"]), &packages);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_a_page_names_and_is_not_there_is_found() {
    let packages = packages();
    for text in [
        "Run `ci/no-such-script --quick`.",
        "See [the page](docs/no-such-page.md).",
        "`crates/gfx-emu/src/no_such.rs` has it.",
        "```sh\ncargo test -p no-such-crate --test isa\n```",
        "`cargo run -q -p no-such-crate`",
    ] {
        let found = absent(&[planted("README.md", text)], &packages);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
    }
    let right = "`ci/test`, `op-specs/FAMILY.toml`, crates/rocm-soft/src/{blas,miopen}.rs, `cargo test -p gfx-emu`, `./ci/test`.";
    assert_eq!(absent(&[planted("README.md", right)], &packages), [""; 0]);
    assert_eq!(
        absent(
            &[planted("crates/gfx-emu/README.md", "`examples/no_such.rs`")],
            &packages
        )
        .len(),
        1
    );
}
