//! An encoder of the x86-64 instructions that compiled kernels are made of.
//!
//! Vectors are 512 bits wide, in the EVEX encoding (Intel SDM volume 2, "EVEX prefix"). Masks are in the VEX encoding. A test
//! holds the bytes to those of LLVM's assembler.

pub(super) use super::opcodes::{Opcode, v};

/// A general register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gpr(pub(super) u8);

pub(super) const RAX: Gpr = Gpr(0);
pub(super) const RCX: Gpr = Gpr(1);
pub(super) const RDX: Gpr = Gpr(2);
pub(super) const RBX: Gpr = Gpr(3);
pub(super) const RSP: Gpr = Gpr(4);
pub(super) const RBP: Gpr = Gpr(5);
pub(super) const RSI: Gpr = Gpr(6);
pub(super) const RDI: Gpr = Gpr(7);
pub(super) const R12: Gpr = Gpr(12);
pub(super) const R13: Gpr = Gpr(13);
pub(super) const R14: Gpr = Gpr(14);
pub(super) const R15: Gpr = Gpr(15);

/// A vector register, 0 to 31.
pub(super) type Zmm = u8;
/// A mask register, 0 to 7. As the mask of an instruction, 0 stands for every lane.
pub(super) type MaskRegister = u8;

/// A place in the code that is known once all of it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

/// Memory at a distance from a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mem {
    pub(super) base: Gpr,
    pub(super) disp: i32,
}

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rm {
    Reg(Zmm),
    /// 64 bytes.
    Full(Mem),
    /// Four bytes, for every lane. Instructions that are called a broadcast themselves take it as well.
    Splat(Mem),
    /// A constant for every lane.
    Const(u32),
    /// A constant that is a row of its own.
    Row([u32; 16]),
}

/// An operation of general registers, by the byte of its form `register, memory or register`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Alu {
    Add = 0x03,
    Or = 0x0b,
    Adc = 0x13,
    Sbb = 0x1b,
    And = 0x23,
    Sub = 0x2b,
    Xor = 0x33,
    Cmp = 0x3b,
}

/// A condition of a jump, a set or a conditional move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum If {
    Overflow = 0,
    Below = 2,
    AboveOrEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowOrEqual = 6,
    Above = 7,
    Negative = 8,
    Less = 12,
    GreaterOrEqual = 13,
    LessOrEqual = 14,
    Greater = 15,
}

/// A shift of a general register, by its register field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shift {
    Left = 4,
    Right = 5,
    RightSigned = 7,
}

/// Code that is being written.
#[derive(Debug, Default)]
pub(super) struct Asm {
    pub(super) bytes: Vec<u8>,
    /// Where each label is.
    labels: Vec<Option<u32>>,
    /// Four bytes that become the distance from their end, and from so many bytes after them, to a label.
    jumps: Vec<(u32, u32, Label)>,
    /// Constants after the code, each of one dword or of sixteen.
    words: Vec<(u32, Label)>,
    rows: Vec<([u32; 16], Label)>,
}

impl Asm {
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// The label is here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.bytes.len() as u32);
    }

    /// Where a label is, once it is.
    pub(super) fn place(&self, label: Label) -> Option<u32> {
        self.labels[label.0 as usize]
    }

    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn dword(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// The bytes of `register, [base + disp]`; a short distance counts in `unit` bytes.
    fn memory(&mut self, register: u8, mem: Mem, unit: i32) {
        let short = mem.disp % unit == 0 && (-128..128).contains(&(mem.disp / unit));
        let mode = if short { 0x40 } else { 0x80 };
        self.byte(mode | (register & 7) << 3 | mem.base.0 & 7);
        if mem.base.0 & 7 == RSP.0 {
            self.byte(0x24);
        }
        if short {
            self.byte((mem.disp / unit) as i8 as u8);
        } else {
            self.dword(mem.disp as u32);
        }
    }

    /// Four bytes that will name a label, relative to `after` bytes after them.
    fn relative(&mut self, label: Label, after: u32) {
        self.jumps.push((self.bytes.len() as u32, after, label));
        self.dword(0);
    }

    fn constant(&mut self, value: u32) -> Label {
        if let Some((_, label)) = self.words.iter().find(|(word, _)| *word == value) {
            return *label;
        }
        let label = self.label();
        self.words.push((value, label));
        label
    }

    fn constant_row(&mut self, value: [u32; 16]) -> Label {
        if let Some((_, label)) = self.rows.iter().find(|(row, _)| *row == value) {
            return *label;
        }
        let label = self.label();
        self.rows.push((value, label));
        label
    }

    /// A vector instruction: `register` is its destination, `first` its first source (0 where it has none), `rm` the last one.
    /// Lanes that `mask` lacks keep what they have. `imm` follows, where there is one.
    pub(super) fn vector(
        &mut self,
        op: Opcode,
        register: Zmm,
        first: Zmm,
        rm: Rm,
        mask: MaskRegister,
        imm: Option<u8>,
    ) {
        let splat = matches!(rm, Rm::Splat(_) | Rm::Const(_));
        // Its memory is four bytes anyhow.
        let broadcast = splat && op.code != v::SPLAT.code;
        let (low, high) = match rm {
            Rm::Reg(n) => (n >> 3 & 1, n >> 4 & 1),
            Rm::Full(mem) | Rm::Splat(mem) => (mem.base.0 >> 3 & 1, 0),
            Rm::Const(_) | Rm::Row(_) => (0, 0),
        };
        let not = |bit: u8| bit & 1 ^ 1;
        self.byte(0x62);
        self.byte(
            not(register >> 3) << 7 | not(high) << 6 | not(low) << 5 | not(register >> 4) << 4 | op.map,
        );
        self.byte(u8::from(op.wide) << 7 | (!first & 15) << 3 | 4 | op.prefix);
        self.byte(0x40 | u8::from(broadcast) << 4 | not(first >> 4) << 3 | mask);
        self.byte(op.code);
        let after = u32::from(imm.is_some());
        match rm {
            Rm::Reg(n) => self.byte(0xc0 | (register & 7) << 3 | n & 7),
            Rm::Full(mem) => self.memory(register, mem, 64),
            Rm::Splat(mem) => self.memory(register, mem, 4),
            Rm::Const(value) => {
                self.byte((register & 7) << 3 | 5);
                let label = self.constant(value);
                self.relative(label, after);
            }
            Rm::Row(row) => {
                self.byte((register & 7) << 3 | 5);
                let label = self.constant_row(row);
                self.relative(label, after);
            }
        }
        if let Some(imm) = imm {
            self.byte(imm);
        }
    }

    /// Loads a dword from each lane's place, or stores one there: `[base + index + disp]`. The mask is cleared. Lanes store in order.
    pub(super) fn lanes_memory(
        &mut self,
        stores: bool,
        register: Zmm,
        (base, index): (Gpr, Zmm),
        disp: i32,
        mask: MaskRegister,
    ) {
        let not = not_bit;
        self.byte(0x62);
        let high =
            not(register >> 3) << 7 | not(index >> 3) << 6 | not(base.0 >> 3) << 5 | not(register >> 4) << 4;
        self.byte(high | 2);
        self.byte(0x7d);
        self.byte(0x40 | not(index >> 4) << 3 | mask);
        self.byte(if stores { 0xa0 } else { 0x90 });
        self.byte(0x84 | (register & 7) << 3);
        self.byte((index & 7) << 3 | base.0 & 7);
        self.dword(disp as u32);
    }

    /// The first lane of one of the first eight vector registers.
    pub(super) fn first_lane(&mut self, to: Gpr, from: Zmm) {
        self.byte(0xc5);
        self.byte(0xf9);
        self.byte(0x7e);
        self.byte(0xc0 | (from & 7) << 3 | to.0 & 7);
    }

    /// A VEX instruction of masks and registers in map 1.
    fn vex(&mut self, long: bool, code: u8, register: u8, first: u8, rm: u8) {
        self.byte(0xc4);
        self.byte(not_bit(register >> 3) << 7 | 0x40 | not_bit(rm >> 3) << 5 | 1);
        self.byte((!first & 15) << 3 | u8::from(long) << 2);
        self.byte(code);
        self.byte(0xc0 | (register & 7) << 3 | rm & 7);
    }

    /// 16 bits of memory to a mask.
    pub(super) fn load_mask(&mut self, mask: MaskRegister, mem: Mem) {
        self.byte(0xc4);
        self.byte(0x80 | 0x40 | not_bit(mem.base.0 >> 3) << 5 | 1);
        self.byte(0x78);
        self.byte(0x90);
        self.memory(mask, mem, 1);
    }

    /// 32 bits of a mask to memory.
    pub(super) fn store_mask(&mut self, mem: Mem, mask: MaskRegister) {
        self.byte(0xc4);
        self.byte(0x80 | 0x40 | not_bit(mem.base.0 >> 3) << 5 | 1);
        self.byte(0xf9);
        self.byte(0x91);
        self.memory(mask, mem, 1);
    }

    /// `high` above 16 bits of `low`.
    pub(super) fn unpack_masks(&mut self, to: MaskRegister, high: MaskRegister, low: MaskRegister) {
        self.vex(true, 0x4b, to, high, low);
    }

    pub(super) fn or_masks(&mut self, to: MaskRegister, a: MaskRegister, b: MaskRegister) {
        self.vex(true, 0x45, to, a, b);
    }

    /// The low 16 bits of a general register as a mask.
    pub(super) fn mask_of(&mut self, to: MaskRegister, from: Gpr) {
        self.vex(false, 0x92, to, 0, from.0);
    }

    /// Compares 16 bits of both with zero.
    pub(super) fn test_masks(&mut self, a: MaskRegister, b: MaskRegister) {
        self.vex(false, 0x98, a, 0, b);
    }

    fn rex(&mut self, wide: bool, register: u8, base: u8) {
        let rex = 0x40 | u8::from(wide) << 3 | (register >> 3 & 1) << 2 | base >> 3 & 1;
        if rex != 0x40 {
            self.byte(rex);
        }
    }

    pub(super) fn load(&mut self, wide: bool, register: Gpr, mem: Mem) {
        self.rex(wide, register.0, mem.base.0);
        self.byte(0x8b);
        self.memory(register.0, mem, 1);
    }

    /// Loads one or two bytes, extended to a dword.
    pub(super) fn load_part(&mut self, register: Gpr, mem: Mem, bytes: u8, signed: bool) {
        self.rex(false, register.0, mem.base.0);
        self.byte(0x0f);
        self.byte(0xb6 | u8::from(signed) << 3 | u8::from(bytes == 2));
        self.memory(register.0, mem, 1);
    }

    /// Loads a byte, zero-extended.
    pub(super) fn load_byte(&mut self, register: Gpr, mem: Mem) {
        self.rex(false, register.0, mem.base.0);
        self.byte(0x0f);
        self.byte(0xb6);
        self.memory(register.0, mem, 1);
    }

    pub(super) fn store(&mut self, wide: bool, mem: Mem, register: Gpr) {
        self.rex(wide, register.0, mem.base.0);
        self.byte(0x89);
        self.memory(register.0, mem, 1);
    }

    /// Stores the low byte or two of one of the first four registers.
    pub(super) fn store_part(&mut self, mem: Mem, register: Gpr, bytes: u8) {
        if bytes == 2 {
            self.byte(0x66);
        }
        self.rex(false, register.0, mem.base.0);
        self.byte(0x88 | u8::from(bytes == 2));
        self.memory(register.0, mem, 1);
    }

    pub(super) fn copy(&mut self, to: Gpr, from: Gpr) {
        self.rex(true, to.0, from.0);
        self.byte(0x8b);
        self.byte(0xc0 | (to.0 & 7) << 3 | from.0 & 7);
    }

    /// Loads a dword of a register's memory, by the index in `index`: `[base + 4 * index + disp]`.
    pub(super) fn load_indexed(&mut self, register: Gpr, base: Gpr, index: Gpr, disp: i32) {
        let rex = 0x40 | (register.0 >> 3 & 1) << 2 | (index.0 >> 3 & 1) << 1 | base.0 >> 3 & 1;
        self.byte(rex);
        self.byte(0x8b);
        self.byte(0x84 | (register.0 & 7) << 3);
        self.byte(0x80 | (index.0 & 7) << 3 | base.0 & 7);
        self.dword(disp as u32);
    }

    pub(super) fn constant_to(&mut self, register: Gpr, value: u64) {
        if value >> 32 == 0 {
            self.rex(false, 0, register.0);
            self.byte(0xb8 | register.0 & 7);
            self.dword(value as u32);
        } else {
            self.rex(true, 0, register.0);
            self.byte(0xb8 | register.0 & 7);
            self.bytes.extend(value.to_le_bytes());
        }
    }

    pub(super) fn alu(&mut self, wide: bool, alu: Alu, register: Gpr, other: Gpr) {
        self.rex(wide, register.0, other.0);
        self.byte(alu as u8);
        self.byte(0xc0 | (register.0 & 7) << 3 | other.0 & 7);
    }

    /// With memory.
    pub(super) fn alu_memory(&mut self, wide: bool, alu: Alu, register: Gpr, mem: Mem) {
        self.rex(wide, register.0, mem.base.0);
        self.byte(alu as u8);
        self.memory(register.0, mem, 1);
    }

    /// With a constant, sign-extended where the operation is wide.
    pub(super) fn alu_constant(&mut self, wide: bool, alu: Alu, register: Gpr, value: i32) {
        self.rex(wide, 0, register.0);
        self.byte(0x81);
        self.byte(0xc0 | (alu as u8 & 0x38) | register.0 & 7);
        self.dword(value as u32);
    }

    /// Compares a byte of memory with a constant.
    pub(super) fn compare_byte(&mut self, mem: Mem, value: u8) {
        self.rex(false, 0, mem.base.0);
        self.byte(0x80);
        self.memory(7, mem, 1);
        self.byte(value);
    }

    /// Compares memory with a constant.
    pub(super) fn compare_memory(&mut self, wide: bool, mem: Mem, value: i8) {
        self.rex(wide, 0, mem.base.0);
        self.byte(0x83);
        self.memory(7, mem, 1);
        self.byte(value as u8);
    }

    pub(super) fn negate(&mut self, register: Gpr) {
        self.rex(true, 0, register.0);
        self.byte(0xf7);
        self.byte(0xd8 | register.0 & 7);
    }

    pub(super) fn not(&mut self, wide: bool, register: Gpr) {
        self.rex(wide, 0, register.0);
        self.byte(0xf7);
        self.byte(0xd0 | register.0 & 7);
    }

    /// Shifts by the low byte of RCX.
    pub(super) fn shift(&mut self, wide: bool, shift: Shift, register: Gpr) {
        self.rex(wide, 0, register.0);
        self.byte(0xd3);
        self.byte(0xc0 | (shift as u8) << 3 | register.0 & 7);
    }

    pub(super) fn shift_constant(&mut self, wide: bool, shift: Shift, register: Gpr, by: u8) {
        self.rex(wide, 0, register.0);
        self.byte(0xc1);
        self.byte(0xc0 | (shift as u8) << 3 | register.0 & 7);
        self.byte(by);
    }

    /// `register *= other`.
    pub(super) fn multiply(&mut self, wide: bool, register: Gpr, other: Gpr) {
        self.rex(wide, register.0, other.0);
        self.byte(0x0f);
        self.byte(0xaf);
        self.byte(0xc0 | (register.0 & 7) << 3 | other.0 & 7);
    }

    /// The number of zeros below the lowest one, and the width where there is none.
    pub(super) fn trailing_zeros(&mut self, wide: bool, register: Gpr, other: Gpr) {
        self.byte(0xf3);
        self.rex(wide, register.0, other.0);
        self.byte(0x0f);
        self.byte(0xbc);
        self.byte(0xc0 | (register.0 & 7) << 3 | other.0 & 7);
    }

    /// Bit `bit` of the register to the carry.
    pub(super) fn test_bit(&mut self, wide: bool, register: Gpr, bit: Gpr) {
        self.rex(wide, bit.0, register.0);
        self.byte(0x0f);
        self.byte(0xa3);
        self.byte(0xc0 | (bit.0 & 7) << 3 | register.0 & 7);
    }

    pub(super) fn move_if(&mut self, wide: bool, condition: If, register: Gpr, other: Gpr) {
        self.rex(wide, register.0, other.0);
        self.byte(0x0f);
        self.byte(0x40 | condition as u8);
        self.byte(0xc0 | (register.0 & 7) << 3 | other.0 & 7);
    }

    /// A byte of memory becomes 1 or 0.
    pub(super) fn set_byte(&mut self, condition: If, mem: Mem) {
        self.rex(false, 0, mem.base.0);
        self.byte(0x0f);
        self.byte(0x90 | condition as u8);
        self.memory(0, mem, 1);
    }

    pub(super) fn jump(&mut self, label: Label) {
        self.byte(0xe9);
        self.relative(label, 0);
    }

    pub(super) fn jump_if(&mut self, condition: If, label: Label) {
        self.byte(0x0f);
        self.byte(0x80 | condition as u8);
        self.relative(label, 0);
    }

    pub(super) fn call(&mut self, label: Label) {
        self.byte(0xe8);
        self.relative(label, 0);
    }

    pub(super) fn call_memory(&mut self, mem: Mem) {
        self.rex(false, 0, mem.base.0);
        self.byte(0xff);
        self.memory(2, mem, 1);
    }

    pub(super) fn jump_register(&mut self, register: Gpr) {
        self.rex(false, 0, register.0);
        self.byte(0xff);
        self.byte(0xe0 | register.0 & 7);
    }

    pub(super) fn push(&mut self, register: Gpr) {
        self.rex(false, 0, register.0);
        self.byte(0x50 | register.0 & 7);
    }

    pub(super) fn pop(&mut self, register: Gpr) {
        self.rex(false, 0, register.0);
        self.byte(0x58 | register.0 & 7);
    }

    pub(super) fn ret(&mut self) {
        self.byte(0xc3);
    }

    /// Clears the upper parts of the vector registers, so that the host's own code is not held up.
    pub(super) fn clear_upper(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77]);
    }

    /// Puts the constants after the code and the distances into it. `None` where a label is nowhere.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0xcc);
        for (row, label) in std::mem::take(&mut self.rows) {
            self.bind(label);
            row.into_iter().for_each(|word| self.dword(word));
        }
        for (word, label) in std::mem::take(&mut self.words) {
            self.bind(label);
            self.dword(word);
        }
        for (at, after, label) in std::mem::take(&mut self.jumps) {
            let distance = self.place(label)?.wrapping_sub(at + 4 + after);
            let at = at as usize;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        Some(self.bytes)
    }
}

fn not_bit(bit: u8) -> u8 {
    bit & 1 ^ 1
}
