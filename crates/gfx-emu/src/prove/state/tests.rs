//! What is known at the entry of kernels, and of products of work-items.

use super::*;
use crate::code::{BARE_KERNEL, CodeObject, Kernel};
use crate::target::Target;

/// A kernel that ends, for workgroups of so many work-items at most.
fn kernel(most: u32) -> Kernel {
    let end = 0xbfb0_0000_u32.to_le_bytes();
    let code = CodeObject::bare(Target::Gfx1100, &end, 0, 0, 0).unwrap();
    let mut kernel = code.kernel(BARE_KERNEL).unwrap().with_program(None);
    kernel.max_workgroup_size = most;
    kernel
}

#[test]
fn work_item_ids_are_below_what_the_kernel_is_made_for() {
    for most in [1, 32, 96, 256, 1024] {
        let entry = State::at_entry(&Launches::any(&kernel(most)), Isa::Rdna3, 4, 32);
        let ids = entry.vector(0);
        let holds = |number: u64| ids.lo <= number && number <= ids.hi && number & ids.zeros == 0;
        let last = u64::from(most) - 1;
        for id in [0, last / 2, last] {
            assert!(
                holds(id) && holds(id << 10 | id) && holds(id << 20 | id << 10 | id),
                "{id} of {most}"
            );
        }
        // What such a kernel is launched with in no case, and another is.
        let beyond = u64::from(most.next_power_of_two());
        assert!(beyond > 1023 || !holds(beyond) && !holds(beyond << 20), "{most}");
    }
    assert!(
        State::at_entry(&Launches::any(&kernel(1024)), Isa::Rdna3, 4, 32)
            .vector(0)
            .zeros
            & 0x3fff_ffff
            == 0
    );
}

/// Loads the numbers of work-items, puts the address of the number of workgroups together and loads that, and multiplies them in pairs:
/// `s_mul_hi_u32 s9, s7, s6`, `s_mul_i32 s10, s6, s7`, `s_mul_i32 s11, s2, s7`, `s_mul_i32 s12, s2, s8`, `s_mul_i32 s13, s2, s6`,
/// `s_mul_i32 s14, s3, s6`, and `s_mul_i32 s15, s2, s7` of another `s7`.
const PRODUCTS: &[u32] = &[
    0xf400_00c0,
    0xf800_0014,
    0x8004_8800,
    0x8205_8001,
    0xf400_0182,
    0xf800_0000,
    0x8b07_ff03,
    0x0000_ffff,
    0x8508_9003,
    0x9689_0607,
    0x960a_0706,
    0x960b_0702,
    0x960c_0802,
    0x960d_0602,
    0x960e_0603,
    0xbe87_000c,
    0x960f_0702,
    0xbfb0_0000,
];

#[test]
fn workgroups_times_work_items_of_each_are_few_and_other_products_are_not() {
    // The number of the workgroup is in s2.
    let rsrc2 = 2 << 1 | 1 << 7;
    let code: Vec<u8> = PRODUCTS.iter().flat_map(|word| word.to_le_bytes()).collect();
    let code = CodeObject::bare(Target::Gfx1100, &code, rsrc2, 0, 24).unwrap();
    let mut kernel = code.kernel(BARE_KERNEL).unwrap().with_program(None);
    let arg = |offset, size, kind| code_object::Arg {
        name: None,
        offset,
        size,
        kind,
    };
    kernel.args = vec![
        arg(8, 4, code_object::ArgKind::HiddenBlockCount(0)),
        arg(20, 2, code_object::ArgKind::HiddenGroupSize(0)),
        arg(22, 2, code_object::ArgKind::HiddenGroupSize(1)),
    ];
    let program = code.program(&kernel).unwrap();
    let products = |launches: &Launches<'_>| {
        let mut state = State::at_entry(launches, Isa::Rdna3, 4, 32);
        for inst in program.insts() {
            state.step(inst, launches);
        }
        [9, 10, 11, 12, 13, 14, 15].map(|n| state.scalar(n).hi)
    };
    let (few, any) = (low(31), low(32));
    let small = products(&Launches::small(&kernel));
    assert_eq!(small, [0, few, few, any, any, any, any]);
    let all = products(&Launches::any(&kernel));
    assert!(all[0] > 0 && all[1..] == [any; 6], "{all:x?}");
}
