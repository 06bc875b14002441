//! Virtual memory: addresses that are reserved, and memory that is mapped there.

use super::{List, Out, calls};
use crate::agent::Agent;
use soft_runtime::pools::Pool;
use soft_runtime::runtime;
use soft_runtime::status::{Answer, Status};

/// `hsa_amd_memory_access_desc_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Access {
    permissions: u32,
    agent: u64,
}

/// The requested address is a wish: any other may be given.
fn reserve(place: Out<u64>, bytes: usize, align: u64) -> Answer<()> {
    if place.is_null() {
        return Err(Status::InvalidArgument);
    }
    place.put(runtime::get()?.pools().reserve(bytes as u64, align)?)
}

calls! {
    fn hsa_amd_vmem_address_reserve(address: Out<u64>, bytes: usize, _wish: u64, _flags: u64) {
        Ok(reserve(address, bytes, 0)?)
    }

    fn hsa_amd_vmem_address_reserve_align(address: Out<u64>, bytes: usize, _wish: u64, align: u64, _flags: u64) {
        Ok(reserve(address, bytes, align)?)
    }

    fn hsa_amd_vmem_address_free(address: u64, bytes: usize) {
        Ok(runtime::get()?.pools().unreserve(address, bytes as u64)?)
    }

    fn hsa_amd_vmem_handle_create(pool: u64, bytes: usize, kind: u32, _flags: u64, handle: Out<u64>) {
        let runtime = runtime::get()?;
        let pool = Pool::of(pool, runtime.cards.len())?;
        if handle.is_null() {
            return Err(Status::InvalidArgument.into());
        }
        Ok(handle.put(runtime.pools().create(pool, bytes as u64, kind)?)?)
    }

    fn hsa_amd_vmem_handle_release(handle: u64) {
        Ok(runtime::get()?.pools().release(handle)?)
    }

    fn hsa_amd_vmem_map(address: u64, bytes: usize, offset: usize, handle: u64, _flags: u64) {
        Ok(runtime::get()?.pools().map(address, bytes as u64, offset as u64, handle)?)
    }

    fn hsa_amd_vmem_unmap(address: u64, bytes: usize) {
        Ok(runtime::get()?.pools().unmap(address, bytes as u64)?)
    }

    fn hsa_amd_vmem_set_access(address: u64, bytes: usize, list: List<Access>, count: usize) {
        let runtime = runtime::get()?;
        let list = list.read(count)?;
        for access in &list {
            Agent::of(access.agent, runtime)?;
        }
        for access in &list {
            runtime.pools().allow(address, bytes as u64, access.agent, access.permissions)?;
        }
        Ok(())
    }

    fn hsa_amd_vmem_get_access(address: u64, permissions: Out<u32>, agent: u64) {
        let runtime = runtime::get()?;
        Agent::of(agent, runtime)?;
        Ok(permissions.put(runtime.pools().allowed(address, agent)?)?)
    }

    fn hsa_amd_vmem_retain_alloc_handle(handle: Out<u64>, address: u64) {
        if handle.is_null() {
            return Err(Status::InvalidArgument.into());
        }
        Ok(handle.put(runtime::get()?.pools().retain(address)?)?)
    }

    fn hsa_amd_vmem_get_alloc_properties_from_handle(handle: u64, pool: Out<u64>, kind: Out<u32>) {
        let (of, number) = runtime::get()?.pools().properties(handle)?;
        pool.put(of.handle())?;
        Ok(kind.put(number)?)
    }
}
