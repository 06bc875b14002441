//! Gives the library the versions by which programs ask for its functions.
//!
//! Rust's own list of exported symbols is a version script too. The linker that comes with Rust, LLD, takes both; GNU's
//! does not.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=versions.map");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/versions.map");
}
