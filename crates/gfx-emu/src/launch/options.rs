//! How a launch is run: limits, what watches it, what is noted, counted or made wrong. The launcher acts on it.

use crate::exec::jit::Compiling;
use crate::flip::Flip;

/// How to run a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchOptions {
    /// Instructions after which the watchdog stops a wave.
    pub max_wave_instructions: u64,
    /// Time after which the launch is stopped, where there is a limit.
    pub max_time: Option<TimeLimit>,
    /// Whether the sanitizer watches: reads of what was never written (of allocations made after
    /// [`Memory::track_writes`](crate::Memory::track_writes)), what depends on a vector register that was never written, races between the
    /// waves of a workgroup, barrier divergence, misaligned addresses, reads past the arguments. The first
    /// finding is the launch's fault. Off, everything in `memory` counts as written from then on.
    pub sanitize: bool,
    /// Whether an access to LDS beyond what the workgroup has does what it does on a card: a load gives 0, a store is lost. AMD's
    /// Tensile makes loads of a matrix's edge and stores of idle lanes this way. Else, and under the sanitizer, it is a fault.
    pub lds_as_card: bool,
    /// Whether it is noted what is executed, for [`CodeObject::take_marks`](crate::CodeObject::take_marks).
    pub cover: bool,
    /// Whether it is counted what costs time on a card, for [`LaunchStats::counters`](super::LaunchStats::counters). Not under the sanitizer, which executes
    /// instructions one by one.
    pub count: bool,
    /// An instruction whose results are wrong, so that who looks at them can be seen to notice. Not under the sanitizer, which would
    /// have a wave and its double differ.
    pub flip: Option<Flip>,
    /// Whether kernels are compiled to the host's machine code. Results are the same; what is watched, counted or flipped is not compiled.
    pub compiling: Compiling,
}

/// A limit of time, by a clock of the caller's: nothing else here looks at one.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    /// Milliseconds since some moment; they never get fewer.
    pub clock: fn() -> u64,
    /// Milliseconds that a launch may take.
    pub limit: u64,
}

impl Default for LaunchOptions {
    /// A billion instructions, ten to twenty seconds of one wave, and no limit of time; no sanitizer, no coverage, no counters, nothing flipped.
    fn default() -> Self {
        LaunchOptions {
            max_wave_instructions: 1_000_000_000,
            max_time: None,
            sanitize: false,
            lds_as_card: false,
            cover: false,
            count: false,
            flip: None,
            compiling: Compiling::Auto,
        }
    }
}
