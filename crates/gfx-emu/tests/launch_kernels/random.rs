//! Random functions, compiled for the host and for cards at every level of optimisation: all must compute the same bits.
//!
//! A small part runs with all tests. `ci/random-programs` asks for more, by `GFX_RANDOM_COUNT` and `GFX_RANDOM_SEED`.

mod expression;
mod program;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use gfx_emu::{Compiling, Flip, LaunchOptions, Target};

use crate::compile::WAVE64;
use crate::support::Arg::{Ptr, U32};
use crate::support::Device;
use program::source;

/// Work-items of a kernel: more than a wave has, and one that is not full.
const ITEMS: u32 = 72;
/// What all items have.
const WORD: u32 = 0x1234_5679;
/// Functions of a source.
const FUNCTIONS: usize = 50;

const LEVELS: [&str; 5] = ["-O0", "-O1", "-O2", "-Os", "-O3"];

/// The cards that clang 19 compiles for; or in the place of two of them the same with waves of 64 lanes.
fn cards(wide: bool) -> Vec<String> {
    let all = Target::EXECUTABLE.into_iter();
    let known = all.filter(|target| !matches!(target, Target::Gfx950 | Target::Gfx1250));
    let name = |target: Target| match target {
        Target::Gfx1100 | Target::Gfx1201 if wide => format!("{target}{WAVE64}"),
        _ => target.to_string(),
    };
    known.map(name).collect()
}

/// The words of the items.
fn input() -> Vec<u32> {
    (0..ITEMS)
        .map(|i| i.wrapping_mul(2_654_435_761) ^ i << 7)
        .collect()
}

/// A source of random functions, and what the host computes of each.
struct Program {
    seed: u64,
    count: usize,
    want: Vec<Vec<u64>>,
}

/// How a card's result is another one.
struct Difference {
    function: usize,
    text: String,
}

impl Program {
    /// The functions of a seed. The host's compiler ends the program where it sees behaviour that is not defined.
    fn new(seed: u64, count: usize) -> Program {
        let mut text = "#include <cstdio>\n#define FUNCTION\n#define CONSTANT static const\n".to_owned();
        text += &source(seed, count, |_| String::new());
        let words: Vec<String> = input().iter().map(u32::to_string).collect();
        text += &format!(
            "static const u32 in[] = {{{}}};\nint main() {{\n",
            words.join(",")
        );
        for number in 0..count {
            text += &format!(
                "for (u32 i = 0; i < {ITEMS}; ++i) std::printf(\"%llx\\n\", whole{number}(i, in[i], {WORD}u) + whole{number}({WORD}u, in[9], {WORD}u));\n"
            );
        }
        text += "}\n";
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("random-{seed:x}-{count}-{}", std::process::id()));
        let (cpp, out) = (path.with_extension("cpp"), path.with_extension("out"));
        std::fs::write(&cpp, text).unwrap();
        let output = Command::new("clang++-19")
            .args(["-std=c++20", "-O1", "-ffp-contract=off", "-w"])
            // A sum of halves is a half.
            .args(["-Xclang", "-ffloat16-excess-precision=none"])
            .args(["-fsanitize=undefined", "-fsanitize-trap=all", "-o"])
            .args([&out, &cpp])
            .arg("-lm")
            .output()
            .unwrap_or_else(|e| {
                panic!("clang++-19 is needed to compile for the host and did not start: {e}")
            });
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let output = Command::new(&out).output().unwrap();
        assert!(
            output.status.success(),
            "the functions of seed {seed:#x} do what is not defined ({}); see {}",
            output.status,
            cpp.display()
        );
        std::fs::remove_file(cpp).unwrap();
        std::fs::remove_file(out).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<u64> = text
            .lines()
            .map(|line| u64::from_str_radix(line, 16).unwrap())
            .collect();
        let want: Vec<Vec<u64>> = words.chunks(ITEMS as usize).map(<[u64]>::to_vec).collect();
        assert_eq!(want.len(), count);
        Program { seed, count, want }
    }

    /// The functions as kernels.
    fn kernels(&self) -> String {
        let kernels = |number| {
            format!(
                "KERNEL k{number}(u32 u, const u32* in, u64* out) {{
  u32 i = bid(0) * bdim(0) + tid(0);
  if (i < {ITEMS}) out[i] = whole{number}(i, in[i], u) + whole{number}(u, in[9], u);
}}\n"
            )
        };
        let prelude = "#define FUNCTION DEVICE\n#define CONSTANT DEVICE const\n";
        format!("{prelude}{}", source(self.seed, self.count, kernels))
    }

    /// The kernels on a card.
    fn on(&self, card: &str, level: &str) -> Device {
        let name = format!("random-{:x}{level}", self.seed);
        Device::with_flags(card, &name, &self.kernels(), &["-std=c++20", "-w", level])
    }

    /// What a card computes otherwise than the host.
    fn differences(&self, device: &mut Device, options: &LaunchOptions) -> Vec<Difference> {
        let input = device.upload(&input());
        let mut found = Vec::new();
        for (function, want) in self.want.iter().enumerate() {
            let out = device.fresh(2 * u64::from(ITEMS));
            let args = [U32(WORD), Ptr(input), Ptr(out)];
            let name = format!("k{function}");
            let text = match device.launch_with(&name, [2, 1, 1], [64, 1, 1], 0, &args, options) {
                Err(error) => error.to_string(),
                Ok(_) => {
                    let halves = device.download(out, 2 * ITEMS as usize);
                    let got = halves.as_chunks::<2>().0.iter();
                    let got = got.map(|[low, high]| u64::from(*high) << 32 | u64::from(*low));
                    let other = (0..).zip(got.zip(want)).find(|(_, (got, want))| got != *want);
                    let Some((item, (got, want))) = other else {
                        continue;
                    };
                    format!("item {item} is {got:#x} on the card, {want:#x} on the host")
                }
            };
            found.push(Difference { function, text });
        }
        found
    }

    /// Compares with a card at a level, interpreted and compiled to the host's code: what differs, a line each.
    fn compare(&self, card: &str, level: &str) -> Vec<String> {
        let mut device = self.on(card, level);
        let mut lines = Vec::new();
        for compiling in [Compiling::Off, Compiling::AtOnce] {
            let options = LaunchOptions {
                compiling,
                // What is watched is not compiled. Code of -O0 spills whole registers, which nobody has written in every lane.
                sanitize: compiling == Compiling::Off && level != "-O0",
                ..LaunchOptions::default()
            };
            for Difference { function, text } in self.differences(&mut device, &options) {
                lines.push(format!(
                    "seed {:#x}, function {function} of {}, {card} {level}, compiling {compiling:?}: {text}",
                    self.seed, self.count
                ));
            }
        }
        if !lines.is_empty() {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random-{:x}.hip", self.seed));
            std::fs::write(&path, self.kernels()).unwrap();
            lines.push(format!("the kernels are in {}", path.display()));
        }
        lines
    }
}

/// Compares each program on each card at each level, on all processors; fails with what differs.
fn agree(programs: &[Program], cards: &[String], levels: &[&str]) {
    let jobs: Vec<(&Program, &str, &str)> = programs
        .iter()
        .flat_map(|program| cards.iter().map(move |card| (program, card.as_str())))
        .flat_map(|(program, card)| levels.iter().map(move |level| (program, card, *level)))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut lines = Vec::new();
        while let Some((program, card, level)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            lines.extend(program.compare(card, level));
        }
        lines
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let lines: Vec<String> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap())
            .collect()
    });
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn random_functions_are_the_hosts_on_every_card() {
    let programs = [Program::new(1, 6)];
    agree(&programs, &cards(false), &["-O0", "-O2"]);
}

#[test]
fn a_wrong_instruction_is_noticed_in_random_functions() {
    let program = Program::new(2, 10);
    for (card, mnemonics) in [
        (
            "gfx1100",
            [
                "v_mul_lo_u32",
                "v_xor_b32",
                "v_cndmask_b32",
                "v_mul_f32",
                "s_mul_i32",
            ],
        ),
        (
            "gfx942",
            [
                "v_mul_lo_u32",
                "v_xor_b32",
                "v_cndmask_b32_e64",
                "v_mul_f32",
                "s_mul_i32",
            ],
        ),
    ] {
        let mut device = program.on(card, "-O2");
        assert!(
            program
                .differences(&mut device, &LaunchOptions::default())
                .is_empty()
        );
        for mnemonic in mnemonics {
            let flip = Flip::of(mnemonic.trim_end_matches("_e64")).unwrap();
            let options = LaunchOptions {
                flip: Some(flip),
                max_wave_instructions: 1_000_000,
                ..LaunchOptions::default()
            };
            let noticed = program.differences(&mut device, &options).len();
            assert!(
                flip.results() > 0 && noticed > 0,
                "{card} {mnemonic}: {} flipped",
                flip.results()
            );
        }
    }
}

#[test]
#[ignore = "as many as GFX_RANDOM_COUNT says: ci/random-programs runs it"]
fn more_random_functions_are_the_hosts_on_every_card_at_every_level() {
    let number = |name: &str, otherwise: u64| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
        Err(_) => otherwise,
    };
    let (count, seed) = (number("GFX_RANDOM_COUNT", 50), number("GFX_RANDOM_SEED", 1));
    let sources = count.div_ceil(FUNCTIONS as u64);
    for source in 0..sources {
        let program = Program::new(seed << 20 | source, FUNCTIONS);
        agree(&[program], &cards(source % 4 == 3), &LEVELS);
    }
}
