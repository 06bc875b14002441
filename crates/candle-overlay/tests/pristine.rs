//! Finding a release: only an archive with the right checksum is taken, or a folder the user names.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use candle_overlay::pristine::{CANDLE_CORE, Origin, Places, PristineError, ROCM_RS, Source};
use tempfile::TempDir;

/// A cargo home whose cache holds `contents` as candle-core's archive, and the archive's path.
fn home(registry: &str, contents: &[u8]) -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let archive = put(home.path(), registry, contents);
    (home, archive)
}

fn put(home: &Path, registry: &str, contents: &[u8]) -> PathBuf {
    let cache = home.join("registry/cache").join(registry);
    fs::create_dir_all(&cache).unwrap();
    let archive = cache.join("candle-core-0.11.1.crate");
    fs::write(&archive, contents).unwrap();
    archive
}

/// Looks in `home` only: no cargo is asked.
fn places(home: &Path) -> Places {
    Places {
        cargo_home: home.to_owned(),
        cargo: None,
        upstream: None,
    }
}

fn genuine() -> Vec<u8> {
    let found = Source::find(
        &CANDLE_CORE,
        &Places {
            upstream: None,
            ..Places::from_env(&CANDLE_CORE).unwrap()
        },
    );
    fs::read(found.unwrap().origin().path()).unwrap()
}

#[test]
fn an_archive_with_one_changed_byte_is_refused_with_its_name_and_both_checksums() {
    let mut contents = genuine();
    *contents.last_mut().unwrap() ^= 1;
    let (home, archive) = home("index.crates.io-1949cf8c6b5b557f", &contents);
    let error = Source::find(&CANDLE_CORE, &places(home.path())).unwrap_err();
    let PristineError::Checksum {
        path,
        expected,
        found,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((path, *expected), (&archive, CANDLE_CORE.sha256));
    let text = error.to_string();
    for part in [
        archive.to_str().unwrap(),
        CANDLE_CORE.sha256,
        found,
        "candle-core 0.11.1",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn the_genuine_archive_is_accepted_and_its_files_are_those_of_the_release() {
    let (home, archive) = home("index.crates.io-1949cf8c6b5b557f", &genuine());
    let source = Source::find(&CANDLE_CORE, &places(home.path())).unwrap();
    assert_eq!(source.origin(), &Origin::Archive(archive));
    assert_eq!(source.warning(&CANDLE_CORE), None);
    assert!(
        source
            .file("src/lib.rs")
            .unwrap()
            .starts_with(b"//! ML framework for Rust")
    );
    assert!(matches!(
        source.file("src/none.rs"),
        Err(PristineError::NoFile { .. })
    ));
}

#[test]
fn a_damaged_archive_in_one_registry_does_not_hide_the_genuine_one_in_another() {
    let (home, _) = home("a-mirror", b"not a crate");
    let genuine = put(home.path(), "index.crates.io-1949cf8c6b5b557f", &genuine());
    let source = Source::find(&CANDLE_CORE, &places(home.path())).unwrap();
    assert_eq!(source.origin(), &Origin::Archive(genuine));
}

#[test]
fn a_missing_archive_names_the_place_and_the_way_out() {
    let home = TempDir::new().unwrap();
    let text = Source::find(&ROCM_RS, &places(home.path()))
        .unwrap_err()
        .to_string();
    for part in [
        "rocm-rs-0.5.2.crate",
        home.path().to_str().unwrap(),
        "ROCM_RS_UPSTREAM",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn an_unpacked_copy_without_its_archive_is_not_trusted() {
    let home = TempDir::new().unwrap();
    let unpacked = home
        .path()
        .join("registry/src/index.crates.io-1949cf8c6b5b557f/candle-core-0.11.1");
    fs::create_dir_all(unpacked.join("src")).unwrap();
    fs::write(unpacked.join(".cargo-ok"), "").unwrap();
    let error = Source::find(&CANDLE_CORE, &places(home.path())).unwrap_err();
    assert!(matches!(error, PristineError::Missing { .. }), "{error}");
}

#[test]
fn a_folder_that_the_user_names_is_taken_with_a_warning() {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("src/inner")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), "[package]").unwrap();
    fs::write(folder.path().join("src/inner/mod.rs"), "// here").unwrap();
    let places = Places {
        upstream: Some(folder.path().to_owned()),
        ..places(Path::new("/no/such/cargo/home"))
    };
    let source = Source::find(&CANDLE_CORE, &places).unwrap();
    assert_eq!(source.file("src/inner/mod.rs").unwrap(), b"// here");
    assert!(
        source
            .warning(&CANDLE_CORE)
            .unwrap()
            .contains("CANDLE_CORE_UPSTREAM")
    );
}
