//! Turns an [`Instruction`] into an [`Inst`]: the compact form the executor runs, constants resolved to bits.

mod modelled;
mod operands;

use super::instruction::{Broadcast, Dpp, Encoding, Instruction, Isa, Name, Operand, Sdwa, Shuffle, WHOLE};
use super::ops::{Kind, Op};
use super::tables::Form;
use super::unit::{Control, Mfma, ScalarAccess, Unit};
use crate::cost::Class;
use crate::wave::reg;
use modelled::{marks_what_it_has_not, modelled_on_cdna3, modelled_on_gfx125};
use operands::{accessed, code, effective, offset, register, source, space};

/// A resolved source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Src {
    /// Vector register, or the first of several; accumulation registers follow the vector registers.
    Vgpr(u16),
    /// Scalar register by its code, or the first of several.
    Scalar(u8),
    /// A constant, in the width of the operand.
    Const(u64),
    /// SCC as 0 or 1.
    Scc,
    /// A row put aside before the operation: `src0` after DPP, or source 0 or 1 after SDWA.
    Staged(u8),
    /// Whether VCC is zero.
    Vccz,
    /// Whether EXEC is zero.
    Execz,
    /// Absent.
    #[default]
    None,
}

impl Src {
    /// The number of a vector register, 0 for anything else.
    pub(crate) fn row(self) -> u16 {
        match self {
            Src::Vgpr(n) => n,
            _ => 0,
        }
    }
}

/// Number of the first accumulation register.
pub(crate) const AGPR: usize = 256;

/// What sub-dword addressing does around an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The registers that are staged, as far as the operation has them.
    pub(crate) from: [Src; 2],
    pub(crate) sdwa: Sdwa,
}

/// Which memory an instruction addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Device memory by a 64-bit address.
    Global,
    /// Device memory, LDS or scratch, as the address says.
    Flat,
    /// Private memory.
    Scratch,
    /// Device memory through a buffer descriptor; private memory when it is the one that the kernel was started with.
    Buffer,
    /// Local data share.
    Lds,
}

/// One instruction, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    /// What executes it; [`Unit::Unsupported`] when nothing does.
    pub(crate) unit: Unit,
    /// What it counts as where a launch counts.
    pub(crate) class: Class,
    pub(crate) isa: Isa,
    /// First destination register: vector, or scalar by its code.
    pub(crate) dst: u16,
    /// Mask destination, by its code.
    pub(crate) sdst: u8,
    pub(crate) src: [Src; 3],
    /// One bit a source: it is a vector register whose sign stays as it is.
    pub(crate) direct: u8,
    /// The number of each source that is a vector register.
    pub(crate) rows: [u16; 3],
    pub(crate) neg: u8,
    pub(crate) abs: u8,
    pub(crate) op_sel: u8,
    pub(crate) op_sel_hi: u8,
    pub(crate) clamp: bool,
    /// Scaling of the result: 1 times two, 2 times four, 3 half. It has a meaning only where denormals are flushed.
    pub(crate) omod: u8,
    /// Relations a comparison counts as true.
    pub(crate) relations: u8,
    /// An atomic that gives the old value back.
    pub(crate) returns: bool,
    /// A comparison that writes EXEC beside its destination.
    pub(crate) writes_exec: bool,
    /// A 16-bit result clears the other half of its register.
    pub(crate) clears_half: bool,
    /// 1 for an instruction, 0 for the second half of a dual one.
    pub(crate) weight: u8,
    /// Tells the instructions that go to memory apart, as far as that helps them to find it.
    pub(crate) place: u8,
    /// Whether the executor's table has a function for it as it is; see [`Inst::finish`].
    pub(crate) quick: bool,
    /// What it counts together with the waits after it; see [`Inst::finish`].
    pub(crate) cost: u16,
    /// How far on the next instruction is that is not a wait; see [`Inst::finish`].
    pub(crate) stride: u16,
    /// First half of a dual instruction whose halves each overwrite what the other reads.
    pub(crate) entangled: bool,
    pub(crate) space: Space,
    /// Address register.
    pub(crate) address: Option<u16>,
    /// Scalar base by its code, NULL without.
    pub(crate) base: u8,
    /// SMEM and MUBUF: scalar offset by its code, NULL without.
    pub(crate) soffset: u8,
    /// MUBUF: the address register holds an index, and the one after it the offset if `offen` too.
    pub(crate) idxen: bool,
    /// MUBUF: the address register holds an offset.
    pub(crate) offen: bool,
    /// Bytes that the register of an address counts.
    pub(crate) factor: u8,
    /// Immediate or offset. DS with two addresses: both, in bytes, low and high 16 bits.
    pub(crate) imm: i32,
    /// Index of the branch target.
    pub(crate) target: u32,
    /// Byte offset from the kernel's entry; negative in functions that lie before it.
    pub(crate) pc: i32,
    /// DPP, and the register it shuffles.
    pub(crate) dpp: Option<(u16, Dpp)>,
    pub(crate) parts: Option<Box<Parts>>,
    /// What scales the factors of a matrix instruction, and which byte of it.
    pub(crate) scales: Option<Box<[(Src, u8); 2]>>,
    /// Which blocks of A and lanes of B a matrix instruction multiplies.
    pub(crate) broadcast: Broadcast,
}

impl Inst {
    /// Whether it does nothing: waits, delays, hints.
    fn is_wait(&self) -> bool {
        self.unit == Unit::Control(Control::Wait)
    }

    /// Whether other lanes may be active after it; for one that is `quick`.
    pub(crate) fn may_set_exec(&self) -> bool {
        // A pair that begins with M0 ends with EXEC.
        let names = |code: u16| (reg::M0..128).contains(&usize::from(code));
        let scalar = match self.unit {
            Unit::Scalar | Unit::Compare => true,
            _ => matches!(self.op, Op::ReadLane | Op::ReadFirstLane),
        };
        self.op.sets_exec() || self.writes_exec || scalar && names(self.dst) || names(u16::from(self.sdst))
    }

    /// Sets what follows from the instruction itself and from those `after` it in the program: what goes on after it need
    /// not stop at waits.
    pub(super) fn finish(&mut self, after: &[Inst]) {
        // What changes the program flow, or is done together with its neighbour, goes on in a way of its own.
        let goes_on = !matches!(self.unit, Unit::Control(_)) && !self.entangled || self.is_wait();
        let waits = after.iter().take_while(|inst| goes_on && inst.is_wait());
        let waits = waits.count().min(64) as u16;
        self.cost = u16::from(self.weight) + waits;
        self.stride = 1 + waits;
        self.quick = self.unit.is_tabled() && self.dpp.is_none() && self.parts.is_none() && !self.entangled;
    }
}

/// Lowers one instruction at byte offset `pc` to one `Inst`, or to two when it is a dual one, each with what it is called.
pub(crate) fn lower(inst: &Instruction, pc: i32, out: &mut Vec<Inst>, names: &mut Vec<Name>) {
    let first = single(inst, pc);
    let Some(dual) = &inst.dual else {
        out.push(first);
        names.push(inst.name());
        return;
    };
    let second = single(dual, pc);
    // Of the halves of a dual instruction, the first may have operands of two registers.
    let wide = |inst: &Inst| u16::from(inst.op.signature().dst == Kind::F64);
    let reads = |reader: &Inst, writer: &Inst| {
        let written = writer.dst..=writer.dst + wide(writer);
        let mut sources = reader.src.iter();
        sources.any(
            |src| matches!(src, Src::Vgpr(n) if *n <= *written.end() && n + wide(reader) >= *written.start()),
        )
    };
    // Both halves read before either writes: run the half first whose result the other does not read.
    let (mut first, mut second, swapped) = match (reads(&second, &first), reads(&first, &second)) {
        (true, false) => (second, first, true),
        // What is kept aside is one register.
        (true, true) if wide(&first) != 0 => (
            Inst {
                entangled: true,
                ..second
            },
            first,
            true,
        ),
        (entangled, true) => (Inst { entangled, ..first }, second, false),
        (false, false) => (first, second, false),
    };
    (first.weight, second.weight) = (1, 0);
    out.extend([first, second]);
    let mut halves = [inst.name(), dual.name()];
    if swapped {
        halves.swap(0, 1);
    }
    names.extend(halves);
}

fn single(inst: &Instruction, pc: i32) -> Inst {
    let row = inst.row;
    let mut op = row.op;
    let signature = op.signature();
    let mut supported = !inst.gds;
    // Signs of packed operands outside the packed format: not documented.
    let pairs = signature
        .src
        .iter()
        .any(|kind| *kind == Kind::P16 || kind.is_float_pair());
    supported &= !(inst.format != Encoding::Vop3p && pairs && (inst.neg | inst.abs) & 3 != 0);
    supported &= !marks_what_it_has_not(inst);
    // The offset of a buffer is not signed, though LLVM takes signs on GFX12.
    supported &= !(inst.format == Encoding::Mubuf && inst.imm < 0);
    // Float results are clamped when they are written, integer ones by another operation.
    let float = signature.dst.is_float() || matches!(signature.dst, Kind::PF16 | Kind::PF32);
    let scaled = inst.scale_offset.then(|| accessed(inst)).flatten();
    supported &= scaled.is_some() || !inst.scale_offset;
    let factor = scaled.unwrap_or(1);
    if inst.clamp && !float {
        match op.saturated() {
            Some(saturated) => op = saturated,
            None => supported &= op.clamps_integers() || op.is_never_out_of_range(),
        }
    }
    let mut src = [Src::None; 3];
    for (i, kind) in signature.src.iter().enumerate() {
        src[i] = match source(inst.src[i], effective(*kind, inst, i)) {
            Src::Vgpr(n) => Src::Vgpr(n + inst.bank_of_source(i)),
            other => other,
        };
    }
    // Before RDNA3 the comparand of the data share's exchange comes first.
    let exchange = matches!(
        op,
        Op::DsCmpstoreB32 | Op::DsCmpstoreB64 | Op::DsCmpstoreF32 | Op::DsCmpstoreF64
    );
    if exchange && matches!(inst.isa, Isa::Rdna2 | Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4) {
        src.swap(0, 1);
    }
    let dpp = inst.dpp.map(|dpp| {
        let from = match src[0] {
            Src::Vgpr(n) => n,
            _ => 0,
        };
        src[0] = Src::Staged(0);
        let registers = signature.src.first().map_or(0, |kind| kind.registers(inst.lanes));
        // Wider operands know one pattern only.
        let wide = registers.max(signature.dst.registers(inst.lanes)) > 1;
        let broadcast = matches!(dpp.shuffle, Shuffle::Dpp16(0x150..=0x15f));
        supported &= !wide || !inst.isa.is_rdna() && broadcast && registers <= 2;
        // Whole-wave shifts, and broadcasts of a row to those after it, are CDNA's.
        let across = matches!(dpp.shuffle, Shuffle::Dpp16(0x130..=0x13f | 0x142 | 0x143));
        supported &= !inst.isa.is_rdna() || !across;
        (from, dpp)
    });
    let parts = inst.sdwa.map(|sdwa| {
        let from = [src[0], src[1]];
        for (i, src) in src.iter_mut().enumerate().take(2) {
            if *src != Src::None {
                *src = Src::Staged(i as u8);
            }
        }
        // Sub-dword parts of wider operands: not documented. A mask, of lanes or of carries, is a third source and has none.
        supported &= signature
            .src
            .iter()
            .take(2)
            .all(|kind| kind.registers(inst.lanes) <= 1);
        supported &= signature.dst.registers(inst.lanes) == 1 || sdwa.dst == WHOLE;
        Box::new(Parts { from, sdwa })
    });
    let direct = (0..).zip(src.iter().zip(signature.src)).map(|(i, (src, kind))| {
        let signed = kind.is_float() || kind.is_mixed();
        let changed = signed && (inst.neg | inst.abs) >> i & 1 != 0;
        u8::from(matches!(src, Src::Vgpr(_)) && !changed) << i
    });
    let direct = direct.sum();
    // Scalars that a vector instruction computes are neither scaled nor clamped, as far as it is known.
    supported &= !(inst.format == Encoding::Vop3
        && op.unit() == Unit::Scalar
        && (inst.clamp || inst.omod != 0 || inst.op_sel != 0));
    // What the flags mean of an exchange by lane numbers in a register is not documented.
    supported &= !(matches!(op, Op::Permlane16Var | Op::Permlanex16Var) && inst.op_sel != 0);
    // Nor what signs of bytes would be, nor the absolute value of a sum.
    let bytes = matches!(
        op,
        Op::Dot4F32Fp8Fp8 | Op::Dot4F32Fp8Bf8 | Op::Dot4F32Bf8Fp8 | Op::Dot4F32Bf8Bf8
    );
    supported &= !(bytes && (inst.neg & 3 != 0 || inst.abs != 0 || inst.op_sel != 0));
    supported &= modelled_on_cdna3(inst) && (inst.isa != Isa::Gfx125 || modelled_on_gfx125(inst));
    let unit = match op.unit() {
        _ if !supported => Unit::Unsupported,
        Unit::Mfma(mfma) => match inst.factors() {
            Some([Some(a), Some(b)]) => Unit::Mfma(Mfma { a, b, ..mfma }),
            Some(_) => Unit::Unsupported,
            None => Unit::Mfma(mfma),
        },
        // The same read-modify-writes, by one address for all lanes.
        Unit::Atomic(atomic) if inst.format == Encoding::Smem => {
            Unit::ScalarMemory(ScalarAccess::Atomic(atomic))
        }
        unit => unit,
    };
    let space = match inst.format {
        Encoding::Smem if row.mnemonic.starts_with("s_buffer") => Space::Buffer,
        format => space(format),
    };
    Inst {
        op,
        isa: inst.isa,
        unit,
        class: Class::of(op, unit, space),
        dst: match inst.dst {
            Operand::Vgpr(n) => u16::from(n) + inst.bank_of_destination(),
            other => register(other),
        },
        sdst: code(inst.sdst),
        src,
        direct,
        rows: src.map(Src::row),
        neg: inst.neg,
        abs: inst.abs,
        op_sel: inst.op_sel,
        op_sel_hi: inst.op_sel_hi,
        clamp: inst.clamp && (float || op.clamps_integers()),
        omod: inst.omod,
        relations: row.relations,
        returns: inst.dst != Operand::None,
        writes_exec: row.form == Form::CmpXToo,
        clears_half: inst.clears_half,
        weight: 1,
        place: 0,
        quick: false,
        cost: 1,
        stride: 1,
        entangled: false,
        space,
        address: match inst.address {
            Operand::Vgpr(n) => Some(u16::from(n) + inst.bank_of_address()),
            _ => None,
        },
        base: code(inst.base),
        soffset: code(inst.soffset),
        idxen: inst.idxen,
        offen: inst.offen,
        factor,
        imm: offset(inst),
        target: 0,
        pc,
        dpp,
        parts,
        scales: inst.scales.map(|scales| {
            let scale = |i: usize| {
                let byte = (scales.op_sel >> i & 1) | (scales.op_sel_hi >> i & 1) << 1;
                (source(scales.src[i], Kind::B32), byte)
            };
            Box::new([scale(0), scale(1)])
        }),
        // Where they name the formats of the factors, they name no lanes.
        broadcast: if inst.factors().is_some() {
            Broadcast::default()
        } else {
            inst.broadcast
        },
    }
}
