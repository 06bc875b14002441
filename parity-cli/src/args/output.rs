//! What commands print that render a run, and how it looks.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// What to print.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
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
pub(crate) enum OutputFormat {
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
