//! The folder of `ROCM_COVERAGE`, which processes fill with what they executed of kernels; kernel-coverage reads it.
//!
//! It has code objects, `DIGEST.hsaco`, and of each process `PROCESS.marks`: lines of a digest, a kernel and one digit an
//! instruction, bits of `gfx_emu::covered`. A later line of a kernel adds to the ones before. It is written launch by launch, so that
//! a process that dies leaves what it did.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder, and what this process has written there.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    file: Option<File>,
    written: BTreeMap<(Arc<str>, String), Vec<u8>>,
}

impl Folder {
    /// The folder at a path, which is made when there is something to write.
    pub fn at(path: &Path) -> Folder {
        Folder {
            path: path.to_owned(),
            file: None,
            written: BTreeMap::new(),
        }
    }

    fn trouble(&self, error: &std::io::Error) -> String {
        format!(
            "{}={} cannot be written: {error}",
            rocm_env::names::COVERAGE,
            self.path.display()
        )
    }

    /// Adds a code object, by the [`digest`] of its file.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn object(&mut self, id: &str, file: &[u8]) -> Result<(), String> {
        let path = self.path.join(format!("{id}.hsaco"));
        if path.exists() {
            return Ok(());
        }
        // Under another name until it is whole: other processes may read it.
        let part = self.path.join(format!("{id}.{}", std::process::id()));
        let written = fs::create_dir_all(&self.path)
            .and_then(|()| fs::write(&part, file))
            .and_then(|()| fs::rename(&part, &path));
        written.map_err(|error| self.trouble(&error))
    }

    /// Adds what was executed of a kernel: bits of each instruction. What adds nothing to what is there is not written.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn add(&mut self, object: &Arc<str>, kernel: &str, marks: &[u8]) -> Result<(), String> {
        let key = (Arc::clone(object), kernel.to_owned());
        if !merge(self.written.entry(key).or_default(), marks) {
            return Ok(());
        }
        let mut line = format!("{object} {kernel} ");
        line.extend(marks.iter().map(|mark| char::from(b'0' + (mark & 7))));
        line.push('\n');
        let path = self.path.join(format!("{}.marks", std::process::id()));
        let file = match self.file.take() {
            Some(file) => Ok(file),
            None => OpenOptions::new().create(true).append(true).open(path),
        };
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()).map(|()| file));
        self.file = Some(written.map_err(|error| self.trouble(&error))?);
        Ok(())
    }
}

/// Adds bits to bits, and says whether any is new.
pub fn merge(all: &mut Vec<u8>, marks: &[u8]) -> bool {
    all.resize(all.len().max(marks.len()), 0);
    let mut news = false;
    for (all, mark) in all.iter_mut().zip(marks) {
        news |= mark & !*all != 0;
        *all |= mark;
    }
    news
}

/// FNV-1a in 128 bits, as 32 hexadecimal digits: it tells files apart that nobody made to be alike.
pub fn digest(file: &[u8]) -> String {
    let step =
        |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    format!(
        "{:032x}",
        file.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_added_and_news_is_told() {
        let mut all = vec![];
        assert!(merge(&mut all, &[1, 0, 3]));
        assert!(!merge(&mut all, &[1, 0, 2]));
        assert!(merge(&mut all, &[0, 4, 0]));
        assert_eq!(all, [1, 4, 3]);
    }

    #[test]
    fn a_digest_is_fnvs() {
        // The published offset basis, and that of one byte.
        assert_eq!(digest(b""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(digest(b"a"), "d228cb696f1a8caf78912b704e4a8964");
    }

    #[test]
    fn an_object_is_written_once_and_of_marks_what_is_new() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::at(&place.path().join("made"));
        folder.object("d1", b"file").unwrap();
        folder.object("d1", b"another").unwrap();
        let id = Arc::from("d1");
        folder.add(&id, "k", &[1, 0, 3]).unwrap();
        folder.add(&id, "k", &[1, 0, 1]).unwrap();
        folder.add(&id, "k", &[0, 1, 0]).unwrap();
        let read = |name: &str| fs::read_to_string(place.path().join("made").join(name)).unwrap();
        assert_eq!(read("d1.hsaco"), "file");
        let marks = format!("{}.marks", std::process::id());
        assert_eq!(read(&marks), "d1 k 103\nd1 k 010\n");
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let why = Folder::at(place.path()).object("d1", b"file").unwrap_err();
        assert!(
            why.starts_with("ROCM_COVERAGE=") && why.contains("cannot be written"),
            "{why}"
        );
    }
}
