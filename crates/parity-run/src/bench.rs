//! Measures what calls cost: selects rows, has a process of its own time them on the devices, and makes the record. What the numbers
//! say is `parity-bench`'s.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use parity_bench::{BENCH_VERSION, BenchRun, Ceilings, Measured, Row, Times};
use parity_exec::{
    Backend, BackendDevice, CANDLE_VERSION,
    timing::{self, Pace, Timed, Timer, TimingError},
};
use parity_model::{Case, record::BackendInfo};

use crate::{error::Error, names, provenance, records, selection::Selection, specs, worker};

/// The directory in that of the op specs with the rows that are measured when none are named.
const DIRECTORY: &str = "bench";
/// The argument that asks a program to time calls, before the devices' names.
const ASKED: &str = "timer";
/// What may be measured: real cards, and the CPU that candle runs on. Anything else computes what a card would, and takes other times.
const TIMED_LEVELS: [&str; 2] = ["hardware", "host"];
const HOST: &str = "host";
/// How long devices may take to open.
pub(crate) const OPENING: Duration = Duration::from_secs(120);

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct BenchSettings {
    /// The devices, in the order of the columns.
    pub devices: Vec<BackendDevice>,
    /// The rows. Without a directory of specs, that of the rows beside the op specs.
    pub selection: Selection,
    /// Seed the inputs derive from.
    pub seed: u64,
    /// How calls are repeated.
    pub pace: Pace,
    /// How long one row may take, on all devices together.
    pub limit: Duration,
    /// The program that times calls; the running one where it is `None`.
    pub program: Option<PathBuf>,
}

impl BenchSettings {
    /// Samples, time and cache as a measurement has them that is to be kept; `quick` for a look.
    pub fn pace(quick: bool) -> Pace {
        Pace {
            samples: if quick { 5 } else { 15 },
            sample_us: if quick { 500.0 } else { 2_000.0 },
            // More than twice the largest cache of a card that is made today, 256 MB of AMD's MI300.
            rotated_bytes: 600_000_000,
        }
    }
}

/// Times calls if that is what this process was started for, and says whether it was.
///
/// # Errors
/// A name that is not a device's, and a parent that went away.
pub fn serve_if_asked() -> Result<bool, Error> {
    let mut args = env::args_os().skip(1);
    if args.next().is_none_or(|arg| arg != ASKED) {
        return Ok(false);
    }
    let devices = args.map(|name| names::device(&name.to_string_lossy()));
    timing::serve(&devices.collect::<Result<Vec<_>, _>>()?)?;
    Ok(true)
}

/// Measures every selected row; `told` hears of each when it is done.
///
/// # Errors
/// No row is selected, a device cannot be opened, or one is not a card whose time means something.
pub fn measure(
    settings: &BenchSettings,
    mut told: impl FnMut(usize, usize, &Row),
) -> Result<BenchRun, Error> {
    let cases = rows_of(&settings.selection, DIRECTORY)?;
    let (started, clock) = (provenance::now(), Instant::now());
    let mut bench = TimerProcess::start(settings)?;
    let devices = bench.timer()?.devices().to_vec();
    refuse_models(&devices)?;
    let ceilings = ceilings(&mut bench, &devices)?;
    let mut rows = Vec::with_capacity(cases.len());
    for case in &cases {
        let row = Row::of(case, bench.time(case)?);
        told(rows.len() + 1, cases.len(), &row);
        rows.push(row);
    }
    Ok(BenchRun {
        version: BENCH_VERSION,
        parity_version: provenance::VERSION.to_owned(),
        candle_version: CANDLE_VERSION.to_owned(),
        commit: provenance::commit(),
        started,
        seconds: clock.elapsed().as_secs_f64(),
        seed: settings.seed,
        samples: settings.pace.samples,
        sample_us: settings.pace.sample_us,
        rotated_bytes: settings.pace.rotated_bytes,
        devices,
        ceilings,
        rows,
    })
}

/// The rows of a selection, in the order of ids; without a directory of specs, those of `directory` beside the op specs.
pub(crate) fn rows_of(selection: &Selection, directory: &str) -> Result<Vec<Case>, Error> {
    let mut selection = selection.clone();
    if selection.spec_dir.is_none() {
        selection.spec_dir = Some(specs::find(None)?.join(directory));
    }
    selection.cases()
}

/// Refuses devices that compute what a card would and take other times.
fn refuse_models(devices: &[BackendInfo]) -> Result<(), Error> {
    let model = devices
        .iter()
        .find(|info| !TIMED_LEVELS.contains(&info.level.as_str()));
    match model {
        None => Ok(()),
        Some(info) => Err(Error::Settings(format!(
            "{} is {} of level {}: the time that it takes says nothing about a card, and none is printed. Measure on a \
             device of level hardware, such as cuda, {} or {}, or on cpu; `parity list devices` shows what is here. What calls cost a \
             card is counted on software GPUs that are named, such as {}",
            info.backend,
            info.device,
            info.level,
            BackendDevice::hardware().name(),
            BackendDevice::hip_on_nvidia().name(),
            Backend::SOFT_DEFAULT,
        ))),
    }
}

/// What each device reaches of a copy and of a product: of the host CPU small ones, which would take minutes else.
fn ceilings(bench: &mut TimerProcess<'_>, devices: &[BackendInfo]) -> Result<Vec<Ceilings>, Error> {
    let [copy, product] = match devices.iter().any(|info| info.level == HOST) {
        true => [
            "copy/copy:f32:[2048,2048]:contiguous:uniform(-1,1)",
            "matmul/matmul:f32:[256,256],[256,256]:contiguous,contiguous:uniform(-1,1)",
        ],
        false => [
            "copy/copy:f32:[16384,16384]:contiguous:uniform(-1,1)",
            "matmul/matmul:bf16:[8192,8192],[8192,8192]:contiguous,contiguous:uniform(-1,1)",
        ],
    };
    let mut row = |id: &str| {
        let case: Case = id.parse().map_err(|error| Error::Internal(format!("{error}")))?;
        Ok::<_, Error>(Row::of(&case, bench.time(&case)?))
    };
    let (copy, product) = (row(copy)?, row(product)?);
    let of = |column| Ceilings {
        copy_gb: copy.gb_per_second(column),
        product_tflops: product.tflops(column),
    };
    Ok((0..devices.len()).map(of).collect())
}

/// The process that times calls, started again when it is lost.
struct TimerProcess<'a> {
    settings: &'a BenchSettings,
    timer: Option<Timer>,
}

impl<'a> TimerProcess<'a> {
    fn start(settings: &'a BenchSettings) -> Result<TimerProcess<'a>, Error> {
        let mut open = TimerProcess {
            settings,
            timer: None,
        };
        open.timer()?;
        Ok(open)
    }

    fn timer(&mut self) -> Result<&mut Timer, Error> {
        let timer = match self.timer.take() {
            Some(timer) => timer,
            None => {
                let command = command(self.settings.program.as_deref(), &self.settings.devices)?;
                Timer::start(command, OPENING).map_err(unavailable)?
            }
        };
        Ok(self.timer.insert(timer))
    }

    /// Times a case; where the process is lost with it, that is the result of every device.
    fn time(&mut self, case: &Case) -> Result<Vec<Measured>, Error> {
        let BenchSettings {
            seed, pace, limit, ..
        } = *self.settings;
        let timed = self.timer()?.time(case, seed, pace, limit);
        let lost = |error: TimingError| {
            let why = error.to_string().lines().next().unwrap_or_default().to_owned();
            vec![Measured::Refused(why); self.settings.devices.len()]
        };
        Ok(match timed {
            Ok(timed) => timed.into_iter().map(measured).collect(),
            Err(error) => {
                self.timer = None;
                lost(error)
            }
        })
    }
}

fn measured(timed: Timed) -> Measured {
    match timed {
        Timed::Measured(samples) => Measured::Times(Times {
            micros: samples.micros,
            calls: samples.calls,
            sets: samples.sets,
        }),
        Timed::Refused(why) => Measured::Refused(why),
        Timed::Counted(_) => Measured::Refused("it was counted, not timed".to_owned()),
    }
}

pub(crate) fn unavailable(error: TimingError) -> Error {
    Error::DidNotMeasure(error.to_string())
}

/// How the process is started that has all devices at once.
pub(crate) fn command(program: Option<&Path>, devices: &[BackendDevice]) -> Result<Command, Error> {
    let mut variables: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for device in devices {
        for (name, value) in device.env() {
            match variables.insert(*name, (*value, device.name())) {
                Some((other, first)) if other != *value => {
                    return Err(Error::Settings(format!(
                        "{first} and {} cannot be open in one process, which is how devices are measured in turn: {name} leads \
                         to one of them. Measure each with --format json --out FILE, the second with --against FILE",
                        device.name()
                    )));
                }
                _ => {}
            }
        }
    }
    let program = match program {
        Some(program) => program.to_owned(),
        None => worker::own_file()?,
    };
    let mut command = Command::new(program);
    command
        .arg(ASKED)
        .args(devices.iter().map(BackendDevice::name))
        .envs(variables.iter().map(|(name, (value, _))| (*name, *value)));
    Ok(command)
}

/// A stored measurement; may be compressed by gzip.
///
/// # Errors
/// The file cannot be read, or holds something else.
pub fn read(path: &Path) -> Result<BenchRun, Error> {
    let text = records::text(path)?;
    parity_bench::parse(&text).map_err(|error| {
        Error::Data(format!(
            "{}: {error}; `parity bench --format json --out FILE` writes one",
            path.display()
        ))
    })
}
