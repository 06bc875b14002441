//! Scalar loads, stores and atomics, by a pointer and through a buffer descriptor.

use gfx_emu::{Memory, WaveProbe};

use super::{CARDS, any_bits, assemble_each};
use crate::llvm::Card;
use crate::wave::Numbers;

/// Dwords in memory after the base.
const WORDS: usize = 32;

/// What happens to the dwords from the offset on, given the data registers; and what the first data registers become.
enum Effect {
    Load(usize),
    /// So many bytes, sign-extended or not.
    LoadPart(u32, bool),
    Store(usize),
    Atomic32(fn(u32, u32, u32) -> u32),
    Atomic64(fn(u64, u64, u64) -> u64),
}
use Effect::{Atomic32, Atomic64, Load, LoadPart, Store};

/// GFX9's atomics: name, on dwords, on qwords.
type Atomic = (&'static str, fn(u32, u32, u32) -> u32, fn(u64, u64, u64) -> u64);

#[rustfmt::skip] // one instruction a line
const ATOMICS: [Atomic; 13] = [
    ("swap", |_, data, _| data, |_, data, _| data),
    ("cmpswap", |old, data, cmp| if old == cmp { data } else { old }, |old, data, cmp| if old == cmp { data } else { old }),
    ("add", |old, data, _| old.wrapping_add(data), |old, data, _| old.wrapping_add(data)),
    ("sub", |old, data, _| old.wrapping_sub(data), |old, data, _| old.wrapping_sub(data)),
    ("smin", |old, data, _| (old as i32).min(data as i32) as u32, |old, data, _| (old as i64).min(data as i64) as u64),
    ("umin", |old, data, _| old.min(data), |old, data, _| old.min(data)),
    ("smax", |old, data, _| (old as i32).max(data as i32) as u32, |old, data, _| (old as i64).max(data as i64) as u64),
    ("umax", |old, data, _| old.max(data), |old, data, _| old.max(data)),
    ("and", |old, data, _| old & data, |old, data, _| old & data),
    ("or", |old, data, _| old | data, |old, data, _| old | data),
    ("xor", |old, data, _| old ^ data, |old, data, _| old ^ data),
    ("inc", |old, data, _| if old >= data { 0 } else { old + 1 }, |old, data, _| if old >= data { 0 } else { old + 1 }),
    ("dec", |old, data, _| if old == 0 || old > data { data } else { old - 1 }, |old, data, _| if old == 0 || old > data { data } else { old - 1 }),
];

struct Piece {
    text: String,
    effect: Effect,
    returns: bool,
}

/// `s32` or `s[32:35]`.
fn data(words: usize) -> String {
    if words == 1 {
        "s32".into()
    } else {
        format!("s[32:{}]", 31 + words)
    }
}

fn all(card: Card) -> Vec<Piece> {
    let rdna = card.is_rdna();
    let mut pieces = Vec::new();
    for (space, base) in [("", "s[8:9]"), ("buffer_", "s[8:11]")] {
        for words in [1, 2, 4, 8, 16] {
            let ty = match (card.is_before_rdna3(), words) {
                (false, _) => format!("b{}", 32 * words),
                (true, 1) => "dword".into(),
                (true, _) => format!("dwordx{words}"),
            };
            pieces.push(Piece {
                text: format!("s_{space}load_{ty} {}, {base}, 0x10", data(words)),
                effect: Load(words),
                returns: true,
            });
            if !rdna && words <= 4 {
                pieces.push(Piece {
                    text: format!("s_{space}store_{ty} {}, {base}, 0x10", data(words)),
                    effect: Store(words),
                    returns: false,
                });
            }
        }
        if card.is_rdna4() {
            let (three, parts) = (
                format!("s_{space}load_b96 {}, {base}, 0x10", data(3)),
                [
                    ("i8", 1, true),
                    ("u8", 1, false),
                    ("i16", 2, true),
                    ("u16", 2, false),
                ],
            );
            pieces.push(Piece {
                text: three,
                effect: Load(3),
                returns: true,
            });
            pieces.extend(parts.map(|(ty, bytes, signed)| Piece {
                text: format!("s_{space}load_{ty} {}, {base}, 0x10", data(1)),
                effect: LoadPart(bytes, signed),
                returns: true,
            }));
        }
        for (name, narrow, wide) in ATOMICS.into_iter().filter(|_| !rdna) {
            let tuple = if name == "cmpswap" { 2 } else { 1 };
            for (returns, flag) in [(false, ""), (true, " glc")] {
                pieces.push(Piece {
                    text: format!("s_{space}atomic_{name} {}, {base}, 0x10{flag}", data(tuple)),
                    effect: Atomic32(narrow),
                    returns,
                });
                pieces.push(Piece {
                    text: format!(
                        "s_{space}atomic_{name}_x2 {}, {base}, 0x10{flag}",
                        data(2 * tuple)
                    ),
                    effect: Atomic64(wide),
                    returns,
                });
            }
        }
    }
    pieces
}

pub(super) fn pieces(card: Card) -> Vec<String> {
    all(card).into_iter().map(|piece| piece.text).collect()
}

fn pair(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

fn failure<const W: usize>(card: Card, piece: &Piece, code: &[u8], hit: bool) -> Option<String> {
    let mut numbers = Numbers(piece.text.len() as u64);
    let mut random = || any_bits(&mut numbers) as u32;
    let mut memory = Memory::new(4096);
    let base = memory.alloc(4 * WORDS as u64).unwrap();
    let mut words: Vec<u32> = (0..WORDS).map(|_| random()).collect();
    let mut registers: Vec<u32> = (0..16).map(|_| random()).collect();
    if hit {
        // The comparand of a dword, and that of a qword.
        registers[1] = words[4];
        if matches!(piece.effect, Atomic64(_)) {
            registers[2..4].copy_from_slice(&words[4..6]);
        }
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(base, &bytes).unwrap();
    let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
    for (register, word) in (8..).zip([base as u32, (base >> 32) as u32, 4 * WORDS as u32, 0]) {
        probe.set_sgpr(register, word);
    }
    for (register, word) in (32..).zip(&registers) {
        probe.set_sgpr(register, *word);
    }
    probe
        .run(&memory)
        .unwrap_or_else(|fault| panic!("{} {}: {fault}", card.name, piece.text));
    match piece.effect {
        Load(count) => registers[..count].copy_from_slice(&words[4..4 + count]),
        LoadPart(bytes, signed) => {
            let above = 32 - 8 * bytes;
            let value = words[4] << above;
            registers[0] = if signed {
                (value as i32 >> above) as u32
            } else {
                value >> above
            };
        }
        Store(count) => words[4..4 + count].copy_from_slice(&registers[..count]),
        Atomic32(f) => {
            let old = words[4];
            words[4] = f(old, registers[0], registers[1]);
            if piece.returns {
                registers[0] = old;
            }
        }
        Atomic64(f) => {
            let old = pair(&words[4..]);
            let new = f(old, pair(&registers), pair(&registers[2..]));
            (words[4], words[5]) = (new as u32, (new >> 32) as u32);
            if piece.returns {
                (registers[0], registers[1]) = (old as u32, (old >> 32) as u32);
            }
        }
    }
    let mut bytes = vec![0; 4 * WORDS];
    memory.read(base, &mut bytes).unwrap();
    let got: Vec<u32> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    let after: Vec<u32> = (32..48).map(|register| probe.sgpr(register)).collect();
    (got != words || after != registers).then(|| {
        format!(
            "{} {}: {got:x?} and {after:x?}, not {words:x?} and {registers:x?}",
            card.name, piece.text
        )
    })
}

#[test]
fn scalar_memory_instructions_are_the_functions_written_out_here() {
    let mut wrong = Vec::new();
    for card in CARDS {
        let pieces = all(card);
        let assembled = assemble_each(card, &self::pieces(card));
        for ((piece, assembled), hit) in pieces
            .iter()
            .zip(&assembled)
            .flat_map(|both| [(both, false), (both, true)])
        {
            let code = &assembled
                .as_ref()
                .unwrap_or_else(|| panic!("{} {}", card.name, piece.text))
                .code;
            wrong.extend(match card.is_rdna() {
                true => failure::<32>(card, piece, code, hit),
                false => failure::<64>(card, piece, code, hit),
            });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_scalar_buffer_ends_where_its_descriptor_says() {
    for card in CARDS {
        let load = if !card.is_before_rdna3() {
            "s_buffer_load_b64"
        } else {
            "s_buffer_load_dwordx2"
        };
        let piece = format!("{load} s[32:33], s[8:11], 0x4");
        let assembled = assemble_each(card, &[piece]).remove(0).unwrap();
        let mut memory = Memory::new(64);
        let base = memory.alloc(64).unwrap();
        memory.fill(base, &[1], 64).unwrap();
        let run = |records: u32| {
            let mut probe = WaveProbe::<64>::new(card.target, &assembled.code).unwrap();
            for (register, word) in (8..).zip([base as u32, (base >> 32) as u32, records, 0]) {
                probe.set_sgpr(register, word);
            }
            probe.run(&memory).unwrap();
            [32, 33].map(|register| probe.sgpr(register))
        };
        assert_eq!(run(12), [0x0101_0101; 2], "{}", card.name);
        assert_eq!(run(8), [0x0101_0101, 0], "{}", card.name);
        assert_eq!(run(4), [0, 0], "{}", card.name);
    }
}
