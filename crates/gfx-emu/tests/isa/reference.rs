//! Instructions against functions written out here: every card, edge values and random ones, lane by lane.
//!
//! The tables of `reference/` hold an instruction in RDNA3's spelling and what it must compute. The function is plain
//! arithmetic of the host, which shares nothing with the emulator.

mod compare;
mod memory;
mod quiet;
mod scalar;
mod scalar_memory;
mod share;
mod vector;

use std::collections::BTreeSet;

use gfx_emu::WaveProbe;

use crate::authority;
use crate::lines::instructions;
use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA3, RDNA4, RDNA35};
use crate::twin;
use crate::wave::Numbers;

/// The cards the tables run on.
pub(crate) const CARDS: [Card; 6] = [RDNA3, RDNA35, RDNA4, RDNA2, CDNA3, CDNA2];

/// A line of assembly a card has: its machine code, and its mnemonic there.
pub(crate) struct Assembled {
    pub(crate) code: Vec<u8>,
    pub(crate) names: Vec<String>,
}

/// The line in a card's spelling.
pub(crate) fn spelled(card: Card, line: &str) -> String {
    match card.is_rdna() {
        true if card.is_rdna2() => memory::respell(&twin::respell_rdna2(line), card.name),
        true if card.is_rdna4() => twin::respell_rdna4(line),
        true => line.to_owned(),
        false => memory::respell(&twin::respell(line), card.name),
    }
}

/// Assembles pieces of several lines, each with an end after it, in a card's spelling; `None` where it has not all of
/// a piece's instructions.
pub(crate) fn assemble_each(card: Card, pieces: &[String]) -> Vec<Option<Assembled>> {
    let text: String = pieces
        .iter()
        .map(|piece| {
            let lines: String = piece.lines().map(|line| spelled(card, line) + "\n").collect();
            format!("s_nop 77\n{lines}s_endpgm\n")
        })
        .collect();
    let mut found: Vec<Vec<(String, Vec<u8>)>> = Vec::new();
    for (text, bytes) in instructions(card, &text) {
        match found.last_mut() {
            _ if text == "s_nop 0x4d" || text == "s_nop 77" => found.push(Vec::new()),
            Some(piece) => piece.push((text, bytes)),
            None => {}
        }
    }
    assert_eq!(found.len(), pieces.len(), "{}", card.name);
    let complete = |(lines, piece): (Vec<(String, Vec<u8>)>, &String)| {
        (lines.len() == piece.lines().count() + 1).then(|| Assembled {
            names: lines
                .iter()
                .flat_map(|(text, _)| text.split(" :: ").map(authority::name))
                .collect(),
            code: lines.into_iter().flat_map(|(_, bytes)| bytes).collect(),
        })
    };
    found.into_iter().zip(pieces).map(complete).collect()
}

/// Runs one row on a card: the row, the machine code, and where failures go.
pub(crate) type Check<R> = fn(Card, &R, &[u8], &mut Vec<String>);

/// Runs a table on every card, as far as it has the instructions, of which there are more than `least`; `narrow` is for waves
/// of 32 lanes, `wide` of 64.
#[track_caller]
pub(crate) fn on_each_card<R>(
    rows: &[R],
    text: fn(&R) -> &'static str,
    least: usize,
    narrow: Check<R>,
    wide: Check<R>,
) {
    let pieces: Vec<String> = rows.iter().map(|row| text(row).to_owned()).collect();
    let mut wrong = Vec::new();
    for card in CARDS {
        let assembled = assemble_each(card, &pieces);
        let known = assembled.iter().flatten().count();
        assert!(known > least, "{} has only {known}", card.name);
        for (row, assembled) in rows.iter().zip(&assembled) {
            let Some(assembled) = assembled else { continue };
            let check = if card.is_rdna() { narrow } else { wide };
            check(card, row, &assembled.code, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Values that show what random ones do not.
pub(crate) const EDGES: [u64; 12] = [
    0,
    1,
    2,
    31,
    33,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
    0x0001_ffff_8000,
];

/// An edge value, or bits at random, every other time few of them.
pub(crate) fn any_bits(numbers: &mut Numbers) -> u64 {
    let bits = numbers.next() | numbers.next() << 32;
    match numbers.next() % 4 {
        0 => EDGES[(bits % EDGES.len() as u64) as usize],
        1 => bits & numbers.next() & (numbers.next() | 0xff << 32),
        _ => bits,
    }
}

/// The mnemonics that the tables check on a card.
pub(crate) fn tested(card: Card) -> BTreeSet<String> {
    let pieces: Vec<String> = scalar::pieces()
        .into_iter()
        .chain(vector::pieces())
        .chain(memory::pieces(card))
        .chain(compare::pieces(card))
        .chain(scalar_memory::pieces(card))
        .chain(share::pieces())
        .chain(quiet::pieces())
        .collect();
    let assembled = assemble_each(card, &pieces);
    assembled
        .into_iter()
        .flatten()
        .flat_map(|assembled| assembled.names)
        .filter(|name| name != "s_endpgm")
        .collect()
}

/// Sets a vector register pair in one lane.
pub(crate) fn set_wide<const W: usize>(probe: &mut WaveProbe<W>, register: u16, lane: usize, value: u64) {
    probe.set_vgpr(register, lane, value as u32);
    probe.set_vgpr(register + 1, lane, (value >> 32) as u32);
}

/// A vector register pair of one lane.
pub(crate) fn get_wide<const W: usize>(probe: &WaveProbe<W>, register: u16, lane: usize) -> u64 {
    let word = |n: u16| u64::from(probe.vgpr(n, lane).unwrap());
    word(register) | word(register + 1) << 32
}
