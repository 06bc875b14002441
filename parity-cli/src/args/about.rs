//! The arguments of the commands that say what there is: `list`, `doctor`, `specs`, `schema`, `completions`, `man`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{PageArgs, SelectArgs, SpecArgs};

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
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) specs: SpecArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
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
