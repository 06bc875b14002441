//! What costs time on a card, counted: wave-instructions by unit, requests and the cache lines that they touch, LDS cycles,
//! active lanes, barriers. And what a kernel leaves of a SIMD for other waves.
//!
//! A launch counts with [`crate::LaunchOptions::count`]; without, the executor has no code for it. Every counter is a sum over
//! waves or workgroups, so that it does not depend on the number of host threads. No counter is a time: what the units of a card
//! do at once, and for how long each waits, is not modelled.
//!
//! Sources, by name:
//! - line sizes of the vector cache: "RDNA" white paper (128 bytes), "AMD CDNA 2" white paper (64 bytes), "AMD CDNA 3" white
//!   paper (128 bytes). Lines of the scalar cache have 64 bytes in all of them;
//! - banks of the LDS: "RDNA3 Instruction Set Architecture", chapter "Data Share Operations" (64 banks of dwords a work-group
//!   processor, 32 for each pair of SIMDs), "AMD Instinct MI300 Instruction Set Architecture", the same chapter (32 banks of
//!   dwords), and Composable Kernel's "Understanding AMD GPU LDS and Bank Conflicts" for the phases of wide accesses;
//! - rates of matrix instructions: GPUOpen, "How to accelerate AI applications on RDNA 3 using WMMA", and the tables of
//!   operations a clock and compute unit in the two CDNA white papers; of RDNA4, the peaks on the product pages.

mod occupancy;
mod tally;

pub use occupancy::{Limit, Resources};
pub(crate) use tally::{Tally, Total};

use crate::isa::{
    Control, Element, Inst, Isa, Op, Space, Unit, matrix_products, reaching_out, registers_alone,
};

/// Banks of the LDS that serve a wave, each of one dword a clock.
pub(crate) const BANKS: u64 = 32;

/// Bytes of a line of the scalar cache.
pub(crate) const SCALAR_LINE: u64 = 64;

/// Bytes of a line of a target's vector cache. None of a target that is not executed.
pub(crate) fn vector_line(isa: Isa) -> u64 {
    match isa {
        Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 | Isa::Gfx125 | Isa::Cdna3 | Isa::Cdna4 => 128,
        Isa::Cdna2 => 64,
    }
}

macro_rules! counters {
    ($($name:ident: $unit:literal, $meaning:literal;)*) => {
        /// What a launch did, in numbers that do not depend on time.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $(#[doc = concat!($meaning, " Unit: ", $unit, ".")] pub $name: u64,)*
        }

        impl Counters {
            /// Every counter: its name, its unit and what it counts.
            pub const ALL: &[(&str, &str, &str)] = &[$((stringify!($name), $unit, $meaning)),*];

            /// Every counter with its value, in the order of [`Counters::ALL`].
            pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }

        impl std::ops::AddAssign<&Counters> for Counters {
            fn add_assign(&mut self, other: &Counters) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    workgroups: "workgroups", "Workgroups that ran.";
    waves: "waves", "Waves that ran.";
    work_items: "work-items", "Work-items that ran.";
    valu: "wave-instructions", "Vector arithmetic at the full rate; a dual instruction counts once.";
    transcendental: "wave-instructions", "Exponential, logarithm, reciprocal, root, sine and cosine in 16 or 32 bits.";
    multiply: "wave-instructions", "Products of 32-bit integers: `v_mul_lo_u32`, `v_mul_hi_*`, `v_mad_u64_u32`, `v_mad_i64_i32`.";
    double: "wave-instructions", "Vector arithmetic with an operand of 64-bit floating point.";
    matrix: "wave-instructions", "Matrix instructions: WMMA, MFMA, SMFMAC.";
    salu: "wave-instructions", "Scalar arithmetic, and reads and writes of a wave's state.";
    branch: "wave-instructions", "Branches, calls, messages and the end of the program.";
    wait: "wave-instructions", "Waits, delays, priorities and hints: `s_waitcnt`, `s_delay_alu`, `s_nop`.";
    barrier: "wave-instructions", "`s_barrier`.";
    smem: "wave-instructions", "Scalar loads, stores and atomics.";
    vmem_load: "requests", "Vector loads from device or private memory, a request a wave-instruction.";
    vmem_store: "requests", "Vector stores to device or private memory.";
    vmem_atomic: "requests", "Vector read-modify-writes of device or private memory.";
    lds: "wave-instructions", "LDS loads, stores, atomics and exchanges between lanes.";
    active_lanes: "lanes", "Active lanes of vector arithmetic but matrix instructions.";
    lane_slots: "lanes", "Lanes of the waves that executed it, active or not.";
    matrix_cycles: "clocks of a SIMD", "What matrix instructions take at the card's rate of multiplications.";
    smem_bytes: "bytes", "Bytes of scalar memory operations.";
    smem_lines: "lines of 64 bytes", "Lines of the scalar cache that each of them touches.";
    lane_bytes: "bytes", "Bytes that active lanes load from, store to or change in device memory, each lane's by itself.";
    useful_bytes: "bytes", "Bytes of device memory that a request names, each once however many lanes name it.";
    lines: "lines", "Lines of the vector cache that a request touches, summed over requests.";
    group_lines: "lines", "Lines that a workgroup touches, each once, summed over workgroups: what a cache that loses nothing would fetch for each.";
    launch_lines: "lines", "Lines that a launch touches, each once: what must come from device memory or go there.";
    scratch_bytes: "bytes", "Bytes of private memory that active lanes load or store.";
    lds_bytes: "bytes", "Bytes of LDS that active lanes load, store or change.";
    lds_cycles: "clocks of an LDS", "What accesses take when each bank serves one dword a clock.";
    lds_conflicts: "clocks of an LDS", "Those of them that are there because lanes name other dwords of the same bank.";
}

/// The unit that an instruction is issued to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Valu,
    Transcendental,
    Multiply,
    Double,
    Matrix,
    Salu,
    Branch,
    Wait,
    Barrier,
    Smem,
    Vmem,
    Lds,
}

impl Class {
    /// Of an operation that `unit` executes, of memory in `space`.
    pub(crate) fn of(op: Op, unit: Unit, space: Space) -> Class {
        match unit {
            Unit::Lane | Unit::Compare | Unit::Vector => Class::of_vector(op),
            Unit::MoveRelative(_) | Unit::SwapRelative => Class::Valu,
            matrix_products!() => Class::Matrix,
            Unit::Scalar => Class::Salu,
            Unit::Control(control) => match control {
                Control::Wait => Class::Wait,
                Control::Barrier | Control::BarrierSignal | Control::BarrierWait => Class::Barrier,
                Control::Branch(_)
                | Control::End
                | Control::Message
                | Control::MessageReturn(_)
                | Control::Trap
                | Control::Halt
                | Control::SetPc
                | Control::SwapPc
                | Control::Call => Class::Branch,
                Control::RoundMode
                | Control::DenormMode
                | Control::GetRegister
                | Control::SetRegister
                | Control::GetPc
                | Control::MoveRelative(..)
                | Control::Time
                | Control::IndexOn
                | Control::IndexValue
                | Control::IndexMode
                | Control::IndexOff => Class::Salu,
            },
            Unit::ScalarMemory(_) => Class::Smem,
            Unit::Share(_) => Class::Lds,
            Unit::Memory(_) | Unit::Atomic(_) if space == Space::Lds => Class::Lds,
            Unit::Memory(_) | Unit::Atomic(_) => Class::Vmem,
            // It faults before it counts.
            Unit::Unsupported => Class::Branch,
        }
    }

    fn of_vector(op: Op) -> Class {
        let signature = op.signature();
        let wide = |kind: &crate::isa::Kind| *kind == crate::isa::Kind::F64;
        if wide(&signature.dst) || signature.src.iter().any(wide) {
            return Class::Double;
        }
        match op {
            Op::MulLoU32 | Op::MulHiU32 | Op::MulHiI32 | Op::MadU64U32 | Op::MadI64I32 => Class::Multiply,
            Op::ExpF16
            | Op::LogF16
            | Op::RcpF16
            | Op::RsqF16
            | Op::SqrtF16
            | Op::SinF16
            | Op::CosF16
            | Op::ExpF32
            | Op::LogF32
            | Op::RcpF32
            | Op::RsqF32
            | Op::SqrtF32
            | Op::SinF32
            | Op::CosF32 => Class::Transcendental,
            _ => Class::Valu,
        }
    }
}

/// Clocks that a matrix instruction takes of its SIMD: multiplications over those of a clock. A compute unit has two SIMDs on RDNA,
/// four on CDNA; a multiplication and its addition are two operations of the white papers' tables.
pub(crate) fn matrix_cycles(inst: &Inst) -> u64 {
    let (multiplications, element) = match inst.unit {
        Unit::Wmma(wmma) => (16 * 16 * 16, wmma.element),
        Unit::Tiles(tiles) => (16 * 16 * u64::from(tiles.depth), tiles.a),
        Unit::Mfma(mfma) => {
            let [size, depth, blocks] = [mfma.size, mfma.depth, mfma.blocks].map(u64::from);
            (size * size * depth * blocks, mfma.a)
        }
        // Half of the products are with zeros that are left out.
        Unit::Smfmac(smfmac) => {
            let [size, depth] = [smfmac.size, smfmac.depth].map(u64::from);
            (size * size * depth / 2, smfmac.a)
        }
        Unit::SparseTiles(tiles) => (16 * 16 * u64::from(tiles.depth) / 2, tiles.a),
        registers_alone!() | Unit::Control(_) | Unit::Unsupported | reaching_out!() => return 0,
    };
    let column = match element {
        Element::F64 => 0,
        Element::F32 => 1,
        Element::Xf32 => 2,
        Element::F16 | Element::Bf16 => 3,
        Element::Fp8 | Element::Bf8 | Element::I8 => 4,
        Element::Fp6 | Element::Bf6 | Element::Fp4 => 5,
        Element::I4 => 6,
    };
    let each: [u64; 7] = match inst.isa {
        // It has no matrix instructions.
        Isa::Rdna2 => return 0,
        Isa::Rdna3 | Isa::Rdna35 => [128, 128, 128, 128, 128, 128, 256],
        // Twice RDNA3's rate in 16 bits, and as much again in each step down.
        Isa::Rdna4 => [256, 256, 256, 256, 512, 1024, 1024],
        Isa::Cdna2 => [32, 32, 32, 128, 128, 128, 128],
        Isa::Cdna3 => [32, 32, 128, 256, 512, 512, 512],
        // Twice CDNA3's rate in 16 bits and below, and as much again in six bits and four. None of gfx1250's are published; they are taken to be
        // the same.
        Isa::Cdna4 | Isa::Gfx125 => [16, 32, 512, 512, 1024, 2048, 1024],
    };
    multiplications.div_ceil(each[column])
}
