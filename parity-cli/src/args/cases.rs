//! Which cases, of which specs, on what, and judged how: what the commands that run cases have in common.

use std::path::PathBuf;

use clap::Args;
use parity_exec::Backend;

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
