//! What the rest of the program asks of clap: to parse a line, the word of a choice, and pages and scripts made of the command line.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Command};
use crate::exit::Exit;

impl Command {
    /// The command of a line, whose first word is the program. Where there is none, help, the version or what is wrong with the line
    /// has been printed, and the exit code is the error.
    pub(crate) fn of_line(words: impl IntoIterator<Item = OsString>) -> Result<Command, Exit> {
        Cli::try_parse_from(words)
            .map(|cli| cli.command)
            .map_err(|error| {
                // Help and version are not errors, and clap knows which stream each goes to.
                match (error.use_stderr(), error.print()) {
                    (true, _) => Exit::Usage,
                    (false, Ok(())) => Exit::Ok,
                    (false, Err(_)) => Exit::Io,
                }
            })
    }
}

/// The word by which the command line has a choice.
pub(crate) fn word(choice: &impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A script that completes the command line in a shell.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "parity", &mut script);
    script
}

/// The page of a command in the manual.
pub(crate) struct ManualPage {
    /// `parity`, or `parity-baseline-update`.
    pub(crate) name: String,
    /// The text, as troff.
    pub(crate) text: String,
}

/// The program's page, then those of its subcommands, each before its own.
///
/// # Errors
/// Why clap cannot render one.
pub(crate) fn manual() -> Result<Vec<ManualPage>, std::io::Error> {
    fn add(command: &clap::Command, name: &str, pages: &mut Vec<ManualPage>) -> Result<(), std::io::Error> {
        let mut text = Vec::new();
        Man::new(command.clone()).render(&mut text)?;
        pages.push(ManualPage {
            name: name.to_owned(),
            text: String::from_utf8_lossy(&text).into_owned(),
        });
        let shown = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set() && command.get_name() != "help");
        for command in shown {
            add(command, &format!("{name}-{}", command.get_name()), pages)?;
        }
        Ok(())
    }
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    add(&command, "parity", &mut pages)?;
    Ok(pages)
}
