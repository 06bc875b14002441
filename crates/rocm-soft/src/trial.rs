//! What the launches of this process executed of each kernel and what that costs, and a kernel with a fault planted in it: for
//! those who want to know what tests reach and what they notice.
//!
//! [`note`] or `ROCM_COVERAGE` begins it. Code objects are known by a digest of their file from then on; what was loaded
//! before is not. [`take`] gives what was executed since the last call; with `ROCM_COVERAGE` it goes into that folder too,
//! launch by launch, so that a process that dies leaves what it did.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use coverage_folder::{Folder, digest, merge};
use gfx_emu::{CodeObject, Kernel, LaunchOptions, PatchError, Target};
pub use gfx_emu::{Counters, Limit, Patch, Resources};

/// What was executed of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The code object, by the digest of its file.
    pub object: Arc<str>,
    /// The kernel's name.
    pub kernel: String,
    /// Bits of [`gfx_emu::covered`] for each line of [`CodeObject::listing`].
    pub marks: Vec<u8>,
}

/// What the launches of one kernel with workgroups of one size did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The kernel's name.
    pub kernel: String,
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// What a workgroup and its waves take of the card.
    pub resources: Resources,
    /// How often it was launched.
    pub launches: u64,
    /// The sums over its launches.
    pub counters: Counters,
}

/// A code object that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The digest of its file, 32 hexadecimal digits.
    pub id: Arc<str>,
    /// The file.
    pub file: Arc<[u8]>,
}

/// A fault to plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The code object, by the digest of its file.
    pub object: String,
    /// The kernel's name.
    pub kernel: String,
    /// The fault.
    pub patch: Patch,
}

#[derive(Default)]
struct State {
    /// What launches executed since the last [`take`].
    covered: BTreeMap<(Arc<str>, String), Vec<u8>>,
    /// What launches cost since the last [`take_counted`], by kernel, size of the workgroups and dynamic LDS.
    counted: BTreeMap<(String, [u32; 3], u32), Counted>,
    /// Code objects that were loaded since the last [`take_objects`].
    objects: Vec<Object>,
    mutant: Option<Mutant>,
    /// The mutant's kernel, once it was launched.
    patched: Option<Arc<Kernel>>,
    sink: Option<Folder>,
}

static ON: AtomicBool = AtomicBool::new(false);
/// Says of a kernel, by its name, whether its leading numbers are sizes.
type HasSizes = fn(&str) -> bool;
static SIZES: RwLock<Option<HasSizes>> = RwLock::new(None);
static COUNTING: AtomicBool = AtomicBool::new(false);
/// Instructions that a wave may execute; 0 for as many as ever.
static LIMIT: AtomicU64 = AtomicU64::new(0);
/// What [`cross_from`] said, and an allocation more for each since; negative where it said nothing.
static TURN: AtomicI64 = AtomicI64::new(-1);
static STATE: Mutex<State> = Mutex::new(State {
    covered: BTreeMap::new(),
    counted: BTreeMap::new(),
    objects: vec![],
    mutant: None,
    patched: None,
    sink: None,
});

/// No change here can be left half done by a panic.
fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes from now on what is executed of the code objects that are loaded from now on.
pub fn note() {
    ON.store(true, Relaxed);
}

/// What a launch is refused with that passes a larger size than is declared.
pub const UNDECLARED: &str = "is declared to be below 2^31";

/// Refuses from now on launches of kernels that `has_sizes` names, if they pass a larger size: of those kernels the numbers that
/// [`Kernel::leading_numbers`] names are sizes.
pub fn hold_to_sizes(has_sizes: HasSizes) {
    *SIZES.write().unwrap_or_else(PoisonError::into_inner) = Some(has_sizes);
}

/// Why a launch passes more than is declared, where it does and that is asked for.
pub(crate) fn undeclared(kernel: &Kernel, grid: [u32; 3], block: [u32; 3], kernarg: &[u8]) -> Option<String> {
    let has_sizes = (*SIZES.read().unwrap_or_else(PoisonError::into_inner))?;
    if !has_sizes(&kernel.name) {
        return None;
    }
    let name = &kernel.name;
    if (0..3).any(|d| (u64::from(grid[d]) * u64::from(block[d])) >> 31 != 0) {
        return Some(format!(
            "the grid {grid:?} of {block:?} work-items of {name} {UNDECLARED}"
        ));
    }
    let (offset, number) = kernel.large_number(kernarg)?;
    Some(format!(
        "the argument at {offset} of {name} is {number}, and {UNDECLARED}"
    ))
}

/// Counts from now on what launches cost, or no longer.
pub fn count(on: bool) {
    COUNTING.store(on, Relaxed);
}

/// Whether launches count what they cost.
pub fn is_counting() -> bool {
    COUNTING.load(Relaxed)
}

/// What was counted since the last call, by the names of the kernels.
pub fn take_counted() -> Vec<Counted> {
    std::mem::take(&mut state().counted).into_values().collect()
}

/// Ends waves after so many instructions, as a fault of the watchdog.
pub fn limit_waves(instructions: u64) {
    LIMIT.store(instructions, Relaxed);
}

/// Says where in the next allocation a multiple of 4 GiB lies ([`gfx_emu::Memory::cross_next`]); each one after it has the place after. What
/// lies where is then the same each time that the same calls follow.
pub fn cross_from(turn: u32) {
    TURN.store(i64::from(turn), Relaxed);
}

/// The place for one allocation, where somebody says places.
pub(crate) fn turn() -> Option<u32> {
    // Two devices of a process may share a number: then both have a multiple at that place, which harms nothing.
    match TURN.load(Relaxed) {
        ..0 => None,
        turn => {
            TURN.store(turn + 1, Relaxed);
            Some(turn as u32)
        }
    }
}

/// What was executed since the last call, by code object and kernel.
pub fn take() -> Vec<Covered> {
    let covered = std::mem::take(&mut state().covered);
    let covered = covered.into_iter().map(|((object, kernel), marks)| Covered {
        object,
        kernel,
        marks,
    });
    covered.collect()
}

/// The code objects that were loaded since the last call. One that was loaded twice may be told twice.
pub fn take_objects() -> Vec<Object> {
    std::mem::take(&mut state().objects)
}

/// Plants a fault in the place of the one before, or none. Launches of the kernel execute the faulty one from then on.
pub fn plant(mutant: Option<Mutant>) {
    let mut state = state();
    (state.mutant, state.patched) = (mutant, None);
}

/// Has the folder of `ROCM_COVERAGE` filled.
pub(crate) fn fill(folder: &Path) {
    note();
    let mut state = state();
    if state.sink.is_none() {
        state.sink = Some(Folder::at(folder));
    }
}

/// Whether launches are to note what they execute.
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// How launches run.
pub(crate) fn options() -> LaunchOptions {
    let usual = LaunchOptions::default();
    let limit = match LIMIT.load(Relaxed) {
        0 => usual.max_wave_instructions,
        limit => limit,
    };
    LaunchOptions {
        max_wave_instructions: limit,
        cover: is_on(),
        count: is_counting(),
        ..usual
    }
}

/// The digest of a code object that is being loaded, where that is noted.
///
/// # Errors
/// The folder of `ROCM_COVERAGE` cannot be written.
pub(crate) fn loaded(file: &[u8]) -> Result<Option<Arc<str>>, String> {
    if !is_on() {
        return Ok(None);
    }
    let id: Arc<str> = Arc::from(digest(file));
    let mut state = state();
    if let Some(sink) = &mut state.sink {
        sink.object(&id, file)?;
    }
    state.objects.push(Object {
        id: Arc::clone(&id),
        file: Arc::from(file),
    });
    Ok(Some(id))
}

/// What a launch of `kernel` executed.
///
/// # Errors
/// The folder of `ROCM_COVERAGE` cannot be written.
pub(crate) fn launched(object: &Arc<str>, code: &CodeObject, kernel: &Kernel) -> Result<(), String> {
    let Some(marks) = code.take_marks(kernel) else {
        return Ok(());
    };
    let mut state = state();
    if let Some(sink) = &mut state.sink {
        sink.add(object, &kernel.name, &marks)?;
    }
    let key = (Arc::clone(object), kernel.name.clone());
    merge(state.covered.entry(key).or_default(), &marks);
    Ok(())
}

/// What a launch cost, where that was counted.
pub(crate) fn cost(
    target: Target,
    kernel: &Kernel,
    block: [u32; 3],
    dynamic_lds: u32,
    counters: Option<&Counters>,
) {
    let Some(counters) = counters else { return };
    let Some(resources) = Resources::of(target, kernel, block, dynamic_lds) else {
        return;
    };
    let mut state = state();
    let key = (kernel.name.clone(), block, dynamic_lds);
    let counted = state.counted.entry(key).or_insert_with(|| Counted {
        kernel: kernel.name.clone(),
        block,
        resources,
        launches: 0,
        counters: Counters::default(),
    });
    counted.launches += 1;
    counted.counters += counters;
}

/// The kernel that runs in the place of `kernel`, if a fault is planted in that.
///
/// # Errors
/// The fault makes no kernel that can run.
pub(crate) fn planted(
    object: Option<&Arc<str>>,
    code: &CodeObject,
    kernel: &Kernel,
) -> Result<Option<Arc<Kernel>>, PatchError> {
    let mut state = state();
    let hit = |mutant: &&Mutant| {
        mutant.kernel == kernel.name && object.is_some_and(|object| **object == *mutant.object)
    };
    let Some(mutant) = state.mutant.as_ref().filter(hit) else {
        return Ok(None);
    };
    if let Some(patched) = &state.patched {
        return Ok(Some(Arc::clone(patched)));
    }
    let patched = Arc::new(code.patched(kernel, &mutant.patch)?);
    state.patched = Some(Arc::clone(&patched));
    Ok(Some(patched))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gfx_emu::BARE_KERNEL;

    #[test]
    fn a_launch_with_a_larger_size_than_is_declared_is_told_where_that_is_asked_for() {
        let end = 0xbfb0_0000_u32.to_le_bytes();
        let code = CodeObject::bare(Target::Gfx1100, &end, 0, 0, 8).unwrap();
        let kernel = code.kernel(BARE_KERNEL).unwrap();
        let launched =
            |groups, number: u64| undeclared(kernel, [1, groups, 1], [1, 256, 1], &number.to_le_bytes());
        let told = |number| launched(1, number);
        assert_eq!(told(1 << 31), None);
        hold_to_sizes(|_| false);
        assert_eq!(told(1 << 31), None, "this kernel has none");
        hold_to_sizes(|_| true);
        let (most, more) = (told((1 << 31) - 1), told(1 << 31));
        let grids = [1 << 22, 1 << 23].map(|groups| launched(groups, 0).is_some());
        *SIZES.write().unwrap() = None;
        assert_eq!(grids, [false, true]);
        assert_eq!(most, None);
        assert!(more.is_some_and(|why| why.contains(UNDECLARED)));
    }
}
