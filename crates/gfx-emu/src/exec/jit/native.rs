//! Machine code that was made here, as pages that may be executed, and the calls into it and out of it.
//!
//! The one file of this crate with unsafe code. A page is never writable and executable at once.
#![expect(
    unsafe_code,
    reason = "calling machine code that a program wrote is a promise about that code, which no compiler can check"
)]

use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};

use super::super::host::Host;
use super::super::{self as exec, NextPc, Trouble, table};
use super::Left;
use crate::fp::Mode;
use crate::isa::Program;
use crate::memory::{WINDOWS, Window};
use crate::wave::{Group, Wave, reg};

/// What compiled code knows of the wave. Its fields are found by their offsets.
#[repr(C)]
pub(super) struct NativeState {
    vgpr: *mut u32,
    sgpr: *mut u32,
    scc: *mut bool,
    lds: *mut u8,
    lds_bytes: u64,
    /// Allocations by the number of the instruction that goes there.
    windows: *mut Window<'static>,
    /// What is left of the watchdog's budget.
    left: u64,
    /// One more than the highest vector register that may have been written.
    touched: u32,
    /// Executes an instruction of the executor's table, by its index.
    table: Helper,
    /// Executes any other that goes on after itself; gives 0, or 1 on a fault.
    other: Helper,
    /// The frame of [`call`], as the helpers know it.
    frame: *mut c_void,
    /// Where host registers lie during a call whose caller goes on using them.
    saved: HostRegisters<24>,
    /// What an instruction puts aside on its way: a factor of a matrix product in single precision, the places of lanes.
    lines: HostRegisters<MOST_DEPTH>,
    /// The sums of one that has several tiles.
    sums: HostRegisters<{ 16 * MOST_TILES }>,
}

/// Room for so many host registers, none of which lies in two cache lines.
#[repr(C, align(64))]
struct HostRegisters<const N: usize>(MaybeUninit<[[u32; 16]; N]>);

/// Steps of a compiled matrix product, and tiles that it has.
pub(super) const MOST_DEPTH: usize = 32;
pub(super) const MOST_TILES: usize = 8;

/// A function that compiled code calls with its state and the index of an instruction.
type Helper = unsafe extern "sysv64" fn(*mut NativeState, u32) -> u32;

/// Offsets of [`NativeState`]'s fields.
pub(super) mod at {
    use super::{NativeState, Window, offset_of};

    pub(in super::super) const VGPR: i32 = offset_of!(NativeState, vgpr) as i32;
    pub(in super::super) const SGPR: i32 = offset_of!(NativeState, sgpr) as i32;
    pub(in super::super) const SCC: i32 = offset_of!(NativeState, scc) as i32;
    pub(in super::super) const LDS: i32 = offset_of!(NativeState, lds) as i32;
    pub(in super::super) const LDS_BYTES: i32 = offset_of!(NativeState, lds_bytes) as i32;
    pub(in super::super) const WINDOWS: i32 = offset_of!(NativeState, windows) as i32;
    /// Of a window: its size, and where its fields are.
    pub(in super::super) const WINDOW: i32 = size_of::<Window<'_>>() as i32;
    pub(in super::super) const WINDOW_BASE: i32 = offset_of!(Window<'_>, base) as i32;
    pub(in super::super) const WINDOW_BYTES: i32 = offset_of!(Window<'_>, bytes) as i32;
    pub(in super::super) const WINDOW_WORDS: i32 = offset_of!(Window<'_>, words) as i32;
    pub(in super::super) const LEFT: i32 = offset_of!(NativeState, left) as i32;
    pub(in super::super) const TOUCHED: i32 = offset_of!(NativeState, touched) as i32;
    pub(in super::super) const TABLE: i32 = offset_of!(NativeState, table) as i32;
    pub(in super::super) const OTHER: i32 = offset_of!(NativeState, other) as i32;
    pub(in super::super) const SAVED: i32 = offset_of!(NativeState, saved) as i32;
    pub(in super::super) const LINES: i32 = offset_of!(NativeState, lines) as i32;
    pub(in super::super) const SUMS: i32 = offset_of!(NativeState, sums) as i32;
}

/// The bit of compiled code's answer that says that its instruction failed.
pub(super) const FAULT: u64 = 1 << 32;

/// Compiled code of one program.
#[derive(Debug)]
pub(super) struct CompiledCode {
    pages: memmap2::Mmap,
}

impl CompiledCode {
    /// The code in pages of its own; `None` where the host does not give them.
    pub(super) fn new(bytes: &[u8]) -> Option<CompiledCode> {
        let mut pages = memmap2::MmapMut::map_anon(bytes.len()).ok()?;
        pages.copy_from_slice(bytes);
        Some(CompiledCode {
            pages: pages.make_exec().ok()?,
        })
    }
}

/// What the helpers need besides the state.
struct Frame<'a, 'g, H, const W: usize> {
    host: H,
    wave: *mut Wave<W>,
    group: *mut Group<'g>,
    program: &'a Program,
    mode: Mode,
    trouble: Option<Trouble>,
}

/// Executes one instruction of the table.
///
/// # Safety
/// `state` is the one that [`call`] gave to the code which calls this, with these `H` and `W`.
unsafe extern "sysv64" fn tabled<H: Host, const W: usize>(state: *mut NativeState, index: u32) -> u32 {
    // SAFETY: `call` made the frame, and is waiting for the code that called this. Nobody else uses the frame or the wave meanwhile.
    let (frame, wave) = unsafe {
        let frame = (*state).frame.cast::<Frame<'_, '_, H, W>>();
        let wave = (*frame).wave;
        (&*frame, &mut *wave)
    };
    if let Some(inst) = frame.program.insts().get(index as usize) {
        wave.active = wave.exec();
        table::execute(frame.host, wave, inst, frame.mode);
    }
    0
}

/// Executes one instruction that goes on after itself, or fails.
///
/// # Safety
/// As of [`tabled`].
unsafe extern "sysv64" fn any<H: Host, const W: usize>(state: *mut NativeState, index: u32) -> u32 {
    // SAFETY: as in `tabled`; the same goes for the group.
    let (frame, wave, group) = unsafe {
        let frame = (*state).frame.cast::<Frame<'_, '_, H, W>>();
        let (wave, group) = ((*frame).wave, (*frame).group);
        (&mut *frame, &mut *wave, &mut *group)
    };
    let insts = frame.program.insts();
    let Some(inst) = insts.get(index as usize) else {
        return 0;
    };
    match exec::execute(
        frame.host,
        wave,
        group,
        inst,
        insts.get(index as usize + 1),
        frame.mode,
    ) {
        Ok(NextPc::Next | NextPc::SkipOne | NextPc::Jump(_) | NextPc::Stop(_)) => {
            if inst.unit.reaches_memory()
                && let Some(window) = group.memory.window(&wave.cursor)
            {
                // The next one goes there without help.
                group.windows[usize::from(inst.place)] = window;
            }
            0
        }
        Err(trouble) => {
            frame.trouble = Some(trouble);
            1
        }
    }
}

/// What [`call`] needs to know: the place in the code, the mode, and what is left of the watchdog's budget.
pub(super) struct Entry<'a> {
    pub(super) code: &'a CompiledCode,
    /// Offset of an entry into the code, which [`super::compile`] made one.
    pub(super) place: u32,
    pub(super) mode: Mode,
    pub(super) left: &'a mut u64,
    /// One more than the highest vector register that the wave may have written.
    pub(super) touched: &'a mut u16,
}

/// Runs compiled code, which is `program`'s for waves of `W` lanes.
pub(super) fn call<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    program: &Program,
    entry: Entry<'_>,
) -> Left {
    assert!(
        program.lanes() == W && program.registers() <= wave.vgpr.len() && reg::EXEC + 1 < wave.sgpr.len(),
        "the code names registers that the wave has"
    );
    group.windows.resize(WINDOWS, Window::NONE);
    let (lds, lds_bytes) = (group.lds.as_mut_ptr(), group.lds.len() as u64);
    let windows = group.windows.as_mut_ptr().cast();
    let wave: *mut Wave<W> = wave;
    let mut frame = Frame {
        host,
        wave,
        group,
        program,
        mode: entry.mode,
        trouble: None,
    };
    // SAFETY: the wave is borrowed for this whole call, and used through this pointer alone.
    let (vgpr, sgpr, scc) = unsafe {
        (
            (*wave).vgpr.as_mut_ptr().cast(),
            (&raw mut (*wave).sgpr).cast(),
            &raw mut (*wave).scc,
        )
    };
    let mut state = NativeState {
        vgpr,
        sgpr,
        scc,
        lds,
        lds_bytes,
        windows,
        left: *entry.left,
        touched: u32::from(*entry.touched),
        table: tabled::<H, W>,
        other: any::<H, W>,
        frame: (&raw mut frame).cast(),
        saved: HostRegisters(MaybeUninit::uninit()),
        lines: HostRegisters(MaybeUninit::uninit()),
        sums: HostRegisters(MaybeUninit::uninit()),
    };
    let start = entry.code.pages.as_ptr();
    // SAFETY: what `super::compile` wrote begins with a function of this signature, and the pages stay mapped while they are borrowed.
    let run: unsafe extern "sysv64" fn(*mut NativeState, *const u8) -> u64 =
        unsafe { std::mem::transmute(start) };
    // SAFETY: the code goes to rows of registers that the program names, to the 128 scalar registers, to SCC, to the state, and, after a
    // comparison with their bounds, to LDS and to allocations of the group's memory, as dwords that others may change meanwhile. All of
    // them live until it comes back, and no helper moves them. It comes back from every path, and keeps the registers that a function has to keep.
    let answer = unsafe { run(&raw mut state, start.add(entry.place as usize)) };
    (*entry.left, *entry.touched) = (state.left, state.touched as u16);
    let pc = answer as u32 as usize;
    match frame.trouble.take() {
        Some(trouble) if answer & FAULT != 0 => Left::Failed(pc, trouble),
        _ => Left::At(pc),
    }
}
