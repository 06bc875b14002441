//! The seam: one table of the C symbols this process may call, each a hidden jump through a slot.
//!
//! rocm-rs declares `extern "C"` functions and links nothing. This file defines a symbol of the same name for each
//! row of the table: one jump instruction through an atomic slot. Slots are filled at run time, from a real
//! `libamdhip64`, `librocblas`, `librocrand`, `libMIOpen` or `librccl`, or from the software device, so one binary serves both and no ROCm is needed to build. The
//! symbols are hidden: an executable or shared object that contains this crate exports none of them, so a real
//! ROCm library loaded beside it never calls into us by accident.
//!
//! No signature is written here: rocm-rs's declarations are the signatures, and a row rocm-rs does not declare
//! does not compile. This is the only file of the crate with `extern "C"` or assembly. `load.rs` fills
//! the slots, when `driver.rs` says.
#![expect(
    unsafe_code,
    reason = "the seam defines C symbols in assembly and stores foreign code addresses"
)]

use std::ffi::{c_char, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("rocm-backend's driver seam is written for Linux on x86-64 and aarch64, where ROCm runs");

/// One C symbol: its name, whether this crate calls it, and the slot its trampoline jumps through.
pub(crate) struct Symbol {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    slot: &'static AtomicPtr<c_void>,
    unset: extern "C" fn() -> Answer,
}

/// What happens when a library lacks a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// This crate calls it: a library without it is refused.
    Required,
    /// Not called here; filled so that code using rocm-rs's bindings beside us reaches the same driver. Missing,
    /// it answers `hipErrorNotSupported`.
    Optional,
}

/// A register's worth of return value: a status in its low half, or a pointer to a C string.
#[repr(transparent)]
pub(crate) struct Answer(usize);

const NOT_INITIALIZED: usize = rocm_rs::hip::bindings::hipError_t_hipErrorNotInitialized as usize;
const NO_HANDLE: usize = rocm_rs::rocblas::bindings::rocblas_status__rocblas_status_invalid_handle as usize;
const NOT_CREATED: usize = rocm_rs::rocrand::bindings::rocrand_status_ROCRAND_STATUS_NOT_CREATED as usize;
const NN_NOT_INITIALIZED: usize =
    rocm_rs::miopen::bindings::miopenStatus_t_miopenStatusNotInitialized as usize;
const NOT_SUPPORTED: usize = rocm_rs::hip::bindings::hipError_t_hipErrorNotSupported as usize;
// A status comes back in the low half of the register that carries `Answer`.
const _: () = assert!(size_of::<rocm_rs::hip::bindings::hipError_t>() == size_of::<c_uint>());
const _: () = assert!(size_of::<rocm_rs::rocblas::bindings::rocblas_status>() == size_of::<c_uint>());
const _: () = assert!(size_of::<rocm_rs::rocrand::bindings::rocrand_status>() == size_of::<c_uint>());
const _: () = assert!(size_of::<rocm_rs::miopen::bindings::miopenStatus_t>() == size_of::<c_uint>());
const _: () = assert!(size_of::<rocm_rs::rccl::bindings::ncclResult_t>() == size_of::<c_uint>());
const _: () = assert!(size_of::<Answer>() == size_of::<*const c_char>());
// The layouts the R0600 symbol fills; a change of rocm-rs that moved them must not go unseen.
const _: () = assert!(size_of::<rocm_rs::hip::bindings::hipDeviceProp_tR0600>() == 1472);
const _: () =
    assert!(std::mem::offset_of!(rocm_rs::hip::bindings::hipDeviceProp_tR0600, gcnArchName) == 1160);

/// In a slot that nobody filled, for functions that return a status.
extern "C" fn status() -> Answer {
    Answer(NOT_INITIALIZED)
}

/// In a slot that nobody filled, for functions of rocBLAS: nobody made the handle that they are given.
extern "C" fn blas() -> Answer {
    Answer(NO_HANDLE)
}

/// In a slot that nobody filled, for functions of rocRAND: nobody made the generator that they are given.
extern "C" fn rand() -> Answer {
    Answer(NOT_CREATED)
}

/// In a slot that nobody filled, for functions of MIOpen.
extern "C" fn nn() -> Answer {
    Answer(NN_NOT_INITIALIZED)
}

/// In a slot that nobody filled, for functions of RCCL.
extern "C" fn ccl() -> Answer {
    Answer(rocm_rs::rccl::bindings::ncclSystemError as usize)
}

/// In a slot that nobody filled, for functions that return a C string.
extern "C" fn text() -> Answer {
    Answer(c"no ROCm driver is loaded".as_ptr().expose_provenance())
}

/// In the slot of an optional symbol that the loaded library lacks.
extern "C" fn unsupported() -> Answer {
    Answer(NOT_SUPPORTED)
}

#[cfg(target_arch = "x86_64")]
macro_rules! trampoline {
    ($module:ident, $name:ident) => {
        std::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            "jmp qword ptr [rip + {slot}]",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            slot = sym $module::$name,
        );
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! trampoline {
    ($module:ident, $name:ident) => {
        // x16 is the scratch register the procedure call standard leaves to linkers' veneers.
        std::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",%progbits"),
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",%function"),
            concat!(stringify!($name), ":"),
            "adrp x16, {slot}",
            "ldr x16, [x16, :lo12:{slot}]",
            "br x16",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            slot = sym $module::$name,
        );
    };
}

/// Slots, trampolines and table of one library: `symbols! { slots, TABLE, bindings path; need kind name; .. }`.
/// `kind` is what the function returns: a `status` of HIP, one of `blas`, `rand`, `nn` or `ccl`, or a `text`.
macro_rules! symbols {
    ($module:ident, $table:ident, $($bindings:ident)::+; $($need:ident $kind:ident $name:ident;)*) => {
        #[expect(non_upper_case_globals, reason = "a slot is named after its C symbol")]
        mod $module {
            use super::{AtomicPtr, c_void};
            use $($bindings)::+ as declared;
            // A row that rocm-rs does not declare does not compile.
            const _: () = { $(let _ = declared::$name;)* };
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(super::$kind as *mut c_void);)*
        }
        $(trampoline!($module, $name);)*
        /// The symbols of one library, in the order of the table in this file.
        pub(crate) static $table: &[Symbol] = &[$(Symbol {
            name: stringify!($name),
            need: Need::$need,
            slot: &$module::$name,
            unset: $kind,
        }),*];
    };
}

symbols! { hip_slots, HIP, rocm_rs::hip::bindings;
    // Driver and device.
    Required status hipInit;
    Required status hipGetDeviceCount;
    Required status hipSetDevice;
    Optional status hipGetDevice;
    Optional status hipDeviceGetAttribute;
    // Not `hipGetDeviceProperties`: since ROCm 6 that name still answers with the layout of ROCm 5.
    Required status hipGetDevicePropertiesR0600;
    Optional status hipDriverGetVersion;
    Required status hipRuntimeGetVersion;
    Required status hipMemGetInfo;
    Optional status hipDeviceSynchronize;
    Required text   hipGetErrorName;
    Required text   hipGetErrorString;
    Optional status hipGetLastError;
    Optional status hipPeekAtLastError;
    // Memory.
    Required status hipMalloc;
    Required status hipFree;
    Required status hipHostMalloc;
    Required status hipHostFree;
    // Copies and fills.
    Optional status hipMemcpy;
    Required status hipMemcpyAsync;
    Optional status hipMemcpy2DAsync;
    Required status hipMemsetAsync;
    Optional status hipMemsetD8Async;
    Optional status hipMemsetD16Async;
    Optional status hipMemsetD32Async;
    Required status hipMemcpyPeerAsync;
    Optional status hipDeviceCanAccessPeer;
    Optional status hipDeviceEnablePeerAccess;
    // Streams and events.
    Required status hipStreamCreateWithFlags;
    Required status hipStreamDestroy;
    Required status hipStreamSynchronize;
    Optional status hipStreamQuery;
    Required status hipStreamWaitEvent;
    Optional status hipStreamGetDevice;
    Required status hipEventCreateWithFlags;
    Required status hipEventRecord;
    Required status hipEventSynchronize;
    Required status hipEventQuery;
    Required status hipEventElapsedTime;
    Required status hipEventDestroy;
    // Graphs.
    Required status hipStreamBeginCapture;
    Required status hipStreamEndCapture;
    Optional status hipStreamIsCapturing;
    Required status hipGraphGetNodes;
    Required status hipGraphInstantiateWithFlags;
    Required status hipGraphLaunch;
    Required status hipGraphExecDestroy;
    Required status hipGraphDestroy;
    // Kernels.
    Required status hipModuleLoadData;
    Required status hipModuleUnload;
    Required status hipModuleGetFunction;
    Required status hipModuleLaunchKernel;
    Optional status hipModuleOccupancyMaxPotentialBlockSize;
    Optional status hipFuncGetAttribute;
}

symbols! { rocblas_slots, ROCBLAS, rocm_rs::rocblas::bindings;
    Required blas rocblas_create_handle;
    Required blas rocblas_destroy_handle;
    Required blas rocblas_set_stream;
    Required blas rocblas_set_atomics_mode;
    Required blas rocblas_gemm_strided_batched_ex;
    Required text rocblas_status_to_string;
}

symbols! { rocrand_slots, ROCRAND, rocm_rs::rocrand::bindings;
    Required rand rocrand_create_generator;
    Required rand rocrand_destroy_generator;
    Required rand rocrand_set_stream;
    Required rand rocrand_set_seed;
    Required rand rocrand_set_offset;
    Required rand rocrand_generate_uniform;
    Required rand rocrand_generate_uniform_double;
    Required rand rocrand_generate_normal;
    Required rand rocrand_generate_normal_double;
}

symbols! { miopen_slots, MIOPEN, rocm_rs::miopen::bindings;
    Required nn   miopenCreateWithStream;
    Required nn   miopenDestroy;
    Required text miopenGetErrorString;
    Required nn   miopenCreateTensorDescriptor;
    Required nn   miopenSet4dTensorDescriptor;
    Required nn   miopenDestroyTensorDescriptor;
    Required nn   miopenCreateConvolutionDescriptor;
    Required nn   miopenInitConvolutionDescriptor;
    Optional nn   miopenSetConvolutionGroupCount;
    Required nn   miopenDestroyConvolutionDescriptor;
    Required nn   miopenConvolutionForwardGetSolution;
    Required nn   miopenConvolutionForwardCompileSolution;
    Required nn   miopenConvolutionForwardImmediate;
    Required nn   miopenConvolutionBackwardDataGetSolution;
    Required nn   miopenConvolutionBackwardDataCompileSolution;
    Required nn   miopenConvolutionBackwardDataImmediate;
    Required nn   miopenCreatePoolingDescriptor;
    Required nn   miopenSet2dPoolingDescriptor;
    Required nn   miopenDestroyPoolingDescriptor;
    Required nn   miopenPoolingForward;
}

symbols! { rccl_slots, RCCL, rocm_rs::rccl::bindings;
    Required ccl  ncclCommInitAll;
    Required ccl  ncclCommDestroy;
    Required text ncclGetErrorString;
    Required ccl  ncclGroupStart;
    Required ccl  ncclGroupEnd;
    Required ccl  ncclAllReduce;
    Required ccl  ncclAllGather;
    Required ccl  ncclReduceScatter;
    Required ccl  ncclBroadcast;
    Required ccl  ncclSend;
    Required ccl  ncclRecv;
}

/// The types of hipRTC's functions, after HIP's documentation; rocm-rs declares none of them. They are called through
/// rtc.rs's own pointers: nothing else in a process calls them by name through this crate.
#[cfg(feature = "compile")]
pub(crate) mod rtc {
    use std::ffi::{c_char, c_int, c_void};

    /// `hiprtcProgram`.
    pub(crate) type Program = *mut c_void;
    pub(crate) type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    pub(crate) type Create = unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int;
    pub(crate) type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
    pub(crate) type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
    pub(crate) type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
    pub(crate) type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
    pub(crate) type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;
}

/// Fills every slot of `table` from `resolve`. Nothing changes when a required symbol is missing: its names come
/// back as the error.
///
/// # Safety
/// Each address that `resolve` returns must be code with the C signature rocm-rs declares for that name, and stay
/// mapped for the rest of the process.
pub(crate) unsafe fn fill(
    table: &[Symbol],
    mut resolve: impl FnMut(&'static str) -> Option<*const c_void>,
) -> Result<(), Vec<&'static str>> {
    let found: Vec<_> = table
        .iter()
        .map(|symbol| (symbol, resolve(symbol.name)))
        .collect();
    let missing: Vec<_> = found
        .iter()
        .filter(|(symbol, address)| symbol.need == Need::Required && address.is_none())
        .map(|(symbol, _)| symbol.name)
        .collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    for (symbol, address) in found {
        let target = address.unwrap_or(unsupported as *const c_void);
        symbol.slot.store(target.cast_mut(), Ordering::Release);
    }
    Ok(())
}

/// Puts every slot of `table` back to "no driver is loaded".
pub(crate) fn reset(table: &[Symbol]) {
    for symbol in table {
        symbol.slot.store(symbol.unset as *mut c_void, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::CStr;

    use rocm_rs::hip::bindings;

    use super::*;

    // Rows for these tests alone, so that they never touch the slots other tests call through.
    symbols! { test_slots, TEST, rocm_rs::hip::bindings;
        Required status hipStreamGetFlags;
        Required text   hipApiName;
        Optional status hipStreamGetPriority;
    }

    extern "C" fn forty_two() -> Answer {
        Answer(42)
    }

    #[test]
    fn a_call_goes_where_its_slot_points_and_says_so_when_it_points_nowhere() {
        let stream_flags = || {
            let mut flags = 0;
            // SAFETY: the slot holds `status` or `forty_two`, which read no argument.
            unsafe { bindings::hipStreamGetFlags(std::ptr::null_mut(), &raw mut flags) }
        };
        assert_eq!(stream_flags(), bindings::hipError_t_hipErrorNotInitialized);
        // SAFETY: as above; `text` returns a static C string.
        let name = unsafe { CStr::from_ptr(bindings::hipApiName(0)) };
        assert_eq!(name, c"no ROCm driver is loaded");

        // SAFETY: `forty_two` reads no argument and returns a register that serves as a status. The
        // library has no `hipApiName`, so nothing is filled.
        let refused = unsafe {
            fill(TEST, |name| {
                (name != "hipApiName").then_some(forty_two as *const c_void)
            })
        };
        assert_eq!(refused, Err(vec!["hipApiName"]));
        assert_eq!(stream_flags(), bindings::hipError_t_hipErrorNotInitialized);

        // SAFETY: as above; no test calls `hipApiName` through the address given here.
        let filled = unsafe {
            fill(TEST, |name| {
                (name != "hipStreamGetPriority").then_some(forty_two as *const c_void)
            })
        };
        assert_eq!(filled, Ok(()));
        assert_eq!(stream_flags(), 42);
        let mut priority = 0;
        // SAFETY: the slot holds `unsupported`, which reads no argument.
        let status = unsafe { bindings::hipStreamGetPriority(std::ptr::null_mut(), &raw mut priority) };
        assert_eq!(
            status,
            bindings::hipError_t_hipErrorNotSupported,
            "an optional symbol the library lacks"
        );

        reset(TEST);
        assert_eq!(stream_flags(), bindings::hipError_t_hipErrorNotInitialized);
    }

    #[test]
    fn every_symbol_stands_in_the_table_once() {
        let tables = [HIP, ROCBLAS, ROCRAND, MIOPEN, RCCL];
        let names: BTreeSet<_> = tables
            .iter()
            .flat_map(|table| table.iter())
            .map(|symbol| symbol.name)
            .collect();
        assert_eq!(names.len(), tables.iter().map(|table| table.len()).sum());
    }

    #[test]
    fn the_software_device_answers_every_symbol_of_the_table() {
        let unanswered: Vec<_> = HIP
            .iter()
            .chain(ROCBLAS)
            .chain(ROCRAND)
            .chain(MIOPEN)
            .chain(RCCL)
            .map(|symbol| symbol.name)
            .filter(|name| rocm_soft::symbol(name).is_none())
            .collect();
        assert_eq!(unanswered, Vec::<&str>::new());
        assert!(
            rocm_soft::symbol("hipNoSuchSymbol").is_none(),
            "the software device answers any name at all"
        );
    }
}
