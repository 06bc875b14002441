//! What ran, for whoever started the program: a file of JSON for each process, rewritten while it runs and at its end. And
//! the few lines that go to stderr.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gfx_emu::{CodeObject, Flip, Kernel, LaunchStats};
use rocm_env::{Card, Log};
use serde_json::json;

/// How often the file is rewritten at most while kernels run.
const EVERY: Duration = Duration::from_secs(1);
/// Findings whose text is kept; all are counted.
const KEPT: usize = 100;

#[derive(Debug, Default)]
struct Ran {
    launches: u64,
    waves: u64,
    instructions: u64,
    time: Duration,
}

#[derive(Debug, Default)]
struct Report {
    /// The folder of the files.
    folder: Option<PathBuf>,
    log: Log,
    cards: Vec<&'static str>,
    sanitize: bool,
    flip: Option<Flip>,
    kernels: BTreeMap<String, Ran>,
    /// The kernels whose instructions were counted, by the addresses of their descriptors.
    seen: BTreeSet<u64>,
    /// The instructions that leave results, each with the kernels that have it.
    instructions: BTreeMap<String, u64>,
    findings: u64,
    texts: Vec<String>,
    /// Calls that have no body, which the program made.
    missing: BTreeMap<&'static str, u64>,
    written: Option<Instant>,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

fn locked() -> MutexGuard<'static, Option<Report>> {
    // Counters only: a panic in between loses a count.
    REPORT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line on stderr.
pub fn say(text: &str) {
    // Nothing is left to be done when even this cannot be written.
    writeln!(std::io::stderr(), "software GPU: {text}").ok();
}

/// Begins the report of a process.
pub fn begin(cards: &[Card], sanitize: bool, flip: Option<Flip>) -> Result<(), String> {
    let unknown = |error: rocm_env::UnknownValue| error.to_string();
    let folder = rocm_env::SOFT_REPORT.get().map_err(unknown)?.path();
    let log = *rocm_env::SOFT_LOG.get().map_err(unknown)?;
    let mut report = locked();
    *report = Some(Report {
        folder: folder.map(Path::to_owned),
        log,
        cards: cards.iter().map(|card| card.word()).collect(),
        sanitize,
        flip,
        ..Report::default()
    });
    if let Some(report) = report.as_mut() {
        report.write();
    }
    Ok(())
}

/// A call begins.
pub fn call(name: &'static str) {
    if rocm_env::SOFT_LOG.get() == Ok(&Log::Calls) {
        say(name);
    }
}

/// A call answers other than success.
pub fn refused(name: &str, status: u32) {
    if rocm_env::SOFT_LOG.get() == Ok(&Log::Calls) {
        say(&format!("{name} answers status {status:#x}"));
    }
}

/// The program made a call that has no body here.
pub fn missing(name: &'static str) {
    let mut report = locked();
    let Some(report) = report.as_mut() else { return };
    let count = report.missing.entry(name).or_default();
    *count += 1;
    if *count == 1 && report.log != Log::None {
        say(&format!("{name} has no body here: it answers an error"));
    }
}

/// The kernel whose descriptor is at `object` ran to its end.
pub fn ran(object: u64, code: &CodeObject, kernel: &Kernel, stats: LaunchStats, time: Duration) {
    let mut report = locked();
    let Some(report) = report.as_mut() else { return };
    if !report.kernels.contains_key(&kernel.name) {
        report.kernels.insert(kernel.name.clone(), Ran::default());
    }
    // Kernels of several code objects may have one name. What the host did in a kernel's place flips nothing.
    if stats.waves > 0 && report.seen.insert(object) {
        report.has(code.mnemonics(kernel).unwrap_or_default());
    }
    if let Some(ran) = report.kernels.get_mut(&kernel.name) {
        ran.launches += 1;
        ran.waves += stats.waves;
        ran.instructions += stats.instructions;
        ran.time += time;
    }
    if report.written.is_none_or(|written| written.elapsed() > EVERY) {
        report.write();
    }
}

/// A kernel did not run to its end: the reason, which the user reads too.
pub fn finding(text: &str) {
    say(text);
    let mut report = locked();
    let Some(report) = report.as_mut() else { return };
    report.findings += 1;
    if report.texts.len() < KEPT {
        report.texts.push(text.to_owned());
    }
    // The program may end itself for it, at once.
    report.write();
}

/// The process ends.
pub fn end() {
    if let Some(report) = locked().as_mut() {
        report.write();
    }
}

impl Report {
    /// A kernel with these instructions ran for the first time.
    fn has(&mut self, mnemonics: BTreeSet<String>) {
        for mnemonic in mnemonics {
            *self.instructions.entry(mnemonic).or_default() += 1;
        }
    }

    /// Writes the file; what cannot be written is told once.
    fn write(&mut self) {
        let Some(folder) = &self.folder else { return };
        self.written = Some(Instant::now());
        let kernels = self.kernels.iter().map(|(name, ran)| {
            json!({
                "name": name,
                "launches": ran.launches,
                "waves": ran.waves,
                "instructions": ran.instructions,
                "seconds": ran.time.as_secs_f64(),
            })
        });
        let text = json!({
            "cards": self.cards,
            "sanitize": self.sanitize,
            "kernels": kernels.collect::<Vec<_>>(),
            "flip": self.flip.map(|flip| flip.to_string()),
            "flipped": self.flip.map_or(0, |flip| flip.results()),
            "instructions": self.instructions,
            "findings": self.findings,
            "finding_texts": self.texts,
            "missing_calls": self.missing,
        });
        let process = std::process::id();
        let [file, part] = ["json", "part"].map(|ending| folder.join(format!("{process}.{ending}")));
        // Renamed when it is whole: a reader never sees half a file.
        let whole = std::fs::write(&part, format!("{text}\n")).and_then(|()| std::fs::rename(&part, &file));
        if let Err(error) = whole {
            self.folder = None;
            say(&format!(
                "the report {} cannot be written: {error}",
                file.display()
            ));
        }
    }
}
