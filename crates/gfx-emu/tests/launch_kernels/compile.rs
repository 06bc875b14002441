//! Compiles small kernels with clang; the tests of rocm-soft and gfx-tool use this file as well.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler. A machine without it cannot run these tests, and the failure says so.
const CLANG: &str = "clang++-19";

/// Stands in front of every kernel: the names HIP's headers would bring.
const PRELUDE: &str = r#"
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define PER_DIM(name, of) \
  DEVICE inline unsigned name(int dim) { \
    return dim == 0   ? __builtin_amdgcn_##of##_x() \
           : dim == 1 ? __builtin_amdgcn_##of##_y() \
                      : __builtin_amdgcn_##of##_z(); \
  }
// RDNA4's barrier has two halves.
#if defined(__GFX12__)
#define BARRIER "s_barrier_signal -1\n s_barrier_wait -1"
#else
#define BARRIER "s_barrier"
#endif
PER_DIM(tid, workitem_id)
PER_DIM(bid, workgroup_id)
PER_DIM(bdim, workgroup_size)
PER_DIM(gsize, grid_size)
DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"#;

/// At the end of a target's name: its waves have 64 lanes, where the target has a choice.
pub(crate) const WAVE64: &str = "-wave64";

/// Compiles `source` for `target`, with more `flags`, and gives the code object's bytes. `name` is the test's, for the files.
pub(crate) fn compile(name: &str, target: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = |ext: &str| -> PathBuf { dir.join(format!("{name}-{target}-{}.{ext}", std::process::id())) };
    let (hip, out) = (file("hip"), file("hsaco"));
    std::fs::write(&hip, format!("{PRELUDE}{source}")).unwrap();
    let output = Command::new(CLANG)
        .args([
            "-x",
            "hip",
            "--cuda-device-only",
            "--no-gpu-bundle-output",
            "-nogpuinc",
            "-nogpulib",
        ])
        .args([
            "-mcode-object-version=5",
            "-O3",
            "-std=c++17",
            "-ffp-contract=off",
        ])
        .arg(format!("--offload-arch={}", target.trim_end_matches(WAVE64)))
        .args(target.ends_with(WAVE64).then_some("-mwavefrontsize64"))
        .args(flags)
        .arg("-o")
        .args([&out, &hip])
        .output()
        .unwrap_or_else(|e| panic!("{CLANG} is needed to compile the test's kernels and did not start: {e}"));
    assert!(
        output.status.success(),
        "{CLANG}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let bytes = std::fs::read(&out).unwrap();
    std::fs::remove_file(hip).unwrap();
    std::fs::remove_file(out).unwrap();
    bytes
}
