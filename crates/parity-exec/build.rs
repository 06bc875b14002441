//! With the feature `cuda`, links NVIDIA's runtime statically, so that the program starts on machines without it.
//!
//! candle looks for the driver and the libraries when a device is opened, but candle-kernels asks the linker for the
//! shared runtime. This crate's static copy comes before it on the linker's command line and is used first, and a
//! shared library that nothing needs is left out (`--as-needed`, which rustc passes).

use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-env-changed=CUDA_HOME");
    println!("cargo:rerun-if-env-changed=CUDA_PATH");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"].map(env::var_os).into_iter().flatten();
    let homes = homes.map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")]);
    let folders = homes.flat_map(|home| ["lib64", "lib"].map(|lib| home.join(lib)));
    let mut found = folders.filter(|folder| folder.join("libcudart_static.a").is_file());
    let Some(folder) = found.next() else {
        println!(
            "cargo:error=libcudart_static.a not found; set CUDA_HOME to a CUDA toolkit, or run \
             `eval \"$(ci/cuda-toolkit)\"`, which assembles one"
        );
        return;
    };
    // `#define CUDA_VERSION 13000` is 13.0.
    let header = folder.join("../include/cuda.h");
    let text = fs::read_to_string(&header).unwrap_or_default();
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define CUDA_VERSION "));
    let Some(version) = lines.next().and_then(|number| number.trim().parse::<u32>().ok()) else {
        println!("cargo:error={} does not define CUDA_VERSION", header.display());
        return;
    };
    println!(
        "cargo:rustc-env=PARITY_CUDA_VERSION={}.{}",
        version / 1000,
        version % 1000 / 10
    );
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static:+whole-archive=cudart_static");
}
