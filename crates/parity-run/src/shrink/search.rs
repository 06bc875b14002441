//! The greedy search: from a failing case to its smallest failing neighbour, until there is none. What failing means is
//! the caller's to say.

use std::collections::BTreeSet;

use parity_model::Case;

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

/// Searches from `start`, which fails. `fails` says of every case of a batch whether it fails in the same way; `step` sees
/// every smaller case that does, with the number of cases tried until then. At most `budget` cases are tried.
pub(crate) fn smallest<E>(
    start: Case,
    budget: usize,
    mut fails: impl FnMut(&[Case]) -> Result<Vec<bool>, E>,
    mut step: impl FnMut(&Case, usize) -> Result<(), E>,
) -> Result<Smallest, E> {
    let mut tried = BTreeSet::from([start.id()]);
    let (mut case, mut runs) = (start, 0);
    loop {
        let mut fresh = candidates(&case);
        fresh.retain(|candidate| !tried.contains(&candidate.id()));
        let mut smaller = None;
        for batch in fresh.chunks(BATCH) {
            let batch = &batch[..batch.len().min(budget - runs)];
            if batch.is_empty() {
                return Ok(Smallest {
                    case,
                    runs,
                    exhausted: false,
                });
            }
            let failed = fails(batch)?;
            runs += batch.len();
            tried.extend(batch.iter().map(Case::id));
            // Candidates come smallest first.
            smaller = batch.iter().zip(failed).find(|(_, failed)| *failed);
            if smaller.is_some() {
                break;
            }
        }
        let Some((next, _)) = smaller else {
            return Ok(Smallest {
                case,
                runs,
                exhausted: true,
            });
        };
        case = next.clone();
        step(&case, runs)?;
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
