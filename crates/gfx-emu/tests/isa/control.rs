//! Program flow, calls, MODE, and what cannot be executed.

use gfx_emu::{DecodeError, FaultKind, Memory, Probe, Target, WaveProbe};

use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA3, RDNA4, RDNA35};
use crate::wave::{check, check_rdna4, get, probe, probe64_on, program, program_on, run, set};

#[test]
fn branches_test_scc_vcc_and_exec() {
    // Taken: s0 stays 1.
    for (branch, register, taken, not) in [
        ("s_cbranch_scc1 1", "scc", 1, 0),
        ("s_cbranch_scc0 1", "scc", 0, 1),
        ("s_cbranch_vccz 1", "vcc", 0, 1),
        ("s_cbranch_vccnz 1", "vcc", 4, 0),
        ("s_cbranch_execz 1", "exec", 0, 1),
        ("s_cbranch_execnz 1", "exec", 2, 0),
    ] {
        let asm = format!("{branch}\ns_mov_b32 s0, 2");
        check(&[
            (&asm, &[("s0", 1), (register, taken)], &[("s0", 1)]),
            (&asm, &[("s0", 1), (register, not)], &[("s0", 2)]),
        ]);
    }
}

#[test]
fn a_loop_runs_until_its_condition_fails() {
    // s0 += s1, s1 -= 1 while s1 is not zero.
    check(&[(
        "s_add_u32 s0, s0, s1\ns_sub_u32 s1, s1, 1\ns_cmp_lg_u32 s1, 0\ns_cbranch_scc1 65532",
        &[("s1", 100)],
        &[("s0", 5050), ("s1", 0)],
    )]);
}

#[test]
fn calls_return_behind_themselves() {
    // The call goes over the branch to a function that doubles s0 and returns.
    let asm = "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, 16\ns_swappc_b64 s[6:7], s[4:5]\ns_add_u32 s0, s0, 1\ns_cbranch_scc0 2\n\
               s_lshl_b32 s0, s0, 1\ns_setpc_b64 s[6:7]";
    check(&[(
        asm,
        &[("s0", 5), ("scc", 1)],
        &[("s0", 11), ("s4", 20), ("s6", 12)],
    )]);
}

#[test]
fn a_function_is_found_by_a_distance_in_a_register() {
    // The function lies after a branch over it, so that nothing but the call reaches it.
    let asm = "s_getpc_b64 s[4:5]\ns_add_i32 s8, 16, 4\ns_add_u32 s4, s4, s8\ns_addc_u32 s5, s5, 0\ns_swappc_b64 s[6:7], s[4:5]\n\
               s_branch 2\ns_lshl_b32 s0, s0, 1\ns_setpc_b64 s[6:7]";
    check(&[(asm, &[("s0", 5)], &[("s0", 10), ("s4", 24), ("s6", 20)])]);
}

#[test]
fn a_function_is_found_where_a_later_sum_of_64_bits_is_another_address() {
    let asm = "s_getpc_b64 s[4:5]\ns_add_co_u32 s4, s4, 20\ns_add_co_ci_u32 s5, s5, 0\ns_swappc_b64 s[6:7], s[4:5]\n\
               s_add_nc_u64 s[4:5], s[8:9], s[10:11]\ns_branch 2\ns_lshl_b32 s0, s0, 1\ns_setpc_b64 s[6:7]";
    check_rdna4(&[(
        asm,
        &[("s0", 5), ("s8", 3), ("s9", 1), ("s10", 4), ("s11", 1)],
        &[("s0", 10), ("s4", 7), ("s5", 2), ("s6", 16)],
    )]);
}

#[test]
fn what_a_long_branch_leads_to_may_branch_back() {
    // s0 counts to 3: nothing but the jump reaches its addition, and the branch after that goes to the first instruction.
    let asm = "s_getpc_b64 s[4:5]\ns_add_i32 s8, 16, 4\ns_add_u32 s4, s4, s8\ns_addc_u32 s5, s5, 0\ns_setpc_b64 s[4:5]\n\
               s_lshl_b32 s0, s0, 1\ns_add_u32 s0, s0, 1\ns_cmp_lt_u32 s0, 3\ns_cbranch_scc1 65527";
    check(&[(asm, &[("s0", 0)], &[("s0", 3)])]);
}

#[test]
fn a_jump_to_nowhere_is_a_fault() {
    let fault = run(&mut probe("s_setpc_b64 s[0:1]\ns_nop 0")).unwrap_err();
    // Address 0 is the first instruction: the loop ends by the budget. Address 2 is inside an instruction.
    assert!(matches!(fault.kind, FaultKind::Watchdog { .. }), "{fault}");
    let mut wave = probe("s_setpc_b64 s[0:1]\ns_nop 0");
    set(&mut wave, "s0", 2);
    let fault = run(&mut wave).unwrap_err();
    assert_eq!(fault.kind, FaultKind::WildJump { target: 2 });
    assert_eq!(fault.instruction, "s_setpc_b64 s[0:1]");
}

#[test]
fn a_trap_is_a_fault_with_its_number() {
    let fault = run(&mut probe("s_nop 0\ns_trap 2")).unwrap_err();
    assert_eq!((fault.kind, fault.pc), (FaultKind::Trap { id: 2 }, 4));
}

/// What a wave does that halts. A card waits for a debugger there.
#[track_caller]
fn halts<const W: usize>(card: Card, bits: u16) {
    let code = program_on(
        card,
        &format!("s_sethalt 0\ns_mov_b32 s0, 1\ns_sethalt {bits}\ns_mov_b32 s0, 2"),
    );
    let mut wave = WaveProbe::<W>::new(card.target, &code).unwrap();
    let fault = run(&mut wave).unwrap_err();
    assert_eq!(
        (&fault.kind, fault.pc),
        (&FaultKind::Halt { bits }, 8),
        "{}",
        card.name
    );
    let text = fault.to_string();
    assert!(
        text.contains(&format!("the wave halted (s_sethalt {bits})")) && text.contains("never end"),
        "{}: {text}",
        card.name
    );
    assert_eq!(wave.sgpr(0), 1, "{}", card.name);
}

#[test]
fn a_wave_that_halts_is_a_fault_and_one_that_is_told_not_to_goes_on() {
    for bits in [1, 5] {
        for card in [RDNA3, RDNA35, RDNA4, RDNA2] {
            halts::<32>(card, bits);
        }
        for card in [CDNA3, CDNA2] {
            halts::<64>(card, bits);
        }
    }
}

#[test]
fn mode_is_read_and_written_and_what_is_not_modelled_is_a_fault() {
    check(&[
        ("s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)", &[], &[("s0", 15)]),
        (
            "s_round_mode 0x0\ns_denorm_mode 15\ns_getreg_b32 s0, hwreg(HW_REG_MODE)",
            &[],
            &[("s0", 0x3f0)],
        ),
        (
            "s_setreg_b32 hwreg(HW_REG_MODE, 8, 1), s1\ns_getreg_b32 s0, hwreg(HW_REG_MODE)",
            &[],
            &[("s0", 0x2f0)],
        ),
    ]);
    // Denormals of 16 and 64 bits are flushed where it is known of every operation.
    check(&[(
        "s_denorm_mode 3\nv_mul_f32 v0, 0.5, v1\ns_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)",
        &[("v1", 0x80_0000)],
        &[("v0", 0x40_0000), ("s0", 3)],
    )]);
    for asm in [
        "s_denorm_mode 3\nv_div_fixup_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
        "s_denorm_mode 0\nglobal_atomic_add_f32 v0, v1, s[2:3]\nv_dot2_f32_f16 v0, v1, v2, v3",
        "s_denorm_mode 7\nv_pack_b32_f16 v0, v1, v2",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 1\nv_fma_mixlo_f16 v0, v1, v2, v3",
    ] {
        let fault = run(&mut probe(asm)).unwrap_err();
        assert!(fault.to_string().contains("floating-point mode"), "{fault}");
    }
}

#[test]
fn cycles_are_counted_and_every_wave_runs_in_one_place() {
    check(&[
        (
            "s_getreg_b32 s0, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\ns_getreg_b32 s1, hwreg(HW_REG_SHADER_CYCLES, 0, 20)",
            &[],
            &[("s0", 1), ("s1", 2)],
        ),
        (
            "s_getreg_b32 s0, hwreg(HW_REG_HW_ID1)",
            &[("s0", 7)],
            &[("s0", 0)],
        ),
        (
            "s_getreg_b32 s0, hwreg(HW_REG_HW_ID2, 4, 8)",
            &[("s0", 7)],
            &[("s0", 0)],
        ),
    ]);
    let place = "s_mov_b32 s0, 7\ns_getreg_b32 s0, hwreg(HW_REG_HW_ID, 8, 4)";
    for card in [CDNA2, CDNA3] {
        let mut wave = probe64_on(card, place);
        run(&mut wave).unwrap();
        assert_eq!(wave.sgpr(0), 0);
    }
    let mut wave = probe64_on(
        CDNA3,
        "s_mov_b32 s0, 7\ns_getreg_b32 s0, hwreg(HW_REG_XCC_ID, 0, 4)",
    );
    run(&mut wave).unwrap();
    assert_eq!(wave.sgpr(0), 0);
    // Other registers, and writing these, are refused by name.
    for asm in [
        "s_getreg_b32 s0, hwreg(HW_REG_STATUS)",
        "s_setreg_b32 hwreg(HW_REG_SHADER_CYCLES), s1",
        "s_setreg_imm32_b32 hwreg(HW_REG_HW_ID1), 1",
    ] {
        let fault = run(&mut probe(asm)).unwrap_err();
        assert!(fault.to_string().contains("HW_REG_"), "{fault}");
    }
}

#[test]
fn a_debuggers_trap_does_nothing_and_messages_with_an_answer_give_the_time() {
    let mut wave = probe(
        "s_trap 3\ns_sendmsg_rtn_b64 s[0:1], sendmsg(MSG_RTN_GET_REALTIME)\ns_sendmsg_rtn_b32 s2, sendmsg(MSG_RTN_GET_DOORBELL)",
    );
    wave.set_sgpr(1, 7);
    wave.set_sgpr(2, 7);
    run(&mut wave).unwrap();
    assert_eq!([wave.sgpr(0), wave.sgpr(1), wave.sgpr(2)], [1, 0, 0]);
    let fault = run(&mut probe("s_sendmsg_rtn_b32 s2, sendmsg(MSG_RTN_GET_TMA)")).unwrap_err();
    assert!(fault.to_string().contains("encoding"), "{fault}");
}

#[test]
fn an_instruction_that_is_only_printed_faults_with_text_and_encoding() {
    let fault = run(&mut probe("s_nop 0\nds_gws_barrier v0 gds")).unwrap_err();
    let FaultKind::Unimplemented { what } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(what, "`ds_gws_barrier v0 gds`, encoding d8760000 00000000");
    assert_eq!(fault.pc, 4);
    // Forms of an instruction that is executed otherwise.
    for asm in [
        // What clamping does to the lower half of a product, or to a shift that loses bits, no manual says.
        "v_pk_mul_lo_u16 v0, v1, v2 clamp",
        "v_pk_lshlrev_b16 v0, v1, v2 clamp",
        "s_sendmsg sendmsg(MSG_INTERRUPT)",
    ] {
        let fault = run(&mut probe(asm)).unwrap_err();
        assert!(fault.to_string().contains("encoding"), "{fault}");
    }
}

#[test]
fn an_unknown_instruction_is_an_error_that_names_its_encoding() {
    let mut code = program("s_nop 0");
    code.truncate(4);
    code.extend(0xbe80_7f00u32.to_le_bytes());
    code.extend(0x1234_5678u32.to_le_bytes());
    let error = Probe::new(Target::Gfx1100, &code).unwrap_err();
    assert_eq!(
        error,
        DecodeError::Unknown {
            pc: 4,
            words: "be807f00 12345678".into()
        }
    );
}

#[test]
fn code_that_runs_off_its_end_is_an_error() {
    let mut code = program("s_nop 0");
    code.truncate(4);
    assert_eq!(
        Probe::new(Target::Gfx1100, &code).unwrap_err(),
        DecodeError::End { pc: 4 }
    );
    // A branch below the entry.
    let code = program("s_branch 65500");
    assert_eq!(
        Probe::new(Target::Gfx1100, &code).unwrap_err(),
        DecodeError::End { pc: -140 }
    );
}

#[test]
fn a_branch_into_an_instruction_is_an_error() {
    // The literal of the move is an instruction of its own: s_endpgm.
    let code = program("s_cbranch_scc0 1\ns_mov_b32 s0, 0xbfb00000");
    assert_eq!(
        Probe::new(Target::Gfx1100, &code).unwrap_err(),
        DecodeError::Overlap { pc: 8 }
    );
}

#[test]
fn code_for_another_card_is_refused() {
    let error = Probe::new(Target::Other(0x36), &program("s_nop 0")).unwrap_err();
    assert!(error.to_string().contains("gfx1100"), "{error}");
}

#[test]
fn a_barrier_does_not_hold_a_single_wave() {
    let mut wave = probe("s_mov_b32 s0, 1\ns_barrier\ns_mov_b32 s1, 2");
    assert_eq!(run(&mut wave).unwrap(), 4);
    assert_eq!((get(&wave, "s0"), get(&wave, "s1")), (1, 2));
}

#[test]
fn a_watchdog_ends_an_endless_loop() {
    let fault = probe("s_branch 65535").run(&Memory::new(0)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Watchdog { .. }), "{fault}");
}
