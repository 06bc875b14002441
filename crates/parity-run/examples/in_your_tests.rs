//! Runs a plan from the tests of one's own crate: `cargo test` fails if a backend computes something else than it should.
//! In a crate's Cargo.toml: `[[test]] name = "parity", harness = false`.

use std::{error::Error, path::Path};

use parity_run::{Column, Criteria, Plan, Selection, Session, Settings, Which, names, serve_if_asked};

fn main() -> Result<(), Box<dyn Error>> {
    // A case runs in a process of its own, which is this program again.
    if serve_if_asked()? {
        return Ok(());
    }
    let criteria = Criteria {
        ops: vec![names::ops("silu")?],
        dtypes: vec![names::dtype("f32")?],
        ..Criteria::default()
    };
    let settings = Settings {
        selection: Selection {
            spec_dir: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../op-specs")),
            which: Which::Matching(Box::new(criteria)),
        },
        columns: Column::all(&["cpu,rocm"])?,
        ..Settings::default()
    };
    let run = Plan::load(&settings)?.run(&settings, Session::default(), |_| {})?;
    match run.failing()? {
        0 => Ok(()),
        failing => Err(format!("{failing} of {} cases fail:\n{run}", run.record.planned).into()),
    }
}
