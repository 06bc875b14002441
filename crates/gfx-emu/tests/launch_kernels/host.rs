//! The same source compiled for the host and for a card: both must compute the same bits.
//!
//! What one work-item computes is plain C++; clang makes x86 code of it and AMD code. Neither contracts products and sums.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use gfx_emu::LaunchOptions;

use crate::support::Arg::{Ptr, U32};
use crate::support::{Device, on_each_target};

on_each_target! {
    integers_floats_and_private_arrays_agree_with_the_host
    code_of_every_optimisation_level_agrees_with_the_host
    functions_that_are_called_agree_with_the_host
}

/// Work-items of a kernel, more than a wave of any card has.
const ITEMS: u32 = 192;

/// Functions of an item's number and a word of input, each giving one word.
const BODIES: &str = r#"
typedef unsigned u32; typedef unsigned long long u64;
FUNCTION u32 mix(u32 i, u32 x) {
    for (u32 k = 0; k < 7; ++k) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; x = x * 0x9e3779b1u + i; }
    return (x >> (i & 31)) | (x << ((32 - i) & 31));
}
FUNCTION u32 divide(u32 i, u32 x) {
    u64 wide = (u64)x * 0x123456789abcull + i;
    u32 a = (u32)(wide / (i + 3)) ^ (u32)(wide % (x | 1));
    int s = (int)x / ((int)i - 500) + (int)x % ((int)(i & 15) + 1);
    return a + (u32)s + __builtin_popcountll(wide) + __builtin_clz(x | 1) + __builtin_ctzll(wide | (1ull << 40));
}
FUNCTION u32 floats(u32 i, u32 x) {
    float a = (float)(int)x / 65536.0f, b = (float)(i + 1);
    float r = a / b + b * b - a * 0.333f;
    r = r + __builtin_floorf(a) - __builtin_truncf(b / 3.0f) + (a < b ? a : b);
    r = r + __builtin_sqrtf(b) + (float)(unsigned char)x - (float)((int)(a * 4.0f));
    return __builtin_bit_cast(u32, r);
}
FUNCTION u32 doubles(u32 i, u32 x) {
    double a = (double)(int)x / 1024.0, b = (double)(i + 1);
    double r = a / b + __builtin_sqrt(b) * a - __builtin_floor(a / 7.0);
    r = r + (double)(u64)(b * 1000.5) - (double)(long long)(a);
    u64 bits = __builtin_bit_cast(u64, r);
    return (u32)bits ^ (u32)(bits >> 32);
}
FUNCTION u32 sorted(u32 i, u32 x) {
    u32 v[12];
    for (u32 k = 0; k < 12; ++k) v[k] = mix(k + i, x + k);
    for (u32 k = 1; k < 12; ++k)
        for (u32 j = k; j > 0 && v[j - 1] > v[j]; --j) { u32 t = v[j]; v[j] = v[j - 1]; v[j - 1] = t; }
    return v[x % 12] ^ v[i % 12];
}
FUNCTION u32 all(u32 which, u32 i, u32 x) {
    switch (which) {
        case 0: return mix(i, x);
        case 1: return divide(i, x);
        case 2: return floats(i, x);
        case 3: return doubles(i, x);
        default: return sorted(i, x);
    }
}
"#;

/// How many functions [`BODIES`] has.
const FUNCTIONS: u32 = 5;

/// Functions that compilers cannot inline: by name, by recursion, through pointers in a table, through virtual tables, with
/// more arguments than registers hold and with a structure as result.
const CALLS: &str = r#"
typedef unsigned u32; typedef unsigned long long u64;
#define APART FUNCTION __attribute__((noinline))
APART u32 mix(u32 i, u32 x) { return (x ^ x >> 7) * 0x9e3779b1u + i; }
APART u32 twice(u32 i, u32 x) { return mix(i, mix(i + 1, x)); }
APART u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
APART u32 odd(u32 n, u32 x);
APART u32 even(u32 n, u32 x) { return n == 0 ? x : odd(n - 1, x * 3 + 1); }
APART u32 odd(u32 n, u32 x) { return n == 0 ? ~x : even(n - 1, x ^ x >> 3); }
APART u32 subtract(u32 i, u32 x) { return x - 5 * i; }
APART u32 rotate(u32 i, u32 x) { return x << (i & 31) | x >> ((32 - i) & 31); }
typedef u32 (*Function)(u32, u32);
CONSTANT Function table[4] = {mix, twice, subtract, rotate};
struct Shape { u32 size; FUNCTION Shape(u32 s) : size(s) {} FUNCTION virtual u32 area(u32 x) { return x; } };
struct Square : Shape { FUNCTION Square(u32 s) : Shape(s) {} FUNCTION u32 area(u32 x) override { return size * size + x; } };
struct Line : Shape { FUNCTION Line(u32 s) : Shape(s) {} FUNCTION u32 area(u32 x) override { return size ^ x; } };
APART u32 area(Shape* shape, u32 x) { return shape->area(x) + shape->size; }
struct Many { u32 v[40]; };
APART Many many(u32 a, u32 b, u64 c, float d, Many e, double f) {
    for (u32 k = 0; k < 40; ++k) e.v[k] = e.v[k] * a + b + (u32)(c >> k) + (u32)(int)d + (u32)(int)f;
    return e;
}
FUNCTION u32 all(u32 which, u32 i, u32 x) {
    switch (which) {
        case 0: return twice(i, x);
        case 1: return fibonacci(i % 11) + even(i % 23, x);
        case 2: return table[x >> 30](i, x) + table[i & 3](x, i);
        case 3: { Square square(i); Line line(x); return area(x & 1 ? (Shape*)&square : (Shape*)&line, i); }
        default: {
            Many m; for (u32 k = 0; k < 40; ++k) m.v[k] = mix(k, x);
            m = many(i, x, 0x123456789abcull * x, (float)i * 1.5f, m, 2.25 * i);
            u32 sum = 0; for (u32 k = 0; k < 40; ++k) sum = sum * 31 + m.v[k];
            return sum;
        }
    }
}
"#;

/// What the host computes of functions `0..count`: a program that prints a number a line, compiled and run once for all cards.
fn on_the_host(name: &str, bodies: &str, input: &[u32], count: u32) -> Vec<Vec<u32>> {
    static DONE: Mutex<BTreeMap<String, Vec<Vec<u32>>>> = Mutex::new(BTreeMap::new());
    // A card whose tests wait here has nothing to compare with before.
    let mut done = DONE.lock().unwrap();
    if let Some(results) = done.get(bodies) {
        return results.clone();
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = |ext: &str| directory.join(format!("{name}-{}{ext}", std::process::id()));
    let words: Vec<String> = input.iter().map(u32::to_string).collect();
    let main = format!(
        "#include <cstdio>\nstatic const u32 in[] = {{{}}};\nint main() {{ for (u32 which = 0; which < {count}; ++which) \
         for (u32 i = 0; i < {ITEMS}; ++i) std::printf(\"%u\\n\", all(which, i, in[i])); }}",
        words.join(",")
    );
    let prelude = "#define FUNCTION\n#define CONSTANT static const\n";
    std::fs::write(file(".cpp"), format!("{prelude}{bodies}{main}")).unwrap();
    let output = Command::new("clang++-19")
        .args(["-std=c++20", "-O1", "-ffp-contract=off", "-w", "-o"])
        .args([file(".out"), file(".cpp")])
        .output()
        .unwrap_or_else(|e| panic!("clang++-19 is needed to compile for the host and did not start: {e}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = Command::new(file(".out")).output().unwrap();
    for ext in [".cpp", ".out"] {
        std::fs::remove_file(file(ext)).unwrap();
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    let results: Vec<Vec<u32>> = numbers.chunks(ITEMS as usize).map(<[u32]>::to_vec).collect();
    assert_eq!(results.len(), count as usize);
    done.insert(bodies.to_owned(), results.clone());
    results
}

/// Runs functions `0..count` of `bodies`, compiled with each set of flags, on a card and on the host.
fn agrees(target: &'static str, name: &str, bodies: &str, count: u32, flags: &[&[&str]]) {
    let kernel = "KERNEL apply(unsigned which, const unsigned* in, unsigned* out) {
        unsigned i = bid(0) * bdim(0) + tid(0);
        out[i] = all(which, i, in[i]);
    }";
    let prelude = "#define FUNCTION DEVICE\n#define CONSTANT DEVICE const\n";
    let source = format!("{prelude}{bodies}{kernel}");
    let input: Vec<u32> = (0..ITEMS)
        .map(|i| i.wrapping_mul(2_654_435_761) ^ i << 7)
        .collect();
    let want = on_the_host(name, bodies, &input, count);
    for flags in flags {
        let flags = [&["-std=c++20"], *flags].concat();
        let mut device = Device::with_flags(target, name, &source, &flags);
        let (words, out) = (device.upload(&input), device.fresh(ITEMS.into()));
        for (which, want) in (0..).zip(&want) {
            let args = [U32(which), Ptr(words), Ptr(out)];
            let options = LaunchOptions {
                // Code of -O0 spills whole registers, which nobody has written in every lane.
                sanitize: !flags.contains(&"-O0"),
                ..LaunchOptions::default()
            };
            let ran = device.launch_with("apply", [ITEMS / 64, 1, 1], [64, 1, 1], 0, &args, &options);
            assert!(
                ran.is_ok(),
                "{target}, {flags:?}, function {which}: {}",
                ran.unwrap_err()
            );
            let got = device.download(out, ITEMS as usize);
            let differs = got.iter().zip(want).position(|(got, want)| got != want);
            assert_eq!(
                differs, None,
                "{target}, {flags:?}, function {which}: {got:x?} on the card, {want:x?} on the host"
            );
        }
    }
}

fn integers_floats_and_private_arrays_agree_with_the_host(target: &'static str) {
    agrees(target, "host_twin", BODIES, FUNCTIONS, &[&[]]);
}

fn code_of_every_optimisation_level_agrees_with_the_host(target: &'static str) {
    let levels: [&[&str]; 6] = [
        &["-O0"],
        &["-O0", "-g"],
        &["-O1"],
        &["-Os"],
        &["-O2", "-fno-inline"],
        &["-O2", "-fgpu-flush-denormals-to-zero"],
    ];
    agrees(target, "host_levels", BODIES, FUNCTIONS, &levels);
}

fn functions_that_are_called_agree_with_the_host(target: &'static str) {
    let levels: [&[&str]; 4] = [&["-O3"], &["-O1"], &["-Os"], &["-O0"]];
    agrees(target, "host_calls", CALLS, 5, &levels);
}
