//! Comparisons: every relation of every type, the mask of the lanes against the host's own order.

use std::cmp::Ordering;

use gfx_emu::{Memory, WaveProbe};
use half::f16;

use super::{CARDS, any_bits, assemble_each, set_wide};
use crate::llvm::Card;
use crate::wave::{EXEC, Numbers, VCC};

/// Relations by name; the bits are less, equal, greater, unordered.
const FLOATS: [(&str, u8); 17] = [
    ("f", 0),
    ("lt", 1),
    ("eq", 2),
    ("le", 3),
    ("gt", 4),
    ("lg", 5),
    ("ge", 6),
    ("o", 7),
    ("u", 8),
    ("nge", 9),
    ("nlg", 10),
    ("ngt", 11),
    ("nle", 12),
    ("neq", 13),
    ("nlt", 14),
    ("t", 15),
    ("tru", 15),
];
const INTEGERS: [(&str, u8); 8] = [
    ("f", 0),
    ("lt", 1),
    ("eq", 2),
    ("le", 3),
    ("gt", 4),
    ("ne", 5),
    ("ge", 6),
    ("t", 15),
];

type Order = fn(u64, u64) -> Option<Ordering>;

/// Types: name, bits, order.
const TYPES: [(&str, u32, Order); 9] = [
    ("f16", 16, |a, b| {
        f16::from_bits(a as u16).partial_cmp(&f16::from_bits(b as u16))
    }),
    ("f32", 32, |a, b| {
        f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32))
    }),
    ("f64", 64, |a, b| {
        f64::from_bits(a).partial_cmp(&f64::from_bits(b))
    }),
    ("i16", 16, |a, b| Some((a as i16).cmp(&(b as i16)))),
    ("u16", 16, |a, b| Some((a as u16).cmp(&(b as u16)))),
    ("i32", 32, |a, b| Some((a as i32).cmp(&(b as i32)))),
    ("u32", 32, |a, b| Some((a as u32).cmp(&(b as u32)))),
    ("i64", 64, |a, b| Some((a as i64).cmp(&(b as i64)))),
    ("u64", 64, |a, b| Some(a.cmp(&b))),
];

/// A comparison: its text, the relations that count, the order, and whether EXEC is written.
struct Piece {
    text: String,
    relations: u8,
    order: Order,
    exec: bool,
}

fn all(card: Card) -> Vec<Piece> {
    let rdna = card.is_rdna();
    let mut pieces = Vec::new();
    for (ty, bits, order) in TYPES {
        let relations = if ty.starts_with('f') {
            &FLOATS[..]
        } else {
            &INTEGERS[..]
        };
        for (relation, mask) in relations {
            let sources = if bits == 64 { "v[4:5], v[6:7]" } else { "v4, v6" };
            for exec in [false, true] {
                let text = match (exec, rdna) {
                    (false, true) => format!("v_cmp_{relation}_{ty} vcc_lo, {sources}"),
                    (true, true) => format!("v_cmpx_{relation}_{ty} {sources}"),
                    (false, false) => format!("v_cmp_{relation}_{ty} vcc, {sources}"),
                    (true, false) => format!("v_cmpx_{relation}_{ty} vcc, {sources}"),
                };
                pieces.push(Piece {
                    text,
                    relations: *mask,
                    order,
                    exec,
                });
            }
        }
    }
    for (ty, bits, order) in CLASSES {
        let sources = if bits == 64 { "v[4:5], v6" } else { "v4, v6" };
        for exec in [false, true] {
            let text = match (exec, rdna) {
                (false, true) => format!("v_cmp_{ty} vcc_lo, {sources}"),
                (true, true) => format!("v_cmpx_{ty} {sources}"),
                (false, false) => format!("v_cmp_{ty} vcc, {sources}"),
                (true, false) => format!("v_cmpx_{ty} vcc, {sources}"),
            };
            pieces.push(Piece {
                text,
                relations: 2,
                order,
                exec,
            });
        }
    }
    pieces
}

/// Classes of a number, one bit each: signalling and quiet NaN, then from minus infinity to infinity.
fn class(bits: u64, exponent_bits: u32, fraction_bits: u32) -> u64 {
    let negative = bits >> (exponent_bits + fraction_bits) & 1 != 0;
    let exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    let fraction = bits & ((1 << fraction_bits) - 1);
    let all_ones = exponent == (1 << exponent_bits) - 1;
    let of_size = |size: u32| {
        if negative {
            1 << (2 + size)
        } else {
            1 << (9 - size)
        }
    };
    match (all_ones, exponent, fraction) {
        (true, _, 0) => of_size(0),
        (true, ..) => 1 << (fraction >> (fraction_bits - 1)),
        (_, 0, 0) => of_size(3),
        (_, 0, _) => of_size(2),
        _ => of_size(1),
    }
}

/// Whether the class is among those in the mask: "equal" if so.
const CLASSES: [(&str, u32, Order); 3] = [
    ("class_f16", 32, |a, b| {
        (class(a & 0xffff, 5, 10) & b != 0).then_some(Ordering::Equal)
    }),
    ("class_f32", 32, |a, b| {
        (class(a & 0xffff_ffff, 8, 23) & b != 0).then_some(Ordering::Equal)
    }),
    ("class_f64", 64, |a, b| {
        (class(a, 11, 52) & b & 0x3ff != 0).then_some(Ordering::Equal)
    }),
];

pub(super) fn pieces(card: Card) -> Vec<String> {
    all(card).into_iter().map(|piece| piece.text).collect()
}

fn failure<const W: usize>(card: Card, piece: &Piece, code: &[u8]) -> Option<String> {
    let mut numbers = Numbers(piece.text.len() as u64);
    let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
    let mut want = 0_u64;
    let active = 0xdead_beef_1234_5679_u64 & (u64::MAX >> (64 - W));
    for lane in 0..W {
        let a = any_bits(&mut numbers);
        let b = if numbers.next().is_multiple_of(3) {
            a
        } else {
            any_bits(&mut numbers)
        };
        set_wide(&mut probe, 4, lane, a);
        set_wide(&mut probe, 6, lane, b);
        let relation = match (piece.order)(a, b) {
            Some(Ordering::Less) => 1,
            Some(Ordering::Equal) => 2,
            Some(Ordering::Greater) => 4,
            None => 8,
        };
        want |= u64::from(relation & piece.relations != 0) << lane;
    }
    for half in 0..2 {
        probe.set_sgpr(EXEC + half, (active >> (32 * half)) as u32);
    }
    probe
        .run(&Memory::new(0))
        .unwrap_or_else(|fault| panic!("{}: {fault}", piece.text));
    let mask = |first: u8| {
        let pair = u64::from(probe.sgpr(first)) | u64::from(probe.sgpr(first + 1)) << 32;
        pair & (u64::MAX >> (64 - W))
    };
    let want = want & active;
    let writes_vcc = !piece.exec || W == 64;
    let right = (!piece.exec || mask(EXEC) == want) && (!writes_vcc || mask(VCC) == want);
    (!right).then(|| {
        format!(
            "{} {}: vcc {:#x} exec {:#x}, not {want:#x}",
            card.name,
            piece.text,
            mask(VCC),
            mask(EXEC)
        )
    })
}

#[test]
fn comparisons_order_as_the_host_does() {
    let mut wrong = Vec::new();
    for card in CARDS {
        let pieces = all(card);
        let texts: Vec<String> = pieces.iter().map(|piece| piece.text.clone()).collect();
        let assembled = assemble_each(card, &texts);
        // RDNA4 has none whose result is known before.
        let least = if card.is_rdna4() { 150 } else { 180 };
        let known = assembled.iter().flatten().count();
        assert!(known > least, "{}: {known}", card.name);
        for (piece, assembled) in pieces.iter().zip(&assembled) {
            let Some(assembled) = assembled else { continue };
            wrong.extend(match card.is_rdna() {
                true => failure::<32>(card, piece, &assembled.code),
                false => failure::<64>(card, piece, &assembled.code),
            });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
