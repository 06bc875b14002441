//! Scalar instructions as instructions of the host's general registers. The scalar registers stay in memory.

use super::asm::{Alu, Gpr, If, RAX, RCX, RDX, Shift};
use super::compile::{Compiler, SCC, scalar_register};
use crate::isa::{Inst, Op, Src};
use crate::wave::reg;

/// What becomes of SCC.
enum Flag {
    Kept,
    /// Set where the result is not zero.
    NotZero,
    /// Set by the host's flags.
    If(If),
}

/// Whether a source is a scalar register or a constant.
fn is_plain(src: Src, wide: bool) -> bool {
    match src {
        // The second half of NULL is another register.
        Src::Scalar(n) => !wide || n < 127 && usize::from(n) != reg::NULL,
        Src::Const(_) => true,
        _ => false,
    }
}

impl Compiler<'_> {
    fn scalar_source(&mut self, to: Gpr, src: Src, wide: bool) {
        match src {
            Src::Scalar(n) => self.asm.load(wide, to, scalar_register(n.into())),
            Src::Const(value) if wide => self.asm.constant_to(to, value),
            Src::Const(value) => self.asm.constant_to(to, u64::from(value as u32)),
            _ => {}
        }
    }

    /// Stores RAX as the result.
    fn scalar_result(&mut self, inst: &Inst, wide: bool, flag: Flag) {
        // Before the store, which changes no flags, and no result has to be looked at again.
        if let Flag::If(condition) = flag {
            self.asm.set_byte(condition, SCC);
        }
        if usize::from(inst.dst) != reg::NULL {
            self.asm.store(wide, scalar_register(inst.dst.into()), RAX);
        }
        if let Flag::NotZero = flag {
            self.asm.alu(wide, Alu::Or, RAX, RAX);
            self.asm.set_byte(If::NotEqual, SCC);
        }
    }

    /// Compiles a scalar instruction; `false` when it is not one of those that are known here.
    pub(super) fn scalar(&mut self, inst: &Inst) -> bool {
        if inst.op == Op::SBfeU32 {
            return self.scalar_field(inst);
        }
        let Some(kind) = kind(inst.op) else {
            return false;
        };
        let wide = kind.wide;
        let sources = inst.op.signature().src.len();
        let narrow_second = matches!(kind.does, Does::Shift(_));
        let plain = |i: usize| is_plain(inst.src[i], wide && !(narrow_second && i == 1));
        let fits = !wide || inst.dst < 127;
        let compares = matches!(kind.does, Does::Compare(_));
        // Waves of 32 lanes have no second half of EXEC to work on.
        let saves = matches!(kind.does, Does::SaveExec { .. }) && wide && self.lanes == 32;
        if !(0..sources).all(plain) || !fits && !compares || saves {
            return false;
        }
        match kind.does {
            Does::Move => {
                self.scalar_source(RAX, inst.src[0], wide);
                self.scalar_result(inst, wide, Flag::Kept);
            }
            Does::Not => {
                self.scalar_source(RAX, inst.src[0], wide);
                self.asm.not(wide, RAX);
                self.scalar_result(inst, wide, Flag::NotZero);
            }
            Does::Sum(alu, condition) => {
                self.both(inst, wide);
                self.asm.alu(wide, alu, RAX, RCX);
                self.scalar_result(inst, wide, Flag::If(condition));
            }
            Does::SumWithCarry(alu) => {
                self.both(inst, wide);
                // One less than SCC carries where SCC is 1.
                self.asm.load_byte(RDX, SCC);
                self.asm.alu_constant(false, Alu::Add, RDX, -1);
                self.asm.alu(wide, alu, RAX, RCX);
                self.scalar_result(inst, wide, Flag::If(If::Below));
            }
            Does::Bits { alu, inverted } => {
                self.both(inst, wide);
                if inverted {
                    self.asm.not(wide, RCX);
                }
                self.asm.alu(wide, alu, RAX, RCX);
                self.scalar_result(inst, wide, Flag::NotZero);
            }
            Does::Shift(shift) => {
                self.scalar_source(RAX, inst.src[0], wide);
                if let Src::Const(by) = inst.src[1] {
                    let by = by as u8 & if wide { 63 } else { 31 };
                    self.asm.shift_constant(wide, shift, RAX, by);
                } else {
                    self.scalar_source(RCX, inst.src[1], false);
                    self.asm.shift(wide, shift, RAX);
                }
                self.scalar_result(inst, wide, Flag::NotZero);
            }
            Does::Multiply => {
                self.both(inst, false);
                self.asm.multiply(false, RAX, RCX);
                self.scalar_result(inst, wide, Flag::Kept);
            }
            Does::MultiplyHigh => {
                self.both(inst, false);
                self.asm.multiply(true, RAX, RCX);
                self.asm.shift_constant(true, Shift::Right, RAX, 32);
                self.scalar_result(inst, wide, Flag::Kept);
            }
            Does::Select => {
                self.both(inst, wide);
                self.asm.compare_byte(SCC, 0);
                self.asm.move_if(wide, If::Equal, RAX, RCX);
                self.scalar_result(inst, wide, Flag::Kept);
            }
            Does::Compare(condition) => {
                self.both(inst, wide);
                self.asm.alu(wide, Alu::Cmp, RAX, RCX);
                self.asm.set_byte(condition, SCC);
            }
            Does::TestBit(condition) => {
                self.scalar_source(RAX, inst.src[0], wide);
                self.scalar_source(RCX, inst.src[1], false);
                self.asm.test_bit(wide, RAX, RCX);
                self.asm.set_byte(condition, SCC);
            }
            Does::SaveExec {
                alu,
                inverts_exec,
                inverted,
            } => {
                let exec = scalar_register(reg::EXEC);
                self.scalar_source(RAX, inst.src[0], wide);
                self.asm.load(wide, RCX, exec);
                self.asm.copy(RDX, RCX);
                if inverts_exec {
                    self.asm.not(wide, RCX);
                }
                if inverted {
                    self.asm.not(wide, RAX);
                }
                self.asm.alu(wide, alu, RAX, RCX);
                self.asm.store(wide, exec, RAX);
                self.asm.set_byte(If::NotEqual, SCC);
                if usize::from(inst.dst) != reg::NULL {
                    self.asm.store(wide, scalar_register(inst.dst.into()), RDX);
                }
            }
        }
        true
    }

    /// Bits from a constant place on, as many as a constant says.
    fn scalar_field(&mut self, inst: &Inst) -> bool {
        let (Src::Const(field), true) = (inst.src[1], is_plain(inst.src[0], false)) else {
            return false;
        };
        let (first, width) = (field as u8 & 31, (field >> 16) as u32 & 127);
        self.scalar_source(RAX, inst.src[0], false);
        self.asm.shift_constant(false, Shift::Right, RAX, first);
        if width < 32 {
            let bits = (1_u32 << width) - 1;
            self.asm.alu_constant(false, Alu::And, RAX, bits.cast_signed());
        }
        self.scalar_result(inst, false, Flag::NotZero);
        true
    }

    /// Both sources, in RAX and RCX.
    fn both(&mut self, inst: &Inst, wide: bool) {
        self.scalar_source(RAX, inst.src[0], wide);
        self.scalar_source(RCX, inst.src[1], wide);
    }
}

/// How a scalar operation is compiled.
struct ScalarForm {
    wide: bool,
    does: Does,
}

enum Does {
    Move,
    Not,
    /// SCC is a flag of the host's.
    Sum(Alu, If),
    SumWithCarry(Alu),
    Bits {
        alu: Alu,
        /// The second source is.
        inverted: bool,
    },
    Shift(Shift),
    Multiply,
    MultiplyHigh,
    Select,
    Compare(If),
    TestBit(If),
    SaveExec {
        alu: Alu,
        inverts_exec: bool,
        inverted: bool,
    },
}

#[rustfmt::skip] // one operation a line
fn kind(op: Op) -> Option<ScalarForm> {
    let bits = |alu, inverted| Does::Bits { alu, inverted };
    let save = |alu, inverts_exec, inverted| Does::SaveExec { alu, inverts_exec, inverted };
    let (wide, does) = match op {
        Op::SMovB32 => (false, Does::Move),
        Op::SMovB64 => (true, Does::Move),
        Op::SNotB32 => (false, Does::Not),
        Op::SNotB64 => (true, Does::Not),
        Op::SAddU32 => (false, Does::Sum(Alu::Add, If::Below)),
        Op::SSubU32 => (false, Does::Sum(Alu::Sub, If::Below)),
        Op::SAddI32 => (false, Does::Sum(Alu::Add, If::Overflow)),
        Op::SSubI32 => (false, Does::Sum(Alu::Sub, If::Overflow)),
        Op::SAddcU32 => (false, Does::SumWithCarry(Alu::Adc)),
        Op::SSubbU32 => (false, Does::SumWithCarry(Alu::Sbb)),
        Op::SAndB32 => (false, bits(Alu::And, false)),
        Op::SAndB64 => (true, bits(Alu::And, false)),
        Op::SOrB32 => (false, bits(Alu::Or, false)),
        Op::SOrB64 => (true, bits(Alu::Or, false)),
        Op::SXorB32 => (false, bits(Alu::Xor, false)),
        Op::SXorB64 => (true, bits(Alu::Xor, false)),
        Op::SAndNot1B32 => (false, bits(Alu::And, true)),
        Op::SAndNot1B64 => (true, bits(Alu::And, true)),
        Op::SOrNot1B32 => (false, bits(Alu::Or, true)),
        Op::SOrNot1B64 => (true, bits(Alu::Or, true)),
        Op::SXnorB32 => (false, bits(Alu::Xor, true)),
        Op::SXnorB64 => (true, bits(Alu::Xor, true)),
        Op::SLshlB32 => (false, Does::Shift(Shift::Left)),
        Op::SLshlB64 => (true, Does::Shift(Shift::Left)),
        Op::SLshrB32 => (false, Does::Shift(Shift::Right)),
        Op::SLshrB64 => (true, Does::Shift(Shift::Right)),
        Op::SAshrI32 => (false, Does::Shift(Shift::RightSigned)),
        Op::SAshrI64 => (true, Does::Shift(Shift::RightSigned)),
        Op::SMulI32 => (false, Does::Multiply),
        Op::SMulHiU32 => (false, Does::MultiplyHigh),
        Op::SCselectB32 => (false, Does::Select),
        Op::SCselectB64 => (true, Does::Select),
        Op::SCmpEqI32 | Op::SCmpEqU32 => (false, Does::Compare(If::Equal)),
        Op::SCmpLgI32 | Op::SCmpLgU32 => (false, Does::Compare(If::NotEqual)),
        Op::SCmpGtI32 => (false, Does::Compare(If::Greater)),
        Op::SCmpGeI32 => (false, Does::Compare(If::GreaterOrEqual)),
        Op::SCmpLtI32 => (false, Does::Compare(If::Less)),
        Op::SCmpLeI32 => (false, Does::Compare(If::LessOrEqual)),
        Op::SCmpGtU32 => (false, Does::Compare(If::Above)),
        Op::SCmpGeU32 => (false, Does::Compare(If::AboveOrEqual)),
        Op::SCmpLtU32 => (false, Does::Compare(If::Below)),
        Op::SCmpLeU32 => (false, Does::Compare(If::BelowOrEqual)),
        Op::SCmpEqU64 => (true, Does::Compare(If::Equal)),
        Op::SCmpLgU64 => (true, Does::Compare(If::NotEqual)),
        Op::SBitcmp0B32 => (false, Does::TestBit(If::AboveOrEqual)),
        Op::SBitcmp1B32 => (false, Does::TestBit(If::Below)),
        Op::SAndSaveexecB32 => (false, save(Alu::And, false, false)),
        Op::SAndSaveexecB64 => (true, save(Alu::And, false, false)),
        Op::SOrSaveexecB32 => (false, save(Alu::Or, false, false)),
        Op::SOrSaveexecB64 => (true, save(Alu::Or, false, false)),
        Op::SAndNot0SaveexecB32 => (false, save(Alu::And, false, true)),
        Op::SAndNot0SaveexecB64 => (true, save(Alu::And, false, true)),
        Op::SAndNot1SaveexecB32 => (false, save(Alu::And, true, false)),
        Op::SAndNot1SaveexecB64 => (true, save(Alu::And, true, false)),
        Op::SXorSaveexecB32 => (false, save(Alu::Xor, false, false)),
        Op::SXorSaveexecB64 => (true, save(Alu::Xor, false, false)),
        _ => return None,
    };
    Some(ScalarForm { wide, does })
}
