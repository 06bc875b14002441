//! One worker of one backend that computes cases with faults planted in kernels, one after the other.

use parity_model::Case;

use crate::{
    child::{Execution, WorkerCommand},
    protocol::Mutant,
    supervisor::{Settings, Task, WorkerSlot},
};

/// A worker, and how a new one is started when it is lost.
pub struct Bench<'a> {
    slot: WorkerSlot<'a>,
    jobs: u64,
}

impl<'a> Bench<'a> {
    /// A bench whose worker is started for its first case.
    pub fn new(command: &'a WorkerCommand, settings: &'a Settings) -> Bench<'a> {
        Bench {
            slot: WorkerSlot::of(command, settings, None),
            jobs: 0,
        }
    }

    /// Runs a case on the kernel with the fault, or on the right one; `None` when the run is to stop.
    pub fn run(&mut self, case: &Case, mutant: Option<&Mutant>, settings: &Settings) -> Option<Execution> {
        self.jobs += 1;
        self.slot
            .run(&Task::of(self.jobs, case, mutant.cloned(), settings))
    }

    /// The same, and counts what the launches do ([`Execution::counted`]), which takes longer.
    pub fn count(&mut self, case: &Case, mutant: Option<&Mutant>, settings: &Settings) -> Option<Execution> {
        self.jobs += 1;
        self.slot
            .run(&Task::of(self.jobs, case, mutant.cloned(), settings).counted())
    }
}
