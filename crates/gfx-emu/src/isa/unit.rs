//! What executes an operation, and what it has to know: the last column of the table of operations.
//!
//! Lane functions, comparisons and scalar functions name a function in that column. Everything else says here, as data, what
//! it does. The interpreter ([`crate::exec`]), the counters and the coverage match on these types without a wildcard, so that a new
//! variant needs its code. The compiler of kernels (`exec/jit/`) calls the interpreter for what it does not know, and the prover
//! proves nothing of it.

use crate::fault::Access;

/// The trap that `__builtin_debugtrap` becomes: the kernel goes on after it.
pub(crate) const TRAP_DEBUG: i32 = 3;

/// Which part of the executor runs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A function of each lane alone.
    Lane,
    /// Lane-wise comparison.
    Compare,
    /// A function of scalars.
    Scalar,
    /// Vector operations that look at other lanes, masks or several registers, and cannot fail.
    Vector,
    /// Vector moves whose register numbers have M0 added, which may name a register that the wave lacks.
    MoveRelative(Relative),
    /// Exchange of two registers by such numbers.
    SwapRelative,
    /// The matrix instructions of RDNA3.
    Wmma(Wmma),
    /// The matrix instructions of GFX12.
    Tiles(Tiles),
    /// The matrix cores of CDNA.
    Mfma(Mfma),
    /// The sparse matrix cores of CDNA3.
    Smfmac(Smfmac),
    /// A sparse product of RDNA4: A has half of the depth.
    SparseTiles(Tiles),
    /// Scalar operations on the wave's state: program counter, EXEC, MODE, messages.
    Control(Control),
    /// The row is for the printer; executing it is an error that names the instruction.
    Unsupported,
    /// Scalar loads, stores and atomics.
    ScalarMemory(ScalarAccess),
    /// Loads and stores.
    Memory(Transfer),
    /// Read-modify-writes.
    Atomic(Atomic),
    /// Operations of the data share alone.
    Share(Share),
}

/// The pattern of units that stay within registers and work on no matrices.
macro_rules! registers_alone {
    () => {
        Unit::Lane | Unit::Compare | Unit::Scalar | Unit::Vector | Unit::MoveRelative(_) | Unit::SwapRelative
    };
}
pub(crate) use registers_alone;

/// The pattern of units that multiply matrices.
macro_rules! matrix_products {
    () => {
        Unit::Wmma(_) | Unit::Tiles(_) | Unit::Mfma(_) | Unit::Smfmac(_) | Unit::SparseTiles(_)
    };
}
pub(crate) use matrix_products;

/// The pattern of units that go to memory or to the data share.
macro_rules! reaching_out {
    () => {
        Unit::ScalarMemory(_) | Unit::Memory(_) | Unit::Atomic(_) | Unit::Share(_)
    };
}
pub(crate) use reaching_out;

impl Unit {
    /// Whether the executor's table has a function for it: it cannot fail, and needs no more than registers.
    pub(crate) fn is_tabled(self) -> bool {
        matches!(self, Unit::Lane | Unit::Compare | Unit::Scalar | Unit::Vector)
    }

    /// Whether it works on vector registers and goes to no memory.
    pub(crate) fn is_vector(self) -> bool {
        match self {
            Unit::Lane
            | Unit::Compare
            | Unit::Vector
            | Unit::MoveRelative(_)
            | Unit::SwapRelative
            | matrix_products!() => true,
            Unit::Scalar | Unit::Control(_) | Unit::Unsupported | reaching_out!() => false,
        }
    }

    /// Whether it goes to memory other than by the data share's own operations.
    pub(crate) fn reaches_memory(self) -> bool {
        matches!(self, Unit::ScalarMemory(_) | Unit::Memory(_) | Unit::Atomic(_))
    }
}

/// To which registers M0 is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relative {
    /// To the source.
    Source,
    /// To the destination.
    Destination,
    /// To both.
    Both,
    /// Bits 9:0 to the source, bits 25:16 to the destination.
    Fields,
}

impl Relative {
    /// What is added to the source and to the destination.
    pub(crate) fn offsets(self, m0: u32) -> (usize, usize) {
        let m0 = m0 as usize;
        match self {
            Relative::Source => (m0, 0),
            Relative::Destination => (0, m0),
            Relative::Both => (m0, m0),
            Relative::Fields => (m0 & 0x3ff, m0 >> 16 & 0x3ff),
        }
    }
}

/// What an element of a matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F64,
    F32,
    /// Single precision without the last 13 bits of the fraction.
    Xf32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    I8,
    I4,
    /// Two bits of exponent and three of mantissa.
    Fp6,
    /// Three bits of exponent and two of mantissa.
    Bf6,
    /// Two bits of exponent and one of mantissa.
    Fp4,
}

impl Element {
    pub(crate) fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::F32 | Element::Xf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::Fp8 | Element::Bf8 | Element::I8 => 8,
            Element::Fp6 | Element::Bf6 => 6,
            Element::I4 | Element::Fp4 => 4,
        }
    }
}

/// A matrix instruction of RDNA3: 16 rows, columns and steps of depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wmma {
    /// Element of A and B.
    pub(crate) element: Element,
    /// C and D have elements of that size too, in the half that `op_sel` names; otherwise of 32 bits.
    pub(crate) narrow: bool,
}

/// A matrix instruction of GFX12: 16 rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiles {
    pub(crate) a: Element,
    pub(crate) b: Element,
    /// Steps of depth.
    pub(crate) depth: u8,
    /// What the elements of C and D are, two in a register; otherwise they have 32 bits.
    pub(crate) halves: Option<Element>,
}

impl Tiles {
    /// Whether it is one of gfx1250's, whose factors lie in longer runs than RDNA4's.
    pub(crate) fn is_in_runs(self) -> bool {
        match self.a {
            Element::F32 => true,
            Element::F16 | Element::Bf16 => self.depth > 16,
            Element::Fp8 | Element::Bf8 | Element::I8 => self.depth > 32,
            Element::F64 | Element::Xf32 | Element::I4 | Element::Fp6 | Element::Bf6 | Element::Fp4 => false,
        }
    }
}

/// A matrix instruction of CDNA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mfma {
    /// Rows and columns of a block.
    pub(crate) size: u8,
    pub(crate) depth: u8,
    pub(crate) blocks: u8,
    pub(crate) a: Element,
    pub(crate) b: Element,
}

/// A sparse matrix instruction of CDNA3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Smfmac {
    /// Rows and columns.
    pub(crate) size: u8,
    /// Depth of B.
    pub(crate) depth: u8,
    pub(crate) a: Element,
    pub(crate) b: Element,
}

/// What a control operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// Waits, delays, priorities, prefetch and cache hints: there is nothing to wait for.
    Wait,
    Branch(Condition),
    End,
    Barrier,
    /// The wave is at the barrier, and goes on.
    BarrierSignal,
    /// It waits until all are.
    BarrierWait,
    Message,
    /// A message with an answer of so many registers.
    MessageReturn(RegisterCount),
    Trap,
    /// Halts the wave, or takes that back.
    Halt,
    RoundMode,
    DenormMode,
    GetRegister,
    SetRegister,
    GetPc,
    SetPc,
    SwapPc,
    Call,
    /// Scalar moves of 32 or 64 bits whose register numbers have M0 added.
    MoveRelative(Relative, RegisterCount),
    Time,
    /// Indexed vector registers: on, another index, other operands, off.
    IndexOn,
    IndexValue,
    IndexMode,
    IndexOff,
}

/// When a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    /// SCC is this.
    Scc(bool),
    /// VCC is zero: this.
    VccIsZero(bool),
    /// EXEC is zero: this.
    ExecIsZero(bool),
    /// A debugger is attached.
    Debugger,
}

/// How many registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterCount {
    One,
    Two,
    Three,
    Four,
}

impl RegisterCount {
    pub(crate) fn count(self) -> usize {
        match self {
            RegisterCount::One => 1,
            RegisterCount::Two => 2,
            RegisterCount::Three => 3,
            RegisterCount::Four => 4,
        }
    }
}

/// What a scalar memory operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarAccess {
    /// Loads so many dwords: 1, 2, 3, 4, 8 or 16.
    Load(u8),
    /// Loads so many bytes, fewer than a dword has.
    LoadPart { bytes: u8, signed: bool },
    /// Stores so many dwords.
    Store(u8),
    /// A read-modify-write.
    Atomic(Atomic),
}

/// What a load or store does at the address of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// Loads registers.
    Load(RegisterCount),
    /// Loads 8 or 16 bits.
    LoadPart(Part),
    /// Loads a dword; the number of the lane is the index.
    LoadAtLane,
    /// Stores registers.
    Store(RegisterCount),
    /// Stores so many bytes, of the high half of the register or of the low one.
    StorePart { bytes: u8, high: bool },
    /// Stores a dword; the number of the lane is the index.
    StoreAtLane,
    /// Loads so many bytes and puts them into the data share, as a dword for each lane.
    LoadToShare { bytes: u8, signed: bool },
    /// Loads elements of so many bits, sixteen lanes together, and gives each lane a column of what they hold.
    LoadTransposed(u8),
}

/// A load of less than a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) bytes: u8,
    /// It is sign-extended, not zero-extended.
    pub(crate) signed: bool,
    /// `None`: the whole register is written; else the high half or the low one, and the other is kept.
    pub(crate) half: Option<bool>,
}

impl Part {
    /// The register after a load of `value`, zero-extended, into one that held `old`. Cards with error correction of their
    /// registers clear the half that is not loaded: `clears`.
    pub(crate) fn merged(self, value: u32, old: u32, clears: bool) -> u32 {
        let value = extended(value, self.bytes, self.signed);
        match self.half {
            None => value,
            Some(high) if clears => (value & 0xffff) << if high { 16 } else { 0 },
            Some(false) => old & 0xffff_0000 | value & 0xffff,
            Some(true) => old & 0xffff | value << 16,
        }
    }
}

/// The low `bytes` bytes of a value, sign-extended or as they are.
pub(crate) fn extended(value: u32, bytes: u8, signed: bool) -> u32 {
    let unused = 32 - 8 * u32::from(bytes);
    if signed {
        ((value << unused) as i32 >> unused) as u32
    } else {
        value
    }
}

impl Transfer {
    /// Bytes at the address of a lane.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Transfer::Load(words) | Transfer::Store(words) => 4 * words.count() as u64,
            Transfer::LoadAtLane | Transfer::StoreAtLane => 4,
            Transfer::LoadTransposed(bits) => {
                if bits == 6 {
                    12
                } else {
                    8
                }
            }
            Transfer::LoadPart(part) => part.bytes.into(),
            Transfer::StorePart { bytes, .. } | Transfer::LoadToShare { bytes, .. } => bytes.into(),
        }
    }

    /// What it does there.
    pub(crate) fn access(self) -> Access {
        match self {
            Transfer::Load(_)
            | Transfer::LoadAtLane
            | Transfer::LoadPart(_)
            | Transfer::LoadToShare { .. }
            | Transfer::LoadTransposed(_) => Access::Load,
            Transfer::Store(_) | Transfer::StoreAtLane | Transfer::StorePart { .. } => Access::Store,
        }
    }

    /// Whether the number of the lane is the index.
    pub(crate) fn adds_lane(self) -> bool {
        matches!(self, Transfer::LoadAtLane | Transfer::StoreAtLane)
    }

    /// Whether the data goes to the data share instead of a register.
    pub(crate) fn goes_to_share(self) -> bool {
        matches!(self, Transfer::LoadToShare { .. })
    }

    /// Whether it stores the high half of its register.
    pub(crate) fn stores_high(self) -> bool {
        matches!(self, Transfer::StorePart { high: true, .. })
    }
}

/// A read-modify-write, by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Dword(Atomic32),
    Qword(Atomic64),
}

impl Atomic {
    /// Registers of a value.
    pub(crate) fn words(self) -> usize {
        match self {
            Atomic::Dword(_) => 1,
            Atomic::Qword(_) => 2,
        }
    }

    /// Whether the old value decides what happens: not of an exchange whose result nobody asks for.
    pub(crate) fn reads(self) -> bool {
        !matches!(
            self,
            Atomic::Dword(Atomic32::Swap) | Atomic::Qword(Atomic64::Swap)
        )
    }
}

/// A read-modify-write of a dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic32 {
    Swap,
    CompareSwap,
    CompareSwapFloat,
    Add,
    Sub,
    ReverseSub,
    /// Subtraction that stops at zero.
    ClampedSub,
    /// Subtraction where there is enough.
    ConditionalSub,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    /// Clears the bits of the data, then sets those of the second operand.
    MaskOr,
    MinFloat,
    MaxFloat,
    AddFloat,
    PackedAddF16,
    PackedAddBf16,
    Wrap,
}

/// A read-modify-write of a qword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic64 {
    Swap,
    CompareSwap,
    CompareSwapFloat,
    Add,
    Sub,
    ReverseSub,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    MaskOr,
    MinFloat,
    MaxFloat,
    AddFloat,
    ExchangeMarked,
}

/// What an operation of the data share alone does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Loads so many dwords from each of two addresses.
    Load2(RegisterCount),
    /// Stores so many dwords to each of two addresses.
    Store2(RegisterCount),
    /// Exchanges so many dwords at each of two addresses.
    Exchange2(RegisterCount),
    /// Each lane reads another one, by a pattern of the instruction.
    Swizzle,
    /// Each lane gives its value to the lane it names.
    Permute,
    /// Each lane takes the value of the lane it names.
    Bpermute,
    /// Takes the number of active lanes off a counter.
    Consume,
    /// Adds the number of active lanes to a counter.
    Append,
}

impl Share {
    /// Whether it exchanges values between lanes and touches no memory.
    pub(crate) fn is_exchange(self) -> bool {
        matches!(self, Share::Swizzle | Share::Permute | Share::Bpermute)
    }

    /// Whether it counts at the address that M0 holds.
    pub(crate) fn counts(self) -> bool {
        matches!(self, Share::Consume | Share::Append)
    }
}
