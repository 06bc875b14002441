//! The last line of a command: which command comes next on the way from a failing run to a gate that passes.

use std::path::Path;

use parity_model::{
    Case, Verdict,
    record::{BackendInfo, CaseRecord, CaseResult, RECORDED, RunRecord},
};
use parity_report::{backend_arg, repro};
use parity_run::{Column, Settings, baseline::Update, quoted};

/// What a stored run is called in commands where its file is not known.
const RECORD: &str = "run.json";

fn next(command: &str) -> String {
    format!("\nnext: {command}\n")
}

/// `--spec-dir dir`, where one was named.
fn spec_dir(dir: Option<&Path>) -> String {
    dir.map(|dir| format!(" --spec-dir {}", quoted(&dir.to_string_lossy())))
        .unwrap_or_default()
}

/// `--findings dir`, where one was named.
fn with_findings(findings: Option<&Path>) -> String {
    findings
        .map(|dir| format!(" --findings {}", quoted(&dir.to_string_lossy())))
        .unwrap_or_default()
}

/// The arguments that a run was given besides its selection. All commands that run cases take them, except
/// `--against`: only `parity run` compares with recorded outputs.
fn again(repro_args: &[String], findings: Option<&Path>) -> String {
    let args = repro_args.iter().filter(|arg| !arg.starts_with("--against"));
    let args: String = args.map(|arg| format!(" {arg}")).collect();
    args + &with_findings(findings)
}

/// After a failure was named: its case explained. One of recorded outputs cannot be, for its backend is elsewhere: where a
/// case was not recorded, the recording is verified, and where it is wrong, the case runs beside it.
pub(crate) fn explain(
    run: &RunRecord,
    case: &CaseRecord,
    info: &BackendInfo,
    result: &CaseResult,
    findings: Option<&Path>,
) -> String {
    let id = &case.id;
    match (info.backend.strip_prefix(RECORDED), result.verdict) {
        (None, _) => next(&format!(
            "parity explain '{id}'{}{}",
            backend_arg(info),
            again(&run.repro_args, findings)
        )),
        (Some(name), Verdict::NotRun) => next(&format!("parity golden verify {}", quoted(name))),
        (Some(_), _) => next(&repro(run, id, &info.backend)),
    }
}

/// After `parity run`: the first failure explained; or the stored run gated. `stored` is the file of the JSON record, if
/// that was written.
pub(crate) fn after_run(run: &RunRecord, stored: Option<&Path>, findings: Option<&Path>) -> Option<String> {
    let results = run.cases.iter().flat_map(|case| {
        run.backends
            .iter()
            .zip(&case.results)
            .map(move |(info, result)| (case, info, result))
    });
    let failing: Vec<(&CaseRecord, &BackendInfo, &CaseResult)> = results
        .filter(|(_, _, result)| result.verdict.fails_run())
        .collect();
    let surprise = |verdict: Verdict| verdict == Verdict::UnexpectedPass;
    let file = stored.map_or(RECORD.to_owned(), |path| quoted(&path.to_string_lossy()));
    let explained = failing.iter().find(|(_, _, result)| !surprise(result.verdict));
    match (explained, failing.first()) {
        (Some((case, info, result)), _) => Some(explain(run, case, info, result, findings)),
        (None, Some((_, info, _))) => {
            let store = match stored {
                Some(_) => String::new(),
                None => format!("add --format json --out {RECORD}, then "),
            };
            let dir = run.repro_args.iter().filter(|arg| arg.starts_with("--spec-dir"));
            let dir: String = dir.map(|arg| format!(" {arg}")).collect::<String>() + &with_findings(findings);
            Some(next(&format!(
                "{store}parity baseline update {file} --backend {}{dir}",
                info.backend
            )))
        }
        (None, None) => {
            let backend = &run.backends.last()?.backend;
            stored.map(|_| next(&format!("parity gate {file} --backend {backend} --min 99")))
        }
    }
}

/// After `parity explain`: the case shrunk, on the first backend that fails; nothing where none does.
pub(crate) fn after_explain(run: &RunRecord, findings: Option<&Path>) -> Option<String> {
    let case = run.cases.first()?;
    let mut columns = run.backends.iter().zip(&case.results);
    let fails = |result: &CaseResult| match result.verdict {
        Verdict::KnownFailure => true,
        Verdict::UnexpectedPass | Verdict::NotRun => false,
        verdict => verdict.fails_run(),
    };
    let (info, _) = columns.find(|(_, result)| fails(result))?;
    Some(next(&format!(
        "parity shrink '{}'{}{}",
        case.id,
        backend_arg(info),
        again(&run.repro_args, findings)
    )))
}

/// After `parity shrink` on the last column: the case pinned; where that has been asked for, the failure accepted.
pub(crate) fn after_shrink(case: &Case, settings: &Settings, pinned: bool) -> String {
    let info = settings.columns.last().map(Column::info);
    let (backend, arg) = info.map_or_else(Default::default, |info| {
        let arg = backend_arg(&info);
        (info.backend, arg)
    });
    let findings = settings.findings.as_deref();
    let (again, dir) = (
        again(&settings.repro_args(), findings),
        settings.selection.spec_dir.as_deref(),
    );
    if pinned {
        let dir = spec_dir(dir) + &with_findings(findings);
        return next(&format!(
            "parity run{arg} --tags pinned{again} --format json --out {RECORD}, then parity baseline update \
             {RECORD} --backend {backend}{dir} --reason TEXT"
        ));
    }
    let folder = dir.unwrap_or(Path::new("op-specs"));
    let file = folder.join(format!("{}.toml", case.op.family()));
    let file = quoted(&file.to_string_lossy());
    next(&format!("parity shrink '{}'{arg}{again} --pin {file}", case.id()))
}

/// After `parity baseline update`: the run that the new list is to explain.
pub(crate) fn after_baseline(args: &Update, info: &BackendInfo) -> String {
    let (backend, dir) = (&args.backend, spec_dir(args.spec_dir.as_deref()));
    next(&format!(
        "parity run{}{}{dir} --format json --out {RECORD}, then parity gate {RECORD} --backend {backend} \
         --min 99",
        backend_arg(info),
        with_findings(args.findings.as_deref())
    ))
}

#[cfg(test)]
mod tests {
    use parity_model::record::RECORD_VERSION;

    use super::*;

    fn run(verdicts: &[Verdict]) -> RunRecord {
        let case = |(i, verdict): (usize, &Verdict)| {
            let case: Case = format!("unary/neg:f32:[{}]:contiguous:any", i + 1)
                .parse()
                .unwrap();
            let json = format!(
                r#"{{"verdict":"{}","vs_oracle":null,"vs_reference":null,"note":null,"fallbacks":[],"served_by":[],"millis":0.0}}"#,
                verdict.name()
            );
            CaseRecord::of(&case, String::new(), vec![serde_json::from_str(&json).unwrap()])
        };
        RunRecord {
            version: RECORD_VERSION,
            parity_version: String::new(),
            candle_version: String::new(),
            commit: None,
            started: String::new(),
            seconds: 0.0,
            seed: 7,
            specs: String::new(),
            shard: None,
            reference: "one".to_owned(),
            backends: vec![BackendInfo {
                backend: "one".to_owned(),
                device: String::new(),
                level: String::new(),
                driver: String::new(),
                target: String::new(),
                host: None,
                selector: None,
            }],
            repro_args: vec!["--seed 7".to_owned(), "--no-fallback".to_owned()],
            planned: verdicts.len(),
            not_recorded: 0,
            cases: verdicts.iter().enumerate().map(case).collect(),
        }
    }

    #[test]
    fn a_failure_is_explained_before_a_surprise_is_taken_in() {
        let run = run(&[Verdict::Pass, Verdict::UnexpectedPass, Verdict::Mismatch]);
        let line = after_run(&run, None, None).unwrap();
        assert_eq!(
            line,
            "\nnext: parity explain 'unary/neg:f32:[3]:contiguous:any' --backend one --seed 7 --no-fallback\n"
        );
    }

    /// The same, on another host or recorded.
    fn on(mut run: RunRecord, backend: &str, host: Option<&str>) -> RunRecord {
        run.backends[0].backend = backend.to_owned();
        run.backends[0].host = host.map(str::to_owned);
        run
    }

    #[test]
    fn a_backend_of_another_host_is_named_with_its_place_in_every_command_that_runs_it() {
        let remote = |verdict| on(run(&[verdict]), "one", Some("ssh://gpu7"));
        let option = "--backend 'one=ssh://gpu7'";
        let failing = remote(Verdict::Mismatch);
        for line in [after_run(&failing, None, None), after_explain(&failing, None)] {
            assert!(
                line.as_ref().is_some_and(|line| line.contains(option)),
                "{line:?}"
            );
        }
        // A stored run knows its columns by their names.
        let gate = after_run(&remote(Verdict::Pass), Some(Path::new("a.json")), None).unwrap();
        assert!(gate.contains("--backend one --min"), "{gate}");
    }

    #[test]
    fn recorded_outputs_are_verified_or_run_beside_and_never_explained() {
        let line = |verdict| {
            let mut run = on(run(&[verdict]), "golden:card", None);
            run.repro_args.push("--against golden:card".to_owned());
            after_run(&run, None, None).unwrap()
        };
        assert_eq!(line(Verdict::NotRun), "\nnext: parity golden verify card\n");
        assert_eq!(
            line(Verdict::Mismatch),
            "\nnext: parity run --case 'unary/neg:f32:[1]:contiguous:any' --seed 7 --no-fallback --against golden:card\n"
        );
        // The control: beside it a backend fails that runs, and `explain` compares with no recording.
        let mut both = run(&[Verdict::Mismatch]);
        both.repro_args.push("--against golden:card".to_owned());
        let line = after_run(&both, None, None).unwrap();
        assert!(
            line.contains("parity explain") && !line.contains("--against"),
            "{line}"
        );
    }

    #[test]
    fn surprises_go_to_the_baseline_and_success_to_the_gate() {
        let surprise = after_run(&run(&[Verdict::UnexpectedPass]), None, None).unwrap();
        assert!(
            surprise.contains("--format json --out run.json, then parity baseline update run.json"),
            "{surprise}"
        );
        let pass = run(&[Verdict::Pass]);
        assert_eq!(
            after_run(&pass, None, None),
            None,
            "nothing is stored that could be gated"
        );
        let gate = after_run(&pass, Some(Path::new("a.json")), None).unwrap();
        assert_eq!(gate, "\nnext: parity gate a.json --backend one --min 99\n");
    }

    #[test]
    fn what_is_known_to_fail_can_be_shrunk_too() {
        let line = after_explain(&run(&[Verdict::KnownFailure]), Some(Path::new("k"))).unwrap();
        assert!(
            line.contains(
                "parity shrink 'unary/neg:f32:[1]:contiguous:any' --backend one --seed 7 --no-fallback --findings k"
            ),
            "{line}"
        );
        assert_eq!(after_explain(&run(&[Verdict::Pass]), None), None);
    }
}
