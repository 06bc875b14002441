//! What a modified instruction must leave in registers: what the plain one leaves there, from registers that have the modifiers
//! in them already.
//!
//! A sign, half, part or lane of a source is one of a register that holds it. What is done to the result is written out here.

use std::collections::BTreeMap;

use gfx_emu::{Compiling, Memory, WaveProbe};

use super::forms::{Change, Form, vector};
use super::pattern::from;
use super::{Case, LineFate, names};
use crate::wave::{EXEC, Numbers, VCC};

/// Scalar registers that are set and compared.
const SCALARS: u8 = 40;

/// What a source is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SourceKind {
    /// The low half of a register, unless a modifier says otherwise.
    Half,
    Word,
    Wide,
    /// Two halves.
    Pair,
    /// Two words.
    WidePair,
    /// A word, or a half where `op_sel_hi` says so.
    Mix,
}

/// Types in the name of an instruction.
fn types(name: &str) -> Vec<&str> {
    let is_type = |part: &&str| {
        let part = part.trim_start_matches("mixlo").trim_start_matches("mixhi");
        let digits = part
            .trim_start_matches("bf")
            .trim_start_matches(['f', 'i', 'u', 'b']);
        part.len() > digits.len() && matches!(digits, "8" | "16" | "24" | "32" | "64")
    };
    name.split('_').filter(is_type).collect()
}

/// What source `i` of an instruction is; `None` where its name does not say it.
fn kind(form: &Form, i: usize) -> Option<SourceKind> {
    let name = crate::authority::base(&form.name);
    let (_, _, registers) = vector(form.sources().get(i)?)?;
    let source = types(name).last().copied().unwrap_or_default();
    let unknown = [
        "v_dot4",
        "v_dot8",
        "v_pk_mov",
        "v_wmma",
        "v_swmmac",
        "v_permlane",
        "v_cvt_sr",
        "v_interp",
        "v_dot2_f16",
        "v_dot2_bf16",
        "v_cvt_pk_f32_",
        "v_cvt_f32_fp8",
        "v_cvt_f32_bf8",
        "v_cvt_pk_fp8",
        "v_cvt_pk_bf8",
        "v_bitop3",
        "v_mad_mixlo",
        "v_mad_mixhi",
    ];
    if unknown.iter().any(|start| name.starts_with(start)) {
        return None;
    }
    if name.contains("mix") && !name.contains("max") {
        return (name != "v_minmax").then_some(SourceKind::Mix);
    }
    if name.starts_with("v_pk_") {
        return Some(if registers == 2 {
            SourceKind::WidePair
        } else {
            SourceKind::Pair
        });
    }
    if name.starts_with("v_dot2") {
        return Some(if i < 2 { SourceKind::Pair } else { SourceKind::Word });
    }
    if registers == 2 {
        return Some(SourceKind::Wide);
    }
    if registers != 1 {
        return None;
    }
    Some(match source {
        "f16" | "i16" | "u16" | "b16" | "bf16" => {
            if name.starts_with("v_sat_pk") {
                SourceKind::Pair
            } else if matches!(name, "v_mad_u32_u16" | "v_mad_i32_i16") && i == 2 {
                SourceKind::Word
            } else {
                SourceKind::Half
            }
        }
        _ => SourceKind::Word,
    })
}

/// Registers by number, those of the other file from 256 on.
type Rows = BTreeMap<u16, Vec<u32>>;

/// The number of an operand's first register, and how many it has.
fn place(operand: &str) -> Option<(u16, u16)> {
    vector(operand).map(|(file, first, count)| (first + if file == 'a' { 256 } else { 0 }, count))
}

/// Bits of which every fourth are numbers around one, in each precision.
fn random_rows(form: &Form, lanes: usize) -> Rows {
    let mut numbers = Numbers(form.name.len() as u64 + 1);
    let mut rows = Rows::new();
    for operand in &form.operands {
        let Some((first, count)) = place(operand) else {
            continue;
        };
        for register in first..first + count {
            let row = (0..lanes).map(|lane| {
                let bits = (numbers.next() >> 16) as u32;
                match lane % 5 {
                    0 => 0x3f80_0000 ^ bits & 0x81ff_ffff,
                    1 => 0x3ff0_0000 ^ bits & 0x801f_ffff,
                    2 => 0x3c00_3c00 ^ bits & 0x87ff_87ff,
                    _ => bits,
                }
            });
            rows.insert(register, row.collect());
        }
    }
    rows
}

/// Registers after a run.
#[derive(Clone, Debug, PartialEq)]
struct After {
    rows: Rows,
    scalars: Vec<u32>,
    masks: [u64; 2],
}

fn run<const W: usize>(
    case: &Case<'_>,
    code: &[u8],
    rows: &Rows,
    exec: u64,
    compiling: Compiling,
) -> Result<After, String> {
    let end: [u8; 4] = case.end();
    let code = [code, &end].concat();
    let mut wave = WaveProbe::<W>::new(case.card.target, &code).map_err(|error| error.to_string())?;
    wave.set_compiling(compiling);
    for (register, row) in rows {
        row.iter()
            .enumerate()
            .for_each(|(lane, value)| wave.set_vgpr(*register, lane, *value));
    }
    let mut numbers = Numbers(5);
    let mut next = || (numbers.next() >> 16) as u32;
    (0..SCALARS).for_each(|n| wave.set_sgpr(n, next()));
    wave.set_sgpr(VCC, next());
    wave.set_sgpr(VCC + 1, next());
    wave.set_sgpr(EXEC, exec as u32);
    if W == 64 {
        wave.set_sgpr(EXEC + 1, (exec >> 32) as u32);
    }
    wave.run(&Memory::new(0)).map_err(|fault| fault.to_string())?;
    let row = |register: u16| (0..W).map(|lane| wave.vgpr(register, lane).unwrap()).collect();
    Ok(After {
        rows: rows.keys().map(|register| (*register, row(*register))).collect(),
        scalars: (0..SCALARS).map(|n| wave.sgpr(n)).collect(),
        masks: [VCC, EXEC].map(|code| {
            let high = if W == 64 { wave.sgpr(code + 1) } else { 0 };
            u64::from(wave.sgpr(code)) | u64::from(high) << 32
        }),
    })
}

/// Runs a case, interpreted and compiled, and compares it with the plain instruction where that says what must come out.
pub(super) fn compare<const W: usize>(case: &Case<'_>) -> Result<LineFate, String> {
    let rows = random_rows(case.form, W);
    let lanes = if W == 64 { u64::MAX } else { 0xffff_ffff };
    // With lanes that take no part, among them sources of DPP.
    let exec = 0xdfff_7ff7_f0ff_fbfb & lanes;
    let got = match run::<W>(case, case.code, &rows, exec, Compiling::Off) {
        Ok(got) => got,
        Err(refusal) if names(&refusal, case.text) => return Ok(LineFate::Refused),
        Err(other) => return Err(other),
    };
    if case.compiles {
        let compiled = run::<W>(case, case.code, &rows, exec, Compiling::AtOnce)?;
        if compiled != got {
            return Err(format!("compiled {compiled:x?}, interpreted {got:x?}"));
        }
    }
    let held = match wanted::<W>(case, &rows, exec)? {
        None => false,
        Some(want) => {
            want.check::<W>(case, &rows, &got)?;
            true
        }
    };
    Ok(LineFate::Executed {
        held,
        compiled: case.compiles,
    })
}

/// What must come out.
struct Wanted {
    plain: After,
    /// Lanes that are written.
    written: u64,
}

/// The value of a modifier among the changes.
fn value<'a>(case: &'a Case<'_>, field: &str) -> Option<&'a str> {
    let change = case.changes.iter().find(|change: &&Change| change.field == field);
    change.map(|change| change.value.as_str())
}

/// The bits of `name:[1,0,1]`; none without it.
fn bits(case: &Case<'_>, field: &str) -> Option<u8> {
    let list = value(case, field)?.split_once('[')?.1.trim_end_matches(']');
    let bits = list.split(',').enumerate();
    Some(bits.map(|(i, bit)| u8::from(bit == "1") << i).sum())
}

/// A part of a register that SDWA names: lowest bit and width.
fn part(name: &str) -> (u32, u32) {
    match name.split_once(':').map_or(name, |(_, part)| part) {
        "BYTE_0" => (0, 8),
        "BYTE_1" => (8, 8),
        "BYTE_2" => (16, 8),
        "BYTE_3" => (24, 8),
        "WORD_0" => (0, 16),
        "WORD_1" => (16, 16),
        _ => (0, 32),
    }
}

fn extracted(register: u32, name: &str, signed: bool) -> u32 {
    let (low, count) = part(name);
    let field = (u64::from(register) >> low & ((1 << count) - 1)) as u32;
    let sign = count < 32 && signed && field >> (count - 1) & 1 != 0;
    if sign { field | u32::MAX << count } else { field }
}

/// The plain instruction's results from registers that have the modifiers of the sources in them; `None` where no such registers are known.
fn wanted<const W: usize>(case: &Case<'_>, rows: &Rows, exec: u64) -> Result<Option<Wanted>, String> {
    let Some(plain) = case.plain else { return Ok(None) };
    let form = case.form;
    if form.encoding == "MAI" || value(case, "byte_sel").is_some() {
        return Ok(None);
    }
    let mut changed = rows.clone();
    let mut written = exec;
    let pattern = value(case, "dpp").or(value(case, "dpp8"));
    let has_dpp = form.encoding.contains("DPP");
    if has_dpp {
        let identity = if form.encoding.contains("DPP8") {
            "dpp8:[0,1,2,3,4,5,6,7]"
        } else {
            "quad_perm:[0,1,2,3]"
        };
        let pattern = pattern.unwrap_or(identity);
        let Some((first, count)) = form.sources().first().and_then(|operand| place(operand)) else {
            return Ok(None);
        };
        let mask = |field: &str| {
            value(case, field).map_or(15, |text| {
                u8::from_str_radix(text.split_once("0x").unwrap().1, 16).unwrap()
            })
        };
        let eight = form.encoding.contains("DPP8");
        for lane in 0..W {
            let from = from(pattern, lane, W);
            let readable = from.filter(|from| value(case, "fi").is_some() || exec >> from & 1 != 0);
            for register in first..first + count {
                changed.get_mut(&register).unwrap()[lane] = readable.map_or(0, |from| rows[&register][from]);
            }
            let masked =
                mask("row_mask") >> (lane / 16) & 1 == 0 || mask("bank_mask") >> (lane % 16 / 4) & 1 == 0;
            if masked || readable.is_none() && value(case, "bound_ctrl").is_none() && !eight {
                written &= !(1 << lane);
            }
        }
    }
    for i in 0..form.sources().len() {
        let signs = value(case, ["src0", "src1", "src2"][i.min(2)]).filter(|_| i < 3);
        let lists = ["op_sel", "op_sel_hi", "neg_lo", "neg_hi"].map(|field| bits(case, field));
        let selects = value(case, ["src0_sel", "src1_sel", ""][i.min(2)]);
        if signs.is_none() && lists == [None; 4] && selects.is_none() {
            continue;
        }
        let Some((first, count)) = place(&form.sources()[i]) else {
            return Ok(None);
        };
        let Some(kind) = kind(form, i) else {
            return Ok(None);
        };
        for lane in 0..W {
            let old: Vec<u32> = (first..first + count)
                .map(|register| changed[&register][lane])
                .collect();
            let Some(new) = source(form, kind, i, &old, signs, lists, selects) else {
                return Ok(None);
            };
            for (register, value) in (first..).zip(new) {
                changed.get_mut(&register).unwrap()[lane] = value;
            }
        }
    }
    // Two operands in one register cannot be changed apart.
    match run::<W>(case, plain, &changed, exec, Compiling::Off) {
        Ok(plain) => Ok(Some(Wanted { plain, written })),
        Err(refusal) => Err(format!("the plain one: {refusal}")),
    }
}

/// A source with its modifiers, in registers of which the plain instruction reads the same.
fn source(
    form: &Form,
    kind: SourceKind,
    i: usize,
    old: &[u32],
    signs: Option<&str>,
    [select, select_high, low, high]: [Option<u8>; 4],
    part: Option<&str>,
) -> Option<Vec<u32>> {
    let bit = |list: Option<u8>, or: bool| list.map_or(or, |bits| bits >> i & 1 != 0);
    let half = |word: u32, high: bool| word >> if high { 16 } else { 0 } & 0xffff;
    let signed = |word: u32, sign: u32| match signs {
        Some("-") => word ^ 1 << sign,
        Some("|") => word & !(1 << sign),
        Some("-|") => word | 1 << sign,
        _ => word,
    };
    let mut new = old.to_vec();
    if part.is_some() || signs == Some("sext") {
        new[0] = extracted(old[0], part.unwrap_or("DWORD"), signs == Some("sext"));
        // The part is an integer. The sign is bit 31 of the word that it is extended to.
        if part.is_some() && matches!(signs, Some("-" | "|" | "-|")) && kind == SourceKind::Word {
            new[0] = signed(new[0], 31);
            return Some(new);
        }
    }
    match kind {
        SourceKind::Half => {
            if bit(select, false) {
                new[0] = half(new[0], true);
            }
            new[0] = signed(new[0], 15);
        }
        SourceKind::Word if form.encoding.starts_with("VOP3P") => {
            // The third source of a dot product is one number.
            if select.is_some_and(|bits| bits >> i & 1 != 0) || !bit(select_high, true) || bit(high, false) {
                return None;
            }
            new[0] ^= u32::from(bit(low, false)) << 31;
        }
        SourceKind::Word => {
            if bit(select, false) {
                return None;
            }
            new[0] = signed(new[0], 31);
        }
        SourceKind::Wide => new[1] = signed(new[1], 31),
        SourceKind::Pair => {
            if !form.encoding.starts_with("VOP3P") {
                return None;
            }
            let integer = types(&form.name)
                .last()
                .is_some_and(|last| last.starts_with(['i', 'u', 'b']));
            if integer && !form.name.contains("bf16") && (low.is_some() || high.is_some()) {
                return None;
            }
            let first = half(old[0], bit(select, false)) ^ u32::from(bit(low, false)) << 15;
            let second = half(old[0], bit(select_high, true)) ^ u32::from(bit(high, false)) << 15;
            new[0] = first | second << 16;
        }
        SourceKind::WidePair => {
            new[0] = old[usize::from(bit(select, false))] ^ u32::from(bit(low, false)) << 31;
            new[1] = old[usize::from(bit(select_high, true))] ^ u32::from(bit(high, false)) << 31;
        }
        SourceKind::Mix => {
            if low.is_some() || high.is_some() {
                return None;
            }
            if bit(select_high, false) {
                let bits = half(old[0], bit(select, false)) as u16;
                // The sign of a number is the same in each precision; a NaN's payload is not compared.
                new[0] = single(signed(bits.into(), 15) as u16, form.name.contains("bf16"))?;
            } else {
                new[0] = signed(old[0], 31);
            }
        }
    }
    Some(new)
}

/// Half precision in single precision; `None` of a NaN.
fn single(half: u16, brain: bool) -> Option<u32> {
    if brain {
        return Some(u32::from(half) << 16);
    }
    let (sign, exponent, fraction) = (u32::from(half >> 15), i32::from(half >> 10 & 31), half & 0x3ff);
    let magnitude = match (exponent, fraction) {
        (31, 0) => f32::INFINITY,
        (31, _) => f32::from_bits(0x7fc0_0000 | u32::from(fraction) << 13),
        (0, _) => f32::from(fraction) * 2_f32.powi(-24),
        _ => f32::from(fraction | 0x400) * 2_f32.powi(exponent - 25),
    };
    Some(magnitude.to_bits() | sign << 31)
}

/// A number between zero and one; `bits` says how wide its exponent and fraction are.
fn clamped(bits: u64, exponent: u32, fraction: u32) -> u64 {
    let magnitude = bits & ((1 << (exponent + fraction)) - 1);
    let infinity = ((1 << exponent) - 1) << fraction;
    let one = ((1 << (exponent - 1)) - 1) << fraction;
    let negative = bits >> (exponent + fraction) & 1 != 0;
    // A clamped NaN is zero.
    if magnitude > infinity || negative {
        0
    } else {
        magnitude.min(one)
    }
}

impl Wanted {
    /// Compares the registers after the modified instruction with what must be in them.
    fn check<const W: usize>(&self, case: &Case<'_>, rows: &Rows, got: &After) -> Result<(), String> {
        let form = case.form;
        let name = crate::authority::base(&form.name);
        let destination = form.operands.first().filter(|_| form.destinations > 0);
        let Some((first, count)) = destination.and_then(|operand| place(operand)) else {
            // Masks and scalars: what lanes give that are not written is not said.
            for (i, (want, have)) in self.plain.masks.iter().zip(got.masks).enumerate() {
                if (want ^ have) & self.written != 0 {
                    return Err(format!("mask {i} is {have:#x}, of the plain one {want:#x}"));
                }
            }
            let compares = name.starts_with("v_cmp");
            let pairs = self.plain.scalars.iter().zip(&got.scalars).enumerate();
            for (n, (want, have)) in pairs {
                let lanes = if n % 2 == 1 && W == 64 {
                    self.written >> 32
                } else {
                    self.written
                } as u32;
                let mask = if compares { lanes } else { u32::MAX };
                if (want ^ have) & mask != 0 {
                    return Err(format!("s{n} is {have:#x}, of the plain one {want:#x}"));
                }
            }
            return Ok(());
        };
        let types = types(name);
        let result = types.first().copied().unwrap_or_default();
        let half =
            matches!(result, "f16" | "i16" | "u16" | "b16" | "bf16" | "mixlof16") || name.contains("mixlo");
        let select = bits(case, "op_sel").filter(|_| !form.encoding.starts_with("VOP3P"));
        let into_high = half && select.is_some_and(|bits| bits >> form.sources().len().min(3) & 1 != 0);
        let float = result.starts_with('f') || result == "bf16" || name.contains("mix");
        for lane in 0..W {
            let of = |rows: &Rows, register: u16| rows[&register][lane];
            let is_written = self.written >> lane & 1 != 0;
            let mut want: Vec<u32> = (first..first + count)
                .map(|register| of(&self.plain.rows, register))
                .collect();
            let old: Vec<u32> = (first..first + count)
                .map(|register| of(rows, register))
                .collect();
            let have: Vec<u32> = (first..first + count)
                .map(|register| of(&got.rows, register))
                .collect();
            let mut mask = vec![u32::MAX; want.len()];
            if !is_written {
                want.clone_from(&old);
            } else {
                if value(case, "clamp").is_some() && float {
                    let pair = name.starts_with("v_pk_") || name.starts_with("v_cvt_pk");
                    clamp(&mut want, &mut mask, name, result, pair);
                } else if value(case, "clamp").is_some() {
                    // `clamp.rs` has the integers.
                    return Ok(());
                }
                if half && select.is_some() {
                    if into_high {
                        (want[0], mask[0]) = (want[0] << 16, 0xffff_0000);
                        if have[0] & 0xffff != 0 && have[0] & 0xffff != old[0] & 0xffff {
                            return Err(format!("lane {lane}: the low half is {:#x}", have[0]));
                        }
                    } else {
                        mask[0] = 0xffff;
                    }
                }
                if form.encoding == "SDWA" {
                    let (low, bits) = part(value(case, "dst_sel").unwrap_or("DWORD"));
                    let field = (((1_u64 << bits) - 1) as u32) << low;
                    let rest = match value(case, "dst_unused") {
                        _ if bits == 32 => 0,
                        Some("dst_unused:UNUSED_PRESERVE") => old[0] & !field,
                        Some("dst_unused:UNUSED_SEXT") if want[0] >> (bits - 1) & 1 != 0 => {
                            (u64::MAX << (low + bits)) as u32
                        }
                        _ => 0,
                    };
                    if half && bits == 32 {
                        mask[0] = 0xffff;
                    } else {
                        want[0] = want[0] << low & field | rest;
                    }
                }
            }
            let pairs = want.iter().zip(&have).zip(&mask);
            if pairs
                .clone()
                .any(|((want, have), mask)| (want ^ have) & mask != 0)
            {
                let sources: Vec<String> = form
                    .sources()
                    .iter()
                    .filter_map(|operand| place(operand))
                    .flat_map(|(first, count)| first..first + count)
                    .map(|register| format!("{:#x}", of(rows, register)))
                    .collect();
                return Err(format!(
                    "lane {lane}: {have:x?}, not {want:x?} (in {mask:x?}), from {} and {old:x?}",
                    sources.join(" ")
                ));
            }
        }
        Ok(())
    }
}

/// Clamps a float result where it lies.
fn clamp(want: &mut [u32], mask: &mut [u32], name: &str, result: &str, pair: bool) {
    let halves = |word: u32, brain: bool| {
        let (exponent, fraction) = if brain { (8, 7) } else { (5, 10) };
        [word & 0xffff, word >> 16].map(|half| clamped(half.into(), exponent, fraction) as u32)
    };
    let brain = result == "bf16" || name.contains("bf16") && name.contains("mix");
    match (result, want.len()) {
        _ if name.contains("mixlo") => want[0] = want[0] & 0xffff_0000 | halves(want[0], brain)[0],
        _ if name.contains("mixhi") => want[0] = want[0] & 0xffff | halves(want[0], brain)[1] << 16,
        ("f16" | "bf16", 1) if pair => {
            let [low, high] = halves(want[0], brain);
            want[0] = low | high << 16;
        }
        ("f16" | "bf16", 1) => {
            want[0] = want[0] & 0xffff_0000 | halves(want[0], brain)[0];
            mask[0] = 0xffff;
        }
        ("f32", _) => want
            .iter_mut()
            .for_each(|word| *word = clamped((*word).into(), 8, 23) as u32),
        ("f64", 2) => {
            let value = clamped(u64::from(want[0]) | u64::from(want[1]) << 32, 11, 52);
            (want[0], want[1]) = (value as u32, (value >> 32) as u32);
        }
        _ => mask.fill(0),
    }
}
