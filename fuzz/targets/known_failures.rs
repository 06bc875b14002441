//! Lists of known failures: any text is read, or refused with errors that point into it; an entry matches or does not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parity_model::known::KnownFailures;
use parity_model::{CaseId, Verdict};

fuzz_target!(|text: &str| {
    let id: CaseId = "unary/relu:f32:[9]:contiguous:nan"
        .parse()
        .expect("the id of a case");
    match KnownFailures::parse("fuzz.toml", text) {
        Err(errors) => {
            assert!(!errors.is_empty(), "a refusal says why");
            for error in errors {
                assert!(
                    text.get(error.span.clone()).is_some(),
                    "{error:?} points outside the text"
                );
            }
        }
        Ok(known) => {
            for verdict in Verdict::ALL {
                let (_, entry) = known.apply("cpu", &id, verdict);
                assert!(entry.is_none_or(|entry| entry.matches("cpu", &id)));
            }
            for error in known.stale([&id].into_iter()) {
                assert!(
                    text.get(error.span.clone()).is_some(),
                    "{error:?} points outside the text"
                );
            }
        }
    }
});
