//! Known failures: cases that are expected to fail on a backend, each with the reason.
//!
//! An entry explains exactly one verdict. A listed case that passes, or fails in another way, fails the run; so does an
//! entry that no case matches any more.

use crate::spec::SpecError;
use crate::{CaseId, Verdict};

/// One entry of `known-failures.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Pattern over case ids, see [`crate::glob`].
    pub id: String,
    /// Patterns over ids of cases that it is not about.
    pub except: Vec<String>,
    /// The backend it is about, on whatever device; or one device of it, such as `rocm:gfx942`.
    pub backend: String,
    /// The verdict it explains.
    pub verdict: Verdict,
    /// Whether the cases fail on some machines only, so that a pass is no surprise.
    pub may_pass: bool,
    /// Why the cases fail.
    pub reason: String,
    /// An upstream issue, where there is one.
    pub link: Option<String>,
    /// Where the entry stands in its file, in bytes.
    pub span: std::ops::Range<usize>,
}

/// The entries of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFailures {
    /// The file's name, for messages.
    pub file: String,
    /// The entries, in file order.
    pub entries: Vec<Known>,
}

impl KnownFailures {
    /// Reads a `known-failures.toml`.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn parse(file_name: &str, text: &str) -> Result<KnownFailures, Vec<SpecError>> {
        crate::spec::known::parse(file_name, text)
    }

    /// The entries about this case on this backend: patterns may overlap where they explain different verdicts.
    pub fn about(&self, backend: &str, id: &CaseId) -> impl Iterator<Item = &Known> {
        self.entries.iter().filter(|known| known.matches(backend, id))
    }

    /// What `verdict` becomes when known failures are taken into account, with the entry that explains it:
    /// a listed verdict becomes [`Verdict::KnownFailure`], one that would not fail the run becomes
    /// [`Verdict::UnexpectedPass`] unless the entries say that the cases may pass, and any other failure stays what it is.
    pub fn apply(&self, backend: &str, id: &CaseId, verdict: Verdict) -> (Verdict, Option<&Known>) {
        if let Some(known) = self.about(backend, id).find(|known| known.verdict == verdict) {
            return (Verdict::KnownFailure, Some(known));
        }
        match self.about(backend, id).find(|known| !known.may_pass) {
            Some(known) if !verdict.fails_run() => (Verdict::UnexpectedPass, Some(known)),
            Some(_) | None => (verdict, None),
        }
    }

    /// An error for every entry that matches none of `ids`, which are all cases of all specs, on any backend.
    pub fn stale<'a>(&self, ids: impl Iterator<Item = &'a CaseId> + Clone) -> Vec<SpecError> {
        let dead = |known: &&Known| !ids.clone().any(|id| known.names(id.as_str()));
        let error = |known: &Known| SpecError {
            file: self.file.clone(),
            span: known.span.clone(),
            message: format!("known failure `{}` matches no case", known.id),
            help: Some("remove the entry, or mend its pattern".to_owned()),
        };
        self.entries.iter().filter(dead).map(error).collect()
    }
}

impl Known {
    /// Whether the entry is about the case with this id, on whatever backend.
    pub fn names(&self, id: &str) -> bool {
        let excepted = |pattern: &String| crate::glob::matches(pattern, id);
        crate::glob::matches(&self.id, id) && !self.except.iter().any(excepted)
    }

    /// Whether the entry is about this column: its backend, or its backend's device.
    pub fn is_on(&self, column: &str) -> bool {
        let rest = column.strip_prefix(&self.backend);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }

    /// Whether the entry is about this case on this backend.
    pub fn matches(&self, backend: &str, id: &CaseId) -> bool {
        self.is_on(backend) && self.names(id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[known]]
id = "unary/relu:*:nan"
backend = "cpu"
verdict = "mismatch"
reason = "max drops NaN"

[[known]]
id = "unary/gone:*"
backend = "rocm"
verdict = "crash"
reason = "long fixed"
link = "https://example.org/1"
"#;

    fn known() -> KnownFailures {
        KnownFailures::parse("known-failures.toml", TEXT).unwrap()
    }

    fn id(text: &str) -> CaseId {
        text.parse().unwrap()
    }

    #[test]
    fn an_entry_explains_its_own_verdict_on_its_own_backend_only() {
        let known = known();
        let nan = id("unary/relu:f32:[9]:contiguous:nan");
        let apply = |backend, verdict| known.apply(backend, &nan, verdict).0;
        assert_eq!(apply("cpu", Verdict::Mismatch), Verdict::KnownFailure);
        assert_eq!(apply("cpu", Verdict::Pass), Verdict::UnexpectedPass);
        assert_eq!(apply("cpu:device", Verdict::Mismatch), Verdict::KnownFailure);
        assert_eq!(apply("cpu2", Verdict::Mismatch), Verdict::Mismatch);
        assert_eq!(
            apply("cpu", Verdict::Crash),
            Verdict::Crash,
            "it fails, but not as listed"
        );
        assert_eq!(apply("rocm", Verdict::Mismatch), Verdict::Mismatch);
        let other = id("unary/relu:f32:[9]:contiguous:special");
        assert_eq!(known.apply("cpu", &other, Verdict::Pass), (Verdict::Pass, None));
    }

    #[test]
    fn a_case_that_is_excepted_is_not_known_to_fail() {
        let text = TEXT.replace("reason = \"max", "except = [\"*:[8]:*\"]\nreason = \"max");
        let known = KnownFailures::parse("known.toml", &text).unwrap();
        let about = |id: &str| known.about("cpu", &id.parse().unwrap()).count();
        assert_eq!(about("unary/relu:f32:[9]:contiguous:nan"), 1);
        assert_eq!(about("unary/relu:f32:[8]:contiguous:nan"), 0);
    }

    #[test]
    fn of_two_entries_the_one_for_the_verdict_explains_it() {
        let more = TEXT
            .replace("mismatch", "unsupported")
            .replace("max drops", "no kernel for");
        let known = KnownFailures::parse("known.toml", &format!("{TEXT}{more}")).unwrap();
        let id = "unary/relu:f32:[9]:contiguous:nan".parse().unwrap();
        for verdict in [Verdict::Mismatch, Verdict::Unsupported] {
            let (told, entry) = known.apply("cpu", &id, verdict);
            assert_eq!((told, entry.unwrap().verdict), (Verdict::KnownFailure, verdict));
        }
        assert_eq!(known.apply("cpu", &id, Verdict::Pass).0, Verdict::UnexpectedPass);
    }

    #[test]
    fn a_pass_of_a_case_that_may_pass_is_a_pass() {
        let text = TEXT.replace("reason = \"max", "may_pass = true\nreason = \"max");
        let known = KnownFailures::parse("known-failures.toml", &text).unwrap();
        let nan = id("unary/relu:f32:[9]:contiguous:nan");
        assert_eq!(known.apply("cpu", &nan, Verdict::Pass).0, Verdict::Pass);
        assert_eq!(
            known.apply("cpu", &nan, Verdict::Mismatch).0,
            Verdict::KnownFailure
        );
        assert_eq!(known.apply("cpu", &nan, Verdict::Timeout).0, Verdict::Timeout);
    }

    #[test]
    fn an_entry_that_matches_no_case_is_stale() {
        let known = known();
        let nan = id("unary/relu:f32:[9]:contiguous:nan");
        let stale = known.stale(std::iter::once(&nan));
        assert_eq!(stale.len(), 1);
        assert_eq!(stale[0].message, "known failure `unary/gone:*` matches no case");
        assert!(
            TEXT[stale[0].span.clone()].starts_with("[[known]]"),
            "{:?}",
            &TEXT[stale[0].span.clone()]
        );
    }

    #[test]
    fn every_mistake_in_the_file_is_reported() {
        let text = "[[known]]\nid = \"a\"\nbackend = 3\nverdict = \"broken\"\nreson = \"x\"\n[[known]]\n";
        let errors = KnownFailures::parse("k.toml", text).unwrap_err();
        let messages: Vec<_> = errors.iter().map(|e| e.message.as_str()).collect();
        assert!(
            messages.contains(&"`backend` must be a string, not an integer"),
            "{messages:?}"
        );
        assert!(messages.contains(&"unknown verdict `broken`"), "{messages:?}");
        assert!(messages.contains(&"unknown key `reson`"), "{messages:?}");
        assert_eq!(
            messages.iter().filter(|m| m.starts_with("missing key")).count(),
            5,
            "{messages:?}"
        );
    }
}
