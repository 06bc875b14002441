//! Decoder and printer of CDNA3 and CDNA2 against LLVM: every opcode of every format, and words at random.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use gfx_emu::{coverage, disassemble};

use crate::authority;
use crate::decode::hex_bytes;
use crate::llvm::{CDNA2, CDNA3, Card, Listing, disassembled, words};
use crate::wave::Numbers;

/// First words of each format: the bits that select it, and the bits of the opcode with their lowest bit.
const FORMATS: &[(u32, u32, u32)] = &[
    (0b10 << 30, 23, 7),
    (0b1011 << 28, 23, 5),
    (0b1_0111_1101 << 23, 8, 8),
    (0b1_0111_1110 << 23, 16, 7),
    (0b1_0111_1111 << 23, 16, 7),
    (0b110000 << 26, 18, 8),
    (0b111111 << 25, 9, 8),
    (0, 25, 6),
    (0b111110 << 25, 17, 8),
    (0b110100 << 26, 16, 10),
    (0b110100111 << 23, 16, 7),
    (0b110110 << 26, 17, 8),
    (0b110111 << 26, 18, 7),
    (0b111000 << 26, 18, 7),
];

/// Encodings for every opcode of every format: with usual operands, then with bits at random.
fn candidates() -> Vec<Vec<u32>> {
    let mut numbers = Numbers(942);
    let mut all = Vec::new();
    for &(prefix, low, count) in FORMATS {
        for op in 0..1u32 << count {
            let first = prefix | op << low;
            for more in usual(prefix) {
                all.push([&[first | more[0]], &more[1..]].concat());
            }
            // Random bits everywhere else: below the opcode in the first word, and all of the second.
            let free = !(((1 << count) - 1) << low) & !fixed(prefix);
            for _ in 0..24 {
                let (bits, second) = (numbers.next() as u32 & free, numbers.next() as u32);
                all.push(vec![first | bits, tamed(prefix, second, &mut numbers)]);
            }
        }
    }
    // LLVM crashes on a matrix whose factors are constants.
    let matrices = all.iter_mut().filter(|words| {
        let opcode = words[0] >> 16;
        (0xd3be..0xd400).contains(&opcode) && !(0xd3d8..0xd3da).contains(&opcode)
    });
    matrices.for_each(|words| words[1] |= 0x100 | 0x100 << 9);
    all
}

/// The bits of a first word that select its format.
fn fixed(prefix: u32) -> u32 {
    match prefix.leading_ones() {
        _ if prefix == 0 => 1 << 31,
        _ if prefix >> 28 == 0b1011 && prefix << 4 == 0 => 0xf << 28,
        _ if prefix >> 30 == 0b10 && prefix << 2 == 0 => 0b11 << 30,
        _ if prefix >> 23 == 0b110100111 => 0x1ff << 23,
        _ if prefix >> 30 == 0b10 => 0x1ff << 23,
        _ if prefix >> 25 == 0b111111 || prefix >> 25 == 0b111110 => 0x7f << 25,
        _ => 0x3f << 26,
    }
}

/// Random bits without reserved ones, which LLVM shows as operands where it shows them at all.
fn tamed(prefix: u32, second: u32, numbers: &mut Numbers) -> u32 {
    match prefix >> 26 {
        // Vector registers as sources most of the time: few of the other codes mean something.
        0b110100 if numbers.next() & 3 != 0 => second | 0x100 | 0x100 << 9 | 0x100 << 18,
        _ => second,
    }
}

/// Usual operands for each format: bits of the first word, then the words after it.
fn usual(prefix: u32) -> Vec<Vec<u32>> {
    let vector: Vec<Vec<u32>> = [0x108, 255, 242, 193, 16, 251, 253]
        .into_iter()
        .map(|src0| vec![4 << 17 | 6 << 9 | src0, 0x1234_5678])
        .chain([
            vec![0],
            vec![4 << 17 | 6 << 9 | 250, 0xff00_e408],
            vec![4 << 17 | 6 << 9 | 250, 0xff09_1108],
            vec![4 << 17 | 6 << 9 | 250, 0xff01_4208],
            vec![4 << 17 | 6 << 9 | 250, 0xff01_5308],
            vec![4 << 17 | 6 << 9 | 249, 0x0406_0608],
            vec![4 << 17 | 6 << 9 | 249, 0x1d2d_1508],
            vec![4 << 17 | 6 << 9 | 249, 0x0486_0610],
        ])
        .collect();
    match prefix >> 26 {
        0b100000 => vec![vec![8 << 16 | 12 << 8 | 16], vec![8 << 16 | 255 << 8 | 16, 77]],
        0b101100 => vec![vec![8 << 16 | 1], vec![8 << 16 | 0xf801, 0x1234_5678]],
        0b101111 => vec![
            vec![8 << 16 | 16],
            vec![12 << 8 | 16],
            vec![16],
            vec![8 << 16],
            vec![0],
            vec![3],
        ],
        0b110000 => vec![
            vec![8 << 6 | 8 | 1 << 17, 0x10],
            vec![8 << 6 | 8 | 1 << 17 | 1 << 16, 0x1f_fff0],
            vec![8 << 6 | 8 | 1 << 17 | 1 << 14, 6 << 25 | 0x10],
            vec![8 << 6 | 8 | 1 << 14, 6 << 25],
            vec![8 << 6 | 8, 6],
            vec![0, 0],
        ],
        0b110100 => {
            let mut all = Vec::new();
            for low in [4, 8 << 8 | 4, 1 << 14 | 4, 1 << 15 | 4] {
                for high in [
                    0x108 | 0x106 << 9 | 0x10a << 18,
                    0x108 | 0x106 << 9,
                    0x108 | 0x110 << 9 | 0x118 << 18 | 3 << 27,
                    0x108 | 0x106 << 9 | 16 << 18,
                    0x108 | 16 << 9,
                    0x108 | 242 << 9 | 193 << 18,
                    0x108,
                    0,
                ] {
                    all.push(vec![low, high]);
                    all.push(vec![low, high | 1 << 29]);
                }
            }
            all.push(vec![1 << 14 | 4, 0x108 | 3 << 27]);
            all
        }
        0b110110 => [
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
        .flat_map(|operands| [0x10, 0x0201 | 1 << 25, 1 << 16 | 0x10].map(|bits| vec![bits, operands]))
        .collect(),
        0b110111 => {
            let mut all = Vec::new();
            for segment in 0..3 {
                for flags in [0x10, 1 << 16, 0x1ff0, 1 << 13, 1 << 17 | 1 << 25] {
                    for (vdst, data, saddr) in [
                        (4, 0, 0x7f),
                        (0, 8, 0x7f),
                        (4, 8, 0x7f),
                        (4, 0, 6),
                        (0, 8, 6),
                        (4, 0, 0),
                        (0, 8, 0),
                        (4, 8, 0),
                    ] {
                        all.push(vec![
                            segment << 14 | flags,
                            vdst << 24 | saddr << 16 | data << 8 | 10,
                        ]);
                        all.push(vec![segment << 14 | flags, vdst << 24 | saddr << 16 | data << 8]);
                    }
                }
            }
            all
        }
        0b111000 => vec![
            vec![0, 0],
            vec![3 << 14, 0],
            vec![1 << 12 | 8, 0x8000_0405],
            vec![1 << 13 | 8, 0x0602_080a],
            vec![3 << 12 | 1 << 14 | 0xfff, 0xc102_080a],
            vec![1 << 14, 0x7c02_080a],
        ],
        _ => vector,
    }
}

/// What LLVM makes of the candidates, as far as they are instructions of gfx942.
pub(crate) static ON_CDNA3: LazyLock<Listing> = LazyLock::new(|| listing(CDNA3));
/// The same for gfx90a.
pub(crate) static ON_CDNA2: LazyLock<Listing> = LazyLock::new(|| listing(CDNA2));

fn listing(card: Card) -> Listing {
    let words: String = candidates().iter().map(|words| hex_bytes(words)).collect();
    disassembled(card, &words)
}

/// Where our text may differ from LLVM's, and why.
pub(crate) fn differs_on_purpose(llvm: &str) -> bool {
    // LLVM marks operands that the encoding holds but the instruction does not take.
    llvm.contains("/*Invalid")
        || llvm.contains("/* Invalid")
        // A shuffle that double precision does not have.
        || llvm.contains("DP ALU dpp")
        // Messages have names; compilers emit none for this card.
        || llvm.contains("sendmsg")
        // The global data share is not executed; its operands differ from instruction to instruction.
        || llvm.ends_with(" gds")
        // Pattern names of an immediate.
        || llvm.starts_with("ds_swizzle")
        // Its source is an accumulation register.
        || llvm.starts_with("v_accvgpr_mov_b32") && !llvm.contains(", a")
        // Buffers whose data goes to LDS.
        || llvm.starts_with("buffer_") && llvm.ends_with(" lds")
        // Operand codes that mean something on other cards of the generation.
        || ["src_pops_exiting_wave_id", "src_lds_direct", "null"].iter().any(|name| llvm.contains(name))
}

/// LLVM reads an inline float constant of a 16-bit integer, and writes a literal, which VOP3 cannot hold on this card.
pub(crate) fn has_vop3_literal(bytes: &[u8]) -> bool {
    let (first, rest) = bytes.split_first_chunk::<4>().unwrap();
    let second = rest
        .first_chunk::<4>()
        .map_or(0, |word| u32::from_le_bytes(*word));
    let literal = [0, 9, 18].into_iter().any(|low| second >> low & 0x1ff == 255);
    u32::from_le_bytes(*first) >> 26 == 0b110100 && literal
}

/// Instructions LLVM knows and the table leaves out: see the notes at the table's lists.
pub(crate) fn is_left_out(mnemonic: &str) -> bool {
    let scalar_memory = ["s_scratch", "s_atc", "s_dcache_discard"];
    scalar_memory.iter().any(|name| mnemonic.starts_with(name))
        // Buffers in the formats of textures, and those that go to LDS.
        || mnemonic.starts_with("buffer_") && (mnemonic.contains("_format") || mnemonic.contains("_lds"))
        || mnemonic.starts_with("tbuffer_")
        || mnemonic.starts_with("image_")
        || mnemonic == "v_illegal"
}

#[test]
fn every_encoding_of_cdna3_llvm_knows_has_our_row_and_the_same_text() {
    compare(CDNA3, &ON_CDNA3);
}

#[test]
fn every_encoding_of_cdna2_llvm_knows_has_our_row_and_the_same_text() {
    compare(CDNA2, &ON_CDNA2);
}

#[track_caller]
fn compare(card: Card, listing: &Listing) {
    let mut differences = BTreeMap::new();
    let (mut compared, mut unknown) = (0, BTreeMap::new());
    for (text, bytes) in listing {
        let mnemonic = text.split(' ').next().unwrap().to_owned();
        if differs_on_purpose(text) || has_vop3_literal(bytes) || is_left_out(&mnemonic) {
            continue;
        }
        match disassemble(card.target, bytes) {
            Ok((ours, size)) if words(&ours) == *text && size == bytes.len() => compared += 1,
            Ok((ours, _)) => {
                let line = format!("LLVM `{text}`, ours `{ours}` {bytes:02x?}");
                differences.entry(mnemonic).or_insert(line);
            }
            Err(_) => {
                unknown.entry(mnemonic).or_insert(format!("{text} {bytes:02x?}"));
            }
        }
    }
    assert!(unknown.is_empty(), "no row for {unknown:#?}");
    assert!(
        differences.is_empty(),
        "{} mnemonics differ:\n{differences:#?}",
        differences.len()
    );
    assert!(compared > 10_000, "only {compared} encodings were compared");
}

#[test]
fn every_row_of_cdna3_is_an_instruction_of_llvm() {
    rows_are_known(CDNA3, &ON_CDNA3);
}

#[test]
fn every_row_of_cdna2_is_an_instruction_of_llvm() {
    rows_are_known(CDNA2, &ON_CDNA2);
}

#[track_caller]
pub(crate) fn rows_are_known(card: Card, listing: &Listing) {
    let known: BTreeSet<String> = listing.iter().map(|(text, _)| authority::name(text)).collect();
    for line in coverage(card.target) {
        for name in line.names() {
            assert!(
                known.contains(&name),
                "LLVM has no `{name}` ({} opcode {:#x})",
                line.format,
                line.opcode
            );
        }
    }
}
