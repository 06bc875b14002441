//! Matrix products: sixteen lanes are a row of a tile, so a row of sums is a host register, and a step of a row is one multiply-add
//! of it.

use super::asm::{If, Mem, Rm, Zmm, v};
use super::compile::{Compiler, state};

use super::native::{MOST_DEPTH, MOST_TILES, at};
use super::vector::{MASKS, UNORDERED};
use crate::exec::tile::{RowPlace, SIDE, Tiled};
use crate::isa::{Element, Inst, Src};

/// The host register of the first row of sums, and one for a step of the right factor.
const SUMS: Zmm = 8;
const RIGHT: Zmm = 24;

/// A place of a line of the state.
fn line(first: i32, number: usize) -> Mem {
    state(first + 64 * number as i32)
}

impl Compiler<'_> {
    /// Compiles a product of tiles. Results with a NaN are the interpreter's: nothing is stored before all of them are known.
    pub(super) fn product(&mut self, inst: &Inst) -> bool {
        let Some(tiled) = Tiled::of(inst, self.lanes) else {
            return false;
        };
        let (depth, count) = (tiled.depth(), tiled.count());
        let known = |element| matches!(element, Element::F32 | Element::F16 | Element::Bf16);
        if !tiled.elements().into_iter().all(known) || depth > MOST_DEPTH || count > MOST_TILES {
            return false;
        }
        let sums: Vec<(usize, usize)> = (0..count * SIDE)
            .map(|row| tiled.sum(row / SIDE, row % SIDE))
            .collect();
        let factors = (0..2 * count * depth)
            .map(|i| tiled.factor(i % 2, i / 2 / depth, i / 2 % depth))
            .map(|place| (place.register, place.group));
        let from_first = |first: usize| move |&(register, group): &(usize, usize)| (first + register, group);
        let mut places: Vec<(usize, usize)> = factors.collect();
        places.extend(sums.iter().map(from_first(inst.dst.into())));
        if let Src::Vgpr(n) = tiled.addend() {
            places.extend(sums.iter().map(from_first(n.into())));
        }
        if places.iter().any(|(_, group)| *group >= self.chunks()) {
            return false;
        }
        // As of rows that are held.
        self.strays |= places
            .iter()
            .any(|(register, _)| *register >= self.program.registers());
        // All host registers are needed.
        self.rows.forget();
        let from = self.asm.label();
        let mut widened = Vec::new();
        for (tile, sums) in sums.chunks(SIDE).enumerate() {
            let left: Vec<RowPlace> = (0..depth).map(|k| tiled.factor(0, tile, k)).collect();
            if left != widened {
                self.left(&tiled, &left);
                widened = left;
            }
            for (row, (register, group)) in sums.iter().enumerate() {
                let to = SUMS + row as Zmm;
                match tiled.addend() {
                    Src::Vgpr(n) => {
                        let from = self.memory(n + *register as u16, *group);
                        self.on(v::LOAD, to, 0, Rm::Full(from));
                    }
                    Src::Const(value) => self.on(v::SPLAT, to, 0, Rm::Const(value as u32)),
                    _ => return false,
                }
            }
            for (k, left) in widened.iter().enumerate() {
                self.widened(tiled.elements()[1], RIGHT, tiled.factor(1, tile, k));
                let left = match tiled.elements()[0] {
                    Element::F32 => self.memory(left.register as u16, left.group),
                    _ => line(at::LINES, k),
                };
                for row in 0..SIDE {
                    let factor = Mem {
                        disp: left.disp + 4 * row as i32,
                        ..left
                    };
                    self.on(v::FMADD231PS, SUMS + row as Zmm, RIGHT, Rm::Splat(factor));
                }
            }
            for pair in 0..SIDE as Zmm / 2 {
                // A comparison looks at two registers.
                let (a, b) = (SUMS + 2 * pair, SUMS + 2 * pair + 1);
                let to = MASKS[usize::from(pair > 0)];
                self.asm.vector(v::CMPPS, to, a, Rm::Reg(b), 0, Some(UNORDERED));
                if pair > 0 {
                    self.asm.or_masks(MASKS[0], MASKS[0], to);
                }
            }
            self.asm.test_masks(MASKS[0], MASKS[0]);
            self.asm.jump_if(If::NotEqual, from);
            if count > 1 {
                for row in 0..SIDE {
                    let to = Rm::Full(line(at::SUMS, tile * SIDE + row));
                    self.on(v::STORE, SUMS + row as Zmm, 0, to);
                }
            }
        }
        for (number, (register, group)) in sums.iter().enumerate() {
            let host = SUMS + (number % SIDE) as Zmm;
            if count > 1 {
                self.on(v::LOAD, host, 0, Rm::Full(line(at::SUMS, number)));
            }
            let to = self.memory(inst.dst + *register as u16, *group);
            self.on(v::STORE, host, 0, Rm::Full(to));
        }
        self.beyond(from, Vec::new());
        true
    }

    /// Puts the steps of the left factor where each of their numbers can be multiplied with a row. Those of single precision are there.
    fn left(&mut self, tiled: &Tiled<'_>, steps: &[RowPlace]) {
        let element = tiled.elements()[0];
        if element == Element::F32 {
            return;
        }
        for (k, place) in steps.iter().enumerate() {
            let host = RIGHT + (k % 8) as Zmm;
            self.widened(element, host, *place);
            self.on(v::STORE, host, 0, Rm::Full(line(at::LINES, k)));
        }
    }

    /// Sixteen elements in single precision.
    fn widened(&mut self, element: Element, to: Zmm, place: RowPlace) {
        let from = Rm::Full(self.memory(place.register as u16, place.group));
        match (element, place.bit) {
            (Element::F16, bit) => {
                if bit == 0 {
                    self.on(v::LOAD, to, 0, from);
                } else {
                    self.asm.vector(v::SHIFT_D, v::RIGHT, to, from, 0, Some(16));
                }
                self.on(v::PMOVDW, to, 0, Rm::Reg(to));
                self.on(v::CVTPH2PS, to, 0, Rm::Reg(to));
            }
            (Element::Bf16, 0) => self.asm.vector(v::SHIFT_D, v::LEFT, to, from, 0, Some(16)),
            (Element::Bf16, _) => {
                self.on(v::LOAD, to, 0, from);
                self.on(v::PANDD, to, to, Rm::Const(0xffff_0000));
            }
            _ => self.on(v::LOAD, to, 0, from),
        }
    }
}
