//! The arguments of `parity bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use parity_exec::Backend;

use super::SelectArgs;

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
