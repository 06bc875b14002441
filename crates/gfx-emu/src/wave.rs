//! The architectural state of one wavefront, and what a workgroup lends to its wavefronts.
//!
//! State only: [`crate::exec`] changes it, [`crate::launch`] sets it up. Registers hold bits; instructions decide what they
//! mean.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::cost::Tally;
use crate::exec::jit::Compiling;
use crate::flip::Flips;
use crate::memory::{Cursor, Memory, Window};
use crate::sanitize::Watch;

/// Scalar operand codes of the registers with a name (RDNA3 ISA, "Scalar operands").
pub(crate) mod reg {
    /// `vcc_lo`; `vcc_hi` follows.
    pub(crate) const VCC: usize = 106;
    /// `null`: reads as zero, writes are dropped.
    pub(crate) const NULL: usize = 124;
    /// Trap temporaries of RDNA4: the workgroup's id in y, and in z in the upper half.
    pub(crate) const TTMP7: usize = 115;
    /// The wave's number in its workgroup, in bits 29:25.
    pub(crate) const TTMP8: usize = 116;
    /// The workgroup's id in x.
    pub(crate) const TTMP9: usize = 117;
    /// `m0`.
    pub(crate) const M0: usize = 125;
    /// `exec_lo`; `exec_hi` follows.
    pub(crate) const EXEC: usize = 126;
}

/// Base of the flat address range that means "the workgroup's LDS" (`src_shared_base`).
pub(crate) const SHARED_BASE: u64 = 0x0001_0000_0000_0000;
/// Base of the flat address range that means "this lane's scratch" (`src_private_base`).
pub(crate) const PRIVATE_BASE: u64 = 0x0002_0000_0000_0000;
/// Where gfx1250's private memory begins (`src_flat_scratch_base`): each lane has a part of it, and compilers take an address for private that
/// differs below bit 58 alone.
pub(crate) const SCRATCH_BASE: u64 = 1 << 58;

/// The lanes of a vector register, placed so that no vector of the host's lies in two cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Row<const W: usize>(pub(crate) [u32; W]);

impl<const W: usize> Row<W> {
    /// Zero in every lane.
    pub(crate) const ZERO: Row<W> = Row([0; W]);
}

impl<const W: usize> Deref for Row<W> {
    type Target = [u32; W];

    #[inline(always)]
    fn deref(&self) -> &[u32; W] {
        &self.0
    }
}

impl<const W: usize> DerefMut for Row<W> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u32; W] {
        &mut self.0
    }
}

/// One wavefront of `W` lanes.
#[derive(Clone, Debug)]
pub(crate) struct Wave<const W: usize> {
    /// Vector registers, one row of `W` lanes a register.
    pub(crate) vgpr: Vec<Row<W>>,
    /// The vector registers from this one on are zero, because nothing wrote them.
    pub(crate) touched: u16,
    /// Scalar registers by operand code: `s0..=s105`, VCC, trap temporaries, NULL (stays zero), M0, EXEC.
    pub(crate) sgpr: [u32; 128],
    /// The scalar condition code.
    pub(crate) scc: bool,
    /// Index of the next instruction in its [`crate::isa::Program`].
    pub(crate) pc: usize,
    /// The MODE register: rounding in bits 3:0, denormals in 7:4, DX10_CLAMP bit 8, IEEE bit 9.
    pub(crate) mode: u32,
    /// Private memory: lane `i` owns bytes `i * scratch_size .. (i + 1) * scratch_size`.
    pub(crate) scratch: Vec<u8>,
    /// Private memory per lane, in bytes.
    pub(crate) scratch_size: usize,
    /// Sources put aside: `src0` of a DPP instruction after the lanes were shuffled, both of an SDWA instruction.
    pub(crate) staged: [Row<W>; 2],
    /// Sources that cannot be read directly from a vector register (scalars, constants, operands with modifiers),
    /// as rows: two for each of three sources.
    pub(crate) spare: [Row<W>; 6],
    /// Vector register numbers have M0 added, as its bits 15:12 say.
    pub(crate) indexed: bool,
    /// It is at a barrier whose other half it has not come to.
    pub(crate) signalled: bool,
    /// The allocations this wave used last.
    pub(crate) cursor: Cursor,
    /// How often the wave asked for the time: results must not depend on when they are computed, so a question is a tick.
    pub(crate) clock: u64,
    /// Lanes the current vector instruction may write: EXEC, less what DPP switched off.
    pub(crate) active: u64,
}

impl<const W: usize> Wave<W> {
    /// MODE as the hardware starts a compute wave whose kernel descriptor asks for the compiler's defaults:
    /// round to nearest even, denormals kept, DX10_CLAMP and IEEE on.
    pub(crate) const DEFAULT_MODE: u32 = 0x3f0;

    /// A wave with `vgprs` zeroed vector registers, every lane in EXEC, no scratch, at instruction 0.
    pub(crate) fn new(vgprs: usize) -> Self {
        let mut wave = Wave {
            vgpr: vec![Row::ZERO; vgprs],
            touched: 0,
            sgpr: [0; 128],
            scc: false,
            pc: 0,
            mode: Self::DEFAULT_MODE,
            scratch: Vec::new(),
            scratch_size: 0,
            staged: [Row::ZERO; 2],
            spare: [Row::ZERO; 6],
            indexed: false,
            signalled: false,
            cursor: Cursor::default(),
            clock: 0,
            active: 0,
        };
        wave.set_exec(Self::ALL);
        wave
    }

    /// Starts this wave anew as a copy of `other`, which has not begun and has as many registers, all zero. The memory of
    /// this wave is used again. The cursor is kept, because waves of one kernel find their allocations in the same places.
    /// The rows put aside are kept too, because each is written before it is read.
    pub(crate) fn restart_as(&mut self, other: &Self) {
        let Wave {
            vgpr: _,
            touched: _,
            sgpr,
            scc,
            pc,
            mode,
            scratch,
            scratch_size,
            staged: _,
            spare: _,
            indexed,
            signalled,
            cursor: _,
            clock,
            active,
        } = other;
        for row in self.vgpr.iter_mut().take(usize::from(self.touched)) {
            *row = Row::ZERO;
        }
        self.touched = 0;
        debug_assert!(
            self.is_clear_from_touched(),
            "registers that nobody touched are zero"
        );
        self.scratch.clone_from(scratch);
        (self.sgpr, self.scc, self.pc, self.mode) = (*sgpr, *scc, *pc, *mode);
        (self.scratch_size, self.indexed) = (*scratch_size, *indexed);
        (self.clock, self.active, self.signalled) = (*clock, *active, *signalled);
    }

    /// Whether the registers from [`Wave::touched`] on are zero, as they should be.
    pub(crate) fn is_clear_from_touched(&self) -> bool {
        let mut rows = self.vgpr.iter().skip(usize::from(self.touched));
        rows.all(|row| *row == Row::ZERO)
    }

    /// EXEC with every lane on.
    pub(crate) const ALL: u64 = if W >= 64 { u64::MAX } else { (1 << W) - 1 };

    /// Gives every lane `bytes` of private memory, zeroed, so that a run never depends on what ran before.
    pub(crate) fn set_scratch(&mut self, bytes: usize) {
        self.scratch_size = bytes;
        self.scratch = vec![0; bytes * W];
    }

    /// EXEC, one bit a lane.
    pub(crate) fn exec(&self) -> u64 {
        self.mask(reg::EXEC)
    }

    /// Sets EXEC; bits beyond the wave's width are dropped.
    pub(crate) fn set_exec(&mut self, mask: u64) {
        self.set_mask(reg::EXEC, mask);
    }

    /// A lane mask held in scalar register `n` (and `n + 1` when the wave has 64 lanes).
    #[inline(always)]
    pub(crate) fn mask(&self, n: usize) -> u64 {
        if W > 32 {
            self.sgpr64(n)
        } else {
            u64::from(self.sgpr[n & 127])
        }
    }

    /// Writes a lane mask to scalar register `n` (and `n + 1` when the wave has 64 lanes).
    #[inline(always)]
    pub(crate) fn set_mask(&mut self, n: usize, mask: u64) {
        if W > 32 {
            self.set_sgpr64(n, mask)
        } else {
            self.set_sgpr(n, mask as u32)
        }
    }

    /// The pair `n`, `n + 1` as one value.
    #[inline(always)]
    pub(crate) fn sgpr64(&self, n: usize) -> u64 {
        u64::from(self.sgpr[n & 127])
            | if n == reg::NULL {
                0
            } else {
                u64::from(self.sgpr[(n + 1) & 127]) << 32
            }
    }

    /// Writes one scalar register; NULL stays zero.
    #[inline(always)]
    pub(crate) fn set_sgpr(&mut self, n: usize, value: u32) {
        if n != reg::NULL {
            self.sgpr[n & 127] = value;
        }
    }

    /// Writes the pair `n`, `n + 1`; NULL stays zero.
    #[inline(always)]
    pub(crate) fn set_sgpr64(&mut self, n: usize, value: u64) {
        if n != reg::NULL {
            self.sgpr[n & 127] = value as u32;
            self.sgpr[(n + 1) & 127] = (value >> 32) as u32;
        }
    }
}

/// What the waves of one workgroup share while they run.
pub(crate) struct Group<'a> {
    /// The workgroup's local data share.
    pub(crate) lds: Vec<u8>,
    /// Whether a load of LDS that the workgroup does not have gives 0, and a store there is lost, as on a card; else it is a fault.
    pub(crate) lds_as_card: bool,
    /// Device memory.
    pub(crate) memory: &'a Memory,
    /// Guest address of the entry of the [`crate::isa::Program`]; `s_getpc_b64` answers with what lies from there.
    pub(crate) text_address: u64,
    /// The sanitizer, where it is on.
    pub(crate) watch: Option<Watch>,
    /// Whether the program's marks say what was executed.
    pub(crate) cover: bool,
    /// What the waves did so far, where it is counted.
    pub(crate) tally: Option<Box<Tally>>,
    /// The instructions whose results are flipped, where the program has some.
    pub(crate) flips: Option<Arc<Flips>>,
    /// The allocations that the instructions of compiled code went to, by [`crate::isa::Inst::place`].
    pub(crate) windows: Vec<Window<'a>>,
    /// Whether its program may be compiled.
    pub(crate) compiling: Compiling,
}

impl<'a> Group<'a> {
    /// A workgroup without LDS, which nobody watches.
    pub(crate) fn new(memory: &'a Memory, compiling: Compiling) -> Group<'a> {
        Group {
            lds: Vec::new(),
            lds_as_card: false,
            memory,
            text_address: 0,
            watch: None,
            cover: false,
            tally: None,
            flips: None,
            windows: Vec::new(),
            compiling,
        }
    }

    /// Whether what is executed is noted, counted or flipped.
    pub(crate) fn notes(&self) -> bool {
        self.cover || self.tally.is_some() || self.flips.is_some()
    }

    /// Whether one of the instructions from `index` on and before `end` is flipped.
    pub(crate) fn flips_within(&self, index: usize, end: usize) -> bool {
        self.flips.as_ref().is_some_and(|flips| flips.within(index, end))
    }
}

/// Why a wave handed control back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It waits at `s_barrier`; run it again once the others are there.
    Barrier,
    /// It executed `s_endpgm`.
    End,
}
