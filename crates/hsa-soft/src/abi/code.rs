//! Code objects, executables, symbols, and the loader's extension.

use core::ffi::c_void;
use std::sync::Arc;

use super::{Data, Out, Room, Text, Visit, VisitPart, bytes_at, calls, visit};
use crate::agent::{Agent, Value};
use soft_runtime::loader::{self, Symbol};
use soft_runtime::report;
use soft_runtime::runtime;
use soft_runtime::status::{Answer, Status};

/// Bytes that a code object may have.
const MOST: usize = 1 << 32;
/// Alignment of arguments.
const KERNARG_ALIGN: u32 = 64;

fn symbol_info(symbol: &Symbol, attribute: u32) -> Answer<Value> {
    let name = symbol.name();
    let kernel = symbol.kernel();
    let base = symbol.loaded().placement.base();
    let of_kernel = |number: fn(&gfx_emu::Kernel) -> u32| kernel.map(number).ok_or(Status::InvalidArgument);
    Ok(match (attribute, symbol) {
        (0, _) => u32::from(kernel.is_some()).into(),
        (1, _) => (name.len() as u32).into(),
        (2, _) => Value(name.into_bytes()),
        (3, _) => 0_u32.into(),
        (4, _) => Value(Vec::new()),
        // Linkage of the program, a definition, memory of an agent, global memory.
        (5, _) => 1_u32.into(),
        (17, _) => true.into(),
        (6 | 7, _) => 0_u32.into(),
        (8, _) => 16_u32.into(),
        (9, Symbol::Variable(.., bytes)) => u32::try_from(*bytes).unwrap_or(u32::MAX).into(),
        (10, _) => false.into(),
        (20, _) => Agent::Card(symbol.loaded().card).handle().into(),
        (21, Symbol::Variable(_, _, address, _)) => (*address).into(),
        (11, _) => of_kernel(|kernel| kernel.kernarg_size)?.into(),
        (12, Symbol::Kernel(..)) => KERNARG_ALIGN.into(),
        (13, _) => of_kernel(|kernel| kernel.descriptor.group_segment_size)?.into(),
        (14, _) => of_kernel(|kernel| kernel.descriptor.private_segment_size)?.into(),
        (15, _) => (of_kernel(|kernel| u32::from(kernel.descriptor.uses_dynamic_stack()))? == 1).into(),
        (18, _) => 0_u32.into(),
        (22, Symbol::Kernel(..)) => kernel
            .map(|kernel| base + kernel.descriptor_offset)
            .ok_or(Status::InvalidArgument)?
            .into(),
        _ => return Err(Status::InvalidArgument),
    })
}

calls! {
    fn hsa_code_object_reader_create_from_memory(address: *const c_void, bytes: usize, reader: Out<u64>) {
        let runtime = runtime::get()?;
        if bytes > MOST {
            return Err(Status::InvalidArgument.into());
        }
        let file = bytes_at(address, bytes)?;
        let handle = runtime.loader().reader(address.addr() as u64, Arc::from(file));
        Ok(reader.put(handle)?)
    }

    fn hsa_code_object_reader_destroy(reader: u64) {
        Ok(runtime::get()?.loader().destroy_reader(reader)?)
    }

    fn hsa_executable_create_alt(_profile: u32, _rounding: u32, _options: Text, executable: Out<u64>) {
        Ok(executable.put(runtime::get()?.loader().executable())?)
    }

    fn hsa_executable_load_agent_code_object(executable: u64, agent: u64, reader: u64, _options: Text, object: Out<u64>) {
        let runtime = runtime::get()?;
        let card = Agent::card(agent, runtime)?;
        let (address, file) = {
            let loader = runtime.loader();
            loader.is_open(executable)?;
            loader.file(reader)?
        };
        // Without the lock: a large file takes its time.
        let loaded = loader::load(runtime, card, (address, &file))?;
        let handle = runtime.loader().add(executable, loaded)?;
        object.put_if(handle);
        Ok(())
    }

    fn hsa_executable_freeze(executable: u64, _options: Text) {
        Ok(runtime::get()?.loader().freeze(executable)?)
    }

    fn hsa_executable_validate(executable: u64, result: Out<u32>) {
        runtime::get()?.loader().objects(executable)?;
        Ok(result.put(0)?)
    }

    fn hsa_executable_destroy(executable: u64) {
        let runtime = runtime::get()?;
        let mut loader = runtime.loader();
        Ok(loader.destroy(executable, &mut runtime.pools())?)
    }

    fn hsa_executable_agent_global_variable_define(executable: u64, agent: u64, name: Text, _address: u64) {
        let runtime = runtime::get()?;
        Agent::card(agent, runtime)?;
        runtime.loader().objects(executable)?;
        // A code object that needs it is refused by name when it is loaded.
        report::say(&format!("the program defines the device variable `{}`, which nothing here links", name.read()?));
        Ok(())
    }

    fn hsa_executable_get_symbol_by_name(executable: u64, name: Text, _agent: *const u64, symbol: Out<u64>) {
        let name = name.read()?;
        Ok(symbol.put(runtime::get()?.loader().symbol(executable, &name)?)?)
    }

    fn hsa_executable_iterate_symbols(executable: u64, callback: VisitPart, data: Data) {
        let runtime = runtime::get()?;
        let callback = callback.ok_or(Status::InvalidArgument)?;
        let names = runtime.loader().names(executable)?;
        for name in names {
            let symbol = runtime.loader().symbol(executable, &name)?;
            // SAFETY: the function is C's caller's own, made for these arguments.
            match unsafe { callback(executable, symbol, data) } {
                0 => (),
                other => return Err(other),
            }
        }
        Ok(())
    }

    fn hsa_executable_symbol_get_info(symbol: u64, attribute: u32, value: Room) {
        let symbol = runtime::get()?.loader().known(symbol)?;
        Ok(value.put(&symbol_info(&symbol, attribute)?)?)
    }

    fn hsa_ven_amd_loader_query_host_address(device: u64, host: Out<u64>) {
        // Images lie in host memory.
        let found = runtime::get()?.loader().around(device);
        found.ok_or(Status::InvalidArgument)?;
        Ok(host.put(device)?)
    }

    fn hsa_ven_amd_loader_query_segment_descriptors(_descriptors: *mut c_void, count: Out<usize>) {
        Ok(count.put(0)?)
    }

    fn hsa_ven_amd_loader_query_executable(device: u64, executable: Out<u64>) {
        let found = runtime::get()?.loader().around(device);
        let (_, owner) = found.ok_or(Status::InvalidArgument)?;
        Ok(executable.put(owner)?)
    }

    fn hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable: u64, callback: VisitPart, data: Data) {
        let callback = callback.ok_or(Status::InvalidArgument)?;
        let objects = runtime::get()?.loader().objects(executable)?;
        for object in objects {
            // SAFETY: the function is C's caller's own, made for these arguments.
            match unsafe { callback(executable, object, data) } {
                0 => (),
                other => return Err(other),
            }
        }
        Ok(())
    }

    fn hsa_ven_amd_loader_loaded_code_object_get_info(object: u64, attribute: u32, value: Room) {
        let loader = runtime::get()?.loader();
        let loaded = loader.object(object)?;
        let uri = format!("memory://{}#offset={:#x}&size={:#x}", std::process::id(), loaded.file.0, loaded.file.1);
        let answer: Value = match attribute {
            1 => loader.around(object).ok_or(Status::InvalidArgument)?.1.into(),
            // Of an agent, kept in memory.
            2 | 4 => 2_u32.into(),
            3 => Agent::Card(loaded.card).handle().into(),
            5 => loaded.file.0.into(),
            6 => loaded.file.1.into(),
            8 | 9 => loaded.placement.base().into(),
            10 => loaded.code.image_size().into(),
            11 => (uri.len() as u32).into(),
            12 => Value(uri.into_bytes()),
            _ => return Err(Status::InvalidArgument.into()),
        };
        Ok(value.put(&answer)?)
    }

    fn hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
        _file: i32, _offset: usize, _bytes: usize, _reader: Out<u64>,
    ) {
        report::missing("hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size");
        Err(Status::Error.into())
    }

    fn hsa_ven_amd_loader_iterate_executables(callback: Visit, data: Data) {
        let executables = runtime::get()?.loader().executables();
        visit(callback, data, executables)
    }
}

/// The functions of version 1.03 of the loader's extension, in the order of its table.
pub(super) fn addresses() -> [*const c_void; 7] {
    [
        hsa_ven_amd_loader_query_host_address as *const c_void,
        hsa_ven_amd_loader_query_segment_descriptors as *const c_void,
        hsa_ven_amd_loader_query_executable as *const c_void,
        hsa_ven_amd_loader_executable_iterate_loaded_code_objects as *const c_void,
        hsa_ven_amd_loader_loaded_code_object_get_info as *const c_void,
        hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size as *const c_void,
        hsa_ven_amd_loader_iterate_executables as *const c_void,
    ]
}
