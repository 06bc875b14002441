//! Decoder and printer of RDNA2 against LLVM: every opcode of every format, with usual operands and with bits at random.

use std::sync::LazyLock;

use crate::decode::{self, hex_bytes};
use crate::decode_cdna3;
use crate::llvm::{Listing, RDNA2, try_disassembled};
use crate::wave::Numbers;
use gfx_emu::disassemble;

/// First words of each format: the bits that select it, where the opcode begins and its bits, words of the encoding.
const FORMATS: &[(u32, u32, u32, usize)] = &[
    (0b10 << 30, 23, 7, 1),
    (0b1011 << 28, 23, 5, 1),
    (0b1_0111_1101 << 23, 8, 8, 1),
    (0b1_0111_1110 << 23, 16, 7, 1),
    (0b1_0111_1111 << 23, 16, 7, 1),
    (0b111101 << 26, 18, 8, 2),
    (0b111111 << 25, 9, 8, 2),
    (0, 25, 6, 2),
    (0b111110 << 25, 17, 8, 2),
    (0b110101 << 26, 16, 10, 2),
    (0xcc << 24, 16, 7, 2),
    (0b110110 << 26, 18, 8, 2),
    (0b110111 << 26, 18, 7, 2),
    (0b111000 << 26, 18, 8, 2),
];

/// Bits of the first word below the opcode, and the words after it, that LLVM takes for many opcodes of a format.
fn usual(prefix: u32) -> Vec<Vec<u32>> {
    match prefix >> 24 {
        0x80 => vec![
            vec![8 << 16 | 12 << 8 | 16],
            vec![8 << 16 | 255 << 8 | 16, 77],
            vec![8 << 16 | 124 << 8 | 125],
            vec![124 << 16 | 242 << 8 | 193],
        ],
        0xb0 => vec![vec![8 << 16 | 1], vec![8 << 16 | 0xf801, 0x1234_5678]],
        0xbe if prefix >> 23 == 0b1_0111_1101 => [8 << 16 | 16, 8 << 16, 16, 193, 124, 125, 124 << 16 | 16]
            .map(|low| vec![low])
            .to_vec(),
        0xbf if prefix >> 23 == 0b1_0111_1110 => vec![vec![12 << 8 | 16], vec![16]],
        0xbf => vec![vec![0], vec![3], vec![0xffff], vec![0xc07f], vec![0x3f70]],
        0xf4 => vec![
            vec![8 << 6 | 8, 0x7d << 25 | 0x10],
            vec![8 << 6 | 8, 0x7d << 25],
            vec![8 << 6 | 8 | 1 << 16 | 1 << 14, 0x7c << 25],
            vec![8 << 6 | 8, 6 << 25 | 0x1f_fff0],
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
        .flat_map(|operands| {
            [0x10, 0x0201, 0, 1 << 17]
                .map(|bits| vec![bits, operands])
                .to_vec()
        })
        .collect(),
        0xdc => {
            let mut all = Vec::new();
            for segment in 0..3 {
                for flags in [0x10, 1 << 16, 0xff0, 1 << 13, 1 << 17 | 1 << 12] {
                    for (vdst, data, saddr) in [
                        (4, 0, 0x7d),
                        (0, 8, 0x7d),
                        (4, 8, 0x7d),
                        (4, 0, 6),
                        (0, 8, 6),
                        (4, 8, 6),
                        (4, 0, 0x7f),
                        (0, 8, 0x7f),
                        (0, 0, 0x7d),
                    ] {
                        for address in [10, 0] {
                            let operands = vdst << 24 | saddr << 16 | data << 8 | address;
                            all.push(vec![segment << 14 | flags, operands]);
                        }
                    }
                }
            }
            all
        }
        0xe0 => {
            let mut all = vec![vec![0, 0]];
            for flags in [0x10, 3 << 12 | 0xfff, 1 << 12, 1 << 14, 1 << 15 | 1 << 13] {
                for soffset in [0x80, 6, 0x7c, 0x7d, 0xc1] {
                    for slc in [0, 1 << 22] {
                        all.push(vec![flags, soffset << 24 | slc | 2 << 16 | 8 << 8 | 10]);
                    }
                }
            }
            all
        }
        _ => [0x108, 255, 242, 193, 16, 251, 253]
            .into_iter()
            .map(|src0| vec![4 << 17 | 6 << 9 | src0, 0x1234_5678])
            .chain([
                vec![0],
                vec![4 << 17 | 6 << 9 | 250, 0xff00_e408],
                vec![4 << 17 | 6 << 9 | 250, 0xff09_1108],
                vec![4 << 17 | 6 << 9 | 250, 0xff05_5308],
                vec![4 << 17 | 6 << 9 | 233, 0x1234_5608],
                vec![4 << 17 | 6 << 9 | 234, 0x1234_5608],
                vec![4 << 17 | 6 << 9 | 249, 0x0406_0608],
                vec![4 << 17 | 6 << 9 | 249, 0x1d2d_1508],
                vec![4 << 17 | 6 << 9 | 249, 0x0486_0610],
                vec![4 << 17 | 6 << 9 | 249, 0x060e_8608],
            ])
            .collect(),
    }
}

fn candidates() -> Vec<Vec<u32>> {
    let mut numbers = Numbers(1030);
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
            // Bits at random below the opcode and after the first word; SDWA and DPP have few of the codes of a source.
            for draw in 0..24 {
                let mut random = || numbers.next() as u32;
                let mut head = first | random() & ((1 << low) - 1);
                if matches!(prefix >> 25, 0 | 0b11_1111 | 0b11_1110) {
                    head = head & !0x1ff | [249, 250, 233, random() & 0x1ff][draw % 4];
                }
                // Of four ways to fill the rest of an SDWA register the last means nothing.
                let fill = if head & 0x1ff == 249 { !(1 << 12) } else { !0 };
                let tail = (1..words).map(|_| random() & fill);
                all.push(std::iter::once(head).chain(tail).collect());
            }
        }
    }
    all
}

/// What LLVM makes of the candidates, as far as they are instructions of gfx1030.
pub(crate) static ON_RDNA2: LazyLock<Listing> = LazyLock::new(|| listing(&candidates()));

/// What crashes LLVM, which is some codes of a scalar register in SDWA, is found by halves and left out.
fn listing(candidates: &[Vec<u32>]) -> Listing {
    let words: String = candidates.iter().map(|words| hex_bytes(words)).collect();
    match try_disassembled(RDNA2, &words) {
        Some(listing) => listing,
        None if candidates.len() == 1 => Listing::new(),
        None => {
            let (left, right) = candidates.split_at(candidates.len() / 2);
            [listing(left), listing(right)].concat()
        }
    }
}

/// Where our text may differ from LLVM's, and why.
pub(crate) fn differs_on_purpose(llvm: &str) -> bool {
    decode::differs_on_purpose(llvm)
        // They belong to graphics.
        || llvm.starts_with("v_interp_")
        || llvm.starts_with("image_")
        || llvm.starts_with("exp ")
        // Operand codes of graphics, and a status after the data of a buffer.
        || ["src_pops_exiting_wave_id", "src_lds_direct"].iter().any(|code| llvm.contains(code))
        || llvm.contains(" tfe")
        // Shuffles that there are not.
        || llvm.contains("/* Invalid")
        || llvm.contains("/* row_bcast is not supported")
        // Buffers whose data goes to LDS.
        || llvm.starts_with("buffer_") && llvm.ends_with(" lds")
}

/// Instructions LLVM knows and the table leaves out.
pub(crate) fn is_left_out(mnemonic: &str) -> bool {
    let graphics = ["v_interp_", "image_"];
    decode::is_left_out(mnemonic) || graphics.iter().any(|name| mnemonic.starts_with(name))
}

#[test]
fn every_opcode_of_rdna2_llvm_knows_has_our_row_and_the_same_text() {
    let listing = ON_RDNA2.iter().filter(|(text, _)| !differs_on_purpose(text));
    decode::compare(RDNA2, &listing.cloned().collect());
}

#[test]
fn every_row_of_rdna2_is_an_instruction_of_llvm() {
    decode_cdna3::rows_are_known(RDNA2, &ON_RDNA2);
}

#[test]
fn encodings_of_textures_and_exports_are_unknown_and_shown() {
    // An image load, a load in the format of a texture, and an export.
    for (words, shown) in [
        ([0xf000_0f08_u32, 0x0002_0800], "f0000f08 00020800"),
        ([0xe8b0_0000, 0x8001_0000], "e8b00000 80010000"),
        ([0xf800_000f, 0], "f800000f 00000000"),
    ] {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let error = disassemble(RDNA2.target, &code).unwrap_err().to_string();
        assert_eq!(error, format!("unknown instruction at pc 0x0: encoding {shown}"));
    }
}
