//! Pools, allocations, locked memory, and what is known of a pointer.

use core::ffi::c_void;

use super::{Allocate, Data, List, Out, Room, Visit, calls, visit};
use crate::agent::{self, Agent};
use soft_runtime::pools::{Known, Pool};
use soft_runtime::runtime;
use soft_runtime::status::Status;

/// `hsa_amd_pointer_info_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PointerInfo {
    size: u32,
    kind: u32,
    agent_base: u64,
    host_base: u64,
    bytes: u64,
    user_data: u64,
    owner: u64,
    flags: u32,
    padding: u32,
}

calls! {
    fn hsa_amd_agent_iterate_memory_pools(agent: u64, callback: Visit, data: Data) {
        let pools = Agent::of(agent, runtime::get()?)?.pools();
        visit(callback, data, pools.into_iter().map(Pool::handle))
    }

    fn hsa_amd_memory_pool_get_info(pool: u64, attribute: u32, value: Room) {
        let runtime = runtime::get()?;
        let pool = Pool::of(pool, runtime.cards.len())?;
        Ok(value.put(&agent::pool_info(runtime, pool, attribute)?)?)
    }

    fn hsa_amd_agent_memory_pool_get_info(agent: u64, pool: u64, attribute: u32, value: Room) {
        let runtime = runtime::get()?;
        let (agent, pool) = (Agent::of(agent, runtime)?, Pool::of(pool, runtime.cards.len())?);
        Ok(value.put(&agent::access_info(agent, pool, attribute)?)?)
    }

    fn hsa_amd_memory_pool_allocate(pool: u64, bytes: usize, _flags: u32, address: Out<u64>) {
        let runtime = runtime::get()?;
        let pool = Pool::of(pool, runtime.cards.len())?;
        if address.is_null() {
            return Err(Status::InvalidArgument.into());
        }
        Ok(address.put(runtime.pools().allocate(pool, bytes as u64)?)?)
    }

    fn hsa_amd_memory_pool_free(address: u64) {
        match address {
            0 => Ok(()),
            _ => Ok(runtime::get()?.pools().free(address)?),
        }
    }

    fn hsa_memory_free(address: u64) {
        Ok(runtime::get()?.pools().free(address)?)
    }

    fn hsa_amd_agents_allow_access(count: u32, agents: List<u64>, _flags: List<u32>, address: u64) {
        // Every card reaches every pool already.
        let runtime = runtime::get()?;
        for agent in agents.read(count as usize)? {
            Agent::of(agent, runtime)?;
        }
        match runtime.pools().known(address) {
            Known::Unknown => Err(Status::InvalidArgument.into()),
            _ => Ok(()),
        }
    }

    fn hsa_amd_memory_pool_can_migrate(_from: u64, _to: u64, result: Out<bool>) {
        Ok(result.put(false)?)
    }

    fn hsa_amd_memory_lock(address: u64, bytes: usize, _agents: List<u64>, _count: i32, locked: Out<u64>) {
        // SAFETY: C's caller keeps the memory until it unlocks it.
        unsafe { runtime::get()?.pools().lock(address, bytes as u64) }?;
        Ok(locked.put(address)?)
    }

    fn hsa_amd_memory_lock_to_pool(
        address: u64, bytes: usize, _agents: List<u64>, _count: i32, pool: u64, _flags: u32, locked: Out<u64>,
    ) {
        let runtime = runtime::get()?;
        Pool::of(pool, runtime.cards.len())?;
        // SAFETY: C's caller keeps the memory until it unlocks it.
        unsafe { runtime.pools().lock(address, bytes as u64) }?;
        Ok(locked.put(address)?)
    }

    fn hsa_amd_memory_unlock(address: u64) {
        Ok(runtime::get()?.pools().unlock(address)?)
    }

    fn hsa_memory_register(address: u64, bytes: usize) {
        // SAFETY: C's caller keeps the memory until it deregisters it.
        Ok(unsafe { runtime::get()?.pools().lock(address, bytes as u64) }?)
    }

    fn hsa_memory_deregister(address: u64, _bytes: usize) {
        Ok(runtime::get()?.pools().unlock(address)?)
    }

    fn hsa_amd_pointer_info(
        address: u64, info: Out<PointerInfo>, allocate: Option<Allocate>, count: Out<u32>, accessible: Out<*mut u64>,
    ) {
        let runtime = runtime::get()?;
        if info.is_null() {
            return Err(Status::InvalidArgument.into());
        }
        // SAFETY: the caller says in the first field how many bytes its version of the structure has.
        let size = unsafe { info.0.cast::<u32>().read_unaligned() };
        let unknown = PointerInfo {
            size, kind: 0, agent_base: 0, host_base: 0, bytes: 0, user_data: 0, owner: 0, flags: 0, padding: 0,
        };
        let known = match runtime.pools().known(address) {
            Known::Block(base, bytes, pool, user_data) => PointerInfo {
                kind: 1,
                agent_base: base,
                host_base: if matches!(pool, Pool::HostFine | Pool::HostCoarse) { base } else { 0 },
                bytes,
                user_data,
                owner: match pool {
                    Pool::Device(card) | Pool::Lds(card) => Agent::Card(card).handle(),
                    Pool::HostFine | Pool::HostCoarse => Agent::Host.handle(),
                },
                flags: pool.flags(),
                ..unknown
            },
            Known::Locked(base, bytes) => PointerInfo {
                kind: 2,
                agent_base: base,
                host_base: base,
                bytes,
                owner: Agent::Host.handle(),
                flags: Pool::HostFine.flags(),
                ..unknown
            },
            Known::Unknown => unknown,
        };
        let room = (size as usize).min(size_of::<PointerInfo>());
        // SAFETY: the caller has as many bytes there; the structure is plain numbers.
        unsafe { core::ptr::copy_nonoverlapping((&raw const known).cast::<u8>(), info.0.cast::<u8>(), room) };
        let agents: Vec<u64> = Agent::all(runtime).map(Agent::handle).collect();
        let Some(allocate) = allocate.filter(|_| known.kind != 0 && !accessible.is_null()) else {
            count.put_if(0);
            return Ok(());
        };
        // SAFETY: the function is C's caller's own `malloc`.
        let list = unsafe { allocate(8 * agents.len()) };
        if list.is_null() {
            return Err(Status::OutOfResources.into());
        }
        for (index, agent) in agents.iter().enumerate() {
            Out(list.wrapping_add(index)).put(*agent)?;
        }
        count.put_if(agents.len() as u32);
        Ok(accessible.put(list)?)
    }

    fn hsa_amd_pointer_info_set_userdata(address: u64, user_data: u64) {
        Ok(runtime::get()?.pools().keep(address, user_data)?)
    }

    fn hsa_amd_svm_attributes_set(_address: u64, _bytes: usize, _list: *const c_void, _count: usize) {
        // Hints of where memory is best: it stays where it is.
        Ok(())
    }
}
