//! Journals: any lines are taken in or refused, and whatever was taken in makes a record or a complaint.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parity_model::journal::{Journal, Line};

fuzz_target!(|input: &str| {
    let mut lines = input
        .lines()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let Some(Line::Journal(header)) = lines.next() else {
        return;
    };
    let mut journal = Journal::new(*header);
    for line in lines {
        let before = journal.clone();
        if journal.push(line).is_err() {
            // NaN seconds never equal themselves.
            assert!(
                journal == before || before != before.clone(),
                "a refused line changes nothing"
            );
        }
    }
    assert!(journal.missing() <= journal.header().cases.len());
    assert!(journal.open().len() >= journal.missing());
    if let Ok(record) = journal.record() {
        assert_eq!(record.cases.len(), record.planned);
    }
});
