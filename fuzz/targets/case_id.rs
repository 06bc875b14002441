//! Case ids: any text names a case that is valid and has that id, or is refused. Small cases have inputs, views and parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parity_model::{Case, CaseId};

/// Larger tensors are not made: the target is the reader.
const MOST_ELEMENTS: usize = 1 << 12;

fuzz_target!(|text: &str| {
    let Ok(case) = text.parse::<Case>() else {
        assert!(text.parse::<CaseId>().is_err(), "an id names a case");
        return;
    };
    assert_eq!(case.check(), Ok(()));
    let id = case.id();
    assert_eq!(
        id.as_str().parse::<CaseId>(),
        Ok(id.clone()),
        "an id is spelled in one way"
    );
    let again: Case = match id.as_str().parse() {
        Ok(again) => again,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(again.id(), id);
    let plans = (0..case.args.len()).map(|i| case.plan(i));
    let small = plans
        .flatten()
        .all(|plan| plan.base_shape.iter().product::<usize>() <= MOST_ELEMENTS);
    if small
        && case
            .args
            .iter()
            .all(|arg| arg.shape.iter().product::<usize>() <= MOST_ELEMENTS)
    {
        let inputs = case.inputs(0);
        assert_eq!(inputs.len(), case.args.len());
        assert_eq!(inputs, case.plain().inputs(0));
        assert_eq!(case.parts(&inputs).is_some(), case.check.compares_forms());
    }
});
