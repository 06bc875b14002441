//! `parity report`: renders a stored run as the live run would have been rendered.

use std::fs;

use parity_report::json::{self, ReadError};

use crate::{
    args::ReportArgs,
    exit::{Exit, Failure},
    output::Sink,
};

pub(crate) fn report(args: ReportArgs) -> Result<Exit, Failure> {
    let path = args.record.display().to_string();
    let text = fs::read_to_string(&args.record)
        .map_err(|error| Failure::new(Exit::NoInput, format!("cannot read {path}: {error}")))?;
    let run = json::parse(&text)
        .map_err(|error: ReadError| Failure::new(Exit::BadData, format!("{path}: {error}")))?;
    Sink::resolve(args.output).put(&run)?;
    Ok(Exit::Ok)
}
