//! The arguments of `parity model`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use parity_exec::Backend;

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
