//! Writes a package that runs upstream's own candle-core tests on the overlay:
//!
//! ```sh
//! cargo run -p candle-overlay --bin upstream-tests -- /tmp/upstream-tests
//! cargo test --manifest-path /tmp/upstream-tests/Cargo.toml -- --skip _rocm   # what upstream tests, on the CPU
//! cargo test --manifest-path /tmp/upstream-tests/Cargo.toml -- _rocm          # the same on the ROCm device
//! ```
//!
//! The tests come from the checked archive; the rules give each `test_device!` a ROCm variant and each exhaustive
//! `match` on a device its arm.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use candle_overlay::{
    derive::derive_test,
    output::Output,
    pristine::{CANDLE_CORE, Places, Source},
};

/// What upstream's tests use beside candle-core, in upstream's versions.
const DEPENDENCIES: &str = r#"
anyhow = { version = "1", features = ["backtrace"] }
float8 = "0.7"
half = "2.5"
num-traits = "0.2"
rand = "0.9"
safetensors = "0.8"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = env::args_os()
        .nth(1)
        .ok_or("usage: upstream-tests FOLDER")?
        .into();
    let source = Source::find(&CANDLE_CORE, &Places::from_env(&CANDLE_CORE)?)?;
    let overlay = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../candle-core")
        .canonicalize()?;
    let manifest = format!(
        "[package]\nname = \"upstream-tests\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n\
         candle-core = \"={}\"{DEPENDENCIES}\n[patch.crates-io]\ncandle-core = {{ path = {overlay:?} }}\n\n[profile.dev.package.\"*\"]\nopt-level = 2\n",
        CANDLE_CORE.version
    );
    let mut tests = BTreeMap::new();
    for (path, bytes) in source.files() {
        if let Some(name) = path.strip_prefix("tests/") {
            let contents = if path.ends_with(".rs") {
                derive_test(path, bytes)?
            } else {
                bytes.to_vec()
            };
            tests.insert(name.to_owned(), contents);
        }
    }
    if tests.is_empty() {
        return Err(format!("{} holds no tests", source.origin().path().display()).into());
    }
    Output::new(folder.join("tests")).write(&tests)?;
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "//! Upstream's tests are in tests/.\n")?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(())
}
