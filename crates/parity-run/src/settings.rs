//! What a run needs to know: which cases, on what, and judged how.

use std::{num::NonZero, path::PathBuf, thread, time::Duration};

use parity_exec::Backend;
use parity_model::record::RECORDED;

use crate::{Candle, Column, Place, Selection, golden::plain_name};

/// Everything a run needs to know. The default is what `parity run` does without options: every case of the tier `ci`, on
/// the reference and on [`Backend::DEFAULT`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which cases.
    pub selection: Selection,
    /// The columns: the reference first, then the others, each device once; see [`Column::all`].
    pub columns: Vec<Column>,
    /// Seed the inputs derive from.
    pub seed: u64,
    /// How long one case may take on one backend, where its spec does not say.
    pub case_limit: Duration,
    /// Cases in flight at once.
    pub jobs: usize,
    /// Whether a result that the CPU helped to compute fails.
    pub no_fallback: bool,
    /// Whether every case runs twice on every backend, and fails if that gives different bits.
    pub deterministic: bool,
    /// Bytes a worker may use; `None` for as many as there are.
    pub memory_limit: Option<u64>,
    /// Whether executions tell which instructions of which kernels of the software GPU they executed.
    pub cover: bool,
    /// The directory of findings; `None` for the one beside the specs, if it is there.
    pub findings: Option<PathBuf>,
    /// Recorded outputs to compare with: the name of a bundle of golden/, or a path with a slash.
    pub against: Option<String>,
    /// Whether cases that are not recorded there are left out.
    pub recorded_only: bool,
    /// The program that serves as worker on this host; `None` for the running one, which has to call
    /// [`serve_if_asked`](crate::serve_if_asked) before anything else.
    pub worker: Option<PathBuf>,
    /// The candle that every worker has in the place of this program's, built before.
    pub candle: Option<Candle>,
}

impl Default for Settings {
    fn default() -> Settings {
        let column = |backend: Backend| Column {
            device: backend.into(),
            place: Place::Here,
        };
        Settings {
            selection: Selection::default(),
            columns: [Backend::REFERENCE, Backend::DEFAULT].map(column).to_vec(),
            seed: 0,
            case_limit: Duration::from_secs(60),
            jobs: cores(),
            no_fallback: false,
            deterministic: false,
            memory_limit: None,
            cover: false,
            findings: None,
            against: None,
            recorded_only: false,
            worker: None,
            candle: None,
        }
    }
}

impl Settings {
    /// What `parity run --backend B --case ID` needs besides to repeat a case, quoted for a shell. Not
    /// [`Settings::recorded_only`]: the one case that a repro names is recorded.
    pub fn repro_args(&self) -> Vec<String> {
        let spec_dir = self.selection.spec_dir.as_deref();
        let args = [
            (self.seed != 0).then(|| format!("--seed {}", self.seed)),
            self.no_fallback.then(|| "--no-fallback".to_owned()),
            self.deterministic.then(|| "--deterministic".to_owned()),
            spec_dir.map(|dir| format!("--spec-dir {}", quoted(&dir.to_string_lossy()))),
            self.candle
                .as_ref()
                .map(|candle| format!("--candle {}", quoted(candle.given()))),
            self.against
                .as_deref()
                .map(|word| format!("--against {}", quoted(&format!("{RECORDED}{}", plain_name(word))))),
        ];
        args.into_iter().flatten().collect()
    }
}

/// Cores this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// `word` as one word of a POSIX shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_only_where_a_shell_would_split_or_expand_it() {
        assert_eq!(quoted("../op-specs"), "../op-specs");
        assert_eq!(quoted("my specs"), "'my specs'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_repro_names_what_was_set_and_nothing_else() {
        assert_eq!(Settings::default().repro_args(), [""; 0]);
        let mut set = Settings {
            seed: 7,
            no_fallback: true,
            against: Some("my card".to_owned()),
            recorded_only: true,
            jobs: 3,
            ..Settings::default()
        };
        set.selection.spec_dir = Some("my specs".into());
        let want = [
            "--seed 7",
            "--no-fallback",
            "--spec-dir 'my specs'",
            "--against 'golden:my card'",
        ];
        assert_eq!(set.repro_args(), want);
    }
}
