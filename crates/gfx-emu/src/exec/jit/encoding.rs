//! Tests: the encoder writes what LLVM's assembler writes (`llvm-mc-19 -triple=x86_64 -mcpu=znver5 -show-encoding`, Intel syntax).

use super::asm::{Alu, Asm, Gpr, If, Mem, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDX, RSI, Rm, Shift, v};

fn mem(base: Gpr, disp: i32) -> Mem {
    Mem { base, disp }
}

type Write = fn(&mut Asm);

/// What is written, and LLVM's bytes.
#[rustfmt::skip] // one instruction a line
const ROWS: &[(Write, &str)] = &[
        (|asm| asm.vector(v::ADDPS, 9, 24, Rm::Reg(30), 3, None), "62113c4358ce"), // vaddps zmm9 {k3}, zmm24, zmm30
        (|asm| asm.vector(v::LOAD, 31, 0, Rm::Full(mem(R12, 192)), 0, None), "62417c48107c2403"), // vmovups zmm31, [r12 + 192]
        (|asm| asm.vector(v::LOAD, 8, 0, Rm::Full(mem(R12, 100)), 2, None), "62517c4a10842464000000"), // vmovups zmm8 {k2}, [r12 + 100]
        (|asm| asm.vector(v::STORE, 17, 0, Rm::Full(mem(R13, -128)), 0, None), "62c17c48114dfe"), // vmovups [r13 - 128], zmm17
        (|asm| asm.vector(v::SPLAT, 2, 0, Rm::Splat(mem(RBX, 424)), 0, None), "62f27d4818536a"), // vbroadcastss zmm2, dword ptr [rbx + 424]
        (|asm| asm.vector(v::PADDD, 20, 7, Rm::Splat(mem(RAX, 1024)), 1, None), "62e14559fea000040000"), // vpaddd zmm20 {k1}, zmm7, dword ptr [rax + 1024]{1to16}
        (|asm| asm.vector(v::CMPPS, 6, 19, Rm::Reg(3), 4, Some(3)), "62f16444c2f303"), // vcmpunordps k6 {k4}, zmm19, zmm3
        (|asm| asm.vector(v::PCMPUD, 7, 12, Rm::Reg(25), 1, Some(6)), "62931d491ef906"), // vpcmpnleud k7 {k1}, zmm12, zmm25
        (|asm| asm.vector(v::FMADD231PS, 14, 15, Rm::Reg(16), 1, None), "62320549b8f0"), // vfmadd231ps zmm14 {k1}, zmm15, zmm16
        (|asm| asm.vector(v::SHIFT_D, v::RIGHT_SIGNED, 21, Rm::Reg(22), 2, Some(5)), "62b1554272e605"), // vpsrad zmm21 {k2}, zmm22, 5
        (|asm| asm.vector(v::SHIFT_Q, v::LEFT, 6, Rm::Reg(28), 0, Some(32)), "6291cd4873f420"), // vpsllq zmm6, zmm28, 32
        (|asm| asm.vector(v::PERMI2D, 11, 4, Rm::Reg(5), 0, None), "62725d4876dd"), // vpermi2d zmm11, zmm4, zmm5
        (|asm| asm.vector(v::PTERNLOGD, 6, 18, Rm::Reg(9), 0, Some(0xca)), "62d36d4025f1ca"), // vpternlogd zmm6, zmm18, zmm9, 0xca
        (|asm| asm.vector(v::EXTRACT_HALF, 26, 0, Rm::Reg(4), 0, Some(1)), "6263fd481bd401"), // vextractf64x4 ymm4, zmm26, 1
        (|asm| asm.vector(v::INSERT_HALF, 6, 1, Rm::Reg(4), 0, Some(1)), "62f3f5481af401"), // vinsertf64x4 zmm6, zmm1, ymm4, 1
        (|asm| asm.vector(v::CVTPS2PD, 1, 0, Rm::Reg(26), 0, None), "62917c485aca"), // vcvtps2pd zmm1, ymm26
        (|asm| asm.vector(v::CVTPD2PS, 4, 0, Rm::Reg(4), 0, None), "62f1fd485ae4"), // vcvtpd2ps ymm4, zmm4
        (|asm| asm.vector(v::PMOVDW, 7, 0, Rm::Reg(7), 0, None), "62f27e4833ff"), // vpmovdw ymm7, zmm7
        (|asm| asm.vector(v::PTESTMD, 5, 27, Rm::Reg(9), 3, None), "62d2254327e9"), // vptestmd k5 {k3}, zmm27, zmm9
        (|asm| asm.vector(v::CVTPS2PH, 9, 0, Rm::Reg(22), 0, Some(0)), "62337d481dce00"), // vcvtps2ph ymm22, zmm9, 0
        (|asm| asm.vector(v::PMOVZXWD, 6, 0, Rm::Reg(7), 0, None), "62f27d4833f7"), // vpmovzxwd zmm6, ymm7
        (|asm| asm.vector(v::PMOVZXWD, 4, 0, Rm::Full(mem(RAX, 0)), 0, None), "62f27d48336000"), // {disp8} vpmovzxwd zmm4, ymmword ptr [rax + 0]
        (|asm| asm.vector(v::PMOVZXBD, 4, 0, Rm::Full(mem(RAX, 0)), 0, None), "62f27d48316000"), // {disp8} vpmovzxbd zmm4, xmmword ptr [rax + 0]
        (|asm| asm.vector(v::PMOVDW, 4, 0, Rm::Full(mem(RAX, 0)), 0, None), "62f27e48336000"), // {disp8} vpmovdw ymmword ptr [rax + 0], zmm4
        (|asm| asm.vector(v::PMOVDB, 4, 0, Rm::Full(mem(RAX, 0)), 0, None), "62f27e48316000"), // {disp8} vpmovdb xmmword ptr [rax + 0], zmm4
        (|asm| asm.vector(v::SPLAT_QUAD, 5, 0, Rm::Full(mem(RAX, 0)), 6, None), "62f27d4e1a6800"), // {disp8} vbroadcastf32x4 zmm5 {k6}, [rax + 0]
        (|asm| asm.vector(v::PSHUFB, 6, 20, Rm::Reg(6), 0, None), "62f25d4000f6"), // vpshufb zmm6, zmm20, zmm6
        (|asm| asm.vector(v::UNPCKLPS, 2, 3, Rm::Reg(6), 0, None), "62f1644814d6"), // vunpcklps zmm2, zmm3, zmm6
        (|asm| asm.vector(v::UNPCKHPS, 2, 3, Rm::Reg(26), 0, None), "6291644815d2"), // vunpckhps zmm2, zmm3, zmm26
        (|asm| asm.vector(v::SHUFPS, 30, 6, Rm::Reg(7), 4, Some(0x88)), "62614c4cc6f788"), // vshufps zmm30 {k4}, zmm6, zmm7, 0x88
        (|asm| asm.vector(v::FMADD231PD, 6, 0, Rm::Reg(2), 0, None), "62f2fd48b8f2"), // vfmadd231pd zmm6, zmm0, zmm2
        (|asm| asm.vector(v::FMADD231PS, 9, 24, Rm::Splat(mem(R13, 1028)), 0, None), "62523d50b88d04040000"), // vfmadd231ps zmm9, zmm24, dword ptr [r13 + 1028]{1to16}
        (|asm| asm.vector(v::SHIFT_D, v::RIGHT, 24, Rm::Full(mem(R12, 192)), 0, Some(16)), "62d13d407254240310"), // vpsrld zmm24, zmmword ptr [r12 + 192], 16
        (|asm| asm.store_part(mem(RDX, 2), RAX, 2), "66894202"), // mov word ptr [rdx + 2], ax
        (|asm| asm.store_part(mem(RDX, 2), RAX, 1), "884202"), // mov byte ptr [rdx + 2], al
        (|asm| asm.vector(v::SPLAT_GENERAL, 7, 0, Rm::Reg(RDX.0), 0, None), "62f27d487cfa"), // vpbroadcastd zmm7, edx
        (|asm| asm.vector(v::SPLAT_FIRST, 7, 0, Rm::Reg(3), 0, None), "62f27d4858fb"), // vpbroadcastd zmm7, xmm3
        (|asm| asm.lanes_memory(false, 27, (RSI, 1), 1028, 6), "62627d4e909c0e04040000"), // vpgatherdd zmm27 {k6}, [rsi + zmm1 + 1028]
        (|asm| asm.lanes_memory(true, 9, (RSI, 2), 1028, 6), "62727d4ea08c1604040000"), // vpscatterdd [rsi + zmm2 + 1028] {k6}, zmm9
        (|asm| asm.first_lane(RAX, 3), "c5f97ed8"), // vmovd eax, xmm3
        (|asm| asm.load_mask(2, mem(RBX, 506)), "c4e1789093fa010000"), // {vex3} kmovw k2, word ptr [rbx + 506]
        (|asm| asm.store_mask(mem(RBX, 424), 5), "c4e1f991aba8010000"), // {vex3} kmovd dword ptr [rbx + 424], k5
        (|asm| asm.mask_of(7, RCX), "c4e17892f9"), // {vex3} kmovw k7, ecx
        (|asm| asm.unpack_masks(5, 6, 5), "c4e14c4bed"), // {vex3} kunpckwd k5, k6, k5
        (|asm| asm.or_masks(6, 1, 2), "c4e17445f2"), // {vex3} korw k6, k1, k2
        (|asm| asm.test_masks(5, 6), "c4e17898ee"), // {vex3} kortestw k5, k6
        (|asm| asm.load(true, R14, mem(R13, 24)), "4d8b7518"), // mov r14, qword ptr [r13 + 24]
        (|asm| asm.load_part(RAX, mem(RAX, 2), 2, true), "0fbf4002"), // movsx eax, word ptr [rax + 2]
        (|asm| asm.load_indexed(RAX, R12, RAX, 0x80), "418b848480000000"), // mov eax, dword ptr [r12 + 4*rax + 0x80]
        (|asm| asm.alu_constant(true, Alu::Sub, R14, 1000), "4981eee8030000"), // sub r14, 1000
        (|asm| asm.alu_memory(true, Alu::Sub, RAX, mem(R15, 48)), "492b4730"), // sub rax, qword ptr [r15 + 48]
        (|asm| asm.compare_memory(false, mem(RBX, 424), 0), "83bba801000000"), // cmp dword ptr [rbx + 424], 0
        (|asm| asm.shift(true, Shift::RightSigned, RAX), "48d3f8"), // sar rax, cl
        (|asm| asm.trailing_zeros(true, RAX, RAX), "f3480fbcc0"), // tzcnt rax, rax
        (|asm| asm.move_if(true, If::Negative, RDX, RSI), "480f48d6"), // cmovs rdx, rsi
        (|asm| asm.set_byte(If::Below, mem(RBP, 0)), "0f924500"), // setb byte ptr [rbp + 0]
        (|asm| asm.test_bit(false, RAX, RCX), "0fa3c8"), // bt eax, ecx
        (|asm| asm.negate(RDX), "48f7da"), // neg rdx
        (|asm| asm.call_memory(mem(R13, 64)), "41ff5540"), // call qword ptr [r13 + 64]
        (|asm| asm.jump_register(RSI), "ffe6"), // jmp rsi
        (|asm| asm.push(R15), "4157"), // push r15
];

#[test]
fn instructions_are_encoded_as_llvm_encodes_them() {
    for (row, (write, want)) in ROWS.iter().enumerate() {
        let mut asm = Asm::default();
        write(&mut asm);
        let got: String = asm.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(got, *want, "row {row}");
    }
}

#[test]
fn jumps_and_constants_are_reached_by_their_distance() {
    let mut asm = Asm::default();
    let (start, end) = (asm.label(), asm.label());
    asm.bind(start);
    asm.jump(end);
    asm.vector(v::PADDD, 1, 2, Rm::Const(7), 0, None);
    asm.jump_if(If::Equal, start);
    asm.bind(end);
    asm.ret();
    let bytes = asm.finish().expect("both labels are bound");
    // Over the ten bytes of the addition and the six of the jump back; the constant is after 64 bytes.
    assert_eq!(bytes[..5], [0xe9, 16, 0, 0, 0]);
    assert_eq!(bytes[11..15], (64_i32 - 15).to_le_bytes());
    assert_eq!(bytes[15..21], [0x0f, 0x84, 0xeb, 0xff, 0xff, 0xff]);
    assert_eq!(bytes[64..], [7, 0, 0, 0]);
    let mut asm = Asm::default();
    let nowhere = asm.label();
    asm.jump(nowhere);
    assert_eq!(asm.finish(), None);
}
