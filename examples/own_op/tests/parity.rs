//! The op's cases on the CPU and on the software GPU: `cargo test` fails if one computes something else than the formula.

mod op;

use std::error::Error;
use std::path::Path;

use parity_run::{Column, Plan, Selection, Session, Settings, Which, serve_if_asked};

fn main() -> Result<(), Box<dyn Error>> {
    op::register()?;
    // A case runs in a process of its own, which is this program again.
    if serve_if_asked()? {
        return Ok(());
    }
    let settings = Settings {
        selection: Selection {
            spec_dir: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("specs")),
            which: Which::default(),
        },
        columns: Column::all(&["cpu,rocm:gfx1100"])?,
        no_fallback: true,
        ..Settings::default()
    };
    let run = Plan::load(&settings)?.run(&settings, Session::default(), |_| {})?;
    match run.failing()? {
        0 => {
            println!(
                "{} cases of quick_geglu agree on the CPU and on gfx1100",
                run.record.planned
            );
            Ok(())
        }
        failing => Err(format!("{failing} results of {} cases fail:\n{run}", run.record.planned).into()),
    }
}
