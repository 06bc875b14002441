//! Writes derived files so that cargo sees a change only where there is one.
//!
//! Cargo runs a build script again when a file it watches is newer than the script's last run; files that the script
//! itself writes must look old, or every build would be followed by one more.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
};

/// A folder that holds derived files and nothing else.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
}

/// A file of the output folder could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: the derived sources need a writable source tree")]
pub struct OutputError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl Output {
    /// Names the folder; it need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Output {
        Output {
            folder: folder.into(),
        }
    }

    /// Makes the folder hold exactly `files`: writes what differs, removes what is not among them, leaves the rest.
    /// Returns the path of every file, for `rerun-if-changed`.
    ///
    /// Two builds may do this at once: each file appears whole, under its name, in one step.
    ///
    /// # Errors
    /// [`OutputError`] names the first file that could not be written or removed.
    pub fn write(&self, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<PathBuf>, OutputError> {
        let mut paths = Vec::with_capacity(files.len());
        for (name, contents) in files {
            let path = self.folder.join(name);
            if !fs::read(&path).is_ok_and(|there| there == *contents) {
                replace(&path, contents).map_err(|source| OutputError {
                    path: path.clone(),
                    source,
                })?;
            }
            paths.push(path);
        }
        self.remove_strays(&self.folder, &paths)?;
        Ok(paths)
    }

    fn remove_strays(&self, folder: &Path, wanted: &[PathBuf]) -> Result<(), OutputError> {
        let failed = |path: &Path, source| OutputError {
            path: path.to_path_buf(),
            source,
        };
        for entry in fs::read_dir(folder).map_err(|source| failed(folder, source))? {
            let path = entry.map_err(|source| failed(folder, source))?.path();
            if path.is_dir() {
                self.remove_strays(&path, wanted)?;
            } else if !wanted.contains(&path) && !is_temporary(&path) {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(&path, error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

const TEMPORARY: &str = "writing";

/// Another build's half-written file; its own rename takes it away.
fn is_temporary(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.to_string_lossy().starts_with(TEMPORARY))
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let temporary = path.with_extension(format!("{TEMPORARY}-{}", process::id()));
    fs::write(&temporary, contents)?;
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options()
        .write(true)
        .open(&temporary)?
        .set_modified(old)?;
    fs::rename(&temporary, path)
}
