//! The bindings are rocm-rs 0.5.2's, at rocm-rs's paths. Nothing here calls a function: none is linked.

use std::mem::{offset_of, size_of};

use rocm_rs::{
    hip::bindings as hip, miopen::bindings as miopen, rocblas::bindings as rocblas,
    rocrand::bindings as rocrand,
};

#[test]
fn the_device_properties_are_laid_out_as_in_hip_6_and_7() {
    assert_eq!(size_of::<hip::hipDeviceProp_tR0600>(), 1472);
    assert_eq!(offset_of!(hip::hipDeviceProp_tR0600, sharedMemPerBlock), 296);
    assert_eq!(offset_of!(hip::hipDeviceProp_tR0600, warpSize), 308);
    assert_eq!(offset_of!(hip::hipDeviceProp_tR0600, gcnArchName), 1160);
}

#[test]
fn each_library_has_its_own_constants() {
    assert_eq!(hip::hipError_t_hipErrorInvalidValue, 1);
    assert_eq!(rocblas::rocblas_status__rocblas_status_success, 0);
    assert_eq!(miopen::miopenStatus_t_miopenStatusSuccess, 0);
    assert_eq!(rocrand::rocrand_status_ROCRAND_STATUS_VERSION_MISMATCH, 100);
}
