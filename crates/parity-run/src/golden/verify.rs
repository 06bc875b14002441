//! Holds bundles to their digests, and their entries to the specs as they are now.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use parity_exec::CANDLE_VERSION;
use parity_golden::{Bundle, Stale};
use parity_model::{Case, Tier};
use rayon::prelude::*;

use super::{folder, names, plain_name};
use crate::{error::Error, judge::Prepared, specs};

/// How a bundle and the specs as they are differ.
pub struct Verified {
    /// The bundle's name, or its path.
    pub name: String,
    /// Its files have the digests that it says.
    pub bundle: Bundle,
    /// Entries whose case no spec has any more: [`super::prune()`] leaves them out.
    pub gone: Vec<String>,
    /// Other entries that answer for no case any more, a line each.
    pub stale: Vec<String>,
    /// By tier, the cases of the specs that it has no entry for: it may have been recorded of some only, and a run that asks
    /// for another is told.
    pub missing: BTreeMap<Tier, usize>,
    /// Cases of the specs.
    pub all: usize,
}

/// Verifies some bundles, or all of golden/ where none is named. An empty answer means that there is no bundle.
///
/// # Errors
/// Specs or a bundle that cannot be read, and a bundle that was changed after it was recorded.
pub fn verify(chosen: &[String], spec_dir: Option<&Path>) -> Result<Vec<Verified>, Error> {
    let spec_dir = specs::find(spec_dir)?;
    let all = specs::load(&spec_dir)?;
    let chosen = match chosen {
        [] => names(&spec_dir),
        some => some.to_vec(),
    };
    let verified = chosen.into_iter().map(|name| {
        let bundle = Bundle::open(&folder(&name, &spec_dir)?)?;
        Ok(Verified::of(plain_name(&name).to_owned(), bundle, &all))
    });
    verified.collect()
}

impl Verified {
    fn of(name: String, bundle: Bundle, all: &[Case]) -> Verified {
        let seed = bundle.manifest().provenance.seed;
        let (mut gone, mut stale, mut missing) = (vec![], vec![], BTreeMap::new());
        if let Err(why) = bundle.fits(seed, CANDLE_VERSION) {
            stale.push(why.to_string());
        } else {
            let ids: BTreeSet<_> = all.iter().map(|case| case.id().to_string()).collect();
            gone.extend(bundle.orphans(&ids).into_iter().map(str::to_owned));
            let check = |case| {
                let prepared = Prepared::of(case, seed);
                let outcome = bundle.outcome(&prepared.id, &prepared.inputs, &prepared.want.tensor());
                outcome.err().map(|why| (case, why))
            };
            let unanswered: Vec<(&Case, Stale)> = all.par_iter().filter_map(check).collect();
            for (case, why) in unanswered {
                match why {
                    Stale::NotRecorded => *missing.entry(case.tier).or_default() += 1,
                    why => stale.push(format!("{}: {why}", case.id())),
                }
            }
        }
        Verified {
            name,
            bundle,
            gone,
            stale,
            missing,
            all: all.len(),
        }
    }
}
