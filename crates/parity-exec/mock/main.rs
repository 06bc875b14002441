//! A worker whose behaviour stands in the case, for the supervisor's tests: the op says what to do.
//!
//! What it does is real: it is a process, it dies of a real signal, it hangs until it is killed.

use std::{
    env, fs,
    io::{self, Write},
    path::PathBuf,
    process::{Command, ExitCode},
    thread,
    time::Duration,
};

use parity_exec::{Runner, serve};
use parity_model::{Case, HostTensor, Op, Outcome, Refusal, op::Unary, record::BackendInfo};

#[derive(Default)]
struct Mock {
    fell_back: bool,
}

impl Runner for Mock {
    fn info(&self) -> BackendInfo {
        BackendInfo {
            backend: "mock".to_owned(),
            device: format!("process {}", std::process::id()),
            level: "host".to_owned(),
            driver: "none".to_owned(),
            target: String::new(),
        }
    }

    fn run(&mut self, case: &Case, seed: u64) -> Outcome {
        self.fell_back = case.op == Op::Unary(Unary::Erf);
        match case.op {
            Op::Unary(Unary::Abs) => {
                let _ = writeln!(io::stderr(), "about to abort");
                std::process::abort()
            }
            Op::Unary(Unary::Ceil) => loop {
                thread::sleep(Duration::from_secs(3600));
            },
            Op::Unary(Unary::Round) => {
                let grandchild = Command::new("sleep").arg("3600").spawn();
                let _ = grandchild.map(|child| fs::write(marker(), child.id().to_string()));
                thread::sleep(Duration::from_secs(3600));
                Outcome::Missing {
                    reason: "nobody killed this worker".to_owned(),
                }
            }
            Op::Unary(Unary::Floor) => babble(),
            Op::Unary(Unary::Sign) => panic!("the sign is wrong"),
            // The process goes on, on a device that is lost.
            Op::Unary(Unary::Relu) => Outcome::Refused {
                refusal: Refusal::DeviceFault,
                message: "page fault".to_owned(),
            },
            Op::Unary(Unary::Sqr) => this_process(),
            _ => echo(case, seed),
        }
    }

    fn fallbacks(&self) -> Vec<String> {
        if self.fell_back {
            vec!["erf".to_owned()]
        } else {
            vec![]
        }
    }
}

/// What a C library does that prints to stdout: nothing may come of it.
fn babble() -> Outcome {
    let mut stdout = io::stdout();
    let written = writeln!(stdout, "MIOpen: cache not found").and_then(|()| stdout.flush());
    Outcome::Refused {
        refusal: Refusal::Other,
        message: format!("babbled: {}", written.is_ok()),
    }
}

/// Tells which process answered.
fn this_process() -> Outcome {
    Outcome::Refused {
        refusal: Refusal::Other,
        message: std::process::id().to_string(),
    }
}

/// The first input, as it came.
fn echo(case: &Case, seed: u64) -> Outcome {
    let input: Option<HostTensor> = case.inputs(seed).into_iter().next();
    input.map_or_else(
        || Outcome::Missing {
            reason: "no input".to_owned(),
        },
        Outcome::Ran,
    )
}

/// The file a test wants to see.
fn marker() -> PathBuf {
    env::var_os("MOCK_MARKER").map(PathBuf::from).unwrap_or_default()
}

fn main() -> ExitCode {
    let mode = env::args().nth(1).unwrap_or_default();
    let served = match mode.as_str() {
        "no-device" => serve(|| Err::<Mock, _>("there is no GPU in this machine".to_owned())),
        "starts-once" if marker().exists() => std::process::abort(),
        "starts-once" => fs::write(marker(), "").map_or(Ok(()), |()| serve(|| Ok(Mock::default()))),
        "dies-at-start" => std::process::abort(),
        "hangs-at-start" => loop {
            thread::sleep(Duration::from_secs(3600));
        },
        "garbage" => {
            let garbage = io::stdout().write_all(b"hello, I am not a worker");
            return if garbage.is_ok() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            };
        }
        _ => serve(|| Ok(Mock::default())),
    };
    if served.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
