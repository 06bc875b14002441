//! Modules and launches.

use core::ffi::c_void;
use core::ptr;

use rocm_rs::hip::bindings as hip;

use crate::call::{OK, arg, call, download, function, launch, load, upload};
use crate::compile::compile;

const SOURCE: &str = r#"
DEVICE unsigned bias = 100;
KERNEL __attribute__((amdgpu_flat_work_group_size(1, 256)))
axpy(char scale, const unsigned* x, unsigned short add, unsigned* y, unsigned n) {
    unsigned i = bid(0) * bdim(0) + tid(0);
    if (i < n) y[i] = scale * x[i] + add + bias;
}
KERNEL nothing() {}"#;

const INVALID_VALUE: u32 = hip::hipError_t_hipErrorInvalidValue;

#[test]
fn a_kernel_gets_its_arguments_from_kernel_params() {
    let module = load(&compile("hip_params", "gfx1100", SOURCE, &[])).unwrap();
    let axpy = function(module, "axpy").unwrap();
    let (mut x, mut y) = (upload(&(0..300).collect::<Vec<_>>()), upload(&[7; 301]));
    let (mut scale, mut add, mut n) = (3_i8, 1000_u16, 300_u32);
    let mut arguments = [
        arg(&mut scale),
        arg(&mut x),
        arg(&mut add),
        arg(&mut y),
        arg(&mut n),
    ];
    assert_eq!(launch(axpy, [2, 1, 1], [256, 1, 1], &mut arguments), OK);
    let mut want: Vec<u32> = (0..300).map(|i| 3 * i + 1100).collect();
    want.push(7);
    assert_eq!(download(y, 301), want);
    arguments[2] = ptr::null_mut();
    assert_eq!(
        launch(axpy, [2, 1, 1], [256, 1, 1], &mut arguments),
        INVALID_VALUE
    );
    assert_eq!(call!(hipModuleUnload(module)), OK);
}

/// The arguments of `axpy` as a C struct.
#[repr(C)]
struct Axpy {
    scale: i8,
    x: *mut c_void,
    add: u16,
    y: *mut c_void,
    n: u32,
}

#[test]
fn a_kernel_gets_its_arguments_from_the_extra_list() {
    let module = load(&compile("hip_extra", "gfx1100", SOURCE, &[])).unwrap();
    let axpy = function(module, "axpy").unwrap();
    let (x, y) = (upload(&[1, 2, 3]), upload(&[0; 3]));
    let mut arguments = Axpy {
        scale: 2,
        x,
        add: 5,
        y,
        n: 3,
    };
    let mut run = |mut size: usize| {
        let key = ptr::without_provenance_mut::<c_void>;
        let mut extra = [key(1), arg(&mut arguments), key(2), arg(&mut size), key(3)];
        let (none, extra) = (ptr::null_mut(), extra.as_mut_ptr());
        call!(hipModuleLaunchKernel(
            axpy,
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            ptr::null_mut(),
            none,
            extra
        ))
    };
    assert_eq!(run(size_of::<Axpy>()), OK);
    assert_eq!(download(y, 3), [107, 109, 111]);
    assert_eq!(run(8), INVALID_VALUE);
    let text = rocm_soft::take_fault().unwrap();
    assert!(
        text.contains("8 bytes of arguments, the kernel declares 36"),
        "{text}"
    );
}

#[test]
fn launch_shapes_get_hips_error_codes() {
    let module = load(&compile("hip_shapes", "gfx1100", SOURCE, &[])).unwrap();
    let nothing = function(module, "nothing").unwrap();
    let axpy = function(module, "axpy").unwrap();
    assert_eq!(launch(nothing, [1, 1, 1], [1024, 1, 1], &mut []), OK);
    assert_eq!(launch(nothing, [0, 1, 1], [1, 1, 1], &mut []), INVALID_VALUE);
    assert_eq!(launch(nothing, [1, 1, 1], [1, 0, 1], &mut []), INVALID_VALUE);
    let configuration = hip::hipError_t_hipErrorInvalidConfiguration;
    assert_eq!(launch(nothing, [1, 1, 1], [1025, 1, 1], &mut []), configuration);
    let none = ptr::null_mut();
    let code = call!(hipModuleLaunchKernel(
        axpy,
        1,
        1,
        1,
        1,
        1,
        1,
        0,
        ptr::null_mut(),
        none,
        ptr::null_mut()
    ));
    assert_eq!(code, INVALID_VALUE);
}

#[test]
fn a_fault_is_a_launch_failure_with_a_text_and_the_device_goes_on() {
    let module = load(&compile("hip_fault", "gfx1100", SOURCE, &[])).unwrap();
    let axpy = function(module, "axpy").unwrap();
    let (mut x, mut y) = (upload(&[1; 40]), upload(&[0; 39]));
    let (mut scale, mut add, mut n) = (1_i8, 0_u16, 40_u32);
    let mut arguments = [
        arg(&mut scale),
        arg(&mut x),
        arg(&mut add),
        arg(&mut y),
        arg(&mut n),
    ];
    assert_eq!(
        launch(axpy, [1, 1, 1], [64, 1, 1], &mut arguments),
        hip::hipError_t_hipErrorLaunchFailure
    );
    let text = rocm_soft::take_fault().unwrap();
    let allocation = format!("{:#x} of 156 bytes", y.addr());
    for part in ["kernel `axpy`", "store of 4 bytes", "wave 1, lane 7", &allocation] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert_eq!(rocm_soft::take_fault(), None);
    n = 39;
    arguments[4] = arg(&mut n);
    assert_eq!(launch(axpy, [1, 1, 1], [64, 1, 1], &mut arguments), OK);
    assert_eq!(download(y, 39), [101; 39]);
}

#[test]
fn a_freed_buffer_is_a_use_after_free_in_the_kernel() {
    let module = load(&compile("hip_freed", "gfx1100", SOURCE, &[])).unwrap();
    let axpy = function(module, "axpy").unwrap();
    let (mut x, mut y) = (upload(&[1; 8]), upload(&[0; 8]));
    let (mut scale, mut add, mut n) = (1_i8, 0_u16, 8_u32);
    assert_eq!(call!(hipFree(x)), OK);
    let mut arguments = [
        arg(&mut scale),
        arg(&mut x),
        arg(&mut add),
        arg(&mut y),
        arg(&mut n),
    ];
    assert_eq!(
        launch(axpy, [1, 1, 1], [32, 1, 1], &mut arguments),
        hip::hipError_t_hipErrorLaunchFailure
    );
    let text = rocm_soft::take_fault().unwrap();
    assert!(text.contains("use after free"), "{text}");
}

#[test]
fn images_for_another_card_and_broken_ones_are_told_apart() {
    let other = load(&compile("hip_other", "gfx942", SOURCE, &[])).unwrap_err();
    assert_eq!(other, hip::hipError_t_hipErrorNoBinaryForGpu);
    assert!(rocm_soft::take_fault().unwrap().contains("gfx942"));
    let broken = hip::hipError_t_hipErrorInvalidImage;
    assert_eq!(load(&[0; 64]).unwrap_err(), broken);
    let mut image = compile("hip_broken", "gfx1100", SOURCE, &[]);
    load(&image).unwrap();
    // Another machine's number in the ELF header.
    image[18] = 62;
    assert_eq!(load(&image).unwrap_err(), broken);
}

#[test]
fn unknown_kernels_and_stale_modules_are_not_found() {
    let module = load(&compile("hip_stale", "gfx1100", SOURCE, &[])).unwrap();
    assert_eq!(function(module, "axpz"), Err(hip::hipError_t_hipErrorNotFound));
    let nothing = function(module, "nothing").unwrap();
    assert_eq!(function(module, "nothing"), Ok(nothing));
    assert_eq!(call!(hipModuleUnload(module)), OK);
    let handle = hip::hipError_t_hipErrorInvalidHandle;
    assert_eq!(call!(hipModuleUnload(module)), handle);
    assert_eq!(function(module, "nothing"), Err(handle));
    assert_eq!(launch(nothing, [1; 3], [1; 3], &mut []), handle);
}

#[test]
fn a_device_variable_can_be_read_and_written() {
    let module = load(&compile("hip_variable", "gfx1100", SOURCE, &[])).unwrap();
    let (mut pointer, mut size) = (ptr::null_mut(), 0);
    assert_eq!(
        call!(hipModuleGetGlobal(
            &mut pointer,
            &mut size,
            module,
            c"bias".as_ptr()
        )),
        OK
    );
    assert_eq!((size, download(pointer, 1)), (4, vec![100]));
    assert_eq!(call!(hipMemset(pointer, 0, 4)), OK);
    let axpy = function(module, "axpy").unwrap();
    let (mut x, mut y) = (upload(&[5]), upload(&[0]));
    let (mut scale, mut add, mut n) = (-1_i8, 7_u16, 1_u32);
    let mut arguments = [
        arg(&mut scale),
        arg(&mut x),
        arg(&mut add),
        arg(&mut y),
        arg(&mut n),
    ];
    assert_eq!(launch(axpy, [1; 3], [1; 3], &mut arguments), OK);
    assert_eq!(download(y, 1), [2]);
}

#[test]
fn a_kernels_limits_can_be_asked_for() {
    let module = load(&compile("hip_limits", "gfx1100", SOURCE, &[])).unwrap();
    let axpy = function(module, "axpy").unwrap();
    let mut value = 0;
    let attribute = hip::hipFunction_attribute_HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    assert_eq!(call!(hipFuncGetAttribute(&mut value, attribute, axpy)), OK);
    assert_eq!(value, 256);
    let (mut grid, mut block) = (0, 0);
    assert_eq!(
        call!(hipModuleOccupancyMaxPotentialBlockSize(
            &mut grid, &mut block, axpy, 0, 0
        )),
        OK
    );
    assert_eq!((grid, block), (64, 256));
    assert_eq!(call!(hipFuncGetAttribute(&mut value, 999, axpy)), INVALID_VALUE);
}

#[test]
fn launches_and_allocations_from_inside_a_thread_pool_do_not_wait_for_each_other() {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    let module = load(&compile("hip_pool", "gfx1100", SOURCE, &[])).unwrap();
    let axpy = function(module, "axpy").unwrap().addr();
    // A launch's own work runs on the same pool: while a thread waits for it, it may be given another of these.
    (0..200_u32).into_par_iter().for_each(|i| {
        let (mut x, mut y) = (upload(&[i; 600]), upload(&[0; 600]));
        let (mut scale, mut add, mut n) = (1_i8, 0_u16, 600_u32);
        let mut arguments = [
            arg(&mut scale),
            arg(&mut x),
            arg(&mut add),
            arg(&mut y),
            arg(&mut n),
        ];
        let axpy = ptr::without_provenance_mut(axpy);
        assert_eq!(launch(axpy, [20, 1, 1], [32, 1, 1], &mut arguments), OK);
        assert_eq!(download(y, 600), [i + 100; 600]);
        assert_eq!(call!(hipFree(x)), OK);
        assert_eq!(call!(hipFree(y)), OK);
    });
}
