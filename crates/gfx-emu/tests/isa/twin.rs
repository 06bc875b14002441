//! The rows of the RDNA3 tests again: on RDNA4, and on waves of 64 lanes those of RDNA3 itself, and in the spelling of GFX9 those of
//! CDNA. What both have must compute the same.

use crate::lines::instructions;
use crate::llvm::Card;
use crate::wave::{Row, outcome};

/// Mnemonics of RDNA3 that GFX9 and GFX10 spell in another way; a name that ends in `*` stands for all that begin like it.
const NAMES: &[(&str, &str)] = &[
    ("s_ctz_i32_*", "s_ff1_i32_*"),
    ("s_clz_i32_u32", "s_flbit_i32_b32"),
    ("s_clz_i32_u64", "s_flbit_i32_b64"),
    ("s_cls_i32*", "s_flbit_i32*"),
    ("s_and_not1_*", "s_andn2_*"),
    ("s_or_not1_*", "s_orn2_*"),
    ("s_and_not0_*", "s_andn1_*"),
    ("s_or_not0_*", "s_orn1_*"),
    ("v_clz_i32_u32", "v_ffbh_u32"),
    ("v_ctz_i32_b32", "v_ffbl_b32"),
    ("v_cls_i32", "v_ffbh_i32"),
    ("v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"),
    ("v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"),
    ("v_dot2acc_*", "v_dot2c_*"),
    ("v_cvt_pk_norm_*", "v_cvt_pknorm_*"),
    ("v_cvt_pk_rtz_*", "v_cvt_pkrtz_*"),
    ("v_mul_dx9_zero_f32", "v_mul_legacy_f32"),
    ("v_fma_dx9_zero_f32", "v_fma_legacy_f32"),
    ("v_fmac_dx9_zero_f32", "v_fmac_legacy_f32"),
    ("s_set_inst_prefetch_distance", "s_inst_prefetch"),
    ("ds_store_2addr_stride64_*", "ds_write2st64_*"),
    ("ds_load_2addr_stride64_*", "ds_read2st64_*"),
    ("ds_store_2addr_*", "ds_write2_*"),
    ("ds_load_2addr_*", "ds_read2_*"),
    ("ds_storexchg_2addr_stride64_*", "ds_wrxchg2st64_*"),
    ("ds_storexchg_2addr_*", "ds_wrxchg2_*"),
    ("ds_storexchg_*", "ds_wrxchg_*"),
    ("ds_cmpstore_*", "ds_cmpst_*"),
    ("ds_store_*", "ds_write_*"),
    ("ds_load_*", "ds_read_*"),
];

/// Mnemonics of GFX10 and later that GFX9 alone spells in another way.
const NAMES_OF_GFX9: &[(&str, &str)] = &[
    ("v_add_nc_*", "v_add_*"),
    ("v_sub_nc_*", "v_sub_*"),
    ("v_subrev_nc_*", "v_subrev_*"),
    ("v_add_co_ci_*", "v_addc_co_*"),
    ("v_sub_co_ci_*", "v_subb_co_*"),
    ("v_subrev_co_ci_*", "v_subbrev_co_*"),
];

/// Rows that mean something else on CDNA3, by their text and first operand; `v_cmpx` writes its destination as well as
/// EXEC there.
const DIFFERENT: &[(&str, &str)] = &[
    // 16-bit results clear the other half of their register.
    ("v_cvt_f16_f32 v0, v1", "v0"),
    ("v_lshlrev_b16 v0, v1, v2", "v0"),
    ("v_add_f16 v0, v1, v2", "v0"),
    // Lane 33 exists.
    ("v_readlane_b32 s0, v1, s2", "v1@1"),
];

/// The line in GFX9's spelling.
pub(crate) fn respell(line: &str) -> String {
    renamed(line, NAMES_OF_GFX9).replace("vcc_lo", "vcc")
}

/// The line in GFX10's spelling.
pub(crate) fn respell_rdna2(line: &str) -> String {
    renamed(line, &[])
}

/// The line with names of before RDNA3, and with these.
fn renamed(line: &str, names: &[(&str, &str)]) -> String {
    let (name, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let renamed = NAMES
        .iter()
        .chain(names)
        .find_map(|(old, new)| match old.strip_suffix('*') {
            Some(start) => Some(format!(
                "{}{}",
                new.trim_end_matches('*'),
                name.strip_prefix(start)?
            )),
            None => (name == *old).then(|| (*new).to_owned()),
        });
    let rest = if name.starts_with("ds_cmpstore") {
        comparand_first(rest)
    } else {
        rest.to_owned()
    };
    format!("{} {rest}", renamed.unwrap_or_else(|| name.to_owned()))
}

/// The operands of an exchange in the data share with the last two in the other order.
fn comparand_first(operands: &str) -> String {
    let mut operands: Vec<&str> = operands.split(", ").collect();
    let last = operands.len().saturating_sub(2);
    operands[last..].reverse();
    operands.join(", ")
}

/// Rows that mean something else on waves of 64 lanes of RDNA3.
const DIFFERENT_IN_WAVE64: &[(&str, &str)] = &[
    // Lane 33 exists.
    ("v_readlane_b32 s0, v1, s2", "v1@1"),
    // There is another half to exchange with.
    ("v_permlane64_b32 v0, v1", "v0"),
];

/// Rows that mean something else on RDNA4: without an IEEE mode output scaling has a meaning wherever denormals are flushed.
const DIFFERENT_ON_RDNA4: &[(&str, &str)] = &[("s_denorm_mode 12\nv_add_f32 v0, v3, v3 mul:2", "v1")];

/// The line in RDNA4's spelling; an empty one where it means something else there: LLVM takes the old names of minima and maxima for
/// those that prefer numbers to any NaN, because gfx12 lacks the IEEE mode. `rdna4.rs` has these.
pub(crate) fn respell_rdna4(line: &str) -> String {
    let name = line.trim().split(' ').next().unwrap_or_default();
    let extreme = ["min", "max", "min3", "max3", "minmax", "maxmin"];
    let of_lanes = name.strip_prefix("v_").or_else(|| name.strip_prefix("s_"));
    let is_extreme = of_lanes
        .map(|name| name.trim_start_matches("pk_"))
        .and_then(|name| name.rsplit_once("_f"))
        .is_some_and(|(what, _)| extreme.contains(&what));
    if is_extreme {
        return String::new();
    }
    line.replace(" glc", " th:TH_ATOMIC_RETURN")
}

/// The line in a card's spelling.
pub(crate) fn spelled(card: Card, line: &str) -> String {
    let line = match card.is_rdna() {
        true if card.is_rdna2() => respell_rdna2(line),
        true if card.is_rdna4() => respell_rdna4(line),
        true => line.to_owned(),
        false => return respell(line),
    };
    match card.lanes {
        32 => line,
        _ => line.replace("vcc_lo", "vcc"),
    }
}

/// Runs rows on a card: [`failures`] for waves of a width.
pub(crate) type Failures = fn(Card, &[Row<'_>]) -> (Vec<String>, usize);

/// Runs the rows that a card has on a wave of `W` lanes. Gives the failures and the number of rows that ran.
pub(crate) fn failures<const W: usize>(card: Card, rows: &[Row<'_>]) -> (Vec<String>, usize) {
    let (mut failures, mut ran) = (Vec::new(), 0);
    // One row a piece: a line that the assembler refuses must not shift the others.
    let text: String = rows
        .iter()
        .map(|(asm, ..)| {
            let lines: String = asm.lines().map(|line| spelled(card, line) + "\n").collect();
            format!("s_nop 77\n{lines}s_endpgm\n")
        })
        .collect();
    let mut pieces: Vec<Vec<Vec<u8>>> = Vec::new();
    for (text, bytes) in instructions(card, &text) {
        match pieces.last_mut() {
            _ if text == "s_nop 0x4d" => pieces.push(Vec::new()),
            Some(piece) => piece.push(bytes),
            None => {}
        }
    }
    assert_eq!(pieces.len(), rows.len());
    for (row, piece) in rows.iter().zip(pieces) {
        let lines = row.0.lines().filter(|line| !line.trim().is_empty()).count() + 1;
        let rdna = card.is_rdna();
        let writes_exec = row.0.starts_with("v_cmpx") && !rdna;
        let of_width = match (rdna, W) {
            (true, 32) => &[],
            (true, _) => DIFFERENT_IN_WAVE64,
            (false, _) => DIFFERENT,
        };
        let of_card = if card.is_rdna4() { DIFFERENT_ON_RDNA4 } else { &[] };
        let mut known = of_width.iter().chain(of_card);
        let different =
            |(asm, first): &(&str, &str)| *asm == row.0 && row.1.first().is_some_and(|(r, _)| r == first);
        if piece.len() == lines && !writes_exec && !known.any(different) {
            ran += 1;
            failures.extend(outcome::<W>(card, &piece.concat(), row));
        }
    }
    (failures, ran)
}
