//! Decoder and printer of RDNA4 against LLVM: every opcode of every format, with usual operands and with bits at random.

use std::sync::LazyLock;

use crate::decode::{self, hex_bytes, rows_are_known};
use crate::llvm::{Listing, RDNA4, disassembled};
use crate::wave::Numbers;

/// First words of each format: the bits that select it, where the opcode begins and its bits, words of the encoding.
const FORMATS: &[(u32, u32, u32, usize)] = &[
    (0b10 << 30, 23, 7, 1),
    (0b1011 << 28, 23, 5, 1),
    (0b1_0111_1101 << 23, 8, 8, 1),
    (0b1_0111_1110 << 23, 16, 7, 1),
    (0b1_0111_1111 << 23, 16, 7, 1),
    (0b111101 << 26, 13, 6, 2),
    (0b111111 << 25, 9, 8, 1),
    (0, 25, 6, 1),
    (0b111110 << 25, 17, 8, 1),
    (0b110101 << 26, 16, 10, 2),
    (0xcc << 24, 16, 7, 2),
    (0b110010 << 26, 22, 4, 2),
    (0b110010 << 26, 17, 5, 2),
    (0b110110 << 26, 18, 8, 2),
    (0xec << 24, 14, 8, 3),
    (0xed << 24, 14, 8, 3),
    (0xee << 24, 14, 8, 3),
    (0xc4 << 24, 14, 8, 3),
];

/// Bits of the first word below the opcode, and the words after it, that LLVM takes for many opcodes of a format.
fn usual(prefix: u32) -> Vec<Vec<u32>> {
    match prefix >> 24 {
        0x80 => vec![
            vec![8 << 16 | 12 << 8 | 16],
            vec![8 << 16 | 255 << 8 | 16, 77],
            vec![8 << 16 | 242 << 8 | 193],
        ],
        0xb0 => vec![vec![8 << 16 | 1], vec![8 << 16 | 0xf801, 0x1234_5678]],
        0xbe if prefix << 9 == 0 && prefix >> 23 == 0b1_0111_1101 => [8 << 16 | 16, 8 << 16, 16, 193, 125]
            .map(|low| vec![low])
            .to_vec(),
        0xbf if prefix >> 23 == 0b1_0111_1110 => vec![vec![12 << 8 | 16], vec![16]],
        0xbf => vec![vec![0], vec![3], vec![0xffff]],
        0xf4 => vec![
            vec![8 << 6 | 8, 0x7c << 25 | 0x10],
            vec![8 << 6 | 8 | 3 << 21 | 1 << 23, 0x7c << 25],
            vec![8 << 6 | 8, 6 << 25 | 0xff_fff0],
            vec![8, 0x7c << 25 | 0x10],
            vec![0, 0],
        ],
        0xd4 => {
            let sources = [
                0x108 | 0x106 << 9 | 0x10a << 18,
                0x108 | 0x106 << 9,
                0x108,
                0,
                0x108 | 0x106 << 9 | 16 << 18,
                0x108 | 16 << 9,
                16 | 16 << 9,
                16,
                0x108 | 242 << 9 | 193 << 18,
            ];
            let lows = [4, 8 << 8 | 4, 126, 1 << 15 | 4, 5 << 8 | 4, 9 << 11 | 4];
            let pairs = lows.into_iter().flat_map(|low| sources.map(|high| (low, high)));
            pairs
                .flat_map(|(low, high)| [vec![low, high], vec![low, high | 3 << 29]])
                .collect()
        }
        0xcc => {
            let sources = [0x10a, 0x110].map(|second| 0x108 | second << 9 | 0x118 << 18 | 3 << 27);
            let lows = [1 << 14 | 4, 1 << 15 | 1 << 14 | 4, 4];
            let pairs = lows.into_iter().flat_map(|low| sources.map(|high| (low, high)));
            pairs
                .flat_map(|(low, high)| {
                    [
                        vec![low, high],
                        vec![low, high | 3 << 29],
                        vec![low, high & !(0x1ff << 18)],
                    ]
                })
                .collect()
        }
        0xc8 => {
            let x = |second: u32| {
                vec![
                    8 << 17 | second << 9 | 0x108,
                    4 << 24 | 2 << 17 | 0x109,
                    0x1234_5678,
                ]
            };
            let y = |second: u32| {
                vec![
                    8 << 22 | second << 9 | 0x108,
                    4 << 24 | 2 << 17 | 7 << 9 | 0x109,
                    0x1234_5678,
                ]
            };
            vec![x(6), x(0), y(6), y(0)]
        }
        0xd8 => [
            0x0406_080a,
            0x0006_080a,
            0x0400_080a,
            0x0000_080a,
            0x0400_000a,
            0x0400_0000,
            0x0800,
            0,
        ]
        .into_iter()
        .flat_map(|operands| [vec![0x10, operands], vec![0x0201, operands], vec![0, operands]])
        .collect(),
        0xec..=0xee => {
            let mut all = Vec::new();
            for saddr in [0x7c, 6] {
                for cache in [
                    0,
                    1 << 20,
                    3 << 18 | 3 << 20,
                    2 << 18 | 6 << 20,
                    1 << 18 | 4 << 20,
                    5 << 20,
                ] {
                    for (vdst, data) in [(4, 0), (0, 8), (4, 8), (0, 0)] {
                        for sve in [0, 1 << 17] {
                            for last in [0x10 << 8 | 10, 0xff_fff0 << 8 | 10, 0] {
                                all.push(vec![saddr, data << 23 | cache | sve | vdst, last]);
                            }
                        }
                    }
                }
            }
            all
        }
        0xc4 => {
            let mut all = vec![vec![0x7c, 0, 0]];
            for address in 0..4 {
                for cache in [0, 1 << 20, 3 << 18 | 3 << 20, 2 << 18 | 6 << 20] {
                    for soffset in [0x7c, 6, 0x7d] {
                        let middle = address << 30 | cache | 1 << 23 | 8 << 9 | 4;
                        all.push(vec![soffset, middle, 0x10 << 8 | 10]);
                    }
                }
            }
            all
        }
        _ => [0x108, 255, 242, 193, 16, 253]
            .into_iter()
            .map(|src0| vec![4 << 17 | 6 << 9 | src0, 0x1234_5678])
            .chain([
                vec![0],
                vec![4 << 17 | 6 << 9 | 250, 0xff00_e408],
                vec![4 << 17 | 6 << 9 | 250, 0xff09_1108],
                vec![4 << 17 | 6 << 9 | 233, 0x1234_5608],
            ])
            .collect(),
    }
}

fn candidates() -> Vec<Vec<u32>> {
    let mut numbers = Numbers(1201);
    let mut all = Vec::new();
    for &(prefix, low, count, words) in FORMATS {
        let opcode = ((1_u32 << count) - 1) << low;
        for op in 0..1_u32 << count {
            let first = prefix | op << low;
            for more in usual(prefix) {
                let [head, rest @ ..] = more.as_slice() else {
                    continue;
                };
                // Short formats have their operands around the opcode.
                all.push([&[first | head & !opcode], rest].concat());
            }
            // Bits at random below the opcode and after the first word.
            for _ in 0..6 {
                let mut random = || numbers.next() as u32;
                let head = first | random() & ((1 << low) - 1);
                let tail = (1..words).map(|_| random());
                all.push(std::iter::once(head).chain(tail).collect());
            }
        }
    }
    all
}

/// What LLVM makes of the candidates, as far as they are instructions of gfx1201.
pub(crate) static ON_RDNA4: LazyLock<Listing> = LazyLock::new(|| {
    let listing: String = candidates().iter().map(|words| hex_bytes(words)).collect();
    disassembled(RDNA4, &listing)
});

/// Where our text may differ from LLVM's, and why.
pub(crate) fn differs_on_purpose(llvm: &str) -> bool {
    decode::differs_on_purpose(llvm)
        // They belong to graphics.
        || llvm.starts_with("v_interp_")
        || llvm.starts_with("image_")
        || llvm.starts_with("export")
        || llvm.starts_with("ds_param_load")
        || llvm.starts_with("ds_direct_load")
        // Operand codes of graphics and of other cards of the generation, and a status after the data of a buffer.
        || ["src_vccz", "src_execz", "src_pops_exiting_wave_id", "src_lds_direct"].iter().any(|code| llvm.contains(code))
        || llvm.contains(" tfe")
        // Values that fields have no names for.
        || llvm.contains("/* invalid")
        || llvm.contains("/* Invalid")
        // Which byte of a register, of instructions that are not executed.
        || llvm.starts_with("v_cvt_sr_") && llvm.contains(" byte_sel:")
}

#[test]
fn every_opcode_of_rdna4_llvm_knows_has_our_row_and_the_same_text() {
    let listing = ON_RDNA4.iter().filter(|(text, _)| !differs_on_purpose(text));
    decode::compare(RDNA4, &listing.cloned().collect());
}

#[test]
fn every_row_of_rdna4_is_an_instruction_of_llvm() {
    rows_are_known(RDNA4, &ON_RDNA4);
}
