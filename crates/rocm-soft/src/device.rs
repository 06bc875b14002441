//! The software device that the entry points act on: its memory, and the objects that handles name.
//!
//! Safe code; what comes in as a C pointer has become an address, a slice or a handle before it gets here.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gfx_emu::{
    Access, CodeObject, Compiling, Dispatch, LaunchError, LaunchOptions, Memory, PatchError, Placement,
    launch,
};
use rocm_rs::hip::bindings as hip;

use crate::devices;
use crate::error::{self, Result};
use crate::graph::{Stream, Work};
use crate::handles::{HandleKind, Table};
use crate::properties::Model;
use crate::trial;

/// The device this thread works on; an error when the environment asks for one that there is not, and when it was lost.
pub(crate) fn device() -> Result<&'static Device> {
    let devices = devices::all()?;
    let device = devices.get(devices::current());
    let device = device.ok_or(hip::hipError_t_hipErrorNoDevice)?;
    if device.lost.load(Ordering::Acquire) {
        return Err(hip::hipError_t_hipErrorLaunchFailure);
    }
    Ok(device)
}

/// A loaded code object.
#[derive(Debug)]
struct Module {
    code: CodeObject,
    /// Its digest, where coverage is noted.
    id: Option<Arc<str>>,
    placement: Placement,
}

/// A kernel of a loaded code object.
#[derive(Clone, Debug)]
pub(crate) struct LoadedKernel {
    module: Arc<Module>,
    name: String,
}

/// An event: whether it keeps times, and when it was recorded on the device's clock.
#[derive(Debug)]
struct Event {
    timed: bool,
    recorded: Option<u64>,
}

/// Nanoseconds that work takes on the device's clock, beside an instruction a nanosecond and [`BYTES_A_NANOSECOND`]: what
/// events measure must not depend on the host. It does not predict a card's times.
const SUBMISSION: u64 = 1000;
/// What copies and fills move.
const BYTES_A_NANOSECOND: u64 = 100;

#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) streams: Table<Stream>,
    events: Table<Event>,
    modules: Table<Arc<Module>>,
    functions: Table<LoadedKernel>,
    pub(crate) graphs: Table<Arc<[Work]>>,
    pub(crate) executables: Table<Arc<[Work]>>,
}

/// A launch, as `hipModuleLaunchKernel` gets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchShape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_lds: u32,
}

const _: () = assert!(
    gfx_emu::Memory::PLACES == rocm_env::Place::COUNT,
    "ROCM_SOFT_PLACE takes the number of each place"
);

/// One software device.
#[derive(Debug)]
pub(crate) struct Device {
    model: &'static Model,
    /// Its number.
    id: usize,
    /// Nanoseconds of work so far; see [`SUBMISSION`].
    clock: AtomicU64,
    sanitize: bool,
    compiling: Compiling,
    /// What is added to the place that an allocation would have.
    place: u32,
    /// Whether a fault ends the device.
    loses: bool,
    /// Set at a fault of a device that one ends, and never again cleared.
    lost: AtomicBool,
    /// Launches and copies work on a view of it (see `Memory`'s clone), so that no lock is held while a
    /// kernel runs: rayon may run another caller's work on this thread meanwhile, and that may allocate.
    memory: Mutex<Arc<Memory>>,
    tables: Mutex<Tables>,
}

/// No lock here guards a change that a panic could leave half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Device `id` of `count`.
    pub(crate) fn new(
        model: &'static Model,
        id: usize,
        count: usize,
        (capacity, place): (u64, u32),
        (sanitize, compiling): (bool, Compiling),
        loses: bool,
    ) -> Device {
        let mut memory = Memory::of_device(capacity, id, count);
        if sanitize {
            memory.track_writes();
        }
        // Who watches launches, or asks what tests reach or notice, wants carries in addresses, also in those of short tensors.
        if sanitize || trial::is_on() {
            memory.cross_early();
        }
        memory.cross_next(place);
        let tables = Tables {
            streams: Table::on(HandleKind::Stream, id),
            events: Table::on(HandleKind::Event, id),
            modules: Table::on(HandleKind::Module, id),
            functions: Table::on(HandleKind::Function, id),
            graphs: Table::on(HandleKind::Graph, id),
            executables: Table::on(HandleKind::Executable, id),
        };
        Device {
            model,
            id,
            clock: AtomicU64::new(0),
            sanitize,
            compiling,
            place,
            loses,
            lost: AtomicBool::new(false),
            memory: Mutex::new(Arc::new(memory)),
            tables: Mutex::new(tables),
        }
    }

    /// What the device says about itself.
    pub(crate) fn model(&self) -> &'static Model {
        self.model
    }

    /// Its number.
    pub(crate) fn id(&self) -> usize {
        self.id
    }

    /// Whether an allocation of its own is around `address`.
    pub(crate) fn has(&self, address: u64) -> bool {
        self.allocation_here(address).is_some()
    }

    /// An error when `address` is not in its memory.
    pub(crate) fn owns(&self, address: u64) -> Result {
        if self.has(address) {
            Ok(())
        } else {
            Err(hip::hipError_t_hipErrorInvalidValue)
        }
    }

    /// The tables of the device whose handle it is.
    pub(crate) fn tables(&self, handle: usize) -> MutexGuard<'_, Tables> {
        lock(&devices::home(handle, self).tables)
    }

    /// Work was done: the clock goes on.
    fn spend(&self, nanoseconds: u64) {
        self.clock.fetch_add(SUBMISSION + nanoseconds, Ordering::Relaxed);
    }

    fn memory(&self) -> Arc<Memory> {
        lock(&self.memory).clone()
    }

    /// Free and total bytes.
    pub(crate) fn memory_info(&self) -> (usize, usize) {
        let memory = self.memory();
        (
            (memory.capacity() - memory.used()) as usize,
            memory.capacity() as usize,
        )
    }

    /// A new allocation's address; 0 for no bytes, as HIP gives it.
    pub(crate) fn alloc(&self, bytes: usize) -> Result<u64> {
        if bytes == 0 {
            return Ok(0);
        }
        let mut memory = lock(&self.memory);
        let memory = Arc::make_mut(&mut memory);
        if let Some(turn) = trial::turn() {
            memory.cross_next(turn.wrapping_add(self.place));
        }
        memory
            .alloc(bytes as u64)
            .map_err(|_| hip::hipError_t_hipErrorOutOfMemory)
    }

    /// Frees an allocation; freeing address 0 does nothing.
    pub(crate) fn free(&self, address: u64) -> Result {
        if address == 0 {
            return Ok(());
        }
        let owner = devices::owner(address, self);
        let mut memory = lock(&owner.memory);
        Arc::make_mut(&mut memory)
            .free(address)
            .map_err(|_| hip::hipError_t_hipErrorInvalidValue)
    }

    /// Start and size of the allocation that holds `address`.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        devices::owner(address, self).allocation_here(address)
    }

    fn allocation_here(&self, address: u64) -> Option<(u64, u64)> {
        self.memory().allocation(address)
    }

    /// Whether all of the range is device memory.
    pub(crate) fn covers(&self, address: u64, bytes: usize) -> bool {
        let owner = devices::owner(address, self);
        owner.memory().check(address, bytes as u64, Access::Load).is_ok()
    }

    pub(crate) fn read(&self, address: u64, out: &mut [u8]) -> Result {
        let owner = devices::owner(address, self);
        owner.spend(out.len() as u64 / BYTES_A_NANOSECOND);
        let read = owner.memory().read(address, out);
        read.map_err(|_| hip::hipError_t_hipErrorInvalidValue)
    }

    pub(crate) fn write(&self, address: u64, data: &[u8]) -> Result {
        let owner = devices::owner(address, self);
        owner.spend(data.len() as u64 / BYTES_A_NANOSECOND);
        let written = owner.memory().write(address, data);
        written.map_err(|_| hip::hipError_t_hipErrorInvalidValue)
    }

    pub(crate) fn copy(&self, target: u64, source: u64, bytes: usize) -> Result {
        let (to, from) = (devices::owner(target, self), devices::owner(source, self));
        to.spend(bytes as u64 / BYTES_A_NANOSECOND);
        let invalid = hip::hipError_t_hipErrorInvalidValue;
        if to.id == from.id {
            let copied = to.memory().copy(target, source, bytes as u64);
            return copied.map_err(|_| invalid);
        }
        // Checked before the buffer is made: `bytes` may be any number.
        let (there, here) = (to.memory(), from.memory());
        let checked = there.check(target, bytes as u64, Access::Store);
        checked
            .and_then(|()| here.check(source, bytes as u64, Access::Load))
            .map_err(|_| invalid)?;
        let mut buffer = vec![0; bytes];
        let copied = here.read(source, &mut buffer);
        copied
            .and_then(|()| there.write(target, &buffer))
            .map_err(|_| invalid)
    }

    pub(crate) fn fill(&self, address: u64, pattern: &[u8], count: usize) -> Result {
        let owner = devices::owner(address, self);
        owner.spend((pattern.len() * count) as u64 / BYTES_A_NANOSECOND);
        let filled = owner.memory().fill(address, pattern, count as u64);
        filled.map_err(|_| hip::hipError_t_hipErrorInvalidValue)
    }

    pub(crate) fn create_stream(&self, flags: u32) -> Result<usize> {
        if flags & !hip::hipStreamNonBlocking != 0 {
            return Err(hip::hipError_t_hipErrorInvalidValue);
        }
        Ok(lock(&self.tables).streams.insert(Stream::default()))
    }

    pub(crate) fn destroy_stream(&self, stream: usize) -> Result {
        self.tables(stream).streams.remove(stream).map(|_| ())
    }

    /// Whether a stream handle is one: null, the two constants of HIP (1 legacy, 2 per thread), or a created
    /// stream.
    pub(crate) fn check_stream(&self, stream: usize) -> Result {
        if stream <= 2 {
            Ok(())
        } else {
            self.tables(stream).streams.get(stream).map(|_| ())
        }
    }

    pub(crate) fn create_event(&self, flags: u32) -> usize {
        let timed = flags & hip::hipEventDisableTiming == 0;
        lock(&self.tables).events.insert(Event {
            timed,
            recorded: None,
        })
    }

    pub(crate) fn destroy_event(&self, event: usize) -> Result {
        self.tables(event).events.remove(event).map(|_| ())
    }

    /// All work submitted before is done, so recording is completing.
    pub(crate) fn record_event(&self, event: usize, stream: usize) -> Result {
        self.must_run(stream)?;
        let now = devices::home(event, self).clock.load(Ordering::Relaxed);
        self.tables(event).events.get_mut(event)?.recorded = Some(now);
        Ok(())
    }

    pub(crate) fn check_event(&self, event: usize) -> Result {
        self.tables(event).events.get(event).map(|_| ())
    }

    /// Milliseconds from one event to another; both must be of one device, keep times and have been recorded.
    pub(crate) fn elapsed(&self, start: usize, stop: usize) -> Result<f32> {
        let tables = self.tables(start);
        let time = |event: &Event| event.recorded.filter(|_| event.timed);
        let start = time(tables.events.get(start)?).ok_or(hip::hipError_t_hipErrorInvalidHandle)?;
        let stop = time(tables.events.get(stop)?).ok_or(hip::hipError_t_hipErrorInvalidHandle)?;
        Ok((stop as f64 - start as f64) as f32 / 1e6)
    }

    pub(crate) fn load_module(&self, file: &[u8]) -> Result<usize> {
        let code = CodeObject::load(file).map_err(|e| error::load(&e))?;
        let ours = self.model.target;
        if code.target().to_string() != ours {
            return Err(error::other_target(format!(
                "the code object is compiled for {}, this device executes {ours}",
                code.target()
            )));
        }
        let id = trial::loaded(file).map_err(error::unwritten)?;
        let placement = {
            let mut memory = lock(&self.memory);
            code.place(Arc::make_mut(&mut memory))
                .map_err(|_| hip::hipError_t_hipErrorOutOfMemory)?
        };
        Ok(lock(&self.tables)
            .modules
            .insert(Arc::new(Module { code, id, placement })))
    }

    /// Unloads a module: its functions are gone and its device variables are freed.
    pub(crate) fn unload_module(&self, module: usize) -> Result {
        let removed = {
            let mut tables = self.tables(module);
            let removed = tables.modules.remove(module)?;
            tables
                .functions
                .retain(|function| !Arc::ptr_eq(&function.module, &removed));
            removed
        };
        self.free(removed.placement.base())
    }

    /// The handle of a kernel; asked twice, the same one.
    pub(crate) fn function(&self, module: usize, name: &str) -> Result<usize> {
        let mut tables = self.tables(module);
        let module = tables.modules.get(module)?.clone();
        if module.code.kernel(name).is_none() {
            return Err(hip::hipError_t_hipErrorNotFound);
        }
        let known = tables
            .functions
            .find(|f| f.name == name && Arc::ptr_eq(&f.module, &module));
        Ok(known.unwrap_or_else(|| {
            tables.functions.insert(LoadedKernel {
                module,
                name: name.to_owned(),
            })
        }))
    }

    /// Address and size of a device variable.
    pub(crate) fn variable(&self, module: usize, name: &str) -> Result<(u64, usize)> {
        let module = self.tables(module).modules.get(module)?.clone();
        let variable = module.code.global(name).ok_or(hip::hipError_t_hipErrorNotFound)?;
        Ok((module.placement.address(variable), variable.size as usize))
    }

    fn get_function(&self, function: usize) -> Result<LoadedKernel> {
        self.tables(function).functions.get(function).cloned()
    }

    /// Runs `inspect` on a kernel.
    pub(crate) fn with_kernel<T>(
        &self,
        function: usize,
        inspect: impl FnOnce(&gfx_emu::Kernel) -> T,
    ) -> Result<T> {
        let function = self.get_function(function)?;
        // The handle was given out because the kernel exists.
        let kernel = function.module.code.kernel(&function.name);
        kernel.map(inspect).ok_or(hip::hipError_t_hipErrorInvalidHandle)
    }

    /// `hipFuncGetAttribute`.
    pub(crate) fn function_attribute(
        &self,
        function: usize,
        attribute: hip::hipFunction_attribute,
    ) -> Result<c_int> {
        let limits = gfx_emu::Limits::of(self.get_function(function)?.module.code.target());
        self.with_kernel(function, |kernel| {
            let static_lds = kernel.descriptor.group_segment_size;
            let value = match attribute {
                hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => {
                    kernel.max_workgroup_size.min(limits.workgroup_size)
                }
                hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => static_lds,
                hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => 0,
                hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => {
                    kernel.descriptor.private_segment_size
                }
                hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_NUM_REGS => kernel.vgprs,
                hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                    limits.lds.saturating_sub(static_lds)
                }
                _ => return Err(hip::hipError_t_hipErrorInvalidValue),
            };
            c_int::try_from(value).map_err(|_| hip::hipError_t_hipErrorInvalidValue)
        })?
    }

    /// Offset and size of each argument the caller passes.
    pub(crate) fn arguments(&self, function: usize) -> Result<Vec<(usize, usize)>> {
        self.with_kernel(function, |kernel| {
            kernel
                .explicit_args()
                .map(|arg| (arg.offset as usize, arg.size as usize))
                .collect()
        })
    }

    /// Runs a kernel to its end, or records it; `kernarg` are the explicit arguments, each at its offset.
    pub(crate) fn launch(
        &self,
        function: usize,
        shape: &LaunchShape,
        stream: usize,
        kernarg: &[u8],
    ) -> Result {
        self.check_stream(stream)?;
        // A module belongs to the device that was current when it was loaded, a stream to that of its creation.
        if devices::home(function, self).id != self.id || devices::home(stream, self).id != self.id {
            return Err(hip::hipError_t_hipErrorInvalidHandle);
        }
        let function = self.get_function(function)?;
        let is_recorded = self.record(stream, || Work::Launch {
            function: function.clone(),
            shape: *shape,
            kernarg: kernarg.to_vec(),
        })?;
        if is_recorded {
            return Ok(());
        }
        self.run(&function, shape, kernarg)
    }

    /// Runs a kernel to its end.
    pub(crate) fn run(&self, function: &LoadedKernel, shape: &LaunchShape, kernarg: &[u8]) -> Result {
        let Module { code, id, placement } = &*function.module;
        let kernel = code
            .kernel(&function.name)
            .ok_or(hip::hipError_t_hipErrorInvalidHandle)?;
        if let Some(why) = trial::undeclared(kernel, shape.grid, shape.block, kernarg) {
            return Err(error::undeclared(why));
        }
        let planted = trial::planted(id.as_ref(), code, kernel)
            .map_err(|why: PatchError| error::image(why.to_string()))?;
        let kernel = planted.as_deref().unwrap_or(kernel);
        let dispatch = Dispatch {
            kernel,
            placement: *placement,
            grid: shape.grid,
            block: shape.block,
            dynamic_lds: shape.dynamic_lds,
            kernarg,
        };
        let options = LaunchOptions {
            sanitize: self.sanitize,
            compiling: self.compiling,
            ..trial::options()
        };
        let result = launch(code, &dispatch, &self.memory(), &options);
        if let Some(id) = id.as_ref().filter(|_| planted.is_none()) {
            trial::launched(id, code, kernel).map_err(error::unwritten)?;
        }
        if let Ok(stats) = &result {
            trial::cost(
                code.target(),
                kernel,
                shape.block,
                shape.dynamic_lds,
                stats.counters.as_ref(),
            );
        }
        self.spend(result.as_ref().map_or(0, |stats| stats.instructions));
        result.map(|_| ()).map_err(|e| {
            if matches!(e, LaunchError::Fault(_)) && self.loses {
                self.lost.store(true, Ordering::Release);
            }
            error::launch(&e)
        })
    }
}
