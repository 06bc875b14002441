//! LLVM's constant folder as a second opinion: what it computes for an intrinsic, we compute for the instruction.

use crate::llvm::llvm;
use crate::wave::{Numbers, Row, check};

/// An instruction with the intrinsic that becomes it, and the LLVM types of result and operands.
struct Pair {
    asm: &'static str,
    intrinsic: &'static str,
    result: &'static str,
    operands: &'static [&'static str],
    /// Whether operands are numbers in a moderate range, rather than any bits.
    moderate: bool,
}

const fn pair(
    asm: &'static str,
    intrinsic: &'static str,
    result: &'static str,
    operands: &'static [&'static str],
    moderate: bool,
) -> Pair {
    Pair {
        asm,
        intrinsic,
        result,
        operands,
        moderate,
    }
}

/// Instructions the folder knows. The destination is v0 (and v1), the operands start at v2, v4, v6.
#[rustfmt::skip] // one instruction a line
const PAIRS: &[Pair] = &[
    pair("v_rcp_f32 v0, v2", "llvm.amdgcn.rcp.f32", "float", &["float"], true),
    pair("v_sin_f32 v0, v2", "llvm.amdgcn.sin.f32", "float", &["float"], true),
    pair("v_cos_f32 v0, v2", "llvm.amdgcn.cos.f32", "float", &["float"], true),
    pair("v_fract_f32 v0, v2", "llvm.amdgcn.fract.f32", "float", &["float"], true),
    pair("v_frexp_mant_f32 v0, v2", "llvm.amdgcn.frexp.mant.f32", "float", &["float"], false),
    pair("v_frexp_exp_i32_f32 v0, v2", "llvm.amdgcn.frexp.exp.i32.f32", "i32", &["float"], false),
    pair("v_frexp_mant_f64 v[0:1], v[2:3]", "llvm.amdgcn.frexp.mant.f64", "double", &["double"], false),
    pair("v_frexp_exp_i32_f64 v0, v[2:3]", "llvm.amdgcn.frexp.exp.i32.f64", "i32", &["double"], false),
    pair("v_med3_f32 v0, v2, v4, v6", "llvm.amdgcn.fmed3.f32", "float", &["float", "float", "float"], true),
    pair("v_mul_dx9_zero_f32 v0, v2, v4", "llvm.amdgcn.fmul.legacy", "float", &["float", "float"], true),
    pair("v_fma_dx9_zero_f32 v0, v2, v4, v6", "llvm.amdgcn.fma.legacy", "float", &["float", "float", "float"], true),
    pair("v_bfe_u32 v0, v2, v4, v6", "llvm.amdgcn.ubfe.i32", "i32", &["i32", "i32", "i32"], false),
    pair("v_bfe_i32 v0, v2, v4, v6", "llvm.amdgcn.sbfe.i32", "i32", &["i32", "i32", "i32"], false),
    pair("v_perm_b32 v0, v2, v4, v6", "llvm.amdgcn.perm", "i32", &["i32", "i32", "i32"], false),
    pair("v_cvt_pk_rtz_f16_f32 v0, v2, v4", "llvm.amdgcn.cvt.pkrtz", "<2 x half>", &["float", "float"], true),
    pair("v_trig_preop_f64 v[0:1], v[2:3], v4", "llvm.amdgcn.trig.preop.f64", "double", &["double", "segment"], false),
    pair("v_ldexp_f32 v0, v2, v4", "llvm.ldexp.f32.i32", "float", &["float", "exponent"], true),
    pair("v_fma_f32 v0, v2, v4, v6", "llvm.fma.f32", "float", &["float", "float", "float"], true),
    pair("v_rndne_f32 v0, v2", "llvm.rint.f32", "float", &["float"], true),
    pair("v_trunc_f32 v0, v2", "llvm.trunc.f32", "float", &["float"], true),
    pair("v_alignbit_b32 v0, v2, v4, v6", "llvm.fshr.i32", "i32", &["i32", "i32", "i32"], false),
    pair("v_bfrev_b32 v0, v2", "llvm.bitreverse.i32", "i32", &["i32"], false),
];

/// Registers and their values.
type Named = Vec<(&'static str, u32)>;

/// Constants tried for each instruction.
const TRIES: usize = 60;

/// An operand of a type: its bits.
fn operand(ty: &str, moderate: bool, numbers: &mut Numbers) -> u64 {
    let random = numbers.next();
    let value = (random as i32 as f64) / f64::from(1 << 24);
    match ty {
        "float" if moderate => u64::from((value as f32).to_bits()),
        // Any exponent, but no NaN: the folder leaves some of them alone.
        "float" => random & 0xbfff_ffff,
        "double" => random & 0xbfff_ffff_ffff_ffff,
        "segment" => random % 24,
        "exponent" => (random % 40) as i32 as u32 as u64,
        _ => random & 0xffff_ffff,
    }
}

/// The LLVM type and literal of an operand.
fn literal(ty: &str, bits: u64) -> String {
    match ty {
        // A float constant is written as the double with the same value.
        "float" => format!(
            "float 0x{:016X}",
            f64::from(f32::from_bits(bits as u32)).to_bits()
        ),
        "double" => format!("double 0x{bits:016X}"),
        _ => format!("i32 {}", bits as u32),
    }
}

/// One call for the folder: the function named `@f{index}` returns the result's bits.
fn function(index: usize, pair: &Pair, operands: &[u64]) -> String {
    let width = if pair.result == "double" { "i64" } else { "i32" };
    let args: Vec<_> = pair
        .operands
        .iter()
        .zip(operands)
        .map(|(ty, bits)| literal(ty, *bits))
        .collect();
    let call = format!(
        "%r = call {} @{}({})",
        pair.result,
        pair.intrinsic,
        args.join(", ")
    );
    let cast = if pair.result == width {
        "%r".to_owned()
    } else {
        "%b".to_owned()
    };
    let bits = if pair.result == width {
        String::new()
    } else {
        format!("%b = bitcast {} %r to {width}\n", pair.result)
    };
    format!("define {width} @f{index}() {{\n{call}\n{bits}ret {width} {cast}\n}}\n")
}

fn declaration(pair: &Pair) -> String {
    let types = pair.operands.iter().map(|ty| {
        if matches!(*ty, "segment" | "exponent") {
            "i32"
        } else {
            ty
        }
    });
    format!(
        "declare {} @{}({})\n",
        pair.result,
        pair.intrinsic,
        types.collect::<Vec<_>>().join(", ")
    )
}

/// Constants the folder computed, by function number; `None` where it left the call alone.
fn fold(ir: &str) -> Vec<Option<u64>> {
    let args = [
        "-mtriple=amdgcn-amd-amdhsa",
        "-mcpu=gfx1100",
        "-passes=instcombine",
        "-S",
        "-",
    ];
    let text = llvm("opt-19", &args, ir);
    let returns = text.lines().filter_map(|line| line.trim().strip_prefix("ret "));
    returns
        .map(|value| {
            value
                .split(' ')
                .nth(1)?
                .parse::<i64>()
                .ok()
                .map(|bits| bits as u64)
        })
        .collect()
}

#[test]
fn the_constant_folder_agrees() {
    let mut numbers = Numbers(1);
    let tries: Vec<(&Pair, Vec<u64>)> = PAIRS
        .iter()
        .flat_map(|pair| std::iter::repeat_n(pair, TRIES))
        .map(|pair| {
            (
                pair,
                pair.operands
                    .iter()
                    .map(|ty| operand(ty, pair.moderate, &mut numbers))
                    .collect(),
            )
        })
        .collect();
    let mut ir: String = PAIRS.iter().map(declaration).collect();
    ir.extend(
        tries
            .iter()
            .enumerate()
            .map(|(i, (pair, operands))| function(i, pair, operands)),
    );
    let folded = fold(&ir);
    assert_eq!(
        folded.len(),
        tries.len(),
        "opt-19 gave another number of functions"
    );
    let mut rows: Vec<(&str, Named, Named)> = Vec::new();
    for pair in PAIRS {
        let known = tries
            .iter()
            .zip(&folded)
            .filter(|((p, _), folded)| p.asm == pair.asm && folded.is_some())
            .count();
        assert!(
            known > TRIES / 2,
            "opt-19 folded only {known} of {TRIES} calls of {}",
            pair.intrinsic
        );
    }
    for ((pair, operands), folded) in tries.iter().zip(&folded) {
        let Some(want) = *folded else { continue };
        let names = [("v2", "v3"), ("v4", "v5"), ("v6", "v7")];
        let registers = names.into_iter().zip(operands);
        let before = registers
            .flat_map(|((low, high), bits)| [(low, *bits as u32), (high, (*bits >> 32) as u32)])
            .collect();
        let mut after = vec![("v0", want as u32)];
        if pair.result == "double" {
            after.push(("v1", (want >> 32) as u32));
        }
        rows.push((pair.asm, before, after));
    }
    let rows: Vec<Row<'_>> = rows
        .iter()
        .map(|(asm, before, after)| (*asm, before.as_slice(), after.as_slice()))
        .collect();
    check(&rows);
}
