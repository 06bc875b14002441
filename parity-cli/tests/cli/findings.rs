//! The findings beside the records in reports/, of the CPU and the ROCm backend here and of CUDA on a card: what a row says of
//! a case is what the run showed.

use std::path::Path;

use parity_model::{Case, Verdict, findings::Findings, record::RunRecord};
use parity_run::{findings, records, specs};

/// Whatever the findings say of these backends and the record does not show, of the cases that it has.
fn complaints(findings: &Findings, run: &RunRecord, backends: &[&str]) -> Vec<String> {
    // A record may be older than the table: of an op that means something for more dtypes now, it has cases that are none any more.
    let known = run.cases.iter();
    let cases: Vec<(Case, _)> = known
        .filter_map(|record| Some((record.id.parse().ok()?, record)))
        .collect();
    assert!(cases.len() + 100 > run.cases.len(), "{} are cases", cases.len());
    let mut complaints = Vec::new();
    for known in findings.rows().filter(|known| !known.row.may_pass) {
        let name = &known.finding.name;
        let asked = |backend: &&String| backends.contains(&backend.as_str());
        for backend in known.row.backends.iter().filter(asked) {
            let column = run
                .backends
                .iter()
                .position(|info| info.backend == *backend)
                .unwrap();
            let meant = cases.iter().filter(|(case, _)| known.row.cases.matches(case));
            let verdicts = meant.map(|(_, record)| (&record.id, record.results[column].verdict));
            let (failed, other): (Vec<_>, Vec<_>) =
                verdicts.partition(|(_, verdict)| *verdict == Verdict::KnownFailure);
            if failed.is_empty() && other.is_empty() {
                complaints.push(format!("{name}: {backend} has no case of {}", known.row.cases));
            } else if failed.is_empty() {
                complaints.push(format!(
                    "{name}: no case of a row fails on {backend}: {}",
                    known.row.cases
                ));
            }
            let passed = other
                .iter()
                .map(|(id, verdict)| format!("{name}: {id} is {} on {backend}", verdict.name()));
            complaints.extend(passed);
        }
    }
    complaints
}

#[test]
fn every_row_names_cases_that_fail_and_no_others() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let spec_dir = root.join("op-specs");
    let all = specs::load(&spec_dir).unwrap();
    let mut findings = findings::load(None, &spec_dir, &all).unwrap();
    let record = |name: &str| records::read(&root.join("reports").join(name)).unwrap().run;
    let (here, card) = (record("run.json.gz"), record("h200.json.gz"));
    assert_eq!(complaints(&findings, &here, &["cpu", "rocm"]), [] as [&str; 0]);
    // Seen on a card on 2026-11-29, in a run that is not stored: the cases are newer than the record that is.
    let unseen = [
        r#"cuda-f8e4m3-not-found: cuda has no case of op = ["rotating_kv_cache"], dtype = ["f8e4m3"], layout = { 0 = ["cropped", "rotated"] }"#,
        r#"indexing-refuses-views: cuda has no case of op = ["gather", "scatter"], index_dtype = ["i16", "i32"], layout = { 1 = ["strided"] }"#,
    ];
    assert_eq!(complaints(&findings, &card, &["cuda"]), unseen);
    // The check is one: a row that is as wide as its op names cases that pass.
    let relu = findings
        .findings
        .iter_mut()
        .find(|finding| finding.name == "relu-loses-nan")
        .unwrap();
    relu.rows[0].cases.values.clear();
    assert!(complaints(&findings, &here, &["cpu", "rocm"]).len() > 100);
}
