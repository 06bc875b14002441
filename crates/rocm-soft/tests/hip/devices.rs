//! Several software devices in one process: each with its own memory, streams and modules, and a clock that does not depend
//! on the host.
//!
//! The environment is read once, so that the tests run in a child with `ROCM_SOFT_DEVICES`: this test program itself.

use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use std::process::Command;

use rocm_rs::hip::bindings as hip;

use crate::call::{OK, arg, call, download, function, launch, load, malloc, upload};
use crate::compile::compile;

const INVALID_HANDLE: u32 = hip::hipError_t_hipErrorInvalidHandle;
const INVALID_VALUE: u32 = hip::hipError_t_hipErrorInvalidValue;
const DEFAULT: u32 = hip::hipMemcpyKind_hipMemcpyDefault;

/// Runs one of the ignored tests below with a list of devices.
#[track_caller]
fn child(devices: &str, test: &str) {
    child_with(&[("ROCM_SOFT_DEVICES", devices)], test);
}

/// The same at a `ROCM_SOFT_PLACE`, and not under the sanitizer: there allocations begin at other multiples.
#[track_caller]
fn child_at(place: &str, test: &str) {
    child_with(&[("ROCM_SOFT_PLACE", place), ("ROCM_SANITIZE", "0")], test);
}

#[track_caller]
fn child_with(variables: &[(&str, &str)], test: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child
        .args(["--exact", &format!("devices::{test}"), "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{variables:?}: {text}"
    );
}

#[test]
fn two_cards_compute_each_with_its_own_memory() {
    child("gfx1100,gfx942", "child_with_two_cards");
}

#[test]
fn one_card_may_be_there_twice() {
    child("gfx90a,gfx90a", "child_with_a_card_twice");
}

#[test]
fn a_list_with_an_unknown_card_gives_no_device() {
    child("gfx1100,gfx7", "child_without_devices");
}

#[test]
fn times_do_not_depend_on_the_host() {
    child("gfx1100", "child_that_measures");
}

#[test]
fn the_place_says_where_the_first_allocation_crosses_a_multiple_of_4_gib() {
    child_at("0", "child_that_crosses_in_the_middle");
    child_at("1", "child_that_crosses_at_once");
}

#[test]
fn a_place_that_there_is_none_of_gives_no_device() {
    child_at("7", "child_without_such_a_place");
}

#[test]
#[ignore = "a child of the test above"]
fn child_without_such_a_place() {
    assert_eq!(call!(hipSetDevice(0)), hip::hipError_t_hipErrorNoDevice);
    let why = rocm_soft::take_fault().unwrap();
    assert!(
        why.contains("ROCM_SOFT_PLACE=7 is not a whole number from 0 to 6"),
        "{why}"
    );
}

/// Bytes of a fresh allocation of 64 KiB below the multiple of 4 GiB in it.
fn below() -> u32 {
    (malloc(65_536).addr() as u32).wrapping_neg()
}

#[test]
#[ignore = "a child of the test above"]
fn child_that_crosses_in_the_middle() {
    assert_eq!([below(), below(), below()], [32_768, 256, 65_280]);
}

#[test]
#[ignore = "a child of the test above"]
fn child_that_crosses_at_once() {
    assert_eq!([below(), below()], [256, 65_280]);
}

fn set_device(id: c_int) {
    assert_eq!(call!(hipSetDevice(id)), OK);
}

fn current() -> c_int {
    let mut id = -1;
    assert_eq!(call!(hipGetDevice(&mut id)), OK);
    id
}

fn arch(id: c_int) -> String {
    let mut properties = MaybeUninit::<hip::hipDeviceProp_tR0600>::uninit();
    assert_eq!(
        call!(hipGetDevicePropertiesR0600(properties.as_mut_ptr(), id)),
        OK
    );
    // SAFETY: the call succeeded and so filled it, the text with its NUL.
    let name = unsafe { CStr::from_ptr(properties.assume_init_ref().gcnArchName.as_ptr()) };
    name.to_str().unwrap().split(':').next().unwrap().to_owned()
}

const SOURCE: &str = "KERNEL add(unsigned* x, unsigned by) { x[tid(0)] += by; }";

#[test]
#[ignore = "a child of a test above"]
fn child_with_two_cards() {
    let mut count = 0;
    assert_eq!(call!(hipGetDeviceCount(&mut count)), OK);
    assert_eq!((count, arch(0), arch(1)), (2, "gfx1100".into(), "gfx942".into()));
    assert_eq!(call!(hipSetDevice(2)), hip::hipError_t_hipErrorInvalidDevice);
    assert_eq!(call!(hipSetDevice(-1)), hip::hipError_t_hipErrorInvalidDevice);

    // The current device is a thread's own, and starts at 0.
    set_device(1);
    assert_eq!(current(), 1);
    assert_eq!(std::thread::spawn(current).join().unwrap(), 0);

    // Memory, modules and streams belong to the device of their making, whatever is current later.
    let kernels = ["gfx1100", "gfx942"].map(|target| compile("hip_devices", target, SOURCE, &[]));
    let devices = [0, 1].map(|id| {
        set_device(id);
        let module = load(&kernels[id as usize]).unwrap();
        let mut stream = ptr::null_mut();
        assert_eq!(call!(hipStreamCreate(&mut stream)), OK);
        (
            upload(&[id as u32 * 100; 32]),
            function(module, "add").unwrap(),
            stream,
        )
    });
    assert_eq!(
        load(&kernels[0]).unwrap_err(),
        hip::hipError_t_hipErrorNoBinaryForGpu
    );
    for (id, (mut pointer, add, stream)) in (0..).zip(devices) {
        set_device(id);
        let mut by = 7_u32;
        assert_eq!(
            launch(add, [1; 3], [32, 1, 1], &mut [arg(&mut pointer), arg(&mut by)]),
            OK
        );
        let mut home = -1;
        assert_eq!(call!(hipStreamGetDevice(stream, &mut home)), OK);
        assert_eq!(home, id);
        // The other device is current now: its memory is readable all the same, its kernels do not run here.
        set_device(1 - id);
        assert_eq!(download(pointer, 32), [id as u32 * 100 + 7; 32]);
        assert_eq!(call!(hipStreamSynchronize(stream)), OK);
        let elsewhere = launch(add, [1; 3], [32, 1, 1], &mut [arg(&mut pointer), arg(&mut by)]);
        assert_eq!(elsewhere, INVALID_HANDLE);
    }

    // A kernel does not reach the memory of the other device.
    set_device(0);
    let ((mut first, add, stream), (mut second, ..)) = (devices[0], devices[1]);
    let mut by = 1_u32;
    let fault = launch(add, [1; 3], [32, 1, 1], &mut [arg(&mut second), arg(&mut by)]);
    assert_eq!(fault, hip::hipError_t_hipErrorLaunchFailure);
    assert_eq!(
        launch(add, [1; 3], [32, 1, 1], &mut [arg(&mut first), arg(&mut by)]),
        OK
    );

    // Copies between devices, by numbers and by addresses.
    assert_eq!(call!(hipMemcpyPeerAsync(second, 1, first, 0, 64, stream)), OK);
    assert_eq!(download(second, 32), [[8; 16], [107; 16]].concat());
    assert_eq!(
        call!(hipMemcpyPeerAsync(second, 0, first, 0, 64, stream)),
        INVALID_VALUE
    );
    assert_eq!(call!(hipMemcpy(first, second, 128, DEFAULT)), OK);
    assert_eq!(download(first, 32), [[8; 16], [107; 16]].concat());
    assert_eq!(
        call!(hipMemcpyPeerAsync(second, 1, first, 0, 129, stream)),
        INVALID_VALUE
    );

    // Freed wherever one is.
    let (mut free, mut total, mut later) = (0, 0, 0);
    assert_eq!(call!(hipMemGetInfo(&mut free, &mut total)), OK);
    set_device(1);
    assert_eq!(call!(hipFree(first)), OK);
    set_device(0);
    assert_eq!(call!(hipMemGetInfo(&mut later, &mut total)), OK);
    assert_eq!(later, free + 128);
    assert_eq!(call!(hipStreamDestroy(devices[1].2)), OK);
    assert_eq!(call!(hipStreamDestroy(devices[1].2)), INVALID_HANDLE);

    // An empty grid is refused, and the error stays until it is asked for.
    let empty = launch(add, [0, 1, 1], [32, 1, 1], &mut [arg(&mut second), arg(&mut by)]);
    assert_ne!(empty, OK);
    set_device(0);
    assert_eq!(call!(hipPeekAtLastError()), empty);
    assert_eq!((call!(hipGetLastError()), call!(hipGetLastError())), (empty, OK));
}

#[test]
#[ignore = "a child of a test above"]
fn child_with_a_card_twice() {
    let pointers = [0, 1].map(|id| {
        set_device(id);
        malloc(64)
    });
    assert_ne!(pointers[0], pointers[1]);
    assert_eq!([0, 1].map(arch), ["gfx90a", "gfx90a"]);
}

#[test]
#[ignore = "a child of a test above"]
fn child_without_devices() {
    let mut count = -1;
    assert_eq!(
        call!(hipGetDeviceCount(&mut count)),
        hip::hipError_t_hipErrorNoDevice
    );
    assert_eq!(count, 0);
    assert_eq!(call!(hipSetDevice(0)), hip::hipError_t_hipErrorNoDevice);
    let why = rocm_soft::take_fault().unwrap();
    assert!(
        why.contains("ROCM_SOFT_DEVICES=gfx1100,gfx7 is not a list of gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942, gfx950, gfx90a, gfx1250"),
        "{why}"
    );
}

#[test]
#[ignore = "a child of a test above"]
fn child_that_measures() {
    let module = load(&compile("hip_clock", "gfx1100", SOURCE, &[])).unwrap();
    let (add, mut pointer, mut by) = (function(module, "add").unwrap(), upload(&[0; 32]), 1_u32);
    let measure = |times: usize, pointer: &mut *mut c_void, by: &mut u32| {
        let (mut start, mut stop, mut milliseconds) = (ptr::null_mut(), ptr::null_mut(), -1.0);
        assert_eq!(call!(hipEventCreate(&mut start)), OK);
        assert_eq!(call!(hipEventCreate(&mut stop)), OK);
        assert_eq!(call!(hipEventRecord(start, ptr::null_mut())), OK);
        for _ in 0..times {
            assert_eq!(launch(add, [1; 3], [32, 1, 1], &mut [arg(pointer), arg(by)]), OK);
        }
        assert_eq!(call!(hipEventRecord(stop, ptr::null_mut())), OK);
        assert_eq!(call!(hipEventElapsedTime(&mut milliseconds, start, stop)), OK);
        let mut back = 0.0;
        assert_eq!(call!(hipEventElapsedTime(&mut back, stop, start)), OK);
        assert_eq!(back, -milliseconds);
        milliseconds
    };
    let one = measure(1, &mut pointer, &mut by);
    assert!(one > 0.0 && one == measure(1, &mut pointer, &mut by));
    let ten = measure(10, &mut pointer, &mut by);
    assert!((ten - 10.0 * one).abs() < 1e-6, "{ten} {one}");
    assert_eq!(measure(0, &mut pointer, &mut by), 0.0);
}
