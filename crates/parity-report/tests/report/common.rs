//! A small record that has a bit of everything.

use parity_model::{
    Metrics, Verdict,
    record::{BackendInfo, CaseRecord, CaseResult, RECORD_VERSION, RunRecord},
};

fn backend(name: &str) -> BackendInfo {
    let (target, level) = if name == "rocm" {
        ("gfx1100", "isa")
    } else {
        ("", "host")
    };
    BackendInfo {
        backend: name.to_owned(),
        device: format!("{name} device"),
        level: level.to_owned(),
        driver: "driver 1.2".to_owned(),
        target: target.to_owned(),
        host: None,
        selector: None,
    }
}

pub(crate) fn result(verdict: Verdict, max_ulp: Option<f64>, note: Option<&str>) -> CaseResult {
    let metrics = max_ulp.map(|max_ulp| Metrics {
        elements: 6,
        outside: usize::from(verdict == Verdict::Mismatch),
        max_ulp,
        max_abs: 0.5,
        max_rel: Some(0.25),
        limit_used: max_ulp / 2.0,
        worst: None,
    });
    CaseResult {
        vs_oracle: metrics,
        note: note.map(str::to_owned),
        // A number that a parser which rounds carelessly reads back as 0.106459.
        millis: 0.10645900000000001,
        ..CaseResult::of(verdict)
    }
}

pub(crate) fn case(op: &str, dtype: &str, results: Vec<CaseResult>) -> CaseRecord {
    CaseRecord {
        id: format!("unary/{op}:{dtype}:[2,3]:contiguous:uniform(-1,1)"),
        family: "unary".to_owned(),
        op: op.to_owned(),
        dtype: dtype.to_owned(),
        layout: "contiguous".to_owned(),
        values: "uniform(-1,1)".to_owned(),
        limit: "2 ULP: the math library".to_owned(),
        results,
    }
}

pub(crate) fn pass(ulp: f64) -> CaseResult {
    result(Verdict::Pass, Some(ulp), None)
}

/// `exp` fails on rocm for f16 with an infinite error; `log` is a known failure there; the rest passes.
pub(crate) fn run() -> RunRecord {
    let mismatch = result(
        Verdict::Mismatch,
        Some(f64::INFINITY),
        Some("1 of 6 elements\nis infinite"),
    );
    let known = result(Verdict::KnownFailure, Some(3.0), Some("flushes denormals"));
    let cases = vec![
        case("exp", "f32", vec![pass(0.5), pass(1.25)]),
        case("log", "f32", vec![pass(0.5), known]),
        case("exp", "f16", vec![pass(0.0), mismatch]),
    ];
    RunRecord {
        version: RECORD_VERSION,
        parity_version: "0.1.0".to_owned(),
        candle_version: "0.11.1".to_owned(),
        commit: Some("abc-dirty".to_owned()),
        started: "2026-01-02T03:04:05Z".to_owned(),
        seconds: 1.5,
        seed: 7,
        specs: "00".repeat(32),
        shard: None,
        reference: "cpu".to_owned(),
        backends: vec![backend("cpu"), backend("rocm")],
        repro_args: vec!["--seed 7".to_owned()],
        planned: cases.len(),
        not_recorded: 0,
        cases,
    }
}

/// Whether the page has the line, however wide its tables are.
pub(crate) fn has_line(page: &str, line: &str) -> bool {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    page.lines().any(|found| words(found) == words(line))
}
