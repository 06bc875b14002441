//! Counts what calls cost on software GPUs: selects rows, has a process for each card run them, and makes the record. What the counters
//! say is `parity-bench`'s.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use parity_bench::cost::{COST_VERSION, CostRow, CostRun, Counted, KIND, parse};
use parity_exec::{
    BackendDevice, CANDLE_VERSION,
    timing::{Timed, Timer},
};
use parity_model::{Case, record::BackendInfo};

use crate::{
    bench::{OPENING, command, rows_of, unavailable},
    error::Error,
    provenance, records,
    selection::Selection,
};

/// The directory in that of the op specs with the rows that are counted when none are named.
const DIRECTORY: &str = "cost";

/// What is counted, and how.
#[derive(Clone, Debug)]
pub struct CostSettings {
    /// The cards, in the order of the columns: software GPUs.
    pub devices: Vec<BackendDevice>,
    /// The rows. Without a directory of specs, that of the rows beside the op specs.
    pub selection: Selection,
    /// Seed the inputs derive from.
    pub seed: u64,
    /// How long one row may take on one card.
    pub limit: Duration,
    /// The program that runs calls; the running one where it is `None`.
    pub program: Option<PathBuf>,
}

/// Counts what every selected row costs on every card; `told` hears of each when it is done.
///
/// # Errors
/// No row is selected, or a card cannot be opened.
pub fn count(
    settings: &CostSettings,
    mut told: impl FnMut(usize, usize, &str, &str),
) -> Result<CostRun, Error> {
    let cases = rows_of(&settings.selection, DIRECTORY)?;
    let all = cases.len() * settings.devices.len();
    let mut rows: Vec<_> = cases.iter().map(|case| CostRow::of(case, vec![])).collect();
    let mut devices = Vec::with_capacity(settings.devices.len());
    for (column, device) in settings.devices.iter().enumerate() {
        let mut card = Card::open(settings, device)?;
        devices.push(card.info.clone());
        for (at, (case, row)) in cases.iter().zip(&mut rows).enumerate() {
            row.results.push(card.count(case)?);
            told(column * cases.len() + at + 1, all, device.name(), row.label());
        }
    }
    Ok(CostRun {
        kind: KIND.to_owned(),
        version: COST_VERSION,
        parity_version: provenance::VERSION.to_owned(),
        candle_version: CANDLE_VERSION.to_owned(),
        seed: settings.seed,
        devices,
        rows,
    })
}

/// The process that runs calls on one card, started again when it is lost.
struct Card<'a> {
    settings: &'a CostSettings,
    device: &'a BackendDevice,
    timer: Option<Timer>,
    info: BackendInfo,
}

impl<'a> Card<'a> {
    fn open(settings: &'a CostSettings, device: &'a BackendDevice) -> Result<Card<'a>, Error> {
        let timer = start(settings, device)?;
        let info = timer.devices().first().cloned();
        let info = info.ok_or_else(|| Error::Internal(format!("{} opened no device", device.name())))?;
        Ok(Card {
            settings,
            device,
            timer: Some(timer),
            info,
        })
    }

    /// Counts what a call of the case does; where the process is lost with it, that is the result.
    fn count(&mut self, case: &Case) -> Result<Counted, Error> {
        let mut timer = match self.timer.take() {
            Some(timer) => timer,
            None => start(self.settings, self.device)?,
        };
        let counted = match timer.count(case, self.settings.seed, self.settings.limit) {
            Ok(mut counted) => match counted.pop() {
                Some(Timed::Counted(kernels)) => Counted::Kernels(kernels),
                Some(Timed::Refused(why)) => Counted::Refused(why),
                Some(Timed::Measured(_)) | None => Counted::Refused("it was not counted".to_owned()),
            },
            Err(error) => {
                let why = error.to_string().lines().next().unwrap_or_default().to_owned();
                return Ok(Counted::Refused(why));
            }
        };
        self.timer = Some(timer);
        Ok(counted)
    }
}

fn start(settings: &CostSettings, device: &BackendDevice) -> Result<Timer, Error> {
    let command = command(settings.program.as_deref(), std::slice::from_ref(device))?;
    Timer::start(command, OPENING).map_err(unavailable)
}

/// A stored record of counters; may be compressed by gzip. `None` where the file says it is something else.
///
/// # Errors
/// The file cannot be read, or holds no record.
pub fn read_if_cost(path: &Path) -> Result<Option<CostRun>, Error> {
    parse(&records::text(path)?).map_err(|error| Error::Data(format!("{}: {error}", path.display())))
}

/// A stored record of counters; may be compressed by gzip.
///
/// # Errors
/// The file cannot be read, or holds something else.
pub fn read(path: &Path) -> Result<CostRun, Error> {
    read_if_cost(path)?.ok_or_else(|| {
        Error::Data(format!(
            "{}: no record of counters; `parity bench --backend {} --format json --out FILE` writes one",
            path.display(),
            parity_exec::Backend::SOFT_DEFAULT
        ))
    })
}
