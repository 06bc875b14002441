//! Modules and the variables of fat binaries.

use core::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use rocm_rs::hip::bindings as hip;

use super::{Out, Text, calls, image, opaque, pointer};
use crate::error::{INVALID_VALUE, Result};
use crate::module::{self, FUNCTIONS, MODULES, Module};

/// A file that is read may be this large.
const MOST: u64 = 1 << 32;

fn load(place: Out<*mut c_void>, file: &[u8]) -> Result {
    place.put(opaque(MODULES.insert(Module::load(file)?)))
}

fn read(path: &str) -> Result<Vec<u8>> {
    let missing = hip::hipError_t_hipErrorFileNotFound;
    let about = std::fs::metadata(path).map_err(|_| missing)?;
    if !about.is_file() || about.len() > MOST {
        return Err(missing);
    }
    std::fs::read(path).map_err(|_| missing)
}

calls! {
    fn hipModuleLoad(place: Out<*mut c_void>, path: Text) {
        place.check()?;
        load(place, &read(&path.get()?)?)
    }

    fn hipModuleLoadData(place: Out<*mut c_void>, file: *const c_void) {
        place.check()?;
        load(place, &image(file)?)
    }

    fn hipModuleLoadDataEx(place: Out<*mut c_void>, file: *const c_void, _count: c_uint, _options: *const c_int, _values: *const c_void) {
        place.check()?;
        load(place, &image(file)?)
    }

    fn hipModuleLoadFatBinary(place: Out<*mut c_void>, file: *const c_void) {
        place.check()?;
        load(place, &image(file)?)
    }

    fn hipModuleUnload(module: usize) {
        crate::jobs::drain()?;
        module::unload(module)
    }

    fn hipModuleGetFunction(place: Out<*mut c_void>, module: usize, name: Text) {
        place.check()?;
        let name = name.get()?;
        if name.is_empty() {
            return Err(INVALID_VALUE);
        }
        let module: Arc<Module> = MODULES.get(module)?;
        place.put(opaque(FUNCTIONS.insert(module.function(&name)?)))
    }

    fn hipModuleGetGlobal(place: Out<*mut c_void>, bytes: Out<usize>, module: usize, name: Text) {
        let (address, size) = MODULES.get(module)?.variable(&name.get()?)?;
        place.put_if(pointer(address));
        bytes.put_if(size as usize);
        Ok(())
    }

    fn hipGetSymbolAddress(place: Out<*mut c_void>, host: *const c_void) {
        place.check()?;
        place.put(pointer(module::variable(host.addr())?.0))
    }

    fn hipGetSymbolSize(bytes: Out<usize>, host: *const c_void) {
        bytes.check()?;
        bytes.put(module::variable(host.addr())?.1 as usize)
    }
}
