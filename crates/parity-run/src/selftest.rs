//! Breaks outputs on purpose, in the ways kernels break, and finds the faults that no case notices. It needs no backend:
//! right outputs are the oracle's.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use parity_model::{Case, Op};
use parity_selftest::{DECLARED, Declared, Pair, Score, Tally, examine, stale};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// Cases, and what became of their wrong outputs.
pub struct SelftestRun {
    /// Seed the inputs derive from.
    pub seed: u64,
    /// Percent of the pairs that must be noticed.
    pub min: f64,
    /// Which wrong outputs were made.
    pub made: Made,
    /// What became of every wrong output.
    pub tally: Tally,
    /// Every op with every fault that some case has a place for.
    pub pairs: Vec<Pair>,
    /// How many of them are noticed.
    pub score: Score,
    /// Declared entries that have to go, with the reason.
    pub stale: Vec<(&'static Declared, &'static str)>,
}

/// Which wrong outputs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Those of every case.
    All,
    /// Those of an op, a fault and a dtype until one is noticed. The same pairs are noticed; how many outputs were made says
    /// nothing, as it depends on which of several threads comes first.
    UntilNoticed,
}

impl SelftestRun {
    /// Examines every case; `examined` is called after each, from several threads. `whole` says that the specs are parity's
    /// own, and their whole tier `ci` is selected, so that a declared fault must come up.
    pub fn of(
        cases: &[Case],
        seed: u64,
        min: f64,
        made: Made,
        whole: bool,
        examined: impl Fn() + Sync,
    ) -> SelftestRun {
        let noticed = Mutex::new(BTreeSet::new());
        let lock = || noticed.lock().unwrap_or_else(PoisonError::into_inner);
        let examinations: Vec<_> = cases
            .par_iter()
            .map(|case| {
                let place = |fault| (case.op, case.dtype, fault);
                let wanted = |fault| made == Made::All || !lock().contains(&place(fault));
                let examination = examine(case, seed, wanted);
                let killed = (0..examination.wrong.len()).filter(|&i| examination.wrong[i].killed() > 0);
                lock().extend(killed.map(place));
                examined();
                examination
            })
            .collect();
        let mut tally = Tally::default();
        for (case, examination) in cases.iter().zip(&examinations) {
            tally.add(case, examination);
        }
        let pairs = tally.pairs(DECLARED);
        let reason = |entry: &'static Declared| stale(entry, &pairs, whole).map(|why| (entry, why));
        SelftestRun {
            seed,
            min,
            made,
            stale: DECLARED.iter().filter_map(reason).collect(),
            score: Score::of(&pairs),
            pairs,
            tally,
        }
    }

    /// Whether enough pairs are noticed, no declared entry is stale and every right output passes.
    pub fn passes(&self) -> bool {
        self.score.reaches(self.min) && self.stale.is_empty() && self.tally.refused.is_empty()
    }

    /// The ops that the cases are of, in table order.
    pub fn ops(&self) -> impl Iterator<Item = Op> {
        let has = |op: &Op| self.pairs.iter().any(|pair| pair.op == *op);
        Op::all().into_iter().filter(has)
    }
}
