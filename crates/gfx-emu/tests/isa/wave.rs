//! Rows of "this assembly, from these registers, gives those registers".

pub(crate) use crate::numbers::Numbers;

use gfx_emu::{Fault, Memory, Probe, Probe64, WaveProbe};

use crate::lines::instructions;
use crate::llvm::{
    CDNA2, CDNA3, Card, RDNA2, RDNA2_WAVE64, RDNA3, RDNA3_WAVE64, RDNA4, RDNA4_WAVE64, RDNA35, assemble,
};
use crate::twin;

/// Operand code of `vcc_lo`.
pub(crate) const VCC: u8 = 106;
/// Operand code of `exec_lo`.
pub(crate) const EXEC: u8 = 126;

/// Register names and values: `v3` (every lane), `v3@7` (lane 7), `a3` and `a3@7` (accumulation registers), `s4`, `vcc`,
/// `exec` and their `_hi` halves, `m0`, `scc`.
pub(crate) type Registers<'a> = &'a [(&'a str, u32)];

/// Assembly, registers before, registers after.
pub(crate) type Row<'a> = (&'a str, Registers<'a>, Registers<'a>);

/// A register by name.
enum Name {
    Vector(u16, Option<usize>),
    Scalar(u8),
    Scc,
}

fn name(text: &str) -> Name {
    let number = |digits: &str| -> u16 {
        digits
            .parse()
            .unwrap_or_else(|_| panic!("`{text}` is not a register"))
    };
    match text {
        "vcc" => Name::Scalar(VCC),
        "vcc_hi" => Name::Scalar(VCC + 1),
        "exec" => Name::Scalar(EXEC),
        "exec_hi" => Name::Scalar(EXEC + 1),
        "m0" => Name::Scalar(125),
        "scc" => Name::Scc,
        _ => match (text.split_at(1), text.split_once('@')) {
            (("v", _), Some((register, lane))) => {
                Name::Vector(number(&register[1..]), Some(usize::from(number(lane))))
            }
            (("v", register), None) => Name::Vector(number(register), None),
            (("a", _), Some((register, lane))) => {
                Name::Vector(256 + number(&register[1..]), Some(usize::from(number(lane))))
            }
            (("a", register), None) => Name::Vector(256 + number(register), None),
            (("s", register), None) => Name::Scalar(number(register) as u8),
            _ => panic!("`{text}` is not a register"),
        },
    }
}

pub(crate) fn set<const W: usize>(probe: &mut WaveProbe<W>, register: &str, value: u32) {
    match name(register) {
        Name::Vector(n, Some(lane)) => probe.set_vgpr(n, lane, value),
        Name::Vector(n, None) => (0..W).for_each(|lane| probe.set_vgpr(n, lane, value)),
        Name::Scalar(code) => probe.set_sgpr(code, value),
        Name::Scc => probe.set_scc(value != 0),
    }
}

/// The value; of a vector register without lane, lane 0.
pub(crate) fn get<const W: usize>(probe: &WaveProbe<W>, register: &str) -> u32 {
    match name(register) {
        Name::Vector(n, lane) => probe.vgpr(n, lane.unwrap_or(0)).unwrap(),
        Name::Scalar(code) => probe.sgpr(code),
        Name::Scc => u32::from(probe.scc()),
    }
}

/// Machine code with `s_endpgm` after it.
#[track_caller]
pub(crate) fn program(text: &str) -> Vec<u8> {
    assemble(RDNA3, &format!("{text}\ns_endpgm\n"))
}

/// [`program`] of another card.
#[track_caller]
pub(crate) fn program_on(card: Card, text: &str) -> Vec<u8> {
    assemble(card, &format!("{text}\ns_endpgm\n"))
}

/// A wave about to run `text`.
#[track_caller]
pub(crate) fn probe(text: &str) -> Probe {
    Probe::new(RDNA3.target, &program(text)).unwrap()
}

/// A wave of 64 lanes about to run `text`.
#[track_caller]
pub(crate) fn probe64(text: &str) -> Probe64 {
    probe64_on(CDNA3, text)
}

/// [`probe64`] on another card.
#[track_caller]
pub(crate) fn probe64_on(card: Card, text: &str) -> Probe64 {
    let code = assemble(card, &format!("{text}\ns_endpgm\n"));
    Probe64::new(card.target, &code).unwrap()
}

/// Runs without device memory.
pub(crate) fn run<const W: usize>(probe: &mut WaveProbe<W>) -> Result<u64, Box<Fault>> {
    probe.run(&Memory::new(0))
}

/// Runs every row and compares the registers it names.
#[track_caller]
pub(crate) fn check(rows: &[Row<'_>]) {
    for card in [RDNA3, RDNA35] {
        check_on::<32>(card, &[0, 0, 0xb0, 0xbf], rows);
    }
    let others: [(Card, twin::Failures); 7] = [
        (RDNA2, twin::failures::<32>),
        (RDNA2_WAVE64, twin::failures::<64>),
        (RDNA4, twin::failures::<32>),
        (RDNA4_WAVE64, twin::failures::<64>),
        (RDNA3_WAVE64, twin::failures::<64>),
        (CDNA3, twin::failures::<64>),
        (CDNA2, twin::failures::<64>),
    ];
    for (card, failures) in others {
        let (failures, ran) = failures(card, rows);
        assert!(
            2 * ran >= rows.len() || rows.len() < 20,
            "{} has only {ran} of {} rows",
            card.name,
            rows.len()
        );
        assert!(
            failures.is_empty(),
            "{} of {ran} rows on {}:\n{}",
            failures.len(),
            card.name,
            failures.join("\n")
        );
    }
}

/// [`check`] on a wave of 64 lanes.
#[track_caller]
pub(crate) fn check64(rows: &[Row<'_>]) {
    check_on::<64>(CDNA3, &[0, 0, 0x81, 0xbf], rows);
}

/// [`check`] on gfx1151 alone.
#[track_caller]
pub(crate) fn check_rdna35(rows: &[Row<'_>]) {
    check_on::<32>(RDNA35, &[0, 0, 0xb0, 0xbf], rows);
}

/// [`check`] on gfx1030 alone.
#[track_caller]
pub(crate) fn check_rdna2(rows: &[Row<'_>]) {
    check_on::<32>(RDNA2, &[0, 0, 0x81, 0xbf], rows);
}

/// [`check`] on gfx1201 alone.
#[track_caller]
pub(crate) fn check_rdna4(rows: &[Row<'_>]) {
    check_on::<32>(RDNA4, &[0, 0, 0xb0, 0xbf], rows);
}

/// [`check64`] on gfx90a.
#[track_caller]
pub(crate) fn check_cdna2(rows: &[Row<'_>]) {
    check_on::<64>(CDNA2, &[0, 0, 0x81, 0xbf], rows);
}

#[track_caller]
fn check_on<const W: usize>(card: Card, end: &[u8], rows: &[Row<'_>]) {
    let text: String = rows
        .iter()
        .map(|(asm, ..)| format!("{asm}\ns_endpgm\n"))
        .collect();
    let mut code = instructions(card, &text).into_iter().map(|(_, bytes)| bytes);
    let mut failures = Vec::new();
    for (asm, before, after) in rows {
        let lines = asm.lines().filter(|line| !line.trim().is_empty()).count() + 1;
        let bytes: Vec<u8> = code.by_ref().take(lines).flatten().collect();
        // `s_endpgm` shows that no line before it was refused.
        assert!(
            bytes.ends_with(end),
            "llvm-mc did not assemble every line of `{asm}`"
        );
        failures.extend(outcome::<W>(card, &bytes, &(asm, before, after)));
    }
    assert!(
        failures.is_empty(),
        "{} of {} rows:\n{}",
        failures.len(),
        rows.len(),
        failures.join("\n")
    );
}

/// Runs one row; what differs from the registers it names.
pub(crate) fn outcome<const W: usize>(card: Card, code: &[u8], row: &Row<'_>) -> Vec<String> {
    let (asm, before, after) = row;
    let mut probe = WaveProbe::<W>::new(card.target, code).unwrap_or_else(|error| panic!("`{asm}`: {error}"));
    for (register, value) in *before {
        set(&mut probe, register, *value);
        // The lanes beyond 32 take no part in a row that names lanes.
        if *register == "exec" {
            set(&mut probe, "exec_hi", 0);
        }
    }
    if let Err(fault) = run(&mut probe) {
        return vec![format!("`{asm}`: {fault}")];
    }
    let differs = |(register, value): &(&str, u32)| {
        let got = get(&probe, register);
        (got != *value)
            .then(|| format!("`{asm}` from {before:x?}: {register} is {got:#010x}, not {value:#010x}"))
    };
    after.iter().filter_map(differs).collect()
}
