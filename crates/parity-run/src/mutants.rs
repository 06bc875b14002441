//! Faults in kernels, at the level of machine code, to see whether the cases notice: one instruction of a loaded code object
//! becomes another legal one, nothing is compiled, and the cases that execute it run until one fails.
//!
//! 1. Every selected case runs once on the software GPU, which tells which instructions of which kernels it executed. A case
//!    whose result fails already notices nothing, and is left out.
//! 2. The mutants of all executed instructions are listed (`gfx_emu::CodeObject::mutations`) and as many as asked for are drawn
//!    by the seed, each by a digest of what it is: the same mutant is drawn whatever else there is.
//! 3. Each runs in a worker's process with the mutant in the kernel's place. It is killed by the first case whose result
//!    fails the judge, a fault and an endless loop included; where the result is the right kernel's, bit for bit, the judge is
//!    not asked.
//! 4. Where fewer cases than asked for execute the instruction, and none notices, they run again with their allocations at the
//!    other places that the software GPU knows (`ROCM_SOFT_PLACE`).
//!
//! Of a mutant that no case notices it is told whether its launches do something else than the right kernel's ([`Cost`]).
//!
//! A mutant that no launch can show is not run: a proof says why ([`gfx_emu::Prover`]). With [`Options::distrust`] it is run all the same,
//! and a case that notices it is an error of the prover.

mod cost;
mod prove;
mod sample;
mod score;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use gfx_emu::{CodeObject, MutationKind, covered};
use parity_exec::{Bench, Loaded, Mutant, Settings as Supervision, StartError, Stop, WorkerCommand};
use parity_fuzz::Pool;
use parity_model::{Case, CaseId, Outcome};
use parity_oracle::judge;

use crate::{error::Error, judge::Prepared, run::START_LIMIT, settings::Settings};

pub use cost::Cost;
pub use score::{Hole, KernelScore, Listed, Score, Survivor, Trial};

use sample::{Candidate, digest};

/// Instructions after which the watchdog ends a wave: no wave of the ci tier needs half as many, and a loop without an end is
/// found in a fraction of a second.
const WAVE_LIMIT: u64 = 20_000_000;
/// How long one case may take with a mutant, where its spec does not say.
const CASE_LIMIT: Duration = Duration::from_secs(30);

/// Places that an allocation can have: as `ROCM_SOFT_PLACE` counts them.
const PLACES: u32 = rocm_env::Place::COUNT;

/// What is tried.
#[derive(Clone, Debug)]
pub struct Options {
    /// Kernels whose names match; `*` stands for any characters.
    pub kernels: String,
    /// Mutants to draw; `None` for all.
    pub samples: Option<usize>,
    /// Cases that a mutant is shown at most.
    pub tries: usize,
    /// Decides which mutants are drawn and in which order cases are tried; inputs derive from it.
    pub seed: u64,
    /// Random cases that are tried after the selected ones, as `parity fuzz` draws them by the seed.
    pub random: u64,
    /// Draw from these mutants alone; `None` for all.
    pub only: Option<BTreeSet<Name>>,
    /// Mutants that are proven to be no faults are run too, and must not be noticed.
    pub distrust: bool,
}

/// What tells a mutant from the others of a card.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The kernel's name.
    pub kernel: String,
    /// Bytes from its first instruction.
    pub pc: i64,
    /// The instruction as it is in the mutant.
    pub after: String,
}

/// Something that happens in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many steps are to come: cases, then mutants.
    Steps(usize),
    /// One is done.
    Step,
}

/// A case that passes, and what it executed.
struct Witness {
    case: Case,
    /// Whether it is a random one.
    random: bool,
    /// A digest of what the right kernels make of it.
    right: u64,
    /// Key of the kernel, and its digits.
    executed: Vec<((String, String), String)>,
}

/// A case that a mutant is shown.
#[derive(Clone, Copy)]
struct Showing<'a> {
    witness: &'a Witness,
    /// Added to the places that its allocations have.
    place: u32,
}

/// What the workers of a trial share.
struct Lab<'a> {
    command: WorkerCommand,
    supervision: Supervision,
    jobs: usize,
    watch: &'a (dyn Fn(Progress) + Sync),
}

/// Tries the mutants of kernels on the one device of `settings` that is not the reference.
///
/// # Errors
/// A device that is not a software GPU, or none or several devices; a selection of nothing; kernels that no case runs.
pub fn run(
    cases: &[Case],
    settings: &Settings,
    options: &Options,
    stop: &Stop,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Trial, Error> {
    let column = match settings.columns.as_slice() {
        [_, column] => column,
        columns => {
            return Err(Error::Settings(format!(
                "mutants run on one device besides the reference, such as rocm:gfx1100; these are {}",
                columns.len().saturating_sub(1)
            )));
        }
    };
    let lab = Lab {
        command: column.command(settings)?,
        supervision: Supervision {
            jobs: settings.jobs,
            case_limit: CASE_LIMIT,
            start_limit: START_LIMIT,
            seed: options.seed,
            memory_limit: settings.memory_limit,
            cover: true,
            wave_limit: Some(WAVE_LIMIT),
            twice: false,
            stop: stop.clone(),
        },
        jobs: settings.jobs.max(1),
        watch,
    };
    let drawn = random_cases(options)?;
    let (witnesses, loaded) = lab.witnesses(cases, &drawn)?;
    if stop.requested() {
        let backend = column.name().to_owned();
        return Err(Error::Start(StartError::Stopped { backend }));
    }
    let (mut candidates, unreached) = candidates(&witnesses, &loaded, options)?;
    // Before the draw: random cases reach more, of which others would be drawn.
    if let Some(only) = &options.only {
        candidates.retain(|candidate| only.contains(&candidate.name()));
    }
    let mut drawn = sample::draw(candidates, options);
    prove::mark(&mut drawn, &loaded)?;
    let mut trial = Trial::new(
        column.name(),
        options,
        cases.len(),
        witnesses.iter().filter(|witness| !witness.random).count(),
        unreached,
        &drawn,
    );
    let fates = lab.try_all(&drawn, &witnesses, options);
    if let Some(wrong) = prove::disproof(&drawn, &fates) {
        return Err(wrong);
    }
    for (candidate, fate) in drawn.iter().zip(fates) {
        trial.add(candidate, fate);
    }
    Ok(trial)
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A case failed.
    Killed {
        /// The case.
        case: CaseId,
        /// Whether it is a random one: no case of the selection failed.
        random: bool,
        /// Whether its allocations were at another place than usual.
        elsewhere: bool,
    },
    /// Every case that was tried passed.
    Survived {
        /// Cases that were tried.
        tried: usize,
        /// Those of them whose result has other bits, which its limit allows.
        tolerated: usize,
        /// Cases that execute the instruction.
        reaching: usize,
        /// Whether the counters of its launches are others.
        cost: Cost,
    },
    /// No launch shows it, for this reason.
    Equivalent(&'static str),
    /// The trial was stopped before.
    NotRun,
}

/// Code objects by the name that coverage has for them.
type Objects = BTreeMap<String, Vec<u8>>;

impl Lab<'_> {
    /// Does `work` with each item on as many benches as there are jobs; results in the items' order.
    fn each<'b, T: Sync, R: Send>(
        &'b self,
        items: &[T],
        work: impl Fn(&mut Bench<'b>, &T) -> Option<R> + Sync,
    ) -> Vec<Option<R>> {
        (self.watch)(Progress::Steps(items.len()));
        let next = AtomicUsize::new(0);
        let done = Mutex::new(items.iter().map(|_| None).collect::<Vec<_>>());
        let lane = || {
            let mut bench = Bench::new(&self.command, &self.supervision);
            while let Some((index, item)) =
                Some(next.fetch_add(1, Relaxed)).and_then(|i| Some((i, items.get(i)?)))
                && !self.supervision.stop.requested()
            {
                let result = work(&mut bench, item);
                done.lock().unwrap_or_else(PoisonError::into_inner)[index] = result;
                (self.watch)(Progress::Step);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.jobs.min(items.len()) {
                scope.spawn(lane);
            }
            lane();
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cases that pass, and the code objects that they ran.
    fn witnesses(&self, cases: &[Case], random: &[Case]) -> Result<(Vec<Witness>, Objects), Error> {
        let selected = cases.iter().map(|case| (case, false));
        let cases: Vec<(&Case, bool)> = selected.chain(random.iter().map(|case| (case, true))).collect();
        let loaded = Mutex::new(BTreeMap::new());
        let missing = Mutex::new(None);
        let undeclared = Mutex::new(None);
        let ran = self.each(&cases, |bench, &(case, random)| {
            let execution = bench.run(case, None, &self.supervision)?;
            if let Outcome::Refused { message, .. } = &execution.outcome
                && message.contains(parity_exec::UNDECLARED)
            {
                *undeclared.lock().unwrap_or_else(PoisonError::into_inner) = Some(message.clone());
            }
            if let Outcome::Missing { reason } = &execution.outcome {
                *missing.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.clone());
            }
            let mut objects = loaded.lock().unwrap_or_else(PoisonError::into_inner);
            for Loaded { id, file } in execution.loaded {
                objects.entry(id).or_insert(file);
            }
            drop(objects);
            let executed: Vec<_> = execution
                .covered
                .into_iter()
                .map(|covered| ((covered.object, covered.kernel), covered.marks))
                .collect();
            (!executed.is_empty() && passes(case, self.supervision.seed, &execution.outcome)).then(|| {
                Witness {
                    case: case.clone(),
                    random,
                    right: fingerprint(&execution.outcome),
                    executed,
                }
            })
        });
        // Proofs assume that no launch does.
        if let Some(why) = undeclared.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(Error::Internal(why));
        }
        let witnesses: Vec<Witness> = ran.into_iter().flatten().collect();
        if witnesses.is_empty() && !cases.is_empty() {
            let why = missing.into_inner().unwrap_or_else(PoisonError::into_inner);
            return Err(Error::Nothing(match why {
                Some(reason) => format!("no case ran: {reason}"),
                None => "no selected case passes and runs a kernel on a software GPU".to_owned(),
            }));
        }
        Ok((
            witnesses,
            loaded.into_inner().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    fn try_all(&self, drawn: &[Candidate], witnesses: &[Witness], options: &Options) -> Vec<Fate> {
        let mut by_kernel: BTreeMap<&(String, String), Vec<(&Witness, &str)>> = BTreeMap::new();
        for witness in witnesses {
            for (key, marks) in &witness.executed {
                by_kernel.entry(key).or_default().push((witness, marks));
            }
        }
        for of_kernel in by_kernel.values_mut() {
            of_kernel.sort_by_cached_key(|(witness, _)| {
                (witness.random, digest(options.seed, witness.case.id().as_str()))
            });
        }
        let fates = self.each(drawn, |bench, candidate| {
            let proof = candidate.proof.map(|reason| Fate::Equivalent(reason.text()));
            if proof.is_some() && !options.distrust {
                return proof;
            }
            let of_kernel = by_kernel.get(&candidate.key).map_or(&[][..], Vec::as_slice);
            let reaching: Vec<&Witness> = of_kernel
                .iter()
                .filter(|(_, marks)| executes(marks, candidate.index))
                .map(|(witness, _)| *witness)
                .collect();
            // As many of the selection as of the random ones.
            let (random, selected): (Vec<&Witness>, Vec<&Witness>) =
                reaching.iter().partition(|witness| witness.random);
            let selected =
                (0..PLACES).flat_map(|place| selected.iter().map(move |witness| Showing { witness, place }));
            let random = random.into_iter().map(|witness| Showing { witness, place: 0 });
            let shown: Vec<Showing<'_>> = selected
                .take(options.tries)
                .chain(random.take(options.tries))
                .collect();
            let fate = self.fate(bench, candidate, &shown, reaching.len())?;
            let unnoticed = matches!(fate, Fate::Survived { tolerated: 0, .. });
            Some(proof.filter(|_| unnoticed).unwrap_or(fate))
        });
        fates
            .into_iter()
            .map(|fate| fate.unwrap_or(Fate::NotRun))
            .collect()
    }

    fn fate<'b>(
        &'b self,
        bench: &mut Bench<'b>,
        candidate: &Candidate,
        shown: &[Showing<'_>],
        reaching: usize,
    ) -> Option<Fate> {
        let mut mutant = Mutant {
            object: candidate.key.0.clone(),
            kernel: candidate.key.1.clone(),
            bytes: match &candidate.mutation.patch {
                gfx_emu::Patch::Bytes { pc, bytes } => Some((*pc, bytes.clone())),
                gfx_emu::Patch::Flush => None,
            },
            place: 0,
        };
        let mut tolerated = 0;
        for Showing { witness, place } in shown {
            mutant.place = *place;
            let execution = bench.run(&witness.case, Some(&mutant), &self.supervision)?;
            if fingerprint(&execution.outcome) == witness.right {
                continue;
            }
            if !passes(&witness.case, self.supervision.seed, &execution.outcome) {
                // An earlier mutant may have left something in the worker, such as a wrong id that is found late: a new one has to
                // fail as well.
                *bench = Bench::new(&self.command, &self.supervision);
                let again = bench.run(&witness.case, Some(&mutant), &self.supervision)?;
                if passes(&witness.case, self.supervision.seed, &again.outcome) {
                    continue;
                }
                return Some(Fate::Killed {
                    case: witness.case.id(),
                    random: witness.random,
                    elsewhere: *place > 0,
                });
            }
            // A result within its limit is counted once a case, and refutes a proof wherever it is.
            if *place > 0 && candidate.proof.is_none() {
                continue;
            }
            let varies = self.varies(bench, witness)?;
            tolerated += usize::from(!varies);
        }
        mutant.place = 0;
        let cases: Vec<&Witness> = shown
            .iter()
            .filter(|showing| showing.place == 0)
            .map(|showing| showing.witness)
            .collect();
        let cost = match candidate.proof {
            Some(_) => Cost::Same,
            None => self.cost(bench, &mutant, &cases)?,
        };
        Some(Fate::Survived {
            tried: cases.len(),
            tolerated,
            reaching,
            cost,
        })
    }

    /// Whether the right kernels do not make the same of a case each time: some cases ask for new random numbers.
    fn varies(&self, bench: &mut Bench<'_>, witness: &Witness) -> Option<bool> {
        let execution = bench.run(&witness.case, None, &self.supervision)?;
        Some(fingerprint(&execution.outcome) != witness.right)
    }
}

/// The random cases of the options: valid calls and calls to be refused alike.
fn random_cases(options: &Options) -> Result<Vec<Case>, Error> {
    let pool = Pool::new(&[], &[]).ok_or_else(|| Error::Internal("the table of ops is empty".to_owned()))?;
    Ok((0..options.random)
        .map(|number| pool.case(options.seed, number))
        .collect())
}

/// Whether the judge passes an outcome, without any findings.
fn passes(case: &Case, seed: u64, outcome: &Outcome) -> bool {
    let prepared = Prepared::of(case, seed);
    !judge(case, &prepared.want, &prepared.inputs, None, outcome)
        .verdict
        .fails_run()
}

/// Tells outcomes apart: the bits of a value, the class of a refusal.
fn fingerprint(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Ran(tensor) => {
            let head = format!("{} {:?}", tensor.dtype, tensor.shape);
            tensor.bytes.iter().fold(digest(0, &head), |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            })
        }
        Outcome::Refused { refusal, .. } => digest(1, &format!("{refusal:?}")),
        // A dead worker is like nothing else.
        Outcome::Crashed { .. } | Outcome::TimedOut { .. } | Outcome::Missing { .. } => 0,
    }
}

fn executes(marks: &str, index: usize) -> bool {
    marks
        .as_bytes()
        .get(index)
        .is_some_and(|digit| (digit - b'0') & covered::EXECUTED != 0)
}

/// Mutants of the instructions that a case executes, and how many others there are.
fn candidates(
    witnesses: &[Witness],
    loaded: &Objects,
    options: &Options,
) -> Result<(Vec<Candidate>, usize), Error> {
    let mut reached: BTreeMap<&(String, String), Vec<bool>> = BTreeMap::new();
    for (key, marks) in witnesses.iter().flat_map(|witness| &witness.executed) {
        if !sample::matches(&options.kernels, &key.1) {
            continue;
        }
        let all = reached.entry(key).or_insert_with(|| vec![false; marks.len()]);
        for (index, all) in all.iter_mut().enumerate() {
            *all |= executes(marks, index);
        }
    }
    if reached.is_empty() && !witnesses.is_empty() {
        return Err(Error::Nothing(format!(
            "no selected case runs a kernel that matches `{}`",
            options.kernels
        )));
    }
    let broken = |what: String| Error::Internal(format!("a code object that ran cannot be read: {what}"));
    let mut codes: BTreeMap<&str, CodeObject> = BTreeMap::new();
    let (mut candidates, mut unreached) = (vec![], 0);
    for (key, reached) in reached {
        let (id, name) = (key.0.as_str(), key.1.as_str());
        if !codes.contains_key(id) {
            let file = loaded.get(id).ok_or_else(|| broken(id.to_owned()))?;
            let code = CodeObject::load(file).map_err(|error| broken(error.to_string()))?;
            codes.insert(id, code);
        }
        let Some((code, kernel)) = codes.get(id).and_then(|code| Some((code, code.kernel(name)?))) else {
            return Err(broken(name.to_owned()));
        };
        let listing = code.listing(kernel).map_err(|error| broken(error.to_string()))?;
        let mutations = code
            .mutations(kernel)
            .map_err(|error| broken(error.to_string()))?;
        for mutation in mutations {
            let Ok(index) = listing.binary_search_by_key(&mutation.pc, |line| line.pc) else {
                continue;
            };
            if !reached.get(index).copied().unwrap_or(false) {
                unreached += 1;
                continue;
            }
            candidates.push(Candidate {
                key: key.clone(),
                target: code.target().to_string(),
                index,
                source: listing[index].source.clone(),
                mutation,
                proof: None,
            });
        }
    }
    Ok((candidates, unreached))
}

/// Every kind of mutant, by the word of tables.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    MutationKind::ALL.into_iter().map(MutationKind::word)
}
