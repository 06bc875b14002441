//! `parity man`: the manual pages, made of the command line's own descriptions.

use std::{fs, path::Path};

use clap::{Command, CommandFactory};

use crate::{
    args::{Cli, ManArgs},
    exit::{Exit, Failure},
    output::{print, write},
};

pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    match &args.out {
        None => print(&page(&command)?)?,
        Some(dir) => {
            fs::create_dir_all(dir)
                .map_err(|error| Failure::new(Exit::Io, format!("cannot make {}: {error}", dir.display())))?;
            put(&command, "parity", dir)?;
        }
    }
    Ok(Exit::Ok)
}

/// Writes the page of a command and those of its subcommands: `parity-baseline-update.1`.
fn put(command: &Command, name: &str, dir: &Path) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    write(&path, &page(command)?)?;
    print(&format!("{}\n", path.display()))?;
    let shown = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help");
    for command in shown {
        put(command, &format!("{name}-{}", command.get_name()), dir)?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| {
            Failure::new(
                Exit::Internal,
                format!("the manual page cannot be rendered: {error}"),
            )
        })?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
