//! Which bits of which registers the instructions after a place look at, before these are written anew.
//!
//! It is found backwards. A vector register is written in the active lanes alone: what the other lanes hold may be looked at
//! once they are active again. So each has two sets of bits: for lanes that are active, and for the others.

use super::function::Applied;
use super::masks::{self, Change, Set};
use super::operands::{self, Half, Operands};
use super::value::{below, low};
use crate::isa::{
    Atomic, Condition, Control, Inst, Op, Relative, ScalarAccess, Share, Space, Src, Transfer, Unit,
};
use crate::wave::reg;

/// What is known of an instruction besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// How it changes the active lanes.
    pub(super) change: Change,
    /// The number that one of its sources in a scalar register has. All bits of that one count where those of others do.
    pub(super) numbers: [Option<u64>; 3],
}

impl Facts {
    /// Nothing.
    pub(super) const NONE: Facts = Facts {
        change: Change::Any,
        numbers: [None; 3],
    };

    /// What is known of the sources for the sake of source `i`.
    fn known(self, inst: &Inst, i: usize) -> [Option<u64>; 3] {
        let constants = operands::known(inst);
        [0, 1, 2].map(|j| constants[j].or(self.numbers[j].filter(|_| i != j)))
    }
}

/// The bits that are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) scalar: [u32; 128],
    pub(super) scc: bool,
    /// Of vector registers, in active lanes.
    active: Vec<u32>,
    /// The same in the other lanes.
    idle: Vec<u32>,
    lanes: usize,
}

impl Demand {
    /// After the end of a wave of `lanes` lanes.
    pub(super) fn nothing(registers: usize, lanes: usize) -> Demand {
        Demand {
            lanes,
            scalar: [0; 128],
            scc: false,
            active: vec![0; registers],
            idle: vec![0; registers],
        }
    }

    /// What an instruction of a kernel of so many vector registers looks at, whatever is done with its results.
    pub(super) fn of_sources(inst: &Inst, registers: usize, lanes: usize) -> Demand {
        let mut demand = Demand::nothing(registers, lanes);
        let operands = operands::of(inst, lanes);
        demand.scc = true;
        for n in inst.dst..inst.dst + u16::from(operands.dst_words) {
            match operands.dst_is_vector {
                true => demand.read_vector(n.into(), u32::MAX),
                false => demand.read_scalar(n.into(), u32::MAX),
            }
        }
        demand.read_scalars(inst.sdst, operands.mask_words);
        let facts = Facts {
            change: Change::Same,
            ..Facts::NONE
        };
        demand.step_back(inst, facts, lanes);
        demand
    }

    /// The scalar registers that are looked at.
    pub(super) fn scalars(&self) -> Set {
        let read = (0..128_u8).filter(|n| self.scalar[usize::from(*n)] != 0);
        read.map(masks::bit).fold(0, |all, bit| all | bit)
    }

    /// Adds what another way looks at; whether that is more.
    pub(super) fn join(&mut self, other: &Demand) -> bool {
        let mut more = other.scc && !self.scc;
        self.scc |= other.scc;
        let mine = self
            .scalar
            .iter_mut()
            .chain(&mut self.active)
            .chain(&mut self.idle);
        let theirs = other.scalar.iter().chain(&other.active).chain(&other.idle);
        for (mine, theirs) in mine.zip(theirs) {
            more |= theirs & !*mine != 0;
            *mine |= theirs;
        }
        more
    }

    /// Whether everything that `other` looks at is looked at here.
    pub(super) fn contains(&self, other: &Demand) -> bool {
        !self.clone().join(other)
    }

    /// Lanes of the wave.
    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The bits of a vector register in active lanes.
    pub(super) fn vector(&self, n: u16) -> u32 {
        self.active.get(usize::from(n)).copied().unwrap_or(u32::MAX)
    }

    /// The bits of a vector register in lanes that are not active.
    pub(super) fn vector_of_others(&self, n: u16) -> u32 {
        self.idle.get(usize::from(n)).copied().unwrap_or(u32::MAX)
    }

    fn read_vector(&mut self, n: usize, bits: u32) {
        if let Some(active) = self.active.get_mut(n) {
            *active |= bits;
        }
    }

    /// In all lanes, whether active or not.
    fn read_everywhere(&mut self, n: usize, bits: u32) {
        self.read_vector(n, bits);
        if let Some(idle) = self.idle.get_mut(n) {
            *idle |= bits;
        }
    }

    fn read_scalar(&mut self, n: usize, bits: u32) {
        if n < 128 && n != reg::NULL {
            self.scalar[n] |= bits;
        }
    }

    fn read_scalars(&mut self, first: u8, count: u8) {
        for n in usize::from(first)..usize::from(first) + usize::from(count) {
            self.read_scalar(n, u32::MAX);
        }
    }

    fn read_exec(&mut self, lanes: usize) {
        self.read_scalars(reg::EXEC as u8, (lanes / 32) as u8);
    }

    fn read_src(&mut self, src: Src, count: u8, bits: u64, lanes: usize) {
        for word in 0..usize::from(count.max(1)) {
            let bits = match word {
                0 => bits as u32,
                1 => (bits >> 32) as u32,
                // Wider operands count as a whole.
                _ => u32::MAX,
            };
            match src {
                Src::Vgpr(n) => self.read_vector(usize::from(n) + word, bits),
                Src::Scalar(n) => self.read_scalar(usize::from(n) + word, bits),
                Src::Scc => self.scc = true,
                Src::Vccz => self.read_scalars(reg::VCC as u8, (lanes / 32) as u8),
                Src::Execz => self.read_exec(lanes),
                Src::Const(_) | Src::Staged(_) | Src::None => {}
            }
        }
    }

    /// The bits of an instruction's result that are looked at after it.
    fn of_result(&self, inst: &Inst, operands: &Operands) -> u64 {
        let word = |i: u16| match operands.dst_is_vector {
            true => self.vector(inst.dst + i),
            false => self
                .scalar
                .get(usize::from(inst.dst + i))
                .copied()
                .unwrap_or(u32::MAX),
        };
        let words = (0..u16::from(operands.dst_words)).map(|i| (i, word(i)));
        words.fold(0, |all, (i, bits)| match i {
            0 | 1 => all | u64::from(bits) << (32 * i),
            _ => all | u64::from(bits),
        })
    }

    /// Whether idle lanes hold something in the destination that is looked at.
    fn is_idle_read(&self, inst: &Inst, operands: &Operands) -> bool {
        let mut words = inst.dst..inst.dst + u16::from(operands.dst_words);
        words.any(|n| self.idle.get(usize::from(n)) != Some(&0))
    }

    /// From after an instruction to before it.
    pub(super) fn step_back(&mut self, inst: &Inst, facts: Facts, lanes: usize) {
        let operands = operands::of(inst, lanes);
        let wanted = self.of_result(inst, &operands);
        let mask_wanted = operands.mask_words > 0
            && (0..operands.mask_words).any(|i| self.scalar.get(usize::from(inst.sdst + i)) != Some(&0));
        let scc_wanted = operands.writes_scc && self.scc;
        self.overwrite(inst, &operands);
        // Lanes that change sides take along what is looked at in them.
        match facts.change {
            Change::Same => {}
            Change::Fewer => self.each(|active, idle| (active | idle, idle)),
            Change::More => self.each(|active, idle| (active, active | idle)),
            Change::Others | Change::Any => self.each(|active, idle| (active | idle, active | idle)),
        }
        let used = wanted != 0 || mask_wanted || scc_wanted || operands.has_effects;
        if !used {
            // In other lanes the result would be in the place of something that is looked at.
            if operands.dst_is_vector && self.is_idle_read(inst, &operands) {
                self.read_exec(lanes);
            }
            return;
        }
        if operands.reads_exec {
            self.read_exec(lanes);
        }
        match inst.unit {
            Unit::Lane | Unit::Compare | Unit::Vector => {
                self.vector_sources(inst, facts, &operands, [wanted, u64::from(mask_wanted)])
            }
            Unit::Scalar => self.scalar_sources(inst, facts, wanted, scc_wanted),
            Unit::Control(control) => self.control(inst, control, lanes),
            Unit::ScalarMemory(access) => self.scalar_memory(inst, access),
            Unit::Memory(_) | Unit::Atomic(_) | Unit::Share(_) => self.memory(inst, lanes),
            Unit::Wmma(_)
            | Unit::Tiles(_)
            | Unit::Mfma(_)
            | Unit::Smfmac(_)
            | Unit::SparseTiles(_)
            | Unit::MoveRelative(_)
            | Unit::SwapRelative
            | Unit::Unsupported => self.everything(inst, lanes),
        }
    }

    fn each(&mut self, f: impl Fn(u32, u32) -> (u32, u32)) {
        for (active, idle) in self.active.iter_mut().zip(&mut self.idle) {
            (*active, *idle) = f(*active, *idle);
        }
    }

    /// From after an instruction to before it, without what it looks at itself.
    pub(super) fn replace(&mut self, inst: &Inst) {
        self.overwrite(inst, &operands::of(inst, self.lanes));
    }

    /// EXEC is what a mask was.
    pub(super) fn replace_exec(&mut self, mask: Option<u8>) {
        let words = (self.lanes / 32) as u8;
        for n in reg::EXEC..reg::EXEC + usize::from(words) {
            self.scalar[n] = 0;
        }
        if let Some(mask) = mask {
            self.read_scalars(mask, words);
        }
    }

    /// What an instruction writes in any case is not looked at before it.
    fn overwrite(&mut self, inst: &Inst, operands: &Operands) {
        if operands.writes_scc {
            self.scc = false;
        }
        let mut scalar = |first: usize, count: u8| {
            for n in first..first + usize::from(count) {
                if n < 128 {
                    self.scalar[n] = 0;
                }
            }
        };
        scalar(usize::from(inst.sdst), operands.mask_words);
        if operands.writes_exec {
            scalar(reg::EXEC, operands.exec_words);
        }
        if !operands.dst_is_vector {
            scalar(
                usize::from(inst.dst),
                if operands.whole { operands.dst_words } else { 0 },
            );
        } else if operands.whole {
            for n in inst.dst..inst.dst + u16::from(operands.dst_words) {
                if let Some(bits) = self.active.get_mut(usize::from(n)) {
                    *bits = 0;
                }
            }
        }
    }

    fn vector_sources(&mut self, inst: &Inst, facts: Facts, operands: &Operands, [wanted, mask]: [u64; 2]) {
        let (lanes, mask_wanted) = (self.lanes, mask != 0);
        if inst.op == Op::ReadFirstLane || inst.op == Op::ReadLane {
            if let Src::Vgpr(n) = inst.src[0] {
                self.read_everywhere(usize::from(n), wanted as u32);
            }
            return self.read_src(inst.src[1], 1, 63, lanes);
        }
        if operands.crosses {
            return self.everything(inst, lanes);
        }
        if matches!(
            inst.op,
            Op::DivFmasF32 | Op::DivFmasF64 | Op::DivFmasF32Directed | Op::DivFmasF64Directed
        ) {
            self.read_scalars(reg::VCC as u8, (lanes / 32) as u8);
        }
        if let Some((from, _)) = inst.dpp {
            // Lanes of any kind are read.
            for n in from..from + 2 {
                self.read_everywhere(usize::from(n), u32::MAX);
            }
        }
        if let Some(parts) = &inst.parts {
            for from in parts.from {
                self.read_src(from, 1, u64::MAX, lanes);
            }
        }
        let kinds = inst.op.signature().src;
        let simple = operands::is_plain(inst).then_some(inst.op);
        for (i, kind) in kinds.iter().enumerate() {
            let bits = match simple {
                Some(Op::CndmaskB32) if i < 2 => wanted,
                Some(Op::AddCoCiU32 | Op::SubCoCiU32 | Op::SubrevCoCiU32) if i < 2 && !mask_wanted => {
                    below(wanted)
                }
                Some(op) if !mask_wanted => Applied::of(op).map_or(u64::MAX, |applied| {
                    applied.counting(i, wanted, facts.known(inst, i))
                }),
                _ => u64::MAX,
            };
            let bits = bits & operands::half(inst, i, *kind).mask();
            self.read_src(inst.src[i], kind.registers(lanes), bits, lanes);
        }
    }

    fn scalar_sources(&mut self, inst: &Inst, facts: Facts, wanted: u64, scc_wanted: bool) {
        let lanes = self.lanes;
        let kinds = inst.op.signature().src;
        self.scc |= operands::reads_scc(inst.op);
        if operands::reads_destination(inst.op) {
            self.read_scalars(inst.dst as u8, inst.op.signature().dst.registers(lanes));
        }
        for (i, kind) in kinds.iter().enumerate() {
            let bits = match Applied::of(inst.op) {
                _ if scc_wanted => u64::MAX,
                _ if matches!(inst.op, Op::SCselectB32 | Op::SCselectB64) => wanted,
                _ if matches!(inst.op, Op::SAddcU32 | Op::SSubbU32) => below(wanted),
                Some(applied) => applied.counting(i, wanted, facts.known(inst, i)),
                None => match (inst.op, i) {
                    (Op::SPackLlB32B16, 0) => wanted & low(16),
                    (Op::SPackLlB32B16, _) => wanted >> 16,
                    _ => u64::MAX,
                },
            };
            self.read_src(inst.src[i], kind.registers(lanes), bits, lanes);
        }
    }

    fn control(&mut self, inst: &Inst, control: Control, lanes: usize) {
        let masks = (lanes / 32) as u8;
        match control {
            Control::Branch(Condition::Scc(_)) => self.scc = true,
            Control::Branch(Condition::VccIsZero(_)) => self.read_scalars(reg::VCC as u8, masks),
            Control::Branch(Condition::ExecIsZero(_)) => self.read_exec(lanes),
            Control::Branch(Condition::Always | Condition::Debugger) => {}
            Control::Wait
            | Control::Barrier
            | Control::BarrierWait
            | Control::End
            | Control::GetPc
            | Control::Time => {}
            Control::RoundMode | Control::DenormMode | Control::Trap | Control::Halt => {}
            // A register of the wave's state may hold anything.
            Control::GetRegister => {
                self.scc = true;
                self.read_scalars(reg::VCC as u8, masks);
                self.read_exec(lanes);
            }
            Control::BarrierSignal
            | Control::Message
            | Control::MessageReturn(_)
            | Control::SetRegister
            | Control::SetPc
            | Control::SwapPc
            | Control::Call
            | Control::MoveRelative(
                Relative::Source | Relative::Destination | Relative::Both | Relative::Fields,
                _,
            )
            | Control::IndexOn
            | Control::IndexValue
            | Control::IndexMode
            | Control::IndexOff => {
                self.read_scalars(reg::M0 as u8, 1);
                for (src, kind) in inst.src.iter().zip(inst.op.signature().src) {
                    self.read_src(*src, kind.registers(lanes), u64::MAX, lanes);
                }
            }
        }
    }

    fn scalar_memory(&mut self, inst: &Inst, access: ScalarAccess) {
        let aligned = matches!(access, ScalarAccess::Load(_))
            && inst.space == Space::Global
            && usize::from(inst.soffset) == reg::NULL
            && inst.imm % 4 == 0;
        if aligned {
            // The card drops the lowest two bits of the address, and nothing is carried out of them.
            self.read_scalar(usize::from(inst.base), !3);
            self.read_scalar(usize::from(inst.base) + 1, u32::MAX);
        } else {
            self.read_scalars(inst.base, if inst.space == Space::Buffer { 4 } else { 2 });
        }
        self.read_scalars(inst.soffset, 1);
        let data = match access {
            ScalarAccess::Load(_) | ScalarAccess::LoadPart { .. } => 0,
            ScalarAccess::Store(dwords) => dwords,
            ScalarAccess::Atomic(_) => 4,
        };
        for src in inst.src {
            if let Src::Scalar(n) = src {
                self.read_scalars(n, data);
            }
        }
        if let ScalarAccess::Atomic(_) = access {
            self.read_scalars(inst.dst as u8, 4);
        }
    }

    fn memory(&mut self, inst: &Inst, lanes: usize) {
        self.read_scalars(reg::M0 as u8, 1);
        self.read_scalars(inst.soffset, 1);
        let base = match inst.space {
            Space::Global | Space::Flat => 2,
            Space::Buffer => 4,
            Space::Scratch => 1,
            Space::Lds => 0,
        };
        self.read_scalars(
            inst.base,
            if usize::from(inst.base) == reg::NULL {
                0
            } else {
                base
            },
        );
        let exchange = matches!(inst.unit, Unit::Share(share) if share.is_exchange());
        let wide = usize::from(inst.base) == reg::NULL || inst.space == Space::Buffer;
        if let Some(address) = inst.address.map(usize::from) {
            self.read_everywhere_if(exchange, address, u32::MAX);
            if wide && inst.space != Space::Lds && inst.space != Space::Scratch {
                self.read_vector(address + 1, u32::MAX);
            }
        }
        let stored = match inst.unit {
            Unit::Memory(Transfer::StorePart { bytes, high }) => {
                low(8 * u32::from(bytes)) << if high { 16 } else { 0 }
            }
            _ => u64::MAX,
        };
        for (src, kind) in inst.src.iter().zip(inst.op.signature().src) {
            for word in 0..usize::from(kind.registers(lanes)) {
                match src {
                    Src::Vgpr(n) => self.read_everywhere_if(exchange, usize::from(*n) + word, stored as u32),
                    other => self.read_src(*other, 1, u64::MAX, lanes),
                }
            }
        }
        // A part of a register is loaded into what it was.
        if let Unit::Memory(Transfer::LoadPart(_)) | Unit::Share(Share::Consume | Share::Append) = inst.unit
            && !operands::of(inst, lanes).whole
        {
            self.read_vector(usize::from(inst.dst), u32::MAX);
        }
        if let Unit::Atomic(Atomic::Dword(_) | Atomic::Qword(_)) = inst.unit {
            self.read_exec(lanes);
        }
    }

    fn read_everywhere_if(&mut self, everywhere: bool, n: usize, bits: u32) {
        if everywhere {
            self.read_everywhere(n, bits);
        } else {
            self.read_vector(n, bits);
        }
    }

    /// All operands of an instruction whose lanes look at each other, or of which nothing is known.
    fn everything(&mut self, inst: &Inst, lanes: usize) {
        let signature = inst.op.signature();
        self.read_exec(lanes);
        self.read_scalars(reg::VCC as u8, 2);
        self.read_scalars(reg::M0 as u8, 1);
        self.scc = true;
        let scales = inst
            .scales
            .iter()
            .flat_map(|scales| scales.iter().map(|(src, _)| (*src, 1)));
        let sources = inst.src.iter().zip(signature.src);
        let sources = sources.map(|(src, kind)| (*src, kind.registers(lanes)));
        let staged = inst.dpp.map(|(from, _)| (Src::Vgpr(from), 2));
        let old = (Src::Vgpr(inst.dst), signature.dst.registers(lanes));
        for (src, count) in sources.chain(scales).chain(staged).chain([old]) {
            for word in 0..usize::from(count) {
                match src {
                    Src::Vgpr(n) => self.read_everywhere(usize::from(n) + word, u32::MAX),
                    other => self.read_src(other, count, u64::MAX, lanes),
                }
            }
        }
        if let Some(parts) = &inst.parts {
            for from in parts.from {
                match from {
                    Src::Vgpr(n) => self.read_everywhere(usize::from(n), u32::MAX),
                    other => self.read_src(other, 1, u64::MAX, lanes),
                }
            }
        }
    }
}

impl Half {
    /// The bits of a register that an operand is.
    fn mask(self) -> u64 {
        match self {
            Half::Low => 0xffff,
            Half::High => 0xffff_0000,
            Half::Whole => u64::MAX,
        }
    }
}
