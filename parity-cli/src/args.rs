//! The command line as clap sees it, which nothing else of the program names. Each command takes its own struct apart; the engine knows
//! none of these types.
//!
//! An option that takes a list is in the plural; `RUN` is a stored run wherever it occurs. A first paragraph is
//! the help of `-h`, all of them that of `--help`.

mod fuzz;
mod line;
mod page;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use parity_exec::Backend;

use crate::exit::Exit;
pub(crate) use fuzz::{FuzzArgs, FuzzFormat};
pub(crate) use line::{completions, manual, word};
pub(crate) use page::{PageArgs, PageFormat};

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

/// Which cases.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectArgs {
    /// Ops or op families, e.g. `unary,add` [default: all].
    #[arg(long, aliases = ["op", "families", "family"], value_name = "LIST", value_delimiter = ',')]
    pub(crate) ops: Vec<String>,
    /// Dtypes, e.g. `f32,bf16` [default: all].
    #[arg(long, alias = "dtype", value_name = "LIST", value_delimiter = ',')]
    pub(crate) dtypes: Vec<String>,
    /// Layouts that at least one argument has, e.g. `transposed` [default: all].
    #[arg(long, alias = "layout", value_name = "LIST", value_delimiter = ',')]
    pub(crate) layouts: Vec<String>,
    /// Tags of spec groups: cases of a group that has one of them [default: all].
    #[arg(long, alias = "tag", value_name = "LIST", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Cases of this tier and the cheaper ones: quick, ci, full, slow [default: ci].
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Option<String>,
    /// The case with this id; with `*`, the cases that match. May be given again.
    ///
    /// A case that is named may be in the specs or not, and of whatever tier. `*` matches any run of characters;
    /// the cases of the specs that match have to be selected otherwise, too.
    #[arg(long, value_name = "ID")]
    pub(crate) case: Vec<String>,
    /// Cases whose id this regular expression matches.
    #[arg(long, alias = "filter", value_name = "REGEX")]
    pub(crate) regex: Option<String>,
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
}

/// Of which specs.
#[derive(Debug, Args)]
pub(crate) struct SpecArgs {
    /// Directory of specs [default: the nearest op-specs/ above the working directory, or above the binary; else those that it carries].
    #[arg(long, value_name = "DIR")]
    pub(crate) spec_dir: Option<PathBuf>,
}

/// On what, and judged how.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    /// Backends to run besides the reference, e.g. `rocm`, `rocm:gfx942` or `cuda=ssh://HOST`.
    ///
    /// `parity list backends` has their names, `parity list devices` those of their devices. Without a device, the
    /// environment chooses. Each is a column of the tables; the reference, candle's CPU backend, always runs.
    ///
    /// `rocm:gfx942` is a software card. `rocm:hsa` is AMD's own HIP runtime over one, with AMD's rocBLAS and MIOpen where they are;
    /// `rocm:hsa:gfx942` says which card.
    ///
    /// After `=` comes the place of a backend that runs elsewhere. `cuda=ssh://me@gpu7:22/opt/parity` runs `ssh -T -o
    /// BatchMode=yes -p 22 -- me@gpu7 /opt/parity worker --backend cuda` and needs the same parity there. `rocm=exec:COMMAND`,
    /// the last of its list, runs COMMAND in a shell: any worker that speaks on its stdin and stdout will do.
    #[arg(long, value_name = "LIST", default_value = Backend::DEFAULT.name())]
    pub(crate) backend: Vec<String>,
    /// Seed the inputs derive from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Seconds one case may take on one backend.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) timeout: f64,
    /// Fail every result of which a backend computed a part on the CPU for want of a kernel.
    #[arg(long)]
    pub(crate) no_fallback: bool,
    /// Run every case twice on every backend, and fail one that gives different bits.
    #[arg(long)]
    pub(crate) deterministic: bool,
    /// Memory each worker may use, e.g. `2GiB`: a case that needs more crashes its worker, and no more.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<String>,
    /// Directory of findings, which name the failures that are known [default: findings beside the spec directory, if there].
    #[arg(long, value_name = "DIR")]
    pub(crate) findings: Option<PathBuf>,
}

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
pub(crate) struct ModelArgs {
    /// The models, by name.
    #[arg(value_name = "MODEL", required_unless_present_any = ["all", "list"], conflicts_with = "all")]
    pub(crate) models: Vec<String>,
    /// Every model of the specs.
    #[arg(long)]
    pub(crate) all: bool,
    /// List the selected models and run none.
    #[arg(long)]
    pub(crate) list: bool,
    /// Watch every op of one model in its first selected dtype, name the first whose error exceeds its limit for the inputs
    /// that it got, and show how the error grows.
    #[arg(long, conflicts_with = "all")]
    pub(crate) bisect: bool,
    /// Watch every op of one model and write the distinct cases that it consists of, with its shapes, layouts and parameters (norms: an epsilon of 1e-5), into
    /// specs of this directory, a file for each family: `parity run --spec-dir DIR` runs them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "bisect", "list", "format", "out"])]
    pub(crate) export_specs: Option<PathBuf>,
    /// Backends to run, e.g. `rocm:gfx1100,rocm:gfx942`.
    #[arg(long, value_name = "LIST", default_value = Backend::DEFAULT.name())]
    pub(crate) backend: Vec<String>,
    /// Dtypes of weights, e.g. `f32,q4_0` [default: all that a model has].
    #[arg(long, alias = "dtype", value_name = "LIST", value_delimiter = ',')]
    pub(crate) dtypes: Vec<String>,
    /// Seed that weights and inputs derive from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Seconds one model may take on one backend.
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0)]
    pub(crate) timeout: f64,
    /// Models in flight at once [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Directory of specs [default: the nearest model-specs/ above the working directory, or above the binary].
    #[arg(long, value_name = "DIR")]
    pub(crate) spec_dir: Option<PathBuf>,
    /// Folder of the files of weights that specs name; `ci/models` fills one. Without it, all models are those made of names.
    #[arg(long, value_name = "DIR")]
    pub(crate) weights: Option<PathBuf>,
    /// Write what each model comes to into this file as it happens.
    ///
    /// `parity report`, `gate` and `diff` read it as they read the record, and `--resume` goes on with it when the run was cut off.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "list", "bisect", "export_specs"])]
    pub(crate) journal: Option<PathBuf>,
    /// Go on with the run of this journal: run the models that have no result, died or ran out of time.
    ///
    /// What decides the results has to be as it was: specs, selection, seed and backends.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "bisect", "export_specs"])]
    pub(crate) resume: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ModelFormat::Text)]
    pub(crate) format: ModelFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelFormat {
    /// A table.
    Text,
    /// The record, which can be stored and rendered again.
    Json,
    /// A page.
    Markdown,
    /// Of a bisection, a page with a chart of how the error grows.
    Html,
    /// JUnit XML, a test suite per backend.
    Junit,
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

#[derive(Debug, Args)]
pub(crate) struct SpecsArgs {
    #[command(subcommand)]
    pub(crate) command: SpecsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SpecsCommand {
    /// Write DIR/op-specs and DIR/findings, which `parity run` takes in DIR; nothing that is there is overwritten.
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The directory; it is made where it does not exist.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Of which file.
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The files of op-specs/, with their TOML read as JSON.
    Specs,
    /// The `finding.toml` of a folder of findings/, with its TOML read as JSON.
    Findings,
    /// What `parity run --format json` writes.
    Results,
    /// A line of the journal that `parity run` keeps.
    Journal,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the page of every command into this directory instead: parity.1, parity-run.1 and so on.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// What to print.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
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
    /// A status page in GitHub-flavoured markdown, with every known failure and every failure.
    Markdown,
    /// A row per case and backend.
    Csv,
    /// JUnit XML, a test suite per backend.
    Junit,
    /// One page with heat maps, histograms and every case, that needs no other file.
    Html,
    /// For a step of a GitHub workflow: an error annotation for each of the first failures, and a summary, which goes to
    /// $GITHUB_STEP_SUMMARY where that is set.
    Github,
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
    #[command(subcommand)]
    pub(crate) what: Listing,
}

/// What to list. Only what depends on cases takes a selection.
#[derive(Debug, Subcommand)]
pub(crate) enum Listing {
    /// Ids of the selected cases.
    Cases(SelectArgs),
    /// The table of ops; of those that a selected case has, where some are selected.
    Ops(SelectArgs),
    /// Backends, and whether each is available here.
    Backends,
    /// Every device that a backend can open here, the software ones included.
    Devices,
    /// Tags of spec groups, with the number of their cases.
    Tags(SelectArgs),
}

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
    /// Compare two columns of one run instead, e.g. `rocm:gfx1100,rocm:gfx942`.
    #[arg(
        long,
        value_name = "COLUMN,COLUMN",
        value_delimiter = ',',
        conflicts_with = "after"
    )]
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
pub(crate) struct BenchArgs {
    /// Devices to measure, in turn, in one process, e.g. `cuda,rocm:nvidia`: of the first two the ratios are shown.
    ///
    /// Of software GPUs, e.g. `rocm:gfx1100,rocm:gfx942`, no time is taken, as it says nothing about a card. What calls cost there is
    /// counted: instructions by unit, lines of caches, bank conflicts, registers.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = Backend::DEFAULT.name())]
    pub(crate) backend: Vec<String>,
    /// A look: the rows of tier `quick`, few and short samples.
    #[arg(long, conflicts_with = "tier")]
    pub(crate) quick: bool,
    /// Samples of each row on each device [default: 15, or 5 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) samples: Option<u32>,
    /// Seed the inputs derive from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Seconds that one row may take, on all devices together.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) timeout: f64,
    /// Show what is slower than in this stored measurement by more than 10 % and more than the spread, and exit with 100 if
    /// anything is.
    #[arg(long, value_name = "RUN")]
    pub(crate) against: Option<PathBuf>,
    /// Render this stored measurement instead of measuring.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["quick", "samples", "seed", "timeout"])]
    pub(crate) render: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// What to print.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = BenchFormat::Text)]
    pub(crate) format: BenchFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFormat {
    /// A table, the means of the ratios and the rows below 1.
    Text,
    /// The measurement as it is stored.
    Json,
    /// A line for each row and device.
    Csv,
    /// As text, as a page.
    Markdown,
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
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
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
pub(crate) struct SelftestArgs {
    /// Break kernels instead: change one instruction of their machine code, and run the cases that execute it until one
    /// fails. Of kernels whose names match; `*` stands for any characters.
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "*")]
    pub(crate) kernels: Option<String>,
    /// The software GPU whose kernels are broken.
    #[arg(long, value_name = "BACKEND", default_value = Backend::SOFT_DEFAULT, requires = "kernels")]
    pub(crate) backend: String,
    /// How many kernels to break, drawn by the seed [default: all that there are].
    #[arg(long, value_name = "N", requires = "kernels")]
    pub(crate) samples: Option<usize>,
    /// Cases to run at most on a broken kernel before it counts as unnoticed.
    #[arg(long, value_name = "N", default_value_t = 200, requires = "kernels")]
    pub(crate) tries: usize,
    /// Random cases to run on a broken kernel that no selected case notices: this many are drawn by the seed, as for
    /// `parity fuzz`.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "kernels")]
    pub(crate) random: u64,
    /// Break only the kernels that went unnoticed in this file, which `--format json` wrote.
    #[arg(long, value_name = "FILE", requires = "kernels")]
    pub(crate) survivors_of: Option<PathBuf>,
    /// Run the broken kernels too of which it is proven that no launch shows the fault: a case that notices one is an error.
    #[arg(long, requires = "kernels")]
    pub(crate) distrust: bool,
    /// Cases in flight at once on broken kernels [default: one per core].
    #[arg(long, value_name = "N", requires = "kernels")]
    pub(crate) jobs: Option<usize>,
    /// Percent of the pairs of op and fault, or of the broken kernels, that at least one case must notice.
    #[arg(long, value_name = "PERCENT", default_value_t = 99.0)]
    pub(crate) min: f64,
    /// Seed the inputs derive from; with `--kernels` it decides which are broken, too.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Make a fault in an op and a dtype no more once a case has noticed it. The same pairs of op and fault are noticed, in a
    /// fraction of the time; how many wrong outputs each case notices is not counted.
    #[arg(long, conflicts_with_all = ["kernels", "format"])]
    pub(crate) until_noticed: bool,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// What to print.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = SelftestFormat::Text)]
    pub(crate) format: SelftestFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelftestFormat {
    /// Faults by family, and those that go unnoticed.
    Text,
    /// Every pair of op and fault.
    Json,
}
