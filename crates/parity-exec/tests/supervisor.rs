//! The supervisor against workers that crash, hang, panic and babble: real processes, real signals.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use parity_exec::{Execution, Settings, StartError, Supervisor, WorkerCommand};
use parity_model::{Case, Outcome, Refusal};

fn command(mode: &str) -> WorkerCommand {
    WorkerCommand {
        backend: "mock".to_owned(),
        program: env!("CARGO_BIN_EXE_parity-mock-worker").into(),
        args: vec![mode.to_owned()],
        env: vec![],
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
    }
}

fn case(op: &str) -> Case {
    format!("unary/{op}:f32:[2,3]:contiguous:uniform(-10,10)")
        .parse()
        .unwrap()
}

/// Runs ops of the mock in one lane unless told otherwise; one outcome per op.
fn run(ops: &[&str], settings: Settings) -> Vec<Outcome> {
    let cases: Vec<_> = ops.iter().map(|op| case(op)).collect();
    let supervisor = Supervisor::start(vec![command("")], settings).unwrap();
    let executions = supervisor.run(&cases, |_, mut executions| executions.remove(0));
    executions
        .into_iter()
        .map(|Execution { outcome, .. }| outcome)
        .collect()
}

#[track_caller]
fn assert_echoed(outcome: &Outcome, op: &str) {
    assert_eq!(*outcome, Outcome::Ran(case(op).inputs(7).remove(0)), "{op}");
}

#[test]
fn results_come_back_in_plan_order_whatever_the_lanes_do() {
    let ops: Vec<_> = ["exp", "log", "sin", "cos", "tanh"]
        .into_iter()
        .cycle()
        .take(40)
        .collect();
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
    let Outcome::Crashed { how, stderr } = &outcomes[1] else {
        panic!("{:?}", outcomes[1])
    };
    assert!(how.contains("SIGABRT"), "{how}");
    assert_eq!(stderr, "about to abort");
    assert_echoed(&outcomes[2], "log");
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
    let supervisor = Supervisor::start(vec![marked("", &marker)], settings).unwrap();
    let outcomes = supervisor.run(&cases, |_, mut executions| executions.remove(0).outcome);
    assert_eq!(outcomes, [Outcome::TimedOut { limit_ms: 2000 }]);
    // Gone, or a zombie that nobody has collected yet. The kernel gets round to a killed process when it schedules it, which
    // on a busy machine is later than the supervisor's answer.
    let stat = format!("/proc/{}/stat", fs::read_to_string(&marker).unwrap());
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
    let supervisor = Supervisor::start(vec![command], settings(1)).unwrap();
    let outcomes = supervisor.run(&cases, |_, mut executions| executions.remove(0).outcome);
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
    let counts = supervisor.run(&cases, |case, executions| (case.op.name(), executions.len()));
    assert_eq!(counts, [("exp", 2), ("abs", 2), ("log", 2)]);
}

#[test]
fn a_fallback_is_told_for_its_own_case_only() {
    let supervisor = Supervisor::start(vec![command("")], settings(1)).unwrap();
    let cases = [case("exp"), case("erf"), case("exp")];
    let fallbacks = supervisor.run(&cases, |_, mut executions| executions.remove(0).fallbacks);
    assert_eq!(fallbacks, [vec![], vec!["erf".to_owned()], vec![]]);
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
