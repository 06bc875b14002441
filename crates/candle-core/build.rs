//! Derives this crate's sources into `gen/`, before they are compiled.
//!
//! Cargo accepts a `[lib] path` that does not exist yet from a path dependency, which this crate is by way of
//! `[patch.crates-io]`; it would not from a workspace member, so the workspace excludes this crate.

use std::{env, error::Error, fs, path::Path};

use candle_overlay::{
    derive::{Glue, derive},
    output::Output,
    pristine::{CANDLE_CORE, Places, Source},
};

fn main() {
    if let Err(error) = generate() {
        // One cargo::error a line, causes included: a returned error would be shown in Debug form.
        let mut cause = Some(&*error);
        while let Some(error) = cause {
            error
                .to_string()
                .lines()
                .for_each(|line| println!("cargo::error={line}"));
            cause = error.source();
        }
    }
}

fn generate() -> Result<(), Box<dyn Error + 'static>> {
    let package = env::var("CARGO_MANIFEST_DIR")?;
    let package = Path::new(&package);
    let mut watched = vec!["build.rs".into(), "glue".into(), "audit.txt".into()];
    println!("cargo::rerun-if-env-changed={}", CANDLE_CORE.override_variable());
    let source = Source::find(&CANDLE_CORE, &Places::from_env(&CANDLE_CORE)?)?;
    println!("cargo::rustc-env=CANDLE_CORE_SOURCES={}", source.name(&CANDLE_CORE));
    let derived = derive(&source, &Glue::read(&package.join("glue"))?)?;
    watched.extend(Output::new(package.join("gen")).write(&derived.files)?);
    if let Some(warning) = source.warning(&CANDLE_CORE) {
        println!("cargo::warning={warning}");
        watched.push(source.origin().path().to_path_buf());
    }
    if fs::read_to_string(package.join("audit.txt")).unwrap_or_default() != derived.audit {
        println!(
            "cargo::warning=this candle-core is not the one that audit.txt was read for: see crates/candle-core"
        );
    }
    for path in watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    Ok(())
}
