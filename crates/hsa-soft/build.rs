//! Gives the library the name and the version node by which AMD's HIP runtime asks for it.
//!
//! Rust's own list of exported symbols is a version script too. The linker that comes with Rust, LLD, takes both; GNU's
//! does not.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=versions.map");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhsa-runtime64.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/versions.map");
}
