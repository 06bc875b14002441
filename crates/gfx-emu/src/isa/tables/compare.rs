//! VOPC: comparisons. The VOP3 opcode is the same.

use super::*;

/// A block of comparisons of one type. The low bits of the opcode are the relations that count as true; `$exec` more writes EXEC.
macro_rules! compare {
    ($exec:literal $form:ident; $(($base:literal, $op:ident, $ty:literal, [$($relations:literal $name:literal),*]))*) => {
        &[$($(
            compared($base + $relations, concat!("v_cmp_", $name, "_", $ty), $op, Form::Usual, $relations),
            compared($base + $relations + $exec, concat!("v_cmpx_", $name, "_", $ty), $op, Form::$form, $relations),
        )*)*]
    };
}

const fn compared(opcode: u16, mnemonic: &'static str, op: Op, form: Form, relations: u8) -> InstructionRow {
    InstructionRow {
        opcode,
        mnemonic,
        op,
        form,
        relations,
    }
}

/// RDNA3's.
pub(crate) const RDNA3: &[InstructionRow] = compare! { 0x80 CmpX;
    (0x00, CmpF16, "f16", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "t"])
    (0x10, CmpF32, "f32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "t"])
    (0x20, CmpF64, "f64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "t"])
    (0x30, CmpI16, "i16", [1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge"])
    (0x38, CmpU16, "u16", [1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge"])
    (0x40, CmpI32, "i32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0x48, CmpU32, "u32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0x50, CmpI64, "i64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0x58, CmpU64, "u64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    // The second source is the set of classes; the function answers "equal" when the class is in it.
    (0x7b, CmpClassF16, "f16", [2 "class"])
    (0x7c, CmpClassF32, "f32", [2 "class"])
    (0x7d, CmpClassF64, "f64", [2 "class"])
};

/// RDNA2's.
pub(crate) const RDNA2: &[InstructionRow] = compare! { 0x10 CmpX;
    (0x00, CmpF32, "f32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "tru"])
    (0x20, CmpF64, "f64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "tru"])
    (0x80, CmpI32, "i32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xa0, CmpI64, "i64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xc0, CmpU32, "u32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xe0, CmpU64, "u64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0x88, CmpI16, "i16", [1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge"])
    (0xa8, CmpU16, "u16", [1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge"])
    // Half precision has two blocks, of eight relations each.
    (0xc8, CmpF16, "f16", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o"])
    (0xe0, CmpF16, "f16", [8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "tru"])
    // The second source is the set of classes; the function answers "equal" when the class is in it.
    (0x86, CmpClassF32, "f32", [2 "class"])
    (0x8d, CmpClassF16, "f16", [2 "class"])
    (0xa6, CmpClassF64, "f64", [2 "class"])
};

/// CDNA3's.
pub(crate) const CDNA3: &[InstructionRow] = compare! { 0x10 CmpXToo;
    (0x20, CmpF16, "f16", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "tru"])
    (0x40, CmpF32, "f32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "tru"])
    (0x60, CmpF64, "f64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt", 15 "tru"])
    (0xa0, CmpI16, "i16", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xa8, CmpU16, "u16", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xc0, CmpI32, "i32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xc8, CmpU32, "u32", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xe0, CmpI64, "i64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
    (0xe8, CmpU64, "u64", [0 "f", 1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "ne", 6 "ge", 7 "t"])
};

/// CDNA3's with the set of classes.
pub(crate) const CDNA3_CLASS: &[InstructionRow] = compare! { 1 CmpXToo;
    (0x0e, CmpClassF32, "f32", [2 "class"])
    (0x10, CmpClassF64, "f64", [2 "class"])
    (0x12, CmpClassF16, "f16", [2 "class"])
};
