//! The device, streams, events, errors, and the table of symbols.

use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;
use core::ptr;

use rocm_rs::hip::bindings as hip;

use crate::call::{OK, call, malloc};

const INVALID_HANDLE: u32 = hip::hipError_t_hipErrorInvalidHandle;

#[test]
fn there_is_one_device_and_its_figures_agree() {
    let (mut count, mut warp) = (0, 0);
    assert_eq!(call!(hipInit(0)), OK);
    assert_eq!(call!(hipGetDeviceCount(&mut count)), OK);
    assert_eq!(count, 1);
    let mut properties = MaybeUninit::<hip::hipDeviceProp_tR0600>::uninit();
    assert_eq!(call!(hipGetDevicePropertiesR0600(properties.as_mut_ptr(), 0)), OK);
    // SAFETY: the call succeeded and so filled it.
    let properties = unsafe { properties.assume_init() };
    // SAFETY: the field holds a text with its NUL.
    let arch = unsafe { CStr::from_ptr(properties.gcnArchName.as_ptr()) };
    assert_eq!(arch, c"gfx1100");
    let attribute = hip::hipDeviceAttribute_t_hipDeviceAttributeWarpSize;
    assert_eq!(call!(hipDeviceGetAttribute(&mut warp, attribute, 0)), OK);
    assert_eq!((warp, properties.warpSize), (32, 32));
    assert_eq!(call!(hipSetDevice(1)), hip::hipError_t_hipErrorInvalidDevice);
    assert_eq!(
        call!(hipDeviceGetAttribute(&mut warp, 99_999, 0)),
        hip::hipError_t_hipErrorInvalidValue
    );
}

#[test]
fn memory_info_counts_what_is_allocated() {
    let (mut free, mut total, mut later) = (0, 0, 0);
    let big = malloc(1 << 28);
    assert_eq!(call!(hipMemGetInfo(&mut free, &mut total)), OK);
    assert_eq!(call!(hipFree(big)), OK);
    assert_eq!(call!(hipMemGetInfo(&mut later, &mut total)), OK);
    // Other tests allocate meanwhile, but nothing near this much.
    assert!(
        total == 16 << 30 && later > free + (1 << 27),
        "{free} {later} of {total}"
    );
}

#[test]
fn a_stream_works_until_it_is_destroyed() {
    let mut stream = ptr::null_mut();
    assert_eq!(
        call!(hipStreamCreateWithFlags(&mut stream, hip::hipStreamNonBlocking)),
        OK
    );
    assert_eq!(call!(hipStreamSynchronize(stream)), OK);
    let mut device: c_int = -1;
    assert_eq!(call!(hipStreamGetDevice(stream, &mut device)), OK);
    assert_eq!(device, 0);
    assert_eq!(call!(hipStreamDestroy(stream)), OK);
    assert_eq!(call!(hipStreamSynchronize(stream)), INVALID_HANDLE);
    assert_eq!(call!(hipStreamDestroy(stream)), INVALID_HANDLE);
    assert_eq!(call!(hipStreamSynchronize(ptr::null_mut())), OK);
}

#[test]
fn events_measure_only_after_both_were_recorded() {
    let (mut start, mut stop, mut milliseconds) = (ptr::null_mut(), ptr::null_mut(), -1.0);
    assert_eq!(call!(hipEventCreate(&mut start)), OK);
    assert_eq!(
        call!(hipEventCreateWithFlags(&mut stop, hip::hipEventDefault)),
        OK
    );
    assert_eq!(call!(hipEventRecord(start, ptr::null_mut())), OK);
    assert_eq!(
        call!(hipEventElapsedTime(&mut milliseconds, start, stop)),
        INVALID_HANDLE
    );
    assert_eq!(call!(hipEventRecord(stop, ptr::null_mut())), OK);
    assert_eq!(call!(hipEventElapsedTime(&mut milliseconds, start, stop)), OK);
    assert!(milliseconds >= 0.0);
    // An event is not a stream.
    assert_eq!(call!(hipStreamSynchronize(stop.cast())), INVALID_HANDLE);
    assert_eq!(call!(hipEventDestroy(stop)), OK);
    assert_eq!(call!(hipEventQuery(stop)), INVALID_HANDLE);
}

#[test]
fn the_last_error_is_this_threads_and_has_a_name_and_a_text() {
    std::thread::spawn(|| {
        assert_eq!(call!(hipGetLastError()), OK);
        assert_eq!(call!(hipSetDevice(7)), hip::hipError_t_hipErrorInvalidDevice);
        assert_eq!(call!(hipSetDevice(0)), OK);
        assert_eq!(call!(hipPeekAtLastError()), hip::hipError_t_hipErrorInvalidDevice);
        let other = std::thread::spawn(|| call!(hipGetLastError())).join();
        assert_eq!(other.unwrap(), OK);
        let code = call!(hipGetLastError());
        assert_eq!(call!(hipGetLastError()), OK);
        let (name, text) = (call!(hipGetErrorName(code)), call!(hipGetErrorString(code)));
        // SAFETY: HIP gives static texts.
        let (name, text) = unsafe { (CStr::from_ptr(name), CStr::from_ptr(text)) };
        assert_eq!(
            (name, text),
            (c"hipErrorInvalidDevice", c"invalid device ordinal")
        );
    })
    .join()
    .unwrap();
}

#[test]
fn every_listed_symbol_is_listed_once_and_has_an_address() {
    let addresses: Vec<_> = rocm_soft::symbols()
        .iter()
        .map(|s| rocm_soft::symbol(s).unwrap())
        .collect();
    assert!(addresses.iter().all(|a| !a.is_null()));
    let mut names = rocm_soft::symbols().to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rocm_soft::symbols().len());
    assert_eq!(rocm_soft::symbol("hipNoSuchThing"), None);
    assert_eq!(rocm_soft::symbol(""), None);
}
