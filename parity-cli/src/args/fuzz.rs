//! The arguments of `parity fuzz`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use parity_exec::Backend;

use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = format!("\
No spec is read: op, dtypes, shapes, layouts of every argument, parameters and values are drawn, most of them within the
rules of the op, some just outside. Cases follow from --seed and their number alone. A failure that a finding explains does
not fail the run. The others come in groups, each with the smallest case that fails so and the line that repeats it.

{}", Exit::help()))]
pub(crate) struct FuzzArgs {
    /// Minutes of running cases; the search for the smallest ones comes after them [default: 1, or no limit with --cases].
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<f64>,
    /// Cases to run at most.
    #[arg(long, value_name = "N")]
    pub(crate) cases: Option<u64>,
    /// Which endless list of cases.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Ops or op families to draw from, e.g. `unary,add` [default: all].
    #[arg(long, aliases = ["op", "families", "family"], value_name = "LIST", value_delimiter = ',')]
    pub(crate) ops: Vec<String>,
    /// Dtypes of the data to draw from, e.g. `f32,bf16` [default: all].
    #[arg(long, alias = "dtype", value_name = "LIST", value_delimiter = ',')]
    pub(crate) dtypes: Vec<String>,
    /// Backends to run besides the reference, as for `parity run`.
    #[arg(long, value_name = "LIST", default_value = Backend::DEFAULT.name())]
    pub(crate) backend: Vec<String>,
    /// Cases in flight at once [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Seconds one case may take on one backend.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(crate) timeout: f64,
    /// Memory each worker may use, e.g. `2GiB`.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<String>,
    /// Directory of findings [default: findings beside the nearest op-specs].
    #[arg(long, value_name = "DIR")]
    pub(crate) findings: Option<PathBuf>,
    /// Begin with an empty list of known failures, and count which findings the failures show.
    #[arg(long)]
    pub(crate) no_known: bool,
    /// As --no-known, and the run passes if PERCENT of the findings that its backends can show come up, whatever else fails.
    ///
    /// Each finding is named with its cases, and so is each that is missing. `ci/fuzz-rediscover` holds the generator to it.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) rediscover: Option<f64>,
    /// Write every round into this file as it ends.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(crate) journal: Option<PathBuf>,
    /// Go on with the run of this journal; --minutes and --cases count from its beginning.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Cases to run at most in the search for the smallest one of a group.
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) shrink_runs: usize,
    /// Groups to shrink at most; of the others the smallest drawn case is shown.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) shrink_groups: usize,
    /// Shrink what a finding explains, too.
    #[arg(long)]
    pub(crate) shrink_known: bool,
    /// Write the smallest case of each group that nothing explains into specs in this directory, a file a family.
    ///
    /// `parity run --spec-dir DIR` runs them, and a group of such a file can be taken into op-specs.
    #[arg(long, value_name = "DIR")]
    pub(crate) pin: Option<PathBuf>,
    /// What to print.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = FuzzFormat::Text)]
    pub(crate) format: FuzzFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FuzzFormat {
    /// Totals, a line for each finding that came up, and each group that nothing explains.
    Text,
    /// All of it.
    Json,
}
