//! The ways to state a finding: a wrong value, an error, a panic, a call that never ends, a lost device. Holds no finding.

use std::{
    any::Any,
    env,
    fmt::Debug,
    panic::{self, AssertUnwindSafe},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use candle_core::Result;
use rustix::process::{Resource, Rlimit, setrlimit};

const FIXED: &str = "fixed: remove the finding";

/// Candle gives `today` where `right` is right. Values are compared as they print, so that NaN equals NaN and 0 is not -0.
#[track_caller]
pub(crate) fn finding(now: impl Debug, today: impl Debug, right: impl Debug) {
    let (now, today, right) = (format!("{now:?}"), format!("{today:?}"), format!("{right:?}"));
    assert_ne!(today, right, "a finding needs two values that differ");
    assert_ne!(now, right, "{FIXED}");
    assert_eq!(now, today, "candle gives a new wrong value; {right} is right");
}

/// Candle refuses what it should compute, and says `why`.
#[track_caller]
pub(crate) fn refuses<T>(result: Result<T>, why: &str) {
    let Err(error) = result else { panic!("{FIXED}") };
    assert!(
        error.to_string().contains(why),
        "candle refuses in other words: {error}"
    );
}

/// Candle panics where it should answer or return an error; the panic's message holds `why`.
#[track_caller]
pub(crate) fn panics<T>(work: impl FnOnce() -> T, why: &str) {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(work)) else {
        panic!("{FIXED}")
    };
    let message = text(payload.as_ref());
    assert!(message.contains(why), "candle panics in other words: {message}");
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

/// How long a call may take that should take no time, and how much memory it may eat meanwhile.
const PATIENCE: Duration = Duration::from_secs(4);
const MEMORY: u64 = 2 << 30;

/// Names, in a child process, the test whose body it is to run.
const CHILD: &str = "CANDLE_FINDING";

/// Candle never comes back from `work`: not in [`PATIENCE`], or not before it has eaten [`MEMORY`] or the stack.
///
/// `module` is that of the calling test, which is named `repro` and which a child process runs again. A child that a busy
/// machine starves counts as hung: the finding is then believed a little longer, never dropped by mistake.
#[track_caller]
pub(crate) fn never_ends<T>(module: &str, work: impl FnOnce() -> Result<T>) {
    let test = &test_of(module);
    if env::var_os(CHILD).is_some_and(|child| child == **test) {
        let limit = Rlimit {
            current: Some(MEMORY),
            maximum: Some(MEMORY),
        };
        setrlimit(Resource::As, limit).unwrap();
        work().unwrap();
        return;
    }
    let status = run_again(test);
    assert!(!status.is_some_and(|status| status.success()), "{FIXED}");
}

/// What the child of [`faults`] says when it has seen the error. It may then hang: a process that has lost its device need
/// not come to an end by itself.
#[cfg(feature = "cuda")]
const FAULTED: &str = "as found";

/// The device reports a fault with the words `why`, and is lost: a child process runs `work`, which must end in that error.
#[cfg(feature = "cuda")]
#[track_caller]
pub(crate) fn faults<T>(module: &str, why: &str, work: impl FnOnce() -> Result<T>) {
    use std::io::{BufRead, BufReader, Write, stdout};

    let test = &test_of(module);

    if env::var_os(CHILD).is_some_and(|child| child == **test) {
        let Err(error) = work() else { panic!("{FIXED}") };
        assert!(error.to_string().contains(why), "another fault: {error}");
        writeln!(stdout(), "\n{FAULTED}").unwrap();
        return;
    }
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(CHILD, test)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let faulted = lines.any(|line| line.unwrap() == FAULTED);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(faulted, "the child's words say why");
}

/// The name by which the test program knows the test `repro` of a module.
fn test_of(module: &str) -> String {
    let within = module.split_once("::").map_or(module, |(_, within)| within);
    format!("{within}::repro")
}

/// Runs one test in a process of its own; None when it had to be killed.
fn run_again(test: &str) -> Option<ExitStatus> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads=1"])
        .env(CHILD, test)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ends_by = Instant::now() + PATIENCE;
    while Instant::now() < ends_by {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

mod a_call_that_ends_is_not_taken_for_a_hang {
    use super::{CHILD, env, never_ends, panic};

    #[test]
    fn repro() {
        let ended = panic::catch_unwind(|| never_ends(module_path!(), || Ok(())));
        // The child's own run of this test returns from `never_ends`; only the parent's may panic.
        assert_eq!(ended.is_err(), env::var_os(CHILD).is_none());
    }
}

#[test]
fn a_repaired_candle_is_told_in_these_words() {
    let told = |work: fn()| text(panic::catch_unwind(work).unwrap_err().as_ref()).contains(FIXED);
    assert!(told(|| finding(2, 1, 2)));
    assert!(!told(|| finding(3, 1, 2)), "a new wrong value does not mend it");
    assert!(told(|| refuses(Ok(()), "")));
    assert!(told(|| panics(|| (), "")));
}
