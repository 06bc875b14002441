//! The arguments of the commands that run cases and judge them: `run`, `explain`, `shrink`, `golden`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{HowArgs, OutputArgs, PageArgs, SelectArgs, SpecArgs};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Cases in flight at once [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Run part I of N of the selected cases, e.g. `2/4`; `parity merge` puts the parts together.
    ///
    /// A case is always in the same part of N, whatever else is selected.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<String>,
    /// Balance the parts by the times of this stored run, which all of them must be given, instead of by the ids alone.
    #[arg(long, value_name = "RUN", requires = "shard")]
    pub(crate) times: Option<PathBuf>,
    /// Write every case's start and result into this file as they happen.
    ///
    /// Every command that reads a stored run reads it too, and `--resume` goes on with it when the run was cut off.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(crate) journal: Option<PathBuf>,
    /// Go on with the run of this journal: run the cases that have no result, crashed or ran out of time.
    ///
    /// What decides the results has to be as it was: specs, selection, seed, backends and options.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Write into this file which instructions of which kernels the software GPU executed, packed if it ends in `.gz`.
    ///
    /// `parity coverage` reads it. With `--resume`, what the file holds is added to.
    #[arg(long, value_name = "FILE")]
    pub(crate) coverage: Option<PathBuf>,
    /// Compare with the outputs recorded in this bundle of golden/, or with those of a path with a slash.
    ///
    /// They become the first column, `golden:NAME`, and take the place of the reference: errors against it are errors
    /// against them.
    #[arg(long, value_name = "NAME")]
    pub(crate) against: Option<String>,
    /// Compute with another candle on every backend: a version on crates.io, the folder of a checkout, or `URL@REV`.
    ///
    /// Builds parity's worker over its sources, once, in the cache of kernels; the record says which sources these were. Needs
    /// cargo and a checkout of parity. `parity diff` of two such runs says what a change of candle changes.
    #[arg(long, value_name = "CANDLE")]
    pub(crate) candle: Option<String>,
    /// Leave out the selected cases that the recording has no entry for, instead of failing them as `not-run`.
    ///
    /// The record and its reports say how many.
    #[arg(long, requires = "against")]
    pub(crate) recorded_only: bool,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GoldenArgs {
    #[command(subcommand)]
    pub(crate) command: GoldenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GoldenCommand {
    /// Run cases on one backend and store every output with its provenance.
    #[command(after_long_help = Exit::help())]
    Record(Box<RecordArgs>),
    /// Hold bundles to their digests, and their entries to the specs as they are now.
    #[command(after_long_help = Exit::help())]
    Verify(VerifyArgs),
    /// Leave out of a bundle what was recorded of cases that no spec has any more.
    #[command(after_long_help = Exit::help())]
    Prune(PruneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Name of the bundle: a folder in golden/, beside the specs.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Cases in flight at once [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Bundles, as `parity run --against` names them [default: all of golden/].
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// The bundle, as `parity run --against` names it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Id of the case, in the specs or not, e.g. `unary/exp:f32:[2,3]:transposed:uniform(-10,10)`.
    #[arg(value_name = "CASE")]
    pub(crate) case: String,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = format!("\
The smaller case fails in the same way: with the same verdict, and the same kind of outcome (a value, an error, a dead
process). Tried are smaller dimensions, fewer of them, simpler layouts, plainer dtypes, narrower values and parameters
nearer to 0. Inputs derive from the case's id, so that a failure that few inputs show may be lost on the way.

{}", Exit::help()))]
pub(crate) struct ShrinkArgs {
    /// Id of the failing case, in the specs or not.
    #[arg(value_name = "CASE")]
    pub(crate) case: String,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Cases to run at most.
    #[arg(long, value_name = "N", default_value_t = 600)]
    pub(crate) runs: usize,
    /// Append the case that is found to this op spec, as a group of its own; the file is made if it is not there.
    #[arg(long, value_name = "FILE")]
    pub(crate) pin: Option<PathBuf>,
    /// Write the Rust test to this file instead of stdout.
    #[arg(long, alias = "test", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
}
