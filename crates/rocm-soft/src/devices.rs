//! Which software devices this process has, which of them a thread works on, and whose a device address is.
//!
//! device.rs says what one device is and does. The environment is read once, at the first call.

use std::cell::Cell;
use std::env;
use std::ffi::c_int;
use std::sync::LazyLock;

use rocm_rs::hip::bindings as hip;

use crate::device::{self, Device};
use crate::error::Result;
use crate::properties::{self, MODELS, Model};

/// Environment variable with the processors to model, one device each: `gfx1100,gfx942`. The same one may come twice.
const DEVICES_VARIABLE: &str = "ROCM_SOFT_DEVICES";

/// Environment variable with the processor of the one device, when there is no list: gfx1100, the default, gfx942 or gfx90a.
const TARGET_VARIABLE: &str = "ROCM_SOFT_TARGET";

/// Environment variable with the memory each device has: bytes, or a number and KiB, MiB or GiB. 16 GiB if it is not set.
const MEMORY_VARIABLE: &str = "ROCM_SOFT_MEMORY";

/// Handles have eight bits for their device.
const MOST: usize = 8;

thread_local! {
    /// The device that `hipSetDevice` chose for this thread.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The variable's text, if it is set and not empty; `Err` when it is no text.
fn text(variable: &str) -> core::result::Result<Option<String>, env::VarError> {
    match env::var(variable) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The models that a list asks for; `None` when there is one that there is not, or too many.
fn models(list: &str) -> Option<Vec<&'static Model>> {
    let names = list.split(',').map(str::trim);
    let models: Option<Vec<_>> = names
        .map(|name| MODELS.iter().find(|model| model.target == name))
        .collect();
    models.filter(|models| models.len() <= MOST)
}

/// All devices; an error when the environment asks for one that there is not.
pub(crate) fn all() -> Result<&'static [Device]> {
    static DEVICES: LazyLock<Option<Vec<Device>>> = LazyLock::new(|| {
        let list = match text(DEVICES_VARIABLE).ok()? {
            Some(list) => Some(list),
            None => text(TARGET_VARIABLE).ok()?,
        };
        let models = models(list.as_deref().unwrap_or(MODELS[0].target))?;
        let capacity = match text(MEMORY_VARIABLE).ok()? {
            Some(text) => properties::bytes(&text)?,
            None => properties::CAPACITY,
        };
        let sanitize = device::is_sanitized();
        let count = models.len();
        let devices = models.into_iter().enumerate();
        Some(
            devices
                .map(|(id, model)| Device::new(model, id, count, capacity, sanitize))
                .collect(),
        )
    });
    let devices = DEVICES.as_deref();
    devices.ok_or(hip::hipError_t_hipErrorNoDevice)
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

/// The device whose handle it is; the thread's own when it is no device's.
pub(crate) fn home(handle: usize, own: &Device) -> &Device {
    let devices = all().unwrap_or_default();
    devices
        .get(crate::handles::device_of(handle))
        .filter(|_| handle > 2)
        .unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_one_model_a_device() {
        let names =
            |list| models(list).map(|models| models.iter().map(|model| model.target).collect::<Vec<_>>());
        assert_eq!(names("gfx942"), Some(vec!["gfx942"]));
        assert_eq!(
            names("gfx1100, gfx942,gfx1100"),
            Some(vec!["gfx1100", "gfx942", "gfx1100"])
        );
        assert_eq!(names("gfx1100,gfx7"), None);
        assert_eq!(names("gfx1100,"), None);
        assert_eq!(names(&["gfx942"; 9].join(",")), None);
    }
}
