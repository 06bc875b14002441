//! docs/environment.md is the table's.

#[test]
fn the_page_is_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment.md");
    if std::env::var_os("WRITE_ENVIRONMENT").is_some() {
        std::fs::write(path, rocm_env::page()).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == rocm_env::page(),
        "`WRITE_ENVIRONMENT=1 cargo test -p rocm-env` writes docs/environment.md anew"
    );
}
