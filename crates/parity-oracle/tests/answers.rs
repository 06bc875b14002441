//! That the oracle has an answer to every case of the default run: one element for each place, each with a limit that can
//! fail.

use parity_model::{Case, Tier, spec};
use parity_oracle::expected;

fn cases() -> Vec<Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../op-specs");
    let files = std::fs::read_dir(folder).expect("the specs are there");
    let paths = files.map(|entry| entry.expect("a folder lists its files").path());
    let specs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let texts: Vec<String> = specs
        .map(|path| std::fs::read_to_string(path).expect("a spec can be read"))
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|text| ("a spec", text.as_str())).collect();
    let files = spec::read(&texts).expect("the specs are valid");
    let cases = spec::expand(&files).expect("the specs are valid");
    cases.into_iter().filter(|case| case.tier <= Tier::Ci).collect()
}

#[test]
fn every_case_has_an_answer_whose_limits_are_finite() {
    for case in cases() {
        let id = case.id();
        let expected = expected(&case, &case.inputs(0));
        assert_eq!(
            expected.elements.len(),
            expected.shape.iter().product::<usize>(),
            "{id}"
        );
        for element in &expected.elements {
            let limit = element.limit;
            assert!(limit.ulp.is_finite() && limit.abs.is_finite(), "{id}: {limit}");
        }
        assert!(expected.limit.len() > 4, "{id}: {}", expected.limit);
    }
}
