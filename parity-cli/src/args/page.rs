//! What commands print that have one page to show, and where it goes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// What to print.
    #[arg(long, alias = "output", value_name = "FORMAT", value_enum, default_value_t = PageFormat::Text)]
    pub(crate) format: PageFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// A page to read.
    Text,
    /// What the page says, for programs.
    Json,
}
