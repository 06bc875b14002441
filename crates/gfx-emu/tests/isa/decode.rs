//! Decoder and printer against LLVM: opcode by opcode, and over the code of compiled kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::llvm::{Card, Listing, RDNA3, RDNA35, disassembled, words};
use gfx_emu::{DecodeError, coverage, disassemble};

/// Encodings to try for every opcode of every format: operands LLVM takes differ from opcode to opcode.
fn candidates() -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for op in 0..0x80u32 {
        all.push(vec![0b10 << 30 | op << 23 | 8 << 16 | 12 << 8 | 16]);
        all.push(vec![0b1_0111_1110 << 23 | op << 16 | 12 << 8 | 16]);
        all.push(vec![0b1_0111_1110 << 23 | op << 16 | 16]);
        all.push(vec![0b1_0111_1111 << 23 | op << 16]);
        all.push(vec![0b1_0111_1111 << 23 | op << 16 | 3]);
        for source1 in [0x10a, 0x110] {
            for (low, high) in [
                (0, 0),
                (1 << 14, 0),
                (1 << 14 | 1 << 15 | 5 << 8, 5 << 29),
                (1 << 14 | 3 << 11, 0),
            ] {
                let sources = 0x108 | source1 << 9 | 0x118 << 18 | 3 << 27 | high;
                all.push(vec![0b1100_1100 << 24 | op << 16 | low | 4, sources]);
                all.push(vec![
                    0b1100_1100 << 24 | op << 16 | low | 4,
                    sources & !(0x1ff << 18),
                ]);
            }
        }
        for segment in 0..3 {
            for flags in [0x10, 1 << 14 | 0x10, 0x1ff0, 7 << 13] {
                for (vdst, data, saddr) in [
                    (4, 0, 0x7c),
                    (0, 8, 0x7c),
                    (4, 8, 0x7c),
                    (4, 0, 6),
                    (0, 8, 6),
                    (4, 8, 6),
                ] {
                    for sve in [0, 1 << 23] {
                        let low = 0b110111 << 26 | op << 18 | segment << 16 | flags;
                        all.push(vec![low, vdst << 24 | sve | saddr << 16 | data << 8 | 10]);
                        all.push(vec![low, vdst << 24 | sve | saddr << 16 | data << 8]);
                    }
                }
            }
        }
    }
    for op in 0..0x100u32 {
        all.push(vec![0b1_0111_1101 << 23 | 8 << 16 | op << 8 | 16]);
        all.push(vec![0b1_0111_1101 << 23 | 8 << 16 | op << 8]);
        all.push(vec![0b1_0111_1101 << 23 | op << 8 | 16]);
        all.push(vec![0b111111 << 25 | 4 << 17 | op << 9 | 0x108]);
        all.push(vec![0b111111 << 25 | op << 9]);
        all.push(vec![0b111110 << 25 | op << 17 | 6 << 9 | 0x108]);
        for (low, high) in [
            (8 << 6 | 8, 0x7c << 25 | 0x10),
            (8 << 6 | 8, 0x7c << 25),
            (8 << 6 | 8, 3 << 25 | 0x1f_fff0),
            (0, 0),
        ] {
            all.push(vec![0b111101 << 26 | op << 18 | low, high]);
        }
        for operands in [
            0x04_06_08_0a,
            0x00_06_08_0a,
            0x04_00_08_0a,
            0x00_00_08_0a,
            0x04_00_00_0a,
            0x04_00_00_00,
            0x00_00_08_00,
            0,
        ] {
            all.push(vec![0b110110 << 26 | op << 18 | 0x10, operands]);
            all.push(vec![0b110110 << 26 | op << 18 | 0x0201, operands]);
            all.push(vec![0b110110 << 26 | op << 18 | 1 << 17 | 0x10, operands]);
        }
        all.push(vec![0b111000 << 26 | op << 18, 0]);
        for (flags, address) in [(0x10, 0), (7 << 12 | 0xfff, 1), (1 << 14, 2), (0, 3)] {
            for soffset in [0x80, 6, 0x7c, 0xc1, 0x7d] {
                let operands = soffset << 24 | address << 22 | 2 << 16 | 8 << 8 | 10;
                all.push(vec![0b111000 << 26 | op << 18 | flags, operands]);
            }
        }
    }
    for op in 0..0x40u32 {
        all.push(vec![op << 25 | 4 << 17 | 6 << 9 | 0x108]);
        all.push(vec![op << 25 | 4 << 17 | 6 << 9 | 0x108, 0x1234_5678]);
        all.push(vec![op << 25 | 4 << 17 | 6 << 9 | 255, 0x1234_5678]);
        all.push(vec![op << 25 | 4 << 17 | 6 << 9 | 242]);
        all.push(vec![op << 25 | 4 << 17 | 6 << 9 | 193]);
        all.push(vec![op << 25 | 4 << 17 | 6 << 9 | 250, 0xff00_e408]);
        all.push(vec![op << 25 | 4 << 17 | 6 << 9 | 250, 0xff09_1108]);
    }
    for op in 0..0x20u32 {
        all.push(vec![0b1011 << 28 | op << 23 | 8 << 16 | 1]);
        all.push(vec![0b1011 << 28 | op << 23 | 8 << 16 | 0xf801, 0x1234_5678]);
        for sources in [6, 0] {
            for literal in [None, Some(0x1234_5678)] {
                let x = vec![
                    0b110010 << 26 | (op & 15) << 22 | 8 << 17 | sources << 9 | 0x108,
                    4 << 24 | 2 << 17 | 0x109,
                ];
                let y = vec![
                    0b110010 << 26 | 8 << 22 | op << 17 | 0x108,
                    4 << 24 | 2 << 17 | (sources + sources / 6) << 9 | 0x109,
                ];
                all.extend(
                    [x, y]
                        .into_iter()
                        .map(|words| words.into_iter().chain(literal).collect()),
                );
            }
        }
    }
    let sources = [
        0x108 | 0x106 << 9 | 0x10a << 18,
        0x108 | 0x106 << 9,
        0x108,
        0,
        0x108 | 0x106 << 9 | 16 << 18,
        0x108 | 16 << 9,
        16 | 16 << 9,
        0x108 | 16 << 9 | 16 << 18,
        0x108 | 242 << 9 | 193 << 18,
    ];
    for op in 0..0x400u32 {
        for low in [4, 8 << 8 | 4, 126, 1 << 15 | 4, 5 << 8 | 4, 9 << 11 | 4] {
            for high in sources {
                all.push(vec![0b110101 << 26 | op << 16 | low, high]);
                all.push(vec![0b110101 << 26 | op << 16 | low, high | 3 << 29]);
            }
        }
    }
    all
}

/// Where our text may differ from LLVM's, and why.
pub(crate) fn differs_on_purpose(llvm: &str) -> bool {
    // LLVM marks operands that the encoding holds but the instruction does not take.
    llvm.contains("/*Invalid")
        // Its constant is a set of names.
        || llvm.starts_with("s_version")
        // 16-bit register names of a compiler mode that is off by default.
        || llvm.starts_with("v_mov_b16")
        // Messages have names; the only one compilers emit here is compared in the compiled kernels.
        || llvm.contains("sendmsg")
        // Pattern names of an immediate.
        || llvm.starts_with("ds_swizzle")
        // The global data share is not executed; its operands differ from instruction to instruction.
        || llvm.ends_with(" gds")
        || llvm.starts_with("ds_bvh_stack")
        || llvm.starts_with("s_atc_probe")
        // An encoding whose unused fields are set: LLVM prints them as operands.
        || llvm.starts_with("s_waitcnt_") && !llvm.starts_with("s_waitcnt_depctr")
}

/// Instructions LLVM knows and the table leaves out.
pub(crate) fn is_left_out(mnemonic: &str) -> bool {
    // Interpolation, export, and buffers in the formats of textures or into LDS are not compiled for compute kernels.
    let buffers = ["tbuffer_", "_format", "_lds"];
    mnemonic == "exp"
        || mnemonic.contains("buffer_") && buffers.iter().any(|part| mnemonic.contains(part))
        // LLVM's name for a zero word.
        || mnemonic == "v_illegal"
}

#[test]
fn every_opcode_of_rdna3_llvm_knows_has_our_row_and_the_same_text() {
    compare(RDNA3, &ON_RDNA3);
}

#[test]
fn every_opcode_of_rdna35_llvm_knows_has_our_row_and_the_same_text() {
    compare(RDNA35, &ON_RDNA35);
}

#[track_caller]
pub(crate) fn compare(card: Card, listing: &Listing) {
    let mut differences = BTreeMap::new();
    let (mut compared, mut unknown) = (0, BTreeSet::new());
    for (text, bytes) in listing {
        if differs_on_purpose(text) {
            continue;
        }
        match disassemble(card.target, bytes) {
            Ok((ours, size)) if words(&ours) == *text && size == bytes.len() => compared += 1,
            Ok((ours, _)) => {
                let mnemonic = text.split(' ').next().unwrap().to_owned();
                differences
                    .entry(mnemonic)
                    .or_insert(format!("LLVM `{text}`, ours `{ours}`"));
            }
            Err(_) => {
                unknown.insert(text.split(' ').next().unwrap().to_owned());
            }
        }
    }
    unknown.retain(|name| !is_left_out(name));
    assert!(
        differences.is_empty(),
        "{} mnemonics differ:\n{differences:#?}",
        differences.len()
    );
    assert!(unknown.is_empty(), "no row for {unknown:?}");
    assert!(compared > 5_000, "only {compared} encodings were compared");
}

/// What LLVM makes of the candidates, as far as they are instructions of gfx1100.
pub(crate) static ON_RDNA3: LazyLock<Listing> = LazyLock::new(|| listing(RDNA3));
/// The same for gfx1151.
pub(crate) static ON_RDNA35: LazyLock<Listing> = LazyLock::new(|| listing(RDNA35));

fn listing(card: Card) -> Listing {
    let listing: String = candidates().iter().map(|words| hex_bytes(words)).collect();
    disassembled(card, &listing)
}

/// Words as `llvm-mc -disassemble` reads them: `0x01,0x02,0x03,0x04`, each on a line of its own, which means nothing to it. Of a word
/// that it refuses it shows the line, and counts off the place in it by blanks, of which each is a write.
pub(crate) fn hex_bytes(words: &[u32]) -> String {
    let line = |word: &u32| {
        let [a, b, c, d] = word.to_le_bytes();
        format!("{a:#04x},{b:#04x},{c:#04x},{d:#04x}\n")
    };
    words.iter().map(line).collect()
}

#[test]
fn every_row_of_rdna3_is_an_instruction_of_llvm() {
    rows_are_known(RDNA3, &ON_RDNA3);
}

#[test]
fn every_row_of_rdna35_is_an_instruction_of_llvm() {
    rows_are_known(RDNA35, &ON_RDNA35);
}

#[track_caller]
pub(crate) fn rows_are_known(card: Card, listing: &Listing) {
    let known: BTreeSet<String> = listing
        .iter()
        .flat_map(|(text, _)| {
            text.split(" :: ")
                .map(|half| half.split(' ').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        })
        .map(|name| {
            ["_e32", "_e64"]
                .iter()
                .fold(name, |name, suffix| name.trim_end_matches(suffix).to_owned())
        })
        .collect();
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

#[test]
fn words_that_are_no_instruction_are_an_error_that_shows_them() {
    // SOP1 opcode 0x7f does not exist.
    let error = disassemble(RDNA3.target, &0xbe80_7f00u32.to_le_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown instruction at pc 0x0: encoding be807f00"
    );
}

#[test]
fn code_that_ends_inside_an_instruction_is_an_error() {
    // The first word of a global load.
    let error = disassemble(RDNA3.target, &0xdc52_0000u32.to_le_bytes()).unwrap_err();
    assert_eq!(error, DecodeError::End { pc: 0 });
}

#[test]
fn one_changed_opcode_bit_changes_the_text() {
    let [add, sub] =
        [0x0600_0501u32, 0x0800_0501].map(|word| disassemble(RDNA3.target, &word.to_le_bytes()).unwrap().0);
    assert_eq!(
        (add.as_str(), sub.as_str()),
        ("v_add_f32_e32 v0, v1, v2", "v_sub_f32_e32 v0, v1, v2")
    );
}
