//! Turns an [`Instruction`] into an [`Inst`]: the compact form the executor runs, constants resolved to bits.

use super::instruction::{Broadcast, Dpp, Format, Instruction, Isa, Name, Operand, Sdwa, Shuffle, WHOLE};
use super::ops::{Kind, Op};
use super::tables::Form;
use super::unit::{Control, Element, Mfma, ScalarAccess, Share, Unit, Words};
use crate::cost::Class;
use crate::fp;
use crate::wave::{PRIVATE_BASE, SCRATCH_BASE, SHARED_BASE, reg};

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
    supported &= !(inst.format != Format::Vop3p && pairs && (inst.neg | inst.abs) & 3 != 0);
    supported &= !marks_what_it_has_not(inst);
    // The offset of a buffer is not signed, though LLVM takes signs on GFX12.
    supported &= !(inst.format == Format::Mubuf && inst.imm < 0);
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
    supported &= !(inst.format == Format::Vop3
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
        Unit::Atomic(atomic) if inst.format == Format::Smem => {
            Unit::ScalarMemory(ScalarAccess::Atomic(atomic))
        }
        unit => unit,
    };
    let space = match inst.format {
        Format::Smem if row.mnemonic.starts_with("s_buffer") => Space::Buffer,
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

/// Whether an instruction of the long or short formats has a sign on an operand that is not a float, or names a half of one that is whole. LLVM takes
/// some of these; what they do no manual says.
fn marks_what_it_has_not(inst: &Instruction) -> bool {
    if !matches!(
        inst.format,
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3
    ) {
        return false;
    }
    let signature = inst.row.op.signature();
    let name = inst.row.mnemonic;
    // Of these the bits are flags, or bytes.
    let other = ["permlane", "fp8", "bf8", "fp6", "bf6", "fp4", "bitop3"];
    let halves = !other.iter().any(|part| name.contains(part));
    let signs = inst.neg | inst.abs;
    let float =
        |kind: &Kind| kind.is_float() || kind.is_mixed() || kind.is_float_pair() || *kind == Kind::PF32;
    let dot = matches!(inst.row.op, Op::Dot2Bf16Bf16);
    let source = |(i, kind): (usize, &Kind)| {
        signs >> i & 1 != 0 && !float(kind) && !dot || inst.op_sel >> i & 1 != 0 && halves && !kind.is_half()
    };
    let destination = inst.op_sel & 8 != 0 && halves && !signature.dst.is_half();
    destination || signature.src.iter().enumerate().any(source)
}

/// What the encodings of CDNA3 allow and nothing here executes: broadcasts that AMD's matrix instruction calculator does not have, the
/// scalar registers of the scratch address, halves of the integer dot products.
fn modelled_on_cdna3(inst: &Instruction) -> bool {
    let address = |operand: &Operand| !inst.isa.is_rdna() && matches!(operand, Operand::Scalar(102..=105));
    let dot = matches!(
        inst.row.op,
        Op::Dot2I32I16 | Op::Dot2U32U16 | Op::Dot4I32I8 | Op::Dot8I32I4
    );
    // The high half of a constant pair, but for zero, which has none that is not. A move has one half of each source in
    // its result.
    let moves = inst.row.op == Op::PkMovB32;
    let high = inst.op_sel | if moves { 0 } else { inst.op_sel_hi };
    let sources = inst.src.iter().zip(inst.row.op.signature().src).enumerate();
    let constant = |(i, (operand, kind)): (usize, (&Operand, &Kind))| {
        *kind == Kind::PF32 && matches!(operand, Operand::Inline(129..)) && high >> i & 1 != 0
    };
    // CDNA2's kernels set the scratch address up; nothing here reads it.
    let mut others = inst
        .src
        .iter()
        .chain(matches!(inst.isa, Isa::Cdna3 | Isa::Cdna4).then_some(&inst.dst));
    let halves = inst.op_sel != 0 || inst.op_sel_hi & 3 != 3 || inst.neg | inst.abs != 0;
    let refused = [
        match inst.factors() {
            Some(_) => inst.broadcast.abid != 0,
            None => !broadcasts(inst),
        },
        small_floats(inst),
        sources.into_iter().any(constant),
        others.any(address),
        dot && halves,
    ];
    !refused.contains(&true)
}

/// Bytes that a memory instruction accesses, as far as a register of its address may count them.
fn accessed(inst: &Instruction) -> Option<u8> {
    let bytes = match inst.row.op.unit() {
        Unit::Memory(transfer) => transfer.bytes(),
        Unit::Atomic(atomic) => 4 * atomic.words() as u64,
        Unit::ScalarMemory(ScalarAccess::Load(dwords)) => 4 * u64::from(dwords),
        Unit::ScalarMemory(ScalarAccess::LoadPart { bytes, .. }) => bytes.into(),
        // A hint goes nowhere.
        Unit::Control(Control::Wait) => 1,
        _ => return None,
    };
    bytes.is_power_of_two().then_some(bytes as u8)
}

/// What the encodings of GFX12.5 allow and nothing here executes: a clamp that chooses another 8-bit float, clamps of brain floats in pairs,
/// constants and signs of pairs outside the packed format, scalar pairs, and signs of integer operands.
fn modelled_on_gfx125(inst: &Instruction) -> bool {
    let signature = inst.row.op.signature();
    let sources = || inst.src.iter().zip(signature.src);
    let name = inst.row.mnemonic;
    let bytes = name.starts_with("v_cvt") && name.contains("fp8");
    let float =
        |kind: &Kind| kind.is_float() || kind.is_mixed() || *kind == Kind::PF32 || kind.is_float_pair();
    let signs = inst.neg | if inst.format == Format::Vopd3 { 0 } else { inst.abs };
    let signed = |(i, kind): (usize, &Kind)| signs >> i & 1 != 0 && !float(kind);
    let refused = [
        inst.clamp && (bytes || signature.dst == Kind::PBf16),
        inst.format == Format::Vop3
            && sources().any(|(src, kind)| kind.is_float_pair() && !matches!(src, Operand::Vgpr(_))),
        sources().any(|(src, kind)| *kind == Kind::PF32 && matches!(src, Operand::Literal(_))),
        inst.format == Format::Vopd3 && signature.src.iter().enumerate().any(signed),
        inst.row.op == Op::CvtF32Bf16 && !matches!(inst.src[0], Operand::Vgpr(_)),
    ];
    !refused.contains(&true)
}

/// Whether a matrix instruction has the blocks of A and the lanes of B that it names. CDNA3 has patterns of lanes for single precision and for
/// shapes of several blocks; what is CDNA4's alone has none.
fn broadcasts(inst: &Instruction) -> bool {
    let Broadcast { cbsz, abid, blgp } = inst.broadcast;
    match inst.row.op.unit() {
        Unit::Mfma(shape) => {
            let double = shape.a == Element::F64;
            let blocks = if double { 1 } else { u32::from(shape.blocks) };
            let lanes = inst.isa == Isa::Cdna2 || blocks > 1 || shape.a == Element::F32;
            (1 << cbsz) <= blocks && abid < (1 << cbsz) && (blgp == 0 || lanes && !double)
        }
        // Of a sparse product they choose among the sets of places in the third source.
        Unit::Smfmac(_) => blgp == 0,
        _ => inst.broadcast == Broadcast::default(),
    }
}

/// What is not known of CDNA4's conversions: signs and halves of what is not one number, constants in the 16-bit brain format, and
/// what modifiers are of exchanges.
fn small_floats(inst: &Instruction) -> bool {
    let name = inst.row.mnemonic;
    let sources = inst.src.iter().zip(inst.row.op.signature().src);
    let constant =
        |(operand, kind): (&Operand, &Kind)| *kind != Kind::F32 && !matches!(operand, Operand::Vgpr(_));
    let modified = inst.neg | inst.abs != 0 || inst.omod != 0 || inst.clamp;
    if name.starts_with("v_cvt_scalef32") {
        return modified || sources.into_iter().any(constant);
    }
    match inst.row.op {
        Op::CvtF32Bf16 => matches!(inst.src[0], Operand::Inline(240..)),
        Op::Permlane16Swap | Op::Permlane32Swap => {
            inst.op_sel != 0 || modified || !matches!(inst.src[0], Operand::Vgpr(_))
        }
        _ => false,
    }
}

/// What a constant becomes depends on the kind; a mixed operand is half precision when `op_sel_hi` says so. In the brain format it stays a number of
/// single precision, whose upper half LLVM takes.
fn effective(kind: Kind, inst: &Instruction, i: usize) -> Kind {
    match kind {
        Kind::Mix if inst.op_sel_hi >> i & 1 != 0 => Kind::PF16,
        Kind::Mix | Kind::BrainMix => Kind::F32,
        _ => kind,
    }
}

fn space(format: Format) -> Space {
    match format {
        Format::Ds => Space::Lds,
        Format::Scratch => Space::Scratch,
        Format::Mubuf => Space::Buffer,
        Format::Flat => Space::Flat,
        _ => Space::Global,
    }
}

/// The immediate; both offsets of a two-address DS instruction in bytes.
fn offset(inst: &Instruction) -> i32 {
    let element = match inst.row.op.unit() {
        Unit::Share(Share::Load2(Words::Two) | Share::Store2(Words::Two) | Share::Exchange2(Words::Two)) => 8,
        _ => 4,
    };
    let unit = match inst.row.form {
        Form::Two => element,
        Form::Two64 => 64 * element,
        // A constant in place of the scalar offset.
        _ if inst.format == Format::Mubuf => {
            let constant = match source(inst.soffset, Kind::B32) {
                Src::Const(value) => value as i32,
                _ => 0,
            };
            return inst.imm.wrapping_add(constant);
        }
        // FLAT has 12 bits of offset before RDNA4, 11 on RDNA2; the next one is ignored.
        _ if inst.format == Format::Flat && inst.isa == Isa::Rdna2 => return inst.imm & 0x7ff,
        _ if inst.format == Format::Flat && !inst.isa.is_gfx12() => return inst.imm & 0xfff,
        _ => return inst.imm,
    };
    // At most 255 * 64 * 8 = 130,560 bytes: the offsets do not fit 16 bits each, so they are kept in units of 4 bytes.
    let dwords = |offset: i32| (offset & 255) * unit / 4;
    dwords(inst.imm) | dwords(inst.imm >> 8) << 16
}

/// The number of a destination register.
fn register(operand: Operand) -> u16 {
    match operand {
        Operand::Agpr(n) => AGPR as u16 + u16::from(n),
        Operand::Vgpr(n) => u16::from(n),
        _ => u16::from(code(operand)),
    }
}

fn code(operand: Operand) -> u8 {
    match operand {
        Operand::Scalar(n) => n,
        _ => reg::NULL as u8,
    }
}

fn source(operand: Operand, kind: Kind) -> Src {
    match operand {
        Operand::None => Src::None,
        Operand::Vgpr(_) | Operand::Agpr(_) => Src::Vgpr(register(operand)),
        Operand::Scalar(n) => Src::Scalar(n),
        Operand::Inline(251) => Src::Vccz,
        Operand::Inline(252) => Src::Execz,
        Operand::Inline(253) => Src::Scc,
        Operand::Inline(code) => Src::Const(inline(code, kind)),
        Operand::Constant(value) => Src::Const(truncate(value as i64 as u64, kind)),
        Operand::Wide(value) => Src::Const(value),
        Operand::Literal(value) => Src::Const(match kind {
            Kind::F64 => u64::from(value) << 32,
            Kind::I64 => value as i32 as i64 as u64,
            _ => truncate(u64::from(value), kind),
        }),
    }
}

fn truncate(value: u64, kind: Kind) -> u64 {
    match kind {
        Kind::B64 | Kind::I64 | Kind::F64 => value,
        Kind::B16 | Kind::F16 | Kind::Bf16 => value & 0xffff,
        _ => value & 0xffff_ffff,
    }
}

/// Value of an inline constant code. Integers are sign-extended; floats have the precision of the operand.
fn inline(code: u8, kind: Kind) -> u64 {
    let number = match code {
        128..=192 => return truncate(u64::from(code - 128), kind),
        193..=208 => return truncate((192 - i64::from(code)) as u64, kind),
        230 => return truncate(SCRATCH_BASE, kind),
        231 => return SCRATCH_BASE >> 32,
        // The apertures are 64-bit bases and limits; a 32-bit operand sees the low half, as on the card.
        235 => return truncate(SHARED_BASE, kind),
        236 => return truncate(SHARED_BASE | 0xffff_ffff, kind),
        237 => return truncate(PRIVATE_BASE, kind),
        238 => return truncate(PRIVATE_BASE | 0xffff_ffff, kind),
        248 => {
            return match kind {
                Kind::F16 | Kind::B16 | Kind::PF16 => 0x3118,
                Kind::Bf16 | Kind::PBf16 => 0x3e22,
                Kind::F64 | Kind::B64 | Kind::I64 => 0x3fc4_5f30_6dc9_c882,
                _ => 0x3e22_f983,
            };
        }
        _ => [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0][usize::from(code - 240) & 7],
    };
    match kind {
        Kind::F16 | Kind::B16 | Kind::PF16 => u64::from(fp::f16_of_f64(number)),
        Kind::Bf16 | Kind::PBf16 => u64::from(fp::brain::bf16_of_f64(number)),
        Kind::F64 | Kind::B64 | Kind::I64 => f64::to_bits(number),
        _ => u64::from((number as f32).to_bits()),
    }
}
