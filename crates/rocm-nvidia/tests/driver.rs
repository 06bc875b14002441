//! HIP's entry points over a stand-in for NVIDIA's driver (libcuda.c), compiled here with `cc`: what each asks of the driver, and
//! what becomes of the answer. No GPU is needed. One test, as a process has one driver.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(unsafe_code, reason = "calls C functions by their addresses")]

mod mock;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr;

use mock::Mock;
use rocm_nvidia::Missing;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;

const SUCCESS: hipError_t = hip::hipError_t_hipSuccess;
const INVALID_VALUE: hipError_t = hip::hipError_t_hipErrorInvalidValue;
const NOT_INITIALIZED: hipError_t = hip::hipError_t_hipErrorNotInitialized;

/// Calls a function of HIP's by its name: `call!(hipFree(*mut c_void) pointer)`.
macro_rules! call {
    ($name:ident($($ty:ty),*) $($arg:expr),*) => {{
        const _: unsafe extern "C" fn($($ty),*) -> hipError_t = hip::$name;
        let address = rocm_nvidia::symbol(stringify!($name)).unwrap();
        // SAFETY: the crate checks that the function has the signature that rocm-rs declares, which is compared here; what
        // is passed is live for as long as the stand-in uses it.
        unsafe {
            let function: unsafe extern "C" fn($($ty),*) -> hipError_t = std::mem::transmute(address);
            function($($arg),*)
        }
    }};
}

/// The context that is current for the stand-in.
fn context(mock: &Mock) -> c_int {
    let context = mock.function::<unsafe extern "C" fn() -> c_int>("mock_context");
    // SAFETY: it only reads.
    unsafe { context() }
}

fn lose_context(mock: &Mock) {
    let lose = mock.function::<unsafe extern "C" fn()>("mock_lose_context");
    // SAFETY: it only writes a number.
    unsafe { lose() }
}

#[test]
fn each_entry_point_asks_the_driver_for_the_same_thing() {
    let folder = tempfile::tempdir().unwrap();
    without_a_driver(folder.path());
    let library = Mock::compile(folder.path(), "libcuda.c", rocm_nvidia::LIBRARY);
    rocm_nvidia::load(&library).unwrap();
    let mock = Mock::load(&library);
    devices(&mock);
    memory(&mock);
    copies(&mock);
    streams_and_events(&mock);
    graphs(&mock);
    modules(&mock);
    launches(&mock);
    errors(&mock);
}

fn without_a_driver(folder: &Path) {
    let absent = rocm_nvidia::load(&folder.join(rocm_nvidia::LIBRARY)).unwrap_err();
    assert!(
        absent.to_string().contains("cannot open shared object file"),
        "{absent}"
    );
    // A library that is none of NVIDIA's: it is refused, with what it lacks.
    let other = folder.join("other.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"])
        .arg(&other)
        .status();
    assert!(built.unwrap().success());
    let Err(Missing::Functions(names)) = rocm_nvidia::load(&other) else {
        panic!("a library without functions serves");
    };
    assert!(
        names.contains(&"cuInit") && names.contains(&"cuLaunchKernel"),
        "{names:?}"
    );
    let mut pointer = ptr::null_mut();
    assert_eq!(call!(hipInit(c_uint) 0), NOT_INITIALIZED);
    assert_eq!(
        call!(hipMalloc(*mut *mut c_void, usize) &raw mut pointer, 4),
        NOT_INITIALIZED
    );
    assert!(pointer.is_null());
}

fn devices(mock: &Mock) {
    assert_eq!(call!(hipInit(c_uint) 1), INVALID_VALUE);
    assert_eq!(call!(hipInit(c_uint) 0), SUCCESS);
    assert_eq!(mock.calls(), ["cuInit 0"], "the driver is initialized once");
    let mut count = 0;
    assert_eq!(call!(hipGetDeviceCount(*mut c_int) &raw mut count), SUCCESS);
    assert_eq!(count, 2);
    assert_eq!(
        call!(hipGetDeviceCount(*mut c_int) ptr::null_mut()),
        INVALID_VALUE
    );

    assert_eq!(call!(hipSetDevice(c_int) 1), SUCCESS);
    assert_eq!(context(mock), 0x100 + 71);
    assert_eq!(
        call!(hipSetDevice(c_int) 2),
        hip::hipError_t_hipErrorInvalidDevice
    );
    let mut current = -1;
    assert_eq!(call!(hipGetDevice(*mut c_int) &raw mut current), SUCCESS);
    assert_eq!(current, 1, "a device that is not there is not taken");
    assert_eq!(call!(hipSetDevice(c_int) 0), SUCCESS);
    assert_eq!(call!(hipSetDevice(c_int) 1), SUCCESS);
    let retained = mock
        .calls()
        .iter()
        .filter(|call| call.starts_with("cuDevicePrimaryCtxRetain"))
        .count();
    assert_eq!(retained, 2, "a context a device");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut current = -1;
            assert_eq!(call!(hipGetDevice(*mut c_int) &raw mut current), SUCCESS);
            assert_eq!(current, 0, "another thread has its own");
        });
    });
    assert_eq!(call!(hipSetDevice(c_int) 0), SUCCESS);
    // Other CUDA code of the process may change the thread's context.
    lose_context(mock);
    assert_eq!(call!(hipDeviceSynchronize()), SUCCESS);
    assert_eq!(context(mock), 0x100 + 70);

    // SAFETY: integers, arrays of them and pointers, for which zero is a value.
    let mut properties: hip::hipDeviceProp_tR0600 = unsafe { std::mem::zeroed() };
    let status =
        call!(hipGetDevicePropertiesR0600(*mut hip::hipDeviceProp_tR0600, c_int) &raw mut properties, 1);
    assert_eq!(status, SUCCESS);
    // SAFETY: both fields were filled with a text and its NUL.
    let (name, arch) = unsafe {
        (
            CStr::from_ptr(properties.name.as_ptr()),
            CStr::from_ptr(properties.gcnArchName.as_ptr()),
        )
    };
    assert_eq!((name, arch), (c"stand-in 71", c"sm_90"));
    assert_eq!(
        (
            properties.warpSize,
            properties.totalGlobalMem,
            properties.multiProcessorCount
        ),
        (32, 1071, 1016)
    );
    let mut value = 0;
    let warp = hip::hipDeviceAttribute_t_hipDeviceAttributeWarpSize;
    assert_eq!(
        call!(hipDeviceGetAttribute(*mut c_int, c_uint, c_int) &raw mut value, warp, 0),
        SUCCESS
    );
    assert_eq!(value, 32);
    assert_eq!(
        call!(hipDeviceGetAttribute(*mut c_int, c_uint, c_int) &raw mut value, 99_999, 0),
        INVALID_VALUE
    );
    assert_eq!(call!(hipRuntimeGetVersion(*mut c_int) &raw mut value), SUCCESS);
    assert_eq!(value, 130_100_000, "CUDA 13.1, packed as HIP packs");
    let (mut free, mut total) = (0, 0);
    assert_eq!(
        call!(hipMemGetInfo(*mut usize, *mut usize) &raw mut free, &raw mut total),
        SUCCESS
    );
    assert_eq!((free, total), (1, 2));
    assert_eq!(
        call!(hipDeviceCanAccessPeer(*mut c_int, c_int, c_int) &raw mut value, 0, 1),
        SUCCESS
    );
    assert_eq!(call!(hipDeviceEnablePeerAccess(c_int, c_uint) 1, 0), SUCCESS);
    let calls = mock.calls();
    assert!(
        calls.contains(&"cuDeviceCanAccessPeer 70 71".to_owned()),
        "{calls:?}"
    );
    assert!(
        calls.contains(&"cuCtxEnablePeerAccess 147 0".to_owned()),
        "{calls:?}"
    );
}

fn memory(mock: &Mock) {
    let mut pointer = ptr::null_mut();
    assert_eq!(
        call!(hipMalloc(*mut *mut c_void, usize) &raw mut pointer, 100),
        SUCCESS
    );
    assert!(!pointer.is_null());
    assert_eq!(call!(hipFree(*mut c_void) pointer), SUCCESS);
    assert_eq!(
        mock.calls(),
        ["cuMemAlloc_v2 100", "cuCtxSynchronize", "cuMemFree_v2"]
    );
    // No bytes, and no pointer, are nothing to do.
    assert_eq!(
        call!(hipMalloc(*mut *mut c_void, usize) &raw mut pointer, 0),
        SUCCESS
    );
    assert!(pointer.is_null());
    assert_eq!(call!(hipFree(*mut c_void) pointer), SUCCESS);
    assert!(mock.calls().is_empty());
    mock.fail(c"cuMemAlloc_v2", 2);
    let status = call!(hipMalloc(*mut *mut c_void, usize) &raw mut pointer, 100);
    assert_eq!(status, hip::hipError_t_hipErrorOutOfMemory);
    // Memory goes back although the work before it failed, and the failure is told.
    assert_eq!(
        call!(hipMalloc(*mut *mut c_void, usize) &raw mut pointer, 8),
        SUCCESS
    );
    mock.calls();
    mock.fail(c"cuCtxSynchronize", 700);
    assert_eq!(
        call!(hipFree(*mut c_void) pointer),
        hip::hipError_t_hipErrorIllegalAddress
    );
    assert_eq!(mock.calls(), ["cuCtxSynchronize", "cuMemFree_v2"]);

    assert_eq!(
        call!(hipHostMalloc(*mut *mut c_void, usize, c_uint) &raw mut pointer, 64, 0),
        SUCCESS
    );
    assert_eq!(call!(hipHostFree(*mut c_void) pointer), SUCCESS);
    assert_eq!(
        mock.calls(),
        ["cuMemHostAlloc 64 1", "cuMemFreeHost"],
        "pinned for all devices"
    );
    let numa = hip::hipHostMallocNumaUser;
    assert_eq!(
        call!(hipHostMalloc(*mut *mut c_void, usize, c_uint) &raw mut pointer, 64, numa),
        INVALID_VALUE
    );
}

fn copies(mock: &Mock) {
    let stream: hip::hipStream_t = ptr::without_provenance_mut(0x500);
    let (source, mut back) = ([1_u8, 2, 3, 4], [0_u8; 4]);
    let mut device = ptr::null_mut();
    assert_eq!(
        call!(hipMalloc(*mut *mut c_void, usize) &raw mut device, 4),
        SUCCESS
    );
    mock.calls();
    let copy = |to: *mut c_void, from: *const c_void, kind| call!(hipMemcpyAsync(*mut c_void, *const c_void, usize, c_uint, hip::hipStream_t) to, from, 4, kind, stream);
    let (to_device, to_host) = (
        hip::hipMemcpyKind_hipMemcpyHostToDevice,
        hip::hipMemcpyKind_hipMemcpyDeviceToHost,
    );
    assert_eq!(copy(device, source.as_ptr().cast(), to_device), SUCCESS);
    assert_eq!(copy(back.as_mut_ptr().cast(), device, to_host), SUCCESS);
    assert_eq!(back, source);
    assert_eq!(
        copy(device, device, hip::hipMemcpyKind_hipMemcpyDeviceToDevice),
        SUCCESS
    );
    assert_eq!(copy(device, device, hip::hipMemcpyKind_hipMemcpyDefault), SUCCESS);
    assert_eq!(
        copy(device, device, 77),
        hip::hipError_t_hipErrorInvalidMemcpyDirection
    );
    assert_eq!(
        mock.calls(),
        [
            "cuMemcpyHtoDAsync_v2 4 500",
            "cuMemcpyDtoHAsync_v2 4 500",
            "cuMemcpyDtoDAsync_v2 4 500",
            "cuMemcpyAsync 4 500"
        ]
    );
    let status = call!(hipMemcpy(*mut c_void, *const c_void, usize, c_uint) device, source.as_ptr().cast(), 4, to_device);
    assert_eq!(status, SUCCESS);
    assert_eq!(
        mock.calls(),
        ["cuMemcpyHtoDAsync_v2 4 0", "cuStreamSynchronize 0"],
        "the host waits"
    );

    // Two rows of one byte each, two apart in the source and three in the target.
    let mut wide = [9_u8; 6];
    let status = call!(
        hipMemcpy2DAsync(*mut c_void, usize, *const c_void, usize, usize, usize, c_uint, hip::hipStream_t)
        wide.as_mut_ptr().cast(), 3, source.as_ptr().cast(), 2, 1, 2, to_device, stream
    );
    assert_eq!((status, wide), (SUCCESS, [1, 9, 9, 3, 9, 9]));
    let status = call!(
        hipMemcpy2DAsync(*mut c_void, usize, *const c_void, usize, usize, usize, c_uint, hip::hipStream_t)
        wide.as_mut_ptr().cast(), 3, source.as_ptr().cast(), 2, 3, 2, to_device, stream
    );
    assert_eq!(status, hip::hipError_t_hipErrorInvalidPitchValue);
    assert_eq!(mock.calls(), ["cuMemcpy2DAsync_v2 1 2 2 3 1 2 500"]);

    let status = call!(
        hipMemcpyPeerAsync(*mut c_void, c_int, *const c_void, c_int, usize, hip::hipStream_t)
        device, 1, device, 0, 4, stream
    );
    assert_eq!(status, SUCCESS);
    assert_eq!(
        call!(hipMemsetAsync(*mut c_void, c_int, usize, hip::hipStream_t) device, -1, 4, stream),
        SUCCESS
    );
    assert_eq!(
        mock.calls(),
        ["cuMemcpyPeerAsync 147 146 4 500", "cuMemsetD8Async 255 4 500"]
    );
    assert_eq!(copy(back.as_mut_ptr().cast(), device, to_host), SUCCESS);
    assert_eq!(back, [255; 4]);
    assert_eq!(call!(hipFree(*mut c_void) device), SUCCESS);
    mock.calls();
}

fn streams_and_events(mock: &Mock) {
    let mut stream = ptr::null_mut();
    let non_blocking = hip::hipStreamNonBlocking;
    let status = call!(hipStreamCreateWithFlags(*mut hip::hipStream_t, c_uint) &raw mut stream, non_blocking);
    assert_eq!(status, SUCCESS);
    let status = call!(hipStreamCreateWithFlags(*mut hip::hipStream_t, c_uint) &raw mut stream, 2);
    assert_eq!(status, INVALID_VALUE);
    let (mut start, mut plain) = (ptr::null_mut(), ptr::null_mut());
    let release = hip::hipEventDisableTiming | hip::hipEventReleaseToDevice;
    for (event, flags) in [(&mut start, 0), (&mut plain, release)] {
        assert_eq!(
            call!(hipEventCreateWithFlags(*mut hip::hipEvent_t, c_uint) &raw mut *event, flags),
            SUCCESS
        );
    }
    let status = call!(hipEventCreateWithFlags(*mut hip::hipEvent_t, c_uint) &raw mut plain, 8);
    assert_eq!(status, INVALID_VALUE);
    assert_eq!(
        call!(hipEventRecord(hip::hipEvent_t, hip::hipStream_t) start, stream),
        SUCCESS
    );
    assert_eq!(
        call!(hipStreamWaitEvent(hip::hipStream_t, hip::hipEvent_t, c_uint) stream, plain, 0),
        SUCCESS
    );
    assert_eq!(call!(hipEventSynchronize(hip::hipEvent_t) start), SUCCESS);
    assert_eq!(call!(hipEventQuery(hip::hipEvent_t) start), SUCCESS);
    assert_eq!(
        call!(hipStreamQuery(hip::hipStream_t) stream),
        hip::hipError_t_hipErrorNotReady
    );
    let mut milliseconds = 0.0;
    let status = call!(
        hipEventElapsedTime(*mut f32, hip::hipEvent_t, hip::hipEvent_t) &raw mut milliseconds, start, plain
    );
    assert_eq!((status, milliseconds), (SUCCESS, 1.5));
    let mut device = -1;
    assert_eq!(
        call!(hipStreamGetDevice(hip::hipStream_t, *mut c_int) stream, &raw mut device),
        SUCCESS
    );
    assert_eq!(device, 0);
    assert_eq!(call!(hipStreamSynchronize(hip::hipStream_t) stream), SUCCESS);
    assert_eq!(call!(hipEventDestroy(hip::hipEvent_t) start), SUCCESS);
    assert_eq!(call!(hipStreamDestroy(hip::hipStream_t) stream), SUCCESS);
    assert_eq!(
        mock.calls(),
        [
            "cuStreamCreate 1",
            "cuEventCreate 0",
            "cuEventCreate 2",
            "cuEventRecord 600 500",
            "cuStreamWaitEvent 500 600 0",
            "cuEventSynchronize 600",
            "cuEventQuery 600",
            "cuStreamQuery 500",
            "cuEventElapsedTime 600 600",
            "cuStreamSynchronize 500",
            "cuEventDestroy_v2 600",
            "cuStreamDestroy_v2 500",
        ]
    );
}

fn graphs(mock: &Mock) {
    let stream: hip::hipStream_t = ptr::without_provenance_mut(0x500);
    let (mut graph, mut executable, mut count, mut state) = (ptr::null_mut(), ptr::null_mut(), 0, 0);
    let relaxed = hip::hipStreamCaptureMode_hipStreamCaptureModeRelaxed;
    let begin = call!(hipStreamBeginCapture(hip::hipStream_t, c_uint) stream, relaxed);
    let asked = call!(hipStreamIsCapturing(hip::hipStream_t, *mut c_uint) stream, &raw mut state);
    let end = call!(hipStreamEndCapture(hip::hipStream_t, *mut hip::hipGraph_t) stream, &raw mut graph);
    let nodes = call!(hipGraphGetNodes(hip::hipGraph_t, *mut hip::hipGraphNode_t, *mut usize)
        graph, ptr::null_mut(), &raw mut count);
    assert_eq!([begin, asked, end, nodes], [SUCCESS; 4]);
    assert_eq!(
        (state, count),
        (hip::hipStreamCaptureStatus_hipStreamCaptureStatusActive, 3)
    );
    let mut instantiate = |flags| {
        call!(hipGraphInstantiateWithFlags(*mut hip::hipGraphExec_t, hip::hipGraph_t, u64)
            &raw mut executable, graph, flags)
    };
    assert_eq!([instantiate(0), instantiate(1)], [SUCCESS, INVALID_VALUE]);
    let launch = call!(hipGraphLaunch(hip::hipGraphExec_t, hip::hipStream_t) executable, stream);
    let ends = [
        call!(hipGraphExecDestroy(hip::hipGraphExec_t) executable),
        call!(hipGraphDestroy(hip::hipGraph_t) graph),
    ];
    assert_eq!((launch, ends), (SUCCESS, [SUCCESS; 2]));
    assert_eq!(
        mock.calls(),
        [
            "cuStreamBeginCapture_v2 500 2",
            "cuStreamIsCapturing 500",
            "cuStreamEndCapture 500",
            "cuGraphGetNodes 900 0",
            "cuGraphInstantiateWithFlags 900 0",
            "cuGraphLaunch a00 500",
            "cuGraphExecDestroy a00",
            "cuGraphDestroy 900",
        ]
    );
}

fn load(text: &str) -> (hipError_t, hip::hipModule_t) {
    let (image, mut module) = (CString::new(text).unwrap(), ptr::null_mut());
    let status = call!(
        hipModuleLoadData(*mut hip::hipModule_t, *const c_void) &raw mut module, image.as_ptr().cast()
    );
    (status, module)
}

fn modules(mock: &Mock) {
    let (status, module) = load(".version 8.0");
    assert_eq!(status, SUCCESS);
    assert_eq!(rocm_nvidia::take_detail(), None);
    let mut function = ptr::null_mut();
    let mut find = |name: &CStr| {
        call!(hipModuleGetFunction(*mut hip::hipFunction_t, hip::hipModule_t, *const c_char)
            &raw mut function, module, name.as_ptr())
    };
    assert_eq!(find(c"uexp_f32"), SUCCESS);
    assert_eq!(find(c"absent"), hip::hipError_t_hipErrorNotFound);
    assert_eq!(call!(hipModuleUnload(hip::hipModule_t) module), SUCCESS);
    assert_eq!(
        mock.calls(),
        [
            "cuModuleLoadDataEx .version 8.0",
            "cuModuleGetFunction 700 uexp_f32",
            "cuModuleGetFunction 700 absent",
            "cuModuleUnload 700",
        ]
    );
    // What the driver's compiler says comes with the error.
    assert_eq!(load("broken").0, hip::hipError_t_hipErrorInvalidKernelFile);
    let detail = rocm_nvidia::take_detail().unwrap();
    assert_eq!(
        detail,
        "CUDA_ERROR_INVALID_PTX (218)\nptxas error: line 1: broken"
    );
    let status = call!(hipModuleLoadData(*mut hip::hipModule_t, *const c_void) ptr::null_mut(), ptr::null());
    assert_eq!(status, INVALID_VALUE);
    mock.calls();
}

fn launches(mock: &Mock) {
    let function: hip::hipFunction_t = ptr::without_provenance_mut(0x800);
    let stream: hip::hipStream_t = ptr::without_provenance_mut(0x500);
    let launch = |lds: c_uint, parameters: *mut *mut c_void, extra: *mut *mut c_void| {
        call!(
            hipModuleLaunchKernel(
                hip::hipFunction_t, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, hip::hipStream_t,
                *mut *mut c_void, *mut *mut c_void
            )
            function, 1, 2, 3, 4, 5, 6, lds, stream, parameters, extra
        )
    };
    let mut words = [11_u64, 22];
    let mut parameters = words.each_mut().map(|word| ptr::from_mut(word).cast::<c_void>());
    assert_eq!(
        launch(48 << 10, parameters.as_mut_ptr(), ptr::null_mut()),
        SUCCESS
    );
    assert_eq!(
        mock.calls(),
        ["cuLaunchKernel 800 (1 2 3) (4 5 6) 49152 500: 11 22"]
    );
    // More LDS than is plain is asked for first.
    assert_eq!(
        launch(64 << 10, parameters.as_mut_ptr(), ptr::null_mut()),
        SUCCESS
    );
    assert_eq!(
        mock.calls(),
        [
            "cuFuncSetAttribute 800 8 65536",
            "cuLaunchKernel 800 (1 2 3) (4 5 6) 65536 500: 11 22"
        ]
    );
    // The other way to pass arguments: HIP's list ends with 3, the driver's with 0.
    let mut size = size_of_val(&words);
    let key = |number: usize| ptr::without_provenance_mut::<c_void>(number);
    let mut extra = [
        key(1),
        words.as_mut_ptr().cast(),
        key(2),
        ptr::from_mut(&mut size).cast(),
        key(3),
    ];
    assert_eq!(launch(0, ptr::null_mut(), extra.as_mut_ptr()), SUCCESS);
    assert_eq!(mock.calls(), ["cuLaunchKernel 800 (1 2 3) (4 5 6) 0 500: 11 16"]);
    assert_eq!(
        launch(0, parameters.as_mut_ptr(), extra.as_mut_ptr()),
        INVALID_VALUE
    );
    extra[0] = key(9);
    assert_eq!(launch(0, ptr::null_mut(), extra.as_mut_ptr()), INVALID_VALUE);
    assert!(mock.calls().is_empty());

    let (mut grid, mut block, mut value) = (0, 0, 0);
    let status = call!(
        hipModuleOccupancyMaxPotentialBlockSize(*mut c_int, *mut c_int, hip::hipFunction_t, usize, c_int)
        &raw mut grid, &raw mut block, function, 16, 512
    );
    assert_eq!((status, grid, block), (SUCCESS, 132, 1024));
    let attribute = hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_NUM_REGS;
    let mut ask = |attribute| call!(hipFuncGetAttribute(*mut c_int, c_uint, hip::hipFunction_t) &raw mut value, attribute, function);
    assert_eq!((ask(attribute), ask(10)), (SUCCESS, INVALID_VALUE));
    assert_eq!(value, 44);
    assert_eq!(
        mock.calls(),
        [
            "cuOccupancyMaxPotentialBlockSize 800 0 16 512",
            "cuFuncGetAttribute 4 800"
        ]
    );
}

fn errors(mock: &Mock) {
    // A misaligned access has no name in HIP: the launch failed, and the driver's words say how.
    mock.fail(c"cuCtxSynchronize", 716);
    assert_eq!(
        call!(hipDeviceSynchronize()),
        hip::hipError_t_hipErrorLaunchFailure
    );
    assert_eq!(call!(hipPeekAtLastError()), hip::hipError_t_hipErrorLaunchFailure);
    assert_eq!(
        rocm_nvidia::take_detail().as_deref(),
        Some("CUDA_ERROR_MISALIGNED_ADDRESS (716): misaligned address")
    );
    assert_eq!(call!(hipGetLastError()), hip::hipError_t_hipErrorLaunchFailure);
    assert_eq!(call!(hipGetLastError()), SUCCESS);
    // An error that nobody knows is not a success, and its words do not outlive the next call.
    mock.fail(c"cuCtxSynchronize", 4242);
    assert_eq!(call!(hipDeviceSynchronize()), hip::hipError_t_hipErrorUnknown);
    assert_eq!(call!(hipDeviceSynchronize()), SUCCESS);
    assert_eq!(rocm_nvidia::take_detail(), None);
    for name in rocm_nvidia::symbols() {
        assert!(rocm_nvidia::symbol(name).is_some(), "{name}");
    }
    assert!(rocm_nvidia::symbol("hipNoSuchSymbol").is_none());
}
