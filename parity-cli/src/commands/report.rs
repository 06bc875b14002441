//! `parity report`: renders a stored run as the live run would have been rendered.

use parity_run::records;

use crate::{
    args::ReportArgs,
    exit::{Exit, Failure},
    settings::sink,
};

pub(crate) fn report(args: ReportArgs) -> Result<Exit, Failure> {
    let stored = records::read(&args.run)?;
    sink(args.output).put(&stored.run)?;
    Ok(Exit::Ok)
}
