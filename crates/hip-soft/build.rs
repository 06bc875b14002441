//! Gives the library a name of AMD's and the versions of its functions: programs that are linked with it ask for both.
//!
//! Rust's own list of exported symbols is a version script too. The linker that comes with Rust, LLD, takes both; GNU's
//! does not.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=versions.map");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libamdhip64.so.6");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/versions.map");
}
