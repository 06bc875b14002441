//! A card whose target is not in this build: its kernels are compiled when they are asked for, and kept. On the software
//! device, one process a card.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![cfg(feature = "compile")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rocm_backend::ops::{self, Unary};
use rocm_backend::{DType, Device, DynBuffer, View};

// `CODE_OBJECTS`, written by build.rs.
include!(concat!(env!("OUT_DIR"), "/code_objects.rs"));

/// A target that the software device has and this build has not.
fn not_built() -> &'static str {
    let is_built = |target: &&str| CODE_OBJECTS.iter().any(|(built, ..)| built == target);
    ["gfx90a", "gfx942", "gfx1100", "gfx1201"]
        .into_iter()
        .find(|target| !is_built(target))
        .expect("name fewer cards in ROCM_TARGETS: one has to be compiled late")
}

fn child(target: &str, cache: &Path, clang: Option<&str>) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "child_that_negates", "--ignored", "--nocapture"])
        .env("ROCM_DRIVER", "soft")
        .env("ROCM_SOFT_TARGET", target)
        .env("ROCM_KERNEL_CACHE", cache);
    if let Some(clang) = clang {
        child.env("ROCM_CLANG", clang);
    }
    child.output().unwrap()
}

#[test]
#[ignore = "the child process of this file's other tests"]
fn child_that_negates() {
    let device = Device::new(0).unwrap();
    let bytes: Vec<u8> = [1.0_f32, -2.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    let x = DynBuffer::from_bytes(&device, DType::F32, &bytes).unwrap();
    let view = View::new(&x, &[2], &[1]);
    let y = ops::unary(Unary::Neg, view).unwrap().download_bytes().unwrap();
    let numbers: Vec<f32> = y.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
    assert_eq!(numbers, [-1.0, 2.5]);
    println!("on {}", device.info().target());
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn kernels_that_are_not_built_in_are_compiled_once_and_kept() {
    let target = not_built();
    let cache = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = child(target, cache.path(), None);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(text.contains(&format!("on {target}")), "{text}");
        // Where programs look, and where builds do.
        let kept = files(cache.path());
        let of_programs = kept
            .iter()
            .filter(|file| file.ends_with(&format!(".{target}.hsaco")));
        assert_eq!((of_programs.count(), kept.len()), (1, 2), "{kept:?}");
    }
}

#[test]
fn without_a_compiler_it_is_told_which_targets_there_are_and_what_is_missing() {
    let target = not_built();
    let cache = tempfile::tempdir().unwrap();
    let output = child(target, cache.path(), Some("/nowhere/clang"));
    let text =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    for part in [
        &format!("kernels are not built for {target}"),
        "nor can they be compiled now",
    ] {
        assert!(text.contains(part), "`{part}` is missing in {text}");
    }
    assert!(files(cache.path()).is_empty());
}
