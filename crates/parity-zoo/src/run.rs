//! A run of models: the jobs of each, the workers that do them, the judgement.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use parity_model::record::BackendInfo;
use zoo_protocol::{Answer, Dtype, Job, ModelSpec, Reply, Request, WrongWeight};

use crate::{
    Bisection, Error,
    journal::{Header, Journal},
    judge::{Judged, Runs, continued, judge, judge_known, judge_other},
    record::{ModelResult, ModelVerdict, Record, Texts, VERSION},
    supervise::{Ending, Worker, ask},
    weights,
};

/// Runs of the CPU with weights that are a unit in the last place off.
const NUDGES: u32 = 2;

/// On what models run, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program that computes.
    pub worker: Worker,
    /// The devices under test, each with the variables that lead to it.
    pub devices: Vec<(String, Vec<(String, String)>)>,
    /// The device that the references are computed on: the CPU.
    pub reference: String,
    /// A variable that has the CPU multiply with weights in full precision where they are quantized.
    pub dequantized: (String, String),
    /// A variable whose value names a software card. A model of several devices gets as many of them.
    pub cards: String,
    /// What weights and inputs derive from.
    pub seed: u64,
    /// Models in flight at once.
    pub jobs: usize,
    /// The folder of the files of weights that specs name.
    pub weights: Option<PathBuf>,
    /// A wrong tensor on the devices under test, for a negative control.
    pub fault: Option<WrongWeight>,
    /// The version of candle that the worker has.
    pub candle_version: String,
}

/// A model in one of its dtypes.
#[derive(Clone, Debug)]
struct Unit<'a> {
    spec: &'a ModelSpec,
    dtype: Dtype,
}

/// How many results a run of these models on one device has.
pub fn plan(models: &[ModelSpec]) -> usize {
    models.iter().map(|model| model.dtypes.len()).sum()
}

/// Runs models on the devices and judges them; with a journal, those that it has no results of. `done` is called after each model and
/// dtype.
///
/// # Errors
/// A device, the worker program or a file of weights is not there. The journal is of another run, or cannot be written.
pub fn run(
    models: &[ModelSpec],
    settings: &Settings,
    mut journal: Option<Journal>,
    done: &(dyn Fn(&ModelResult) + Sync),
) -> Result<Record, Error> {
    for model in models {
        weights::check(model, settings.weights.as_deref())?;
    }
    if !settings.worker.program.is_file() {
        return Err(Error::NoWorker(settings.worker.program.clone()));
    }
    let start = Instant::now();
    let mut backends = vec![];
    for (device, env) in &settings.devices {
        backends.push(open(settings, device, env)?);
    }
    let units: Vec<Unit<'_>> = models
        .iter()
        .flat_map(|spec| spec.dtypes.iter().map(move |dtype| Unit { spec, dtype: *dtype }))
        .collect();
    let (found, earlier) = match &mut journal {
        Some(journal) => journal.begin(&Header::of(models, settings, &backends)?)?,
        None => Default::default(),
    };
    found.values().flatten().for_each(done);
    let mut left: Vec<_> = units.iter().enumerate().collect();
    left.retain(|(place, _)| !found.contains_key(place));
    let seconds = || earlier + start.elapsed().as_secs_f64();
    let next = AtomicUsize::new(0);
    let kept = Mutex::new(Kept {
        found,
        journal,
        failure: None,
    });
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.clamp(1, left.len().max(1)) {
            scope.spawn(|| {
                while let Some(&(place, unit)) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let results = unit.results(settings, &backends);
                    results.iter().for_each(done);
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if !kept.keep(place, seconds(), results) {
                        return;
                    }
                }
            });
        }
    });
    let Kept { found, failure, .. } = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = failure {
        return Err(failure);
    }
    Ok(Record {
        zoo_version: VERSION,
        candle_version: settings.candle_version.clone(),
        seed: settings.seed,
        seconds: seconds(),
        backends,
        missing: 0,
        results: found.into_values().flatten().collect(),
    })
}

/// The results of a run, by their places in the plan.
struct Kept {
    found: BTreeMap<usize, Vec<ModelResult>>,
    journal: Option<Journal>,
    /// Why the journal could not be written, which ends the run.
    failure: Option<Error>,
}

impl Kept {
    /// Whether the run goes on.
    fn keep(&mut self, place: usize, seconds: f64, results: Vec<ModelResult>) -> bool {
        if self.failure.is_none()
            && let Some(journal) = &mut self.journal
        {
            self.failure = journal.keep(place, seconds, &results).err();
        }
        self.found.insert(place, results);
        self.failure.is_none()
    }
}

/// Opens a device and closes it, to learn what it is.
fn open(settings: &Settings, device: &str, env: &[(String, String)]) -> Result<BackendInfo, Error> {
    let request = Request {
        device: device.to_owned(),
        jobs: vec![],
    };
    let unavailable = |why: String| Error::Unavailable {
        device: device.to_owned(),
        why,
    };
    let (replies, ending) = ask(&settings.worker, env, &request).map_err(unavailable)?;
    match (replies.into_iter().next(), ending) {
        (Some(Reply::Ready(info)), _) => Ok(info),
        (Some(Reply::Unavailable(why) | Reply::Failed(why) | Reply::TooFew(why) | Reply::Lacks(why)), _) => {
            Err(unavailable(why))
        }
        (_, Ending::Died(how)) => Err(unavailable(how)),
        (_, Ending::Timeout) => Err(unavailable("it did not open in time".to_owned())),
        (_, Ending::Whole) => Err(unavailable("the worker said nothing".to_owned())),
    }
}

/// What a worker made of one job.
enum Came {
    Answer(Box<Answer>),
    /// The verdict that this is, and why.
    Nothing(ModelVerdict, String),
}

/// The answers of the CPU that a judgement needs, and what they are.
struct Bounds {
    reference: Box<Answer>,
    words: String,
    cpu: Vec<Answer>,
}

impl Unit<'_> {
    fn job(&self, settings: &Settings, run: Dtype, nudge: u32) -> Job {
        Job {
            spec: self.spec.clone(),
            seed: settings.seed,
            weights: self.dtype,
            run,
            nudge,
            fault: None,
            watch: false,
            file: weights::path(self.spec, settings.weights.as_deref()),
            calls: weights::calls(self.spec, settings.weights.as_deref()),
        }
    }

    fn results(&self, settings: &Settings, backends: &[BackendInfo]) -> Vec<ModelResult> {
        let bounds = self.bounds(settings);
        let each = settings.devices.iter().zip(backends);
        each.map(|((device, env), info)| self.result(settings, &bounds, (device, env), info))
            .collect()
    }

    /// The CPU's runs. The reference is the first of these that there is: a run in f64; with quantized weights, a run that
    /// multiplies with them in f32; a run in f32, where the network does not run in f64.
    fn bounds(&self, settings: &Settings) -> Result<Bounds, (ModelVerdict, String)> {
        let narrow = self.dtype.computes_in();
        let is_block = self.dtype.is_block();
        let mut jobs: Vec<Job> = (0..=NUDGES)
            .map(|nudge| self.job(settings, narrow, nudge))
            .collect();
        let wider: &[Dtype] = match (is_block, self.spec.is_gguf()) {
            (true, _) => &[],
            (false, true) => &[Dtype::F32],
            (false, false) => &[Dtype::F64, Dtype::F32],
        };
        jobs.extend(wider.iter().map(|run| self.job(settings, *run, 0)));
        let mut came = self.ask(settings, (&settings.reference, &[]), jobs);
        let mut wide = came.split_off(came.len().min(NUDGES as usize + 1));
        if is_block {
            let env = [settings.dequantized.clone()];
            let job = self.job(settings, narrow, 0);
            wide = self.ask(settings, (&settings.reference, &env), vec![job]);
        }
        let mut cpu = vec![];
        for (nudge, came) in came.into_iter().enumerate() {
            match came {
                Came::Answer(answer) => cpu.push(*answer),
                // Of what this worker cannot run candle's CPU can tell nothing.
                Came::Nothing(ModelVerdict::Lacks, why) => return Err((ModelVerdict::Lacks, why)),
                Came::Nothing(_, why) if nudge == 0 => {
                    return Err((ModelVerdict::CpuFails, format!("the CPU: {why}")));
                }
                Came::Nothing(..) => {}
            }
        }
        let names: Vec<&str> = if is_block {
            vec!["dequantized"]
        } else {
            wider.iter().map(|dtype| dtype.name()).collect()
        };
        for (name, came) in names.into_iter().zip(wide) {
            match came {
                // A network of f32 alone is its own reference: what bounds it then are the nudged runs.
                Came::Answer(reference) => {
                    let itself = name == self.dtype.name();
                    let words = format!("{name}{}", if itself { ", nudged" } else { "" });
                    return Ok(Bounds {
                        reference,
                        words,
                        cpu,
                    });
                }
                Came::Nothing(..) => {}
            }
        }
        let words = "the CPU: its run in wider precision failed".to_owned();
        Err((ModelVerdict::CpuFails, words))
    }

    /// Has a worker do jobs: one outcome for each.
    fn ask(
        &self,
        settings: &Settings,
        (device, env): (&str, &[(String, String)]),
        jobs: Vec<Job>,
    ) -> Vec<Came> {
        let count = jobs.len();
        let mut env = env.to_vec();
        if self.spec.is_gguf() && !self.dtype.is_block() {
            // The file's blocks as the numbers that they stand for.
            env.push(settings.dequantized.clone());
        }
        for (name, value) in &mut env {
            if *name == settings.cards {
                *value = vec![value.as_str(); self.spec.devices].join(",");
            }
        }
        let env = env.as_slice();
        let request = Request {
            device: device.to_owned(),
            jobs,
        };
        let (replies, ending) = match ask(&settings.worker, env, &request) {
            Ok(asked) => asked,
            Err(why) => (vec![], Ending::Died(why)),
        };
        let mut came: Vec<Came> = vec![];
        for reply in replies {
            came.extend(match reply {
                Reply::Ready(_) => None,
                Reply::Done(answer) => Some(Came::Answer(answer)),
                Reply::Failed(why) => Some(Came::Nothing(ModelVerdict::Refused, why)),
                Reply::TooFew(why) => Some(Came::Nothing(ModelVerdict::TooFew, why)),
                Reply::Lacks(why) => Some(Came::Nothing(ModelVerdict::Lacks, why)),
                Reply::Unavailable(why) => Some(Came::Nothing(ModelVerdict::Died, why)),
            });
        }
        while came.len() < count {
            came.push(match &ending {
                Ending::Timeout => {
                    let limit = settings.worker.limit.as_secs_f64();
                    Came::Nothing(ModelVerdict::Timeout, format!("longer than {limit} s"))
                }
                Ending::Died(how) => Came::Nothing(ModelVerdict::Died, how.clone()),
                Ending::Whole => Came::Nothing(ModelVerdict::Died, "the worker gave no reply".to_owned()),
            });
        }
        came
    }

    fn result(
        &self,
        settings: &Settings,
        bounds: &Result<Bounds, (ModelVerdict, String)>,
        (device, env): (&str, &[(String, String)]),
        info: &BackendInfo,
    ) -> ModelResult {
        let mut result = ModelResult {
            model: self.spec.name.clone(),
            architecture: self.spec.architecture.clone(),
            dtype: self.dtype,
            backend: device.to_owned(),
            level: info.level.clone(),
            verdict: ModelVerdict::CpuFails,
            message: None,
            reference: String::new(),
            outputs: 0,
            worst: None,
            error: None,
            own: None,
            limit: None,
            same_argmax: None,
            text: None,
            other: None,
            fallbacks: vec![],
            kernels: 0,
            parameters: 0,
            seconds: 0.0,
            cpu_seconds: 0.0,
        };
        let bounds = match bounds {
            Ok(bounds) => bounds,
            Err((verdict, why)) => {
                (result.verdict, result.message) = (*verdict, Some(why.clone()));
                return result;
            }
        };
        result.reference.clone_from(&bounds.words);
        result.cpu_seconds = bounds.cpu.first().map_or(0.0, |answer| answer.seconds);
        let backend = device.split(':').next();
        let known = self.spec.known.iter().find(|known| {
            let is_meant = known.dtypes.is_empty() || known.dtypes.contains(&self.dtype);
            backend == Some(known.backend.as_str()) && is_meant
        });
        let job = Job {
            fault: settings.fault.clone(),
            ..self.job(settings, self.dtype.computes_in(), 0)
        };
        let answer = match self.ask(settings, (device, env), vec![job]).into_iter().next() {
            Some(Came::Answer(answer)) => answer,
            Some(Came::Nothing(ModelVerdict::Refused, why)) if known.is_some_and(|known| known.refused) => {
                let finding = known.map_or("", |known| known.finding.as_str());
                (result.verdict, result.message) = (ModelVerdict::Known, Some(format!("{finding}: {why}")));
                return result;
            }
            Some(Came::Nothing(verdict, why)) => {
                (result.verdict, result.message) = (verdict, Some(why));
                return result;
            }
            None => return result,
        };
        if let Some(known) = known.filter(|known| known.refused) {
            let words = format!("it ran, though the spec says that `{}` refuses it", known.finding);
            (result.verdict, result.message) = (ModelVerdict::Wrong, Some(words));
            return result;
        }
        let cpu: Vec<&Answer> = bounds.cpu.iter().collect();
        let runs = Runs {
            reference: &bounds.reference,
            cpu: &cpu,
            device: &answer,
        };
        let judged = match known {
            Some(known) => judge_known(runs, self.dtype, info.level != HOST, known),
            None => judge(runs, self.dtype, info.level != HOST),
        };
        fill(&mut result, judged, &answer);
        if answer.kernels.iter().any(|step| step.ends_with(MODELLED)) {
            MODEL.clone_into(&mut result.level);
        }
        if let Some(calls) = &self.spec.calls {
            let (other, why) = judge_other(runs, self.dtype, &calls.program);
            if let Some(why) = why.filter(|_| !result.verdict.fails()) {
                (result.verdict, result.message) = (ModelVerdict::Wrong, Some(why));
            }
            result.other = Some(other);
        }
        if let Some(text) = self
            .spec
            .text
            .as_ref()
            .filter(|text| !text.continuation.is_empty())
        {
            let limit = result.limit.unwrap_or(0.0);
            let reference = continued(&bounds.reference, &text.continuation);
            let device = continued(&answer, &text.continuation);
            let texts = Texts { device, reference };
            // Roundings of blocks move a logit by percents: how their text goes on is shown, and says nothing about the device.
            if !result.verdict.fails() && !self.dtype.is_block() {
                let (is_right, words) = texts.judged(limit, text.otherwise.as_deref());
                result.message = words.or(result.message);
                result.verdict = if is_right {
                    result.verdict
                } else {
                    ModelVerdict::Wrong
                };
            }
            result.text = Some(texts);
        }
        result
    }
}

/// The level of the CPU, which runs no kernels.
const HOST: &str = "host";

/// How a step's name ends that a model of a library computed on the host, and the level of what has such steps.
const MODELLED: &str = " (model)";
const MODEL: &str = "model";

/// Puts a judgement into a result. JSON has no infinity: a distance that is none is left out.
fn fill(result: &mut ModelResult, judged: Judged, answer: &Answer) {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    result.verdict = judged.verdict;
    result.message = judged.message;
    result.outputs = answer.outputs.len();
    result.worst = judged.worst;
    result.error = finite(judged.error);
    result.own = finite(judged.own);
    result.limit = finite(judged.limit);
    result.same_argmax = Some(judged.same_argmax);
    result.fallbacks.clone_from(&answer.fallbacks);
    result.kernels = answer.kernels.len();
    result.parameters = answer.parameters;
    result.seconds = answer.seconds;
}

/// Runs one model in one dtype on the first device, with every op watched.
///
/// # Errors
/// The worker program or the device is not there, or the model does not run.
pub fn bisect(model: &ModelSpec, dtype: Dtype, settings: &Settings) -> Result<Bisection, Error> {
    if !settings.worker.program.is_file() {
        return Err(Error::NoWorker(settings.worker.program.clone()));
    }
    let Some((device, env)) = settings.devices.first() else {
        return Err(Error::Nothing("there is no device to bisect on".to_owned()));
    };
    weights::check(model, settings.weights.as_deref())?;
    let info = open(settings, device, env)?;
    let unit = Unit { spec: model, dtype };
    let job = Job {
        fault: settings.fault.clone(),
        watch: true,
        ..unit.job(settings, dtype.computes_in(), 0)
    };
    match unit.ask(settings, (device, env), vec![job]).into_iter().next() {
        Some(Came::Answer(answer)) => Ok(Bisection::of(&model.name, dtype, info, &answer)),
        Some(Came::Nothing(_, why)) => Err(Error::Nothing(format!("{} did not run: {why}", model.name))),
        None => Err(Error::Nothing(format!("{} gave nothing", model.name))),
    }
}
