//! `parity report`: renders a stored run as the live run would have been rendered, and how it went over earlier runs.

use parity_report::trend::Trend;
use parity_run::records::{self, Stored};

use crate::{
    args::ReportArgs,
    exit::{Exit, Failure},
    settings::sink,
};

pub(crate) fn report(args: ReportArgs) -> Result<Exit, Failure> {
    if let Some(record) = super::models::read(&args.run)? {
        return super::models::report(&record, &args);
    }
    let mut stored: Vec<Stored> = args
        .earlier
        .iter()
        .map(|path| records::read(path))
        .collect::<Result<_, _>>()?;
    let earlier = stored.len();
    stored.push(records::read(&args.run)?);
    let run = &stored[earlier].run;
    let mut trends = vec![];
    if earlier > 0 {
        // The reference where there is nothing else.
        let is_tested = |name: &str| run.backends.len() == 1 || name != run.reference;
        for info in run.backends.iter().filter(|info| is_tested(&info.backend)) {
            let column = |stored: &Stored| stored.column(&info.backend);
            let runs = stored.iter().map(|stored| Ok((&stored.run, column(stored)?)));
            let trend = Trend::of(runs.collect::<Result<_, parity_run::Error>>()?);
            trends.push((info.backend.as_str(), trend));
        }
    }
    sink(args.output).put_with(run, &trends)?;
    Ok(Exit::Ok)
}
