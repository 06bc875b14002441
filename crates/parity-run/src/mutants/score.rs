//! What became of the mutants.

use std::collections::BTreeMap;

use parity_model::CaseId;

use super::{Cost, Fate, Options, sample::Candidate};

/// Mutants, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// A case failed, one of the selection or a random one.
    pub killed: usize,
    /// Of these, the ones that only a random case notices: holes in the selection.
    pub by_random: usize,
    /// Of those killed, the ones that a case of the selection notices at another place of its allocations alone.
    pub elsewhere: usize,
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
            Fate::Killed {
                random, elsewhere, ..
            } => {
                self.killed += 1;
                self.by_random += usize::from(*random);
                self.elsewhere += usize::from(*elsewhere);
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

    /// Those that a case of the selection notices.
    pub fn by_selection(&self) -> usize {
        self.killed - self.by_random
    }

    /// Percent of the faults that were tried and that the selection noticed; 0 where none was tried, so that nothing passes by it.
    pub fn percent(&self) -> f64 {
        self.percent_of(self.by_selection())
    }

    /// The same, if those that the gate of costs refuses were noticed too.
    pub fn percent_with_costs(&self) -> f64 {
        self.percent_of(self.by_selection() + self.dearer)
    }

    /// Percent of the faults that any case noticed and that the selection noticed: of all others nothing says that they are faults. It
    /// tells the more, the more random cases there were; 0 where no case noticed anything.
    pub fn percent_of_known(&self) -> f64 {
        match self.killed {
            0 => 0.0,
            known => 100.0 * self.by_selection() as f64 / known as f64,
        }
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

/// A mutant, as lists have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// The card.
    pub target: String,
    /// The kernel's name.
    pub kernel: String,
    /// Bytes from its first instruction.
    pub pc: i64,
    /// The instruction as it is in the mutant.
    pub after: String,
    /// As it was.
    pub before: String,
    /// The kind of fault, as tables say it.
    pub kind: &'static str,
    /// File and line, where the code object has a line table.
    pub source: Option<(String, u64)>,
}

impl Listed {
    fn of(candidate: &Candidate) -> Listed {
        let mutation = &candidate.mutation;
        Listed {
            target: candidate.target.clone(),
            kernel: candidate.key.1.clone(),
            pc: mutation.pc,
            after: mutation.after.clone(),
            before: mutation.before.clone(),
            kind: mutation.kind.word(),
            source: candidate.source.clone(),
        }
    }
}

/// A mutant that a random case noticed and none of the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Which.
    pub mutant: Listed,
    /// The case.
    pub case: CaseId,
}

/// A mutant that no case noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Which.
    pub mutant: Listed,
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
    /// What only a random case noticed, by kernel and place.
    pub holes: Vec<Hole>,
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
            holes: vec![],
            reasons: BTreeMap::new(),
            killers: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, candidate: &Candidate, fate: Fate) {
        self.score.add(&fate);
        let (target, kernel) = (&candidate.target, &candidate.key.1);
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
        let word = candidate.mutation.kind.word();
        if let Some((_, score)) = self.kinds.iter_mut().find(|(kind, _)| *kind == word) {
            score.add(&fate);
        }
        match fate {
            Fate::Killed { case, random, .. } => {
                *self.killers.entry(case.clone()).or_default() += 1;
                if random {
                    let mutant = Listed::of(candidate);
                    let after = self.holes.partition_point(|known| known.mutant < mutant);
                    self.holes.insert(after, Hole { mutant, case });
                }
            }
            Fate::Equivalent(reason) => *self.reasons.entry(reason).or_default() += 1,
            Fate::NotRun => {}
            Fate::Survived {
                tried,
                tolerated,
                reaching,
                cost,
            } => {
                let survivor = Survivor {
                    mutant: Listed::of(candidate),
                    tried,
                    tolerated,
                    reaching,
                    cost,
                };
                let after = self
                    .survivors
                    .partition_point(|known| known.mutant < survivor.mutant);
                self.survivors.insert(after, survivor);
            }
        }
    }

    /// Whether something was tried, and enough of it was noticed.
    pub fn passes(&self, min: f64) -> bool {
        self.score.killed > 0 && self.score.not_run == 0 && self.score.percent() >= min
    }
}
