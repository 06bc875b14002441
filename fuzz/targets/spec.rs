//! Op specs: any text is read, or refused with errors that point into it; what is read expands to cases that are valid
//! and whose ids name them. Nothing runs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parity_model::{Case, spec};

fuzz_target!(|text: &str| {
    match spec::parse("fuzz.toml", text) {
        Err(errors) => {
            assert!(!errors.is_empty(), "a refusal says why");
            for error in errors {
                assert!(
                    text.get(error.span.clone()).is_some(),
                    "{error:?} points outside the text"
                );
                assert!(!error.message.is_empty());
            }
        }
        Ok(file) => {
            for case in spec::expand(&[file]).unwrap_or_default().iter().take(64) {
                assert_eq!(case.check(), Ok(()), "{}", case.id());
                let again: Case = match case.id().as_str().parse() {
                    Ok(again) => again,
                    Err(error) => panic!("{error}"),
                };
                assert_eq!(again.id(), case.id());
            }
        }
    }
});
