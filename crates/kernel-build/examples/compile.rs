//! Compiles a folder of kernels into a folder of code objects, which `ROCM_CODE_OBJECTS` makes rocm-backend use:
//!
//! ```sh
//! cargo run -q -p kernel-build --example compile -- rocm-backend/kernels /tmp/objects gfx1100
//! ROCM_CODE_OBJECTS=/tmp/objects ./parity run --backend rocm --ops exp
//! ```
//!
//! `--level O0` in front compiles them at another level of optimisation than O3: O0, O1, O2 or Os.

use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;

use kernel_build::{OptLevel, Target};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (level, args) = match args.as_slice() {
        [option, level, rest @ ..] if option == "--level" => (level.parse(), rest),
        all => (Ok(OptLevel::default()), all),
    };
    let [kernels, objects, targets] = args else {
        return fail("usage: compile [--level LEVEL] KERNEL_DIR OBJECT_DIR TARGETS");
    };
    let jobs = available_parallelism().map_or(1, usize::from);
    let built = std::fs::create_dir_all(objects)
        .map_err(|error| format!("cannot create {objects}: {error}"))
        .and_then(|()| Target::parse_list(targets))
        .and_then(|targets| {
            kernel_build::compile_at(level?, Path::new(kernels), &targets, Path::new(objects), jobs)
        });
    match built {
        Ok(built) if built.warnings.is_empty() => ExitCode::SUCCESS,
        Ok(built) => fail(&built.warnings.join("\n")),
        Err(error) => fail(&error),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a program of its own, whose only output this is"
)]
fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
