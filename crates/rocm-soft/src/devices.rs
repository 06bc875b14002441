//! Which software devices this process has, which of them a thread works on, and whose a device address is.
//!
//! device.rs says what one device is and does. The environment is read once, at the first call.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::LazyLock;

use gfx_emu::Compiling;
use rocm_env::{Jit, Switch, UnknownValue};
use rocm_rs::hip::bindings as hip;

use crate::device::Device;
use crate::error::{self, Result};
use crate::properties::Model;
use crate::trial;

thread_local! {
    /// The device that `hipSetDevice` chose for this thread.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// All devices; an error when the environment asks for what there is not, whose words are kept.
pub(crate) fn all() -> Result<&'static [Device]> {
    static DEVICES: LazyLock<core::result::Result<Vec<Device>, UnknownValue>> = LazyLock::new(|| {
        let cards = match rocm_env::SOFT_DEVICES.get()?.0.as_slice() {
            [] => vec![*rocm_env::SOFT_TARGET.get()?],
            cards => cards.to_vec(),
        };
        let capacity = rocm_env::SOFT_MEMORY.get()?.0;
        let sanitize = *rocm_env::SANITIZE.get()? == Switch::On;
        let compiling = match rocm_env::JIT.get()? {
            Jit::Auto => Compiling::Auto,
            Jit::Off => Compiling::Off,
            Jit::Always => Compiling::AtOnce,
        };
        let watch = (sanitize, compiling);
        let loses = *rocm_env::SOFT_LOSE.get()? == Switch::On;
        if let Some(folder) = rocm_env::COVERAGE.get()?.path() {
            trial::fill(folder);
        }
        let place = rocm_env::SOFT_PLACE.get()?.0;
        let devices = cards.iter().enumerate();
        Ok(devices
            .map(|(id, card)| Device::new(Model::of(*card), id, cards.len(), (capacity, place), watch, loses))
            .collect())
    });
    DEVICES.as_deref().map_err(|why| {
        error::keep(why.to_string());
        hip::hipError_t_hipErrorNoDevice
    })
}

/// The device of that number.
pub(crate) fn at(id: c_int) -> Result<&'static Device> {
    let devices = all()?;
    let device = usize::try_from(id).ok().and_then(|id| devices.get(id));
    device.ok_or(hip::hipError_t_hipErrorInvalidDevice)
}

/// The number of the device that this thread works on.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

/// Makes a device the one that this thread works on.
pub(crate) fn select(id: c_int) -> Result {
    let device = at(id)?;
    CURRENT.set(device.id());
    Ok(())
}

/// The device with an allocation around `address`; the thread's own when there is none.
pub(crate) fn owner<'a>(address: u64, own: &'a Device) -> &'a Device {
    let devices: &'a [Device] = all().unwrap_or_default();
    let found = devices.iter().find(|device| device.has(address));
    found.filter(|_| devices.len() > 1).unwrap_or(own)
}

/// The device of `handle`; the thread's own one when the handle is not of a device.
pub(crate) fn home(handle: usize, own: &Device) -> &Device {
    let devices = all().unwrap_or_default();
    devices
        .get(crate::handles::device_of(handle))
        .filter(|_| handle > 2)
        .unwrap_or(own)
}
