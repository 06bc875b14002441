//! One decoded instruction: its row of the table and its operands, as the encoding has them.
//!
//! This is what the printer prints; the executor works on [`super::lower::Inst`], which is made from it.

use std::fmt;

use super::ops::{Kind, Op};
use super::tables::{self, Form, InstructionRow};
use super::unit::Element;
use crate::Target;

/// An instruction set: which encodings there are and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    /// gfx1030 with the encodings of GFX10, waves of 32 or 64 lanes.
    Rdna2,
    /// gfx1100, waves of 32 or 64 lanes.
    Rdna3,
    /// gfx1151, the same with floating point in scalar registers.
    Rdna35,
    /// gfx1200 and gfx1201: other encodings of memory instructions, no modes for NaNs, workgroup ids in trap registers.
    Rdna4,
    /// gfx1250, the same with waves of 32 lanes alone, literals of 64 bits, wider products and pairs of numbers.
    Gfx125,
    /// gfx90a with the encodings of GFX9, waves of 64 lanes.
    Cdna2,
    /// gfx942, the same.
    Cdna3,
    /// gfx950, the same with small floats, their scales and wider products.
    Cdna4,
}

impl Isa {
    /// The instruction set of a target; `None` when there is no table of it.
    pub(crate) fn of(target: Target) -> Option<Isa> {
        match target {
            Target::Gfx1030 => Some(Isa::Rdna2),
            Target::Gfx1100 => Some(Isa::Rdna3),
            Target::Gfx1151 => Some(Isa::Rdna35),
            Target::Gfx1200 | Target::Gfx1201 => Some(Isa::Rdna4),
            Target::Gfx1250 => Some(Isa::Gfx125),
            Target::Gfx942 => Some(Isa::Cdna3),
            Target::Gfx950 => Some(Isa::Cdna4),
            Target::Gfx90a => Some(Isa::Cdna2),
            Target::Other(_) => None,
        }
    }

    /// Whether it has the encodings and the registers that RDNA's have in common.
    #[inline(always)]
    pub(crate) fn is_rdna(self) -> bool {
        match self {
            Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 | Isa::Gfx125 => true,
            Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4 => false,
        }
    }

    /// Whether it has what GFX12 brought: memory instructions of three words, no modes for NaNs, workgroup ids in trap registers.
    #[inline(always)]
    pub(crate) fn is_gfx12(self) -> bool {
        matches!(self, Isa::Rdna4 | Isa::Gfx125)
    }

    /// Whether a message gives a wave's vector registers back before its end: from RDNA3 on.
    pub(crate) fn gives_registers_back(self) -> bool {
        self.is_rdna() && self != Isa::Rdna2
    }

    /// Whether it has waves of so many lanes.
    pub(crate) fn has_waves_of(self, lanes: usize) -> bool {
        match self {
            Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 => matches!(lanes, 32 | 64),
            Isa::Gfx125 => lanes == 32,
            Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4 => lanes == 64,
        }
    }

    /// Whether a wave has accumulation registers after its vector registers.
    pub(crate) fn has_accumulation(self) -> bool {
        !self.is_rdna()
    }

    /// Vector registers in a block, in which kernel descriptors count them.
    pub(crate) fn vgpr_block(self, lanes: usize) -> usize {
        match self {
            Isa::Gfx125 => 16,
            _ if self.is_rdna() && lanes == 64 => 4,
            _ => 8,
        }
    }

    /// The lane that `ds_permute` and `ds_bpermute` mean by `index` in `lane`, in waves of `W` lanes: RDNA permutes each half
    /// of a wave by itself.
    #[inline(always)]
    pub(crate) fn lane_of_permute<const W: usize>(self, lane: usize, index: usize) -> usize {
        if self.is_rdna() {
            lane & !31 | index & 31
        } else {
            index % W
        }
    }

    /// What the MODE register of a wave is whose kernel asks for `mode`. GFX12 has no bits for NaNs.
    pub(crate) fn mode(self, mode: u32) -> u32 {
        if self.is_gfx12() { mode & 0xff } else { mode }
    }

    /// Its rows, by format. A format may have several lists: what an instruction set has of its own comes before what it shares.
    pub(crate) fn formats(self) -> impl Iterator<Item = &'static (&'static str, &'static [InstructionRow])> {
        let tables = match self {
            Isa::Rdna2 => tables::RDNA2,
            Isa::Rdna3 => tables::RDNA3,
            Isa::Rdna35 => tables::RDNA35,
            Isa::Rdna4 => tables::RDNA4,
            Isa::Gfx125 => tables::GFX125,
            Isa::Cdna2 => tables::CDNA2,
            Isa::Cdna3 => tables::CDNA3,
            Isa::Cdna4 => tables::CDNA4,
        };
        tables.iter().copied().flatten()
    }

    /// The row of an opcode of a format.
    pub(crate) fn row(self, format: &str, opcode: u32) -> Option<&'static InstructionRow> {
        let lists = self.formats().filter(|(name, _)| *name == format);
        let mut rows = lists.flat_map(|(_, rows)| rows.iter());
        rows.find(|row| u32::from(row.opcode) == opcode)
            .filter(|row| row.form != Form::Absent)
    }
}

/// Encoding formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// One scalar source.
    Sop1,
    /// Two scalar sources.
    Sop2,
    /// Scalar comparison.
    Sopc,
    /// A 16-bit constant.
    Sopk,
    /// Program flow, waits, messages.
    Sopp,
    /// Scalar loads.
    Smem,
    /// One source.
    Vop1,
    /// Two sources.
    Vop2,
    /// Comparison.
    Vopc,
    /// Three sources and modifiers, or the long form of the three above.
    Vop3,
    /// Packed and mixed precision.
    Vop3p,
    /// Matrix cores and moves to and from accumulation registers.
    Mai,
    /// Two operations in one instruction.
    Vopd,
    /// The same with three sources each, and signs.
    Vopd3,
    /// Local data share.
    Ds,
    /// Flat addresses.
    Flat,
    /// Private memory.
    Scratch,
    /// Device memory.
    Global,
    /// Buffers that a descriptor describes, and cache controls.
    Mubuf,
}

/// An operand as encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Absent.
    #[default]
    None,
    /// Vector register.
    Vgpr(u8),
    /// Accumulation register.
    Agpr(u8),
    /// Scalar register by its code, 0..=127.
    Scalar(u8),
    /// Inline constant, aperture, SCC, VCCZ or EXECZ by its code, 128..=253.
    Inline(u8),
    /// The dword after the encoding.
    Literal(u32),
    /// The two dwords after it.
    Wide(u64),
    /// The constant of SOPK.
    Constant(i32),
}

/// How the lanes of `src0` are shuffled before the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    /// DPP16 control code.
    Dpp16(u16),
    /// DPP8: eight 3-bit lane numbers.
    Dpp8(u32),
}

/// Data-parallel primitives of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dpp {
    /// Which lane each lane reads.
    pub(crate) shuffle: Shuffle,
    /// A lane whose source is out of range reads 0 and is written; otherwise it is not written.
    pub(crate) bound_ctrl: bool,
    /// Inactive lanes may be read; otherwise they read as zero.
    pub(crate) fetch_inactive: bool,
    /// Rows (of 16 lanes) that are written.
    pub(crate) row_mask: u8,
    /// Banks (of 4 lanes in each row) that are written.
    pub(crate) bank_mask: u8,
}

/// Which part of a register sub-dword addressing takes: bytes 0 to 3, then the low and the high half, then all of it.
pub(crate) const WHOLE: u8 = 6;

/// Sub-dword addressing of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sdwa {
    /// The part of each source.
    pub(crate) select: [u8; 2],
    /// One bit a source: the part is sign-extended.
    pub(crate) extend: u8,
    /// The part of the destination.
    pub(crate) dst: u8,
    /// What the rest of the destination becomes: 0 zero, 1 the result's sign above it, 2 what it was.
    pub(crate) unused: u8,
}

/// Controls of a matrix instruction: broadcast size and block of A, lane pattern of B (signs in double precision).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Broadcast {
    pub(crate) cbsz: u8,
    pub(crate) abid: u8,
    pub(crate) blgp: u8,
}

impl Broadcast {
    /// The block of A that is multiplied in the place of another: each `2^cbsz` of them have one in common.
    pub(crate) fn block(self, block: usize) -> usize {
        (block >> self.cbsz << self.cbsz) + usize::from(self.abid)
    }

    /// The lane of B that is multiplied in the place of another: of a half of the wave, one quarter on, of a quarter.
    pub(crate) fn lane(self, lane: usize) -> usize {
        match self.blgp {
            0 => lane,
            half @ 1..=2 => lane % 32 + 32 * usize::from(half - 1),
            3 => (lane + 16) % 64,
            quarter => lane % 16 + 16 * usize::from(quarter - 4),
        }
    }
}

/// What scales the factors of a matrix instruction: a byte of a source each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scales {
    pub(crate) src: [Operand; 2],
    /// One bit a source: the byte is an odd one.
    pub(crate) op_sel: u8,
    /// One bit a source: the byte is in the high half.
    pub(crate) op_sel_hi: u8,
}

/// One decoded instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) isa: Isa,
    /// Lanes of the waves that execute it: masks take one scalar register for each 32.
    pub(crate) lanes: usize,
    pub(crate) format: Encoding,
    pub(crate) row: &'static InstructionRow,
    /// Bytes of the encoding, literal and DPP control included.
    pub(crate) size: u8,
    /// Destination.
    pub(crate) dst: Operand,
    /// Mask destination; VCC where it is implied.
    pub(crate) sdst: Operand,
    /// Sources. For memory: data, second data.
    pub(crate) src: [Operand; 3],
    /// Address register of DS, FLAT, SCRATCH and GLOBAL.
    pub(crate) address: Operand,
    /// Scalar base of SMEM, SCRATCH and GLOBAL, resource descriptor of MUBUF.
    pub(crate) base: Operand,
    /// SMEM and MUBUF: scalar offset.
    pub(crate) soffset: Operand,
    /// One bit a source. Packed: low half.
    pub(crate) neg: u8,
    /// One bit a source. Packed: negation of the high half.
    pub(crate) abs: u8,
    /// One bit a source, bit 3 for the destination: the high half.
    pub(crate) op_sel: u8,
    /// Packed: the high half of the result takes the source's high half.
    pub(crate) op_sel_hi: u8,
    pub(crate) clamp: bool,
    pub(crate) omod: u8,
    /// `glc`, 1; `slc`, 2; `dlc`, 4. On CDNA3 `sc0`, `nt`, `sc1`. On GFX12 a hint in the lowest three bits and the scope above it.
    pub(crate) cache: u8,
    /// DS: the address is in the global data share.
    pub(crate) gds: bool,
    /// MUBUF: the address register holds an index, and after it the offset if there is one too.
    pub(crate) idxen: bool,
    /// MUBUF: an offset comes from an address register.
    pub(crate) offen: bool,
    /// GFX12.5: the register of an address counts what is accessed, not bytes.
    pub(crate) scale_offset: bool,
    /// GFX12.5: nothing outside the cache may see what is accessed.
    pub(crate) non_volatile: bool,
    /// Immediate of SOPK and SOPP, offset of memory instructions.
    pub(crate) imm: i32,
    pub(crate) dpp: Option<Dpp>,
    pub(crate) sdwa: Option<Sdwa>,
    pub(crate) broadcast: Broadcast,
    pub(crate) scales: Option<Scales>,
    /// A 16-bit result clears the other half of its register.
    pub(crate) clears_half: bool,
    /// GFX12.5: the banks of 256 vector registers that the numbers are of, two bits a role: three sources, destination. Texts have the
    /// numbers of the encoding.
    pub(crate) banks: u8,
    /// The second half of a dual instruction.
    pub(crate) dual: Option<Box<Instruction>>,
}

/// What an instruction is called: its mnemonic without the suffix of its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// Which memory it addresses, where the mnemonic of the table does not say it.
    pub(crate) space: &'static str,
    /// As the table has it.
    pub(crate) mnemonic: &'static str,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.space {
            "" => f.write_str(self.mnemonic),
            space => write!(f, "{space}_{}", self.mnemonic),
        }
    }
}

impl Instruction {
    /// What it is called.
    pub(crate) fn name(&self) -> Name {
        let space = match self.format {
            _ if self.row.mnemonic.starts_with("cluster") => "",
            Encoding::Flat => "flat",
            Encoding::Scratch => "scratch",
            Encoding::Global => "global",
            _ => "",
        };
        Name {
            space,
            mnemonic: self.row.mnemonic,
        }
    }

    /// The elements of the two factors, where the instruction and not its opcode names them; of a format without meaning none.
    pub(crate) fn factors(&self) -> Option<[Option<Element>; 2]> {
        let element = |format: u8| match format {
            0 => Some(Element::Fp8),
            1 => Some(Element::Bf8),
            2 => Some(Element::Fp6),
            3 => Some(Element::Bf6),
            4 => Some(Element::Fp4),
            _ => None,
        };
        let named = matches!(self.row.op, Op::Mfma16x128F8f6f4 | Op::Mfma32x64F8f6f4);
        named.then(|| [self.broadcast.cbsz, self.broadcast.blgp].map(element))
    }

    /// The kind of a source: of factors whose elements the instruction names, as wide as these are.
    pub(crate) fn source_kind(&self, i: usize, kind: Kind) -> Kind {
        match self.factors().and_then(|factors| *factors.get(i)?) {
            Some(Element::Fp6 | Element::Bf6) => Kind::B192,
            Some(Element::Fp4) => Kind::B128,
            _ => kind,
        }
    }

    /// The same instruction with registers of these banks.
    pub(crate) fn in_banks(mut self, banks: u8) -> Self {
        self.banks = banks;
        if let Some(dual) = &mut self.dual {
            dual.banks = banks;
        }
        self
    }

    fn bank(&self, shift: usize) -> u16 {
        u16::from(self.banks >> shift & 3) << 8
    }

    /// What the number of a vector register of source `i` lacks. Of memory instructions the address is the first source, and data the next; buffers have
    /// their data where others have the destination.
    pub(crate) fn bank_of_source(&self, i: usize) -> u16 {
        self.bank(match self.format {
            Encoding::Mubuf => 6,
            Encoding::Ds | Encoding::Flat | Encoding::Scratch | Encoding::Global => 2 + 2 * i,
            _ if self.row.form == Form::Acc && i + 1 == self.row.op.signature().src.len() => 6,
            _ => 2 * i,
        })
    }

    /// The same of the address.
    pub(crate) fn bank_of_address(&self) -> u16 {
        self.bank(0)
    }

    /// The same of the destination.
    pub(crate) fn bank_of_destination(&self) -> u16 {
        self.bank(6)
    }

    /// An instruction without operands.
    pub(crate) fn new(format: Encoding, row: &'static InstructionRow, size: u8) -> Self {
        Instruction {
            isa: Isa::Rdna3,
            lanes: 64,
            format,
            row,
            size,
            dst: Operand::None,
            sdst: Operand::None,
            src: [Operand::None; 3],
            address: Operand::None,
            base: Operand::None,
            soffset: Operand::None,
            neg: 0,
            abs: 0,
            op_sel: 0,
            op_sel_hi: 7,
            clamp: false,
            omod: 0,
            cache: 0,
            gds: false,
            idxen: false,
            offen: false,
            scale_offset: false,
            non_volatile: false,
            imm: 0,
            dpp: None,
            sdwa: None,
            broadcast: Broadcast::default(),
            scales: None,
            clears_half: false,
            banks: 0,
            dual: None,
        }
    }
}
