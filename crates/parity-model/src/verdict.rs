//! What an outcome means. A match names every verdict, or leaves the others to [`Verdict::fails_run`], which names every one: a new
//! verdict does not compile before that is decided.

use serde::{Deserialize, Serialize};

/// The judgement on one case on one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The value is within the limit of the oracle's (of the reference's where there is no oracle).
    Pass,
    /// The value is outside the limit, or shape or dtype differ, or there is an error where there is a right answer.
    Mismatch,
    /// This backend is within the limit of the oracle, and the reference is not: the reference is wrong.
    ReferenceSuspect,
    /// Reference and backend refuse alike: with the same class.
    ErrorParity,
    /// The backend has no implementation, and the reference has one.
    Unsupported,
    /// The worker process died, or the device reported a fault.
    Crash,
    /// The case ran out of time.
    Timeout,
    /// Two runs of the same case gave different bits.
    Nondeterministic,
    /// The value was computed by a CPU fallback, and fallbacks were refused.
    Fallback,
    /// The case failed as a finding says, for the reason given there.
    KnownFailure,
    /// The case passed although a finding names it.
    UnexpectedPass,
    /// The output is inside the limit, but so would be one that ignores its inputs, all zeros or all alike: a pass
    /// would prove nothing.
    Untrusted,
    /// Planned and never executed.
    NotRun,
}

impl Verdict {
    /// Every verdict, in the order summaries show them.
    pub const ALL: [Verdict; 13] = [
        Verdict::Pass,
        Verdict::ErrorParity,
        Verdict::ReferenceSuspect,
        Verdict::KnownFailure,
        Verdict::Mismatch,
        Verdict::Unsupported,
        Verdict::Crash,
        Verdict::Timeout,
        Verdict::Nondeterministic,
        Verdict::Fallback,
        Verdict::UnexpectedPass,
        Verdict::Untrusted,
        Verdict::NotRun,
    ];

    /// The word tables and JSON use.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Mismatch => "mismatch",
            Verdict::ReferenceSuspect => "reference-suspect",
            Verdict::ErrorParity => "error-parity",
            Verdict::Unsupported => "unsupported",
            Verdict::Crash => "crash",
            Verdict::Timeout => "timeout",
            Verdict::Nondeterministic => "nondeterministic",
            Verdict::Fallback => "fallback",
            Verdict::KnownFailure => "known-failure",
            Verdict::UnexpectedPass => "unexpected-pass",
            Verdict::Untrusted => "untrusted",
            Verdict::NotRun => "not-run",
        }
    }

    /// Whether one such verdict makes the run fail.
    ///
    /// `ReferenceSuspect` on a backend does not: the reference's own column carries the mismatch, and that one fails.
    pub const fn fails_run(self) -> bool {
        match self {
            Verdict::Pass | Verdict::ErrorParity | Verdict::ReferenceSuspect | Verdict::KnownFailure => false,
            Verdict::Mismatch
            | Verdict::Unsupported
            | Verdict::Crash
            | Verdict::Timeout
            | Verdict::Nondeterministic
            | Verdict::Fallback
            | Verdict::UnexpectedPass
            | Verdict::Untrusted
            | Verdict::NotRun => true,
        }
    }
}

/// How far a value is from the expected one, at its worst element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Elements compared.
    pub elements: usize,
    /// Elements outside the limit.
    pub outside: usize,
    /// Largest error in units in the last place of the output dtype; infinite when NaN or infinity disagree.
    #[serde(with = "crate::number")]
    pub max_ulp: f64,
    /// Largest absolute error; infinite when NaN or infinity disagree.
    #[serde(with = "crate::number")]
    pub max_abs: f64,
    /// Largest error relative to the expected value; infinite when that is zero, and when NaN or infinity disagree. Absent from
    /// records of before it was measured.
    #[serde(
        default,
        with = "crate::number::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_rel: Option<f64>,
    /// Largest error as a fraction of its limit: 1 and below is inside.
    #[serde(with = "crate::number")]
    pub limit_used: f64,
    /// The worst element; absent when every element is exact.
    pub worst: Option<Worst>,
}

/// The worst element of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// Index per dimension.
    pub index: Vec<usize>,
    /// Input values at the element, as printed decimals (one per argument).
    pub inputs: Vec<String>,
    /// Expected value, as a printed decimal.
    pub expected: String,
    /// Value found, as a printed decimal.
    pub got: String,
    /// Error in ULP of the output dtype.
    #[serde(with = "crate::number")]
    pub ulp: f64,
    /// The limit at this element, in words (`1 ULP`, `exact`).
    pub limit: String,
}
