//! `gfx exec`: runs a program of somebody else's on the software GPU.
//!
//! The program finds this workspace's libhsa-runtime64.so.1 instead of ROCr's, below AMD's own HIP runtime, or this workspace's
//! libamdhip64.so instead of AMD's. What ran comes from files that the library writes, one for each process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use rocm_env::{Cards, Instructions, Seconds, names};
use serde_json::Value;

use crate::Failure;
use crate::args::{Exec, Limits};
use crate::coverage;
use crate::seam::Seam;

/// Kernels that the summary names; the report has all.
const SHOWN: usize = 5;
/// Bytes that a report may have.
const MOST: u64 = 1 << 28;

/// Runs the program; gives its exit code.
pub(crate) fn exec(asked: &Exec) -> Result<ExitCode, Failure> {
    let (program, arguments) = asked.program.split_first().ok_or_else(|| {
        Failure::Said("a program is expected after `--`: gfx exec --card gfx1100 -- PROGRAM".to_owned())
    })?;
    let library = asked.seam.library(program);
    let file = library.file()?;
    let folder = tempfile::Builder::new().prefix("gfx-exec-").tempdir()?;
    let reports = folder.path().join("reports");
    std::fs::create_dir(&reports)?;
    let links: Vec<PathBuf> = library
        .names
        .iter()
        .map(|name| folder.path().join(name))
        .collect();
    for link in &links {
        std::os::unix::fs::symlink(&file, link)?;
    }
    let first = links.first().map(|link| link.as_os_str()).unwrap_or_default();
    let start = Instant::now();
    let mut command = Command::new(program);
    limits(&asked.limits, &mut command);
    if let Some(flip) = &asked.flip {
        command.env(names::FLIP, flip);
    }
    let covered = folder.path().join("coverage");
    if asked.coverage.is_wanted() {
        command.env(names::COVERAGE, &covered);
    }
    let status = command
        .args(arguments)
        .env(
            "LD_LIBRARY_PATH",
            before("LD_LIBRARY_PATH", folder.path().as_os_str(), ":"),
        )
        // By its name in the library, it is found even where a program's own search path comes first.
        .env("LD_PRELOAD", before("LD_PRELOAD", first, " "))
        .env(names::SOFT_DEVICES, cards(&asked.cards))
        .env(names::SANITIZE, if asked.sanitize { "1" } else { "0" })
        .env(names::SOFT_REPORT, &reports)
        .status()
        .map_err(|error| Failure::Said(format!("cannot start {}: {error}", program.display())))?;
    let seconds = start.elapsed().as_secs_f64();
    let summary = Summary::of(&reports)?;
    if let Some(file) = &asked.report {
        let text = format!("{:#}\n", summary.json(seconds));
        std::fs::write(file, text)
            .map_err(|error| Failure::Said(format!("cannot write {}: {error}", file.display())))?;
    }
    let mut stderr = io::stderr().lock();
    // A summary that nobody can read does not change what the program did.
    summary.print(&mut stderr, &asked.cards, seconds).ok();
    let code = exit_code(status, &summary, &mut stderr);
    match coverage::write(&asked.coverage, &covered, &mut stderr) {
        // The program's own failure comes first.
        Err(Failure::Said(why)) if code != ExitCode::SUCCESS => {
            writeln!(stderr, "error: {why}").ok();
        }
        other => other?,
    }
    Ok(code)
}

/// Hands the limits on to the library.
fn limits(limits: &Limits, command: &mut Command) {
    if let Some(Instructions(count)) = limits.max_instructions {
        command.env(names::SOFT_MAX_INSTRUCTIONS, count.to_string());
    }
    if let Some(Seconds(Some(time))) = limits.timeout {
        command.env(names::SOFT_TIMEOUT, time.as_secs_f64().to_string());
    }
}

fn cards(cards: &Cards) -> String {
    let words: Vec<&str> = cards.0.iter().map(|card| card.word()).collect();
    words.join(",")
}

/// A variable's list with `first` before what it has.
fn before(variable: &str, first: &OsStr, separator: &str) -> OsString {
    let mut list = first.to_owned();
    if let Some(rest) = std::env::var_os(variable).filter(|rest| !rest.is_empty()) {
        list.push(separator);
        list.push(rest);
    }
    list
}

/// The program's own exit code; where a signal ended it, 128 and the signal's number, as shells say it. A program that
/// ends well though a kernel did not has failed.
fn exit_code(status: ExitStatus, summary: &Summary, stderr: &mut impl io::Write) -> ExitCode {
    use std::os::unix::process::ExitStatusExt as _;
    if let Some(signal) = status.signal() {
        writeln!(stderr, "gfx exec: signal {signal} ended the program").ok();
        return ExitCode::from(128_u8.saturating_add(u8::try_from(signal).unwrap_or(127)));
    }
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(0) if summary.findings > 0 => ExitCode::FAILURE,
        Some(code) => ExitCode::from(code),
        None => ExitCode::FAILURE,
    }
}

/// What one kernel did.
#[derive(Default)]
struct Ran {
    launches: u64,
    waves: u64,
    instructions: u64,
    seconds: f64,
}

/// What all processes of a program did.
#[derive(Default)]
pub(crate) struct Summary {
    processes: usize,
    kernels: BTreeMap<String, Ran>,
    /// The instruction that was wrong, and how many of its results.
    flip: Option<String>,
    flipped: u64,
    /// The instructions that leave results, each with the kernels that have it.
    instructions_of: BTreeMap<String, u64>,
    findings: u64,
    texts: Vec<String>,
    missing: BTreeMap<String, u64>,
}

impl Summary {
    fn of(folder: &Path) -> Result<Summary, Failure> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension() == Some(OsStr::new("json")))
            .collect();
        files.sort();
        let mut summary = Summary::default();
        for file in files {
            let broken = |what: String| Failure::Said(format!("the report {}: {what}", file.display()));
            if std::fs::metadata(&file)?.len() > MOST {
                return Err(broken(format!("more than {MOST} bytes")));
            }
            let text = std::fs::read(&file)?;
            let report: Value = serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
            summary.add(&report);
        }
        Ok(summary)
    }

    fn add(&mut self, report: &Value) {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        self.processes += 1;
        for kernel in report["kernels"].as_array().into_iter().flatten() {
            let name = kernel["name"].as_str().unwrap_or("?").to_owned();
            let ran = self.kernels.entry(name).or_default();
            ran.launches += number(&kernel["launches"]);
            ran.waves += number(&kernel["waves"]);
            ran.instructions += number(&kernel["instructions"]);
            ran.seconds += kernel["seconds"].as_f64().unwrap_or(0.0);
        }
        self.flip = report["flip"].as_str().map(str::to_owned).or(self.flip.take());
        self.flipped += number(&report["flipped"]);
        for (name, kernels) in report["instructions"].as_object().into_iter().flatten() {
            *self.instructions_of.entry(name.clone()).or_default() += number(kernels);
        }
        self.findings += number(&report["findings"]);
        let texts = report["finding_texts"].as_array().into_iter().flatten();
        self.texts
            .extend(texts.filter_map(|text| text.as_str().map(str::to_owned)));
        for (call, count) in report["missing_calls"].as_object().into_iter().flatten() {
            *self.missing.entry(call.clone()).or_default() += number(count);
        }
    }

    fn total(&self) -> Ran {
        let mut total = Ran::default();
        for ran in self.kernels.values() {
            total.launches += ran.launches;
            total.waves += ran.waves;
            total.instructions += ran.instructions;
            total.seconds += ran.seconds;
        }
        total
    }

    fn json(&self, seconds: f64) -> Value {
        let of = |ran: &Ran| {
            serde_json::json!({
                "launches": ran.launches,
                "waves": ran.waves,
                "wave_instructions": ran.instructions,
                "seconds": ran.seconds,
            })
        };
        let kernels: BTreeMap<&String, Value> =
            self.kernels.iter().map(|(name, ran)| (name, of(ran))).collect();
        serde_json::json!({
            "processes": self.processes,
            "seconds": seconds,
            "total": of(&self.total()),
            "kernels": kernels,
            "flip": self.flip,
            "flipped": self.flipped,
            "instructions": self.instructions_of,
            "findings": self.findings,
            "finding_texts": self.texts,
            "calls_without_a_body": self.missing,
        })
    }

    fn print(&self, out: &mut impl io::Write, cards: &Cards, seconds: f64) -> io::Result<()> {
        let cards = self::cards(cards);
        if self.processes == 0 {
            return writeln!(
                out,
                "gfx exec: {cards}: nothing ran in {seconds:.1} s: no process of the program used the GPU. Is it linked with libamdhip64, and is that found? `--seam hip` brings one"
            );
        }
        let total = self.total();
        writeln!(
            out,
            "gfx exec: {cards}: {} kernels, {} launches, {} wave-instructions, {:.1} s in kernels of {seconds:.1} s, {} findings",
            self.kernels.len(),
            total.launches,
            total.instructions,
            total.seconds,
            self.findings
        )?;
        match &self.flip {
            Some(flip) if self.flipped == 0 => {
                writeln!(out, "  no result of {flip} was flipped: no kernel executed it")?;
            }
            Some(flip) => writeln!(out, "  {} results of {flip} were flipped", self.flipped)?,
            None => {}
        }
        let mut slowest: Vec<_> = self.kernels.iter().collect();
        slowest.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        for (name, ran) in slowest.into_iter().take(SHOWN) {
            let name: String = name.chars().take(100).collect();
            writeln!(
                out,
                "  {:.1} s, {} launches, {} wave-instructions: {name}",
                ran.seconds, ran.launches, ran.instructions
            )?;
        }
        for text in &self.texts {
            writeln!(out, "  finding: {text}")?;
        }
        for (call, count) in &self.missing {
            writeln!(out, "  {call} has no body here, called {count} times")?;
        }
        Ok(())
    }
}

/// `gfx doctor`: what `gfx exec` would find.
pub(crate) fn doctor(out: &mut impl io::Write) -> Result<(), Failure> {
    rocm_env::check().map_err(|error| Failure::Said(error.to_string()))?;
    for library in Seam::LIBRARIES {
        let names = library.names.join(" and ");
        writeln!(
            out,
            "{names} over the software GPU: {}",
            library.file()?.display()
        )?;
    }
    let all: Vec<&str> = rocm_env::Card::ALL.iter().map(|card| card.word()).collect();
    writeln!(out, "cards: {}", all.join(", "))?;
    let found = runtimes();
    if found.is_empty() {
        writeln!(
            out,
            "AMD's HIP runtime, libamdhip64.so: not in the usual folders; a program may bring its own, or take this workspace's"
        )?;
    }
    for file in found {
        writeln!(out, "AMD's HIP runtime: {}", file.display())?;
    }
    Ok(())
}

/// libamdhip64 where distributions and AMD's packages put it.
fn runtimes() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("LD_LIBRARY_PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .collect();
    let usual = [
        "/opt/rocm/lib",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/local/lib",
    ];
    folders.extend(usual.map(PathBuf::from));
    let files = |folder: &PathBuf| {
        ["libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"].map(|name| folder.join(name))
    };
    folders
        .iter()
        .flat_map(files)
        .filter(|file| file.is_file())
        .collect()
}
