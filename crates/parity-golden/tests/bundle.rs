//! A bundle answers for the cases that it was recorded for, and for nothing else.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::{collections::BTreeSet, fs, path::Path};

use parity_golden::{Bundle, BundleError, Provenance, Recorder, Stale};
use parity_model::{Case, HostTensor, Outcome, Refusal, record::BackendInfo};

fn provenance() -> Provenance {
    Provenance {
        backend: BackendInfo {
            backend: "cuda".to_owned(),
            device: "a GPU".to_owned(),
            level: "hardware".to_owned(),
            driver: "1.0".to_owned(),
            target: "sm_90".to_owned(),
            host: None,
            selector: None,
        },
        recorded: "2026-11-21T00:00:00Z".to_owned(),
        parity_version: "0.1.0".to_owned(),
        candle_version: "0.11.1".to_owned(),
        commit: None,
        seed: 0,
        specs: "0".repeat(64),
    }
}

fn case(id: &str) -> Case {
    id.parse().unwrap()
}

fn exp() -> Case {
    case("unary/exp:f32:[4]:contiguous:uniform(1,2)")
}

fn neg() -> Case {
    case("unary/neg:f32:[4]:contiguous:uniform(1,2)")
}

/// A tensor of the case's output form, other than the stand-in for the oracle's answer.
fn device_output(case: &Case) -> HostTensor {
    let mut output = answer(case);
    output.bytes[0] ^= 1;
    output
}

/// Stands for the oracle's answer: any tensor that both sides can derive.
fn answer(case: &Case) -> HostTensor {
    case.inputs(0).remove(0)
}

fn refusal() -> Outcome {
    Outcome::Refused {
        refusal: Refusal::Unsupported,
        message: "no kernel".to_owned(),
    }
}

/// A bundle of three cases: an output of its own, the oracle's answer, a refusal.
fn record(dir: &Path) {
    let mut recorder = Recorder::default();
    let mut add = |case: &Case, outcome| recorder.add(&case.id(), &case.inputs(0), &answer(case), outcome);
    add(&exp(), Outcome::Ran(device_output(&exp())));
    add(&neg(), Outcome::Ran(answer(&neg())));
    add(&case("unary/erf:f16:[4]:contiguous:uniform(1,2)"), refusal());
    recorder.write(dir, provenance()).unwrap();
}

fn outcome(bundle: &Bundle, case: &Case) -> Result<Outcome, Stale> {
    bundle.outcome(&case.id(), &case.inputs(0), &answer(case))
}

#[test]
fn what_was_recorded_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let bundle = Bundle::open(dir.path()).unwrap();
    assert_eq!(outcome(&bundle, &exp()), Ok(Outcome::Ran(device_output(&exp()))));
    assert_eq!(outcome(&bundle, &neg()), Ok(Outcome::Ran(answer(&neg()))));
    assert_eq!(
        outcome(&bundle, &case("unary/erf:f16:[4]:contiguous:uniform(1,2)")),
        Ok(refusal())
    );
    assert_eq!(bundle.manifest().provenance, provenance());
}

#[test]
fn an_output_that_is_the_oracles_answer_takes_no_room() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    assert_eq!(Bundle::open(dir.path()).unwrap().manifest().values, 1);
}

#[test]
fn without_a_case_goes_its_output_and_the_manifest_counts_it() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let gone = BTreeSet::from([exp().id().to_string()]);
    let rest = Bundle::open(dir.path()).unwrap().without(&gone);
    rest.write(dir.path(), provenance()).unwrap();
    let bundle = Bundle::open(dir.path()).unwrap();
    assert_eq!(outcome(&bundle, &exp()), Err(Stale::NotRecorded));
    assert_eq!(outcome(&bundle, &neg()), Ok(Outcome::Ran(answer(&neg()))));
    let manifest = bundle.manifest();
    assert_eq!((manifest.cases, manifest.values, manifest.left_out), (2, 0, 1));
}

#[test]
fn a_recording_of_the_same_outputs_has_the_same_bytes() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    record(a.path());
    record(b.path());
    for file in ["manifest.json", "entries.jsonl.gz", "values.safetensors.gz"] {
        assert_eq!(
            fs::read(a.path().join(file)).unwrap(),
            fs::read(b.path().join(file)).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn any_flipped_bit_is_caught_and_its_file_named() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    for file in ["manifest.json", "entries.jsonl.gz", "values.safetensors.gz"] {
        let path = dir.path().join(file);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            fs::write(&path, &bad).unwrap();
            let error = Bundle::open(dir.path()).expect_err(&format!("a bit of byte {at} of {file}"));
            // A digest in the manifest that was changed accuses the file that it is the digest of.
            assert!(
                error.to_string().contains(&*dir.path().to_string_lossy()),
                "{error}"
            );
        }
        fs::write(&path, &good).unwrap();
    }
    Bundle::open(dir.path()).unwrap();
}

#[test]
fn a_bundle_tells_which_cases_it_has() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let bundle = Bundle::open(dir.path()).unwrap();
    let other = case("unary/exp:f32:[9]:contiguous:uniform(1,2)");
    assert!(bundle.has(&exp().id()) && !bundle.has(&other.id()));
}

#[test]
fn a_case_that_was_not_recorded_has_no_outcome() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let bundle = Bundle::open(dir.path()).unwrap();
    let other = case("unary/exp:f32:[5]:contiguous:uniform(1,2)");
    assert_eq!(outcome(&bundle, &other), Err(Stale::NotRecorded));
}

#[test]
fn an_entry_is_stale_when_the_inputs_are_derived_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let bundle = Bundle::open(dir.path()).unwrap();
    let found = bundle.outcome(&exp().id(), &exp().inputs(1), &answer(&exp()));
    assert!(matches!(found, Err(Stale::Inputs { .. })), "{found:?}");
}

#[test]
fn an_entry_kept_as_a_digest_is_stale_when_the_answer_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let bundle = Bundle::open(dir.path()).unwrap();
    let found = bundle.outcome(&neg().id(), &neg().inputs(0), &device_output(&neg()));
    assert!(matches!(found, Err(Stale::Answer { .. })), "{found:?}");
}

#[test]
fn a_bundle_fits_its_seed_and_its_candle_alone() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let bundle = Bundle::open(dir.path()).unwrap();
    assert_eq!(bundle.fits(0, "0.11.1"), Ok(()));
    assert_eq!(bundle.fits(7, "0.11.1"), Err(Stale::Seed { now: 7, recorded: 0 }));
    assert!(matches!(bundle.fits(0, "0.12.0"), Err(Stale::Candle { .. })));
}

#[test]
fn cases_that_the_specs_have_dropped_are_named() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let bundle = Bundle::open(dir.path()).unwrap();
    let ids = [exp(), neg()].map(|case| case.id().to_string());
    assert_eq!(
        bundle.orphans(&BTreeSet::from(ids)),
        ["unary/erf:f16:[4]:contiguous:uniform(1,2)"]
    );
}

#[test]
fn a_bundle_of_another_version_is_refused_as_that() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let path = dir.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    let error = Bundle::open(dir.path()).unwrap_err();
    assert!(matches!(error, BundleError::Version { found: 2, .. }), "{error}");
}
