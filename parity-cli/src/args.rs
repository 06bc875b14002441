//! The command line as clap sees it, which nothing else of the program names. Each command takes its own struct apart; the engine knows
//! none of these types.
//!
//! An option that takes a list is in the plural; `RUN` is a stored run wherever it occurs. A first paragraph is
//! the help of `-h`, all of them that of `--help`.

mod about;
mod bench;
mod cases;
mod fuzz;
mod line;
mod model;
mod output;
mod page;
mod run;
mod selftest;
mod stored;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
pub(crate) use about::{
    CompletionsArgs, DoctorArgs, ExportArgs, ListArgs, Listing, ManArgs, SchemaArgs, SchemaOf, SpecsArgs,
    SpecsCommand,
};
pub(crate) use bench::{BenchArgs, BenchFormat};
pub(crate) use cases::{HowArgs, SelectArgs, SpecArgs};
pub(crate) use fuzz::{FuzzArgs, FuzzFormat};
pub(crate) use line::{completions, manual, word};
pub(crate) use model::{ModelArgs, ModelFormat};
pub(crate) use output::{ColorChoice, OutputArgs, OutputFormat};
pub(crate) use page::{PageArgs, PageFormat};
pub(crate) use run::{
    ExplainArgs, GoldenArgs, GoldenCommand, PruneArgs, RecordArgs, RunArgs, ShrinkArgs, VerifyArgs,
};
pub(crate) use selftest::{SelftestArgs, SelftestFormat};
pub(crate) use stored::{
    BaselineArgs, BaselineCommand, BaselineUpdateArgs, CoverageArgs, CoverageFormat, DiffArgs, DiffFormat,
    GateArgs, HeadroomArgs, MergeArgs, ReportArgs, TrendArgs, TrendFormat,
};

/// Checks that candle's backends compute what its CPU backend and a high-precision oracle compute.
#[derive(Debug, Parser)]
#[command(name = "parity", version, after_long_help = Exit::help())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run cases on backends and judge every result.
    #[command(after_long_help = Exit::help())]
    Run(Box<RunArgs>),
    /// Run one case and show what it computes, what every backend made of it, and how that was judged.
    #[command(after_long_help = Exit::help())]
    Explain(ExplainArgs),
    /// Find the smallest case that fails as this one does, and print it as a Rust test against candle.
    #[command(after_long_help = Exit::help())]
    Shrink(ShrinkArgs),
    /// Run random cases of the table of ops, and say in groups what fails.
    Fuzz(Box<FuzzArgs>),
    /// Keep the findings up to date.
    Baseline(BaselineArgs),
    /// List what there is.
    List(ListArgs),
    /// Render a stored run again.
    Report(ReportArgs),
    /// Compare two stored runs: what was fixed, what broke, what is new or gone, which errors grew.
    ///
    /// A result is worse when it agreed (pass, error-parity, reference-suspect) and no longer does or is gone, when it failed
    /// as known and now fails otherwise, when it is new and fails, and when its error grew tenfold although it still agrees.
    /// Errors are compared in ULP, an exact result counting as half of one, and as shares of the limit where that is the same.
    #[command(after_long_help = Exit::help())]
    Diff(DiffArgs),
    /// Pass or block by the parity score of a stored run.
    #[command(after_long_help = Exit::help())]
    Gate(GateArgs),
    /// Measure what calls take on cards and on the CPU, in turn, and compare.
    #[command(after_long_help = Exit::help())]
    Bench(Box<BenchArgs>),
    /// Show the limits of a stored run that are nearly used up, and those that are hardly used.
    Headroom(HeadroomArgs),
    /// Show how score, errors and times of every family went over stored runs.
    Trend(TrendArgs),
    /// Run whole networks of candle-transformers, and hold them against the CPU in wider precision.
    ///
    /// The limit of each result is derived: a multiple of the distance that the CPU's own runs in the dtype under test have from
    /// the CPU's run in wider precision. A model whose own runs part by more is chaotic, and nothing is said of the device.
    #[command(after_long_help = Exit::help())]
    Model(ModelArgs),
    /// Put the records of all shards of one plan together.
    #[command(after_long_help = Exit::help())]
    Merge(MergeArgs),
    /// Record outputs on a machine that others lack, and check what was recorded.
    Golden(GoldenArgs),
    /// Say which drivers, devices and tools are there, what is missing, and how to get it.
    #[command(after_long_help = Exit::help())]
    Doctor(DoctorArgs),
    /// Say which instructions of kernels were executed, by a stored coverage.
    #[command(after_long_help = Exit::help())]
    Coverage(CoverageArgs),
    /// Break right outputs as broken kernels would, or kernels themselves, and say which faults no case notices.
    #[command(after_long_help = Exit::help())]
    Selftest(SelftestArgs),
    /// Write the specs and findings that this program carries into a directory.
    Specs(SpecsArgs),
    /// Print the JSON Schema of a file that parity reads or writes.
    Schema(SchemaArgs),
    /// Print a script that completes parity's command line in a shell.
    Completions(CompletionsArgs),
    /// Print parity's manual page, or write the pages of all commands.
    Man(ManArgs),
}
