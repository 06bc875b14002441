//! Another candle under the same cases: the worker alone, compiled over the sources of a release, a folder or a git revision.
//!
//! The overlay derives a candle-core from any sources that look like candle's (`CANDLE_CORE_UPSTREAM`). So a worker of another
//! candle is `parity-worker`, built in a checkout of parity with a copy of `crates/candle-core` in the place of its own. All of it
//! lies in a folder of the cache, one a set of sources: a copy of these, the derived crate, the log and the program. candle-nn stays the
//! one that parity has.
//!
//! Compiled crates that no candle is in are shared by all. A program that lies where cargo made it as a release shares its own: the worker
//! is a release too, with the features of the command, so that cargo compiles candle and what calls it, and nothing else.
//!
//! Another candle may ask for other versions of what it depends on, which parity's Cargo.lock does not have. So cargo runs in a
//! workspace of links to the checkout, with a copy of Cargo.lock that it may add to.

mod log;
mod manifest;

use std::{
    collections::BTreeMap,
    env, fmt,
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rocm_env::Entry as _;
use sha2::{Digest, Sha256};

use crate::error::Error;

/// A worker of another candle, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candle {
    given: String,
    sources: String,
    program: PathBuf,
}

/// Which candle, for records: `0.11.1, sources 0123456789ab, of /home/me/candle`.
impl fmt::Display for Candle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, of {}", self.sources, self.given)
    }
}

/// What a word for a candle means.
#[derive(Debug, PartialEq, Eq)]
enum Given<'w> {
    Version(&'w str),
    Git { url: &'w str, rev: &'w str },
    Folder(&'w Path),
}

impl<'w> Given<'w> {
    fn of(word: &'w str) -> Given<'w> {
        let plain = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
        let numbers = word.split(['-', '+']).next().unwrap_or_default().split('.');
        let number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        if word.chars().all(plain) && numbers.clone().count() == 3 && numbers.clone().all(number) {
            return Given::Version(word);
        }
        let name = word
            .find("://")
            .map(|at| at + 3)
            .or(word.starts_with("git@").then_some(4));
        match name {
            None => Given::Folder(Path::new(word)),
            Some(from) => match word[from..].rfind('@').map(|at| from + at) {
                Some(at) => Given::Git {
                    url: &word[..at],
                    rev: &word[at + 1..],
                },
                None => Given::Git {
                    url: word,
                    rev: "HEAD",
                },
            },
        }
    }
}

impl Candle {
    /// Builds the worker of another candle, or finds it built. `given` is a version on crates.io such as `0.11.0`, a folder that holds
    /// a checkout of candle or its candle-core, or `URL@REV` of a git repository. `tell` gets a line before a long step.
    ///
    /// # Errors
    /// Sources that are not there, no checkout of parity to build in, no cache, and what the compiler says.
    pub fn build(given: &str, mut tell: impl FnMut(&str)) -> Result<Candle, Error> {
        let parity = checkout()?;
        let cache = cache()?;
        let files = match Given::of(given) {
            Given::Folder(folder) => sources_in(folder)?,
            Given::Version(version) => released(&cache, version, &mut tell)?,
            Given::Git { url, rev } => sources_in(&fetched(&cache, url, rev, &mut tell)?)?,
        };
        let key = digest(&files);
        let home = cache.join(&key);
        fs::create_dir_all(&home).map_err(Error::write(&home))?;
        // Two runs of one candle at once: the second waits, and finds the work done.
        let lock = home.join("lock");
        let turn = File::create(&lock).and_then(|file| file.lock().map(|()| file));
        let _turn = turn.map_err(Error::write(&lock))?;
        let upstream = home.join("upstream");
        for (path, bytes) in &files {
            put(&upstream.join(path), bytes)?;
        }
        let workspace = linked(&home, &parity)?;
        let manifest = files.get("Cargo.toml").map(Vec::as_slice).unwrap_or_default();
        let manifest = String::from_utf8_lossy(manifest);
        derive_at(&home.join("candle-core"), &parity, &workspace, &manifest)?;
        let sources = format!("{}, sources {key}", version(&files));
        let program = compiled(&parity, &workspace, &cache, &home, &sources, &mut tell)?;
        Ok(Candle {
            given: given.to_owned(),
            sources,
            program,
        })
    }

    /// The word that it was asked for by.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// The version, and the beginning of the digest of its sources: `0.11.1, sources 0123456789ab`.
    pub fn sources(&self) -> &str {
        &self.sources
    }

    /// The program that serves as worker.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// What the overlay reads of a candle-core, by path: `Cargo.toml` and all below `src`.
type Files = BTreeMap<String, Vec<u8>>;

/// The beginning of the SHA-256 of the files. The overlay computes it too (`Source::digest`), and the worker that it is in says so: a
/// worker of other sources is refused.
fn digest(files: &Files) -> String {
    let mut digest = Sha256::new();
    for (path, bytes) in files {
        digest.update(format!("{path}\n{}\n", bytes.len()));
        digest.update(bytes);
    }
    hex(&digest.finalize())
}

/// Twelve digits of a digest.
fn hex(digest: &[u8]) -> String {
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The version that the manifest has.
fn version(files: &Files) -> String {
    let manifest = files.get("Cargo.toml").map(Vec::as_slice).unwrap_or_default();
    let manifest = String::from_utf8_lossy(manifest);
    let found = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = \""));
    let version = found.and_then(|rest| rest.split('"').next());
    version.unwrap_or("of no version").to_owned()
}

/// The checkout of parity that the program is in, or the working directory.
fn checkout() -> Result<PathBuf, Error> {
    let starts = [env::current_exe().ok(), env::current_dir().ok()];
    let above: Vec<&Path> = starts
        .iter()
        .flatten()
        .flat_map(|start| start.ancestors())
        .collect();
    let found = above
        .into_iter()
        .find(|dir| dir.join("crates/candle-core/audit.txt").is_file());
    found.map(Path::to_owned).ok_or_else(|| {
        Error::Missing(
            "--candle compiles parity's worker over another candle, and this program carries no sources: run it in a checkout of parity"
                .to_owned(),
        )
    })
}

fn cache() -> Result<PathBuf, Error> {
    let kernels = rocm_env::KERNEL_CACHE.get().map_err(Error::settings)?;
    let Some(dir) = &kernels.0 else {
        let words =
            "there is no folder to keep other candles in: set ROCM_KERNEL_CACHE or XDG_CACHE_HOME to one";
        return Err(Error::settings(words));
    };
    let dir = dir.join("candles");
    fs::create_dir_all(&dir).map_err(Error::write(&dir))?;
    dir.canonicalize().map_err(Error::read(&dir))
}

/// The sources in a folder: those of candle-core, or those of a checkout of candle.
fn sources_in(folder: &Path) -> Result<Files, Error> {
    let dirs = [folder.join("candle-core"), folder.to_owned()];
    let named = |dir: &&PathBuf| {
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        manifest
            .lines()
            .any(|line| line.replace(' ', "") == "name=\"candle-core\"")
    };
    let Some(dir) = dirs.iter().find(named) else {
        return Err(Error::Missing(format!(
            "{} holds no candle-core: expected a checkout of candle, its folder candle-core, a version such as 0.11.1, or URL@REV",
            folder.display()
        )));
    };
    let mut files = Files::new();
    for path in files_below(dir.join("src"), vec![dir.join("Cargo.toml")])? {
        let inside = path
            .strip_prefix(dir)
            .map_err(|error| Error::Internal(error.to_string()))?;
        let bytes = fs::read(&path).map_err(Error::read(&path))?;
        files.insert(inside.to_string_lossy().into_owned(), bytes);
    }
    if let Some(manifest) = resolved(&files, dir)? {
        files.insert("Cargo.toml".to_owned(), manifest.into_bytes());
    }
    Ok(files)
}

/// The manifest without what it leaves to its workspace; `None` where that is nothing.
fn resolved(files: &Files, dir: &Path) -> Result<Option<String>, Error> {
    let manifest = files.get("Cargo.toml").map(Vec::as_slice).unwrap_or_default();
    let manifest = String::from_utf8_lossy(manifest);
    let Some(above) = dir.parent().filter(|_| manifest.contains("workspace = true")) else {
        return Ok(None);
    };
    let workspace = above.join("Cargo.toml");
    let text = fs::read_to_string(&workspace).map_err(Error::read(&workspace))?;
    let whole = manifest::resolved(&manifest, &text);
    whole.map(Some).map_err(|error| no_manifest(dir, &error))
}

fn no_manifest(dir: &Path, error: &toml_edit::TomlError) -> Error {
    let why = error.message();
    Error::Missing(format!(
        "{}: no manifest that cargo reads: {why}",
        dir.join("Cargo.toml").display()
    ))
}

/// The sources of a release, as cargo has them or fetches them.
fn released(cache: &Path, version: &str, tell: &mut impl FnMut(&str)) -> Result<Files, Error> {
    let name = format!("candle-core-{version}");
    let dir = cache.join("releases");
    if !dir.join(&name).join("Cargo.toml").is_file() {
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
        let home = home.ok_or_else(|| Error::settings("cannot find cargo's home folder: set CARGO_HOME"))?;
        tell(&format!("fetching {name}"));
        let mut cargo = Command::new("cargo");
        // Outside of every workspace, whose graph cargo would resolve.
        cargo
            .args(["info", "--quiet", "--registry", "crates-io"])
            .arg(format!("candle-core@{version}"));
        let said = output(cargo.current_dir(cache))?;
        let registries = home.join("registry").join("cache");
        let entries = fs::read_dir(&registries).map_err(Error::read(&registries))?;
        let mut archives = entries.filter_map(|entry| Some(entry.ok()?.path().join(format!("{name}.crate"))));
        let Some(archive) = archives.find(|archive| archive.is_file()) else {
            return Err(Error::Missing(format!(
                "cargo brought no {name} from crates.io: {}",
                said.trim()
            )));
        };
        let bytes = fs::read(&archive).map_err(Error::read(&archive))?;
        let beside = dir.join(format!("{name}.{}", std::process::id()));
        let unpacked = tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..])).unpack(&beside);
        unpacked.map_err(Error::write(&beside))?;
        // Another run may have been here first: its files are the same.
        let _ = fs::rename(beside.join(&name), dir.join(&name));
        let _ = fs::remove_dir_all(&beside);
    }
    sources_in(&dir.join(&name))
}

/// What a program says on stderr, where it ends well.
fn output(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|error| Error::Missing(format!("{name} did not start: {error}")))?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    match done.status.success() {
        true => Ok(said),
        false => Err(Error::Missing(format!("{name}: {}", said.trim()))),
    }
}

/// A revision of a git repository, in a folder of the cache.
fn fetched(cache: &Path, url: &str, rev: &str, tell: &mut impl FnMut(&str)) -> Result<PathBuf, Error> {
    if rev.is_empty() || rev.starts_with('-') {
        return Err(Error::Settings(format!(
            "`{rev}` cannot be a revision of {url}: expected URL@REV"
        )));
    }
    let key = hex(&Sha256::digest(url));
    let dir = cache.join("git").join(key);
    fs::create_dir_all(&dir).map_err(Error::write(&dir))?;
    tell(&format!("fetching {rev} of {url}"));
    let steps: [&[&str]; 3] = [
        &["init", "-q"],
        &["fetch", "-q", "--depth", "1", "--", url, rev],
        &["checkout", "-q", "--force", "--detach", "FETCH_HEAD"],
    ];
    for step in steps {
        let mut git = Command::new("git");
        git.arg("-C").arg(&dir).args(step).env("GIT_TERMINAL_PROMPT", "0");
        output(&mut git).map_err(|error| Error::Missing(format!("cannot fetch {rev} of {url}: {error}")))?;
    }
    Ok(dir)
}

/// Writes a file, unless it is there as it is to be: cargo compiles what is newer.
fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(Error::write(dir))?;
    }
    fs::write(path, bytes).map_err(Error::write(path))
}

/// A workspace of links to the checkout's files, with copies of its manifest and its lock.
fn linked(home: &Path, parity: &Path) -> Result<PathBuf, Error> {
    const MANIFEST: &str = "Cargo.toml";
    const LOCK: &str = "Cargo.lock";
    let workspace = home.join("parity");
    fs::create_dir_all(&workspace).map_err(Error::write(&workspace))?;
    for entry in fs::read_dir(parity).map_err(Error::read(parity))? {
        let entry = entry.map_err(Error::read(parity))?;
        let name = entry.file_name();
        if [MANIFEST, LOCK, "target", ".git"].iter().any(|own| name == *own) {
            continue;
        }
        let link = workspace.join(&name);
        if fs::read_link(&link).is_ok_and(|there| there == entry.path()) {
            continue;
        }
        let _ = fs::remove_file(&link);
        symlink(entry.path(), &link).map_err(Error::write(&link))?;
    }
    let read = |name: &str| fs::read(parity.join(name)).map_err(Error::read(&parity.join(name)));
    put(&workspace.join(MANIFEST), &read(MANIFEST)?)?;
    // What cargo added to the lock stays, as long as the lock that it was added to is the checkout's.
    let (lock, before) = (read(LOCK)?, workspace.join("Cargo.lock.before"));
    if !fs::read(&before).is_ok_and(|there| there == lock) {
        put(&workspace.join(LOCK), &lock)?;
        put(&before, &lock)?;
    }
    Ok(workspace)
}

/// These files, and those of a folder and of the folders in it.
fn files_below(folder: PathBuf, mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
    let mut waiting = vec![folder];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).map_err(Error::read(&dir))? {
            let path = entry.map_err(Error::read(&dir))?.path();
            let list = if path.is_dir() { &mut waiting } else { &mut files };
            list.push(path);
        }
    }
    Ok(files)
}

/// A copy of the crate that the overlay derives, with its ways to the workspace and the dependencies that `theirs` asks for.
fn derive_at(home: &Path, parity: &Path, workspace: &Path, theirs: &str) -> Result<(), Error> {
    let own = parity.join("crates/candle-core");
    let beside = vec![own.join("build.rs"), own.join("audit.txt")];
    for path in files_below(own.join("glue"), beside)? {
        let inside = path
            .strip_prefix(&own)
            .map_err(|error| Error::Internal(error.to_string()))?;
        put(&home.join(inside), &fs::read(&path).map_err(Error::read(&path))?)?;
    }
    let manifest = own.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(Error::read(&manifest))?;
    let to = |inside: &str| format!("path = {:?}", workspace.join(inside).to_string_lossy());
    let text = manifest::merged(&text, theirs).map_err(|error| no_manifest(home, &error))?;
    let text = text
        .replace("path = \"../../rocm-backend\"", &to("rocm-backend"))
        .replace("path = \"../candle-overlay\"", &to("crates/candle-overlay"));
    // In the cache of a project, cargo would look for the workspace above.
    put(&home.join("Cargo.toml"), (text + "\n[workspace]\n").as_bytes())
}

/// Compiles the worker, and keeps it beside the sources.
fn compiled(
    parity: &Path,
    workspace: &Path,
    cache: &Path,
    home: &Path,
    sources: &str,
    tell: &mut impl FnMut(&str),
) -> Result<PathBuf, Error> {
    let log = home.join("build.log");
    let own = env::current_exe().ok().as_deref().and_then(made_in);
    let kernel_cache = &rocm_env::KERNEL_CACHE;
    let asked = kernel_cache.get().map_err(Error::settings)?;
    let kernels = match (&own, &asked.0) {
        // What builds of the checkout have there (.cargo/config.toml): for another folder cargo would compile rocm-backend anew.
        (Some(_), Some(folder)) if kernel_cache.is_set() => folder.clone(),
        (Some(_), _) => parity.join("target/kernels"),
        // The folder that the cache of kernels lies in, wherever cargo runs.
        (None, _) => cache.parent().unwrap_or(cache).to_owned(),
    };
    let target = own.unwrap_or_else(|| cache.join("target"));
    tell(&format!(
        "building a worker of candle-core {sources}: the log is {}",
        log.display()
    ));
    let file = File::create(&log).map_err(Error::write(&log))?;
    let patch = format!(
        "patch.crates-io.candle-core.path={:?}",
        home.join("candle-core").to_string_lossy()
    );
    let mut cargo = Command::new("cargo");
    // Chosen beside the worker, the command has cargo give others' crates the features that they have in it.
    let packages = ["-p", "parity-cli", "-p", "parity-exec"];
    cargo
        .args(["build", "--release", "--message-format", "short"])
        .args(packages)
        .args(["--bin", "parity-worker"])
        .args(["--config", &patch])
        .arg("--target-dir")
        .arg(&target)
        .env("CANDLE_CORE_UPSTREAM", home.join("upstream"))
        .env(kernel_cache.about().name, kernels)
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file);
    if parity_exec::WITH_CUDA {
        cargo.args(["--features", parity_exec::Backend::Cuda.name()]);
    }
    let status = cargo
        .status()
        .map_err(|error| Error::Missing(format!("cargo did not start: {error}")))?;
    if !status.success() {
        let text = fs::read_to_string(&log).unwrap_or_default();
        return Err(Error::Missing(log::refusal(sources, &text, &log)));
    }
    let program = home.join("parity-worker");
    let made = target.join("release").join("parity-worker");
    let kept = keep(&made, &program);
    kept.map_err(Error::write(&program))?;
    Ok(program)
}

/// The target folder of a program that lies where cargo made it as a release, if crates can be compiled there.
fn made_in(program: &Path) -> Option<PathBuf> {
    let release = program.parent().filter(|dir| dir.ends_with("release"))?;
    // Cargo's lock of that folder, which it opens to write.
    let lock = File::options().append(true).open(release.join(".cargo-lock"));
    lock.ok().and(release.parent()).map(Path::to_owned)
}

/// Puts a copy in the place of a program that may be running.
fn keep(made: &Path, program: &Path) -> io::Result<()> {
    let beside = program.with_extension("new");
    fs::copy(made, &beside)?;
    fs::rename(&beside, program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_version_a_repository_or_a_folder() {
        assert_eq!(Given::of("0.11.0"), Given::Version("0.11.0"));
        assert_eq!(Given::of("0.11.1-alpha.1"), Given::Version("0.11.1-alpha.1"));
        assert_eq!(Given::of("/a/candle"), Given::Folder(Path::new("/a/candle")));
        assert_eq!(Given::of("../0.11"), Given::Folder(Path::new("../0.11")));
        let git = |url, rev| Given::Git { url, rev };
        assert_eq!(
            Given::of("https://h/u/candle@main"),
            git("https://h/u/candle", "main")
        );
        assert_eq!(Given::of("https://h/u/candle"), git("https://h/u/candle", "HEAD"));
        assert_eq!(Given::of("git@h:u/candle@a/b"), git("git@h:u/candle", "a/b"));
    }

    #[test]
    fn a_folder_without_candle_says_what_is_expected() {
        let dir = tempfile::tempdir().unwrap();
        let why = sources_in(dir.path()).unwrap_err().to_string();
        assert!(
            why.contains("holds no candle-core: expected a checkout of candle"),
            "{why}"
        );
        let core = dir.path().join("candle-core");
        fs::create_dir_all(core.join("src/a")).unwrap();
        fs::write(
            core.join("Cargo.toml"),
            "[package]\nname = \"candle-core\"\nversion = \"0.9.9\"\n",
        )
        .unwrap();
        fs::write(core.join("src/a/b.rs"), "").unwrap();
        let files = sources_in(dir.path()).unwrap();
        assert_eq!(files, sources_in(&core).unwrap());
        assert_eq!(files.keys().collect::<Vec<_>>(), ["Cargo.toml", "src/a/b.rs"]);
        assert_eq!(version(&files), "0.9.9");
        fs::write(
            dir.path().join("Cargo.toml"),
            "[workspace.package]\nversion = \"0.9.8\"\n",
        )
        .unwrap();
        let inherits = "[package]\nname = \"candle-core\"\nversion.workspace = true\n";
        fs::write(core.join("Cargo.toml"), inherits).unwrap();
        let inherited = sources_in(dir.path()).unwrap();
        assert_eq!(version(&inherited), "0.9.8");
        assert_ne!(digest(&inherited), digest(&files));
    }

    #[test]
    fn a_release_where_cargo_made_it_shares_its_target_folder() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        for profile in ["release", "debug"] {
            fs::create_dir_all(target.join(profile)).unwrap();
        }
        let made_as = |profile: &str| made_in(&target.join(profile).join("parity"));
        assert_eq!(made_as("release"), None, "a copy in a folder of that name");
        for profile in ["release", "debug"] {
            fs::write(target.join(profile).join(".cargo-lock"), "").unwrap();
        }
        assert_eq!(made_as("release"), Some(target.clone()));
        assert_eq!(made_as("debug"), None);
    }

    #[test]
    fn a_revision_that_would_be_an_option_is_refused_before_git_starts() {
        let why = fetched(
            Path::new("/nowhere"),
            "https://h/u",
            "--upload-pack=x",
            &mut |_| {},
        )
        .unwrap_err();
        assert!(why.to_string().contains("cannot be a revision"), "{why}");
    }
}
