//! Starts the waves of a kernel as the hardware does and runs them workgroup by workgroup.
//!
//! Initial registers, barriers, limits. What a launch puts into device memory before it starts is in slot.rs, what an
//! instruction does in [`crate::exec`]. Sources: LLVM, "User Guide for AMDGPU Backend", sections "Initial
//! Kernel Execution State" and "Code Object V5 Metadata"; HSA Runtime Specification, "Kernel dispatch
//! packet".

mod check;
mod error;
mod limits;
mod options;
mod packet;
mod shape;
mod slot;
mod trace;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use code_object::{KernelDescriptor, UserSgpr};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::code::{CodeObject, Kernel, Placement};
use crate::cost::{Counters, Tally, Total};
use crate::exec;
use crate::fault::{Fault, FaultKind};
use crate::flip::Flips;
use crate::isa::{Isa, Program};
use crate::memory::{KERNARG_AT, Memory, SLOT_BYTES, Slot, Window};
use crate::sanitize::{self, Arguments, GridStores, Watch};
use crate::wave::{Group, PRIVATE_BASE, Stop, Wave, reg};
use check::{check, check_kernel, check_sizes};
use shape::GroupShape;

pub use error::LaunchError;
pub use limits::Limits;
pub use options::{LaunchOptions, TimeLimit};
pub use packet::{Packet, launch_packet};
pub use trace::{Step, Trace, trace};

/// Private memory for what a stack grows by, in bytes: recursion, and calls through pointers.
const DYNAMIC_STACK: u32 = 16 << 10;

/// Instructions that a wave executes between two looks at the clock, where a launch has a time limit: a few milliseconds.
const SLICE: u64 = 1 << 16;

/// One kernel launch.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Where its code object lies in device memory.
    pub placement: Placement,
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// LDS bytes of a workgroup beyond what the kernel declares.
    pub dynamic_lds: u32,
    /// The explicit arguments, each at its offset. Hidden arguments are filled in by [`launch`].
    pub kernarg: &'a [u8],
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchStats {
    /// Waves that ran.
    pub waves: u64,
    /// Instructions they executed.
    pub instructions: u64,
    /// What they did, where it was asked for.
    pub counters: Option<Counters>,
}

/// Runs a kernel to its end. Device memory then holds its results; after a fault it holds whatever had been
/// written.
///
/// Workgroups run on rayon's current thread pool, the waves of one workgroup in turns from barrier to
/// barrier.
pub fn launch(
    code: &CodeObject,
    dispatch: &Dispatch<'_>,
    memory: &Memory,
    options: &LaunchOptions,
) -> Result<LaunchStats, LaunchError> {
    let kernel = dispatch.kernel;
    check(code.target(), dispatch)?;
    // Before its packet and arguments are written.
    decoded(code, kernel)?;
    let slot = memory.slot().ok_or_else(|| LaunchError::Busy {
        kernel: kernel.name.clone(),
    })?;
    slot::write(dispatch, memory, &slot);
    execute(code, dispatch, &Setup::of_slot(dispatch, &slot), memory, options)
}

/// Runs all workgroups of a launch that was checked.
fn execute(
    code: &CodeObject,
    dispatch: &Dispatch<'_>,
    setup: &Setup,
    memory: &Memory,
    options: &LaunchOptions,
) -> Result<LaunchStats, LaunchError> {
    let kernel = dispatch.kernel;
    let program = decoded(code, kernel)?;
    if !options.sanitize {
        memory.trust();
    }
    let result = match kernel.descriptor.wavefront_size() {
        32 => Launch::<32>::new(dispatch, setup, program, memory, options).all(),
        _ => Launch::<64>::new(dispatch, setup, program, memory, options).all(),
    };
    result.map_err(|error| located(error, code, kernel))
}

/// The kernel's instructions, with registers that it declares, in a mode that is modelled for each of them.
fn decoded<'a>(code: &CodeObject, kernel: &'a Kernel) -> Result<&'a Program, LaunchError> {
    let decoded = code.program(kernel);
    let program = decoded.map_err(|source| LaunchError::Decode {
        kernel: kernel.name.clone(),
        source: source.clone(),
    })?;
    let refused = || exec::refused_mode(kernel.descriptor.mode(), program);
    match undeclared(kernel, program).or_else(refused) {
        None => Ok(program),
        Some(what) => Err(LaunchError::Unsupported {
            kernel: kernel.name.clone(),
            what,
        }),
    }
}

/// What a launch finds in device memory, and what its packet says beyond the [`Dispatch`].
struct Setup {
    /// Guest address of the dispatch packet.
    packet: u64,
    /// Guest address of the kernarg segment.
    kernarg: u64,
    /// Work-items of the grid in x, y, z: the last workgroups of a dimension may be smaller than the others.
    items: [u32; 3],
    /// Private memory of a work-item, in bytes.
    scratch: u32,
    arguments: Arguments,
}

impl Setup {
    /// Of a launch whose packet and arguments are in a slot.
    fn of_slot(dispatch: &Dispatch<'_>, slot: &Slot<'_>) -> Setup {
        let kernarg = slot.address + KERNARG_AT as u64;
        Setup {
            packet: slot.address,
            kernarg,
            items: std::array::from_fn(|dim| dispatch.grid[dim].saturating_mul(dispatch.block[dim])),
            scratch: private_size(&dispatch.kernel.descriptor),
            arguments: Arguments {
                slot: slot.address,
                room: SLOT_BYTES as u64,
                packet: slot::PACKET_BYTES as u64,
                base: kernarg,
                size: u64::from(dispatch.kernel.kernarg_size),
            },
        }
    }
}

/// The error with the source line of its fault.
fn located(error: LaunchError, code: &CodeObject, kernel: &Kernel) -> LaunchError {
    match error {
        LaunchError::Fault(mut fault) => {
            fault.source = code.source_line(kernel, fault.pc);
            LaunchError::Fault(fault)
        }
        other => other,
    }
}

/// The registers the code names and the descriptor does not declare.
fn undeclared(kernel: &Kernel, program: &Program) -> Option<String> {
    let (vector, accumulation) = registers(program.isa(), &kernel.descriptor);
    let beyond = |name, named, declared| {
        (named > declared).then(|| format!("{name}{}, but declares {declared}", named - 1))
    };
    let (vgprs, agprs) = program.declared();
    beyond("v", vgprs, vector).or_else(|| beyond("a", agprs, accumulation))
}

/// The vector registers of a wave, and the accumulation registers after them.
fn registers(isa: Isa, descriptor: &KernelDescriptor) -> (usize, usize) {
    let all = isa.vgpr_block(descriptor.wavefront_size()) * descriptor.vgpr_blocks();
    if !isa.has_accumulation() {
        return (all, 0);
    }
    let vector = descriptor.accumulation_offset().min(all);
    (vector, all - vector)
}

/// Private memory of a work-item, in bytes. A stack that grows at run time gets as much again as the runtime of the cards
/// gives it.
fn private_size(descriptor: &KernelDescriptor) -> u32 {
    let stack = if descriptor.uses_dynamic_stack() {
        DYNAMIC_STACK
    } else {
        0
    };
    descriptor.private_segment_size.saturating_add(stack)
}

/// How far a wave got: what stopped it, or the fault, its place and lane.
type Advanced = Result<Stop, (usize, Option<usize>, FaultKind)>;

/// The waves and the LDS of a workgroup that ran, for the next one to run in.
struct WorkgroupState<'a, const W: usize> {
    /// Each with the instructions left to it, and with what stopped it.
    waves: Vec<(Wave<W>, u64, Stop)>,
    lds: Vec<u8>,
    windows: Vec<Window<'a>>,
}

impl<const W: usize> Default for WorkgroupState<'_, W> {
    fn default() -> Self {
        WorkgroupState {
            waves: Vec::new(),
            lds: Vec::new(),
            windows: Vec::new(),
        }
    }
}

/// One launch, checked and set up.
struct Launch<'a, const W: usize> {
    dispatch: &'a Dispatch<'a>,
    program: &'a Program,
    memory: &'a Memory,
    options: &'a LaunchOptions,
    /// The limit of time, and when it is reached by its clock.
    deadline: Option<(TimeLimit, u64)>,
    arguments: Arguments,
    /// What the workgroups stored, for the sanitizer.
    stored: GridStores,
    /// What the workgroups did, where it is counted.
    total: Option<Total>,
    /// The instructions whose results are flipped, where the kernel has some.
    flips: Option<Arc<Flips>>,
    /// A workgroup that is not at the grid's end.
    full: GroupShape<W>,
    /// Work-items of the last workgroup in x, y, z.
    last: [u32; 3],
    lds: usize,
    /// What every wave starts with; workgroup ids are written into it at `workgroup_ids`.
    first: Wave<W>,
    /// SGPR of each workgroup id, as far as the kernel asks for it.
    workgroup_ids: [Option<usize>; 3],
}

impl<'a, const W: usize> Launch<'a, W> {
    fn new(
        dispatch: &'a Dispatch<'a>,
        setup: &Setup,
        program: &'a Program,
        memory: &'a Memory,
        options: &'a LaunchOptions,
    ) -> Self {
        let descriptor = &dispatch.kernel.descriptor;
        let registers = registers(program.isa(), descriptor).0.max(program.registers());
        let mut first = Wave::new(registers);
        first.pc = program.start();
        first.mode = program.isa().mode(descriptor.mode());
        first.set_scratch(setup.scratch as usize);
        let mut next = 0;
        for register in descriptor.user_sgprs() {
            let value = match register {
                UserSgpr::DispatchPtr => setup.packet,
                UserSgpr::KernargSegmentPtr => setup.kernarg,
                UserSgpr::PrivateSegmentSize => u64::from(setup.scratch),
                // The descriptor of private memory is known by its base; waves lie in it at offset 0.
                UserSgpr::PrivateSegmentBuffer => PRIVATE_BASE,
                // Queue and dispatch id: there is no queue. The others are refused in `unsupported`.
                _ => 0,
            };
            first.set_sgpr(next, value as u32);
            if register.registers() > 1 {
                first.set_sgpr(next + 1, (value >> 32) as u32);
            }
            next += register.registers();
        }
        for dword in descriptor.kernarg_preload() {
            let mut bytes = [0; 4];
            let address = setup.kernarg + 4 * dword as u64;
            let read = memory.read(address, &mut bytes);
            debug_assert!(read.is_ok(), "arguments are in the kernarg segment");
            first.set_sgpr(next, u32::from_le_bytes(bytes));
            next += 1;
        }
        let mut next = descriptor.user_sgpr_count();
        let in_sgprs = !program.isa().is_gfx12();
        let workgroup_ids = descriptor.workgroup_id_enabled().map(|enabled| {
            let enabled = enabled && in_sgprs;
            let register = next;
            next += usize::from(enabled);
            enabled.then_some(register)
        });
        let lds = (descriptor.group_segment_size + dispatch.dynamic_lds) as usize;
        Launch {
            dispatch,
            program,
            memory,
            options,
            deadline: options
                .max_time
                .map(|time| (time, (time.clock)().saturating_add(time.limit))),
            arguments: setup.arguments,
            stored: GridStores::default(),
            total: (options.count && !options.sanitize).then(Total::default),
            flips: options
                .flip
                .filter(|_| !options.sanitize)
                .and_then(|flip| Flips::of(flip, program))
                .map(Arc::new),
            full: GroupShape::new(dispatch.block),
            last: shape::last(setup.items, dispatch.block),
            lds,
            first,
            workgroup_ids,
        }
    }

    /// Waves of a workgroup that is not at the grid's end.
    fn waves(&self) -> usize {
        self.full.waves()
    }

    /// The work-items of one workgroup.
    fn shape(&self, id: [u32; 3]) -> Cow<'_, GroupShape<W>> {
        let block = shape::block(self.dispatch, self.last, id);
        if block == self.dispatch.block {
            Cow::Borrowed(&self.full)
        } else {
            Cow::Owned(GroupShape::new(block))
        }
    }

    /// Runs all workgroups.
    fn all(self) -> Result<LaunchStats, LaunchError> {
        let groups = self.dispatch.grid.map(u64::from).iter().product::<u64>();
        let instructions = AtomicU64::new(0);
        let workgroup = |state: &mut WorkgroupState<'a, W>, index: u64| {
            self.workgroup(state, self.workgroup_id(index))
                .map(|executed| instructions.fetch_add(executed, Relaxed))
                .err()
        };
        let fault = if groups == 1 || self.options.sanitize {
            // One after the other: the sanitizer compares each workgroup with those before it.
            let mut state = WorkgroupState::default();
            (0..groups).find_map(|index| workgroup(&mut state, index))
        } else {
            // The first in grid order, not in time: the report must not depend on the number of threads.
            let faults = (0..groups)
                .into_par_iter()
                .map_init(WorkgroupState::default, workgroup);
            faults.find_map_first(|fault| fault)
        };
        match fault {
            Some(fault) => Err(LaunchError::Fault(fault)),
            None => Ok(LaunchStats {
                waves: groups * self.waves() as u64,
                instructions: instructions.into_inner(),
                counters: self.total.map(Total::counters),
            }),
        }
    }

    fn workgroup_id(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.dispatch.grid.map(u64::from);
        [index % x, index / x % y, index / x / y].map(|id| id as u32)
    }

    /// Makes a wave number `index` of a workgroup, before its first instruction.
    fn enlist(&self, wave: &mut Wave<W>, shape: &GroupShape<W>, group: [u32; 3], index: usize) {
        wave.restart_as(&self.first);
        if self.program.isa().is_gfx12() {
            wave.set_sgpr(reg::TTMP9, group[0]);
            wave.set_sgpr(reg::TTMP8, (index as u32 & 31) << 25);
            wave.set_sgpr(reg::TTMP7, group[1] & 0xffff | group[2] << 16);
        }
        for (id, register) in group.into_iter().zip(self.workgroup_ids) {
            if let Some(register) = register {
                wave.set_sgpr(register, id);
            }
        }
        let items = (shape.items - index * W).min(W);
        wave.set_exec(Wave::<W>::ALL >> (W - items));
        let ids = &shape.ids[index];
        if self.program.isa() == Isa::Rdna2 {
            // Each id that the kernel asks for has a register.
            let asked = self.dispatch.kernel.descriptor.work_item_ids();
            for (i, row) in wave.vgpr.iter_mut().take(asked).enumerate() {
                row.0 = ids.map(|id| id >> (10 * i) & 0x3ff);
            }
            wave.touched = asked as u16;
        } else {
            wave.vgpr[0].0 = *ids;
            wave.touched = 1;
        }
    }

    /// Runs one workgroup; gives the number of instructions executed.
    fn workgroup(&self, state: &mut WorkgroupState<'a, W>, id: [u32; 3]) -> Result<u64, Box<Fault>> {
        let watched = if self.options.sanitize { self.waves() } else { 0 };
        let mut doubles = vec![None; watched];
        self.schedule(state, id, |index, wave, group, budget| {
            self.advance(doubles.get_mut(index), wave, group, budget)
        })
    }

    /// Runs a wave to its next barrier or its end, or until the launch's time is over.
    fn advance(
        &self,
        mut double: Option<&mut Option<Wave<W>>>,
        wave: &mut Wave<W>,
        group: &mut Group<'_>,
        budget: &mut u64,
    ) -> Advanced {
        let Some((time, deadline)) = self.deadline else {
            return self.advance_within(double, wave, group, budget);
        };
        loop {
            if (time.clock)() >= deadline {
                let limit = time.limit;
                return Err((self.program.pc(wave.pc), None, FaultKind::Timeout { limit }));
            }
            let given = (*budget).min(SLICE);
            let mut left = given;
            let result = self.advance_within(double.as_deref_mut(), wave, group, &mut left);
            *budget -= given - left;
            match result {
                // The slice is used up, not the wave's budget: the wave goes on where it stopped.
                Err((_, _, FaultKind::Watchdog { .. })) if given == SLICE => {}
                result => return result,
            }
        }
    }

    /// Runs a wave to its next barrier or its end; under the sanitizer beside its double, which begins with it.
    fn advance_within(
        &self,
        double: Option<&mut Option<Wave<W>>>,
        wave: &mut Wave<W>,
        group: &mut Group<'_>,
        budget: &mut u64,
    ) -> Advanced {
        let Some(double) = double.filter(|_| group.watch.is_some()) else {
            return exec::run(wave, self.program, group, budget);
        };
        let double = double.get_or_insert_with(|| exec::double::of(wave));
        exec::double::run(wave, double, self.program, group, budget)
    }

    /// Runs one workgroup, each wave to its next barrier by `advance`, which gets its number, the wave, what the workgroup
    /// shares and the instructions left to it; gives the number of instructions executed.
    fn schedule(
        &self,
        state: &mut WorkgroupState<'a, W>,
        id: [u32; 3],
        mut advance: impl FnMut(usize, &mut Wave<W>, &mut Group<'_>, &mut u64) -> Advanced,
    ) -> Result<u64, Box<Fault>> {
        let shape = self.shape(id);
        let text_address = self.dispatch.placement.base() + self.dispatch.kernel.code_offset();
        let mut lds = std::mem::take(&mut state.lds);
        lds.clear();
        lds.resize(self.lds, 0);
        let mut group = Group {
            lds,
            lds_as_card: self.options.lds_as_card && !self.options.sanitize,
            memory: self.memory,
            text_address,
            watch: self
                .options
                .sanitize
                .then(|| Watch::new(shape.waves(), self.lds, self.arguments, id, &self.stored)),
            cover: self.options.cover,
            windows: std::mem::take(&mut state.windows),
            flips: self.flips.clone(),
            compiling: self.options.compiling,
            tally: self
                .total
                .as_ref()
                .map(|_| Box::new(Tally::new(self.program.isa(), W, shape.items))),
        };
        let limit = self.options.max_wave_instructions;
        let waves = &mut state.waves;
        waves.resize_with(shape.waves(), || (self.first.clone(), limit, Stop::Barrier));
        for (index, (wave, budget, stop)) in waves.iter_mut().enumerate() {
            self.enlist(wave, &shape, id, index);
            (*budget, *stop) = (limit, Stop::Barrier);
        }
        // Each turn takes every wave that has not ended to its next barrier or its end. A wave that ended no
        // longer counts, so after a turn all the others have met at the barrier.
        while waves.iter().any(|(_, _, stop)| *stop == Stop::Barrier) {
            for (index, (wave, budget, stop)) in waves.iter_mut().enumerate() {
                if *stop == Stop::Barrier {
                    if let Some(watch) = &mut group.watch {
                        watch.enter(index);
                    }
                    *stop = advance(index, wave, &mut group, budget)
                        .map_err(|(pc, lane, kind)| self.fault(id, index, pc, lane, kind))?;
                }
            }
            if let Some(watch) = &mut group.watch {
                watch.barrier();
                let stops = waves
                    .iter()
                    .map(|(wave, _, stop)| (*stop == Stop::Barrier).then(|| self.program.pc(wave.pc - 1)));
                if let Some((index, pc, kind)) = sanitize::divergence(stops) {
                    return Err(self.fault(id, index, pc, None, kind));
                }
            }
        }
        (state.lds, state.windows) = (group.lds, group.windows);
        if let Some((total, tally)) = self.total.as_ref().zip(group.tally) {
            total.add(*tally);
        }
        Ok(waves.iter().map(|(_, budget, _)| limit - budget).sum())
    }

    #[cold]
    fn fault(
        &self,
        workgroup: [u32; 3],
        wave: usize,
        pc: usize,
        lane: Option<usize>,
        mut kind: FaultKind,
    ) -> Box<Fault> {
        if let FaultKind::Watchdog { limit } = &mut kind {
            // A wave's limit counts from its start, not from its last barrier.
            *limit = self.options.max_wave_instructions;
        }
        Box::new(Fault {
            kernel: self.dispatch.kernel.name.clone(),
            pc,
            instruction: self.program.text_at(pc),
            workgroup,
            wave,
            lane,
            work_item: lane.map(|lane| shape::work_item_id(self.shape(workgroup).block, wave * W + lane)),
            source: None,
            kind,
        })
    }
}
