//! How much of each limit the results of a stored run use. Of a limit that is nearly used up, another input may fall
//! outside; below one that is hardly used, a large error would pass.

use parity_model::record::RunRecord;
use parity_report::agrees;

/// The cases of one op and dtype that have the same limit, on all backends: a limit is for all of them.
#[derive(Debug, PartialEq)]
pub struct LimitUse<'a> {
    /// The op.
    pub op: &'a str,
    /// The dtype.
    pub dtype: &'a str,
    /// The limit, with its source.
    pub limit: &'a str,
    /// Results that agree and have a value.
    pub results: usize,
    /// The largest share of a limit that any of them uses.
    pub used: f64,
    /// The backend and the case that use it.
    pub worst: (&'a str, &'a str),
}

impl LimitUse<'_> {
    /// Whether there is no smaller limit.
    pub fn is_exact(&self) -> bool {
        ["exact", "same bits"]
            .iter()
            .any(|word| self.limit.starts_with(word))
    }
}

/// The limits of a run, in order of first appearance.
pub fn limits(run: &RunRecord) -> Vec<LimitUse<'_>> {
    let mut limits: Vec<LimitUse<'_>> = Vec::new();
    for case in &run.cases {
        for (info, result) in run.backends.iter().zip(&case.results) {
            let Some(metrics) = result.vs_oracle.as_ref().filter(|_| agrees(result.verdict)) else {
                continue;
            };
            // Nothing was compared, so nothing was used.
            if metrics.elements == 0 {
                continue;
            }
            let same = |limit: &&mut LimitUse<'_>| {
                (limit.op, limit.dtype, limit.limit) == (&case.op, &case.dtype, &case.limit)
            };
            let worst = (info.backend.as_str(), case.id.as_str());
            match limits.iter_mut().rev().find(same) {
                Some(limit) => {
                    limit.results += 1;
                    if metrics.limit_used > limit.used {
                        (limit.used, limit.worst) = (metrics.limit_used, worst);
                    }
                }
                None => limits.push(LimitUse {
                    op: &case.op,
                    dtype: &case.dtype,
                    limit: &case.limit,
                    results: 1,
                    used: metrics.limit_used,
                    worst,
                }),
            }
        }
    }
    limits
}
