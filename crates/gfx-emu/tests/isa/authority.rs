//! Which instructions a card has: what LLVM 19's disassembler of it knows, found by offering it every opcode of every
//! encoding.
//!
//! AMD's manuals have the same instructions and are no machine-readable text here; where LLVM leaves one out, or takes one
//! that only another card of the generation has, this page of record follows LLVM.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::decode::{ON_RDNA3, ON_RDNA35, hex_bytes};
use crate::decode_cdna3::{ON_CDNA2, ON_CDNA3};
use crate::decode_rdna2::ON_RDNA2;
use crate::decode_rdna4::ON_RDNA4;
use crate::llvm::{CDNA2, CDNA3, Card, Listing, RDNA2, RDNA3, RDNA4, RDNA35, disassembled};
use gfx_emu::Target;

/// Encodings in the order of the page, and whether they are vector or scalar arithmetic, program flow or memory, of which
/// kernels are made; the others belong to graphics.
pub(crate) const CLASSES: &[(&str, bool)] = &[
    ("SOP1", true),
    ("SOP2", true),
    ("SOPC", true),
    ("SOPK", true),
    ("SOPP", true),
    ("SMEM", true),
    ("VOP1", true),
    ("VOP2", true),
    ("VOPC", true),
    ("VOP3", true),
    ("VOP3P", true),
    ("MAI", true),
    ("VOPD", true),
    ("DS", true),
    ("FLAT", true),
    ("GLOBAL", true),
    ("SCRATCH", true),
    ("MUBUF", true),
    ("MTBUF", false),
    ("MIMG", false),
    ("VINTERP", false),
    ("LDSDIR", false),
    ("EXP", false),
];

/// Names of a card's instructions without encoding suffix, each with its encoding; an instruction that has a short and a
/// long one counts for the short.
pub(crate) type Instructions = BTreeMap<String, &'static str>;

/// The encodings for which the decoders' tests have no candidates, with operands of all kinds.
fn more(card: Card) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    let rdna = card.is_rdna();
    for op in 0..0x100u32 {
        for flags in [0, 1 << 14, 1 << 13, 1 << 12] {
            for register in [8, 1, 0] {
                let resource = 0x80 << 24 | 1 << 16;
                all.push(vec![0b111000 << 26 | op << 18 | flags, resource | register << 8]);
                // Data that goes to LDS.
                all.push(vec![0b111000 << 26 | op << 18 | flags | 1 << 16, resource]);
            }
        }
        for bits in [0xf00, 0x100, 0x300, 0x700, 0xf04, 0x18, 0xf1c, 0xf0c] {
            for operands in [
                1 << 16 | 0x808,
                1 << 16 | 2 << 21 | 0x808,
                1 << 26 | 2 << 16 | 0x808,
            ] {
                all.push(vec![0b111100 << 26 | op << 18 | bits, operands]);
            }
        }
        for low in [8, 8 << 9, 1 << 14 | 8] {
            all.push(vec![0b110000 << 26 | op << 18 | 1 << 17 | low, 0x10]);
        }
    }
    for op in 0..16u32 {
        for flags in [0, 1 << 14] {
            all.push(vec![
                0b111010 << 26 | 22 << 19 | op << 15 | flags,
                0x80 << 24 | 1 << 16 | 8 << 8,
            ]);
        }
    }
    if card.is_rdna2() {
        all.extend((0..4u32).map(|op| vec![0b110010 << 26 | op << 16 | 4 << 18 | 5]));
    } else if rdna {
        for op in 0..0x80u32 {
            all.push(vec![0xcd << 24 | op << 16 | 4, 0x108 | 0x10a << 9 | 0x10c << 18]);
            all.push(vec![0xce << 24 | op << 20]);
        }
    } else {
        all.extend((0..4u32).map(|op| vec![0b110101 << 26 | op << 16 | 4 << 18 | 5]));
    }
    let export = if rdna { 0b111110 } else { 0b110001 };
    all.push(vec![export << 26 | 0xf, 0]);
    all
}

/// The encoding of an instruction by its first word.
pub(crate) fn class(rdna: bool, text: &str, bytes: &[u8]) -> &'static str {
    let word = bytes
        .first_chunk::<4>()
        .map_or(0, |word| u32::from_le_bytes(*word));
    match word >> 26 {
        _ if word >> 31 == 0 => match word >> 25 {
            0b0111111 => "VOP1",
            0b0111110 => "VOPC",
            _ => "VOP2",
        },
        _ if word >> 30 == 0b10 => match word >> 23 {
            0b1_0111_1101 => "SOP1",
            0b1_0111_1110 => "SOPC",
            0b1_0111_1111 => "SOPP",
            _ if word >> 28 == 0b1011 => "SOPK",
            _ => "SOP2",
        },
        0b110110 => "DS",
        0b111011 if text.starts_with("flat") => "FLAT",
        0b111011 if text.starts_with("global") => "GLOBAL",
        0b111011 if text.starts_with("scratch") => "SCRATCH",
        0b110001 if text.starts_with("buffer") => "MUBUF",
        0b110001 if text.starts_with("tbuffer") => "MTBUF",
        0b110100 | 0b111001 if rdna => "MIMG",
        0b110111 if text.starts_with("flat") => "FLAT",
        0b110111 if text.starts_with("global") => "GLOBAL",
        0b110111 => "SCRATCH",
        0b111000 => "MUBUF",
        0b111010 => "MTBUF",
        0b111100 => "MIMG",
        0b110010 if text.starts_with("v_interp") => "VINTERP",
        0b110010 if rdna => "VOPD",
        0b110011 if rdna => match word >> 24 {
            0xcc => "VOP3P",
            0xcd => "VINTERP",
            _ => "LDSDIR",
        },
        0b110101 if rdna => "VOP3",
        0b111101 if rdna => "SMEM",
        0b110000 => "SMEM",
        0b110100 if word >> 23 == 0b110100111 && (word >> 16 & 0x7f >= 0x3e) => "MAI",
        0b110100 if word >> 23 == 0b110100111 => "VOP3P",
        0b110100 => "VOP3",
        0b110101 => "VINTERP",
        _ => "EXP",
    }
}

/// A mnemonic without its encoding.
pub(crate) fn base(name: &str) -> &str {
    let suffixes = ["_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp"];
    let short = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
    short.unwrap_or(name)
}

/// The name of an instruction by its text. One whose data goes to LDS is another instruction by the same mnemonic.
pub(crate) fn name(text: &str) -> String {
    let mnemonic = base(text.split(' ').next().unwrap());
    if text.ends_with(" lds") && !mnemonic.contains("_lds") {
        format!("{mnemonic} lds")
    } else {
        mnemonic.to_owned()
    }
}

fn instructions(card: Card, known: &[(String, Vec<u8>)]) -> Instructions {
    let listing: String = more(card).iter().map(|words| hex_bytes(words)).collect();
    let more = disassembled(card, &listing);
    let rank = |class: &str| CLASSES.iter().position(|(name, _)| *name == class).unwrap();
    let mut found = Instructions::new();
    for (text, bytes) in known.iter().chain(&more) {
        let class = class(card.is_rdna(), text, bytes);
        for half in text.split(" :: ") {
            let name = name(half);
            // LLVM's name for words without a meaning.
            if name == "v_illegal" {
                continue;
            }
            let entry = found.entry(name).or_insert(class);
            if rank(class) < rank(entry) {
                *entry = class;
            }
        }
    }
    found
}

static RDNA2_HAS: LazyLock<Instructions> = LazyLock::new(|| instructions(RDNA2, &ON_RDNA2));
static RDNA3_HAS: LazyLock<Instructions> = LazyLock::new(|| instructions(RDNA3, &ON_RDNA3));
static RDNA35_HAS: LazyLock<Instructions> = LazyLock::new(|| instructions(RDNA35, &ON_RDNA35));
static RDNA4_HAS: LazyLock<Instructions> = LazyLock::new(|| instructions(RDNA4, &ON_RDNA4));
static CDNA3_HAS: LazyLock<Instructions> = LazyLock::new(|| instructions(CDNA3, &ON_CDNA3));
static CDNA2_HAS: LazyLock<Instructions> = LazyLock::new(|| instructions(CDNA2, &ON_CDNA2));

/// What LLVM makes of the candidates of a card's decoder test.
pub(crate) fn listing(card: Card) -> &'static Listing {
    match card.target {
        Target::Gfx1030 => &ON_RDNA2,
        Target::Gfx1100 => &ON_RDNA3,
        Target::Gfx1151 => &ON_RDNA35,
        Target::Gfx1200 | Target::Gfx1201 => &ON_RDNA4,
        Target::Gfx942 => &ON_CDNA3,
        _ => &ON_CDNA2,
    }
}

/// The instructions LLVM knows of a card.
pub(crate) fn of(card: Card) -> &'static Instructions {
    match card.target {
        Target::Gfx1030 => &RDNA2_HAS,
        Target::Gfx1100 => &RDNA3_HAS,
        Target::Gfx1151 => &RDNA35_HAS,
        Target::Gfx1200 | Target::Gfx1201 => &RDNA4_HAS,
        Target::Gfx942 => &CDNA3_HAS,
        _ => &CDNA2_HAS,
    }
}
