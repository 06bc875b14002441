//! Copies and fills.

use core::ffi::{c_int, c_uchar, c_uint, c_ushort, c_void};

use gfx_emu::Access;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{hip_Memcpy2D, hipMemcpy3DParms, hipMemcpyKind};

use super::{In, Plain, address, calls};
use crate::error::{INVALID_VALUE, NOT_SUPPORTED, Result};
use crate::work::{Fill, Rows, Side, Transfer, Work};
use crate::{memory, module, stream};

/// When a call returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Once it is done.
    Done,
    /// Once it is submitted to a stream, or done, where the stream's thread cannot read or write the program's memory behind its back.
    Submitted(usize),
}

/// Checks both sides of a copy and submits it.
fn copy(transfer: Transfer, kind: hipMemcpyKind, when: When) -> Result {
    if kind > hip::hipMemcpyKind_hipMemcpyDefault && kind != hip::hipMemcpyKind_hipMemcpyDeviceToDeviceNoCU {
        return Err(hip::hipError_t_hipErrorInvalidMemcpyDirection);
    }
    let Rows { width, height, depth } = transfer.rows;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    for (side, access) in [(transfer.to, Access::Store), (transfer.from, Access::Load)] {
        let many = height > 1 || depth > 1;
        if many && side.pitch < width {
            return Err(hip::hipError_t_hipErrorInvalidPitchValue);
        }
        let last = side
            .pitch
            .saturating_mul((depth - 1).saturating_mul(side.rows).saturating_add(height - 1));
        memory::check(side.address, last.saturating_add(width), access)?;
    }
    let pageable = memory::is_pageable(transfer.to.address)? || memory::is_pageable(transfer.from.address)?;
    match when {
        When::Done => stream::get(0)?.now(Work::Copy(transfer)),
        // The program may change or free what it alone knows of once the call returns.
        When::Submitted(stream) if pageable => stream::get(stream)?.now(Work::Copy(transfer)),
        When::Submitted(stream) => stream::get(stream)?.submit(Work::Copy(transfer)),
    }
}

fn flat(to: *mut c_void, from: *const c_void, bytes: usize) -> Transfer {
    Transfer {
        to: Side::flat(address(to)),
        from: Side::flat(address(from)),
        rows: Rows::line(bytes as u64),
    }
}

fn rows(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
) -> Transfer {
    let side = |address: u64, pitch: usize| Side {
        address,
        pitch: pitch as u64,
        rows: height as u64,
    };
    Transfer {
        to: side(address(to), to_pitch),
        from: side(address(from), from_pitch),
        rows: Rows {
            width: width as u64,
            height: height as u64,
            depth: 1,
        },
    }
}

const DEFAULT: hipMemcpyKind = hip::hipMemcpyKind_hipMemcpyDefault;

/// A part of the variable that the host knows by an address.
pub(super) fn part(host: *const c_void, offset: usize, bytes: usize) -> Result<*mut c_void> {
    let (start, size) = module::variable(host.addr())?;
    let end = offset.checked_add(bytes).ok_or(INVALID_VALUE)?;
    if end as u64 > size {
        return Err(INVALID_VALUE);
    }
    Ok(super::pointer(start + offset as u64))
}

/// A copy whose sides are arrays is not offered.
fn volume(asked: In<hipMemcpy3DParms>) -> Result<(Transfer, hipMemcpyKind)> {
    let asked = asked.get()?;
    if !asked.srcArray.is_null() || !asked.dstArray.is_null() {
        return Err(NOT_SUPPORTED);
    }
    let side = |pitched: hip::hipPitchedPtr, at: hip::hipPos| {
        let (pitch, rows) = (pitched.pitch as u64, pitched.ysize as u64);
        let offset = (at.z as u64).wrapping_mul(rows).wrapping_add(at.y as u64);
        Side {
            address: address(pitched.ptr)
                .wrapping_add(offset.wrapping_mul(pitch))
                .wrapping_add(at.x as u64),
            pitch,
            rows,
        }
    };
    let hip::hipExtent { width, height, depth } = asked.extent;
    let transfer = Transfer {
        to: side(asked.dstPtr, asked.dstPos),
        from: side(asked.srcPtr, asked.srcPos),
        rows: Rows {
            width: width as u64,
            height: height as u64,
            depth: depth as u64,
        },
    };
    Ok((transfer, asked.kind))
}

/// The driver's form of a copy of rows.
fn parameters(asked: In<hip_Memcpy2D>) -> Result<Transfer> {
    let asked = asked.get()?;
    let array = hip::hipMemoryType_hipMemoryTypeArray;
    if asked.srcMemoryType == array || asked.dstMemoryType == array {
        return Err(NOT_SUPPORTED);
    }
    let host = hip::hipMemoryType_hipMemoryTypeHost;
    let to = if asked.dstMemoryType == host {
        address(asked.dstHost)
    } else {
        address(asked.dstDevice)
    };
    let from = if asked.srcMemoryType == host {
        address(asked.srcHost)
    } else {
        address(asked.srcDevice)
    };
    let side = |start: u64, pitch: usize, x: usize, y: usize| Side {
        address: start
            .wrapping_add((pitch as u64).wrapping_mul(y as u64))
            .wrapping_add(x as u64),
        pitch: pitch as u64,
        rows: asked.Height as u64,
    };
    Ok(Transfer {
        to: side(to, asked.dstPitch, asked.dstXInBytes, asked.dstY),
        from: side(from, asked.srcPitch, asked.srcXInBytes, asked.srcY),
        rows: Rows {
            width: asked.WidthInBytes as u64,
            height: asked.Height as u64,
            depth: 1,
        },
    })
}

/// Checks a fill and submits it.
pub(super) fn checked(fill: Fill) -> Result<Option<Work>> {
    let Rows { width, height, depth } = fill.rows;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(None);
    }
    if height > 1 && fill.to.pitch < width {
        return Err(hip::hipError_t_hipErrorInvalidPitchValue);
    }
    let last = fill.to.pitch.saturating_mul(
        (depth - 1)
            .saturating_mul(fill.to.rows)
            .saturating_add(height - 1),
    );
    memory::check(fill.to.address, last.saturating_add(width), Access::Store)?;
    if memory::is_pageable(fill.to.address)? {
        return Err(INVALID_VALUE);
    }
    Ok(Some(Work::Fill(fill)))
}

fn fill(to: *mut c_void, pattern: u32, size: u32, count: usize, when: When) -> Result {
    let width = (count as u64).checked_mul(u64::from(size)).ok_or(INVALID_VALUE)?;
    submit(
        Fill {
            to: Side::flat(address(to)),
            pattern,
            size,
            rows: Rows::line(width),
        },
        when,
    )
}

fn submit(fill: Fill, when: When) -> Result {
    let Some(work) = checked(fill)? else { return Ok(()) };
    match when {
        When::Done => stream::get(0)?.now(work),
        When::Submitted(stream) => stream::get(stream)?.submit(work),
    }
}

fn fill_rows(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) -> Fill {
    Fill {
        to: Side {
            address: address(to),
            pitch: pitch as u64,
            rows: height as u64,
        },
        pattern: value.cast_unsigned(),
        size: 1,
        rows: Rows {
            width: width as u64,
            height: height as u64,
            depth: 1,
        },
    }
}

/// A fill of a volume.
fn fill_volume(to: hip::hipPitchedPtr, value: c_int, extent: hip::hipExtent) -> Fill {
    Fill {
        to: Side {
            address: address(to.ptr),
            pitch: to.pitch as u64,
            rows: to.ysize as u64,
        },
        pattern: value.cast_unsigned(),
        size: 1,
        rows: Rows {
            width: extent.width as u64,
            height: extent.height as u64,
            depth: extent.depth as u64,
        },
    }
}

/// The work of a copy that is a node of a graph.
pub(super) fn of_node(to: *mut c_void, from: *const c_void, bytes: usize) -> Result<Work> {
    if to.is_null() || from.is_null() || bytes == 0 {
        return Err(INVALID_VALUE);
    }
    memory::check(address(to), bytes as u64, Access::Store)?;
    memory::check(address(from), bytes as u64, Access::Load)?;
    Ok(Work::Copy(flat(to, from, bytes)))
}

/// The same of a volume.
pub(super) fn volume_of_node(asked: In<hipMemcpy3DParms>) -> Result<Work> {
    Ok(Work::Copy(volume(asked)?.0))
}

/// What a copy's node was given.
pub(super) fn node_of(transfer: &Transfer) -> hipMemcpy3DParms {
    let side = |side: Side| hip::hipPitchedPtr {
        ptr: super::pointer(side.address),
        pitch: side.pitch as usize,
        xsize: transfer.rows.width as usize,
        ysize: side.rows as usize,
    };
    let mut asked = hipMemcpy3DParms::zero();
    asked.srcPtr = side(transfer.from);
    asked.dstPtr = side(transfer.to);
    asked.extent = hip::hipExtent {
        width: transfer.rows.width as usize,
        height: transfer.rows.height as usize,
        depth: transfer.rows.depth as usize,
    };
    asked.kind = DEFAULT;
    asked
}

/// What a fill's node was given.
pub(super) fn fill_node_of(fill: &Fill) -> hip::hipMemsetParams {
    hip::hipMemsetParams {
        dst: super::pointer(fill.to.address),
        elementSize: fill.size,
        height: fill.rows.height as usize,
        pitch: fill.to.pitch as usize,
        value: fill.pattern,
        width: (fill.rows.width / u64::from(fill.size)) as usize,
    }
}

calls! {
    fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: hipMemcpyKind) {
        copy(flat(to, from, bytes), kind, When::Done)
    }

    fn hipMemcpyWithStream(to: *mut c_void, from: *const c_void, bytes: usize, kind: hipMemcpyKind, stream: usize) {
        stream::get(stream)?;
        copy(flat(to, from, bytes), kind, When::Done)
    }

    fn hipMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: hipMemcpyKind, stream: usize) {
        copy(flat(to, from, bytes), kind, When::Submitted(stream))
    }

    fn hipMemcpyHtoD(to: *mut c_void, from: *const c_void, bytes: usize) {
        copy(flat(to, from, bytes), DEFAULT, When::Done)
    }

    fn hipMemcpyHtoDAsync(to: *mut c_void, from: *const c_void, bytes: usize, stream: usize) {
        copy(flat(to, from, bytes), DEFAULT, When::Submitted(stream))
    }

    fn hipMemcpyDtoH(to: *mut c_void, from: *mut c_void, bytes: usize) {
        copy(flat(to, from, bytes), DEFAULT, When::Done)
    }

    fn hipMemcpyDtoHAsync(to: *mut c_void, from: *mut c_void, bytes: usize, stream: usize) {
        copy(flat(to, from, bytes), DEFAULT, When::Submitted(stream))
    }

    fn hipMemcpyDtoD(to: *mut c_void, from: *mut c_void, bytes: usize) {
        copy(flat(to, from, bytes), DEFAULT, When::Done)
    }

    fn hipMemcpyDtoDAsync(to: *mut c_void, from: *mut c_void, bytes: usize, stream: usize) {
        copy(flat(to, from, bytes), DEFAULT, When::Submitted(stream))
    }

    fn hipMemcpyPeer(to: *mut c_void, to_card: c_int, from: *const c_void, from_card: c_int, bytes: usize) {
        crate::device::at(to_card)?;
        crate::device::at(from_card)?;
        copy(flat(to, from, bytes), DEFAULT, When::Done)
    }

    fn hipMemcpyPeerAsync(to: *mut c_void, to_card: c_int, from: *const c_void, from_card: c_int, bytes: usize, stream: usize) {
        crate::device::at(to_card)?;
        crate::device::at(from_card)?;
        copy(flat(to, from, bytes), DEFAULT, When::Submitted(stream))
    }

    fn hipMemcpy2D(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: hipMemcpyKind,
    ) {
        copy(rows(to, to_pitch, from, from_pitch, width, height), kind, When::Done)
    }

    fn hipMemcpy2DAsync(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: hipMemcpyKind,
        stream: usize,
    ) {
        copy(rows(to, to_pitch, from, from_pitch, width, height), kind, When::Submitted(stream))
    }

    fn hipMemcpyParam2D(asked: In<hip_Memcpy2D>) {
        copy(parameters(asked)?, DEFAULT, When::Done)
    }

    fn hipMemcpyParam2DAsync(asked: In<hip_Memcpy2D>, stream: usize) {
        copy(parameters(asked)?, DEFAULT, When::Submitted(stream))
    }

    fn hipMemcpy3D(asked: In<hipMemcpy3DParms>) {
        let (transfer, kind) = volume(asked)?;
        copy(transfer, kind, When::Done)
    }

    fn hipMemcpy3DAsync(asked: In<hipMemcpy3DParms>, stream: usize) {
        let (transfer, kind) = volume(asked)?;
        copy(transfer, kind, When::Submitted(stream))
    }

    fn hipMemcpyToSymbol(host: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: hipMemcpyKind) {
        copy(flat(part(host, offset, bytes)?, from, bytes), kind, When::Done)
    }

    fn hipMemcpyToSymbolAsync(
        host: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: hipMemcpyKind, stream: usize,
    ) {
        copy(flat(part(host, offset, bytes)?, from, bytes), kind, When::Submitted(stream))
    }

    fn hipMemcpyFromSymbol(to: *mut c_void, host: *const c_void, bytes: usize, offset: usize, kind: hipMemcpyKind) {
        copy(flat(to, part(host, offset, bytes)?, bytes), kind, When::Done)
    }

    fn hipMemcpyFromSymbolAsync(
        to: *mut c_void, host: *const c_void, bytes: usize, offset: usize, kind: hipMemcpyKind, stream: usize,
    ) {
        copy(flat(to, part(host, offset, bytes)?, bytes), kind, When::Submitted(stream))
    }

    fn hipMemset(to: *mut c_void, value: c_int, bytes: usize) {
        fill(to, value.cast_unsigned(), 1, bytes, When::Done)
    }

    fn hipMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: usize) {
        fill(to, value.cast_unsigned(), 1, bytes, When::Submitted(stream))
    }

    fn hipMemsetD8(to: *mut c_void, value: c_uchar, count: usize) {
        fill(to, u32::from(value), 1, count, When::Done)
    }

    fn hipMemsetD8Async(to: *mut c_void, value: c_uchar, count: usize, stream: usize) {
        fill(to, u32::from(value), 1, count, When::Submitted(stream))
    }

    fn hipMemsetD16(to: *mut c_void, value: c_ushort, count: usize) {
        fill(to, u32::from(value), 2, count, When::Done)
    }

    fn hipMemsetD16Async(to: *mut c_void, value: c_ushort, count: usize, stream: usize) {
        fill(to, u32::from(value), 2, count, When::Submitted(stream))
    }

    fn hipMemsetD32(to: *mut c_void, value: c_int, count: usize) {
        fill(to, value.cast_unsigned(), 4, count, When::Done)
    }

    fn hipMemsetD32Async(to: *mut c_void, value: c_int, count: usize, stream: usize) {
        fill(to, value.cast_unsigned(), 4, count, When::Submitted(stream))
    }

    fn hipMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        submit(fill_rows(to, pitch, value, width, height), When::Done)
    }

    fn hipMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: usize) {
        submit(fill_rows(to, pitch, value, width, height), When::Submitted(stream))
    }

    fn hipMemset3D(to: hip::hipPitchedPtr, value: c_int, extent: hip::hipExtent) {
        submit(fill_volume(to, value, extent), When::Done)
    }

    fn hipMemset3DAsync(to: hip::hipPitchedPtr, value: c_int, extent: hip::hipExtent, stream: usize) {
        submit(fill_volume(to, value, extent), When::Submitted(stream))
    }
}

/// The work of a fill that is a node of a graph.
pub(super) fn fill_of_node(asked: In<hip::hipMemsetParams>) -> Result<Work> {
    let asked = asked.get()?;
    let size: c_uint = asked.elementSize;
    if !matches!(size, 1 | 2 | 4) {
        return Err(INVALID_VALUE);
    }
    let fill = Fill {
        to: Side {
            address: address(asked.dst),
            pitch: asked.pitch as u64,
            rows: asked.height as u64,
        },
        pattern: asked.value,
        size,
        rows: Rows {
            width: (asked.width as u64).saturating_mul(u64::from(size)),
            height: asked.height as u64,
            depth: 1,
        },
    };
    checked(fill)?.ok_or(INVALID_VALUE)
}
