//! What the prover proves and what it must not, and that random programs and their proven mutants compute the same.

use gfx_emu::{BARE_KERNEL, CodeObject, Dispatch, LaunchOptions, Memory, Prover, Reason, launch};

use crate::llvm::{CDNA3, Card, RDNA3, RDNA4, assemble};
use crate::wave::Numbers;

/// Two SGPRs hold the address of the arguments.
const RSRC2: u32 = 2 << 1;
/// The two pointers among the arguments.
const KERNARG: u32 = 16;

pub(crate) fn object(card: Card, asm: &str) -> CodeObject {
    CodeObject::bare(card.target, &assemble(card, asm), RSRC2, 0, KERNARG).unwrap()
}

/// What is proven of the mutant of a program whose instruction becomes `after`.
#[track_caller]
pub(crate) fn proof(card: Card, asm: &str, after: &str) -> Option<Reason> {
    let code = object(card, asm);
    let kernel = code.kernel(BARE_KERNEL).unwrap();
    let mutations = code.mutations(kernel).unwrap();
    let found: Vec<_> = mutations
        .iter()
        .filter(|mutation| mutation.after == after)
        .collect();
    let [mutation] = found[..] else {
        let all: Vec<_> = mutations.iter().map(|mutation| &mutation.after).collect();
        panic!("{after} is not one of {all:#?}");
    };
    Prover::new(&code, kernel).unwrap().equivalent(mutation)
}

/// Programs for gfx1100 with a mutant each, and what is proven of it. `v5` is loaded, `v1` is stored.
#[track_caller]
fn check(rows: &[(&str, &str, Option<Reason>)]) {
    for (body, after, expected) in rows {
        let asm = format!(
            "s_load_b128 s[4:7], s[0:1], 0x0\nglobal_load_b32 v5, v0, s[4:5]\n{body}\nglobal_store_b32 v0, v1, s[6:7]\ns_endpgm"
        );
        assert_eq!(proof(RDNA3, &asm, after), *expected, "{body} with {after}");
    }
}

#[test]
fn results_that_are_the_same_for_all_sources_are_told() {
    let same = Some(Reason::Same);
    check(&[
        // Packed ids leave two bits, a loaded number has all.
        ("v_max_u32_e32 v1, 64, v0", "v_max_i32_e32 v1, 64, v0", same),
        ("v_max_u32_e32 v1, 64, v5", "v_max_i32_e32 v1, 64, v5", None),
        ("v_cvt_f32_u32_e32 v1, v0", "v_cvt_f32_i32_e32 v1, v0", same),
        ("v_cvt_f32_u32_e32 v1, v5", "v_cvt_f32_i32_e32 v1, v5", None),
        ("v_mul_hi_u32 v1, v0, v0", "v_mul_hi_i32 v1, v0, v0", same),
        ("v_mul_hi_u32 v1, v0, v5", "v_mul_hi_i32 v1, v0, v5", None),
        // Bytes are not negative.
        (
            "v_and_b32_e32 v2, 0xff, v5\nv_max3_u16 v1, v2, v2, 7",
            "v_max3_i16 v1, v2, v2, 7",
            same,
        ),
        ("v_max3_u16 v1, v5, v5, 7", "v_max3_i16 v1, v5, v5, 7", None),
        (
            "v_and_b32_e32 v2, 0xff, v5\nv_min_u16 v1, v2, v0",
            "v_min_i16 v1, v2, v0",
            None,
        ),
        (
            "v_and_b32_e32 v2, 0xff, v5\nv_max3_u32 v1, v0, v2, 9",
            "v_max3_i32 v1, v0, v2, 9",
            same,
        ),
        // Another lane's number is another number.
        (
            "ds_bpermute_b32 v1, v0, v5",
            "ds_bpermute_b32 v1, v0, v5 offset:4",
            None,
        ),
        ("v_bfe_u32 v1, v0, 20, 12", "v_bfe_i32 v1, v0, 20, 12", same),
        ("v_bfe_u32 v1, v0, 20, 10", "v_bfe_i32 v1, v0, 20, 10", None),
        (
            "v_and_b32_e32 v2, 1, v5\nv_lshlrev_b32_e32 v3, 1, v5\nv_xor_b32_e32 v1, v2, v3",
            "v_or_b32_e32 v1, v2, v3",
            same,
        ),
        (
            "v_and_b32_e32 v2, 2, v5\nv_lshlrev_b32_e32 v3, 1, v5\nv_xor_b32_e32 v1, v2, v3",
            "v_or_b32_e32 v1, v2, v3",
            None,
        ),
        // Of comparisons the sign may matter, or the relation.
        (
            "v_cmp_gt_u32_e32 vcc_lo, 64, v0\nv_cndmask_b32_e32 v1, v0, v5, vcc_lo",
            "v_cmp_gt_i32_e32 vcc_lo, 64, v0",
            same,
        ),
        (
            "v_cmp_gt_u32_e32 vcc_lo, 64, v5\nv_cndmask_b32_e32 v1, v0, v5, vcc_lo",
            "v_cmp_gt_i32_e32 vcc_lo, 64, v5",
            None,
        ),
        (
            "v_and_b32_e32 v2, 15, v5\nv_cmp_gt_u32_e32 vcc_lo, 16, v2\nv_cndmask_b32_e32 v1, v0, v5, vcc_lo",
            "v_cmp_ge_u32_e32 vcc_lo, 16, v2",
            same,
        ),
        (
            "v_and_b32_e32 v2, 31, v5\nv_cmp_gt_u32_e32 vcc_lo, 16, v2\nv_cndmask_b32_e32 v1, v0, v5, vcc_lo",
            "v_cmp_ge_u32_e32 vcc_lo, 16, v2",
            None,
        ),
        (
            "s_and_b32 s8, s4, 7\ns_cmp_gt_u32 s8, 7\ns_cselect_b32 s9, 1, 2\nv_mov_b32_e32 v1, s9",
            "s_cmp_gt_i32 s8, 7",
            same,
        ),
        (
            "s_cmp_gt_u32 s4, 7\ns_cselect_b32 s9, 1, 2\nv_mov_b32_e32 v1, s9",
            "s_cmp_gt_i32 s4, 7",
            None,
        ),
    ]);
}

#[test]
fn bits_that_nothing_looks_at_are_told() {
    let unread = Some(Reason::Unread);
    check(&[
        (
            "v_and_b32_e32 v2, 0xff0000, v5\nv_lshrrev_b32_e32 v1, 16, v2",
            "v_and_b32_e32 v2, 0xff0001, v5",
            unread,
        ),
        (
            "v_and_b32_e32 v2, 0xff0000, v5\nv_lshrrev_b32_e32 v1, 0, v2",
            "v_and_b32_e32 v2, 0xff0001, v5",
            None,
        ),
        // The sum carries the bit up.
        (
            "v_or_b32_e32 v2, 0x400000, v5\nv_add_nc_u32_e32 v2, v2, v5\nv_lshrrev_b32_e32 v1, 16, v2",
            "v_or_b32_e32 v2, 0x400001, v5",
            None,
        ),
        (
            "v_mov_b32_e32 v2, 1\nv_mov_b32_e32 v1, v5",
            "v_mov_b32_e32 v2, 2",
            unread,
        ),
        (
            "global_load_u16 v2, v0, s[4:5]\nv_lshlrev_b32_e32 v1, 16, v2",
            "global_load_i16 v2, v0, s[4:5]",
            unread,
        ),
        (
            "global_load_u16 v2, v0, s[4:5]\nv_lshlrev_b32_e32 v1, 15, v2",
            "global_load_i16 v2, v0, s[4:5]",
            None,
        ),
        (
            "v_and_b32_e32 v2, 0xff0000, v5\nv_perm_b32 v1, v2, v5, 0x07060304",
            "v_and_b32_e32 v2, 0xff0001, v5",
            None,
        ),
        (
            "s_mov_b32 s8, 0x07060302\nv_and_b32_e32 v2, 0xff0000, v5\nv_perm_b32 v1, v2, v5, s8",
            "v_and_b32_e32 v2, 0xff0001, v5",
            unread,
        ),
        (
            "s_mov_b32 s8, 0x07060302\nv_and_b32_e32 v2, 0xff0000, v5\nv_perm_b32 v1, v5, v2, s8",
            "v_and_b32_e32 v2, 0xff0001, v5",
            unread,
        ),
        // Of a store of bytes the rest does not count.
        (
            "v_and_b32_e32 v2, 0xff, v5\nv_mov_b32_e32 v1, v5\nglobal_store_b8 v0, v2, s[6:7]",
            "v_or_b32_e32 v2, 0xff, v5",
            None,
        ),
        (
            "v_lshlrev_b32_e32 v2, 8, v5\nv_mov_b32_e32 v1, v5\nglobal_store_b8 v0, v2, s[6:7]",
            "v_lshrrev_b32_e32 v2, 8, v5",
            None,
        ),
        (
            "v_xor_b32_e32 v2, 0x100, v5\nv_mov_b32_e32 v1, v5\nglobal_store_b8 v0, v2, s[6:7]",
            "v_or_b32_e32 v2, 0x100, v5",
            unread,
        ),
        // Another lane may look at what this one does not.
        (
            "v_mov_b32_e32 v2, 1\nv_readlane_b32 s8, v2, 3\nv_mov_b32_e32 v2, v5\nv_mov_b32_e32 v1, s8",
            "v_mov_b32_e32 v2, 2",
            None,
        ),
    ]);
}

#[test]
fn the_lowest_bits_of_an_address_of_scalars_do_not_count() {
    let rest = "\nv_mov_b32_e32 v1, s10";
    let sum = "s_add_u32 s8, s0, 8\ns_addc_u32 s9, s1, 0\ns_load_b32 s10, s[8:9], 0x0";
    check(&[
        (
            &(sum.to_owned() + rest),
            "s_add_u32 s8, s0, 9",
            Some(Reason::Unread),
        ),
        // Part of a dword is loaded from any byte of it.
        (
            &("s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_or_b32 s8, s8, 2\ns_load_b32 s10, s[8:9], 0x0"
                .to_owned()
                + rest),
            "s_or_b32 s8, s8, 3",
            Some(Reason::Unread),
        ),
        // The next dword is another one.
        (
            &(sum.replace("s0, 8", "s0, 3") + rest),
            "s_add_u32 s8, s0, 4",
            None,
        ),
        // An address of a vector load counts as a whole.
        (
            "s_or_b32 s4, s4, 2\nglobal_load_b32 v1, v0, s[4:5]",
            "s_or_b32 s4, s4, 3",
            None,
        ),
        // Nothing is known of the lowest bits of this one, so that a sum may carry.
        (
            &("s_add_u32 s8, s6, 8\ns_addc_u32 s9, s7, 0\ns_load_b32 s10, s[8:9], 0x0".to_owned() + rest),
            "s_add_u32 s8, s6, 9",
            None,
        ),
    ]);
}

#[test]
fn a_mode_that_no_instruction_computes_in_changes_nothing() {
    let flushed = "single-precision subnormals are flushed";
    let proven = |body: &str| {
        let asm = format!(
            "s_load_b128 s[4:7], s[0:1], 0x0\nglobal_load_b64 v[2:3], v0, s[4:5]\n{body}\nglobal_store_b32 v0, v1, s[6:7]\ns_endpgm"
        );
        proof(RDNA3, &asm, flushed)
    };
    for body in [
        "v_add_nc_u32_e32 v1, v2, v3",
        "v_cvt_f32_i32_e32 v1, v2",
        "v_add_f64 v[4:5], v[2:3], v[2:3]\nv_mov_b32_e32 v1, v4",
        "v_add_f16_e32 v1, v2, v3",
    ] {
        assert_eq!(proven(body), Some(Reason::Mode), "{body}");
    }
    for body in [
        "v_add_f32_e32 v1, v2, v3",
        "v_cvt_f16_f32_e32 v1, v2",
        "v_cvt_f32_f16_e32 v1, v2",
        "v_cvt_f32_f64_e32 v1, v[2:3]",
        "v_cmp_lt_f32_e32 vcc_lo, v2, v3\nv_cndmask_b32_e32 v1, v2, v3, vcc_lo",
        "v_fma_mix_f32 v1, v2, v3, v2",
        "v_cvt_f32_u32_e64 v1, v2 mul:2",
        "s_denorm_mode 15\nv_mov_b32_e32 v1, v2",
    ] {
        assert_eq!(proven(body), None, "{body}");
    }
}

/// What is proven of the mutant of a kernel whose first argument is a number, where it is below 2^31 and in any case. `s[4:5]` is the number,
/// `s[6:7]` anything, `v[2:3]` a number below 2^11.
#[track_caller]
fn within(body: &str, after: &str) -> [Option<Reason>; 2] {
    let asm = format!(
        "s_load_b128 s[4:7], s[0:1], 0x0\nv_and_b32_e32 v2, 0x3ff, v0\nv_mov_b32_e32 v3, 0\n{body}\ns_endpgm"
    );
    // Eight bytes of arguments are one number.
    let code = CodeObject::bare(RDNA3.target, &assemble(RDNA3, &asm), RSRC2, 0, 8).unwrap();
    let kernel = code.kernel(BARE_KERNEL).unwrap();
    let mutations = code.mutations(kernel).unwrap();
    let mutation = mutations.iter().find(|mutation| mutation.after == after);
    let Some(mutation) = mutation else {
        panic!("{after} is not one of {mutations:#?}")
    };
    let prover = Prover::new(&code, kernel).unwrap();
    [prover.equivalent_within(mutation), prover.equivalent(mutation)]
}

#[test]
fn sizes_that_are_declared_small_have_no_sign_and_no_upper_half() {
    let mask = "v_cndmask_b32_e64 v1, 1, 2, vcc_lo\nglobal_store_b32 v2, v1, s[6:7]";
    let stored = "v_mov_b32_e32 v1, s8\nglobal_store_b32 v2, v1, s[6:7]";
    let same = Some(Reason::SameWithin);
    for (body, after, expected) in [
        (
            format!("v_cmp_le_u64_e32 vcc_lo, s[4:5], v[2:3]\n{mask}"),
            "v_cmp_le_i64_e32 vcc_lo, s[4:5], v[2:3]",
            same,
        ),
        // A pointer is not a size, and what is loaded is anything.
        (
            format!("s_load_b64 s[4:5], s[6:7], 0x0\nv_cmp_le_u64_e32 vcc_lo, s[4:5], v[2:3]\n{mask}"),
            "v_cmp_le_i64_e32 vcc_lo, s[4:5], v[2:3]",
            None,
        ),
        // The upper halves are zero.
        (
            format!("s_mul_i32 s8, s5, 0\n{stored}"),
            "s_mul_i32 s8, s5, 1",
            same,
        ),
        (
            format!("s_mul_i32 s8, s4, 0\n{stored}"),
            "s_mul_i32 s8, s4, 1",
            None,
        ),
        // No carry comes out of the sum of two sizes, nothing is added to it, and the result is what was there.
        (
            format!("s_add_u32 s9, s4, s4\ns_addc_u32 s8, s7, s5\n{stored}"),
            "s_subb_u32 s8, s7, s5",
            same,
        ),
        (
            format!("s_add_u32 s9, s4, s6\ns_addc_u32 s8, s7, s5\n{stored}"),
            "s_subb_u32 s8, s7, s5",
            None,
        ),
        (
            format!("s_add_u32 s9, s4, s4\ns_addc_u32 s8, s5, s7\n{stored}"),
            "s_subb_u32 s8, s5, s7",
            None,
        ),
        (
            "v_add_co_u32 v4, vcc_lo, s4, v2\nv_add_co_ci_u32_e32 v1, vcc_lo, 0, v3, vcc_lo\nglobal_store_b32 v2, v1, s[6:7]".to_owned(),
            "v_sub_co_ci_u32_e32 v1, vcc_lo, 0, v3, vcc_lo",
            same,
        ),
        (
            "v_add_co_u32 v4, vcc_lo, s4, v2\nv_add_co_ci_u32_e32 v1, vcc_lo, 0, v0, vcc_lo\nglobal_store_b32 v2, v1, s[6:7]".to_owned(),
            "v_sub_co_ci_u32_e32 v1, vcc_lo, 0, v0, vcc_lo",
            None,
        ),
    ] {
        assert_eq!(within(&body, after), [expected, None], "{body} with {after}");
    }
}

#[test]
fn a_loop_that_goes_on_below_a_size_stays_below_it() {
    // v[2:3] goes up by 7 in lanes where it is below the number.
    let looped = |branch: &str, next: &str| {
        format!(
            "s_mov_b32 s9, 0\nv_add_co_u32 v2, vcc_lo, v2, 7\nv_add_co_ci_u32_e32 v3, vcc_lo, 0, v3, vcc_lo\n{branch}\ns_or_b32 s9, vcc_lo, s9\n{next}\ns_cbranch_execnz 65528\nglobal_store_b32 v0, v2, s[6:7]"
        )
    };
    let compare = "v_cmp_le_u64_e32 vcc_lo, s[4:5], v[2:3]";
    let signed = "v_cmp_le_i64_e32 vcc_lo, s[4:5], v[2:3]";
    let rest = "s_and_not1_b32 exec_lo, exec_lo, s9";
    assert_eq!(
        within(&looped(compare, rest), signed),
        [Some(Reason::SameWithin), None]
    );
    // The lanes that stay are others, and so are those of the other comparison; the register is written after it.
    for (branch, next) in [
        (compare, "s_and_b32 exec_lo, exec_lo, s9"),
        ("v_cmp_gt_u64_e32 vcc_lo, s[4:5], v[2:3]", rest),
        (
            compare,
            "v_mov_b32_e32 v3, s6\ns_and_not1_b32 exec_lo, exec_lo, s9",
        ),
        (
            compare,
            "s_xor_b32 s9, s9, s10\ns_and_not1_b32 exec_lo, exec_lo, s9",
        ),
        (
            compare,
            "s_or_b32 exec_lo, exec_lo, s10\ns_and_not1_b32 exec_lo, exec_lo, s9",
        ),
    ] {
        let body = looped(branch, next).replace("65528", &(65528 - next.lines().count() + 1).to_string());
        let after = branch.replace("u64", "i64");
        assert_eq!(within(&body, &after), [None, None], "{body}");
    }
}

#[test]
fn lanes_that_are_not_active_keep_what_they_have() {
    let branch = "v_cmp_gt_u32_e32 vcc_lo, 64, v5\ns_and_saveexec_b32 s8, vcc_lo\n";
    let join = "s_or_b32 exec_lo, exec_lo, s8\n";
    check(&[
        // All lanes look at it; those that were not active have it still.
        (
            &format!("v_mov_b32_e32 v1, 1\n{branch}v_mov_b32_e32 v1, v5\n{join}"),
            "v_mov_b32_e32 v1, 2",
            None,
        ),
        (
            &format!("v_mov_b32_e32 v1, 1\nv_mov_b32_e32 v1, v5\n{branch}{join}"),
            "v_mov_b32_e32 v1, 2",
            Some(Reason::Unread),
        ),
        // Lanes of the branch are overwritten with the others.
        (
            &format!("{branch}v_mov_b32_e32 v1, 1\n{join}v_mov_b32_e32 v1, v5"),
            "v_mov_b32_e32 v1, 2",
            Some(Reason::Unread),
        ),
        // What is known of a register holds for the lanes that were not active, too.
        (
            &format!("v_mov_b32_e32 v2, v5\n{branch}v_mov_b32_e32 v2, 5\n{join}v_max_u32_e32 v1, 4, v2"),
            "v_max_i32_e32 v1, 4, v2",
            None,
        ),
        (
            &format!("v_mov_b32_e32 v2, v0\n{branch}v_mov_b32_e32 v2, 5\n{join}v_max_u32_e32 v1, 4, v2"),
            "v_max_i32_e32 v1, 4, v2",
            Some(Reason::Same),
        ),
    ]);
}

#[test]
fn masks_that_are_as_they_should_be_again_are_told() {
    let outer = "v_mov_b32_e32 v1, v5\nv_cmp_gt_u32_e32 vcc_lo, 64, v5\ns_and_saveexec_b32 s8, vcc_lo\n";
    let inner = "v_cmp_gt_u32_e32 vcc_lo, 32, v5\ns_and_saveexec_b32 s9, vcc_lo\nv_mov_b32_e32 v1, 3\n";
    let (join_inner, join_outer) = (
        "s_or_b32 exec_lo, exec_lo, s9\n",
        "s_or_b32 exec_lo, exec_lo, s8\n",
    );
    let lanes = Some(Reason::Lanes);
    let all = |between: &str| format!("{outer}{inner}{join_inner}{between}{join_outer}");
    check(&[
        (&all(""), "s_and_b32 exec_lo, exec_lo, s9", lanes),
        (
            &all("s_mov_b32 s10, 5\n"),
            "s_and_b32 exec_lo, exec_lo, s9",
            lanes,
        ),
        // A vector instruction is executed in other lanes, a mask is one of other lanes, another mask is joined.
        (
            &all("v_mov_b32_e32 v2, v1\nglobal_store_b32 v0, v2, s[6:7]\n"),
            "s_and_b32 exec_lo, exec_lo, s9",
            None,
        ),
        (
            &all("s_mov_b32 s8, exec_lo\n"),
            "s_and_b32 exec_lo, exec_lo, s9",
            None,
        ),
        (
            &format!("{outer}{inner}{join_inner}s_or_b32 exec_lo, exec_lo, s10"),
            "s_and_b32 exec_lo, exec_lo, s9",
            None,
        ),
        // The rest of a mask, without those that were in the branch.
        (
            &format!(
                "{outer}s_xor_b32 s8, exec_lo, s8\nv_mov_b32_e32 v1, 1\ns_and_not1_saveexec_b32 s9, s8\nv_mov_b32_e32 v1, 2\ns_or_b32 exec_lo, exec_lo, s9"
            ),
            "s_or_b32 s8, exec_lo, s8",
            lanes,
        ),
        (
            &format!(
                "{outer}s_xor_b32 s8, exec_lo, s8\nv_mov_b32_e32 v1, 1\ns_or_saveexec_b32 s9, s8\nv_mov_b32_e32 v1, 2\ns_mov_b32 exec_lo, s8"
            ),
            "s_or_b32 s8, exec_lo, s8",
            None,
        ),
    ]);
    // Nothing comes after it.
    let last = "v_cmp_gt_u32_e32 vcc_lo, 64, v0\ns_and_saveexec_b32 s8, vcc_lo\ns_or_b32 exec_lo, exec_lo, s8\ns_endpgm";
    assert!(proof(RDNA3, last, "s_and_b32 exec_lo, exec_lo, s8").is_some());
}

#[test]
fn loops_and_calls_are_not_taken_for_straight_lines() {
    check(&[
        // The sum grows past any limit.
        (
            "v_mov_b32_e32 v2, 0\nv_add_nc_u32_e32 v2, 7, v2\nv_cmp_ne_u32_e32 vcc_lo, v2, v5\ns_cbranch_vccnz 65533\nv_max_u32_e32 v1, 4, v2",
            "v_max_i32_e32 v1, 4, v2",
            None,
        ),
        // The next round looks at it.
        (
            "v_mov_b32_e32 v1, 0\nv_mov_b32_e32 v2, 0\nv_add_nc_u32_e32 v1, v1, v2\nv_mov_b32_e32 v2, 1\ns_cbranch_vccnz 65533",
            "v_mov_b32_e32 v2, 2",
            None,
        ),
    ]);
}

/// Instructions for random programs: `V` is a vector register, `S` a scalar one, `C` a constant. They are spelled for RDNA3.
const VECTOR: &[&str] = &[
    "v_and_b32 V, C, V",
    "v_or_b32 V, V, V",
    "v_xor_b32 V, V, V",
    "v_lshlrev_b32 V, C, V",
    "v_lshrrev_b32 V, C, V",
    "v_ashrrev_i32 V, C, V",
    "v_bfe_u32 V, V, C, C",
    "v_bfe_i32 V, V, C, C",
    "v_mul_hi_u32 V, V, V",
    "v_mul_lo_u32 V, V, V",
    "v_max_u32 V, C, V",
    "v_min_i32 V, V, V",
    "v_and_or_b32 V, V, C, V",
    "v_lshl_or_b32 V, V, C, V",
    "v_lshl_add_u32 V, V, C, V",
    "v_add_lshl_u32 V, V, V, C",
    "v_add3_u32 V, V, V, C",
    "v_perm_b32 V, V, V, S",
    "v_bfi_b32 V, S, V, V",
    "v_cvt_f32_u32 V, V",
    "v_cvt_f32_ubyte1 V, V",
    "v_mov_b32 V, C",
    "v_mov_b32 V, S",
    "v_mad_u32_u24 V, V, V, V",
    "v_mad_u64_u32 v[2:3], vcc, V, C, v[4:5]",
    "v_cmp_lt_u32 vcc, V, V\nv_cndmask_b32 V, V, V, vcc",
    "v_cmp_gt_i32 vcc, C, V\nv_cndmask_b32 V, V, V, vcc",
    "v_cmp_le_u64 vcc, v[2:3], v[4:5]\nv_cndmask_b32 V, V, V, vcc",
    "s_and_b32 S, S, C",
    "s_or_b32 S, S, S",
    "s_lshl_b32 S, S, C",
    "s_lshr_b32 S, S, C",
    "s_mul_hi_u32 S, S, S",
    "s_bfe_u32 S, S, 0x80008",
    "s_mov_b32 S, C",
    "s_cmp_gt_u32 S, C\ns_cselect_b32 S, S, C",
    "s_min_u32 S, S, S",
    "s_add_u32 S, S, S\ns_addc_u32 S, S, C",
    "v_readfirstlane_b32 S, V",
    "v_readlane_b32 S, V, 3",
];

/// The same for RDNA alone: sums and differences that carry.
const CARRYING: &[&str] = &[
    "v_add_co_u32 V, vcc, V, V\nv_add_co_ci_u32 V, vcc, C, V, vcc",
    "v_sub_co_u32 V, vcc, V, C\nv_sub_co_ci_u32 V, vcc, V, V, vcc",
    "v_add_co_u32 V, vcc, C, V\nv_sub_co_ci_u32 V, vcc, V, C, vcc",
    "s_sub_u32 S, S, C\ns_subb_u32 S, S, S",
    "s_and_b32 S, S, C\ns_add_u32 S, S, S\ns_addc_u32 S, S, 0",
    "v_and_b32 v2, C, v2\nv_add_co_u32 V, vcc, v2, v2\nv_add_co_ci_u32 V, vcc, 0, V, vcc",
];

pub(crate) struct Writer {
    pub(crate) numbers: Numbers,
    pub(crate) text: String,
    pub(crate) card: Card,
    /// Scalar registers before this one hold masks.
    pub(crate) saved: u32,
    /// Instructions besides the usual ones.
    pub(crate) others: &'static [&'static str],
}

impl Writer {
    fn below(&mut self, limit: u64) -> u64 {
        self.numbers.next() % limit
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn plain(&mut self) {
        let carrying = if self.card.is_rdna() { CARRYING.len() } else { 0 };
        let carrying = &CARRYING[..carrying];
        let count = VECTOR.len() + self.others.len() + carrying.len();
        let at = self.below(count as u64) as usize;
        let all = VECTOR.iter().chain(self.others).chain(carrying);
        let template = *all.into_iter().nth(at).unwrap();
        for line in template.lines() {
            let words: Vec<String> = line.split(' ').map(|word| self.word(word)).collect();
            self.line(&words.join(" "));
        }
    }

    fn word(&mut self, word: &str) -> String {
        let (name, comma) = word.strip_suffix(',').map_or((word, ""), |name| (name, ","));
        let vcc = if self.card.lanes == 32 { "vcc_lo" } else { "vcc" };
        let word = match name {
            "V" => format!("v{}", 2 + self.below(6)),
            "S" => format!("s{}", 8 + self.below(4)),
            "C" => self.below(33).to_string(),
            "vcc" => vcc.to_owned(),
            other => other.to_owned(),
        };
        word + comma
    }

    /// Some lanes do something, and others something else.
    pub(crate) fn branch(&mut self, depth: u32) {
        let wide = self.card.lanes == 64;
        let (bits, exec, vcc) = if wide {
            ("b64", "exec", "vcc")
        } else {
            ("b32", "exec_lo", "vcc_lo")
        };
        self.saved += 2;
        let n = self.saved;
        let saved = if wide {
            format!("s[{n}:{}]", n + 1)
        } else {
            format!("s{n}")
        };
        let not = if self.card.is_rdna() {
            "s_and_not1_saveexec"
        } else {
            "s_andn2_saveexec"
        };
        let (a, b) = (2 + self.below(6), 2 + self.below(6));
        let relation = ["lt", "le", "gt", "ge"][self.below(4) as usize];
        let a = match self.below(3) {
            0 => self.below(33).to_string(),
            _ => format!("v{a}"),
        };
        self.line(&format!("v_cmp_{relation}_u32 {vcc}, {a}, v{b}"));
        self.line(&format!("s_and_saveexec_{bits} {saved}, {vcc}"));
        if self.below(2) == 0 {
            self.line(&format!("s_xor_{bits} {saved}, {exec}, {saved}"));
            self.body(depth);
            self.line(&format!("{not}_{bits} {saved}, {saved}"));
        }
        self.body(depth);
        self.line(&format!("s_or_{bits} {exec}, {exec}, {saved}"));
    }

    pub(crate) fn body(&mut self, depth: u32) {
        for _ in 0..1 + self.below(4) {
            if depth < 3 && self.below(4) == 0 {
                self.branch(depth + 1);
            } else {
                self.plain();
            }
        }
    }
}

/// A program of random instructions on loaded numbers, which stores six registers.
fn program(card: Card, seed: u64) -> String {
    let mut writer = Writer {
        numbers: Numbers(seed),
        text: String::new(),
        card,
        saved: 18,
        others: &[],
    };
    let gfx9 = !card.is_rdna();
    let names = |rdna: &'static str, cdna: &'static str| if gfx9 { cdna } else { rdna };
    let load4 = names("s_load_b128", "s_load_dwordx4");
    let four = names("global_load_b128", "global_load_dwordx4");
    let two = names("global_load_b64", "global_load_dwordx2");
    writer.line(&format!("{load4} s[4:7], s[0:1], 0x0"));
    writer.line("v_lshlrev_b32 v8, 5, v0");
    writer.line(&format!(
        "{four} v[2:5], v8, s[4:5]\n{two} v[6:7], v8, s[4:5] offset:16"
    ));
    writer.line(&format!("{load4} s[8:11], s[4:5], 0x18"));
    for _ in 0..3 {
        writer.body(0);
        writer.branch(0);
    }
    let store = names("global_store_b128", "global_store_dwordx4");
    let store2 = names("global_store_b8", "global_store_byte");
    let store3 = names("global_store_b16", "global_store_short");
    writer.line(&format!(
        "{store} v8, v[2:5], s[6:7]\n{store2} v8, v6, s[6:7] offset:16\n{store3} v8, v7, s[6:7] offset:20"
    ));
    writer.line("s_endpgm");
    writer.text
}

/// What a program stores that reads some numbers.
pub(crate) fn outputs(code: &CodeObject, kernel: &gfx_emu::Kernel, seed: u64, lanes: u32) -> Option<Vec<u8>> {
    let bytes = 32 * u64::from(lanes) + 64;
    let mut memory = Memory::new(1 << 20);
    let placement = code.place(&mut memory).unwrap();
    let (input, output) = (memory.alloc(bytes).unwrap(), memory.alloc(bytes).unwrap());
    let mut numbers = Numbers(seed);
    let words = (0..bytes / 4).map(|_| {
        let number = numbers.next();
        (number as u32) >> (number >> 32 & 31) & if number >> 40 & 1 != 0 { u32::MAX } else { 0xff }
    });
    let data: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    memory.write(input, &data).unwrap();
    memory.write(output, &vec![0; bytes as usize]).unwrap();
    let kernarg: Vec<u8> = [input, output].into_iter().flat_map(u64::to_le_bytes).collect();
    let dispatch = Dispatch {
        kernel,
        placement,
        grid: [1, 1, 1],
        block: [lanes, 1, 1],
        dynamic_lds: 0,
        kernarg: &kernarg,
    };
    launch(code, &dispatch, &memory, &LaunchOptions::default()).ok()?;
    let mut stored = vec![0; bytes as usize];
    memory.read(output, &mut stored).unwrap();
    Some(stored)
}

/// Executes the mutants of random programs that are proven for a reason that is meant, each on so many inputs, and counts them. One that
/// computes something else fails the test.
pub(crate) fn executed_proofs(
    seeds: u64,
    inputs: u64,
    program: impl Fn(Card, u64) -> String,
    is_meant: impl Fn(Reason) -> bool,
) -> usize {
    let mut proven = 0;
    for card in [RDNA3, CDNA3, RDNA4] {
        for seed in 0..if card.name == RDNA4.name { 10 } else { seeds } {
            let asm = program(card, seed);
            let code = object(card, &asm);
            let kernel = code.kernel(BARE_KERNEL).unwrap();
            let prover = Prover::new(&code, kernel).unwrap();
            let right: Vec<_> = (0..inputs)
                .map(|inputs| outputs(&code, kernel, inputs, card.lanes))
                .collect();
            assert!(right.iter().all(Option::is_some), "{asm}");
            for mutation in code.mutations(kernel).unwrap() {
                let Some(reason) = prover.equivalent(&mutation).filter(|reason| is_meant(*reason)) else {
                    continue;
                };
                let Ok(mutant) = code.patched(kernel, &mutation.patch) else {
                    continue;
                };
                proven += 1;
                for (inputs, right) in right.iter().enumerate() {
                    let got = outputs(&code, &mutant, inputs as u64, card.lanes);
                    assert!(
                        got == *right,
                        "{reason:?} of {}, {:#x}: {} -> {}\n{asm}",
                        card.name,
                        mutation.pc,
                        mutation.before,
                        mutation.after
                    );
                }
            }
        }
    }
    proven
}

#[test]
fn proven_mutants_of_random_programs_compute_what_the_programs_do() {
    let proven = executed_proofs(40, 4, |card, seed| program(card, 1000 * seed + 7), |_| true);
    assert!(proven > 2000, "{proven} mutants were proven");
}
