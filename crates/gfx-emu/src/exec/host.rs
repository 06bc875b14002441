//! What the host's processor offers: the executor is compiled for the baseline and, on x86-64, once more for AVX2 and FMA.
//!
//! A wave's row of lanes is an array, and the compiler makes vector code of the loops over it; how wide is decided here,
//! when a wave is run. Results are the same bits on every host: only operations that IEEE 754 rounds once are used, and a
//! fused multiply-add is one whether an instruction or [`crate::fp`] computes it.

use crate::fp::{F32, FloatFormat as _};

/// A kind of host that lane loops are compiled for.
pub(super) trait Host: Copy + 'static {
    /// The host has a fused multiply-add instruction.
    const FUSES: bool;
    /// Lane loops are compiled once for each combination of operand kinds instead of once for each operation: small and
    /// slow. For a fallback that hardly any machine takes.
    const COMPACT: bool;

    /// `a * b + c` of eight numbers, each rounded once. Where loops over columns lie in loops over steps the compiler keeps the sums in
    /// registers one by one, unless they are vectors from the beginning.
    fn fused(self, a: f32, b: [f32; 8], c: [f32; 8]) -> [f32; 8];

    /// Calls `f`, compiled for this host as far as it is inlined.
    fn run<R>(self, f: impl FnOnce() -> R) -> R;
}

/// Any host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Host for Portable {
    const FUSES: bool = false;
    // Every x86-64 of the last ten years is a `Wide`; elsewhere the baseline has vectors of its own.
    const COMPACT: bool = cfg!(target_arch = "x86_64");

    #[inline(always)]
    fn fused(self, a: f32, b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| F32::fused(false, a, b[i], c[i]))
    }

    #[inline(always)]
    fn run<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// An x86-64 with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide(pulp::x86::V3);

#[cfg(target_arch = "x86_64")]
impl Wide {
    /// `None` when this host does not have these instructions.
    #[inline]
    pub(super) fn detect() -> Option<Wide> {
        pulp::x86::V3::try_new().map(Wide)
    }
}

#[cfg(target_arch = "x86_64")]
impl Host for Wide {
    const FUSES: bool = true;
    const COMPACT: bool = false;

    #[inline(always)]
    fn fused(self, a: f32, b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        let a = self.0.splat_f32x8(a);
        pulp::cast(self.0.mul_add_f32x8(a, pulp::cast(b), pulp::cast(c)))
    }

    #[inline(always)]
    fn run<R>(self, f: impl FnOnce() -> R) -> R {
        struct Nullary<F>(F);
        impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Nullary<F> {
            type Output = R;

            #[inline(always)]
            fn call(self) -> R {
                self.0()
            }
        }
        self.0.vectorize(Nullary(f))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::Target;
    use crate::exec::jit::Compiling;
    use crate::exec::{random::Random, run_on};
    use crate::isa::Program;
    use crate::memory::Memory;
    use crate::wave::{Group, Row, Wave, reg};

    /// Fused sums of every width, an exponential, a comparison.
    const CODE: [u32; 10] = [
        0xd613_0005, // v_fma_f32 v5, v1, v2, v3
        0x040e_0501,
        0x7e0c_4b01, // v_exp_f32 v6, v1
        0xd614_0008, // v_fma_f64 v[8:9], v[1:2], v[3:4], v[11:12]
        0x042e_0701,
        0x7c22_0501, // v_cmp_lt_f32 vcc_lo, v1, v2
        0xcc0e_400a, // v_pk_fma_f16 v10, v1, v2, v3
        0x1c0e_0501,
        0xbfb0_0000, // s_endpgm
        0xbfb0_0000,
    ];

    /// The registers after the code ran on registers full of every kind of number.
    #[expect(
        clippy::unwrap_used,
        reason = "a test that cannot go on should stop where it stands"
    )]
    fn after(host: impl Host, seed: u64) -> (Vec<Row<32>>, u32) {
        let code: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
        let program = Program::of_text(Target::Gfx1100, 32, &code).unwrap();
        let memory = Memory::new(0);
        let mut group = Group::new(&memory, Compiling::Off);
        let mut wave = Wave::<32>::new(16);
        let mut random = Random(seed);
        for lane in wave.vgpr.iter_mut().flat_map(|row| &mut row.0) {
            *lane = random.word();
        }
        run_on::<_, 32, false>(host, &mut wave, &program, &mut group, &mut 100).unwrap();
        (wave.vgpr, wave.sgpr[reg::VCC])
    }

    #[test]
    fn every_host_computes_the_same_bits() {
        let Some(wide) = Wide::detect() else {
            return;
        };
        for seed in 0..1000 {
            assert_eq!(after(Portable, seed), after(wide, seed), "seed {seed}");
        }
        assert_ne!(after(wide, 0), after(wide, 1));
    }
}
