//! Allocation, copies and fills.

use core::ffi::c_void;
use core::ptr;

use rocm_rs::hip::bindings as hip;

use crate::call::{OK, call, download, malloc, upload};

const INVALID_VALUE: u32 = hip::hipError_t_hipErrorInvalidValue;

/// The device pointer `bytes` further on.
fn offset(pointer: *mut c_void, bytes: usize) -> *mut c_void {
    pointer.wrapping_byte_add(bytes)
}

#[test]
fn what_is_copied_in_comes_out_again() {
    let data: Vec<u32> = (0..1000).collect();
    let pointer = upload(&data);
    assert_eq!(download(pointer, 1000), data);
    assert_eq!(download(offset(pointer, 4 * 990), 10), data[990..]);
    assert_eq!(call!(hipFree(pointer)), OK);
}

#[test]
fn a_copy_beyond_the_allocation_is_refused_and_copies_nothing() {
    let pointer = upload(&[1, 2]);
    let mut host = [7_u32; 3];
    let to_host = hip::hipMemcpyKind_hipMemcpyDeviceToHost;
    assert_eq!(
        call!(hipMemcpy(host.as_mut_ptr().cast(), pointer, 12, to_host)),
        INVALID_VALUE
    );
    assert_eq!(host, [7; 3]);
    let to_device = hip::hipMemcpyKind_hipMemcpyHostToDevice;
    assert_eq!(
        call!(hipMemcpy(pointer, host.as_ptr().cast(), 12, to_device)),
        INVALID_VALUE
    );
    assert_eq!(download(pointer, 2), [1, 2]);
    assert_eq!(
        call!(hipMemcpy(pointer, ptr::null(), 4, to_device)),
        INVALID_VALUE
    );
    let direction = hip::hipError_t_hipErrorInvalidMemcpyDirection;
    assert_eq!(call!(hipMemcpy(pointer, host.as_ptr().cast(), 4, 77)), direction);
}

#[test]
fn the_default_direction_is_told_from_the_addresses() {
    let (a, b) = (upload(&[1, 2, 3]), malloc(12));
    let kind = hip::hipMemcpyKind_hipMemcpyDefault;
    let stream = ptr::null_mut();
    assert_eq!(call!(hipMemcpyAsync(b, a, 12, kind, stream)), OK);
    let (mut host, mut other) = ([0_u32; 3], [0_u32; 3]);
    assert_eq!(
        call!(hipMemcpyAsync(host.as_mut_ptr().cast(), b, 12, kind, stream)),
        OK
    );
    assert_eq!(
        call!(hipMemcpyAsync(
            other.as_mut_ptr().cast(),
            host.as_ptr().cast(),
            12,
            kind,
            stream
        )),
        OK
    );
    assert_eq!(other, [1, 2, 3]);
    assert_eq!(
        call!(hipMemcpyAsync(a, [9_u32; 3].as_ptr().cast(), 12, kind, stream)),
        OK
    );
    assert_eq!(download(a, 3), [9, 9, 9]);
}

#[test]
fn a_two_dimensional_copy_keeps_to_its_pitches() {
    let source = upload(&(0..12).collect::<Vec<_>>());
    let target = upload(&[99; 12]);
    let (kind, stream) = (hip::hipMemcpyKind_hipMemcpyDeviceToDevice, ptr::null_mut());
    // Three rows of two, out of rows of four, into rows of three.
    assert_eq!(
        call!(hipMemcpy2DAsync(target, 12, source, 16, 8, 3, kind, stream)),
        OK
    );
    assert_eq!(download(target, 12), [0, 1, 99, 4, 5, 99, 8, 9, 99, 99, 99, 99]);
    let pitch = hip::hipError_t_hipErrorInvalidPitchValue;
    assert_eq!(
        call!(hipMemcpy2DAsync(target, 4, source, 16, 8, 3, kind, stream)),
        pitch
    );
    assert_eq!(
        call!(hipMemcpy2DAsync(target, 4, source, 16, 8, 0, kind, stream)),
        OK
    );
}

#[test]
fn fills_write_bytes_halves_and_words() {
    let pointer = upload(&[0; 4]);
    let stream = ptr::null_mut();
    assert_eq!(call!(hipMemsetD32Async(pointer, -2, 1, stream)), OK);
    assert_eq!(
        call!(hipMemsetD16Async(offset(pointer, 4), 0x1234, 1, stream)),
        OK
    );
    assert_eq!(call!(hipMemsetD8Async(offset(pointer, 9), 0x56, 2, stream)), OK);
    assert_eq!(call!(hipMemsetAsync(offset(pointer, 12), 0x101, 4, stream)), OK);
    assert_eq!(
        download(pointer, 4),
        [0xffff_fffe, 0x1234, 0x0056_5600, 0x0101_0101]
    );
    assert_eq!(call!(hipMemset(pointer, 0, 17)), INVALID_VALUE);
    assert_eq!(download(pointer, 1), [0xffff_fffe]);
}

#[test]
fn freeing_twice_or_in_the_middle_is_an_error() {
    let pointer = malloc(64);
    assert_eq!(call!(hipFree(offset(pointer, 4))), INVALID_VALUE);
    assert_eq!(call!(hipFree(pointer)), OK);
    assert_eq!(call!(hipFree(pointer)), INVALID_VALUE);
    assert_eq!(call!(hipFree(ptr::null_mut())), OK);
}

#[test]
fn no_bytes_are_a_null_pointer_and_too_many_are_out_of_memory() {
    assert!(malloc(0).is_null());
    let mut pointer = ptr::null_mut();
    let code = call!(hipMalloc(&mut pointer, 1 << 40));
    assert_eq!(code, hip::hipError_t_hipErrorOutOfMemory);
    assert_eq!(call!(hipMalloc(ptr::null_mut(), 4)), INVALID_VALUE);
}

#[test]
fn pinned_memory_is_host_memory_until_it_is_freed() {
    let mut pointer: *mut c_void = ptr::null_mut();
    assert_eq!(call!(hipHostMalloc(&mut pointer, 100, 0)), OK);
    // SAFETY: 100 bytes were just allocated.
    unsafe { pointer.cast::<[u8; 100]>().write([3; 100]) };
    let device = malloc(100);
    let kind = hip::hipMemcpyKind_hipMemcpyHostToDevice;
    assert_eq!(call!(hipMemcpy(device, pointer, 100, kind)), OK);
    assert_eq!(download(device, 25), [0x0303_0303; 25]);
    assert_eq!(call!(hipHostFree(pointer)), OK);
    assert_eq!(call!(hipHostFree(pointer)), INVALID_VALUE);
}
