//! `parity merge`: puts the records of all shards of a plan together.

use parity_report::json;
use parity_run::{merge::merge as whole, records};

use crate::{
    args::MergeArgs,
    exit::{Exit, Failure},
    output::{formless, put_page},
};

pub(crate) fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    let parts: Result<Vec<_>, _> = args.runs.iter().map(|path| records::read(path)).collect();
    let text = json::render(&whole(parts?)?).map_err(formless)?;
    put_page(args.out.as_deref(), &text)?;
    Ok(Exit::Ok)
}
