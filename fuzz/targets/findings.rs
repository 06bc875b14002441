//! Findings: any text is read, or refused with errors that point into it; a row matches or does not, and prints as it is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parity_model::findings::{FindingText, Findings};
use parity_model::{Case, Verdict};

fn parse(text: &str) -> Result<Findings, Vec<parity_model::spec::SpecError>> {
    let (name, file) = ("fuzz", "fuzz.toml");
    Findings::parse(&[FindingText { name, file, text }], &["cpu", "cuda", "rocm"])
}

fuzz_target!(|text: &str| {
    let case: Case = "unary/relu:f32:[9]:contiguous:nan"
        .parse()
        .expect("the id of a case");
    let within = |span: std::ops::Range<usize>| text.get(span).is_some();
    match parse(text) {
        Err(errors) => {
            assert!(!errors.is_empty(), "a refusal says why");
            for error in errors {
                assert!(within(error.span.clone()), "{error:?} points outside the text");
            }
        }
        Ok(findings) => {
            for verdict in Verdict::ALL {
                let (_, known) = findings.apply("cpu", &case, verdict);
                assert!(known.is_none_or(|known| known.row.cases.matches(&case)));
            }
            for error in findings.stale(&[case]) {
                assert!(within(error.span.clone()), "{error:?} points outside the text");
            }
            for known in findings.rows() {
                let row = format!(
                    "title = \"t\"\nclass = \"unexplained\"\nreason = \"r\"\nbackends = [\"cpu\"]\nverdict = \"mismatch\"\n\
                     matches = [{{ {} }}]",
                    known.row.cases
                );
                let again = parse(&row).expect("a row prints as it is read");
                assert_eq!(again.findings[0].rows[0].cases, known.row.cases);
            }
        }
    }
});
