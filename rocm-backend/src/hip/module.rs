//! A code object loaded on a device, and its kernels.
#![expect(unsafe_code, reason = "calls HIP and says why a module may cross threads")]

use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rocm_rs::hip::bindings::{self, hipFunction_t, hipModule_t};

use super::query;
use super::status::check;
use crate::Error;

/// The modules that are loaded on a device, by the kernel file's name: all of its streams use the same.
#[derive(Default)]
pub(crate) struct Modules(Mutex<BTreeMap<&'static str, Arc<LoadedModule>>>);

impl Modules {
    /// Those of device `ordinal` of a driver, which stay loaded as long as one of its contexts lives.
    pub(super) fn of(ordinal: c_int, driver: &'static str) -> Arc<Modules> {
        type Devices = BTreeMap<(c_int, &'static str), Weak<Modules>>;
        static DEVICES: Mutex<Devices> = Mutex::new(Devices::new());
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        let known = devices.entry((ordinal, driver)).or_default();
        known.upgrade().unwrap_or_else(|| {
            let modules = Arc::default();
            *known = Arc::downgrade(&modules);
            modules
        })
    }

    /// The module `name`, by `load` at the first call. Another thread that wants one of this device's meanwhile waits.
    pub(crate) fn get(
        &self,
        name: &'static str,
        load: impl FnOnce() -> Result<LoadedModule, Error>,
    ) -> Result<Arc<LoadedModule>, Error> {
        let mut modules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(name) {
            return Ok(Arc::clone(module));
        }
        let module = Arc::new(load()?);
        modules.insert(name, Arc::clone(&module));
        Ok(module)
    }
}

/// A loaded code object; unloaded when the last [`LoadedKernel`] of it is gone.
pub(crate) struct LoadedModule {
    raw: hipModule_t,
    ordinal: c_int,
    /// Kernels asked for so far; `None`: the code object has none of that name.
    functions: Mutex<BTreeMap<Arc<str>, Option<RawFunction>>>,
    /// The code object. HIP keeps a pointer to it until the module is unloaded, and reads it as words.
    _image: Box<[u64]>,
}

#[derive(Debug, Clone, Copy)]
struct RawFunction(hipFunction_t);

// SAFETY: a hipFunction_t is a handle into a module that HIP never changes after loading; launching from several
// threads is allowed. `RawFunction` is used only while its module is alive (see `LoadedKernel`).
unsafe impl Send for RawFunction {}
// SAFETY: `Module` holds two handles that HIP locks itself, no `&mut` method, and the image is never written.
unsafe impl Send for LoadedModule {}
// SAFETY: as above.
unsafe impl Sync for LoadedModule {}

/// A kernel, and the module that keeps it loaded.
pub(crate) struct LoadedKernel {
    raw: RawFunction,
    symbol: Arc<str>,
    _module: Arc<LoadedModule>,
}

impl LoadedModule {
    /// Loads `code`, an ELF code object, on device `ordinal`, which must be this thread's.
    pub(crate) fn load(ordinal: c_int, code: &[u8]) -> Result<LoadedModule, Error> {
        let image: Box<[u64]> = code
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            })
            .collect();
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written; the image is a whole code object (built in, or all that its headers
        // name is there: custom/image.rs) and lives as long as the module.
        check("hipModuleLoadData", unsafe {
            bindings::hipModuleLoadData(&raw mut raw, image.as_ptr().cast())
        })?;
        Ok(LoadedModule {
            raw,
            ordinal,
            functions: Mutex::default(),
            _image: image,
        })
    }

    /// The kernel `name`; `None` when the code object has none of that name.
    pub(crate) fn function(self: &Arc<Self>, name: &str) -> Result<Option<LoadedKernel>, Error> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let (symbol, raw) = match functions.get_key_value(name) {
            Some((symbol, &known)) => (Arc::clone(symbol), known),
            None => {
                let (symbol, found) = (Arc::from(name), self.find(name)?);
                functions.insert(Arc::clone(&symbol), found);
                (symbol, found)
            }
        };
        Ok(raw.map(|raw| LoadedKernel {
            raw,
            symbol,
            _module: Arc::clone(self),
        }))
    }

    fn find(&self, name: &str) -> Result<Option<RawFunction>, Error> {
        let Ok(c_name) = CString::new(name) else {
            return Ok(None);
        };
        query::set_device(self.ordinal)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written, the module is loaded, the name is a live C string.
        match unsafe { bindings::hipModuleGetFunction(&raw mut raw, self.raw, c_name.as_ptr()) } {
            bindings::hipError_t_hipErrorNotFound => Ok(None),
            status => check("hipModuleGetFunction", status).map(|()| Some(RawFunction(raw))),
        }
    }
}

impl LoadedKernel {
    /// The handle, for a launch while `self` is borrowed.
    pub(crate) fn raw(&self) -> hipFunction_t {
        self.raw.0
    }

    /// The kernel's name in its code object.
    pub(crate) fn symbol(&self) -> &Arc<str> {
        &self.symbol
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        let _ = query::set_device(self.ordinal);
        // SAFETY: loaded by hipModuleLoadData and unloaded only here; no `LoadedKernel` is left. A failure leaves
        // nothing to do.
        let _ = unsafe { bindings::hipModuleUnload(self.raw) };
    }
}
