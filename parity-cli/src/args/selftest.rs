//! The arguments of `parity selftest`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use parity_exec::Backend;

use super::SelectArgs;

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
    /// Runs of a broken kernel at most before it counts as unnoticed: each case once, then with its allocations at other places.
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
