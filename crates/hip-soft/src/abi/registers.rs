//! What compilers call of a program with fat binaries, before `main` and after it.

use core::ffi::{c_char, c_int, c_uint, c_void};

use super::{In, Out, Text, address, image, pointer, values};
use crate::error::Result;
use crate::module::Variable;
use crate::{jobs, memory, module};
use soft_runtime::report;

/// The first word of what a compiler passes: `HIPF`.
const MAGIC: u32 = 0x4849_5046;

/// What a compiler passes of a fat binary.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Wrapper {
    magic: u32,
    version: u32,
    binary: *const c_void,
    unused: *const c_void,
}

/// Registers what can be registered; a program that never uses it goes on without it.
fn registered(what: &str, result: Result<usize>) -> usize {
    result.unwrap_or_else(|code| {
        let name = crate::error::name(code).to_string_lossy();
        report::say(&format!("{what} of the program is not registered: {name}"));
        0
    })
}

fn fat_binary(wrapper: In<Wrapper>) -> Result<usize> {
    let wrapper = wrapper.get()?;
    if wrapper.magic != MAGIC {
        return Err(rocm_rs::hip::bindings::hipError_t_hipErrorInvalidImage);
    }
    Ok(module::register(image(wrapper.binary)?))
}

fn managed(
    binary: usize,
    place: Out<u64>,
    initial: *const c_void,
    name: Text,
    bytes: usize,
) -> Result<usize> {
    let shared = memory::allocate_host(bytes, 0, true)?;
    let initial = In(initial.cast::<u8>());
    for (index, byte) in initial.list(bytes)?.into_iter().enumerate() {
        Out(pointer::<u8>(shared).wrapping_add(index)).put(byte)?;
    }
    place.put(shared)?;
    let variable = Variable {
        binary,
        name: name.get()?,
        shared: Some(shared),
    };
    module::register_variable(address(place.0) as usize, variable);
    Ok(binary)
}

values! {
    fn __hipRegisterFatBinary(wrapper: In<Wrapper>) -> usize {
        registered("a fat binary", fat_binary(wrapper))
    }

    fn __hipUnregisterFatBinary(binary: usize) -> () {
        // The program ends. What still runs ends first: its code would be gone.
        jobs::drain().ok();
        module::unregister(binary);
        report::end();
    }

    fn __hipRegisterFunction(
        binary: usize, host: *const c_void, _name: Text, device_name: Text, _limit: c_uint, _thread: *const c_void,
        _block_id: *const c_void, _block: *const c_void, _grid: *const c_void, _warp: *const c_int,
    ) -> () {
        let name = device_name.get().map(|name| {
            module::register_function(binary, host.addr(), name);
            binary
        });
        registered("a kernel", name);
    }

    fn __hipRegisterVar(
        binary: usize, host: *const c_void, _name: Text, device_name: Text, _external: c_int, _bytes: usize,
        _constant: c_int, _global: c_int,
    ) -> () {
        let name = device_name.get().map(|name| {
            module::register_variable(host.addr(), Variable { binary, name, shared: None });
            binary
        });
        registered("a variable", name);
    }

    fn __hipRegisterManagedVar(
        binary: usize, place: Out<u64>, initial: *const c_void, name: Text, bytes: usize, _align: c_uint,
    ) -> () {
        registered("a managed variable", managed(binary, place, initial, name, bytes));
    }

    fn __hipRegisterSurface(
        _binary: usize, _host: *const c_void, _name: *const c_char, _device_name: *const c_char, _kind: c_int, _external: c_int,
    ) -> () {
        report::missing("__hipRegisterSurface");
    }

    fn __hipRegisterTexture(
        _binary: usize, _host: *const c_void, _name: *const c_char, _device_name: *const c_char, _kind: c_int,
        _normalized: c_int, _external: c_int,
    ) -> () {
        report::missing("__hipRegisterTexture");
    }
}
