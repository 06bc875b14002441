//! What computed a device's results, for programs that must tell: how near to a GPU they were computed ([`Level`]),
//! counts for the operations that more than one way may serve ([`served`]), and everything a device executed ([`take`]).
//! Nothing here decides who computes; that is `libraries.rs` and the launches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::{Device, DriverInfo, Libraries};

/// How near to a GPU a result was computed, the nearest first. Whose GPU it was, the driver's name and the device's target say:
/// results of NVIDIA's are none of AMD's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// On one.
    Hardware,
    /// By executing the GPU's code object in software.
    Isa,
    /// By a model, on the host, of what a library does on a GPU.
    Model,
}

impl Level {
    /// What results of `driver` are worth: the least that any of them may be. [`served`] tells it of the operations that
    /// libraries can serve.
    pub fn of(driver: &DriverInfo) -> Level {
        match driver.libraries() {
            Libraries::Model => Level::Model,
            Libraries::Auto | Libraries::Native => Level::of_kernels(driver),
        }
    }

    /// What results of this crate's kernels are worth.
    pub(crate) fn of_kernels(driver: &DriverInfo) -> Level {
        if driver.is_software() {
            Level::Isa
        } else {
            Level::Hardware
        }
    }

    /// The word reports use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Hardware => "hardware",
            Level::Isa => "isa",
            Level::Model => "model",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who is told of loads.
type Watcher = Box<dyn Fn(Loading) + Send + Sync>;

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// A module of kernels on its way to a device. A module that is not built in, or that is PTX, is compiled then, which takes up to a
/// minute. That time does not count as a kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loading {
    /// It is to be found, compiled where it must be, and given to the driver.
    Begins,
    /// It is there, or the load has failed.
    Ends,
}

/// Has `watch` told, in this process from now on, when a module of kernels is loaded, on the thread that loads it. The first watcher
/// stays: another one is told nothing.
pub fn watch_loading(watch: impl Fn(Loading) + Send + Sync + 'static) {
    let _ = WATCHER.set(Box::new(watch));
}

/// `load`, of which the watcher is told: this crate's own loads of its kernels, and what a program does of that kind.
pub fn loading<T>(load: impl FnOnce() -> T) -> T {
    let tell = |event| WATCHER.get().into_iter().for_each(|watch| watch(event));
    tell(Loading::Begins);
    let loaded = load();
    tell(Loading::Ends);
    loaded
}

/// What has computed the results of operations that kernels and libraries can serve both, ordered by name.
pub fn served(device: &Device) -> Vec<Served> {
    device.context().ledger().read()
}

/// What the device has executed since the last call, each step once, by name: kernels, functions of libraries, and what the
/// HIP runtime does inside the device's memory. Transfers from and to the host are not told.
pub fn take(device: &Device) -> Vec<Step> {
    device.context().ledger().take_trace()
}

/// How often the host waited for what was submitted to the device's stream: in downloads, in synchronisations of the device or of an
/// event, and where a wrong id had to be known before more of them could be watched. Loads of kernels and memory that runs out are not
/// counted.
pub fn waits(device: &Device) -> u64 {
    device.context().waits()
}

/// How often one way served one operation of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The operation: `matmul`.
    pub op: &'static str,
    /// A kernel of this crate, without its dtype, as `gemm`; or a library's function.
    pub by: &'static str,
    /// What results of this way are worth.
    pub level: Level,
    /// How often.
    pub times: u64,
}

/// Something that a device executed.
///
/// Its text is `uexp_f32:strided`, followed by ` (model)` where a model answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// A kernel, by its symbol; a library's function; or what the HIP runtime does itself, as `hipMemcpyAsync`.
    pub by: Arc<str>,
    /// How the kernel found its operands' elements; none for what takes no table of dims and strides.
    pub walk: Option<Walk>,
    /// What its results are worth.
    pub level: Level,
}

/// How a kernel that can follow strides found its operands' elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Walk {
    /// One after the other: its tables were null.
    Contiguous,
    /// By a table of dims and strides.
    Strided,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.by)?;
        match self.walk {
            None => {}
            Some(Walk::Contiguous) => f.write_str(":contiguous")?,
            Some(Walk::Strided) => f.write_str(":strided")?,
        }
        match self.level {
            Level::Hardware | Level::Isa => Ok(()),
            Level::Model => f.write_str(" (model)"),
        }
    }
}

/// The counts and the trace of a device.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Books>);

/// What computed results, and how often; what was executed.
#[derive(Debug, Default)]
pub(crate) struct Books {
    counts: BTreeMap<Way, u64>,
    trace: BTreeSet<Step>,
    /// Some steps that the trace has, to be known without comparing names.
    recent: Vec<Step>,
}

/// Steps that are known so, at most: those that a program takes turn by turn.
const RECENT: usize = 8;

/// An operation, what served it, and at which level.
type Way = (&'static str, &'static str, Level);

impl Ledger {
    /// An entry is made in one step, so a panic elsewhere cannot have left the books half-written.
    fn open(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, op: &'static str, by: &'static str, level: Level) {
        *self.open().counts.entry((op, by, level)).or_default() += 1;
    }

    pub(crate) fn read(&self) -> Vec<Served> {
        let books = self.open();
        let served = |(&(op, by, level), &times): (&Way, &u64)| Served { op, by, level, times };
        books.counts.iter().map(served).collect()
    }

    /// Notes a step, unless the trace has it.
    pub(crate) fn trace(&self, by: &Arc<str>, walk: Option<Walk>, level: Level) {
        let mut books = self.open();
        let is_this = |step: &Step| Arc::ptr_eq(&step.by, by) && (step.walk, step.level) == (walk, level);
        if books.recent.iter().any(is_this) {
            return;
        }
        let by = Arc::clone(by);
        let step = Step { by, walk, level };
        if books.recent.len() == RECENT {
            books.recent.clear();
        }
        books.recent.push(step.clone());
        books.trace.insert(step);
    }

    /// The trace, which begins anew.
    pub(crate) fn take_trace(&self) -> Vec<Step> {
        let mut books = self.open();
        books.recent.clear();
        std::mem::take(&mut books.trace).into_iter().collect()
    }

    /// The books, which begin anew: what is entered from now on was captured and not executed.
    pub(crate) fn set_aside(&self) -> Books {
        std::mem::take(&mut self.open())
    }

    /// Puts the books back that were set aside, and gives those that were kept meanwhile.
    pub(crate) fn restore(&self, books: Books) -> Books {
        std::mem::replace(&mut self.open(), books)
    }

    /// Enters what a graph executes.
    pub(crate) fn add_all(&self, captured: &Books) {
        let mut books = self.open();
        for (way, times) in &captured.counts {
            *books.counts.entry(*way).or_default() += times;
        }
        books.trace.extend(captured.trace.iter().cloned());
    }
}
