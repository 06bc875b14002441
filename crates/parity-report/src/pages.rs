//! The pages that stand in `reports/`: each is a table that other projects keep by hand, generated from a run and from
//! the code objects. Writes no file.

mod components;
mod coverage;
pub mod kernels;

use parity_model::record::RunRecord;

use crate::markdown::{self, GENERATED};
use kernels::CodeObject;

/// A generated page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its file name, e.g. `coverage.md`.
    pub name: &'static str,
    /// What is in it.
    pub text: String,
}

/// Every page: `status.md`, `components.md` and `coverage.md` from the run, `kernels.md` where there are code objects.
pub fn pages(run: &RunRecord, objects: &[CodeObject]) -> Vec<Page> {
    let mut pages = vec![
        Page {
            name: "status.md",
            text: markdown::render(run),
        },
        Page {
            name: "components.md",
            text: components::render(run),
        },
        Page {
            name: "coverage.md",
            text: coverage::render(run),
        },
    ];
    if !objects.is_empty() {
        pages.push(Page {
            name: "kernels.md",
            text: kernels::render(kernels::INVENTORY, objects),
        });
    }
    pages
}

/// The mark of a generated page, its title and where its figures come from.
fn opening(title: &str, run: &RunRecord) -> String {
    let mut page = format!("{GENERATED}# {title}\n\n");
    // Writing to a `String` does not fail.
    let _ = markdown::write_provenance(&mut page, run);
    page
}
