//! The supervisor against workers that crash, hang, panic and babble: real processes, real signals.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::{
    fs,
    path::Path,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use parity_exec::{Execution, Settings, StartError, Stop, Supervisor, WorkerCommand};
use parity_model::{Case, Outcome, Refusal};

fn command(mode: &str) -> WorkerCommand {
    WorkerCommand {
        backend: "mock".to_owned(),
        program: env!("CARGO_BIN_EXE_parity-mock-worker").into(),
        args: vec![mode.to_owned()],
        env: vec![],
        host: None,
        candle: None,
    }
}

/// A worker that leaves a file behind.
fn marked(mode: &str, marker: &Path) -> WorkerCommand {
    let env = vec![("MOCK_MARKER".to_owned(), marker.display().to_string())];
    WorkerCommand { env, ..command(mode) }
}

fn settings(jobs: usize) -> Settings {
    Settings {
        jobs,
        case_limit: Duration::from_secs(30),
        start_limit: Duration::from_secs(30),
        seed: 7,
        memory_limit: None,
        cover: false,
        wave_limit: None,
        twice: false,
        stop: Stop::default(),
    }
}

fn case(op: &str) -> Case {
    // Their parameters are part of their names in an id.
    let op = match op {
        "affine" => "affine(2,1)",
        "clamp" => "clamp(0,1)",
        "elu" => "elu(1)",
        "powf" => "powf(2)",
        op => op,
    };
    format!("unary/{op}:f32:[2,3]:contiguous:uniform(-10,10)")
        .parse()
        .unwrap()
}

/// Runs cases on one backend; an execution each.
fn execute(command: WorkerCommand, settings: Settings, cases: &[Case]) -> Vec<Execution> {
    let supervisor = Supervisor::start(vec![command], settings).unwrap();
    let executions = supervisor.run(cases, |_, _| {}, |_, _, mut executions| executions.remove(0));
    executions
        .into_iter()
        .map(|execution| execution.unwrap())
        .collect()
}

/// Runs ops of the mock; one outcome an op.
fn run(ops: &[&str], settings: Settings) -> Vec<Outcome> {
    let cases: Vec<_> = ops.iter().map(|op| case(op)).collect();
    let executions = execute(command(""), settings, &cases);
    executions
        .into_iter()
        .map(|Execution { outcome, .. }| outcome)
        .collect()
}

#[track_caller]
fn assert_echoed(outcome: &Outcome, op: &str) {
    assert_eq!(*outcome, Outcome::Ran(case(op).inputs(7).remove(0)), "{op}");
}

/// How a worker died, and its last words.
#[track_caller]
fn crashed(outcome: &Outcome) -> (&str, &str) {
    match outcome {
        Outcome::Crashed { how, stderr } => (how, stderr),
        other => panic!("nothing crashed: {other:?}"),
    }
}

#[test]
fn results_come_back_in_plan_order_whatever_the_workers_do() {
    let ops: Vec<_> = ["exp", "log", "powf"].into_iter().cycle().take(40).collect();
    let outcomes = run(&ops, settings(4));
    assert_eq!(outcomes.len(), ops.len());
    for (outcome, op) in outcomes.iter().zip(ops) {
        assert_echoed(outcome, op);
    }
}

#[test]
fn a_crash_costs_one_case_and_is_reported_with_signal_and_last_words() {
    let outcomes = run(&["exp", "abs", "log"], settings(1));
    assert_echoed(&outcomes[0], "exp");
    let (how, stderr) = crashed(&outcomes[1]);
    assert!(how.contains("SIGABRT"), "{how}");
    assert_eq!(stderr, "about to abort");
    assert_echoed(&outcomes[2], "log");
}

#[test]
fn an_access_to_memory_of_anothers_costs_one_case_and_is_called_by_its_name() {
    let outcomes = run(&["gelu_erf", "exp"], settings(1));
    let (how, _) = crashed(&outcomes[0]);
    assert!(how.contains("SIGSEGV"), "{how}");
    assert_echoed(&outcomes[1], "exp");
}

#[test]
fn the_first_words_of_a_dying_worker_are_kept_above_a_long_backtrace() {
    let outcomes = run(&["affine", "exp"], settings(1));
    let (how, stderr) = crashed(&outcomes[0]);
    assert!(
        how.starts_with("out of memory, ") && how.contains("SIGABRT"),
        "{how}"
    );
    assert!(
        stderr.starts_with("memory allocation of 4096 bytes failed\n"),
        "{stderr}"
    );
    assert!(
        stderr.contains("\n[..]\n") && stderr.ends_with(" 499: a::function::of::the::program"),
        "{stderr}"
    );
    assert!(stderr.len() < 6000, "{} bytes are kept", stderr.len());
    assert_echoed(&outcomes[1], "exp");
}

#[test]
fn loading_kernels_takes_none_of_a_cases_time() {
    let settings = Settings {
        case_limit: Duration::from_secs(1),
        ..settings(1)
    };
    let outcomes = run(&["clamp", "ceil", "exp"], settings);
    assert_echoed(&outcomes[0], "clamp");
    // The clock runs again.
    assert_eq!(outcomes[1], Outcome::TimedOut { limit_ms: 1000 });
    assert_echoed(&outcomes[2], "exp");
}

#[test]
fn a_hang_costs_one_case_and_its_time_limit() {
    let settings = Settings {
        case_limit: Duration::from_millis(300),
        ..settings(1)
    };
    let outcomes = run(&["ceil", "exp"], settings);
    assert_eq!(outcomes[0], Outcome::TimedOut { limit_ms: 300 });
    assert_echoed(&outcomes[1], "exp");
}

#[test]
fn a_panic_is_a_refusal_with_its_text_and_the_worker_lives_on() {
    let outcomes = run(&["sqr", "sign", "sqr"], settings(1));
    let Outcome::Refused {
        refusal: Refusal::Panic,
        message,
    } = &outcomes[1]
    else {
        panic!("{:?}", outcomes[1])
    };
    assert!(message.starts_with("the sign is wrong, at "), "{message}");
    assert_eq!(outcomes[0], outcomes[2], "another process answered");
}

#[test]
fn a_device_fault_retires_the_worker() {
    let outcomes = run(&["sqr", "relu", "sqr"], settings(1));
    assert_ne!(
        outcomes[0], outcomes[2],
        "the same process answered, on a device that is lost"
    );
}

#[test]
fn what_a_library_prints_on_stdout_harms_nothing() {
    let outcomes = run(&["floor", "exp"], settings(1));
    assert!(matches!(&outcomes[0], Outcome::Refused { message, .. } if message == "babbled: true"));
    assert_echoed(&outcomes[1], "exp");
}

#[test]
fn what_a_killed_worker_started_dies_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("grandchild");
    let cases = [case("round")];
    let settings = Settings {
        case_limit: Duration::from_secs(2),
        ..settings(1)
    };
    let executions = execute(marked("", &marker), settings, &cases);
    assert_eq!(executions[0].outcome, Outcome::TimedOut { limit_ms: 2000 });
    assert_ends(&marker);
}

/// Asserts that the process whose id is in a file ends.
#[track_caller]
fn assert_ends(marker: &Path) {
    // Gone, or a zombie that nobody has collected yet. The kernel gets round to a killed process when it schedules it, which
    // on a busy machine is later than the supervisor's answer.
    let stat = format!("/proc/{}/stat", fs::read_to_string(marker).unwrap());
    let lives = || fs::read_to_string(&stat).is_ok_and(|state| !state.contains(") Z "));
    let ends_by = Instant::now() + Duration::from_secs(20);
    while lives() && Instant::now() < ends_by {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!lives(), "{:?}", fs::read_to_string(&stat));
}

#[test]
fn a_worker_that_cannot_be_restarted_leaves_its_cases_missing_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let cases: Vec<_> = ["abs", "exp", "exp", "exp", "exp"].map(case).into();
    let command = marked("starts-once", &dir.path().join("started"));
    let executions = execute(command, settings(1), &cases);
    let outcomes: Vec<_> = executions
        .into_iter()
        .map(|execution| execution.outcome)
        .collect();
    assert!(matches!(outcomes[0], Outcome::Crashed { .. }));
    for outcome in &outcomes[1..4] {
        assert!(
            matches!(outcome, Outcome::Missing { reason } if reason.contains("did not come up")),
            "{outcome:?}"
        );
    }
    let given_up = "the mock worker failed to start 3 times in a row";
    assert_eq!(
        outcomes[4],
        Outcome::Missing {
            reason: given_up.to_owned()
        }
    );
}

#[test]
fn every_backend_runs_every_case() {
    let cases = [case("exp"), case("abs"), case("log")];
    let supervisor = Supervisor::start(vec![command(""), command("")], settings(2)).unwrap();
    assert_eq!(supervisor.backends().len(), 2);
    let started = Mutex::new(vec![]);
    let starting = |index, column| started.lock().unwrap().push((index, column));
    let counts = supervisor.run(&cases, starting, |index, case, executions| {
        let both = [(index, 0), (index, 1)];
        let begun = both.iter().all(|pair| started.lock().unwrap().contains(pair));
        (case.op.name(), executions.len(), begun)
    });
    let counts: Vec<_> = counts.into_iter().flatten().collect();
    assert_eq!(counts, [("exp", 2, true), ("abs", 2, true), ("log", 2, true)]);
}

#[test]
fn a_fallback_is_told_for_its_own_case_only() {
    let cases = [case("exp"), case("erf"), case("exp")];
    let executions = execute(command(""), settings(1), &cases);
    let fallbacks: Vec<_> = executions
        .into_iter()
        .map(|execution| execution.fallbacks)
        .collect();
    assert_eq!(fallbacks, [vec![], vec!["erf".to_owned()], vec![]]);
}

#[test]
fn a_refusal_has_no_fallback_for_nothing_was_computed() {
    let executions = execute(command(""), settings(1), &[case("elu")]);
    assert!(matches!(executions[0].outcome, Outcome::Refused { .. }));
    assert_eq!(executions[0].fallbacks, [] as [&str; 0]);
}

#[test]
fn a_wrong_value_and_nan_come_back_as_they_are() {
    let outcomes = run(&["neg", "recip"], settings(1));
    let Outcome::Ran(right) = &run(&["exp"], settings(1))[0] else {
        panic!("exp echoes")
    };
    let Outcome::Ran(wrong) = &outcomes[0] else {
        panic!("{:?}", outcomes[0])
    };
    assert_ne!(wrong.bytes, right.bytes);
    assert_eq!(wrong.shape, right.shape);
    let Outcome::Ran(nan) = &outcomes[1] else {
        panic!("{:?}", outcomes[1])
    };
    assert!(
        nan.bytes
            .chunks(4)
            .all(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).is_nan())
    );
}

#[test]
fn what_a_worker_did_not_run_is_missing_with_its_reason() {
    let reason = "nothing to run".to_owned();
    assert_eq!(run(&["gelu"], settings(1)), [Outcome::Missing { reason }]);
}

#[test]
fn a_worker_killed_from_outside_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let command = marked("", &dir.path().join("killed"));
    let executions = execute(command, settings(1), &[case("cos"), case("exp")]);
    assert_echoed(&executions[0].outcome, "cos");
    let remark = executions[0].remark.as_deref().unwrap();
    assert!(remark.starts_with("run again in a fresh worker"), "{remark}");
    assert_echoed(&executions[1].outcome, "exp");
    assert_eq!(executions[1].remark, None);
}

#[test]
fn a_worker_killed_twice_is_a_crash() {
    let outcomes = run(&["tanh", "exp"], settings(1));
    let (how, stderr) = crashed(&outcomes[0]);
    assert!(
        how.starts_with("killed from outside (SIGKILL), as the worker before it"),
        "{how}"
    );
    assert_eq!(stderr, "");
    assert_echoed(&outcomes[1], "exp");
}

#[test]
fn a_worker_that_needs_more_than_its_memory_is_out_of_memory() {
    let limit = |memory_limit| {
        let settings = Settings {
            memory_limit,
            ..settings(1)
        };
        run(&["silu", "exp"], settings)
    };
    let outcomes = limit(Some(64 << 20));
    let (how, stderr) = crashed(&outcomes[0]);
    assert!(
        how.starts_with("out of memory, ") && how.contains("SIGABRT"),
        "{how}"
    );
    assert!(
        stderr.contains("memory allocation of 268435456 bytes failed"),
        "{stderr}"
    );
    assert_echoed(&outcomes[1], "exp");
    assert_echoed(&limit(Some(1 << 30))[0], "silu");
    assert_echoed(&limit(None)[0], "silu");
}

#[test]
fn an_isolated_case_gets_a_worker_of_its_own() {
    let pids = |isolated: bool| {
        let mut cases = [case("sqr"), case("sqr"), case("sqr")];
        cases[1].isolated = isolated;
        execute(command(""), settings(1), &cases)
            .into_iter()
            .map(|execution| execution.outcome)
            .collect::<Vec<_>>()
    };
    let shared = pids(false);
    assert!(shared[0] == shared[1] && shared[1] == shared[2], "{shared:?}");
    let apart = pids(true);
    assert!(apart[0] != apart[1] && apart[1] != apart[2], "{apart:?}");
}

#[test]
fn a_case_that_runs_twice_tells_whether_it_did_the_same() {
    let twice = Settings {
        twice: true,
        ..settings(1)
    };
    let cases = [case("exp"), case("sqrt"), case("sign"), case("abs")];
    let executions = execute(command(""), twice, &cases);
    assert_eq!(executions[0].again, None);
    let (Outcome::Ran(first), Some(Outcome::Ran(second))) = (&executions[1].outcome, &executions[1].again)
    else {
        panic!("{:?}", executions[1])
    };
    let other: Vec<_> = (0..first.bytes.len())
        .filter(|&i| first.bytes[i] != second.bytes[i])
        .collect();
    assert_eq!(other, [8]);
    assert_eq!(executions[2].again, None, "the same panic twice");
    assert!(matches!(executions[3].outcome, Outcome::Crashed { .. }));
    assert_eq!(execute(command(""), settings(1), &cases)[1].again, None);
}

#[test]
fn a_stopped_run_kills_its_workers_and_keeps_what_was_finished() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("hung");
    let settings = settings(1);
    let stop = settings.stop.clone();
    let cases = [case("exp"), case("sin"), case("exp")];
    let supervisor = Supervisor::start(vec![marked("", &marker)], settings).unwrap();
    let results = thread::scope(|scope| {
        scope.spawn(|| {
            while !fs::read(&marker).is_ok_and(|pid| !pid.is_empty()) {
                thread::sleep(Duration::from_millis(10));
            }
            stop.request();
        });
        supervisor.run(&cases, |_, _| {}, |index, _, _| index)
    });
    assert_eq!(results, [Some(0), None, None]);
    assert_ends(&marker);
}

#[test]
fn the_end_of_the_pipe_ends_a_busy_worker_that_no_signal_reaches() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("hung");
    // As `ssh` does: what the supervisor started holds the pipes, and the worker is another's child, in a session of its own.
    let script = format!(
        "exec 3<&0; (setsid '{}' '' <&3 3<&- &); exec 3<&-; exec sleep 5 <&-",
        env!("CARGO_BIN_EXE_parity-mock-worker")
    );
    let command = WorkerCommand {
        program: "sh".into(),
        args: vec!["-c".to_owned(), script],
        host: Some("exec:sh".to_owned()),
        ..marked("", &marker)
    };
    let settings = Settings {
        case_limit: Duration::from_secs(2),
        ..settings(1)
    };
    let supervisor = Supervisor::start(vec![command], settings).unwrap();
    assert_eq!(supervisor.backends()[0].host.as_deref(), Some("exec:sh"));
    let outcomes = supervisor.run(
        &[case("sin"), case("exp")],
        |_, _| {},
        |_, _, mut executions| executions.remove(0).outcome,
    );
    assert_eq!(outcomes[0], Some(Outcome::TimedOut { limit_ms: 2000 }));
    assert_echoed(outcomes[1].as_ref().unwrap(), "exp");
    assert_ends(&marker);
}

#[test]
fn a_program_that_leads_to_a_worker_may_write_its_report_when_the_worker_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "'{}' ''; echo the worker ended by itself: $? >>\"$MOCK_MARKER\"",
        env!("CARGO_BIN_EXE_parity-mock-worker")
    );
    // A worker that waits at the run's end, and one that serves an isolated case alone.
    for (isolated, reports) in [(false, 1), (true, 3)] {
        let report = dir.path().join(reports.to_string());
        let command = WorkerCommand {
            program: "sh".into(),
            args: vec!["-c".to_owned(), script.clone()],
            host: Some("exec:sh".to_owned()),
            ..marked("", &report)
        };
        let case = Case {
            isolated,
            ..case("exp")
        };
        let executions = execute(command, settings(1), &[case.clone(), case]);
        assert_echoed(&executions[1].outcome, "exp");
        let lines = "the worker ended by itself: 0\n".repeat(reports);
        assert_eq!(fs::read_to_string(&report).unwrap(), lines);
    }
}

#[test]
fn a_worker_of_another_parity_is_refused_with_what_differs() {
    let long = Duration::from_secs(30);
    let error = assert_start_fails(
        command("other-protocol"),
        long,
        "it speaks version 1000000 of the worker protocol",
    );
    assert!(matches!(error, StartError::Version { .. }));
    let error = assert_start_fails(
        command("other-build"),
        long,
        "it is parity 0.0.1, candle-core 0.9.0; this is parity ",
    );
    assert!(error.to_string().ends_with("install the same one at both ends"));
}

#[track_caller]
fn assert_start_fails(command: WorkerCommand, start_limit: Duration, want: &str) -> StartError {
    let error = Supervisor::start(
        vec![command],
        Settings {
            start_limit,
            ..settings(1)
        },
    )
    .err();
    let error = error.expect("the worker came up");
    assert!(error.to_string().contains(want), "{error}");
    error
}

#[test]
fn a_device_that_does_not_open_is_the_backends_own_words() {
    let error = assert_start_fails(
        command("no-device"),
        Duration::from_secs(30),
        "there is no GPU in this machine",
    );
    assert!(matches!(error, StartError::Unavailable { .. }));
}

#[test]
fn a_worker_that_does_not_come_up_is_one_error_that_says_why() {
    let long = Duration::from_secs(30);
    assert_start_fails(command("dies-at-start"), long, "SIGABRT");
    assert_start_fails(
        command("hangs-at-start"),
        Duration::from_millis(200),
        "no answer within 200ms",
    );
    assert_start_fails(command("garbage"), long, "expected a frame");
    let absent = WorkerCommand {
        program: "/no/such/program".into(),
        ..command("")
    };
    assert_start_fails(absent, long, "cannot start the mock worker `/no/such/program`");
}
