//! A worker for the supervisor's tests. The op in the case's id says what the worker does.
//!
//! | op | what the worker does |
//! |---|---|
//! | `exp`, and all that is not named here | answers with its first input |
//! | `neg`, `recip` | answers with a flipped bit, with NaN |
//! | `sqrt` | answers otherwise every second time |
//! | `erf`, `elu` | answers, and refuses; says that the CPU helped |
//! | `gelu` | says that there was nothing to run |
//! | `sign`, `relu`, `floor` | panics, reports a fault of the device, prints to stdout |
//! | `abs`, `gelu_erf` | aborts, accesses memory that is not its own |
//! | `ceil`, `round`, `sin` | hangs; with a process of its own, with its id in a file |
//! | `clamp` | loads kernels for two seconds, then answers |
//! | `silu`, `affine` | takes 256 MiB; runs out of memory below a long backtrace |
//! | `tanh`, `cos` | is killed from outside: always, the first time |
//! | `sqr` | tells its process id |
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

use candle_core::rocm_backend::trace::loading;
use parity_exec::{PROTOCOL, Runner, serve};
use parity_model::{Case, HostTensor, Op, Outcome, Refusal, op::Unary, record::BackendInfo};
use rustix::process::{Signal, getpid, kill_process};

#[derive(Default)]
struct Mock {
    fell_back: bool,
    /// Cases so far.
    count: u8,
}

impl Runner for Mock {
    fn info(&self) -> BackendInfo {
        BackendInfo {
            backend: "mock".to_owned(),
            device: format!("process {}", std::process::id()),
            level: "host".to_owned(),
            driver: "none".to_owned(),
            target: String::new(),
            host: None,
            selector: None,
        }
    }

    fn run(&mut self, case: &Case, seed: u64) -> Outcome {
        self.fell_back = matches!(case.op, Op::Unary(Unary::Erf | Unary::Elu));
        self.count = self.count.wrapping_add(1);
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
            Op::Unary(Unary::Elu) => Outcome::Refused {
                refusal: Refusal::Other,
                message: "the CPU has no such op either".to_owned(),
            },
            Op::Unary(Unary::Neg) => altered(case, seed, |bytes| bytes[0] ^= 1),
            Op::Unary(Unary::Recip) => altered(case, seed, |bytes| bytes.fill(0xff)),
            // The last bit of the third element is another in every second case.
            Op::Unary(Unary::Sqrt) => altered(case, seed, |bytes| bytes[8] ^= self.count & 1),
            Op::Unary(Unary::Gelu) => Outcome::Missing {
                reason: "nothing to run".to_owned(),
            },
            Op::Unary(Unary::Clamp) => {
                loading(|| thread::sleep(Duration::from_secs(2)));
                echo(case, seed)
            }
            Op::Unary(Unary::Silu) => hog(case, seed),
            Op::Unary(Unary::Affine) => out_of_memory(),
            Op::Unary(Unary::GeluErf) => dies_of(Signal::SEGV),
            Op::Unary(Unary::Tanh) => dies_of(Signal::KILL),
            Op::Unary(Unary::Cos) if !marker().exists() => {
                let _ = fs::write(marker(), "");
                dies_of(Signal::KILL)
            }
            Op::Unary(Unary::Sin) => {
                let _ = fs::write(marker(), std::process::id().to_string());
                loop {
                    thread::sleep(Duration::from_secs(3600));
                }
            }
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

/// The first input, with something done to its bytes.
fn altered(case: &Case, seed: u64, change: impl FnOnce(&mut [u8])) -> Outcome {
    let mut outcome = echo(case, seed);
    if let Outcome::Ran(output) = &mut outcome {
        change(&mut output.bytes);
    }
    outcome
}

/// Needs 256 MiB, then echoes.
fn hog(case: &Case, seed: u64) -> Outcome {
    std::hint::black_box(vec![0_u8; 256 << 20]);
    echo(case, seed)
}

/// What Rust's allocator says before it ends the process, and under it what `RUST_BACKTRACE=full` adds.
fn out_of_memory() -> Outcome {
    let mut stderr = io::stderr();
    let _ = writeln!(stderr, "memory allocation of 4096 bytes failed");
    for frame in 0..500 {
        let _ = writeln!(stderr, "{frame:4}: a::function::of::the::program");
    }
    std::process::abort()
}

/// What `kill -9` does, a kernel that is out of memory, or an access to memory that is another's.
fn dies_of(signal: Signal) -> Outcome {
    // Rust's own handler looks at the first SIGSEGV, finds no overflow of a stack, and gives the signal back to the system.
    let killed = kill_process(getpid(), signal).and_then(|()| kill_process(getpid(), signal));
    Outcome::Missing {
        reason: format!("nobody died: {killed:?}"),
    }
}

/// A frame of some version of the protocol.
fn frame(version: u32, body: &[u8]) -> ExitCode {
    let length = u32::try_from(body.len()).unwrap_or_default();
    let frame = [
        b"PRTY".as_slice(),
        &version.to_le_bytes(),
        &length.to_le_bytes(),
        body,
    ];
    match io::stdout().write_all(&frame.concat()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The first word of a worker that was built from something else.
#[derive(serde::Serialize)]
enum Greeting {
    Hello {
        build: &'static str,
        device: Result<BackendInfo, String>,
    },
}

fn foreign() -> ExitCode {
    let device = Ok(Mock::default().info());
    let hello = Greeting::Hello {
        build: "parity 0.0.1, candle-core 0.9.0",
        device,
    };
    rmp_serde::to_vec_named(&hello).map_or(ExitCode::FAILURE, |body| frame(PROTOCOL, &body))
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
        "other-protocol" => return frame(1_000_000, b"whatever it says"),
        "other-build" => return foreign(),
        _ => serve(|| Ok(Mock::default())),
    };
    if served.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
