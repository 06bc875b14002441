//! Coverage as it is stored and merged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use crate::collect::{CollectError, Collector};

/// What `format` says.
pub const FORMAT: &str = "parity-kernel-coverage";
/// What `version` says.
pub const VERSION: u32 = 1;
/// A file that is longer when unpacked is refused.
const MOST_BYTES: u64 = 1 << 30;
/// The first bytes of what gzip packed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What was executed of some code objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The code objects, by target and digest.
    pub objects: Vec<Object>,
}

/// What was executed of one code object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The digest of its file.
    pub id: String,
    /// The card it is compiled for.
    pub target: String,
    /// Sources that its line table names.
    pub files: Vec<String>,
    /// Its kernels, by name.
    pub kernels: Vec<Kernel>,
}

/// What was executed of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Instructions that it can reach.
    pub instructions: usize,
    /// The numbers of those that are branches which may be taken or not, ascending.
    pub branches: Vec<usize>,
    /// Instructions that were not executed, by number.
    pub missed: Vec<Missed>,
    /// Branches that were not left by both outcomes, by number.
    pub one_sided: Vec<Branch>,
    /// How many instructions in a row, the file's place in [`Object::files`], the line; 0 for none.
    pub lines: Vec<(usize, usize, u64)>,
}

/// An instruction that was not executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Its number among the kernel's instructions.
    pub index: usize,
    /// Bytes from the kernel's first instruction.
    pub pc: i64,
    /// Assembly text.
    pub text: String,
}

/// A branch of which an outcome is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its number among the kernel's instructions.
    pub index: usize,
    /// Bytes from the kernel's first instruction.
    pub pc: i64,
    /// Assembly text.
    pub text: String,
    /// Whether it was taken.
    pub taken: bool,
    /// Whether it was not taken.
    pub passed: bool,
}

/// Figures of some kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Kernels.
    pub kernels: usize,
    /// Those that were launched.
    pub launched: usize,
    /// Instructions.
    pub instructions: usize,
    /// Those that were executed.
    pub executed: usize,
    /// Outcomes that branches can have.
    pub outcomes: usize,
    /// Those that they had.
    pub seen: usize,
}

impl Sums {
    /// Adds a kernel.
    pub fn add(&mut self, kernel: &Kernel) {
        self.kernels += 1;
        self.launched += usize::from(kernel.launched());
        self.instructions += kernel.instructions;
        self.executed += kernel.executed();
        self.outcomes += 2 * kernel.branches.len();
        self.seen += 2 * kernel.branches.len() - kernel.unseen();
    }

    /// Percent of the instructions that were executed; `None` of none.
    pub fn percent(&self) -> Option<f64> {
        (self.instructions > 0).then(|| 100.0 * self.executed as f64 / self.instructions as f64)
    }
}

/// Why a file of coverage cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is too long.
    #[error("{} holds more than {MOST_BYTES} bytes, which no coverage has", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is not a coverage of kernels.
    #[error("{} is not a coverage of kernels: {why}; expected is what `parity run --coverage FILE` writes, or the folder of ROCM_COVERAGE", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It is a folder, and what is in it does not fit together.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        source: CollectError,
    },
}

/// Reads a stored coverage, packed or not, or the folder of `ROCM_COVERAGE`.
///
/// # Errors
/// [`ReadError`] when it cannot be read, or contradicts itself.
pub fn read(path: &Path) -> Result<Coverage, ReadError> {
    if path.is_dir() {
        let collected = Collector::of_folder(path).and_then(|collector| collector.coverage());
        return collected.map_err(|source| ReadError::Folder {
            path: path.to_owned(),
            source,
        });
    }
    let io = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let mut packed = vec![];
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut packed))
        .map_err(io)?;
    let mut text = vec![];
    if packed.starts_with(&GZIP) {
        GzDecoder::new(packed.as_slice())
            .take(MOST_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(io)?;
    } else {
        text = packed;
    }
    if text.len() as u64 > MOST_BYTES {
        return Err(ReadError::TooLong {
            path: path.to_owned(),
        });
    }
    Coverage::parse(&text).map_err(|why| ReadError::Wrong {
        path: path.to_owned(),
        why,
    })
}

impl Coverage {
    /// Of no code object.
    pub fn empty() -> Coverage {
        Coverage {
            format: FORMAT.to_owned(),
            version: VERSION,
            objects: vec![],
        }
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &[u8]) -> Result<Coverage, String> {
        let coverage: Coverage = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if (coverage.format.as_str(), coverage.version) != (FORMAT, VERSION) {
            return Err(format!(
                "its format is `{}`, version {}; this parity knows `{FORMAT}`, version {VERSION}",
                coverage.format, coverage.version
            ));
        }
        let mut seen = BTreeSet::new();
        for object in &coverage.objects {
            if !seen.insert(&object.id) {
                return Err(format!("code object {} stands twice", object.id));
            }
            object.check()?;
        }
        Ok(coverage)
    }

    /// The JSON form.
    ///
    /// # Errors
    /// None of the values lacks a JSON form.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Writes the JSON form, packed where the name ends in `.gz`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = self.to_json()?;
        if path.extension().is_none_or(|extension| extension != "gz") {
            return std::fs::write(path, text);
        }
        // Without a time in it: the same coverage is the same file.
        let mut packed = flate2::GzBuilder::new().write(vec![], Compression::best());
        packed.write_all(&text)?;
        std::fs::write(path, packed.finish()?)
    }

    /// Adds what another one has seen.
    ///
    /// # Errors
    /// They disagree about what a kernel is.
    pub fn add(&mut self, other: Coverage) -> Result<(), String> {
        for object in other.objects {
            match self.objects.iter_mut().find(|known| known.id == object.id) {
                Some(known) => known.add(object)?,
                None => self.objects.push(object),
            }
        }
        self.objects
            .sort_by(|a, b| (&a.target, &a.id).cmp(&(&b.target, &b.id)));
        Ok(())
    }

    /// Figures of each target.
    pub fn targets(&self) -> BTreeMap<&str, Sums> {
        let mut all: BTreeMap<&str, Sums> = BTreeMap::new();
        for object in &self.objects {
            let sums = all.entry(&object.target).or_default();
            object.kernels.iter().for_each(|kernel| sums.add(kernel));
        }
        all
    }
}

impl Object {
    fn check(&self) -> Result<(), String> {
        for kernel in &self.kernels {
            let wrong = |what: &str| Err(format!("kernel {}: {what}", kernel.name));
            let ascending = |numbers: &mut dyn Iterator<Item = usize>| {
                let numbers: Vec<usize> = numbers.collect();
                numbers.is_sorted_by(|a, b| a < b)
                    && numbers.last().is_none_or(|last| *last < kernel.instructions)
            };
            if !ascending(&mut kernel.branches.iter().copied())
                || !ascending(&mut kernel.missed.iter().map(|missed| missed.index))
                || !ascending(&mut kernel.one_sided.iter().map(|branch| branch.index))
            {
                return wrong("numbers of instructions are not ascending or beyond its end");
            }
            let is_branch = |branch: &Branch| kernel.branches.binary_search(&branch.index).is_ok();
            if !kernel.one_sided.iter().all(is_branch) {
                return wrong("an instruction with outcomes is not a branch");
            }
            let lined = kernel.lines.iter().try_fold(0_usize, |sum, (count, file, _)| {
                let known = *file < self.files.len() || self.files.is_empty() && *file == 0;
                sum.checked_add(*count).filter(|_| known)
            });
            if lined.is_none_or(|lined| lined > kernel.instructions) {
                return wrong("its lines are not those of its instructions");
            }
        }
        Ok(())
    }

    fn add(&mut self, other: Object) -> Result<(), String> {
        for kernel in other.kernels {
            match self.kernels.iter_mut().find(|known| known.name == kernel.name) {
                Some(known) => known.add(kernel)?,
                None => self.kernels.push(kernel),
            }
        }
        self.kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// File and line of an instruction.
    pub fn source(&self, kernel: &Kernel, index: usize) -> Option<(&str, u64)> {
        let mut end = 0;
        let (_, file, line) = kernel.lines.iter().find(|(count, ..)| {
            end += count;
            index < end
        })?;
        let file = self.files.get(*file).filter(|_| *line > 0)?;
        Some((file, *line))
    }
}

impl Kernel {
    /// Whether any of it was executed.
    pub fn launched(&self) -> bool {
        self.missed.len() < self.instructions
    }

    /// Instructions that were executed.
    pub fn executed(&self) -> usize {
        self.instructions.saturating_sub(self.missed.len())
    }

    /// Outcomes of branches that did not happen.
    pub fn unseen(&self) -> usize {
        let missing = |branch: &Branch| usize::from(!branch.taken) + usize::from(!branch.passed);
        self.one_sided.iter().map(missing).sum()
    }

    fn add(&mut self, other: Kernel) -> Result<(), String> {
        if (self.instructions, &self.branches) != (other.instructions, &other.branches) {
            return Err(format!(
                "two accounts of kernel {} have {} and {} instructions",
                self.name, self.instructions, other.instructions
            ));
        }
        let missed: BTreeSet<usize> = other.missed.iter().map(|missed| missed.index).collect();
        self.missed.retain(|mine| missed.contains(&mine.index));
        let outcomes: BTreeMap<usize, (bool, bool)> = other
            .one_sided
            .iter()
            .map(|branch| (branch.index, (branch.taken, branch.passed)))
            .collect();
        for branch in &mut self.one_sided {
            let (taken, passed) = outcomes.get(&branch.index).copied().unwrap_or((true, true));
            branch.taken |= taken;
            branch.passed |= passed;
        }
        self.one_sided.retain(|branch| !(branch.taken && branch.passed));
        Ok(())
    }
}
