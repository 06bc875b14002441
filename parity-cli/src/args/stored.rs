//! The arguments of the commands that read what earlier ones stored: `report`, `diff`, `gate`, `headroom`, `trend`, `merge`, `coverage`,
//! `baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use parity_exec::Backend;

use super::{OutputArgs, PageArgs, SpecArgs};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A stored run; may be compressed by gzip.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Earlier stored runs, the earliest first: text and the HTML page show how score, errors and times went up to this one.
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) earlier: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The earlier run.
    #[arg(value_name = "RUN")]
    pub(crate) before: PathBuf,
    /// The later run.
    #[arg(value_name = "LATER_RUN", required_unless_present = "columns")]
    pub(crate) after: Option<PathBuf>,
    /// Compare two columns alone, e.g. `rocm:gfx1100,rocm:gfx942`: of one run, or the first of RUN and the second of LATER_RUN.
    #[arg(long, value_name = "COLUMN,COLUMN", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Let results go that only the earlier run has, as where it ran a wider selection.
    #[arg(long)]
    pub(crate) allow_gone: bool,
    /// Ask for the same verdicts instead, as of two devices.
    ///
    /// Exits with 100 where a verdict differs, for better or worse, or only one of the runs has a result. Errors inside the
    /// limits and fallbacks make no difference.
    #[arg(long)]
    pub(crate) verdicts: bool,
    /// What to print.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// A list, with the command that explains the first difference.
    Text,
    /// Tables for a pull request: a count for each pair of verdicts, then the results by finding, in 60,000 characters at most.
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// A stored run, whole: shards have to be merged.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The column whose results count.
    #[arg(long, value_name = "BACKEND", default_value = Backend::DEFAULT.name())]
    pub(crate) backend: String,
    /// Percent of the executed results that must agree.
    #[arg(long, value_name = "PERCENT", required_unless_present = "cost")]
    pub(crate) min: Option<f64>,
    /// Percent that must agree in every family by itself.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) per_family: Option<f64>,
    /// Block every failure that this earlier run does not have.
    #[arg(long, alias = "no-new-failures", value_name = "RUN")]
    pub(crate) against: Option<PathBuf>,
    /// Block what costs more than in this earlier run: both are counters that `parity bench --backend rocm:gfx1100 --format json`
    /// wrote.
    ///
    /// A row is blocked when one of its counters is worse by more than `--tolerance`, and when it is gone.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["min", "per_family", "against", "backend"])]
    pub(crate) cost: Option<PathBuf>,
    /// Percent by which a counter may be worse with --cost; counters are the same on every machine, so that 0 is a bar, too
    /// [default: 2].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) tolerance: Option<f64>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HeadroomArgs {
    /// A stored run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TrendArgs {
    /// Stored runs, the earliest first.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub(crate) runs: Vec<PathBuf>,
    /// The column whose results count, in every run.
    #[arg(long, value_name = "BACKEND", default_value = Backend::DEFAULT.name())]
    pub(crate) backend: String,
    /// In which form.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = TrendFormat::Text)]
    pub(crate) format: TrendFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrendFormat {
    /// A row for each family, with sparklines.
    Text,
    /// Every figure of every run.
    Json,
    /// One image with a chart for each figure of each family.
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The records of all shards of a plan, in any order.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CoverageArgs {
    /// Files that `parity run --coverage` wrote, and folders of ROCM_COVERAGE; several are merged.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What to print.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = CoverageFormat::Text)]
    pub(crate) format: CoverageFormat,
    /// Write to this file instead of stdout; JSON is packed if it ends in `.gz`.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoverageFormat {
    /// Figures of every kernel, with what was missed.
    Text,
    /// The coverage as it is stored.
    Json,
    /// The tracefile of lcov, by source line, of kernels that were compiled with line tables.
    Lcov,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Make the findings say what a stored run says: new failures in, what passes or matches no case out.
    #[command(after_long_help = Exit::help())]
    Update(BaselineUpdateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BaselineUpdateArgs {
    /// A stored run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The column whose results count.
    #[arg(long, value_name = "BACKEND", default_value = Backend::DEFAULT.name())]
    pub(crate) backend: String,
    /// Why the new failures are accepted; needed where they get a folder of their own.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// An upstream issue about the new failures.
    #[arg(long, value_name = "URL", requires = "reason")]
    pub(crate) link: Option<String>,
    /// The folder that new failures go to [default: `unexplained-` and the family of their op].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Directory of findings [default: findings beside the spec directory]; made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub(crate) findings: Option<PathBuf>,
    /// Say what would change, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
}
