//! Runs upstream's own tests, candle-core's and candle-nn's, on the CPU and on the ROCm device, and writes a page that lists
//! them by name:
//!
//! ```sh
//! cargo run -p candle-overlay --bin upstream-tests -- /tmp/upstream                       # writes a workspace
//! cargo run -p candle-overlay --bin upstream-tests -- /tmp/upstream --page upstream.md    # and runs it
//! cargo test --manifest-path /tmp/upstream/Cargo.toml --test conv_tests                   # some of it by hand
//! ```
//!
//! The tests come from the checked archives; the rules give each `test_device!` a ROCm variant and each exhaustive `match` on
//! a device its arm, and a file whose tests name the CPU gets a copy that is moved to the ROCm device
//! ([`candle_overlay::moved`]). Built and run it takes minutes. The exit code says whether all that pass on the CPU pass on
//! the device or have a reason.

mod harness;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use candle_overlay::{
    page::{self, Section},
    pristine::{Places, Source},
    upstream::{SUITES, Suite, Test, Tests},
};

const USAGE: &str = "usage: upstream-tests FOLDER [--page FILE]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let (folder, page) = match &arguments[..] {
        [folder] => (Path::new(folder), None),
        [folder, option, page] if option == "--page" => (Path::new(folder), Some(page)),
        _ => return Err(USAGE.into()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let mut suites = Vec::new();
    for suite in &SUITES {
        suites.push((suite, write(suite, &folder.join(suite.release.name))?));
    }
    write_workspace(&root, folder)?;
    let Some(page) = page else {
        return Ok(());
    };
    let mut sections = Vec::new();
    for (suite, tests) in suites {
        let release = suite.release;
        let rounded = tests.tests.iter().filter_map(Test::rounded_as_cpu).collect();
        sections.push(Section {
            title: format!("{} {}", release.name, release.version),
            tests: tests.tests,
            outcomes: harness::run(&folder.canonicalize()?, release.name, &target(&root), &rounded)?,
        });
    }
    let device = harness::device(folder, SUITES[0].release.name, &target(&root))?;
    fs::write(page, page::render(&device, &sections))?;
    match page::has_failures(&sections) {
        true => Err("a test that passes on the CPU does not pass on the ROCm device".into()),
        false => Ok(()),
    }
}

/// Where this workspace builds, so that its packages are not built again.
fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn write(suite: &Suite, folder: &Path) -> Result<Tests, Box<dyn Error>> {
    let release = suite.release;
    let source = Source::find(release, &Places::from_env(release)?)?;
    let mut tests = Tests::of(suite, &source)?;
    if tests.tests.is_empty() {
        return Err(format!("{} holds no tests", source.origin().path().display()).into());
    }
    tests.files.insert(
        format!("{}.rs", harness::DEVICE),
        harness::device_test(suite.library).into_bytes(),
    );
    write_files(&folder.join("tests"), &tests.files)?;
    let library = (
        "lib.rs".to_owned(),
        b"//! Upstream's tests are in tests/.\n".to_vec(),
    );
    write_files(&folder.join("src"), &BTreeMap::from([library]))?;
    let manifest = format!(
        "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[features]\naccelerate = []\n\
         cuda = []\ncutile = []\nmetal = []\nmkl = []\n\n[dependencies]{}",
        harness::package(release.name),
        suite.dependencies.replace("VERSION", release.version)
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(tests)
}

/// Makes `folder` hold exactly `files`; what is there already keeps its time, so that cargo builds what changed.
fn write_files(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry
            .file_name()
            .to_str()
            .is_some_and(|name| files.contains_key(name))
        {
            fs::remove_file(entry.path())?;
        }
    }
    for (name, contents) in files {
        let path = folder.join(name);
        if !fs::read(&path).is_ok_and(|there| there == *contents) {
            fs::write(&path, contents)?;
        }
    }
    Ok(())
}

/// The workspace around the suites. It has this one's versions and profiles, so that one target folder serves both.
fn write_workspace(root: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let ours = fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles = ours
        .split_once("[profile.dev]")
        .and_then(|(_, rest)| rest.split_once("[profile.release]"))
        .map_or("", |(profiles, _)| profiles);
    let members = SUITES.map(|suite| format!("{:?}", suite.release.name)).join(", ");
    let mut manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\ncandle-core = {{ path = {:?} }}\n\n\
         [profile.dev]{profiles}",
        root.join("crates/candle-core")
    );
    // Members there, dependencies here.
    for package in [
        "rocm-backend",
        "rocm-soft",
        "rocm-rs",
        "kernel-build",
        "candle-overlay",
    ] {
        manifest += &format!("[profile.dev.package.{package}]\nopt-level = 0\noverflow-checks = true\n");
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}
