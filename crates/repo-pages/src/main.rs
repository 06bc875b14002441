//! Makes the pages of `reports/` and docs/environment.md anew, or says which are not what they would be made today.
//!
//! ```sh
//! cargo run -p repo-pages             # render the records that are there, the kernels, the sources and the tables
//! cargo run -p repo-pages -- --check  # write nothing; exit 100 if a page or the specs have moved
//! cargo run -p repo-pages -- --cover  # first run the ci tier and rocm-backend's tests on three cards, and keep what they executed of kernels
//! cargo run -p repo-pages -- --cost   # render the page of counters alone
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
use kernel_coverage::Coverage;
use parity_report::html;
use parity_run::{Backend, RunRecord, digest, findings, records, specs};
use repo_pages::{CodeObject, Material, Page, Sources, pages};
use rocm_env::{Driver, Libraries, names};

/// The run that the pages are of, and one with models of AMD's libraries, whose figures are listed apart.
const RECORD: &str = "reports/run.json.gz";
const MODELS: &str = "reports/models.json.gz";
/// Stored runs of `parity model --all --format json`, each with a page of its name.
const ZOO: [(&str, &str); 3] = [
    ("reports/models-zoo.json", "models.md"),
    ("reports/models-h200.json", "models-h200.md"),
    ("reports/models-trained.json", "models-trained.md"),
];
/// Runs of `parity bench --backend cuda,rocm:nvidia --format json` on one card: of today's kernels, and of earlier ones.
const SILICON: [&str; 2] = ["reports/silicon.json.gz", "reports/silicon-before.json.gz"];
/// What `parity bench` counted on three software GPUs, of today's kernels, which `ci/cost --record` stores, and of earlier ones.
const COST: [&str; 2] = ["reports/cost.json.gz", "reports/cost-before.json.gz"];
/// What the ci tier executed of kernels, what it and the backend's own tests did, and on which cards.
const COVERAGE: [&str; 2] = [
    "reports/kernel-coverage.json.gz",
    "reports/kernel-coverage-and-tests.json.gz",
];
/// What became of faults in kernels, which `ci/mutants --record` stores.
const MUTANTS: &str = "reports/kernel-mutants.json.gz";
const CARDS: [&str; 3] = ["gfx1100", "gfx942", "gfx90a"];
/// The tests of rocm-backend that launch its kernels: files, and modules of its library.
const TESTS: [&str; 3] = ["on_device", "kernels_policy", "libraries"];
const LIB_TESTS: [&str; 2] = ["--lib", "hip::launch::"];
/// Pages that a test makes, and that the test alone holds to their sources: the test's file, the variable with which it writes the page,
/// and what is wrong where it fails.
const TESTED: [(&str, &str, &str); 3] = [
    (
        "isa",
        "GFX_WRITE_REPORT",
        "reports/isa.md is not what the tables and tests of gfx-emu make it",
    ),
    (
        "candle_findings",
        "WRITE_FINDINGS",
        "reports/candle-findings.md, or the list of its tests, is not what findings/ makes it",
    ),
    (
        "page",
        "WRITE_ENVIRONMENT",
        "docs/environment.md is not what the table of crates/rocm-env makes it",
    ),
];
/// Targets whose kernels are compared with candle's.
const TARGETS: &str = "gfx1100,gfx942";
/// What `parity run` exits with when results fail it, and this command when a page is stale.
const FAILED: u8 = 100;

/// Why there are no pages, in words that name the place.
type Result<T> = std::result::Result<T, String>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Render,
    /// Without `tested` the pages of [`TESTED`] are left out, which the workspace's tests hold to their sources.
    Check {
        tested: bool,
    },
    Cover,
    Cost,
    Run,
}

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let mode = match (args.next().as_deref(), args.next()) {
        (None, _) => Mode::Render,
        (Some("--check"), None) => Mode::Check { tested: true },
        (Some("--check-rendered"), None) => Mode::Check { tested: false },
        (Some("--cover"), None) => Mode::Cover,
        (Some("--cost"), None) => Mode::Cost,
        (Some("--run"), None) => Mode::Run,
        _ => {
            return fail(
                "usage: repo-pages [--check | --check-rendered | --cost | --cover | --run]",
                64,
            );
        }
    };
    make(mode).unwrap_or_else(|why| fail(&why, 1))
}

/// The page of what kernels cost.
fn cost(root: &Path) -> Result<Page> {
    let read = |path: &str| parity_run::cost::read(&root.join(path)).map_err(|error| error.to_string());
    let [run, before] = [read(COST[0])?, read(COST[1])?];
    let measured = parity_run::bench::read(&root.join(SILICON[0])).map_err(|error| error.to_string())?;
    Ok(repo_pages::cost(&run, &before, &measured))
}

/// The page of what calls take on a real GPU.
fn silicon(root: &Path) -> Result<Page> {
    let read = |path: &str| parity_run::bench::read(&root.join(path)).map_err(|error| error.to_string());
    let [now, before] = [read(SILICON[0])?, read(SILICON[1])?];
    let mean = |run: &parity_bench::BenchRun, large| {
        let ratios = parity_bench::ratios(run);
        let mean = ratios.and_then(|ratios| ratios.mean(large));
        mean.map_or("-".to_owned(), |mean| format!("{mean:.2}"))
    };
    let commit = |run: &parity_bench::BenchRun| {
        run.commit
            .clone()
            .unwrap_or_else(|| "an unknown commit".to_owned())
    };
    let text = format!(
        "# On real silicon\n\nGenerated by `ci/reports` from [silicon.json.gz](silicon.json.gz); do not edit. Measured by \
         `parity bench --backend cuda,rocm:nvidia`, {} (commit {}): calls through candle, timed by events in each device's own \
         stream, the two in turn on one GPU. A ratio is the first device's time over the second's; above 1, ours is faster.\n\n\
         An earlier build of the kernels ({}, [silicon-before.json.gz](silicon-before.json.gz)) had geometric means of {} (large \
         rows) and {} (small rows); this one has {} and {}.\n\n{}",
        now.started,
        commit(&now),
        commit(&before),
        mean(&before, true),
        mean(&before, false),
        mean(&now, true),
        mean(&now, false),
        parity_bench::markdown(&now)
    );
    Ok(Page {
        name: "silicon.md",
        text,
    })
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
    if mode == Mode::Cost {
        let page = cost(&root)?;
        write(&root.join("reports").join(page.name), page.text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let code = match mode {
        Mode::Run => run(&root)?,
        Mode::Cover => cover(&root)?,
        Mode::Render | Mode::Check { .. } | Mode::Cost => 0,
    };
    let read = |path: &str| records::read(&root.join(path)).map(|stored| stored.run);
    let read = |path: &str| read(path).map_err(|error| error.to_string());
    let (record, models) = (read(RECORD)?, read(MODELS)?);
    let coverage = covered(&root)?;
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
    for (record, name) in ZOO {
        let stored = root.join(record);
        if stored.exists() {
            let record = parity_zoo::read(&stored).map_err(|error| error.to_string())?;
            all.push(Page {
                name,
                text: parity_zoo::markdown(&record),
            });
        }
    }
    let mutants = root.join(MUTANTS);
    if mutants.exists() {
        all.push(repo_pages::kernel_mutants(&repo_pages::read_mutants(&mutants)?)?);
    }
    all.push(silicon(&root)?);
    all.push(cost(&root)?);
    let folder = root.join("reports");
    let checks = matches!(mode, Mode::Check { .. });
    let mut stale = vec![];
    for page in &all {
        let path = folder.join(page.name);
        match mode {
            Mode::Check { .. } => stale.extend(page.difference(&path)),
            Mode::Render | Mode::Cost | Mode::Cover | Mode::Run => write(&path, page.text.as_bytes())?,
        }
    }
    if checks {
        stale.extend(moved_rules(&root, &[&record, &models])?);
    }
    let tested = match mode {
        Mode::Check { tested: false } => &[][..],
        _ => &TESTED,
    };
    for (target, variable, what) in tested {
        let mut tests = tests(&root);
        tests.args(["--test", target, "page"]);
        if !checks {
            tests.env(variable, "1");
        }
        if call(&mut tests)? != 0 {
            stale.push((*what).to_owned());
        }
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
            .args(["run", "--backend", Backend::Rocm.name()])
            .args(["--format", "json", "--out"])
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

/// What is kept of the coverage of kernels: by the ci tier, and by that and the backend's tests. None before the first time.
fn covered(root: &Path) -> Result<Option<[Coverage; 2]>> {
    if COVERAGE.iter().any(|path| !root.join(path).exists()) {
        return Ok(None);
    }
    let read = |path: &str| kernel_coverage::read(&root.join(path)).map_err(|error| error.to_string());
    Ok(Some([read(COVERAGE[0])?, read(COVERAGE[1])?]))
}

/// Runs the ci tier and the backend's tests on three cards, and keeps what they executed of kernels.
fn cover(root: &Path) -> Result<u8> {
    let out = work(root)?.join("cover.json");
    let backends = CARDS
        .map(|card| format!("{}:{card}", Backend::Rocm.name()))
        .join(",");
    let mut parity = Command::new(env::var_os("PARITY").unwrap_or_else(|| "./parity".into()));
    parity
        .args(["run", "--backend", &backends, "--format", "json", "--out"])
        .arg(&out)
        .args(["--coverage", COVERAGE[0]])
        .current_dir(root);
    let code = match call(&mut parity)? {
        code @ (0 | FAILED) => code,
        other => return Err(format!("parity run ended with {other}")),
    };
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let cases = kernel_coverage::read(&root.join(COVERAGE[0])).map_err(|error| failed(&error))?;
    let mut both = cases.clone();
    for card in CARDS {
        let noted = work(root)?.join(format!("cover-{card}"));
        if noted.exists() {
            fs::remove_dir_all(&noted).map_err(|error| failed(&error))?;
        }
        let of_files: Vec<_> = TESTS.iter().flat_map(|name| ["--test", name]).collect();
        for which in [of_files.as_slice(), &LIB_TESTS] {
            let mut test = tests(root);
            test.args(which);
            test.envs([(names::DRIVER, Driver::Soft.word()), (names::SOFT_TARGET, card)]);
            test.env(names::COVERAGE, folder(noted.clone())?);
            match call(&mut test)? {
                0 => {}
                other => return Err(format!("the tests of rocm-backend on {card} ended with {other}")),
            }
        }
        both.add(kernel_coverage::read(&noted).map_err(|error| failed(&error))?)?;
    }
    // Tests compile kernels of their own, too.
    both.objects
        .retain(|object| cases.objects.iter().any(|known| known.id == object.id));
    both.write(&root.join(COVERAGE[1]))
        .map_err(|error| failed(&error))?;
    Ok(code)
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

/// Tests of the workspace, as ci/test builds them: cargo would compile every crate anew for another profile.
fn tests(root: &Path) -> Command {
    let mut tests = cargo(root);
    tests.args(["test", "--release", "--config", "ci/tests.toml"]);
    tests.args(["--quiet", "--locked", "--workspace"]);
    tests
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

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::TESTED;

    /// Whether a test file of this name in the folder of a crate has the variable.
    fn reads(package: &Path, target: &str, variable: &str) -> bool {
        let tests = package.join("tests");
        let files = [format!("{target}.rs"), format!("{target}/page.rs")];
        let mut texts = files.iter().map(|file| fs::read_to_string(tests.join(file)));
        texts.any(|text| text.is_ok_and(|text| text.contains(&format!("\"{variable}\""))))
    }

    #[test]
    fn each_page_that_a_test_makes_has_that_test() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let packages = super::entries(&crates).unwrap();
        let makers = |target: &str, variable: &str| {
            let makers = packages.iter().filter(|package| reads(package, target, variable));
            makers.count()
        };
        for (target, variable, page) in TESTED {
            assert_eq!(makers(target, variable), 1, "{page}");
        }
        assert_eq!(makers("page", "GFX_WRITE_REPORT"), 0, "isa/page.rs has it");
    }
}
