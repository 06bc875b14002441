//! Findings: what is known to be wrong in candle, each with predicates over the cases that show it.
//!
//! A row of a finding explains one verdict of the cases that it matches. Such a case that passes, or fails in another way,
//! fails the run; so does a row that matches no case. Folders are read by the caller; this module is given their text.

mod narrow;
mod predicate;

use std::ops::Range;

pub use narrow::narrow;
pub use predicate::{COMPUTES, Extent, LayoutWord, Predicate, Values};

use crate::spec::SpecError;
use crate::{Case, Verdict};

/// The keys of a `finding.toml`.
pub const FINDING_KEYS: [&str; 12] = [
    "title",
    "class",
    "backends",
    "verdict",
    "reason",
    "right",
    "where",
    "elsewhere",
    "fix",
    "link",
    "matches",
    "fuzz",
];

/// The keys of a predicate.
pub const PREDICATE_KEYS: [&str; 12] = [
    "op",
    "family",
    "dtype",
    "index_dtype",
    "params",
    "rank",
    "shape",
    "empty",
    "layout",
    "values",
    "check",
    "except",
];

/// The keys of a row besides those of its predicate.
pub const ROW_KEYS: [&str; 3] = ["backends", "verdict", "may_pass"];

/// What sort of mistake a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A value is wrong, without a word.
    WrongResult,
    /// A panic, a lost device, or a call that never ends.
    CrashOrHang,
    /// An error in the place of a value.
    MissingOrRefused,
    /// What follows from a dtype, a formula or an order that candle chose.
    ByDesign,
    /// A failure that nobody has explained.
    Unexplained,
}

impl Class {
    /// Every class, in the order of the page.
    pub const ALL: [Class; 5] = [
        Class::WrongResult,
        Class::CrashOrHang,
        Class::MissingOrRefused,
        Class::ByDesign,
        Class::Unexplained,
    ];

    /// The word that `finding.toml` uses.
    pub const fn name(self) -> &'static str {
        match self {
            Class::WrongResult => "wrong result",
            Class::CrashOrHang => "crash or hang",
            Class::MissingOrRefused => "missing or refused",
            Class::ByDesign => "by design",
            Class::Unexplained => "unexplained",
        }
    }
}

/// One `finding.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The folder's name.
    pub name: String,
    /// The file's name, for messages.
    pub file: String,
    /// The mistake in a line.
    pub title: String,
    /// What sort of mistake it is.
    pub class: Class,
    /// What candle does, and why the cases fail.
    pub reason: String,
    /// What is right, and who says so.
    pub right: Option<String>,
    /// Where in candle's sources it is.
    pub location: Option<String>,
    /// How other backends behave.
    pub elsewhere: Option<String>,
    /// How candle could mend it.
    pub fix: Option<String>,
    /// The address of an upstream issue, where there is one.
    pub link: Option<String>,
    /// The cases that fail, and how.
    pub rows: Vec<FindingRow>,
    /// Cases outside of the specs that may fail for it: wider than the rows, which mean cases of the specs and no others.
    /// `parity fuzz` alone goes by them. Such a case may also pass.
    pub drawn: Vec<FindingRow>,
    /// Whether the file says, by an empty list, that no random case shows the finding: the limits of its cases are the specs' own.
    pub undrawn: bool,
}

/// One element of `matches`: cases that fail on some backends with one verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingRow {
    /// The backends on which the cases fail, on whatever device; or devices of them, such as `rocm:gfx942`.
    pub backends: Vec<String>,
    /// The verdict that the row explains.
    pub verdict: Verdict,
    /// Whether the cases fail on some machines or in some builds only, so that a pass is not unexpected.
    pub may_pass: bool,
    /// The cases.
    pub cases: Predicate,
    /// The row's place in its file, in bytes.
    pub span: Range<usize>,
}

/// The text of one `finding.toml`.
#[derive(Clone, Copy, Debug)]
pub struct FindingText<'a> {
    /// The folder's name.
    pub name: &'a str,
    /// The file's name, for messages.
    pub file: &'a str,
    /// What is in it.
    pub text: &'a str,
}

/// What is known about a case on a backend: a row that matches it, and the finding of the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known<'f> {
    /// The finding.
    pub finding: &'f Finding,
    /// Its row.
    pub row: &'f FindingRow,
}

impl Known<'_> {
    /// Why the case fails, in a line: the finding's name, title and link.
    pub fn note(&self) -> String {
        let Finding {
            name, title, link, ..
        } = self.finding;
        let link = link.as_ref().map(|link| format!(" ({link})"));
        format!("{name}: {title}{}", link.unwrap_or_default())
    }
}

/// Every finding of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The findings, by name.
    pub findings: Vec<Finding>,
}

impl Findings {
    /// Reads the files of a directory of findings. `backends` are the names that a row may give.
    ///
    /// # Errors
    /// Everything that is wrong with them, at once.
    pub fn parse(files: &[FindingText<'_>], backends: &[&str]) -> Result<Findings, Vec<SpecError>> {
        let (mut findings, mut errors) = (Vec::new(), Vec::new());
        for file in files {
            match crate::spec::findings::parse(file, backends) {
                Ok(finding) => findings.push(finding),
                Err(found) => errors.extend(found),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        findings.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Findings { findings })
    }

    /// Every row with its finding, in order.
    pub fn rows(&self) -> impl Iterator<Item = Known<'_>> {
        self.findings
            .iter()
            .flat_map(|finding| finding.rows.iter().map(move |row| Known { finding, row }))
    }

    /// The rows about this case on this backend: rows may overlap where they explain different verdicts.
    pub fn about<'f>(&'f self, backend: &str, case: &Case) -> impl Iterator<Item = Known<'f>> {
        let about = |known: &Known<'_>| known.row.is_about(backend) && known.row.cases.matches(case);
        self.rows().filter(about)
    }

    /// What `verdict` becomes when findings are taken into account, with the row that explains it: a listed verdict becomes
    /// [`Verdict::KnownFailure`], one that would not fail the run becomes [`Verdict::UnexpectedPass`] unless all rows say
    /// that the case may pass, and any other failure stays what it is.
    pub fn apply(&self, backend: &str, case: &Case, verdict: Verdict) -> (Verdict, Option<Known<'_>>) {
        let mut still = None;
        for known in self.about(backend, case) {
            if known.row.verdict == verdict {
                return (Verdict::KnownFailure, Some(known));
            }
            if !known.row.may_pass && still.is_none() {
                still = Some(known);
            }
        }
        match still {
            Some(known) if !verdict.fails_run() => (Verdict::UnexpectedPass, Some(known)),
            Some(_) | None => (verdict, None),
        }
    }

    /// The row that explains the failure of a random case: of those for the specs, or of those for drawn cases.
    pub fn explain_drawn(&self, backend: &str, case: &Case, verdict: Verdict) -> Option<Known<'_>> {
        self.explaining(backend, case, verdict).next()
    }

    /// Every row that explains the failure of a random case: of those for the specs, then of those for drawn cases.
    pub fn explaining<'f>(
        &'f self,
        backend: &str,
        case: &Case,
        verdict: Verdict,
    ) -> impl Iterator<Item = Known<'f>> {
        let drawn = self
            .findings
            .iter()
            .flat_map(|finding| finding.drawn.iter().map(move |row| Known { finding, row }));
        let explains = move |known: &Known<'_>| {
            known.row.verdict == verdict && known.row.is_about(backend) && known.row.cases.matches(case)
        };
        self.rows().chain(drawn).filter(explains)
    }

    /// An error for every row that matches none of `cases`, which are all cases of all specs.
    pub fn stale(&self, cases: &[Case]) -> Vec<SpecError> {
        let dead = |known: &Known<'_>| !cases.iter().any(|case| known.row.cases.matches(case));
        let error = |known: Known<'_>| {
            SpecError {
            file: known.finding.file.clone(),
            span: known.row.span.clone(),
            message: format!(
                "this row of `{}` matches no case of the specs",
                known.finding.name
            ),
            help: Some(
                "remove the row or mend its predicate; without a row the finding goes, or a spec gets its case"
                    .to_owned(),
            ),
        }
        };
        self.rows().filter(dead).map(error).collect()
    }
}

impl FindingRow {
    /// Whether the row is about cases of this column: of a backend it names, or of one device of it.
    pub fn is_about(&self, column: &str) -> bool {
        let is_of = |backend: &String| {
            let rest = column.strip_prefix(backend.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        self.backends.iter().any(is_of)
    }
}

#[cfg(test)]
mod tests;
