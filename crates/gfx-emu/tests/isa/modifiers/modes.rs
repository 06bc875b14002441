//! Floating-point modes: every instruction with floats in each of them, executed, or refused by an error that names it.
//!
//! MODE has two bits of rounding and two of denormals for single precision, the same for half and double precision, and, before GFX12, a
//! bit each for NaNs that are clamped and for IEEE.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use gfx_emu::{Memory, WaveProbe};

use super::forms::{self, Form};
use super::{EachCard, assembled, listed, of, of_each_card};
use crate::authority::base;
use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA3, RDNA4, RDNA35};

/// Modes that one program goes through.
const AT_ONCE: usize = 16;

/// The class of an instruction, by the widest or most special of the types in its name; none without floats.
fn class(name: &str) -> Option<&'static str> {
    let has = |part: &str| name.contains(part);
    let float = has("f16") || has("f32") || has("f64") || has("xf32");
    Some(match () {
        () if !float => return None,
        () if has("mfma") || has("wmma") || has("smfmac") => "matrix",
        () if has("v_dot") => "dot products",
        () if has("mix") && !has("min") => "mixed",
        () if has("v_cvt") || has("s_cvt") => "conversions",
        () if has("v_cmp") || has("s_cmp") => "comparisons",
        () if has("bf16") => "brain",
        () if has("v_pk_") => "packed",
        () if has("f64") => "double",
        () if has("f16") => "half",
        () => "single",
    })
}

/// What became of the instructions of a class in all modes.
#[derive(Clone, Debug, Default)]
struct Count {
    names: BTreeSet<String>,
    executed: usize,
    refused: usize,
    /// Instructions refused because of rounding, and because of denormals.
    rounding: BTreeSet<String>,
    denormals: BTreeSet<String>,
}

/// Runs the instruction in each of the modes; which it is refused in, and the error.
fn refusals<const W: usize>(card: Card, setreg: &[u8], code: &[u8], modes: &[u32]) -> Vec<(u32, String)> {
    let run = |modes: &[u32]| {
        let mut all = Vec::new();
        for mode in modes {
            // The constant is the last word.
            all.extend(&setreg[..setreg.len() - 4]);
            all.extend(mode.to_le_bytes());
            all.extend(code);
        }
        let end: [u8; 4] = if card.is_before_rdna3() {
            [0, 0, 0x81, 0xbf]
        } else {
            [0, 0, 0xb0, 0xbf]
        };
        all.extend(end);
        let mut wave = WaveProbe::<W>::new(card.target, &all).unwrap();
        wave.run(&Memory::new(0)).err().map(|fault| fault.to_string())
    };
    let mut found = Vec::new();
    for chunk in modes.chunks(AT_ONCE) {
        if run(chunk).is_some() {
            found.extend(chunk.iter().filter_map(|mode| Some((*mode, run(&[*mode])?))));
        }
    }
    found
}

type Counted = (BTreeMap<&'static str, Count>, Vec<String>);

fn counted(card: Card) -> Counted {
    let vector = |form: &Form| matches!(form.encoding, "VOP3" | "VOP3P" | "MAI");
    let mut forms: Vec<Form> = forms::of(card).into_iter().filter(vector).collect();
    forms.retain(|form| class(base(&form.name)).is_some());
    let lines: Vec<String> = forms.iter().flat_map(Form::plain).collect();
    let codes = assembled(card, &lines);
    let setreg = assembled(
        card,
        &["s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 10), 0x12345".to_owned()],
    );
    let setreg = setreg[0].as_ref().unwrap().1.clone();
    let modes = modes(card);
    let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut at = 0;
    for form in &forms {
        let plains = form.plain().len();
        let code = codes[at..at + plains].iter().flatten().next();
        at += plains;
        let (name, Some((text, code))) = (base(&form.name).to_owned(), code) else {
            continue;
        };
        let count = counts.entry(class(&name).unwrap()).or_default();
        if !count.names.insert(name.clone()) {
            continue;
        }
        let refusals = match card.lanes {
            32 => refusals::<32>(card, &setreg, code, &modes),
            _ => refusals::<64>(card, &setreg, code, &modes),
        };
        count.executed += modes.len() - refusals.len();
        count.refused += refusals.len();
        for (mode, why) in refusals {
            if !crate::llvm::words(&why).contains(&format!("`{text}`")) {
                wrong.push(format!("{}: {text} in {mode:#x}: {why}", card.name));
            }
            let directed = why.contains("rounded");
            if directed {
                &mut count.rounding
            } else {
                &mut count.denormals
            }
            .insert(name.clone());
        }
    }
    (counts, wrong)
}

/// Every mode that a card has.
fn modes(card: Card) -> Vec<u32> {
    (0..if card.is_rdna4() { 1 << 8 } else { 1 << 10 }).collect()
}

static ALL: EachCard<Counted> = of_each_card!(counted);

/// What the page of instructions says of a card's modes.
pub(super) fn section(page: &mut String, card: Card) {
    let (counts, _) = of(&ALL, card);
    let sum = |of: fn(&Count) -> usize| counts.values().map(of).sum::<usize>();
    writeln!(
        page,
        "\nFloating-point modes: of {} pairs of a vector instruction with floats and one of {} modes, {} are executed and {} are refused.\n",
        sum(|count| count.executed) + sum(|count| count.refused),
        modes(card).len(),
        sum(|count| count.executed),
        sum(|count| count.refused)
    )
    .unwrap();
    page.push_str("| class | instructions | executed | refused |\n|---|---|---|---|\n");
    for (class, count) in counts {
        writeln!(
            page,
            "| {class} | {} | {} | {} |",
            count.names.len(),
            count.executed,
            count.refused
        )
        .unwrap();
    }
    let all = |of: fn(&Count) -> &BTreeSet<String>| -> BTreeSet<String> {
        counts
            .values()
            .flat_map(|count| of(count).iter().cloned())
            .collect()
    };
    for (what, names) in [
        (
            "where a result is not rounded to nearest even",
            all(|count| &count.rounding),
        ),
        (
            "where denormals of 16 and 64 bits are zeros",
            all(|count| &count.denormals),
        ),
    ] {
        if !names.is_empty() {
            writeln!(page, "\nRefused {what}: {}.", listed(&names)).unwrap();
        }
    }
}

#[test]
fn every_mode_is_executed_or_refused_with_the_instruction() {
    for (card, counted) in &ALL {
        let (counts, wrong) = &**counted;
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let executed: usize = counts.values().map(|count| count.executed).sum();
        let refused: usize = counts.values().map(|count| count.refused).sum();
        assert!(
            executed > 5 * refused && refused > 0,
            "{}: {executed}, {refused}",
            card.name
        );
    }
}

/// An instruction that no mode is known for must be seen as refused, and one that knows all as executed.
#[test]
fn a_refusal_is_counted() {
    let codes = assembled(
        RDNA3,
        &[
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 10), 0x12345",
            "v_dot2_f32_f16 v0, v1, v2, v3",
            "v_add_f32_e32 v0, v1, v2",
        ]
        .map(str::to_owned),
    );
    let code = |i: usize| codes[i].as_ref().unwrap().1.as_slice();
    let all = modes(RDNA3);
    let of_dot = refusals::<32>(RDNA3, code(0), code(1), &all);
    // Where both round to nearest, one mode of rounding in 16, and denormals of halves are kept, four of denormals in 16, it is executed.
    assert_eq!(of_dot.len(), all.len() - 4 * 4);
    assert_eq!(refusals::<32>(RDNA3, code(0), code(2), &all), []);
}
