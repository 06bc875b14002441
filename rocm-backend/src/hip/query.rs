//! What HIP says about itself and its devices. Needs no stream and no memory.
#![expect(unsafe_code, reason = "calls HIP")]

use std::ffi::{c_char, c_int};

use rocm_rs::hip::bindings;

use super::status::check;
use crate::Error;

/// A device as HIP describes it.
#[derive(Debug)]
pub(crate) struct Properties {
    pub(crate) name: String,
    /// `gfx90a:sramecc+:xnack-`: the target, then its features.
    pub(crate) arch: String,
    pub(crate) warp_size: u32,
    /// Compute units.
    pub(crate) multiprocessors: u32,
}

/// Starts HIP and counts its devices.
pub(crate) fn device_count() -> Result<usize, Error> {
    let mut count = 0;
    // SAFETY: hipInit takes no pointer; `count` is a live int.
    unsafe {
        check("hipInit", bindings::hipInit(0))?;
        check("hipGetDeviceCount", bindings::hipGetDeviceCount(&raw mut count))?;
    }
    Ok(usize::try_from(count).unwrap_or(0))
}

/// The HIP runtime's version, as `7.1.52802`.
pub(crate) fn runtime_version() -> Result<String, Error> {
    let mut version = 0;
    // SAFETY: `version` is a live int.
    check("hipRuntimeGetVersion", unsafe {
        bindings::hipRuntimeGetVersion(&raw mut version)
    })?;
    Ok(version_text(version))
}

/// HIP packs a version as `major * 10^7 + minor * 10^5 + patch` (hip_version.h).
fn version_text(version: c_int) -> String {
    format!(
        "{}.{}.{}",
        version / 10_000_000,
        version / 100_000 % 100,
        version % 100_000
    )
}

/// Makes `ordinal` this thread's device. HIP keeps the current device per thread, and allocation, module
/// loading and launches go to it.
pub(crate) fn set_device(ordinal: c_int) -> Result<(), Error> {
    // SAFETY: takes a number; HIP refuses one that is not a device.
    check("hipSetDevice", unsafe { bindings::hipSetDevice(ordinal) })
}

/// What HIP says about device `ordinal`.
pub(crate) fn properties(ordinal: c_int) -> Result<Properties, Error> {
    // SAFETY: a C struct of integers and arrays of them, for which zero is a value.
    let mut properties: bindings::hipDeviceProp_tR0600 = unsafe { std::mem::zeroed() };
    // SAFETY: `properties` is a live struct of the layout the R0600 symbol fills (its size is asserted in sys.rs).
    check("hipGetDevicePropertiesR0600", unsafe {
        bindings::hipGetDevicePropertiesR0600(&raw mut properties, ordinal)
    })?;
    Ok(Properties {
        name: text(&properties.name),
        arch: text(&properties.gcnArchName),
        warp_size: u32::try_from(properties.warpSize).unwrap_or(0),
        multiprocessors: u32::try_from(properties.multiProcessorCount).unwrap_or(0),
    })
}

/// Bytes free and bytes in all on this thread's device.
pub(crate) fn memory() -> Result<(usize, usize), Error> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are live sizes.
    check("hipMemGetInfo", unsafe {
        bindings::hipMemGetInfo(&raw mut free, &raw mut total)
    })?;
    Ok((free, total))
}

/// A C string in a fixed field; one that fills the field has no terminator.
fn text(field: &[c_char]) -> String {
    // C's `char` has a sign on x86-64 and has none on Arm.
    let bytes = field.iter().flat_map(|c| c.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_version_reads_as_major_minor_patch() {
        assert_eq!(version_text(70_152_802), "7.1.52802");
        assert_eq!(version_text(50_221_152), "5.2.21152");
    }

    #[test]
    fn a_name_that_fills_its_field_ends_with_the_field() {
        assert_eq!(text(&[103, 102, 120]), "gfx");
        assert_eq!(text(&[103, 0, 120]), "g");
    }
}
