//! Finds the pristine source of a crates.io release and proves that it is that release.
//!
//! The files come out of the `.crate` archive whose SHA-256 was checked, never out of the unpacked copy in
//! `registry/src`: that copy can be edited, and rocm-rs's own build script does overwrite its sources there.
//! `[patch.crates-io]` takes a patched crate out of the dependency graph, so `cargo fetch` and `cargo vendor`
//! do not bring its archive; `cargo info` does, and it is asked when no archive is there yet.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest as _, Sha256};

/// One release on crates.io.
#[derive(Debug, Clone, Copy)]
pub struct Release {
    /// Package name, for example `candle-core`.
    pub name: &'static str,
    /// Version, for example `0.11.1`.
    pub version: &'static str,
    /// SHA-256 of the `.crate` archive in lower-case hex: the checksum in the crates.io index and in `Cargo.lock`.
    pub sha256: &'static str,
}

/// The release that `crates/candle-core` is derived from.
pub const CANDLE_CORE: Release = Release {
    name: "candle-core",
    version: "0.11.1",
    sha256: "d11c8be87cfbaef9ebb62fb3f850d1fc8e00cc1d11d393fdbe55a4d5c2cdb325",
};

/// The release that `crates/candle-nn` is derived from, and whose tests run on the overlay beside candle-core's own.
pub const CANDLE_NN: Release = Release {
    name: "candle-nn",
    version: "0.11.1",
    sha256: "437fabe77547c2447c7bdf3cc946e19db29a2832440176b419f77c80b0a9a05e",
};

/// The release whose raw bindings `crates/rocm-rs` takes over.
pub const ROCM_RS: Release = Release {
    name: "rocm-rs",
    version: "0.5.2",
    sha256: "6047b92f4b38f565fbd04038e8523e414a0246499bff21f6f4ed596b07139daa",
};

impl Release {
    /// The environment variable that names a folder to use instead of the archive: `CANDLE_CORE_UPSTREAM`.
    pub fn override_variable(&self) -> String {
        format!("{}_UPSTREAM", self.name.to_uppercase().replace('-', "_"))
    }

    fn archive_name(&self) -> String {
        format!("{}-{}.crate", self.name, self.version)
    }

    fn folder_name(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Where to look: the part of the environment that the search depends on.
#[derive(Debug, Clone)]
pub struct Places {
    /// Cargo's home folder, where `registry/cache` lies.
    pub cargo_home: PathBuf,
    /// The cargo that fetches a missing archive. `None`: never fetch.
    pub cargo: Option<OsString>,
    /// A folder holding the unpacked crate, to be taken unchecked in place of the archive.
    pub upstream: Option<PathBuf>,
}

impl Places {
    /// Reads `CARGO_HOME` (or the home folder), `CARGO` and the release's override variable.
    ///
    /// # Errors
    /// [`PristineError::NoHome`] when neither `CARGO_HOME` nor a home folder is known.
    pub fn from_env(release: &Release) -> Result<Places, PristineError> {
        let cargo_home = env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| env::home_dir().map(|home| home.join(".cargo")))
            .ok_or(PristineError::NoHome)?;
        Ok(Places {
            cargo_home,
            cargo: Some(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
            upstream: env::var_os(release.override_variable())
                .filter(|dir| !dir.is_empty())
                .map(PathBuf::from),
        })
    }
}

/// The files of one release.
#[derive(Debug)]
pub struct Source {
    files: BTreeMap<String, Vec<u8>>,
    origin: Origin,
}

/// Where the files of a [`Source`] came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// This `.crate` archive; its checksum was right.
    Archive(PathBuf),
    /// This folder, named by the override variable; nothing was checked.
    Folder(PathBuf),
}

/// Why a pristine source could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PristineError {
    /// No cargo home.
    #[error("cannot find cargo's home folder: set CARGO_HOME")]
    NoHome,
    /// The archive is another one than the release's.
    #[error(
        "{path} is not the {name} {version} that crates.io published\n  expected sha256 {expected}\n  found    sha256 {found}\n\
         delete that file and build again; cargo then downloads it anew"
    )]
    Checksum {
        /// The archive.
        path: PathBuf,
        /// Package name.
        name: &'static str,
        /// Package version.
        version: &'static str,
        /// Checksum in the crates.io index.
        expected: &'static str,
        /// Checksum of the file.
        found: String,
    },
    /// The archive is missing, and fetching it failed.
    #[error(
        "no {archive} in {looked}, and `cargo info` did not bring it: {reason}\n\
         connect this machine once, or set {variable} to a folder that holds the unpacked crate"
    )]
    Missing {
        /// Archive name.
        archive: String,
        /// The folder that was searched.
        looked: PathBuf,
        /// What cargo said.
        reason: String,
        /// The override variable.
        variable: String,
    },
    /// A file or folder could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The release lacks a file.
    #[error("{origin} has no file {file}")]
    NoFile {
        /// The archive or folder.
        origin: PathBuf,
        /// The path inside the crate.
        file: String,
    },
}

impl Source {
    /// Finds `release`: the override folder if one is set, else the checked archive, fetched if need be.
    ///
    /// # Errors
    /// [`PristineError`]; a wrong checksum is never worked around.
    pub fn find(release: &Release, places: &Places) -> Result<Source, PristineError> {
        if let Some(folder) = &places.upstream {
            return Ok(Source {
                files: read_folder(folder)?,
                origin: Origin::Folder(folder.clone()),
            });
        }
        let cache = places.cargo_home.join("registry").join("cache");
        let reason = match Self::in_cache(release, &cache)? {
            Some(source) => return Ok(source),
            None => fetch(release, places),
        };
        Self::in_cache(release, &cache)?.ok_or_else(|| PristineError::Missing {
            archive: release.archive_name(),
            looked: cache,
            reason,
            variable: release.override_variable(),
        })
    }

    /// The SHA-256 of the files, paths included, in lower-case hex.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (path, bytes) in &self.files {
            digest.update(format!("{path}\n{}\n", bytes.len()));
            digest.update(bytes);
        }
        hex(&digest.finalize())
    }

    /// The version that the crate's manifest has; `None` where that leaves it to a workspace.
    pub fn version(&self) -> Option<String> {
        let manifest = std::str::from_utf8(self.files.get("Cargo.toml")?).ok()?;
        let version = manifest
            .lines()
            .find_map(|line| line.strip_prefix("version = \""))?;
        Some(version.split('"').next()?.to_owned())
    }

    /// Which sources these are, for reports: the release's version, or for others `0.11.1, sources 0123456789ab`.
    pub fn name(&self, release: &Release) -> String {
        match &self.origin {
            Origin::Archive(_) => release.version.to_owned(),
            Origin::Folder(_) => {
                let version = self.version();
                let version = version.as_deref().unwrap_or("of no version");
                format!("{version}, sources {}", &self.digest()[..12])
            }
        }
    }

    /// The contents of one file, by its path inside the crate (`src/lib.rs`).
    ///
    /// # Errors
    /// [`PristineError::NoFile`] when the release has no such file.
    pub fn file(&self, path: &str) -> Result<&[u8], PristineError> {
        self.files
            .get(path)
            .map(Vec::as_slice)
            .ok_or_else(|| PristineError::NoFile {
                origin: self.origin.path().to_path_buf(),
                file: path.to_owned(),
            })
    }

    /// Every file, by its path inside the crate with `/` between the parts, in order of path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// Where the files came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The sentence a build script shows when nothing vouches for these files, `None` when their checksum was right.
    pub fn warning(&self, release: &Release) -> Option<String> {
        match &self.origin {
            Origin::Archive(_) => None,
            Origin::Folder(folder) => Some(format!(
                "{} comes from {} ({} is set): no checksum was checked",
                release.name,
                folder.display(),
                release.override_variable()
            )),
        }
    }

    /// One registry may be mirrored under several names: the first archive whose checksum is right is taken.
    fn in_cache(release: &Release, cache: &Path) -> Result<Option<Source>, PristineError> {
        let mut wrong = None;
        for archive in archives(release, cache)? {
            let bytes = fs::read(&archive).map_err(|source| PristineError::read(&archive, source))?;
            let found = hex(&Sha256::digest(&bytes));
            if found == release.sha256 {
                let files =
                    unpack(release, &bytes).map_err(|source| PristineError::read(&archive, source))?;
                return Ok(Some(Source {
                    files,
                    origin: Origin::Archive(archive),
                }));
            }
            wrong.get_or_insert(PristineError::Checksum {
                path: archive,
                name: release.name,
                version: release.version,
                expected: release.sha256,
                found,
            });
        }
        wrong.map_or(Ok(None), Err)
    }
}

impl Origin {
    /// The archive or the folder.
    pub fn path(&self) -> &Path {
        match self {
            Origin::Archive(path) | Origin::Folder(path) => path,
        }
    }
}

impl PristineError {
    fn read(path: &Path, source: io::Error) -> PristineError {
        PristineError::Read {
            path: path.to_path_buf(),
            source,
        }
    }
}

/// The release's archives below `registry/cache`, one per registry that has it, in order of path.
fn archives(release: &Release, cache: &Path) -> Result<Vec<PathBuf>, PristineError> {
    let registries = match fs::read_dir(cache) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(PristineError::read(cache, error)),
    };
    let mut found: Vec<PathBuf> = registries
        .filter_map(|entry| Some(entry.ok()?.path().join(release.archive_name())))
        .filter(|archive| archive.is_file())
        .collect();
    found.sort();
    Ok(found)
}

/// Lets cargo download the archive; returns what it said, for the error if the archive is still missing then.
///
/// The current folder must lie outside every workspace: inside one, cargo would resolve the very graph whose build
/// script is running.
fn fetch(release: &Release, places: &Places) -> String {
    let Some(cargo) = &places.cargo else {
        return "fetching is switched off".to_owned();
    };
    let output = Command::new(cargo)
        .args(["info", "--quiet", "--registry", "crates-io"])
        .arg(format!("{}@{}", release.name, release.version))
        .env("CARGO_HOME", &places.cargo_home)
        .current_dir(env::temp_dir())
        .output();
    match output {
        Ok(output) if output.status.success() => "it ended well but left no archive".to_owned(),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("{} did not start: {error}", cargo.to_string_lossy()),
    }
}

fn unpack(release: &Release, archive: &[u8]) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    for entry in tar.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path()?.into_owned();
        let Ok(inside) = path.strip_prefix(release.folder_name()) else {
            return Err(io::Error::other(format!(
                "{} lies outside {}",
                path.display(),
                release.folder_name()
            )));
        };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.insert(slashed(inside), bytes);
    }
    Ok(files)
}

/// Reads what a crate needs to compile, `Cargo.toml` and `src/`: an upstream checkout may hold much more.
fn read_folder(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, PristineError> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![folder.join("src")];
    let mut paths = vec![folder.join("Cargo.toml")];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).map_err(|source| PristineError::read(&next, source))? {
            let path = entry.map_err(|source| PristineError::read(&next, source))?.path();
            if path.is_dir() {
                waiting.push(path)
            } else {
                paths.push(path)
            }
        }
    }
    for path in paths {
        let bytes = fs::read(&path).map_err(|source| PristineError::read(&path, source))?;
        let inside = path.strip_prefix(folder).map_or_else(|_| slashed(&path), slashed);
        files.insert(inside, bytes);
    }
    Ok(files)
}

fn slashed(path: &Path) -> String {
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
