//! `parity selftest`: breaks outputs or kernels on purpose and says which faults no case notices.

mod kernels;
mod page;

use parity_run::selftest::{Made, SelftestRun};

use super::{gate::percent, run::progress};
use crate::{
    args::{SelftestArgs, SelftestFormat},
    exit::{Exit, Failure},
    output::put_page,
    settings,
};

pub(crate) fn selftest(args: SelftestArgs) -> Result<Exit, Failure> {
    let min = percent("--min", args.min)?;
    if args.kernels.is_some() {
        return kernels::selftest(args, min);
    }
    let selection = settings::selection(args.select)?;
    let cases = selection.cases()?;
    let whole = selection.is_whole() && selection.spec_dir.is_none();
    let bar = progress(cases.len());
    let made = match args.until_noticed {
        true => Made::UntilNoticed,
        false => Made::All,
    };
    let trial = SelftestRun::of(&cases, args.seed, min, made, whole, || bar.inc(1));
    bar.finish_and_clear();
    let page = match args.format {
        SelftestFormat::Text => page::text(&trial),
        SelftestFormat::Json => page::json(&trial),
    };
    put_page(args.out.as_deref(), &page)?;
    Ok(if trial.passes() { Exit::Ok } else { Exit::Failed })
}
