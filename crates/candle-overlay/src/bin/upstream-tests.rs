//! Writes a workspace that runs upstream's own tests, candle-core's and candle-nn's, on the overlay:
//!
//! ```sh
//! cargo run -p candle-overlay --bin upstream-tests -- /tmp/upstream-tests
//! cargo test --manifest-path /tmp/upstream-tests/Cargo.toml -- --skip _rocm   # what upstream tests, on the CPU
//! cargo test --manifest-path /tmp/upstream-tests/Cargo.toml -- _rocm          # the same on the ROCm device
//! ```
//!
//! The tests come from the checked archives; the rules give each `test_device!` a ROCm variant and each exhaustive
//! `match` on a device its arm. Most of candle-nn's tests name the CPU: each such file gets a copy that is moved to the
//! ROCm device ([`moved`]), in which those below are ignored: they test nothing that a device does.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use candle_overlay::{
    derive::derive_test,
    moved,
    output::Output,
    pristine::{CANDLE_CORE, CANDLE_NN, Places, Release, Source},
};

/// A release, and what its tests use beside it, in upstream's versions.
struct Suite {
    release: &'static Release,
    dependencies: &'static str,
    /// Whether tests that name the CPU are moved: candle-core's have a variant for each device already.
    moves: bool,
}

const SUITES: [Suite; 2] = [
    Suite {
        release: &CANDLE_CORE,
        dependencies: r#"
candle-core = "=VERSION"
anyhow = { version = "1", features = ["backtrace"] }
float8 = "0.7"
half = "2.5"
num-traits = "0.2"
rand = "0.9"
safetensors = "0.8"
"#,
        moves: false,
    },
    Suite {
        release: &CANDLE_NN,
        dependencies: r#"
candle = { package = "candle-core", version = "=VERSION" }
candle-nn = "=VERSION"
anyhow = { version = "1", features = ["backtrace"] }
half = "2.5"
rand = "0.9"
"#,
        moves: true,
    },
];

/// candle-nn's tests that are of the CPU: file, a part of the name, and the reason.
const OF_THE_CPU: [(&str, &str, &str); 6] = [
    ("cpu_flash_attn.rs", "causal", HOST_MEMORY),
    ("cpu_flash_attn.rs", "standard", HOST_MEMORY),
    ("varlen_flash_attention.rs", "cpu_flash", HOST_MEMORY),
    ("varlen_flash_attention.rs", "fused_vs_unfused", HOST_MEMORY),
    (
        "bf16_conv_bench.rs",
        "",
        "prints timings of the CPU, and checks nothing",
    ),
    ("cutile_moe.rs", "", "calls kernels of NVIDIA's cuTile"),
];
const HOST_MEMORY: &str =
    "candle's flash attention for the CPU reads host memory; its CUDA device has it not either";

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = env::args_os()
        .nth(1)
        .ok_or("usage: upstream-tests FOLDER")?
        .into();
    let overlay = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../candle-core")
        .canonicalize()?;
    for suite in SUITES {
        write(&suite, &folder.join(suite.release.name))?;
    }
    let manifest = format!(
        "[workspace]\nresolver = \"2\"\nmembers = [\"{}\", \"{}\"]\n\n[patch.crates-io]\n\
         candle-core = {{ path = {overlay:?} }}\n\n[profile.dev]\n\
         debug = \"line-tables-only\"\n\n[profile.dev.package.\"*\"]\nopt-level = 2\noverflow-checks = false\n\n\
         [profile.dev.package.gfx-emu]\nopt-level = 3\n",
        CANDLE_CORE.name, CANDLE_NN.name
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(())
}

fn write(suite: &Suite, folder: &Path) -> Result<(), Box<dyn Error>> {
    let release = suite.release;
    let source = Source::find(release, &Places::from_env(release)?)?;
    let mut tests = BTreeMap::new();
    for (path, bytes) in source.files() {
        let Some(name) = path.strip_prefix("tests/") else {
            continue;
        };
        let Some(stem) = name.strip_suffix(".rs") else {
            tests.insert(name.to_owned(), bytes.to_vec());
            continue;
        };
        tests.insert(name.to_owned(), derive_test(path, bytes)?);
        let ignored = |test: &str| {
            let mut rows = OF_THE_CPU
                .iter()
                .filter(|(file, part, _)| *file == name && test.contains(part));
            rows.next().map(|(.., reason)| *reason)
        };
        if suite.moves
            && let Some(text) = moved::on_rocm(path, bytes, &ignored)?
        {
            tests.insert(format!("{stem}_rocm.rs"), text.into_bytes());
        }
    }
    if tests.is_empty() {
        return Err(format!("{} holds no tests", source.origin().path().display()).into());
    }
    Output::new(folder.join("tests")).write(&tests)?;
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "//! Upstream's tests are in tests/.\n")?;
    let manifest = format!(
        "[package]\nname = \"upstream-tests-{}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[features]\naccelerate = []\n\
         cuda = []\ncutile = []\nmetal = []\nmkl = []\n\n[dependencies]{}",
        release.name,
        suite.dependencies.replace("VERSION", release.version)
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(())
}
