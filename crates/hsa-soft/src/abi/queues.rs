//! Queues and the times of what they did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::{Data, List, OnError, Out, Room, calls, values};
use crate::agent::{Agent, Value};
use crate::queue::{self, Tell};
use crate::signal::Signal;
use soft_runtime::runtime;
use soft_runtime::status::Status;

/// When something began and ended.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Times {
    start: u64,
    end: u64,
}

calls! {
    fn hsa_queue_create(
        agent: u64, size: u32, kind: u32, callback: Option<OnError>, data: Data, _private: u32, _group: u32, queue: Out<u64>,
    ) {
        let runtime = runtime::get()?;
        Agent::card(agent, runtime)?;
        if queue.is_null() {
            return Err(Status::InvalidArgument.into());
        }
        let own = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&own);
        let on_error = callback.map(|callback| -> Tell {
            Box::new(move |status| {
                let data: Data = data;
                // SAFETY: the callback is C's caller's own, made for these arguments and other threads.
                unsafe { callback(status.into(), told.load(SeqCst), data) }
            })
        });
        let address = queue::create(runtime, size, kind, on_error)?;
        own.store(address, SeqCst);
        Ok(queue.put(address)?)
    }

    fn hsa_queue_destroy(queue: u64) {
        Ok(queue::destroy(queue)?)
    }

    fn hsa_queue_inactivate(queue: u64) {
        // Its memory stays: a program may look at it until it destroys the queue.
        let kept = queue::known(queue)?;
        queue::destroy(queue)?;
        std::mem::forget(kept);
        Ok(())
    }

    fn hsa_amd_queue_set_priority(queue: u64, _priority: u32) {
        queue::known(queue)?;
        Ok(())
    }

    fn hsa_amd_queue_cu_set_mask(queue: u64, _count: u32, _mask: List<u32>) {
        queue::known(queue)?;
        Ok(())
    }

    fn hsa_amd_queue_get_info(queue: u64, attribute: u32, value: Room) {
        queue::known(queue)?;
        match attribute {
            0 => Ok(value.put(&Value::from(Agent::Card(0).handle()))?),
            _ => Err(Status::InvalidArgument.into()),
        }
    }

    fn hsa_amd_profiling_set_profiler_enabled(queue: u64, _enable: i32) {
        queue::known(queue)?;
        Ok(())
    }

    fn hsa_amd_profiling_async_copy_enable(_enable: bool) {
        Ok(())
    }

    fn hsa_amd_profiling_get_dispatch_time(agent: u64, signal: u64, times: Out<Times>) {
        Agent::of(agent, runtime::get()?)?;
        let [start, end] = Signal::of(signal)?.times();
        Ok(times.put(Times { start, end })?)
    }

    fn hsa_amd_profiling_get_async_copy_time(signal: u64, times: Out<Times>) {
        let [start, end] = Signal::of(signal)?.times();
        Ok(times.put(Times { start, end })?)
    }

    fn hsa_amd_profiling_convert_tick_to_system_domain(agent: u64, tick: u64, system: Out<u64>) {
        Agent::of(agent, runtime::get()?)?;
        Ok(system.put(tick)?)
    }
}

macro_rules! reads {
    ($($write:literal: $($name:ident)*;)*) => {
        values! { $($(fn $name(queue: u64) -> u64 { Ok(queue::index(queue, $write)?.load(SeqCst)) })*)* }
    };
}

macro_rules! writes {
    ($($name:ident)*) => {
        values! { $(fn $name(queue: u64, value: u64) -> () { queue::index(queue, true)?.store(value, SeqCst); Ok(()) })* }
    };
}

macro_rules! adds {
    ($($name:ident)*) => {
        values! { $(fn $name(queue: u64, value: u64) -> u64 { Ok(queue::index(queue, true)?.fetch_add(value, SeqCst)) })* }
    };
}

macro_rules! compares {
    ($($name:ident)*) => {
        values! { $(fn $name(queue: u64, expected: u64, value: u64) -> u64 {
            let old = queue::index(queue, true)?.compare_exchange(expected, value, SeqCst, SeqCst);
            Ok(old.unwrap_or_else(|old| old))
        })* }
    };
}

reads! {
    true: hsa_queue_load_write_index_relaxed hsa_queue_load_write_index_scacquire hsa_queue_load_write_index_acquire;
    false: hsa_queue_load_read_index_relaxed hsa_queue_load_read_index_scacquire hsa_queue_load_read_index_acquire;
}

writes! {
    hsa_queue_store_write_index_relaxed hsa_queue_store_write_index_screlease hsa_queue_store_write_index_release
}

adds! {
    hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_scacquire hsa_queue_add_write_index_screlease
    hsa_queue_add_write_index_scacq_screl hsa_queue_add_write_index_acquire hsa_queue_add_write_index_release
    hsa_queue_add_write_index_acq_rel
}

compares! {
    hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_scacquire hsa_queue_cas_write_index_screlease
    hsa_queue_cas_write_index_scacq_screl hsa_queue_cas_write_index_acquire hsa_queue_cas_write_index_release
    hsa_queue_cas_write_index_acq_rel
}
