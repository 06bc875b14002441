//! Loads, stores and atomics of every address space against a function of memory, data and comparand.
//!
//! Every lane owns sixteen bytes. A piece stores known bytes there, runs the instruction, and loads the bytes again.

use gfx_emu::{Memory, WaveProbe};
use half::{bf16, f16};

use super::{CARDS, any_bits, assemble_each};
use crate::llvm::Card;
use crate::wave::Numbers;

/// What an instruction does with a lane's sixteen bytes, its data registers and its destination.
enum Effect {
    /// Loads so many bytes, sign-extended or not, into the whole register or a half of it.
    Load(usize, bool, Option<u32>),
    /// Stores so many bytes, from this bit of the data on.
    Store(usize, u32),
    /// Replaces 32 bits: of old value, data, second operand.
    Atomic32(fn(u32, u32, u32) -> u32),
    /// Replaces 64 bits.
    Atomic64(fn(u64, u64, u64) -> u64),
}
use Effect::{Atomic32, Atomic64, Load, Store};

fn narrow(f: fn(f32, f32) -> f32, a: u32, b: u32) -> u32 {
    f(f32::from_bits(a), f32::from_bits(b)).to_bits()
}
fn wide(f: fn(f64, f64) -> f64, a: u64, b: u64) -> u64 {
    f(f64::from_bits(a), f64::from_bits(b)).to_bits()
}
fn halves(a: u32, b: u32, add: fn(u16, u16) -> u16) -> u32 {
    let half = |at: u32| u32::from(add((a >> at) as u16, (b >> at) as u16)) << at;
    half(0) | half(16)
}

/// Names in RDNA3's spelling without the space; of the data share's atomics the name there, without `rtn`.
#[rustfmt::skip] // one instruction a line
const ROWS: &[(&str, &str, Effect)] = &[
    ("load_u8", "load_u8", Load(1, false, None)),
    ("load_i8", "load_i8", Load(1, true, None)),
    ("load_u16", "load_u16", Load(2, false, None)),
    ("load_i16", "load_i16", Load(2, true, None)),
    ("load_b32", "load_b32", Load(4, false, None)),
    ("load_b64", "load_b64", Load(8, false, None)),
    ("load_b96", "load_b96", Load(12, false, None)),
    ("load_b128", "load_b128", Load(16, false, None)),
    ("load_d16_u8", "load_u8_d16", Load(1, false, Some(0))),
    ("load_d16_i8", "load_i8_d16", Load(1, true, Some(0))),
    ("load_d16_b16", "load_u16_d16", Load(2, false, Some(0))),
    ("load_d16_hi_u8", "load_u8_d16_hi", Load(1, false, Some(16))),
    ("load_d16_hi_i8", "load_i8_d16_hi", Load(1, true, Some(16))),
    ("load_d16_hi_b16", "load_u16_d16_hi", Load(2, false, Some(16))),
    ("store_b8", "store_b8", Store(1, 0)),
    ("store_b16", "store_b16", Store(2, 0)),
    ("store_b32", "store_b32", Store(4, 0)),
    ("store_b64", "store_b64", Store(8, 0)),
    ("store_b96", "store_b96", Store(12, 0)),
    ("store_b128", "store_b128", Store(16, 0)),
    ("store_d16_hi_b8", "store_b8_d16_hi", Store(1, 16)),
    ("store_d16_hi_b16", "store_b16_d16_hi", Store(2, 16)),
    ("atomic_swap_b32", "storexchg_b32", Atomic32(|_, data, _| data)),
    ("atomic_add_u32", "add_u32", Atomic32(|old, data, _| old.wrapping_add(data))),
    ("atomic_sub_u32", "sub_u32", Atomic32(|old, data, _| old.wrapping_sub(data))),
    ("", "rsub_u32", Atomic32(|old, data, _| data.wrapping_sub(old))),
    ("atomic_csub_u32", "", Atomic32(|old, data, _| old.saturating_sub(data))),
    ("atomic_sub_clamp_u32", "sub_clamp_u32", Atomic32(|old, data, _| old.saturating_sub(data))),
    ("atomic_cond_sub_u32", "cond_sub_u32", Atomic32(|old, data, _| if old >= data { old - data } else { old })),
    ("atomic_min_i32", "min_i32", Atomic32(|old, data, _| (old as i32).min(data as i32) as u32)),
    ("atomic_min_u32", "min_u32", Atomic32(|old, data, _| old.min(data))),
    ("atomic_max_i32", "max_i32", Atomic32(|old, data, _| (old as i32).max(data as i32) as u32)),
    ("atomic_max_u32", "max_u32", Atomic32(|old, data, _| old.max(data))),
    ("atomic_and_b32", "and_b32", Atomic32(|old, data, _| old & data)),
    ("atomic_or_b32", "or_b32", Atomic32(|old, data, _| old | data)),
    ("atomic_xor_b32", "xor_b32", Atomic32(|old, data, _| old ^ data)),
    ("atomic_inc_u32", "inc_u32", Atomic32(|old, data, _| if old >= data { 0 } else { old + 1 })),
    ("atomic_dec_u32", "dec_u32", Atomic32(|old, data, _| if old == 0 || old > data { data } else { old - 1 })),
    ("atomic_cmpswap_b32", "", Atomic32(|old, data, second| if old == second { data } else { old })),
    ("atomic_cmpswap_f32", "", Atomic32(|old, data, second| if f32::from_bits(old) == f32::from_bits(second) { data } else { old })),
    ("", "cmpstore_b32", Atomic32(|old, data, second| if old == second { data } else { old })),
    ("", "cmpstore_f32", Atomic32(|old, data, second| if f32::from_bits(old) == f32::from_bits(second) { data } else { old })),
    ("", "mskor_b32", Atomic32(|old, data, second| old & !data | second)),
    ("", "wrap_b32", Atomic32(|old, data, second| if old >= data { old - data } else { old.wrapping_add(second) })),
    ("atomic_add_f32", "add_f32", Atomic32(|old, data, _| narrow(|a, b| a + b, old, data))),
    ("atomic_min_f32", "min_f32", Atomic32(|old, data, _| narrow(f32::min, old, data))),
    ("atomic_max_f32", "max_f32", Atomic32(|old, data, _| narrow(f32::max, old, data))),
    ("atomic_pk_add_f16", "pk_add_f16", Atomic32(|old, data, _| halves(old, data, |a, b| {
        f16::from_f64(f16::from_bits(a).to_f64() + f16::from_bits(b).to_f64()).to_bits()
    }))),
    ("atomic_pk_add_bf16", "pk_add_bf16", Atomic32(|old, data, _| halves(old, data, |a, b| {
        bf16::from_f32(bf16::from_bits(a).to_f32() + bf16::from_bits(b).to_f32()).to_bits()
    }))),
    ("atomic_swap_b64", "storexchg_b64", Atomic64(|_, data, _| data)),
    ("atomic_add_u64", "add_u64", Atomic64(|old, data, _| old.wrapping_add(data))),
    ("atomic_sub_u64", "sub_u64", Atomic64(|old, data, _| old.wrapping_sub(data))),
    ("", "rsub_u64", Atomic64(|old, data, _| data.wrapping_sub(old))),
    ("atomic_min_i64", "min_i64", Atomic64(|old, data, _| (old as i64).min(data as i64) as u64)),
    ("atomic_min_u64", "min_u64", Atomic64(|old, data, _| old.min(data))),
    ("atomic_max_i64", "max_i64", Atomic64(|old, data, _| (old as i64).max(data as i64) as u64)),
    ("atomic_max_u64", "max_u64", Atomic64(|old, data, _| old.max(data))),
    ("atomic_and_b64", "and_b64", Atomic64(|old, data, _| old & data)),
    ("atomic_or_b64", "or_b64", Atomic64(|old, data, _| old | data)),
    ("atomic_xor_b64", "xor_b64", Atomic64(|old, data, _| old ^ data)),
    ("atomic_inc_u64", "inc_u64", Atomic64(|old, data, _| if old >= data { 0 } else { old + 1 })),
    ("atomic_dec_u64", "dec_u64", Atomic64(|old, data, _| if old == 0 || old > data { data } else { old - 1 })),
    ("atomic_cmpswap_b64", "", Atomic64(|old, data, second| if old == second { data } else { old })),
    ("", "cmpstore_b64", Atomic64(|old, data, second| if old == second { data } else { old })),
    ("", "cmpstore_f64", Atomic64(|old, data, second| if f64::from_bits(old) == f64::from_bits(second) { data } else { old })),
    ("", "mskor_b64", Atomic64(|old, data, second| old & !data | second)),
    ("atomic_add_f64", "add_f64", Atomic64(|old, data, _| wide(|a, b| a + b, old, data))),
    ("atomic_cmpswap_f64", "", Atomic64(|old, data, second| if f64::from_bits(old) == f64::from_bits(second) { data } else { old })),
    ("atomic_min_f64", "min_f64", Atomic64(|old, data, _| wide(f64::min, old, data))),
    ("atomic_max_f64", "max_f64", Atomic64(|old, data, _| wide(f64::max, old, data))),
];

/// GFX9's names of the instructions that reach memory outside of LDS.
#[rustfmt::skip] // one name a line
const GFX9: &[(&str, &str)] = &[
    ("load_u8", "load_ubyte"),
    ("load_i8", "load_sbyte"),
    ("load_u16", "load_ushort"),
    ("load_i16", "load_sshort"),
    ("load_addtid_b32", "load_dword_addtid"),
    ("store_addtid_b32", "store_dword_addtid"),
    ("load_b32", "load_dword"),
    ("load_b64", "load_dwordx2"),
    ("load_b96", "load_dwordx3"),
    ("load_b128", "load_dwordx4"),
    ("load_d16_u8", "load_ubyte_d16"),
    ("load_d16_i8", "load_sbyte_d16"),
    ("load_d16_b16", "load_short_d16"),
    ("load_d16_hi_u8", "load_ubyte_d16_hi"),
    ("load_d16_hi_i8", "load_sbyte_d16_hi"),
    ("load_d16_hi_b16", "load_short_d16_hi"),
    ("store_b8", "store_byte"),
    ("store_b16", "store_short"),
    ("store_b32", "store_dword"),
    ("store_b64", "store_dwordx2"),
    ("store_b96", "store_dwordx3"),
    ("store_b128", "store_dwordx4"),
    ("store_d16_hi_b8", "store_byte_d16_hi"),
    ("store_d16_hi_b16", "store_short_d16_hi"),
];

/// Floats in atomics, as GFX10 spells them.
const GFX10: &[(&str, &str)] = &[
    ("atomic_cmpswap_f32", "atomic_fcmpswap"),
    ("atomic_min_f32", "atomic_fmin"),
    ("atomic_max_f32", "atomic_fmax"),
    ("atomic_cmpswap_f64", "atomic_fcmpswap_x2"),
    ("atomic_min_f64", "atomic_fmin_x2"),
    ("atomic_max_f64", "atomic_fmax_x2"),
];

/// A memory instruction in the spelling of a GFX9 card, or of GFX10.
pub(super) fn respell(line: &str, card: &str) -> String {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = if card == "gfx942" && !name.starts_with("s_") {
        rest.replace(" glc", " sc0")
    } else {
        rest.to_owned()
    };
    let Some((space, what)) = name
        .split_once('_')
        .filter(|(space, _)| ["global", "flat", "scratch", "buffer"].contains(space))
    else {
        return format!("{name} {rest}");
    };
    let of_card = if card == "gfx1030" { GFX10 } else { &[] };
    let known = GFX9
        .iter()
        .chain(of_card)
        .find(|(rdna, _)| *rdna == what)
        .map(|(_, gfx9)| (*gfx9).to_owned());
    let what = known.unwrap_or_else(|| match what.strip_prefix("atomic_") {
        Some(atomic) if !atomic.ends_with("f32") && !atomic.ends_with("f64") && !atomic.ends_with("f16") => {
            let (what, ty) = atomic.rsplit_once('_').unwrap_or((atomic, ""));
            let sign = match (what, ty.chars().next()) {
                ("min" | "max", Some('i')) => "s",
                ("min" | "max", _) => "u",
                _ => "",
            };
            format!(
                "atomic_{sign}{what}{}",
                if ty.ends_with("64") { "_x2" } else { "" }
            )
        }
        _ => what.to_owned(),
    });
    format!("{space}_{what} {rest}")
}

/// Address spaces: how an address is written, and the registers in front of the data's.
const SPACES: [&str; 5] = ["global", "flat", "scratch", "buffer", "ds"];

/// `v4` or `v[4:7]`.
fn registers(first: u32, words: usize) -> String {
    if words <= 1 {
        format!("v{first}")
    } else {
        format!("v[{first}:{}]", first + words as u32 - 1)
    }
}

/// An instruction of a space: a destination or data first, then the address.
fn line(
    space: &str,
    name: &str,
    dst: Option<String>,
    data: Option<String>,
    second: Option<String>,
) -> String {
    let join = |parts: Vec<Option<String>>| parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let address = |text: &str| Some(text.to_owned());
    match space {
        "ds" => format!("ds_{name} {}", join(vec![dst, address("v8"), data, second])),
        "buffer" => {
            let returns = if dst.is_some() && data.is_some() {
                " glc"
            } else {
                ""
            };
            format!(
                "buffer_{name} {}, v8, s[8:11], s12 offen{returns}",
                data.or(dst).unwrap_or_default()
            )
        }
        _ => {
            let returns = if dst.is_some() && data.is_some() {
                " glc"
            } else {
                ""
            };
            let place = if space == "scratch" { "v8" } else { "v[8:9]" };
            let off = if space == "flat" { None } else { address("off") };
            format!(
                "{space}_{name} {}{returns}",
                join(vec![dst, address(place), data, off])
            )
        }
    }
}

/// Which registers hold what: destination v0 to v3, data v4 to v7, address v8 and v9, first bytes v12 to v15, last v16 to
/// v19.
struct Piece {
    text: String,
    row: usize,
    returns: bool,
    /// Data and destination are the same registers.
    shared: bool,
}

fn all_pieces() -> Vec<Piece> {
    let mut all = Vec::new();
    for space in SPACES {
        let before = line(space, "store_b128", None, Some("v[12:15]".into()), None);
        let after = line(space, "load_b128", Some("v[16:19]".into()), None, None);
        let mut add = |row: usize, returns: bool, middle: String| {
            all.push(Piece {
                text: format!("{before}\n{middle}\n{after}"),
                row,
                returns,
                shared: space == "buffer" && returns && middle.contains("atomic"),
            });
        };
        for (row, (vector, share, effect)) in ROWS.iter().enumerate() {
            let name = if space == "ds" { share } else { vector };
            if name.is_empty() {
                continue;
            }
            let words = |bytes: usize| bytes.div_ceil(4);
            match effect {
                Load(bytes, ..) => add(
                    row,
                    true,
                    line(space, name, Some(registers(0, words(*bytes))), None, None),
                ),
                Store(bytes, _) => add(
                    row,
                    false,
                    line(space, name, None, Some(registers(4, words(*bytes))), None),
                ),
                Atomic32(_) | Atomic64(_) => {
                    let words = if matches!(effect, Atomic32(_)) { 1 } else { 2 };
                    let pair = name.contains("cmpswap");
                    let two = ["cmpstore", "mskor", "wrap"].iter().any(|two| name.contains(two));
                    let data = Some(registers(4, if pair { 2 * words } else { words }));
                    let second = two.then(|| registers(6, words));
                    let returning = if space == "ds" {
                        let (what, ty) = name.rsplit_once('_').unwrap();
                        match what.strip_suffix("_add") {
                            Some(start) => format!("{start}_add_rtn_{ty}"),
                            None => format!("{what}_rtn_{ty}"),
                        }
                    } else {
                        (*name).to_owned()
                    };
                    let dst = Some(registers(0, words));
                    add(
                        row,
                        true,
                        line(space, &returning, dst, data.clone(), second.clone()),
                    );
                    if !name.contains("storexchg") && !name.contains("wrap") && !name.contains("csub") {
                        add(row, false, line(space, name, None, data, second));
                    }
                }
            }
        }
    }
    all
}

pub(super) fn pieces(_card: Card) -> Vec<String> {
    all_pieces().into_iter().map(|piece| piece.text).collect()
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// The lane's bytes and its destination after the instruction. Where a destination is of no account, `None`.
fn expected(effect: &Effect, clears: bool, bytes: &mut [u8; 16], data: [u64; 2], old: u64) -> Vec<u32> {
    let value = |bytes: &[u8], signed: bool| {
        let bits = 8 * bytes.len() as u32;
        let value = number(bytes);
        let negative = signed && value >> (bits - 1) & 1 != 0;
        if negative { value | u64::MAX << bits } else { value }
    };
    match effect {
        Load(count, signed, None) if *count < 4 => vec![value(&bytes[..*count], *signed) as u32],
        Load(count, _, None) => bytes[..*count]
            .chunks(4)
            .map(|word| number(word) as u32)
            .collect(),
        Load(count, signed, Some(at)) => {
            let half = (value(&bytes[..*count], *signed) as u32 & 0xffff) << at;
            let kept = if clears { 0 } else { old as u32 & !(0xffff << at) };
            vec![kept | half]
        }
        Store(count, from) => {
            let all: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
            let from = *from as usize / 8;
            bytes[..*count].copy_from_slice(&all[from..from + count]);
            Vec::new()
        }
        Atomic32(f) => {
            let old = number(&bytes[..4]) as u32;
            bytes[..4].copy_from_slice(&f(old, data[0] as u32, data[1] as u32).to_le_bytes());
            vec![old]
        }
        Atomic64(f) => {
            let old = number(&bytes[..8]);
            bytes[..8].copy_from_slice(&f(old, data[0], data[1]).to_le_bytes());
            vec![old as u32, (old >> 32) as u32]
        }
    }
}

/// Floats would differ in what NaN they give; numbers are plain.
fn plain(bits: u64, name: &str, numbers: &mut Numbers) -> u64 {
    let small = (numbers.next() % 100) as i64 - 50;
    match name.rsplit_once('_').map(|(_, ty)| ty) {
        Some("f32") => u64::from((small as f32 / 4.0).to_bits()) | u64::from((small as f32).to_bits()) << 32,
        Some("f64") => (small as f64 / 4.0).to_bits(),
        Some("f16") => 0x0001_0001_0001_0001 * u64::from(f16::from_f64(small as f64 / 4.0).to_bits()),
        Some("bf16") => 0x0001_0001_0001_0001 * u64::from(bf16::from_f32(small as f32).to_bits()),
        _ => bits,
    }
}

fn failures<const W: usize>(card: Card, piece: &Piece, code: &[u8], failures: &mut Vec<String>) {
    let (vector, share, effect) = &ROWS[piece.row];
    let name = if vector.is_empty() { share } else { vector };
    let mut numbers = Numbers(piece.text.len() as u64);
    let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
    let mut memory = Memory::new(1 << 20);
    let base = memory.alloc(16 * W as u64).unwrap();
    let flat = piece.text.starts_with("global") || piece.text.starts_with("flat");
    probe.set_lds(16 * W);
    probe.set_scratch(16 * W);
    // A raw buffer: base, no stride, its bytes; a scalar offset that the number of bytes includes.
    let words = [
        base as u32,
        (base >> 32) as u32 & 0xffff,
        16 * W as u32,
        if W == 32 { 3 << 28 } else { 0 },
    ];
    for (register, word) in (8..).zip(words) {
        probe.set_sgpr(register, word);
    }
    let mut lanes = Vec::new();
    for lane in 0..W {
        let address = if flat { base } else { 0 } + 16 * lane as u64;
        probe.set_vgpr(8, lane, address as u32);
        probe.set_vgpr(9, lane, (address >> 32) as u32);
        let mut bytes = [0; 16];
        for half in bytes.chunks_mut(8) {
            let bits = any_bits(&mut numbers);
            half.copy_from_slice(&plain(bits, name, &mut numbers).to_le_bytes());
        }
        let mut data: [u64; 2] = std::array::from_fn(|_| {
            let bits = any_bits(&mut numbers);
            plain(bits, name, &mut numbers)
        });
        // The comparand hits every other time. Pairs of dwords lie in one register pair, all others in two.
        if numbers.next().is_multiple_of(2) {
            data[1] = number(&bytes[..8]);
        }
        let tuple = name.contains("cmpswap") && matches!(effect, Atomic32(_));
        if tuple {
            data[0] = data[0] & 0xffff_ffff | data[1] << 32;
        }
        for (i, word) in bytes.chunks(4).enumerate() {
            probe.set_vgpr(12 + i as u16, lane, number(word) as u32);
        }
        for (i, word) in data
            .iter()
            .flat_map(|word| [*word as u32, (*word >> 32) as u32])
            .enumerate()
        {
            probe.set_vgpr(4 + i as u16, lane, word);
            probe.set_vgpr(i as u16, lane, 0xabcd_1234);
        }
        lanes.push((bytes, data));
    }
    probe
        .run(&memory)
        .unwrap_or_else(|fault| panic!("{} {}: {fault}", card.name, piece.text));
    for (lane, (mut bytes, data)) in lanes.into_iter().enumerate() {
        let given = bytes;
        let clears = !card.is_rdna();
        let want = expected(effect, clears, &mut bytes, data, 0xabcd_1234);
        let first = if piece.shared { 4 } else { 0 };
        let got: Vec<u32> = (0..want.len() as u16)
            .map(|i| probe.vgpr(first + i, lane).unwrap())
            .collect();
        let last: Vec<u8> = (16..20)
            .flat_map(|n| probe.vgpr(n, lane).unwrap().to_le_bytes())
            .collect();
        if last != bytes || piece.returns && got != want {
            failures.push(format!(
                "{}\n{}\n  of {given:x?} and {data:x?}: {last:x?} and {got:x?}, not {bytes:x?} and {want:x?}",
                card.name, piece.text
            ));
            return;
        }
    }
}

#[test]
fn memory_instructions_are_the_functions_written_out_here() {
    let mut wrong = Vec::new();
    let pieces = all_pieces();
    for card in CARDS {
        let texts: Vec<String> = pieces.iter().map(|piece| piece.text.clone()).collect();
        let assembled = assemble_each(card, &texts);
        let known = assembled.iter().flatten().count();
        assert!(known > 250, "{} has only {known}", card.name);
        for (piece, assembled) in pieces.iter().zip(&assembled) {
            let Some(assembled) = assembled else { continue };
            if card.is_rdna() {
                failures::<32>(card, piece, &assembled.code, &mut wrong);
            } else {
                failures::<64>(card, piece, &assembled.code, &mut wrong);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        pieces.len(),
        wrong.join("\n")
    );
}
