//! Makes the pages of `reports/` anew, or says which are not what they would be made today.
//!
//! ```sh
//! cargo run -p repo-pages             # render the records that are there, the kernels, the sources and the tables
//! cargo run -p repo-pages -- --check  # write nothing; exit 100 if a page or the specs have moved
//! cargo run -p repo-pages -- --cover  # first run the ci tier on three cards, and keep what it executed of kernels
//! cargo run -p repo-pages -- --run    # first run the ci tier and candle's own tests, and keep what they did
//! ```
//!
//! `PARITY` names the program that runs; it is `./parity` otherwise, which builds it. A run with failures is kept and
//! rendered too, and its exit code is this command's.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
};

use candle_overlay::pristine::{CANDLE_CORE, CANDLE_NN, Places, Release, Source};
use flate2::{Compression, GzBuilder};
use kernel_build::Target;
use parity_report::html;
use parity_run::{RunRecord, digest, findings, records, specs};
use repo_pages::{CodeObject, Material, Page, Sources, pages};
use rocm_env::{Driver, Libraries, names};

/// The run that the pages are of, and one with models of AMD's libraries, whose figures are listed apart.
const RECORD: &str = "reports/run.json.gz";
const MODELS: &str = "reports/models.json.gz";
/// A run of `parity model --all --format json`.
const ZOO: &str = "reports/models-zoo.json";
/// What the ci tier executed of kernels, and on which cards.
const COVERAGE: &str = "reports/kernel-coverage.json.gz";
const CARDS: &str = "rocm:gfx1100,rocm:gfx942,rocm:gfx90a";
/// Targets whose kernels are compared with candle's.
const TARGETS: &str = "gfx1100,gfx942";
/// What `parity run` exits with when results fail it, and this command when a page is stale.
const FAILED: u8 = 100;

/// Why there are no pages, in words that name the place.
type Result<T> = std::result::Result<T, String>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Render,
    Check,
    Cover,
    Run,
}

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let mode = match (args.next().as_deref(), args.next()) {
        (None, _) => Mode::Render,
        (Some("--check"), None) => Mode::Check,
        (Some("--cover"), None) => Mode::Cover,
        (Some("--run"), None) => Mode::Run,
        _ => return fail("usage: repo-pages [--check | --cover | --run]", 64),
    };
    make(mode).unwrap_or_else(|why| fail(&why, 1))
}

fn fail(words: &str, code: u8) -> ExitCode {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "error: {words}");
    ExitCode::from(code)
}

fn make(mode: Mode) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root
        .canonicalize()
        .map_err(|error| format!("the repository is gone: {error}"))?;
    let code = match mode {
        Mode::Run => run(&root)?,
        Mode::Cover => cover(&root)?,
        Mode::Render | Mode::Check => 0,
    };
    let read = |path: &str| records::read(&root.join(path)).map(|stored| stored.run);
    let read = |path: &str| read(path).map_err(|error| error.to_string());
    let (record, models) = (read(RECORD)?, read(MODELS)?);
    let coverage = root.join(COVERAGE);
    let coverage = coverage
        .exists()
        .then(|| kernel_coverage::read(&coverage))
        .transpose();
    let coverage = coverage.map_err(|error| error.to_string())?;
    let material = Material {
        coverage: coverage.as_ref(),
        run: &record,
        models: Some(&models),
        objects: &code_objects(&root)?,
        sources: &sources(&root)?,
    };
    let unrendered = |error: serde_json::Error| format!("the record cannot be rendered: {error}");
    let mut all = pages(&material).map_err(unrendered)?;
    all.push(Page {
        name: "index.html",
        text: html::render(&record).map_err(unrendered)?,
    });
    let zoo = root.join(ZOO);
    if zoo.exists() {
        let record = parity_zoo::read(&zoo).map_err(|error| error.to_string())?;
        all.push(Page {
            name: "models-zoo.md",
            text: parity_zoo::markdown(&record),
        });
    }
    let folder = root.join("reports");
    let mut stale = vec![];
    for page in &all {
        let path = folder.join(page.name);
        match mode {
            Mode::Check => stale.extend(page.difference(&path)),
            Mode::Render | Mode::Cover | Mode::Run => write(&path, page.text.as_bytes())?,
        }
    }
    if mode == Mode::Check {
        stale.extend(moved_rules(&root, &[&record, &models])?);
    }
    // The instructions that tests check are known to the tests alone.
    let mut tests = cargo(&root);
    tests.args([
        "test", "--quiet", "--locked", "-p", "gfx-emu", "--test", "isa", "page",
    ]);
    if mode != Mode::Check {
        tests.env("GFX_WRITE_REPORT", "1");
    }
    if call(&mut tests)? != 0 {
        stale.push("reports/isa.md is not what the tables and tests of gfx-emu make it".to_owned());
    }
    if stale.is_empty() {
        return Ok(ExitCode::from(code));
    }
    let words = stale.join("\n  ");
    Ok(fail(
        &format!("reports are stale; `ci/reports` makes them anew\n  {words}"),
        FAILED,
    ))
}

/// Runs what the pages are of, and keeps it. The exit code of the runs, if they came to their end.
fn run(root: &Path) -> Result<u8> {
    let work = work(root)?;
    let models = ["--ops", "matmul,conv,pool,random"];
    let libraries = [
        (names::DRIVER, Driver::Soft.word()),
        (names::LIBRARIES, Libraries::Model.word()),
    ];
    let mut code = 0;
    for (kept, select, variables) in [(RECORD, &[][..], &[][..]), (MODELS, &models, &libraries)] {
        let out = work.join("run.json");
        let mut parity = Command::new(env::var_os("PARITY").unwrap_or_else(|| "./parity".into()));
        parity
            .args(["run", "--backend", "rocm", "--format", "json", "--out"])
            .arg(&out)
            .args(select);
        parity.envs(variables.iter().copied()).current_dir(root);
        code = match call(&mut parity)? {
            0 => code,
            FAILED => FAILED,
            other => return Err(format!("parity run ended with {other}")),
        };
        let mut packed = GzBuilder::new().write(vec![], Compression::best());
        let text = fs::read(&out).map_err(|error| format!("cannot read {}: {error}", out.display()))?;
        let packed = packed.write_all(&text).and_then(|()| packed.finish());
        write(&root.join(kept), &packed.map_err(|error| error.to_string())?)?;
    }
    let mut upstream = cargo(root);
    upstream.args([
        "run",
        "--quiet",
        "--locked",
        "-p",
        "candle-overlay",
        "--bin",
        "upstream-tests",
        "--",
    ]);
    upstream
        .arg(work.join("upstream"))
        .args(["--page", "reports/upstream.md"]);
    match call(&mut upstream)? {
        0 => Ok(code),
        other => Err(format!("candle's own tests ended with {other}")),
    }
}

/// Runs the ci tier on three cards, and keeps what it executed of kernels.
fn cover(root: &Path) -> Result<u8> {
    let out = work(root)?.join("cover.json");
    let mut parity = Command::new(env::var_os("PARITY").unwrap_or_else(|| "./parity".into()));
    parity
        .args(["run", "--backend", CARDS, "--format", "json", "--out"])
        .arg(&out)
        .args(["--coverage", COVERAGE])
        .current_dir(root);
    match call(&mut parity)? {
        code @ (0 | FAILED) => Ok(code),
        other => Err(format!("parity run ended with {other}")),
    }
}

/// What else than the specs and findings of today the records went by.
fn moved_rules(root: &Path, runs: &[&RunRecord]) -> Result<Vec<String>> {
    let dir = root.join("op-specs");
    let today = || {
        let all = specs::load(&dir)?;
        Ok(digest::rules(&all, &findings::load(None, &dir, &all)?))
    };
    let today: String = today().map_err(|error: parity_run::Error| error.to_string())?;
    let moved = runs.iter().filter(|run| run.specs != today);
    let words = |run: &&RunRecord| {
        let (started, then) = (&run.started, &run.specs);
        format!("the record of {started} went by other specs or findings: SHA-256 {then} there, {today} here")
    };
    Ok(moved.map(words).collect())
}

/// The kernels, compiled as they are now.
fn code_objects(root: &Path) -> Result<Vec<CodeObject>> {
    let dir = folder(work(root)?.join("objects"))?;
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let targets = Target::parse_list(TARGETS)?;
    kernel_build::compile(&root.join("rocm-backend/kernels"), &targets, &dir, jobs)?;
    let mut paths = entries(&dir)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hsaco"));
    let read = |path: &PathBuf| {
        let elf = fs::read(path).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        CodeObject::read(&name, &elf).map_err(|error| format!("{}: {error}", path.display()))
    };
    paths.iter().map(read).collect()
}

/// The sources that pages point into: ours, and candle's packages as published.
fn sources(root: &Path) -> Result<Sources> {
    let mut sources = Sources::default();
    for folder in Sources::FOLDERS {
        add(&mut sources, &root.join(folder), folder)?;
    }
    for release in [CANDLE_CORE, CANDLE_NN] {
        let Release { name, version, .. } = release;
        let found = Places::from_env(&release).and_then(|places| Source::find(&release, &places));
        let found = found.map_err(|error| error.to_string())?;
        for (path, bytes) in found.files().filter(|(path, _)| path.ends_with(".rs")) {
            let text = String::from_utf8_lossy(bytes);
            sources.add(format!("{name}-{version}/{path}"), text);
        }
    }
    Ok(sources)
}

/// The Rust files of a folder, and of the folders in it, under the names that begin with `name`.
fn add(sources: &mut Sources, dir: &Path, name: &str) -> Result<()> {
    for path in entries(dir)? {
        let name = format!(
            "{name}/{}",
            path.file_name().unwrap_or_default().to_string_lossy()
        );
        if path.is_dir() {
            add(sources, &path, &name)?;
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {name}: {error}"))?;
            sources.add(name, text);
        }
    }
    Ok(())
}

/// What lies in a folder, by name.
fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(dir).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    let mut paths: Vec<PathBuf> =
        entries.map_err(|error| format!("cannot read {}: {error}", dir.display()))?;
    paths.sort();
    Ok(paths)
}

/// A folder for what is made on the way.
fn work(root: &Path) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    folder(target.join("reports"))
}

fn folder(dir: PathBuf) -> Result<PathBuf> {
    let made = fs::create_dir_all(&dir);
    made.map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    Ok(dir)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}

/// Runs a program to its end. One that a signal ended has no exit code and gets `u8::MAX`.
fn call(command: &mut Command) -> Result<u8> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX))
}
