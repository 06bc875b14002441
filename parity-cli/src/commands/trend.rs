//! `parity trend`: how score, errors and times of every family went over stored runs.

use parity_report::trend::Trend;
use parity_run::records::{self, Stored};

use crate::{
    args::{TrendArgs, TrendFormat},
    columns::columns,
    exit::{Exit, Failure},
    output::{formless, put_page},
};

pub(crate) fn trend(args: &TrendArgs) -> Result<Exit, Failure> {
    let stored: Vec<Stored> = args
        .runs
        .iter()
        .map(|path| records::read(path))
        .collect::<Result<_, _>>()?;
    let runs = stored
        .iter()
        .map(|stored| Ok((&stored.run, stored.column(&args.backend)?)));
    let trend = Trend::of(runs.collect::<Result<_, parity_run::Error>>()?);
    let page = match args.format {
        TrendFormat::Text => text(args, &stored, &trend),
        TrendFormat::Json => format!(
            "{}\n",
            serde_json::to_string_pretty(&trend.json()).map_err(formless)?
        ),
        TrendFormat::Svg => trend.svg(),
    };
    put_page(args.out.as_deref(), &page)?;
    Ok(Exit::Ok)
}

/// The runs with their dates, then a row for each family.
fn text(args: &TrendArgs, stored: &[Stored], trend: &Trend<'_>) -> String {
    let run = |stored: &Stored| {
        let run = &stored.run;
        let commit = run.commit.clone().unwrap_or_default();
        vec![
            stored.path.clone(),
            run.started.clone(),
            commit,
            format!("{} cases", run.cases.len()),
        ]
    };
    let runs: Vec<_> = stored.iter().map(run).collect();
    format!(
        "{}\n{}",
        columns("", &runs),
        columns(&format!("{} ", args.backend), &trend.rows())
    )
}
