//! The README's example of a kernel of one's own: it runs, and it stays short.
#![cfg(feature = "compile")]

#[path = "../examples/custom_kernel.rs"]
mod custom_kernel;

#[test]
fn the_example_computes_what_it_says() {
    custom_kernel::main().unwrap();
}

#[test]
fn the_example_is_shorter_than_forty_lines() {
    let lines = include_str!("../examples/custom_kernel.rs").lines().count();
    assert!(lines < 40, "{lines} lines");
}
