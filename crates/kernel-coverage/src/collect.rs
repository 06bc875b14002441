//! From code objects and marks to coverage.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use gfx_emu::{CodeObject, DecodeError, Listed, LoadError, covered};

use crate::file::{Branch, Coverage, Kernel, Missed, Object};

/// A folder with more of it is refused.
const MOST_FILES: usize = 100_000;
/// A file with more bytes is refused.
const MOST_BYTES: u64 = 1 << 30;

/// Code objects, and what was executed of them.
#[derive(Debug, Default)]
pub struct Collector {
    objects: BTreeMap<String, Vec<u8>>,
    marks: BTreeMap<(String, String), Vec<u8>>,
}

/// Why the collected marks cannot be turned into coverage.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of a file of marks says something else.
    #[error(
        "{}, line {line}: expected are a digest, a kernel and a digit from 0 to 7 for each instruction",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// There is too much.
    #[error("{} holds more than {most} {what}", path.display())]
    TooMuch {
        /// Where.
        path: PathBuf,
        /// How much there may be.
        most: u64,
        /// Of what.
        what: &'static str,
    },
    /// Nothing was noted.
    #[error("nothing was noted: no kernel ran on the software GPU")]
    Nothing,
    /// A code object that was executed is not there.
    #[error("code object {0} was executed and is not there")]
    Absent(String),
    /// A code object is broken.
    #[error("code object {id}: {source}")]
    Load {
        /// Its digest.
        id: String,
        /// Why.
        source: LoadError,
    },
    /// A kernel that was executed cannot be decoded.
    #[error("kernel {kernel}: {source}")]
    Decode {
        /// Its name.
        kernel: String,
        /// Why.
        source: DecodeError,
    },
    /// Marks and kernel are not of each other.
    #[error("kernel {kernel}: {marks} digits for {instructions} instructions")]
    Misfit {
        /// Its name.
        kernel: String,
        /// Digits.
        marks: usize,
        /// Instructions.
        instructions: usize,
    },
}

impl Collector {
    /// Adds the file of a code object.
    pub fn object(&mut self, id: &str, file: &[u8]) {
        let file = || file.to_vec();
        self.objects.entry(id.to_owned()).or_insert_with(file);
    }

    /// Adds what was executed of a kernel: a digit for each instruction, as [`CodeObject::take_marks`] gives them. `None`
    /// when `digits` has another character than 0 to 7.
    pub fn marks(&mut self, object: &str, kernel: &str, digits: &str) -> Option<()> {
        let bits = digits.bytes().map(|digit| match digit {
            b'0'..=b'7' => Some(digit - b'0'),
            _ => None,
        });
        let bits = bits.collect::<Option<Vec<u8>>>()?;
        let all = self
            .marks
            .entry((object.to_owned(), kernel.to_owned()))
            .or_default();
        all.resize(all.len().max(bits.len()), 0);
        for (all, bits) in all.iter_mut().zip(bits) {
            *all |= bits;
        }
        Some(())
    }

    /// Reads the folder that processes with `ROCM_COVERAGE` filled.
    ///
    /// # Errors
    /// A file that cannot be read or is not one of theirs. The last line of a process that died while it wrote is left out.
    pub fn of_folder(folder: &Path) -> Result<Collector, CollectError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| CollectError::Io { path, source }
        };
        let mut collector = Collector::default();
        let entries = fs::read_dir(folder).map_err(io(folder))?;
        for (count, entry) in entries.enumerate() {
            if count >= MOST_FILES {
                return Err(CollectError::TooMuch {
                    path: folder.to_owned(),
                    most: MOST_FILES as u64,
                    what: "files",
                });
            }
            let path = entry.map_err(io(folder))?.path();
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let kind = path
                .extension()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            match kind.as_str() {
                "hsaco" => collector.object(&stem, &bounded(&path)?),
                "marks" => collector.lines(&path)?,
                _ => {}
            }
        }
        Ok(collector)
    }

    fn lines(&mut self, path: &Path) -> Result<(), CollectError> {
        let file = File::open(path).map_err(|source| CollectError::Io {
            path: path.to_owned(),
            source,
        })?;
        let mut reader = BufReader::new(file.take(MOST_BYTES));
        for number in 1.. {
            let mut line = vec![];
            let read = reader.read_until(b'\n', &mut line);
            let read = read.map_err(|source| CollectError::Io {
                path: path.to_owned(),
                source,
            })?;
            // A line without its end was cut off with its process.
            if read == 0 || line.pop() != Some(b'\n') {
                break;
            }
            let wrong = || CollectError::Line {
                path: path.to_owned(),
                line: number,
            };
            let line = String::from_utf8(line).map_err(|_| wrong())?;
            let words: Vec<&str> = line.split(' ').collect();
            let [object, kernel, digits] = words.as_slice() else {
                return Err(wrong());
            };
            self.marks(object, kernel, digits).ok_or_else(wrong)?;
        }
        Ok(())
    }

    /// What was executed, of every kernel of every code object of which a kernel was.
    ///
    /// # Errors
    /// A code object that is not there or broken, marks that are not its kernel's, and nothing at all.
    pub fn coverage(&self) -> Result<Coverage, CollectError> {
        if self.marks.is_empty() {
            return Err(CollectError::Nothing);
        }
        let mut coverage = Coverage::empty();
        let mut ids: Vec<&String> = self.marks.keys().map(|(object, _)| object).collect();
        ids.dedup();
        for id in ids {
            let file = self
                .objects
                .get(id)
                .ok_or_else(|| CollectError::Absent(id.clone()))?;
            coverage.objects.push(self.read(id, file)?);
        }
        coverage
            .objects
            .sort_by(|a, b| (&a.target, &a.id).cmp(&(&b.target, &b.id)));
        Ok(coverage)
    }

    fn read(&self, id: &str, file: &[u8]) -> Result<Object, CollectError> {
        let code = CodeObject::load(file).map_err(|source| CollectError::Load {
            id: id.to_owned(),
            source,
        })?;
        let mut object = Object {
            id: id.to_owned(),
            target: code.target().to_string(),
            files: vec![],
            kernels: vec![],
        };
        for kernel in code.kernels() {
            let marks = self.marks.get(&(id.to_owned(), kernel.name.clone()));
            let listing = match code.listing(kernel) {
                Ok(listing) => listing,
                // Nobody launched it, and nobody can.
                Err(_) if marks.is_none() => continue,
                Err(source) => {
                    return Err(CollectError::Decode {
                        kernel: kernel.name.clone(),
                        source,
                    });
                }
            };
            let none = vec![0; listing.len()];
            let marks = marks.unwrap_or(&none);
            if marks.len() != listing.len() {
                return Err(CollectError::Misfit {
                    kernel: kernel.name.clone(),
                    marks: marks.len(),
                    instructions: listing.len(),
                });
            }
            let lines = lines(&listing, &mut object.files);
            object.kernels.push(account(&kernel.name, &listing, marks, lines));
        }
        Ok(object)
    }
}

/// A file of no more than [`MOST_BYTES`].
fn bounded(path: &Path) -> Result<Vec<u8>, CollectError> {
    let mut bytes = vec![];
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|source| CollectError::Io {
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(CollectError::TooMuch {
            path: path.to_owned(),
            most: MOST_BYTES,
            what: "bytes",
        });
    }
    Ok(bytes)
}

/// The lines of a listing, in runs. Files that are new are added.
fn lines(listing: &[Listed], files: &mut Vec<String>) -> Vec<(usize, usize, u64)> {
    let mut runs: Vec<(usize, usize, u64)> = vec![];
    if listing.iter().all(|line| line.source.is_none()) {
        return runs;
    }
    for line in listing {
        let (file, number) = match &line.source {
            None => (0, 0),
            Some((file, number)) => {
                let known = files.iter().position(|known| known == file);
                let place = known.unwrap_or_else(|| {
                    files.push(file.clone());
                    files.len() - 1
                });
                (place, *number)
            }
        };
        match runs.last_mut() {
            Some((count, of, line)) if (*of, *line) == (file, number) => *count += 1,
            _ => runs.push((1, file, number)),
        }
    }
    runs
}

fn account(name: &str, listing: &[Listed], marks: &[u8], lines: Vec<(usize, usize, u64)>) -> Kernel {
    let all = || listing.iter().zip(marks).enumerate();
    let missed = all().filter(|(_, (_, mark))| **mark & covered::EXECUTED == 0);
    let missed = missed.map(|(index, (line, _))| Missed {
        index,
        pc: line.pc,
        text: line.text.clone(),
    });
    let branches = || all().filter(|(_, (line, _))| line.conditional);
    let outcomes = branches().map(|(index, (line, mark))| Branch {
        index,
        pc: line.pc,
        text: line.text.clone(),
        taken: mark & covered::TAKEN != 0,
        passed: mark & covered::PASSED != 0,
    });
    Kernel {
        name: name.to_owned(),
        instructions: listing.len(),
        branches: branches().map(|(index, _)| index).collect(),
        missed: missed.collect(),
        one_sided: outcomes
            .filter(|branch| !(branch.taken && branch.passed))
            .collect(),
        lines,
    }
}
