//! `parity baseline update`: brings the findings in line with what a stored run shows.

use parity_run::{
    baseline::{self, Update},
    records,
};

use crate::{
    args::{BaselineArgs, BaselineCommand, BaselineUpdateArgs},
    exit::{Exit, Failure},
    next,
    output::print,
};

pub(crate) fn baseline(args: BaselineArgs) -> Result<Exit, Failure> {
    let BaselineCommand::Update(args) = args.command;
    let BaselineUpdateArgs {
        run,
        backend,
        reason,
        link,
        name,
        findings,
        dry_run,
        specs,
    } = args;
    let asked = Update {
        backend,
        reason,
        link,
        name,
        findings,
        dry_run,
        spec_dir: specs.spec_dir,
    };
    let stored = records::read(&run)?;
    let updated = baseline::update(&stored, &asked)?;
    let name = &updated.name;
    print(&match (updated.is_up_to_date(), dry_run) {
        (true, _) => format!("{name} is up to date\n{updated}"),
        (false, true) => format!("{name} would change\n{updated}"),
        (false, false) => {
            let info = &stored.run.backends[updated.column];
            format!("{name}\n{updated}{}", next::after_baseline(&asked, info))
        }
    })?;
    Ok(Exit::Ok)
}
