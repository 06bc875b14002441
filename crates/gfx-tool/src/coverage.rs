//! What `gfx exec` says and writes of what was executed of a program's kernels.

use std::io;
use std::path::Path;

use kernel_coverage::{Collector, Coverage, render};

use crate::args;
use crate::{CommandResult, Failure};

impl args::Coverage {
    /// Whether it is to be noted what is executed.
    pub(crate) fn is_wanted(&self) -> bool {
        self.coverage.is_some() || self.lcov.is_some()
    }
}

/// Writes what the processes of a program left in a folder, as was asked for.
pub(crate) fn write(asked: &args::Coverage, folder: &Path, stderr: &mut impl io::Write) -> CommandResult {
    if !asked.is_wanted() {
        return Ok(());
    }
    let coverage = match folder.exists() {
        true => collected(folder).map_err(|why| Failure::Said(format!("no coverage: {why}")))?,
        false => {
            let why = "no coverage: no process of the program loaded a kernel";
            return Err(Failure::Said(why.to_owned()));
        }
    };
    for (target, sums) in coverage.targets() {
        // What nobody can read changes nothing.
        writeln!(stderr, "  coverage: {target}: {}", render::words(&sums)).ok();
    }
    let unwritten =
        |path: &Path, error: io::Error| Failure::Said(format!("cannot write {}: {error}", path.display()));
    if let Some(path) = &asked.coverage {
        coverage.write(path).map_err(|error| unwritten(path, error))?;
    }
    if let Some(path) = &asked.lcov {
        let text = render::lcov(&coverage);
        std::fs::write(path, &text).map_err(|error| unwritten(path, error))?;
        if text.is_empty() {
            return Err(Failure::Said(format!(
                "{} is empty: the kernels that ran have no lines of source. Compile them with -gline-tables-only",
                path.display()
            )));
        }
    }
    Ok(())
}

fn collected(folder: &Path) -> Result<Coverage, kernel_coverage::CollectError> {
    Collector::of_folder(folder)?.coverage()
}
