//! The one runtime of the process: its cards, its memory, and what was asked for in the environment.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use gfx_emu::{Compiling, Flip, LaunchOptions, TimeLimit};
use rocm_env::Card;

use crate::coverage;
use crate::host;
use crate::loader::Loader;
use crate::pools::Pools;
use crate::report;
use crate::status::{Answer, Status};

/// Everything that outlives a call.
#[derive(Debug)]
pub struct Runtime {
    /// The cards, by number.
    pub cards: Vec<Card>,
    /// Bytes that each card has.
    pub capacity: u64,
    /// How kernels are launched.
    pub options: LaunchOptions,
    pools: Mutex<Pools>,
    loader: Mutex<Loader>,
}

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
static COMPLAINED: AtomicBool = AtomicBool::new(false);

/// Makes the runtime where there is none yet.
pub fn init() -> Answer<&'static Runtime> {
    match RUNTIME.get_or_init(Runtime::new) {
        Ok(runtime) => Ok(runtime),
        Err(why) => {
            if !COMPLAINED.swap(true, SeqCst) {
                report::say(why);
            }
            Err(Status::Error)
        }
    }
}

/// The runtime that [`init`] made.
pub fn get() -> Answer<&'static Runtime> {
    match RUNTIME.get() {
        Some(Ok(runtime)) => Ok(runtime),
        _ => Err(Status::NotInitialized),
    }
}

impl Runtime {
    fn new() -> Result<Runtime, String> {
        let unknown = |error: rocm_env::UnknownValue| error.to_string();
        let cards = match &*rocm_env::SOFT_DEVICES.get().map_err(unknown)?.0 {
            [] => vec![*rocm_env::SOFT_TARGET.get().map_err(unknown)?],
            cards => cards.to_vec(),
        };
        let capacity = rocm_env::SOFT_MEMORY.get().map_err(unknown)?.0;
        let sanitize = *rocm_env::SANITIZE.get().map_err(unknown)? == rocm_env::Switch::On;
        let compiling = match rocm_env::JIT.get().map_err(unknown)? {
            rocm_env::Jit::Auto => Compiling::Auto,
            rocm_env::Jit::Off => Compiling::Off,
            rocm_env::Jit::Always => Compiling::AtOnce,
        };
        let flip = match &rocm_env::FLIP.get().map_err(unknown)?.0 {
            None => None,
            Some(_) if sanitize => {
                let [flip, sanitize] = [rocm_env::names::FLIP, rocm_env::names::SANITIZE];
                return Err(format!(
                    "{flip} and {sanitize} exclude each other: what is watched must be right"
                ));
            }
            Some(name) => {
                let flip = Flip::of(name).map_err(|why| format!("{}: {why}", rocm_env::names::FLIP))?;
                Some(flip)
            }
        };
        let instructions = rocm_env::SOFT_MAX_INSTRUCTIONS.get().map_err(unknown)?.0;
        let time = rocm_env::SOFT_TIMEOUT.get().map_err(unknown)?.milliseconds();
        let cover = rocm_env::COVERAGE.get().map_err(unknown)?.path();
        report::begin(&cards, sanitize, flip)?;
        if let Some(folder) = cover {
            coverage::begin(folder);
        }
        let arena = host::arena().ok_or(
            "the host gives this process no range of addresses for device memory; a limit of its address space (ulimit -v) does that",
        )?;
        Ok(Runtime {
            pools: Mutex::new(Pools::new(arena, cards.len(), capacity, sanitize)),
            loader: Mutex::default(),
            cards,
            capacity,
            options: LaunchOptions {
                sanitize,
                compiling,
                flip,
                lds_as_card: true,
                cover: cover.is_some(),
                max_wave_instructions: instructions,
                max_time: time.map(|limit| TimeLimit {
                    clock: rocm_env::clock,
                    limit,
                }),
                ..LaunchOptions::default()
            },
        })
    }

    /// The memory.
    pub fn pools(&self) -> MutexGuard<'_, Pools> {
        // A panic in between leaves a block too many at worst.
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was loaded.
    pub fn loader(&self) -> MutexGuard<'_, Loader> {
        // One insertion or removal at a time: a panic cannot leave it half done.
        self.loader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nanoseconds of the clock that timestamps have.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
