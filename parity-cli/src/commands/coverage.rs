//! `parity coverage`: which instructions of kernels were executed, and the file that says it.

use std::path::Path;

use kernel_coverage::{CollectError, Collector, Coverage, ReadError, read, render};

use crate::{
    args::{CoverageArgs, CoverageFormat},
    exit::{Exit, Failure},
    output::put_page,
};

pub(crate) fn coverage(args: &CoverageArgs) -> Result<Exit, Failure> {
    let mut all = Coverage::empty();
    for path in &args.files {
        let one = read(path).map_err(unread)?;
        all.add(one)
            .map_err(|why| Failure::new(Exit::BadData, format!("{}: {why}", path.display())))?;
    }
    if all.objects.is_empty() {
        return Err(Failure::new(
            Exit::NothingMatched,
            "the files hold no code object",
        ));
    }
    let page = match (args.format, &args.out) {
        (CoverageFormat::Json, Some(path)) => return store(&all, path).map(|()| Exit::Ok),
        (CoverageFormat::Json, None) => {
            let text = all.to_json().map_err(|error| internal(&error))?;
            String::from_utf8(text).map_err(|error| internal(&error))?
        }
        (CoverageFormat::Text, _) => render::text(&all),
        (CoverageFormat::Lcov, _) => lcov(&all)?,
    };
    put_page(args.out.as_deref(), &page)?;
    Ok(Exit::Ok)
}

fn lcov(coverage: &Coverage) -> Result<String, Failure> {
    let page = render::lcov(coverage);
    if page.is_empty() {
        return Err(Failure::new(
            Exit::NothingMatched,
            "no kernel has a line table, by which lcov counts; compile them with -gline-tables-only, name the folder in \
             ROCM_CODE_OBJECTS and run again",
        ));
    }
    Ok(page)
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}

fn unread(error: ReadError) -> Failure {
    let exit = match &error {
        ReadError::Io { .. }
        | ReadError::Folder {
            source: CollectError::Io { .. },
            ..
        } => Exit::NoInput,
        ReadError::Folder {
            source: CollectError::Nothing,
            ..
        } => Exit::NothingMatched,
        ReadError::TooLong { .. } | ReadError::Wrong { .. } | ReadError::Folder { .. } => Exit::BadData,
    };
    Failure::new(exit, error.to_string())
}

fn store(coverage: &Coverage, path: &Path) -> Result<(), Failure> {
    coverage
        .write(path)
        .map_err(|error| Failure::new(Exit::Io, format!("cannot write {}: {error}", path.display())))
}

/// Writes what a run noted; `adds` to what the file holds, where it is there.
pub(super) fn keep(noted: &Collector, path: &Path, adds: bool) -> Result<(), Failure> {
    let mut coverage = noted.coverage().map_err(|error| {
        let exit = match error {
            CollectError::Nothing => Exit::NothingMatched,
            _ => Exit::Internal,
        };
        Failure::new(exit, format!("no coverage is written: {error}"))
    })?;
    if adds && path.exists() {
        let before = read(path).map_err(unread)?;
        coverage
            .add(before)
            .map_err(|why| Failure::new(Exit::BadData, format!("{}: {why}", path.display())))?;
    }
    store(&coverage, path)
}
