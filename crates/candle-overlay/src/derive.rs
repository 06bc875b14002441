//! Derives the sources of candle-core with a ROCm device from the pristine ones and our glue.
//!
//! Files in, files out: what is read comes from [`Source`] and [`Glue`], [`Output`] does the writing.
//!
//! [`Output`]: crate::output::Output

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    fill::fill,
    overrides::Overrides,
    pristine::Source,
    rules::{RuledFile, Rules},
    text::{Renamer, metal_tokens},
};

/// Our hand-written files, by their path below `glue/`, which is their path below `src/` as well.
#[derive(Debug, Default)]
pub struct Glue {
    files: BTreeMap<String, String>,
    overrides: String,
}

/// Derived sources, by path inside the crate, and what a reviewer of a new candle release must look at.
#[derive(Debug)]
pub struct Derived {
    /// Path (`src/device.rs`) and contents.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What was done where, what was skipped, what no rule knew. Compared with the committed `audit.txt`.
    pub audit: String,
}

/// Why nothing could be derived.
#[derive(Debug, thiserror::Error)]
pub enum DeriveError {
    /// A text is not Rust, or not the Rust that is expected there.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file; with `derived` before it when the result is meant.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A file that should be text is not.
    #[error("{file} is not UTF-8")]
    NotText {
        /// The file.
        file: String,
    },
    /// A glue file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Files of upstream's that say metal because they are Metal's.
const METALS_OWN: [&str; 4] = [
    "src/metal_backend/",
    "src/quantized/metal.rs",
    "src/dummy_metal_backend.rs",
    "src/quantized/dummy_metal.rs",
];

/// Glue files and upstream's stand-in that has the signatures they must match.
const STAND_INS: [(&str, &str); 3] = [
    ("rocm/device.rs", "src/dummy_metal_backend.rs"),
    ("rocm/storage.rs", "src/dummy_metal_backend.rs"),
    ("quantized/rocm_storage.rs", "src/quantized/dummy_metal.rs"),
];

const OVERRIDES: &str = "overrides.rs";

impl Glue {
    /// Reads every `.rs` file below `folder`.
    ///
    /// # Errors
    /// [`DeriveError::Read`].
    pub fn read(folder: &Path) -> Result<Glue, DeriveError> {
        let mut glue = Glue::default();
        let failed = |path: &Path, source| DeriveError::Read {
            path: path.to_path_buf(),
            source,
        };
        let mut waiting = vec![folder.to_path_buf()];
        while let Some(next) = waiting.pop() {
            for entry in fs::read_dir(&next).map_err(|source| failed(&next, source))? {
                let path = entry.map_err(|source| failed(&next, source))?.path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).map_err(|source| failed(&path, source))?;
                    let inside = path.strip_prefix(folder).unwrap_or(&path);
                    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
                    glue.add(&parts.join("/"), text);
                }
            }
        }
        Ok(glue)
    }

    /// The files, by path, but for the overrides.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Adds one file; `path` is relative to `glue/`.
    pub fn add(&mut self, path: &str, text: String) {
        if path == OVERRIDES {
            self.overrides = text;
        } else {
            self.files.insert(path.to_owned(), text);
        }
    }
}

/// Derives the whole of `src/`.
///
/// # Errors
/// [`DeriveError`]: a text that does not parse, before or after.
pub fn derive(source: &Source, glue: &Glue) -> Result<Derived, DeriveError> {
    let mut overrides =
        Overrides::parse(&glue.overrides).map_err(|error| syntax("glue/overrides.rs", &error))?;
    let (mut renamer, mut files, mut audit) = (Renamer::default(), BTreeMap::new(), Audit::default());
    for (path, bytes) in source.files().filter(|(path, _)| path.starts_with("src/")) {
        let derived = if path.ends_with(".rs") && !METALS_OWN.iter().any(|own| path.starts_with(own)) {
            file(path, text(path, bytes)?, &mut renamer, &mut overrides, &mut audit)?
        } else {
            bytes.to_vec()
        };
        files.insert(path.to_owned(), derived);
    }
    for (path, ours) in &glue.files {
        let name = format!("glue/{path}");
        let derived = match STAND_INS.iter().find(|(file, _)| file == path) {
            Some((_, stand_in)) => {
                let upstream = source.files().find(|(file, _)| file == stand_in);
                let upstream = upstream.map_or(Ok(""), |(file, bytes)| text(file, bytes))?;
                fill(ours, upstream).map_err(|error| syntax(&name, &error))?
            }
            None => ours.clone(),
        };
        syn::parse_file(&derived).map_err(|error| syntax(&name, &error))?;
        files.insert(
            format!("src/{path}"),
            format!("// @generated from {name}\n{derived}").into_bytes(),
        );
    }
    audit
        .unused
        .extend(renamer.unused().map(|row| format!("renaming of {row}")));
    audit
        .unused
        .extend(overrides.unused().map(|path| format!("override of {path}")));
    Ok(Derived {
        files,
        audit: audit.render(),
    })
}

/// Derives one further file, such as one of upstream's tests, in which nothing of ours is put.
///
/// # Errors
/// As [`derive()`].
pub fn derive_test(path: &str, bytes: &[u8]) -> Result<Vec<u8>, DeriveError> {
    file(
        path,
        text(path, bytes)?,
        &mut Renamer::default(),
        &mut Overrides::default(),
        &mut Audit::default(),
    )
}

fn file(
    path: &str,
    source: &str,
    renamer: &mut Renamer,
    overrides: &mut Overrides,
    audit: &mut Audit,
) -> Result<Vec<u8>, DeriveError> {
    let parsed = syn::parse_file(source).map_err(|error| syntax(path, &error))?;
    let outcome = Rules::apply(source, path, &parsed, renamer, overrides);
    audit.add(path, source, &outcome);
    let derived = outcome.edits.apply(source);
    if !outcome.edits.is_empty() {
        syn::parse_file(&derived).map_err(|error| syntax(&format!("derived {path}"), &error))?;
    }
    Ok(format!("// @generated from upstream's {path} by candle-overlay\n{derived}").into_bytes())
}

pub(crate) fn text<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, DeriveError> {
    str::from_utf8(bytes).map_err(|_| DeriveError::NotText {
        file: path.to_owned(),
    })
}

pub(crate) fn syntax(file: &str, error: &syn::Error) -> DeriveError {
    DeriveError::Syntax {
        file: file.to_owned(),
        line: error.span().start().line,
        message: error.to_string(),
    }
}

/// The list that a maintainer reads when candle's release changes.
#[derive(Debug, Default)]
struct Audit {
    sites: BTreeMap<(&'static str, String), usize>,
    skipped: Vec<String>,
    left: Vec<String>,
    unused: Vec<String>,
}

impl Audit {
    fn add(&mut self, path: &str, source: &str, outcome: &RuledFile) {
        for (rule, count) in &outcome.sites {
            *self.sites.entry((rule, path.to_owned())).or_default() += count;
        }
        self.skipped
            .extend(outcome.skipped.iter().map(|what| format!("{path}: {what}")));
        let tokens = source.parse().unwrap_or_default();
        for (range, token) in metal_tokens(source, tokens) {
            if outcome
                .covered
                .iter()
                .any(|covered| covered.start <= range.start && range.end <= covered.end)
            {
                continue;
            }
            let around = outcome
                .functions
                .iter()
                .filter(|(function, _)| function.contains(&range.start));
            let place = around
                .min_by_key(|(function, _)| function.len())
                .map_or("", |(_, name)| name.as_str());
            self.left.push(format!("{path}: {place}: {token}"));
        }
    }

    fn render(&self) -> String {
        let mut out = String::from(
            "# What candle-overlay did to this release of candle-core. Regenerate and read the difference when it changes:\n\
             #   CANDLE_OVERLAY_BLESS=1 cargo test -p candle-overlay\n\
             \n## Rules used: rule, file, sites\n",
        );
        for ((rule, path), count) in &self.sites {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{rule}: {path}: {count}");
        }
        let sections = [
            (
                "Compiled with upstream's metal feature only: no counterpart",
                &self.skipped,
            ),
            ("Says metal and no rule applies: read it", &self.left),
            (
                "Ours, but without a place upstream: remove it or mend it",
                &self.unused,
            ),
        ];
        for (title, lines) in sections {
            let _ = writeln!(out, "\n## {title}");
            for line in lines {
                let _ = writeln!(out, "{line}");
            }
        }
        out
    }
}
