//! Signals: made, changed, waited for, and handlers that are called when they have a value. Every change is sequentially
//! consistent, whatever less the name asks for.

use std::time::Duration;

use super::{Action, Data, Handler, List, Out, calls, values};
use crate::deferred::{HANDLERS, Task};
use crate::signal::{Condition, Signal};
use soft_runtime::runtime;
use soft_runtime::status::{Answer, Status};

/// A timeout in ticks of the system's clock, which are nanoseconds.
fn limit(ticks: u64) -> Option<Duration> {
    (ticks < i64::MAX as u64).then(|| Duration::from_nanos(ticks))
}

fn wait(signal: u64, condition: u32, compare: i64, timeout: u64) -> Answer<i64> {
    let condition = Condition::new(condition, compare)?;
    Ok(Signal::of(signal)?.wait(condition, limit(timeout)))
}

/// The index of the first of some signals that meets its condition, and its value.
fn wait_any(
    count: u32,
    signals: List<u64>,
    conditions: List<u32>,
    compare: List<i64>,
    timeout: u64,
) -> Answer<Option<(usize, i64)>> {
    let count = count as usize;
    let (signals, conditions) = (signals.read(count)?, conditions.read(count)?);
    let compare = compare.read(count)?;
    let mut waits = Vec::with_capacity(count);
    for ((signal, condition), value) in signals.into_iter().zip(conditions).zip(compare) {
        waits.push((Signal::of(signal)?, Condition::new(condition, value)?));
    }
    Ok(soft_runtime::event::wait(
        limit(timeout),
        soft_runtime::event::LOOK,
        || {
            let mut values = waits.iter().map(|(signal, condition)| (signal.load(), condition));
            let index = values.position(|(value, condition)| condition.holds(value))?;
            Some((index, waits[index].0.load()))
        },
    ))
}

calls! {
    fn hsa_signal_create(value: i64, _consumers: u32, _list: List<u64>, signal: Out<u64>) {
        Ok(signal.put(Signal::make(runtime::get()?, value, false)?.handle())?)
    }

    fn hsa_amd_signal_create(value: i64, _consumers: u32, _list: List<u64>, _attributes: u64, signal: Out<u64>) {
        Ok(signal.put(Signal::make(runtime::get()?, value, false)?.handle())?)
    }

    fn hsa_signal_destroy(signal: u64) {
        Signal::of(signal)?.destroy();
        Ok(())
    }

    fn hsa_amd_signal_value_pointer(signal: u64, pointer: Out<u64>) {
        Ok(pointer.put(Signal::of(signal)?.value_address())?)
    }

    fn hsa_amd_signal_async_handler(signal: u64, condition: u32, value: i64, handler: Option<Handler>, data: Data) {
        let condition = Condition::new(condition, value)?;
        let handler = handler.ok_or(Status::InvalidArgument)?;
        // A null signal stands for a handler that is called at once.
        let signal = Signal::optional(signal)?;
        let task = Task {
            ready: Box::new(move || signal.is_none_or(|signal| condition.holds(signal.load()))),
            act: Box::new(move || {
                let data: Data = data;
                // SAFETY: the handler is C's caller's own, made for these arguments and other threads.
                unsafe { handler(signal.map_or(0, Signal::load), data) }
            }),
        };
        Ok(HANDLERS.add(task)?)
    }

    fn hsa_amd_async_function(function: Option<Action>, data: Data) {
        let function = function.ok_or(Status::InvalidArgument)?;
        let task = Task {
            ready: Box::new(|| true),
            act: Box::new(move || {
                let data: Data = data;
                // SAFETY: the function is C's caller's own, made for this argument and other threads.
                unsafe { function(data) };
                false
            }),
        };
        Ok(HANDLERS.add(task)?)
    }
}

values! {
    fn hsa_signal_wait_scacquire(signal: u64, condition: u32, compare: i64, timeout: u64, _state: u32) -> i64 {
        wait(signal, condition, compare, timeout)
    }

    fn hsa_signal_wait_relaxed(signal: u64, condition: u32, compare: i64, timeout: u64, _state: u32) -> i64 {
        wait(signal, condition, compare, timeout)
    }

    fn hsa_signal_wait_acquire(signal: u64, condition: u32, compare: i64, timeout: u64, _state: u32) -> i64 {
        wait(signal, condition, compare, timeout)
    }

    fn hsa_amd_signal_wait_any(
        count: u32, signals: List<u64>, conditions: List<u32>, compare: List<i64>, timeout: u64, _state: u32, value: Out<i64>,
    ) -> u32 {
        // No signal has this index: HSA's word for a timeout.
        let Some((index, met)) = wait_any(count, signals, conditions, compare, timeout)? else {
            return Ok(u32::MAX);
        };
        value.put_if(met);
        Ok(index as u32)
    }
}

/// Loads.
macro_rules! loads {
    ($($name:ident)*) => { values! { $(fn $name(signal: u64) -> i64 { Ok(Signal::of(signal)?.load()) })* } };
}

/// Changes that give nothing.
macro_rules! changes {
    ($($change:ident: $($name:ident)*;)*) => {
        values! { $($(fn $name(signal: u64, value: i64) -> () { Signal::of(signal)?.$change(value); Ok(()) })*)* }
    };
}

/// Changes that give the value before.
macro_rules! exchanges {
    ($($name:ident)*) => { values! { $(fn $name(signal: u64, value: i64) -> i64 { Ok(Signal::of(signal)?.exchange(value)) })* } };
}

macro_rules! compares {
    ($($name:ident)*) => {
        values! { $(fn $name(signal: u64, expected: i64, value: i64) -> i64 { Ok(Signal::of(signal)?.compare(expected, value)) })* }
    };
}

loads! { hsa_signal_load_relaxed hsa_signal_load_scacquire hsa_signal_load_acquire }

changes! {
    store: hsa_signal_store_relaxed hsa_signal_store_screlease hsa_signal_store_release;
    store_silently: hsa_signal_silent_store_relaxed hsa_signal_silent_store_screlease;
    add: hsa_signal_add_relaxed hsa_signal_add_scacquire hsa_signal_add_screlease hsa_signal_add_scacq_screl
        hsa_signal_add_acquire hsa_signal_add_release hsa_signal_add_acq_rel;
    subtract: hsa_signal_subtract_relaxed hsa_signal_subtract_scacquire hsa_signal_subtract_screlease
        hsa_signal_subtract_scacq_screl hsa_signal_subtract_acquire hsa_signal_subtract_release hsa_signal_subtract_acq_rel;
    and: hsa_signal_and_relaxed hsa_signal_and_scacquire hsa_signal_and_screlease hsa_signal_and_scacq_screl
        hsa_signal_and_acquire hsa_signal_and_release hsa_signal_and_acq_rel;
    or: hsa_signal_or_relaxed hsa_signal_or_scacquire hsa_signal_or_screlease hsa_signal_or_scacq_screl
        hsa_signal_or_acquire hsa_signal_or_release hsa_signal_or_acq_rel;
    xor: hsa_signal_xor_relaxed hsa_signal_xor_scacquire hsa_signal_xor_screlease hsa_signal_xor_scacq_screl
        hsa_signal_xor_acquire hsa_signal_xor_release hsa_signal_xor_acq_rel;
}

exchanges! {
    hsa_signal_exchange_relaxed hsa_signal_exchange_scacquire hsa_signal_exchange_screlease hsa_signal_exchange_scacq_screl
    hsa_signal_exchange_acquire hsa_signal_exchange_release hsa_signal_exchange_acq_rel
}

compares! {
    hsa_signal_cas_relaxed hsa_signal_cas_scacquire hsa_signal_cas_screlease hsa_signal_cas_scacq_screl
    hsa_signal_cas_acquire hsa_signal_cas_release hsa_signal_cas_acq_rel
}
