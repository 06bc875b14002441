//! Records of runs: any text is read, or refused; what is read renders in every form, and reads back as itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parity_report::{csv, html, json, junit, markdown, text};

fuzz_target!(|input: &str| {
    let Ok(run) = json::parse(input) else { return };
    let options = text::Options {
        width: Some(100),
        color: true,
        max_failures: 3,
    };
    text::render(&run, &options);
    markdown::render(&run);
    csv::render(&run);
    // A name may hold what XML cannot; that is an error, and no panic.
    let _ = junit::render(&run);
    html::render(&run).expect("a record that was read can be written");
    let written = json::render(&run).expect("a record that was read can be written");
    let again = json::parse(&written).expect("what was written can be read");
    assert_eq!(json::render(&again).ok(), Some(written));
});
