//! Tests: draws instructions, registers and places in memory as kernels have them, and others.

use crate::Target;
use crate::exec::random::Random;

/// Vector and scalar registers that instructions name.
pub(super) const VGPRS: u32 = 14;
pub(super) const SGPRS: u32 = 16;
/// Registers that waves have.
pub(super) const ROWS: usize = 24;
/// The first of those with places in LDS, and of the pairs with addresses; scalar registers with an address, and a distance.
pub(super) const PLACES: u32 = 14;
pub(super) const ADDRESSES: u32 = 20;
pub(super) const BASE: u32 = 20;
pub(super) const DISTANCE: u32 = 22;
/// Bytes of LDS and of each of two allocations.
pub(super) const LDS: usize = 4096;
pub(super) const BYTES: usize = 8192;
/// Instructions of a program.
pub(super) const LENGTH: usize = 30;

impl Random {
    /// A number of a register: floats of every kind, small integers, any bits.
    pub(super) fn value(&mut self) -> u32 {
        match self.below(16) {
            0 => self.one_of(&[
                0,
                0x8000_0000,
                0x7f80_0000,
                0xff80_0000,
                0x0000_0001,
                0x807f_ffff,
                0x7f7f_ffff,
                0x3f80_0000,
            ]),
            1 if self.below(4) == 0 => {
                self.one_of(&[0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff, 0x7fc1_2345])
            }
            2..=5 => self.below(70).wrapping_sub(5),
            6..=12 => ((self.below(2_000_001) as f32 - 1e6) / 1000.0).to_bits(),
            _ => self.word(),
        }
    }

    /// A source operand of nine bits, or of eight where `scalar`.
    fn source(&mut self, scalar: bool) -> u32 {
        match self.below(12) {
            0 | 1 => self.below(SGPRS),
            2 => self.one_of(&[106, 107, 126, 124]),
            3 => 128 + self.below(81),
            4 => 240 + self.below(8),
            _ if scalar => self.below(SGPRS),
            _ => 256 + self.below(VGPRS),
        }
    }

    fn target(&mut self) -> u32 {
        match self.below(8) {
            0 => 106,
            1 => 124,
            _ => self.below(SGPRS / 2) * 2,
        }
    }

    /// The words of what may be an access to memory.
    fn access(&mut self, cdna: bool) -> Vec<u32> {
        let (to, data, more) = (
            self.below(VGPRS - 3),
            self.below(VGPRS - 3),
            self.below(VGPRS - 3),
        );
        let place = PLACES + self.below(6);
        match self.below(6) {
            0..=2 => {
                let op = if self.below(2) == 0 {
                    self.one_of(&[
                        13, 14, 15, 30, 31, 84, 85, 86, 87, 90, 91, 160, 161, 162, 163, 166, 167, 53, 54, 55,
                        56, 57, 58, 59, 60, 61, 62, 63, 77, 78, 118, 119, 178, 179, 223, 255,
                    ])
                } else {
                    self.below(256)
                };
                let op = if cdna { op << 17 } else { op << 18 };
                let offset = self.one_of(&[0, 0, 16, 0x0100, 0x0403, 0x0201, 0x801f, 0x041f]);
                vec![
                    0xd800_0000 | op | offset,
                    to << 24 | more << 16 | data << 8 | place,
                ]
            }
            3 => {
                let op = self.below(5);
                let (op, to) = if cdna {
                    (0xc002_0000 | op << 18, to / 2)
                } else {
                    (0xf400_0000 | op << 18, to / 2)
                };
                let distance = if self.below(2) == 0 && !cdna {
                    DISTANCE << 25
                } else {
                    124 << 25
                };
                vec![
                    op | (to * 2) << 6 | (BASE / 2),
                    distance | self.one_of(&[0, 4, 64, 1024, 8180]),
                ]
            }
            _ => {
                let op = 16 + self.below(24);
                // Flat addresses have no base, and no high offsets.
                let flat = self.below(3) == 0;
                let none = 124 + u32::from(cdna) * 3;
                let (saddr, address) = if self.below(2) == 0 && !flat {
                    (BASE, place)
                } else {
                    (none, ADDRESSES)
                };
                let offset = if flat {
                    8
                } else {
                    self.one_of(&[0, 0, 8, 32, 0x1ff8])
                };
                let segment = if flat { 0 } else { 2 };
                let space = if cdna { segment << 14 } else { segment << 16 };
                let word = |data: u32| saddr << 16 | data << 8 | address;
                vec![0xdc00_0000 | space | op << 18 | offset, to << 24 | word(data)]
            }
        }
    }

    /// A row of places below `limit`, in one of the patterns that kernels have.
    pub(super) fn places(&mut self, limit: u32) -> impl Fn(usize) -> u32 + use<> {
        let step = self.one_of(&[0, 4, 4, 8, 16, 16, 12, 20, 2, 1]);
        let first = self.below(limit / 8) * 4;
        let run = self.one_of(&[4, 8, 16, 32, 64]);
        let apart = self.one_of(&[0, 0, 64, 80, 256]);
        let odd = if self.below(4) == 0 { self.below(64) } else { 99 };
        move |lane| {
            let lane = lane as u32;
            first + step * (lane % run) + apart * (lane / run) + if lane == odd { 4 } else { 0 }
        }
    }

    /// The first word of an instruction whose second one says which parts of registers it takes.
    fn instruction_of_parts(&mut self, v: u32) -> u32 {
        let second = self.below(VGPRS) << 9;
        match self.below(3) {
            0 => 0x7e00_00f9 | v << 17 | self.below(80) << 9,
            1 => 0x7c00_00f9 | self.below(256) << 17 | second,
            _ => self.below(64) << 25 | 0xf9 | v << 17 | second,
        }
    }

    /// The words of an instruction of three operands that kernels often have, and chance hardly ever makes.
    fn often(&mut self, cdna: bool) -> Vec<u32> {
        let (to, a, b, c) = (
            self.below(VGPRS),
            self.source(false),
            self.source(false),
            self.source(false),
        );
        let (prefix, op) = if cdna {
            (
                0xd000_0000,
                self.one_of(&[0x28c, 0x28d, 0x289, 0x28a, 0x1ed, 0x1e8, 0x14a]),
            )
        } else {
            (
                0xd400_0000,
                self.one_of(&[0x31f, 0x320, 0x360, 0x361, 0x244, 0x2fe, 0x18a]),
            )
        };
        if self.below(2) == 0 {
            // Both halves of registers, or two of them.
            let (prefix, op) = if cdna {
                (0xd380_0000, self.below(24) + self.below(2) * 0x28)
            } else {
                (0xcc00_0000, self.below(24))
            };
            let select = self.below(8) << 11 | self.below(2) << 14;
            let select = if self.below(2) == 0 { 1 << 14 } else { select };
            let signs = if self.below(4) == 0 {
                self.word() & 0xe000_0700
            } else {
                0
            };
            let high = if self.below(2) == 0 {
                3 << 27
            } else {
                self.below(4) << 27
            };
            return vec![
                prefix | op << 16 | to | select | signs & 0x700,
                c << 18 | b << 9 | a | high | signs & 0xe000_0000,
            ];
        }
        // All lanes; a selection of bytes; a lane by its number.
        let a = if self.below(2) == 0 { 193 } else { a };
        let b = if self.below(2) == 0 {
            128 + self.below(64)
        } else {
            b
        };
        let carry = if self.below(3) == 0 { 106 << 8 } else { 124 << 8 };
        let carry = if matches!(op, 0x1e8 | 0x2fe) { carry } else { 0 };
        vec![prefix | op << 16 | carry | to, c << 18 | b << 9 | a]
    }

    /// The words of what may be an instruction.
    pub(super) fn instruction(&mut self, target: Target) -> Vec<u32> {
        let cdna = target == Target::Gfx942;
        if self.below(4) == 0 {
            return self.access(cdna);
        }
        let v = 256 + self.below(VGPRS) - 256;
        let (a, b, c) = (self.source(false), self.source(false), self.source(false));
        let (x, y) = (self.source(true), self.source(true));
        match self.below(12) {
            10 => self.often(cdna),
            11 if cdna => {
                // A part of a register, or all of it, and signs; the result is most often all of one.
                let parts = self.below(7) << 16 | self.below(7) << 24 | self.below(2) << 19;
                let to = self.one_of(&[6, 6, 6, 0, 5]) << 8 | self.below(3) << 11;
                let signs = if self.below(3) == 0 {
                    self.word() & 0x3830_2000
                } else {
                    0
                };
                let first = self.instruction_of_parts(v);
                vec![first, parts | to | signs | self.below(VGPRS)]
            }
            0 | 1 => vec![self.below(64) << 25 | v << 17 | self.below(VGPRS) << 9 | a],
            2 => vec![0x7e00_0000 | v << 17 | self.below(256) << 9 | a],
            3 => vec![0x7c00_0000 | self.below(256) << 17 | self.below(VGPRS) << 9 | a],
            4 => vec![0x8000_0000 | self.below(96) << 23 | self.target() << 16 | x << 8 | y],
            5 => vec![0xbe80_0000 | self.target() << 16 | self.below(128) << 8 | x],
            6 => vec![0xbf00_0000 | self.below(32) << 16 | x << 8 | y],
            7 if !cdna => {
                let first =
                    0xc800_0000 | self.below(14) << 22 | self.below(28) << 17 | self.below(VGPRS) << 9 | a;
                vec![
                    first,
                    self.below(VGPRS) << 24 | v << 16 | self.below(VGPRS) << 9 | b,
                ]
            }
            _ => {
                let (prefix, space) = if cdna {
                    (0xd000_0000, 1024)
                } else {
                    (0xd400_0000, 1024)
                };
                let signs = if self.below(3) == 0 {
                    self.below(8) << 29
                } else {
                    0
                };
                let flags = if self.below(4) == 0 {
                    self.below(8) << 8 | self.below(2) << 15
                } else {
                    0
                };
                let op = self.below(space) << 16;
                let to = if self.below(3) == 0 { self.target() } else { v };
                let second = if self.below(4) == 0 {
                    self.target() << 8
                } else {
                    flags
                };
                vec![prefix | op | second | to, signs | c << 18 | b << 9 | a]
            }
        }
    }
}
