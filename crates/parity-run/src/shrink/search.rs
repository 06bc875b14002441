//! The greedy search: from a failing case to its smallest failing neighbour, until there is none. What failing means is
//! the caller's to say.

use std::collections::{BTreeSet, VecDeque};

use parity_model::{Case, CaseId};

use super::candidates::candidates;

/// Cases tried at once. Fixed, so that a search takes the same way whatever the machine.
const BATCH: usize = 16;

/// What a search found.
#[derive(Debug)]
pub struct Smallest {
    /// The smallest case that fails.
    pub case: Case,
    /// Cases tried.
    pub runs: usize,
    /// Whether no smaller neighbour was left to try; otherwise the runs were used up.
    pub exhausted: bool,
}

/// A search on its way: batches of cases to try, one after the other.
pub(crate) struct Search {
    /// The smallest case that fails so far.
    pub(crate) case: Case,
    /// Cases tried.
    pub(crate) runs: usize,
    /// Whether no smaller neighbour is left.
    pub(crate) exhausted: bool,
    budget: usize,
    tried: BTreeSet<CaseId>,
    /// Neighbours of the case that were not tried yet, the smallest first.
    fresh: VecDeque<Case>,
}

impl Search {
    /// From a case that fails; at most `budget` cases are tried.
    pub(crate) fn new(start: Case, budget: usize) -> Search {
        let mut search = Search {
            tried: BTreeSet::from([start.id()]),
            case: start,
            runs: 0,
            exhausted: false,
            budget,
            fresh: VecDeque::new(),
        };
        search.look_around();
        search
    }

    fn look_around(&mut self) {
        let mut fresh = candidates(&self.case);
        fresh.retain(|candidate| !self.tried.contains(&candidate.id()));
        self.exhausted = fresh.is_empty();
        self.fresh = fresh.into();
    }

    /// The next cases to try; none where the search is over.
    pub(crate) fn batch(&self) -> Vec<Case> {
        let most = BATCH.min(self.budget - self.runs);
        self.fresh.iter().take(most).cloned().collect()
    }

    /// Takes what became of the batch: whether each case fails in the same way. Gives the smaller case that does.
    pub(crate) fn take(&mut self, failed: &[bool]) -> Option<&Case> {
        let batch: Vec<Case> = self.fresh.drain(..failed.len().min(self.fresh.len())).collect();
        self.runs += batch.len();
        self.tried.extend(batch.iter().map(Case::id));
        // Candidates come smallest first.
        let smaller = batch.into_iter().zip(failed).find(|(_, failed)| **failed);
        match smaller {
            Some((smaller, _)) => {
                self.case = smaller;
                self.look_around();
                Some(&self.case)
            }
            None => {
                self.exhausted = self.fresh.is_empty();
                None
            }
        }
    }
}

/// Searches from `start`, which fails. `fails` says of every case of a batch whether it fails in the same way; `step` sees
/// every smaller case that does, with the number of cases tried until then. At most `budget` cases are tried.
pub(crate) fn smallest<E>(
    start: Case,
    budget: usize,
    mut fails: impl FnMut(&[Case]) -> Result<Vec<bool>, E>,
    mut step: impl FnMut(&Case, usize) -> Result<(), E>,
) -> Result<Smallest, E> {
    let mut search = Search::new(start, budget);
    loop {
        let batch = search.batch();
        if batch.is_empty() {
            return Ok(Smallest {
                case: search.case,
                runs: search.runs,
                exhausted: search.exhausted,
            });
        }
        let failed = fails(&batch)?;
        let runs = search.runs + batch.len();
        if let Some(case) = search.take(&failed) {
            step(case, runs)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use parity_model::Layout;

    use super::*;

    /// Searches with a planted bug; gives the id found, the runs, and whether they sufficed.
    fn search(start: &str, budget: usize, bug: impl Fn(&Case) -> bool) -> (String, usize, bool) {
        let start: Case = start.parse().unwrap();
        assert!(bug(&start), "the bug shows at the start");
        let fails = |cases: &[Case]| Ok::<_, Infallible>(cases.iter().map(&bug).collect());
        let Ok(found) = smallest(start, budget, fails, |_, _| Ok(()));
        (found.case.id().to_string(), found.runs, found.exhausted)
    }

    #[test]
    fn a_bug_of_views_ends_at_the_smallest_view() {
        let bug = |case: &Case| case.args.iter().any(|arg| arg.layout == Layout::Transposed);
        let start = "binary/add:bf16:[33,65,3],[33,65,3]:transposed,sliced:uniform(-10,10)";
        let (id, _, exhausted) = search(start, 2000, bug);
        assert_eq!(id, "binary/add:f32:[1,1],[1,1]:transposed,contiguous:ints(0,1)");
        assert!(exhausted);
    }

    #[test]
    fn a_bug_behind_an_edge_ends_at_the_edge() {
        let bug = |case: &Case| case.args[0].shape.iter().product::<usize>() > 1024;
        let (id, ..) = search("unary/exp:f16:[4,1025]:offset:any", 5000, bug);
        assert_eq!(id, "unary/exp:f32:[1025]:contiguous:ints(0,1)");
    }

    #[test]
    fn a_search_ends_when_its_runs_are_used_up_with_the_best_it_has() {
        let start = "unary/exp:f16:[4,1025]:offset:any";
        let (id, runs, exhausted) = search(start, 20, |_| true);
        assert!(runs <= 20 && !exhausted, "{runs} {id}");
        assert_ne!(id, start);
        assert_eq!(search(start, 0, |_| true), (start.to_owned(), 0, false));
    }

    #[test]
    fn a_case_that_alone_fails_stays() {
        let start = "unary/exp:f16:[4,5]:offset:any";
        let (id, _, exhausted) = search(start, 2000, |case| case.id().as_str() == start);
        assert_eq!((id.as_str(), exhausted), (start, true));
    }
}
