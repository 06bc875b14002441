//! Init, the system, agents, instruction sets, and the loader's extension table.

use core::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::code;
use super::{Data, List, Out, Room, Visit, calls, values, visit};
use crate::agent::{self, Agent, Value};
use crate::words;
use soft_runtime::report;
use soft_runtime::runtime;
use soft_runtime::status::Status;

/// Times that `hsa_init` was called and not undone.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// The loader's extension.
const LOADER: u16 = 0x201;

/// Puts as many functions of the loader's extension into a table as the caller's version of it has.
fn loader_table(extension: u16, major: u16, functions: usize, table: Out<*const c_void>) -> super::Reply {
    if (extension, major) != (LOADER, 1) {
        return Err(Status::Error.into());
    }
    for (index, function) in code::addresses().into_iter().enumerate().take(functions) {
        if table.is_null() {
            return Err(Status::InvalidArgument.into());
        }
        Out(table.0.wrapping_add(index)).put(function)?;
    }
    Ok(())
}

values! {
    // How many cards there are. ROCr has no function of this name: a program that finds it in the libhsa-runtime64 that was loaded knows that
    // they are software.
    fn hsa_soft_gpu() -> u32 {
        Ok(u32::try_from(runtime::get()?.cards.len()).unwrap_or(u32::MAX))
    }
}

calls! {
    fn hsa_init() {
        runtime::init()?;
        if USERS.fetch_add(1, SeqCst) == 0 {
            super::finish_at_exit();
        }
        Ok(())
    }

    fn hsa_shut_down() {
        let used = USERS.fetch_update(SeqCst, SeqCst, |users| users.checked_sub(1));
        used.map_err(|_| Status::NotInitialized)?;
        report::end();
        Ok(())
    }

    fn hsa_status_string(status: u32, text: Out<*const c_char>) {
        let words = words::of(status).ok_or(Status::InvalidArgument)?;
        Ok(text.put(words.as_ptr())?)
    }

    fn hsa_system_get_info(attribute: u32, value: Room) {
        let answer: Value = match attribute {
            0 => 1_u16.into(),
            1 => 1_u16.into(),
            2 => runtime::now().into(),
            3 => 1_000_000_000_u64.into(),
            4 => u64::MAX.into(),
            // Little endian, large model.
            5 => 0_u32.into(),
            6 => 1_u32.into(),
            7 => {
                let mut extensions = vec![0; 128];
                // A bit for each extension, the loader's among them.
                extensions[usize::from(LOADER) / 8] = 1 << (LOADER % 8);
                Value(extensions)
            }
            0x200 => (c"software GPU".as_ptr().addr() as u64).into(),
            // Addresses can be reserved, and memory mapped there.
            0x205 => true.into(),
            // No shared virtual memory beyond the pools, no export, no retries of faults.
            0x201..=0x206 => false.into(),
            0x207 => 1_u16.into(),
            0x208 => 7_u16.into(),
            _ => return Err(Status::InvalidArgument.into()),
        };
        Ok(value.put(&answer)?)
    }

    fn hsa_system_extension_supported(extension: u16, major: u16, minor: u16, result: Out<bool>) {
        Ok(result.put(extension == LOADER && major == 1 && minor <= 3)?)
    }

    fn hsa_system_major_extension_supported(extension: u16, major: u16, minor: Out<u16>, result: Out<bool>) {
        minor.put_if(3);
        Ok(result.put(extension == LOADER && major == 1)?)
    }

    fn hsa_agent_extension_supported(_extension: u16, agent: u64, _major: u16, _minor: u16, result: Out<bool>) {
        Agent::of(agent, runtime::get()?)?;
        Ok(result.put(false)?)
    }

    fn hsa_system_get_extension_table(extension: u16, major: u16, minor: u16, table: Out<*const c_void>) {
        // Version 1.00 has three functions, and each later one more, but 1.01 two.
        let functions = [3, 5, 6, 7].get(usize::from(minor)).copied().ok_or(Status::Error)?;
        loader_table(extension, major, functions, table)
    }

    fn hsa_system_get_major_extension_table(extension: u16, major: u16, bytes: usize, table: Out<*const c_void>) {
        loader_table(extension, major, bytes / 8, table)
    }

    fn hsa_iterate_agents(callback: Visit, data: Data) {
        visit(callback, data, Agent::all(runtime::get()?).map(Agent::handle))
    }

    fn hsa_agent_get_info(agent: u64, attribute: u32, value: Room) {
        let runtime = runtime::get()?;
        let answer = agent::info(runtime, Agent::of(agent, runtime)?, attribute)?;
        Ok(value.put(&answer)?)
    }

    fn hsa_agent_iterate_isas(agent: u64, callback: Visit, data: Data) {
        let runtime = runtime::get()?;
        match Agent::of(agent, runtime)? {
            Agent::Card(card) => visit(callback, data, [agent::isa(card)]),
            Agent::Host => visit(callback, data, []),
        }
    }

    fn hsa_agent_iterate_caches(agent: u64, callback: Visit, data: Data) {
        Agent::of(agent, runtime::get()?)?;
        visit(callback, data, [])
    }

    fn hsa_agent_iterate_regions(agent: u64, callback: Visit, data: Data) {
        Agent::of(agent, runtime::get()?)?;
        visit(callback, data, [])
    }

    fn hsa_isa_get_info_alt(isa: u64, attribute: u32, value: Room) {
        let answer = agent::isa_info(runtime::get()?, isa, attribute)?;
        Ok(value.put(&answer)?)
    }

    fn hsa_isa_from_name(name: super::Text, isa: Out<u64>) {
        let name = name.read()?;
        let runtime = runtime::get()?;
        let found = runtime.cards.iter().position(|card| soft_runtime::card::isa_name(*card) == name);
        Ok(isa.put(agent::isa(found.ok_or(Status::InvalidIsa)?))?)
    }

    fn hsa_amd_register_system_event_handler(_callback: *const c_void, _data: Data) {
        // Faults of kernels are told to the queue that has them.
        Ok(())
    }

    fn hsa_amd_enable_logging(_flags: List<u8>, _file: *const c_void) {
        Ok(())
    }

    fn hsa_amd_coherency_set_type(agent: u64, _kind: u32) {
        Agent::of(agent, runtime::get()?)?;
        Ok(())
    }

    fn hsa_amd_coherency_get_type(agent: u64, kind: Out<u32>) {
        Agent::of(agent, runtime::get()?)?;
        Ok(kind.put(0)?)
    }

    fn hsa_amd_agent_set_async_scratch_limit(agent: u64, _bytes: usize) {
        Agent::of(agent, runtime::get()?)?;
        Ok(())
    }
}
