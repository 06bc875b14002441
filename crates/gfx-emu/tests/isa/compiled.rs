//! The code of a compiled kernel, instruction by instruction: our text against `llvm-objdump`'s.

use std::process::Command;

use gfx_emu::disassemble;

use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA3, RDNA4, RDNA35, words};

/// Integer and float division, halves, LDS, atomics, shuffles, loops, scratch: much of what a compiler emits.
const SOURCE: &str = r#"
#define __global__ __attribute__((global))
typedef unsigned long long u64;
extern "C" __global__ void kernel_of_everything(float* x, double* d, _Float16* h, u64* q, unsigned char* b, int* n, int count) {
    __attribute__((shared)) static float tile[256];
    unsigned i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    float sum = 0;
    for (int k = 0; k < count; ++k) {
        sum += x[i + k] / x[k + 1] + __builtin_sqrtf(x[k]) + __builtin_fminf(x[k], sum) * __builtin_rintf(sum);
        d[i] = d[k] / d[i + k] + __builtin_sqrt(d[k]) + (double)(long long)d[k];
        h[i] = h[k] / h[i + 1] + h[k] * h[k + 2];
        q[i] = q[k] / q[i + 1] + q[k + 1] % (u64)(k + 3) + __builtin_clzll(q[k]) + (u64)x[k];
        b[i] = (unsigned char)(b[k] * 3 + (b[k + 1] >> 2)) + (signed char)x[k];
    }
    float rows[17];
    for (int k = 0; k < 17; ++k) rows[k] = x[i * 17 + k];
    tile[i & 255] = rows[n[i] & 15];
    __builtin_amdgcn_s_barrier();
    sum += tile[255 - (i & 255)];
    sum += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(4 * (i ^ 1), __builtin_bit_cast(int, sum)));
    __hip_atomic_fetch_add(n, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_compare_exchange_strong(q, q + 1, 5, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    x[i] = sum;
}
"#;

#[track_caller]
fn tool(name: &str, args: &[&str]) -> String {
    let output = Command::new(name).args(args).output();
    let output = output.unwrap_or_else(|error| panic!("{name} is needed for this test: {error}"));
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A line of `llvm-objdump -d`: text, and the words after the address. Symbol lines are `None`.
fn instruction(line: &str) -> Option<(String, Vec<u8>)> {
    let (text, rest) = line.strip_prefix('\t')?.split_once("//")?;
    let encoding = rest.split_once(':')?.1.split('<').next()?;
    let words_of = |word: &str| u32::from_str_radix(word, 16).unwrap().to_le_bytes();
    Some((
        words(text),
        encoding.split_whitespace().flat_map(words_of).collect(),
    ))
}

#[test]
fn compiled_code_reads_like_llvms_listing() {
    compare(RDNA3);
}

#[test]
fn compiled_code_of_rdna2_reads_like_llvms_listing() {
    compare(RDNA2);
}

#[test]
fn compiled_code_of_rdna35_reads_like_llvms_listing() {
    compare(RDNA35);
}

#[test]
fn compiled_code_of_rdna4_reads_like_llvms_listing() {
    compare(RDNA4);
}

#[test]
fn compiled_code_of_cdna3_reads_like_llvms_listing() {
    compare(CDNA3);
}

#[test]
fn compiled_code_of_cdna2_reads_like_llvms_listing() {
    compare(CDNA2);
}

#[track_caller]
fn compare(card: Card) {
    let directory = format!("gfx-emu-compiled-{}-{}", card.name, std::process::id());
    let directory = std::env::temp_dir().join(directory);
    std::fs::create_dir_all(&directory).unwrap();
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("k.hip"), SOURCE).unwrap();
    let mut lines = 0;
    for level in ["-O0", "-O1", "-O3"] {
        let target = [
            "-x",
            "hip",
            &format!("--offload-arch={}", card.name),
            "--cuda-device-only",
            "--no-gpu-bundle-output",
        ];
        let bare = [
            "-nogpuinc",
            "-nogpulib",
            "-mcode-object-version=5",
            "-w",
            level,
            "-o",
        ];
        tool(
            "clang++-19",
            &[&target[..], &bare, &[&path("k.hsaco"), &path("k.hip")]].concat(),
        );
        for line in tool("llvm-objdump-19", &["-d", &path("k.hsaco")]).lines() {
            let Some((text, bytes)) = instruction(line) else {
                continue;
            };
            let (ours, size) =
                disassemble(card.target, &bytes).unwrap_or_else(|error| panic!("{level}: {text}: {error}"));
            assert_eq!((words(&ours), size), (text, bytes.len()), "{level}");
            lines += 1;
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(lines > 3_000, "only {lines} instructions were compared");
}
