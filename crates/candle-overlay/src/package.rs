//! What the build scripts of the derived crates do: they find the release, derive its sources into `gen/`, and tell cargo what to watch.

use std::{env, error::Error, fs, path::Path};

use crate::{
    derive::{DeriveError, Derived, Glue},
    output::Output,
    pristine::{Places, Release, Source},
};

/// Derives the sources of the package whose build script calls this. An error is a line of cargo's for each of its causes, and the build
/// ends with the library that is not there.
///
/// The compiled crate gets the name of its sources in the environment variable `NAME_SOURCES`: `CANDLE_CORE_SOURCES`.
pub fn generate(release: &Release, derive: impl FnOnce(&Source, &Glue) -> Result<Derived, DeriveError>) {
    if let Err(error) = write(release, derive) {
        // One cargo::error a line, causes included: a returned error would be shown in Debug form.
        let mut cause = Some(&*error);
        while let Some(error) = cause {
            say(error.to_string().lines().map(|line| format!("error={line}")));
            cause = error.source();
        }
    }
}

/// Tells cargo, by lines of stdout.
fn say(lines: impl IntoIterator<Item = String>) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    for line in lines {
        // With stdout gone cargo is gone.
        let _ = writeln!(out, "cargo::{line}");
    }
}

fn write(
    release: &Release,
    derive: impl FnOnce(&Source, &Glue) -> Result<Derived, DeriveError>,
) -> Result<(), Box<dyn Error + 'static>> {
    let package = env::var("CARGO_MANIFEST_DIR")?;
    let package = Path::new(&package);
    let mut watched = vec!["build.rs".into(), "glue".into(), "audit.txt".into()];
    say([format!("rerun-if-env-changed={}", release.override_variable())]);
    let source = Source::find(release, &Places::from_env(release)?)?;
    let variable = release.name.to_uppercase().replace('-', "_");
    say([format!("rustc-env={variable}_SOURCES={}", source.name(release))]);
    let derived = derive(&source, &Glue::read(&package.join("glue"))?)?;
    watched.extend(Output::new(package.join("gen")).write(&derived.files)?);
    if let Some(warning) = source.warning(release) {
        say([format!("warning={warning}")]);
        watched.push(source.origin().path().to_path_buf());
    }
    if fs::read_to_string(package.join("audit.txt")).unwrap_or_default() != derived.audit {
        let name = release.name;
        say([format!(
            "warning=this {name} is not the one that audit.txt was read for: see crates/{name}"
        )]);
    }
    say(watched
        .iter()
        .map(|path| format!("rerun-if-changed={}", path.display())));
    Ok(())
}
