//! The command line as clap sees it. Nothing below [`crate::settings`] knows these types.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use parity_exec::Backend;

/// Checks that candle's backends compute what its CPU backend and a high-precision oracle compute.
#[derive(Debug, Parser)]
#[command(name = "parity", version, after_help = crate::exit::Exit::help())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run cases on backends and judge every result.
    #[command(after_help = crate::exit::Exit::help())]
    Run(RunArgs),
    /// List what there is.
    List(ListArgs),
    /// Render a stored run again.
    Report(ReportArgs),
    /// Run cases for a supervisor (internal).
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// Which cases.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectArgs {
    /// Op families or ops, e.g. `unary,add` [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) ops: Vec<String>,
    /// Dtypes, e.g. `f32,bf16` [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) dtype: Vec<String>,
    /// Layouts at least one argument has, e.g. `transposed` [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) layout: Vec<String>,
    /// Cases of this tier and the cheaper ones: quick, ci, full, slow [default: ci].
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Option<String>,
    /// The case with this id, in the specs or not; may be given again.
    #[arg(long, value_name = "ID", conflicts_with_all = ["ops", "dtype", "layout", "tier", "filter"])]
    pub(crate) case: Vec<String>,
    /// Cases whose id matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    pub(crate) filter: Option<String>,
    /// Directory of specs [default: the nearest op-specs/ above the working directory, or above the binary].
    #[arg(long, value_name = "DIR")]
    pub(crate) spec_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Backends to run, besides the reference, which always runs: see `parity list backends`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = Backend::DEFAULT.name())]
    pub(crate) backend: Vec<String>,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Seed the inputs derive from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Seconds one case may take on one backend.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) timeout: f64,
    /// Cases in flight at once [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Fail every result of which a backend computed a part on the CPU for want of a kernel.
    #[arg(long)]
    pub(crate) no_fallback: bool,
    /// Failures that are known, with reasons [default: known-failures.toml in the spec directory, if there].
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// What to print.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) output: Format,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Whether to color text.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
    /// Columns to wrap tables at [default: as wide as they are].
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables, totals, failures.
    Text,
    /// The whole record.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: Listing,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Ids of the selected cases.
    Cases,
    /// The table of ops.
    Ops,
    /// Backends, and the device behind each.
    Backends,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A run stored with `--output json`.
    pub(crate) record: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The backend to serve.
    #[arg(long)]
    pub(crate) backend: String,
}
