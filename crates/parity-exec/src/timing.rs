//! How long calls take: the same call on several devices in turn, in one process of its own, timed by the devices themselves. And
//! what calls cost on a software GPU, which has no time of its own but counts.
//!
//! Whole tensor calls are timed, through candle's public API: a launch with its checks and the memory of its result, which is
//! what a program waits for. The time of a GPU is that between two events in the device's own stream, and that of the CPU the wall
//! clock's. What the times mean is not said here.

mod child;
mod clock;
pub(crate) mod count;
mod inputs;

pub use child::{Timer, TimingError};

use std::io::{self, BufReader};

use parity_model::{
    Case, CaseId,
    record::{BackendInfo, KernelCost},
};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

use crate::{
    backend::{BackendDevice, CandleRunner},
    frame,
    ops::quantized::PreparedCall,
    worker::{Runner as _, WorkerError, claim_stdout, guarded, install_panic_hook},
};
use clock::Clock;

/// How calls are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Samples that are taken of each call on each device.
    pub samples: usize,
    /// Microseconds that a sample lasts at least, unless [`MOST_CALLS`] are over before.
    pub sample_us: f64,
    /// Bytes that the inputs of one call after the other have together, at least, before the first ones come again: several times
    /// the largest cache, unless a call's own are so small that [`MOST_SETS`] of them have less.
    pub rotated_bytes: u64,
}

/// Calls of one sample at most.
pub const MOST_CALLS: usize = 256;
/// Sets of inputs at most.
pub const MOST_SETS: usize = 16;
/// Microseconds of calls before the first sample.
const WARM_UP_US: f64 = 2_000.0;

/// What came of a call on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Timed {
    /// Its times.
    Measured(Samples),
    /// What its launches did, by kernel.
    Counted(Vec<KernelCost>),
    /// The backend's error, in its own words.
    Refused(String),
}

/// Times of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Microseconds a call, one for each sample, in the order in which they were taken.
    pub micros: Vec<f64>,
    /// Calls that a sample is the mean of.
    pub calls: usize,
    /// Sets of inputs that the calls rotated over.
    pub sets: usize,
}

/// Parent to child: time this, or count what it does.
#[derive(Debug, Serialize, Deserialize)]
struct TimingJob {
    case: CaseId,
    seed: u64,
    /// `None`: count.
    pace: Option<Pace>,
}

/// Child to parent, first: the devices, or why one of them cannot be opened.
type Hello = Result<Vec<BackendInfo>, String>;

/// Opens the devices, then times one job of stdin after the other, until the pipe ends.
///
/// # Errors
/// When a pipe breaks or a frame cannot be read.
pub fn serve(devices: &[BackendDevice]) -> Result<(), WorkerError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    let mut out = claim_stdout()?;
    install_panic_hook();
    let opened: Result<Vec<CandleRunner>, String> = devices
        .iter()
        .map(|device| {
            let opened = guarded(|| device.open()).unwrap_or_else(Err);
            opened.map_err(|why| format!("backend {} is not available: {why}", device.name()))
        })
        .collect();
    let hello: Hello = match &opened {
        Ok(runners) => Ok(runners.iter().map(CandleRunner::info).collect()),
        Err(why) => Err(why.clone()),
    };
    frame::write(&mut out, &hello)?;
    let Ok(runners) = opened else { return Ok(()) };
    let mut input = BufReader::new(io::stdin());
    while let Some(job) = frame::read::<TimingJob>(&mut input)? {
        frame::write(&mut out, &answer(&runners, &job))?;
    }
    Ok(())
}

fn answer(runners: &[CandleRunner], job: &TimingJob) -> Vec<Timed> {
    let case = match job.case.as_str().parse::<Case>() {
        Ok(case) => case,
        Err(error) => return vec![Timed::Refused(error.to_string()); runners.len()],
    };
    let Some(pace) = job.pace else {
        let count = |runner| step(|| count::kernels(runner, &case, job.seed));
        let counted = runners.iter().map(count);
        return counted
            .map(|counted| counted.map_or_else(Timed::Refused, Timed::Counted))
            .collect();
    };
    let mut calls: Vec<_> = runners
        .iter()
        .map(|runner| step(|| TimedCall::ready(runner, &case, job.seed, pace)))
        .collect();
    for turn in 0..pace.samples {
        // Each goes first in every other turn: what one leaves behind, such as heat, meets both.
        let backwards = turn % 2 == 1;
        let count = calls.len();
        for place in 0..count {
            let at = if backwards { count - 1 - place } else { place };
            if let Ok(call) = &mut calls[at]
                && let Err(why) = step(|| call.sample())
            {
                calls[at] = Err(why);
            }
        }
    }
    let timed = |call: Result<TimedCall, String>| match call {
        Ok(call) => Timed::Measured(Samples {
            micros: call.micros,
            calls: call.calls,
            sets: call.sets.len(),
        }),
        Err(why) => Timed::Refused(why),
    };
    calls.into_iter().map(timed).collect()
}

/// A step that may panic.
fn step<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    guarded(work).unwrap_or_else(|panic| Err(format!("panicked: {panic}")))
}

/// A call on one device, ready to be timed.
struct TimedCall {
    clock: Clock,
    sets: Vec<PreparedCall>,
    /// The set whose turn it is.
    next: usize,
    calls: usize,
    micros: Vec<f64>,
}

impl TimedCall {
    /// Makes the inputs, and calls until the device is warm and it is known how many calls fill a sample.
    fn ready(runner: &CandleRunner, case: &Case, seed: u64, pace: Pace) -> Result<TimedCall, String> {
        let bytes = inputs::bytes(case).max(1);
        let sets = usize::try_from(pace.rotated_bytes / bytes).unwrap_or(MOST_SETS);
        let sets = (sets + 1).min(MOST_SETS);
        let sets = (0..sets as u64).map(|set| inputs::call(case, runner.device(), seed + set));
        let mut call = TimedCall {
            clock: Clock::of(runner.device())?,
            sets: sets.collect::<Result<_, _>>()?,
            next: 0,
            calls: 1,
            micros: vec![],
        };
        // The first call loads the kernel; it says nothing.
        call.time()?;
        let mut warm = 0.0;
        let mut one = call.time()?;
        while warm + one < WARM_UP_US && call.calls < MOST_CALLS {
            warm += one;
            call.calls = (call.calls * 2).min(MOST_CALLS);
            one = call.time()?;
        }
        let each = (one / call.calls as f64).max(0.01);
        call.calls = ((pace.sample_us / each).ceil() as usize).clamp(1, MOST_CALLS);
        Ok(call)
    }

    fn sample(&mut self) -> Result<(), String> {
        let micros = self.time()? / self.calls as f64;
        self.micros.push(micros);
        Ok(())
    }

    /// Microseconds of [`TimedCall::calls`] calls.
    fn time(&mut self) -> Result<f64, String> {
        let TimedCall {
            clock,
            sets,
            next,
            calls,
            ..
        } = self;
        clock.time(|| {
            for _ in 0..*calls {
                // The result goes at once, so that its memory serves the next call, as in a program that goes on.
                drop(sets[*next]()?);
                *next = (*next + 1) % sets.len();
            }
            Ok(())
        })
    }
}
