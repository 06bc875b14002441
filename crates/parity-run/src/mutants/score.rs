//! What became of the mutants.

use std::collections::BTreeMap;

use parity_model::CaseId;

use super::{Cost, Fate, Options, sample::Candidate};

/// Mutants, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// A case failed.
    pub killed: usize,
    /// Of these, the ones that only a random case notices.
    pub by_random: usize,
    /// All cases that were tried passed.
    pub survived: usize,
    /// Of these, the ones that change a result, by no more than its limit allows. The others change no bit of any.
    pub tolerated: usize,
    /// Of the survivors that change no result, the ones whose launches have other counters.
    pub counted: usize,
    /// Of these, the ones that the gate of costs refuses.
    pub dearer: usize,
    /// No fault, for a reason.
    pub equivalent: usize,
    /// Not tried, because the trial was stopped.
    pub not_run: usize,
}

impl Score {
    fn add(&mut self, fate: &Fate) {
        match fate {
            Fate::Killed { random, .. } => {
                self.killed += 1;
                self.by_random += usize::from(*random);
            }
            Fate::Survived { tolerated, cost, .. } => {
                self.survived += 1;
                self.tolerated += usize::from(*tolerated > 0);
                let cost = if *tolerated > 0 { Cost::Same } else { *cost };
                self.counted += usize::from(cost > Cost::Same);
                self.dearer += usize::from(cost == Cost::Dearer);
            }
            Fate::Equivalent(_) => self.equivalent += 1,
            Fate::NotRun => self.not_run += 1,
        }
    }

    /// Percent of the faults that were tried and noticed; 0 where none was tried, so that nothing passes by it.
    pub fn percent(&self) -> f64 {
        self.percent_of(self.killed)
    }

    /// The same, if those that the gate of costs refuses were noticed too.
    pub fn percent_with_costs(&self) -> f64 {
        self.percent_of(self.killed + self.dearer)
    }

    fn percent_of(&self, noticed: usize) -> f64 {
        match self.killed + self.survived {
            0 => 0.0,
            tried => 100.0 * noticed as f64 / tried as f64,
        }
    }
}

/// The mutants of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelScore {
    /// The card.
    pub target: String,
    /// The kernel's name.
    pub kernel: String,
    /// Its mutants.
    pub score: Score,
}

/// A mutant that no case noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// The card.
    pub target: String,
    /// The kernel's name.
    pub kernel: String,
    /// Bytes from its first instruction.
    pub pc: i64,
    /// The kind of fault, as tables say it.
    pub kind: &'static str,
    /// The instruction as it was.
    pub before: String,
    /// As it is in the mutant.
    pub after: String,
    /// File and line, where the code object has a line table.
    pub source: Option<(String, u64)>,
    /// Cases that were tried.
    pub tried: usize,
    /// Those of them whose result has other bits, which its limit allows.
    pub tolerated: usize,
    /// Cases that execute the instruction.
    pub reaching: usize,
    /// Whether the counters of its launches are others.
    pub cost: Cost,
}

/// A trial of mutants.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The device.
    pub backend: String,
    /// What was tried.
    pub options: Options,
    /// Cases that were selected.
    pub selected: usize,
    /// Those that pass and run a kernel.
    pub witnesses: usize,
    /// Mutants of instructions that no case executes; coverage lists those.
    pub unreached: usize,
    /// Mutants that were drawn.
    pub drawn: usize,
    /// All kernels together.
    pub score: Score,
    /// By target and kernel.
    pub kernels: Vec<KernelScore>,
    /// By kind of fault, in the order of tables.
    pub kinds: Vec<(&'static str, Score)>,
    /// What no case noticed, by kernel and place.
    pub survivors: Vec<Survivor>,
    /// Reasons of equivalence, and how many mutants each explains.
    pub reasons: BTreeMap<&'static str, usize>,
    /// Cases that killed, and how many mutants each.
    pub killers: BTreeMap<CaseId, usize>,
}

impl Trial {
    pub(super) fn new(
        backend: &str,
        options: &Options,
        selected: usize,
        witnesses: usize,
        unreached: usize,
        drawn: &[Candidate],
    ) -> Trial {
        Trial {
            backend: backend.to_owned(),
            options: options.clone(),
            selected,
            witnesses,
            unreached,
            drawn: drawn.len(),
            score: Score::default(),
            kernels: vec![],
            kinds: super::kinds().map(|kind| (kind, Score::default())).collect(),
            survivors: vec![],
            reasons: BTreeMap::new(),
            killers: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, candidate: &Candidate, fate: Fate) {
        self.score.add(&fate);
        let (target, kernel) = (&candidate.target, &candidate.key.1);
        let mutation = &candidate.mutation;
        let place = self
            .kernels
            .binary_search_by(|known| (&known.target, &known.kernel).cmp(&(target, kernel)));
        let place = place.unwrap_or_else(|place| {
            let new = KernelScore {
                target: target.clone(),
                kernel: kernel.clone(),
                score: Score::default(),
            };
            self.kernels.insert(place, new);
            place
        });
        self.kernels[place].score.add(&fate);
        let word = mutation.kind.word();
        if let Some((_, score)) = self.kinds.iter_mut().find(|(kind, _)| *kind == word) {
            score.add(&fate);
        }
        match fate {
            Fate::Killed { case, .. } => *self.killers.entry(case).or_default() += 1,
            Fate::Equivalent(reason) => *self.reasons.entry(reason).or_default() += 1,
            Fate::NotRun => {}
            Fate::Survived {
                tried,
                tolerated,
                reaching,
                cost,
            } => {
                let survivor = Survivor {
                    target: target.clone(),
                    kernel: kernel.clone(),
                    pc: mutation.pc,
                    kind: word,
                    before: mutation.before.clone(),
                    after: mutation.after.clone(),
                    source: candidate.source.clone(),
                    tried,
                    tolerated,
                    reaching,
                    cost,
                };
                let key = |survivor: &Survivor| {
                    (
                        survivor.target.clone(),
                        survivor.kernel.clone(),
                        survivor.pc,
                        survivor.after.clone(),
                    )
                };
                let after = self
                    .survivors
                    .partition_point(|known| key(known) < key(&survivor));
                self.survivors.insert(after, survivor);
            }
        }
    }

    /// Whether something was tried, and enough of it was noticed.
    pub fn passes(&self, min: f64) -> bool {
        self.score.killed > 0 && self.score.not_run == 0 && self.score.percent() >= min
    }
}
