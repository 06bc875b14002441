//! Convolutions on NVIDIA's matrix cores without a GPU: which they get, by what a stand-in for its driver is asked to launch, and what their
//! kernels compute, which run on the host with stand-ins for the instructions of a warp (`nvidia_conv/host.cc`).

use std::fs;
use std::path::Path;
use std::process::Command;

#[cfg(feature = "nvidia")]
#[path = "nvidia_conv/launched.rs"]
mod launched;

#[test]
fn the_kernels_equal_loops_on_the_host() {
    let (_, files) = kernel_build::find_toolchain().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    fs::copy(kernels.join("conv_nvidia.hip"), place("conv_nvidia.hip")).unwrap();
    // What these have, the host's source has of its own.
    for header in ["layout.h", "workgroup.h"] {
        fs::write(place(header), "").unwrap();
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvidia_conv/host.cc");
    let built = Command::new(&files[0])
        .args(["-x", "c++", "-std=c++17", "-O1", "-I"])
        .args([folder.path(), &source])
        .arg("-o")
        .arg(place("host"))
        .arg("-lm")
        .status()
        .unwrap();
    assert!(built.success(), "clang could not build the kernels for the host");
    let output = Command::new(place("host")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}
