//! Broken input of every kind: mutated code objects, words at random, programs of random instructions, machine code with random
//! launches. Nothing may panic or go on for ever; whatever happens is a value: a refusal, a fault, an end.
//!
//! The numbers are the same in every run. `GFX_FUZZ_SEED` and `GFX_FUZZ_ROUNDS` ask for others; `ci/fuzz-emu` goes on with new
//! ones for as long as it is told. The emulator is safe Rust throughout, so that what does not panic stays inside its memory.

// `cfg(test)` is always set here; it tells clippy that these are tests, where `unwrap` is allowed.
#[cfg(test)]
#[path = "launch_kernels/compile.rs"]
mod compile;
#[cfg(test)]
#[path = "launch_kernels/numbers.rs"]
mod numbers;

#[cfg(test)]
mod fuzz {
    use std::collections::BTreeMap;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::LazyLock;

    use gfx_emu::{
        BARE_KERNEL, CodeObject, Dispatch, LaunchError, LaunchOptions, Memory, Probe, Probe64, Target,
        WaveProbe, disassemble, launch,
    };

    use crate::compile::compile;
    use crate::numbers::Numbers;

    /// A kernel with loops, LDS, scratch, divisions, atomics and constants.
    const SOURCE: &str = r#"
    #define __global__ __attribute__((global))
    extern "C" __global__ void everything(float* x, double* d, int* n, unsigned long long* q, int count) {
        __attribute__((shared)) static float tile[64];
        unsigned i = __builtin_amdgcn_workitem_id_x();
        float rows[17];
        for (int k = 0; k < 17; ++k) rows[k] = x[k];
        for (int k = 0; k < (count & 15); ++k) {
            d[k] = d[k] / (d[k + 1] + 1.0) + (double)q[k];
            q[k] = q[k] / (q[k + 1] | 1);
        }
        tile[i & 63] = rows[n[i & 7] & 15];
        __builtin_amdgcn_s_barrier();
        __hip_atomic_fetch_add(n, (int)tile[63 - (i & 63)], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
    extern "C" __global__ void nothing(int) {}
    "#;

    /// The cards that clang 19 compiles for.
    fn targets() -> Vec<Target> {
        let all = Target::EXECUTABLE.into_iter();
        all.filter(|target| !matches!(target, Target::Gfx950 | Target::Gfx1250))
            .collect()
    }

    /// A code object of each.
    static OBJECTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let object = |target: Target| compile("fuzz", &target.to_string(), SOURCE, &["-w", "-O1", "-g"]);
        targets().into_iter().map(object).collect()
    });

    impl Numbers {
        fn below(&mut self, limit: usize) -> usize {
            (self.next() % limit.max(1) as u64) as usize
        }
    }

    fn asked(variable: &str, otherwise: u64) -> u64 {
        std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
    }

    /// Runs `body` for each round with its own numbers. A panic names the round, which can be run again alone.
    #[track_caller]
    fn rounds(
        otherwise: u64,
        body: impl Fn(&mut Numbers, &mut BTreeMap<&'static str, u64>),
    ) -> BTreeMap<&'static str, u64> {
        let seed = asked("GFX_FUZZ_SEED", 1);
        let mut outcomes = BTreeMap::new();
        for round in 0..asked("GFX_FUZZ_ROUNDS", otherwise) {
            let mut numbers = Numbers(seed.wrapping_mul(0x1_0000_0001).wrapping_add(round));
            let result = catch_unwind(AssertUnwindSafe(|| body(&mut numbers, &mut outcomes)));
            assert!(result.is_ok(), "seed {seed}, round {round}: it panicked");
        }
        outcomes
    }

    fn mutate(bytes: &mut Vec<u8>, region: std::ops::Range<usize>, numbers: &mut Numbers) {
        for _ in 0..=numbers.below(8) {
            let at = region.start + numbers.below(region.len());
            let other = bytes.get(region.start + numbers.below(region.len())).copied();
            let Some(byte) = bytes.get_mut(at) else { continue };
            match numbers.below(4) {
                0 => *byte ^= 1 << numbers.below(8),
                1 => *byte = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)],
                2 => *byte = numbers.next() as u8,
                _ => *byte = other.unwrap_or_default(),
            }
        }
        if numbers.below(20) == 0 {
            bytes.truncate(numbers.below(bytes.len()));
        }
    }

    fn name(result: &Result<gfx_emu::LaunchStats, LaunchError>) -> &'static str {
        match result {
            Ok(_) => "ended",
            Err(LaunchError::Fault(_)) => "faulted",
            Err(_) => "refused",
        }
    }

    /// Launches each kernel of a code object with arguments of the right size.
    fn launch_all(code: &CodeObject, numbers: &mut Numbers, outcomes: &mut BTreeMap<&'static str, u64>) {
        let mut memory = Memory::new(1 << 29);
        memory.track_writes();
        let Ok(placement) = code.place(&mut memory) else {
            return;
        };
        let buffer = memory.alloc(4096).unwrap();
        memory.fill(buffer, &[1, 0, 0, 0], 1024).unwrap();
        for kernel in code.kernels() {
            let size = kernel.explicit_kernarg_size() as usize;
            let mut kernarg: Vec<u8> = buffer.to_le_bytes().into_iter().cycle().take(size).collect();
            if let Some(last) = kernarg.last_mut() {
                *last = 0;
            }
            let dispatch = Dispatch {
                kernel,
                placement,
                grid: [2, 1, 1],
                block: [[1, 64, 100][numbers.below(3)], 1, 1],
                dynamic_lds: 0,
                kernarg: &kernarg,
            };
            let options = LaunchOptions {
                max_wave_instructions: 20_000,
                sanitize: numbers.below(2) == 0,
                ..LaunchOptions::default()
            };
            let result = launch(code, &dispatch, &memory, &options);
            *outcomes.entry(name(&result)).or_default() += 1;
            if let Err(error) = result {
                assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn mutated_code_objects_are_refused_or_run() {
        let outcomes = rounds(300, |numbers, outcomes| {
            let mut file = OBJECTS[numbers.below(OBJECTS.len())].clone();
            let note = file
                .windows(14)
                .position(|text| text == b"amdhsa.kernels")
                .unwrap();
            let code = file.len() / 2;
            // Anywhere, in the headers, around the metadata, in the middle, where the code is.
            let region = match numbers.below(4) {
                0 => 0..file.len(),
                1 => 0..0x300,
                2 => note.saturating_sub(600)..note + 600,
                _ => code - 1024..code + 1024,
            };
            mutate(&mut file, region, numbers);
            match CodeObject::load(&file) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    *outcomes.entry("not loaded").or_default() += 1;
                }
                Ok(code) => launch_all(&code, numbers, outcomes),
            }
        });
        // Mutations get past the loader, and not all of them end well.
        for outcome in ["not loaded", "ended"] {
            assert!(outcomes.get(outcome).copied() > Some(10), "{outcomes:?}");
        }
    }

    #[test]
    fn words_at_random_are_an_instruction_or_an_error() {
        let outcomes = rounds(40_000, |numbers, outcomes| {
            let bytes: Vec<u8> = (0..2).flat_map(|_| numbers.next().to_le_bytes()).collect();
            let bytes = &bytes[..numbers.below(17)];
            for target in targets() {
                let outcome = match disassemble(target, bytes) {
                    Ok((text, size)) => {
                        assert!(!text.is_empty() && size <= bytes.len() && size % 4 == 0);
                        "read"
                    }
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        "not read"
                    }
                };
                *outcomes.entry(outcome).or_default() += 1;
            }
        });
        assert!(outcomes.values().all(|count| *count > 1000), "{outcomes:?}");
    }

    /// Random instructions that the decoder takes, then an end.
    fn program(target: Target, count: usize, numbers: &mut Numbers) -> Vec<u8> {
        let mut code = Vec::new();
        for _ in 0..count {
            // The upper bits select the format: words at random are mostly of a few.
            let words = [
                numbers.next() as u32,
                numbers.next() as u32,
                numbers.next() as u32,
            ];
            let first = match numbers.below(3) {
                0 => words[0],
                1 => words[0] >> 1 & 0x7fff_ffff,
                _ => {
                    words[0] & 0x03ff_ffff
                        | [
                            0b110100, 0b110101, 0b110110, 0b110111, 0b111000, 0b110011, 0b111101, 0b110000,
                        ][numbers.below(8)]
                            << 26
                }
            };
            let bytes: Vec<u8> = [first, words[1], words[2]]
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            if let Ok((_, size)) = disassemble(target, &bytes) {
                code.extend(&bytes[..size]);
            }
        }
        let end: u32 = if target.lanes() == 32 {
            0xbfb0_0000
        } else {
            0xbf81_0000
        };
        // Branches go a little beyond.
        (0..16).for_each(|_| code.extend(end.to_le_bytes()));
        code
    }

    fn run<const W: usize>(target: Target, code: &[u8], numbers: &mut Numbers) -> &'static str {
        let Ok(mut probe) = WaveProbe::<W>::new(target, code) else {
            return "refused";
        };
        let mut memory = Memory::new(1 << 16);
        let base = memory.alloc(4096).unwrap();
        probe.set_lds(1024);
        probe.set_scratch(256);
        for register in 0..48 {
            let value = match numbers.below(3) {
                0 => (base as u32).wrapping_add((numbers.next() & 0xff0) as u32),
                1 => (numbers.next() & 0x3ff) as u32,
                _ => numbers.next() as u32,
            };
            probe.set_sgpr(register, value);
            for lane in 0..W {
                let value = if numbers.below(2) == 0 {
                    numbers.next() & 0x3fc
                } else {
                    numbers.next()
                };
                probe.set_vgpr(u16::from(register), lane, value as u32);
            }
        }
        match probe.run(&memory) {
            Ok(_) => "ended",
            Err(fault) => {
                assert!(!fault.to_string().is_empty());
                "faulted"
            }
        }
    }

    #[test]
    fn programs_of_random_instructions_end_or_fault() {
        let outcomes = rounds(3_000, |numbers, outcomes| {
            let target = targets()[numbers.below(targets().len())];
            let count = 1 + numbers.below(12);
            let code = program(target, count, numbers);
            let outcome = match target.lanes() {
                Probe::LANES => run::<{ Probe::LANES }>(target, &code, numbers),
                _ => run::<{ Probe64::LANES }>(target, &code, numbers),
            };
            *outcomes.entry(outcome).or_default() += 1;
        });
        for outcome in ["ended", "faulted"] {
            assert!(outcomes.get(outcome).copied() > Some(100), "{outcomes:?}");
        }
    }

    #[test]
    fn random_machine_code_with_random_launches_ends_faults_or_is_refused() {
        let outcomes = rounds(1_000, |numbers, outcomes| {
            let target = targets()[numbers.below(targets().len())];
            let code = program(target, 1 + numbers.below(6), numbers);
            let kernarg = vec![0; numbers.below(64)];
            let rsrc2 = numbers.next() as u32
                & if numbers.below(2) == 0 {
                    0x003f_83ff
                } else {
                    u32::MAX
                };
            let scratch = [0, 16, 1000][numbers.below(3)];
            let object = CodeObject::bare(target, &code, rsrc2 | 4, scratch, kernarg.len() as u32).unwrap();
            let mut memory = Memory::new(1 << 20);
            let placement = object.place(&mut memory).unwrap();
            let sizes: [u32; 5] =
                std::array::from_fn(|_| [1, 1, 1, 2, 2, 3, 3, 30, 40, 0][numbers.below(10)]);
            let [x, y, z, width, depth] = sizes;
            let dispatch = Dispatch {
                kernel: object.kernel(BARE_KERNEL).unwrap(),
                placement,
                grid: [x, y, z].map(|n| n.min(3)),
                block: [width, 1, depth],
                dynamic_lds: [0, 0, 1000, 80_000][numbers.below(4)],
                kernarg: &kernarg,
            };
            let options = LaunchOptions {
                max_wave_instructions: 5_000,
                sanitize: numbers.below(2) == 0,
                ..LaunchOptions::default()
            };
            let result = launch(&object, &dispatch, &memory, &options);
            *outcomes.entry(name(&result)).or_default() += 1;
        });
        for outcome in ["ended", "faulted", "refused"] {
            assert!(outcomes.get(outcome).copied() > Some(10), "{outcomes:?}");
        }
    }
}
