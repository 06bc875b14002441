//! The C symbols this crate defines stay inside the program that links it.

use std::fs;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol};

#[test]
fn the_seams_symbols_are_in_the_program_and_not_exported() {
    // Links the seam.
    assert!(rocm_backend::Device::new(usize::MAX).is_err());

    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    let program: ElfFile64 = ElfFile64::parse(program.as_slice()).unwrap();
    let is_hip = |name: &str| {
        (name.starts_with("hip") || name.starts_with("rocblas_")) && rocm_soft::symbol(name).is_some()
    };
    let exported: Vec<_> = program
        .dynamic_symbols()
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| is_hip(name))
        .collect();
    assert_eq!(exported, Vec::<&str>::new());

    let inside: Vec<_> = program
        .symbols()
        .filter(|symbol| symbol.name().is_ok_and(is_hip))
        .collect();
    assert!(
        inside.len() > 10,
        "the seam is not in this program: {}",
        inside.len()
    );
    assert!(
        inside.iter().all(|symbol| symbol.is_local()),
        "a seam symbol is not hidden"
    );
}
