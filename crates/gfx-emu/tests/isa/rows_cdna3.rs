//! Every row of the tables of CDNA3 and CDNA2 that says it is executed runs: LLVM's own encodings of it, on registers with something in
//! them. What the rows compute is in the other files.

use std::collections::BTreeSet;

use gfx_emu::{Memory, Probe64, coverage};

use crate::authority;
use crate::decode_cdna3::{ON_CDNA2, ON_CDNA3};
use crate::llvm::{CDNA2, CDNA3, Card, Listing};
use crate::wave::{Numbers, set};

/// Jumps to an address in registers, and faults by purpose: `control.rs` runs them on both cards.
const ELSEWHERE: [&str; 4] = ["s_setpc_b64", "s_swappc_b64", "s_trap", "s_sendmsg"];

/// Runs an instruction with an address of device memory in every register pair that the candidates use as an address.
fn runs(card: Card, text: &str, bytes: &[u8]) -> bool {
    let mut code = bytes.to_vec();
    // Branches of the candidates go forward, by up to 16 instructions.
    (0..32).for_each(|_| code.extend(0xbf81_0000u32.to_le_bytes()));
    let Ok(mut wave) = Probe64::new(card.target, &code) else {
        return false;
    };
    let mut memory = Memory::new(1 << 20);
    let base = memory.alloc(1 << 16).unwrap();
    let mut numbers = Numbers(7);
    for register in 0..40 {
        (0..64).for_each(|lane| wave.set_vgpr(register, lane, numbers.next() as u32));
        set(&mut wave, &format!("s{register}"), numbers.next() as u32);
    }
    let address = base + 4096;
    let wide = text.contains("v[10:11]");
    set(&mut wave, "v10", if wide { address as u32 } else { 0x100 });
    set(&mut wave, "v11", (address >> 32) as u32);
    for (low, high) in [("s6", "s7"), ("s16", "s17")] {
        set(
            &mut wave,
            low,
            if text.starts_with("scratch") {
                0
            } else {
                address as u32
            },
        );
        set(&mut wave, high, (address >> 32) as u32);
    }
    set(&mut wave, "s8", 0);
    // The descriptor of private memory has its address; see `PRIVATE_BASE`.
    if text.starts_with("buffer_") {
        ["s0", "s2", "s3", "v5"]
            .into_iter()
            .for_each(|register| set(&mut wave, register, 0));
        set(&mut wave, "s1", 0x0002_0000);
    }
    set(&mut wave, "s18", 4096);
    wave.set_lds(1 << 16);
    wave.set_scratch(1 << 14);
    wave.run(&memory).is_ok()
}

#[test]
fn every_row_of_cdna3_that_is_executed_runs() {
    rows_run(CDNA3, &ON_CDNA3);
}

#[test]
fn every_row_of_cdna2_that_is_executed_runs() {
    rows_run(CDNA2, &ON_CDNA2);
}

#[track_caller]
fn rows_run(card: Card, listing: &Listing) {
    let mut ran = BTreeSet::new();
    for (text, bytes) in listing {
        let name = authority::name(text);
        if !ran.contains(&name) && !text.contains("/*") && runs(card, text, bytes) {
            ran.insert(name);
        }
    }
    let (mut missing, mut rows) = (Vec::new(), 0);
    for line in coverage(card.target).into_iter().filter(|line| line.executed) {
        let names = line.names();
        rows += names.len();
        missing.extend(
            names
                .into_iter()
                .filter(|name| !ran.contains(name) && !ELSEWHERE.contains(&name.as_str())),
        );
    }
    assert!(
        missing.is_empty(),
        "{} of {rows} rows did not run: {missing:?}",
        missing.len()
    );
}
