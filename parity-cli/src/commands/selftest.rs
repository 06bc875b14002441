//! `parity selftest`: breaks outputs on purpose, in the ways kernels break, and says which faults no case notices. It
//! needs no backend: right outputs are the oracle's.

mod page;

use indicatif::ProgressBar;
use parity_model::{Case, Op};
use parity_selftest::{DECLARED, Declared, Pair, Score, Tally, examine, stale};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{gate::percent, run::progress};
use crate::{
    args::{SelftestArgs, SelftestFormat},
    exit::{Exit, Failure},
    output::{print, write},
    select::select,
    settings::{Selection, Which},
    specs,
};

pub(crate) fn selftest(args: SelftestArgs) -> Result<Exit, Failure> {
    let min = percent("--min", args.min)?;
    let selection = Selection::resolve(args.select)?;
    let dir = specs::find(selection.spec_dir.as_deref())?;
    let cases = select(&specs::load(&dir)?, &selection.which)?;
    let trial = Trial::of(&cases, args.seed, min, whole(&selection));
    let page = match args.output {
        SelftestFormat::Text => page::text(&trial),
        SelftestFormat::Json => page::json(&trial),
    };
    match &args.out {
        None => print(&page)?,
        Some(path) => write(path, &page)?,
    }
    Ok(if trial.passes() { Exit::Ok } else { Exit::Failed })
}

/// Whether the specs are parity's own, and their whole `ci` tier is selected, so that a declared fault must come up.
fn whole(selection: &Selection) -> bool {
    let all = match &selection.which {
        Which::Ids(_) => false,
        Which::Matching(criteria) => criteria.is_whole(),
    };
    all && selection.spec_dir.is_none()
}

/// Cases, and what became of their wrong outputs.
struct Trial {
    seed: u64,
    /// Percent of the pairs that must be noticed.
    min: f64,
    tally: Tally,
    pairs: Vec<Pair>,
    score: Score,
    /// Declared entries that have to go, with the reason.
    stale: Vec<(&'static Declared, &'static str)>,
}

impl Trial {
    fn of(cases: &[Case], seed: u64, min: f64, whole: bool) -> Trial {
        let bar: ProgressBar = progress(cases.len());
        let examined: Vec<_> = cases
            .par_iter()
            .map(|case| {
                let examination = examine(case, seed);
                bar.inc(1);
                examination
            })
            .collect();
        bar.finish_and_clear();
        let mut tally = Tally::default();
        for (case, examination) in cases.iter().zip(&examined) {
            tally.add(case, examination);
        }
        let pairs = tally.pairs(DECLARED);
        let reason = |entry: &'static Declared| stale(entry, &pairs, whole).map(|why| (entry, why));
        Trial {
            seed,
            min,
            stale: DECLARED.iter().filter_map(reason).collect(),
            score: Score::of(&pairs),
            pairs,
            tally,
        }
    }

    fn passes(&self) -> bool {
        self.score.reaches(self.min) && self.stale.is_empty() && self.tally.refused.is_empty()
    }

    /// The ops that the cases are of, in table order.
    fn ops(&self) -> impl Iterator<Item = Op> {
        let has = |op: &Op| self.pairs.iter().any(|pair| pair.op == *op);
        Op::ALL.iter().copied().filter(has)
    }
}
