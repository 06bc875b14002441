//! The command line. What the values mean is the commands' business.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use gfx_emu::{Flip, Target};
use rocm_env::{Cards, Instructions, Seconds, Value};

use crate::seam::Seam;
use crate::values::{Argument, Output};

/// AMD GPU kernels on the software GPU: gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942, gfx950, gfx90a, gfx1250.
#[derive(Debug, Parser)]
#[command(name = "gfx", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows the instructions of a code object, or of bare machine code.
    Disasm(Disasm),
    /// Runs a kernel and shows its buffers.
    Run(Launch),
    /// Runs one workgroup and shows every instruction of one wave with the registers it changed.
    Trace(Trace),
    /// Runs a program that uses HIP, with its kernels on the software GPU.
    Exec(Exec),
    /// Says what `exec` finds on this machine.
    Doctor,
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The card that the program finds; several with commas between them.
    #[arg(long = "card", value_parser = value::<Cards>, default_value = "gfx1100", value_name = "CARD")]
    pub(crate) cards: Cards,
    /// End the program at races, reads of what was never written and other bugs that work here.
    #[arg(long)]
    pub(crate) sanitize: bool,
    /// What the program is put over: AMD's own libamdhip64 with this workspace's driver below it (`hsa`), or this workspace's
    /// libamdhip64 (`hip`).
    #[arg(long, value_enum, default_value_t)]
    pub(crate) seam: Seam,
    /// Give every result of an instruction wrong, to see whether the program notices. Its mnemonic is without `_e32` or the like.
    #[arg(long, value_parser = mnemonic, value_name = "MNEMONIC", conflicts_with = "sanitize")]
    pub(crate) flip: Option<String>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Write what ran into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) coverage: Coverage,
    /// The program and its arguments, after `--`.
    #[arg(required = true, last = true, value_name = "PROGRAM ARGS")]
    pub(crate) program: Vec<OsString>,
}

/// Where it is written what was executed of the program's kernels.
#[derive(Debug, Args)]
pub(crate) struct Coverage {
    /// Write which instructions of the program's kernels were executed into this file, as JSON, which `parity coverage` reads; packed
    /// where its name ends in `.gz`.
    #[arg(long, value_name = "FILE")]
    pub(crate) coverage: Option<PathBuf>,
    /// Write the same by source line into this file, as a tracefile of lcov. The kernels must be compiled with `-g` or
    /// `-gline-tables-only`.
    #[arg(long, value_name = "FILE")]
    pub(crate) lcov: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Disasm {
    /// Code object (ELF), or machine code when --target is given.
    pub(crate) file: PathBuf,
    /// The processor of bare machine code: gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942, gfx950, gfx90a or gfx1250.
    #[arg(long, value_parser = target)]
    pub(crate) target: Option<Target>,
    /// Only this kernel.
    #[arg(long)]
    pub(crate) kernel: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Launch {
    /// Code object (ELF).
    pub(crate) file: PathBuf,
    /// The kernel; not needed when the file has one.
    #[arg(long)]
    pub(crate) kernel: Option<String>,
    /// Workgroups: X, X,Y or X,Y,Z.
    #[arg(long, value_parser = sizes, default_value = "1")]
    pub(crate) grid: [u32; 3],
    /// Work-items of a workgroup: X, X,Y or X,Y,Z.
    #[arg(long, value_parser = sizes, default_value = "1")]
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic LDS.
    #[arg(long, default_value_t = 0)]
    pub(crate) lds: u32,
    /// An argument, in order: `u32:5`, `f32:1.5`, or a buffer `buf:TYPE:COUNT:CONTENT` with the content `zero`, `iota`,
    /// `unwritten`, `random`, a number for every element, or `@FILE`.
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) arguments: Vec<Argument>,
    /// A buffer to show afterwards by its argument's number, the first is 0; `NUMBER:FILE` writes its bytes. Without this,
    /// all buffers are shown.
    #[arg(long = "out", value_name = "NUMBER[:FILE]")]
    pub(crate) outputs: Vec<Output>,
    /// Report races, reads of what was never written and other bugs that work here.
    #[arg(long)]
    pub(crate) sanitize: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// What ends a kernel that does not end by itself.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Limits {
    /// Stop a kernel when one of its waves has executed so many instructions; without this, a billion.
    #[arg(long, value_parser = value::<Instructions>, value_name = "COUNT")]
    pub(crate) max_instructions: Option<Instructions>,
    /// Stop a kernel after so many seconds.
    #[arg(long, value_parser = value::<Seconds>, value_name = "SECONDS")]
    pub(crate) timeout: Option<Seconds>,
}

#[derive(Debug, Args)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) launch: Launch,
    /// The workgroup: X, X,Y or X,Y,Z.
    #[arg(long, value_parser = place, default_value = "0")]
    pub(crate) workgroup: [u32; 3],
    /// The wave within the workgroup.
    #[arg(long, default_value_t = 0)]
    pub(crate) wave: usize,
    /// Show no more than so many instructions.
    #[arg(long)]
    pub(crate) limit: Option<u64>,
}

fn value<T: Value>(text: &str) -> Result<T, String> {
    T::parse(text.as_ref()).ok_or_else(|| format!("expected is {}", T::form()))
}

fn mnemonic(text: &str) -> Result<String, String> {
    let flip = Flip::of(text).map_err(|why| why.to_string())?;
    Ok(flip.to_string())
}

fn target(text: &str) -> Result<Target, String> {
    let known = || Target::EXECUTABLE.map(|target| target.to_string()).join(", ");
    Target::named(text).ok_or_else(|| format!("there are {}", known()))
}

/// Up to three numbers; those that are left out are `rest`.
fn three(text: &str, rest: u32) -> Result<[u32; 3], String> {
    let mut numbers = [rest; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err(format!("{} numbers; at most three", parts.len()));
    }
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = part
            .trim()
            .parse()
            .map_err(|error| format!("`{part}`: {error}"))?;
    }
    Ok(numbers)
}

fn sizes(text: &str) -> Result<[u32; 3], String> {
    three(text, 1)
}

fn place(text: &str) -> Result<[u32; 3], String> {
    three(text, 0)
}
