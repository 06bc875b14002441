//! Writing derived files: what differs is put right, what does not is left alone.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, SystemTime},
};

use candle_overlay::output::Output;
use tempfile::TempDir;

fn files() -> BTreeMap<String, Vec<u8>> {
    [("src/lib.rs", "mod inner;"), ("src/inner/mod.rs", "// inner")]
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .into()
}

#[test]
fn a_hand_edited_file_is_restored() {
    let folder = TempDir::new().unwrap();
    Output::new(folder.path()).write(&files()).unwrap();
    let edited = folder.path().join("src/lib.rs");
    fs::write(&edited, "mod inner; // by hand").unwrap();
    Output::new(folder.path()).write(&files()).unwrap();
    assert_eq!(fs::read_to_string(edited).unwrap(), "mod inner;");
}

#[test]
fn a_deleted_file_is_restored_and_a_stray_one_removed() {
    let folder = TempDir::new().unwrap();
    Output::new(folder.path()).write(&files()).unwrap();
    fs::remove_file(folder.path().join("src/inner/mod.rs")).unwrap();
    fs::write(folder.path().join("src/stray.rs"), "").unwrap();
    Output::new(folder.path()).write(&files()).unwrap();
    assert!(folder.path().join("src/inner/mod.rs").is_file());
    assert!(!folder.path().join("src/stray.rs").exists());
}

#[test]
fn written_files_look_older_than_any_build() {
    let folder = TempDir::new().unwrap();
    let paths = Output::new(folder.path()).write(&files()).unwrap();
    assert_eq!(paths.len(), 2);
    for path in paths {
        let age = SystemTime::now()
            .duration_since(fs::metadata(path).unwrap().modified().unwrap())
            .unwrap();
        assert!(age > Duration::from_secs(365 * 24 * 3600), "{age:?}");
    }
}

#[test]
fn a_file_that_is_right_is_not_written_again() {
    let folder = TempDir::new().unwrap();
    let path = Output::new(folder.path()).write(&files()).unwrap().remove(0);
    let mark = SystemTime::UNIX_EPOCH + Duration::from_secs(1_234_567_890);
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(mark)
        .unwrap();
    Output::new(folder.path()).write(&files()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), mark);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_naming_the_file() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("src"), "a file where a folder must be").unwrap();
    let error = Output::new(folder.path())
        .write(&files())
        .unwrap_err()
        .to_string();
    assert!(error.contains("src/inner/mod.rs"), "{error}");
}
