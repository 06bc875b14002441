//! One module a subcommand, and the way into them.

mod baseline;
mod bench;
mod completions;
mod cost;
mod coverage;
mod diff;
mod doctor;
mod explain;
mod fuzz;
mod gate;
mod golden;
mod headroom;
mod list;
mod man;
mod merge;
mod model;
mod models;
mod report;
mod run;
mod schema;
mod selftest;
mod shrink;
mod specs;
mod trend;

use std::ffi::OsString;

use crate::{
    args::Command,
    exit::{Exit, Failure},
    output::complain,
};

/// Runs the command line; every error ends here, as one message on stderr.
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> Exit {
    parity_run::files::carry(crate::carried::FILES);
    let served = parity_run::serve_if_asked();
    let served = match served {
        Ok(false) => parity_run::bench::serve_if_asked(),
        other => other,
    };
    match served {
        Ok(false) => {}
        Ok(true) => return Exit::Ok,
        Err(error) => return fail(error.into()),
    }
    match Command::of_line(args) {
        Ok(command) => dispatch(command).unwrap_or_else(fail),
        Err(exit) => exit,
    }
}

/// Says what went wrong.
fn fail(Failure { exit, message }: Failure) -> Exit {
    let underlined = message.starts_with("error");
    complain(&if underlined {
        message
    } else {
        format!("error: {message}")
    });
    exit
}

fn dispatch(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(*args),
        Command::Explain(args) => explain::explain(args),
        Command::Shrink(args) => shrink::shrink(args),
        Command::Baseline(args) => baseline::baseline(args),
        Command::Specs(args) => specs::specs(&args),
        Command::Schema(args) => schema::schema(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Fuzz(args) => fuzz::fuzz(*args),
        Command::Golden(args) => golden::golden(args),
        Command::Gate(args) => gate::gate(&args),
        Command::Trend(args) => trend::trend(&args),
        Command::Bench(args) => bench::bench(*args),
        Command::Headroom(args) => headroom::headroom(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Model(args) => model::model(args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::List(args) => list::list(args),
        Command::Report(args) => report::report(args),
        Command::Coverage(args) => coverage::coverage(&args),
        Command::Selftest(args) => selftest::selftest(args),
    }
}
