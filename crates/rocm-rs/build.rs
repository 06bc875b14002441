//! Takes the four files of raw bindings out of the pristine rocm-rs archive. Runs no bindgen and links nothing.

use std::{env, error::Error, fs, path::Path};

use candle_overlay::pristine::{Places, ROCM_RS, Source};

const MODULES: [&str; 4] = ["hip", "rocblas", "miopen", "rocrand"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={}", ROCM_RS.override_variable());
    let source = Source::find(&ROCM_RS, &Places::from_env(&ROCM_RS)?).inspect_err(|error| {
        // Shown in full: the Debug form that a failing build script ends with hides the line breaks.
        for line in error.to_string().lines() {
            println!("cargo::error={line}");
        }
    })?;
    if let Some(warning) = source.warning(&ROCM_RS) {
        println!("cargo::warning={warning}");
        println!("cargo::rerun-if-changed={}", source.origin().path().display());
    }
    let out = env::var("OUT_DIR")?;
    for module in MODULES {
        let bindings = source.file(&format!("src/{module}/bindings.rs"))?;
        fs::write(Path::new(&out).join(format!("{module}.rs")), bindings)?;
    }
    Ok(())
}
