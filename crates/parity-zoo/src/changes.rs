//! What became of every result between two records of models.

use std::{collections::BTreeMap, fmt::Write as _};

use zoo_protocol::Dtype;

use crate::{
    Error,
    record::{ModelResult, ModelVerdict, Record},
};

/// An error this many times the earlier one has grown.
const GROWTH: f64 = 10.0;

/// What two results have to have in common to say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The verdict, and an error of the same size.
    All,
    /// The verdict, whatever the error.
    Verdict,
}

/// One result that differs, or that one of the records lacks.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    pub(crate) before: Option<&'a ModelResult>,
    pub(crate) after: Option<&'a ModelResult>,
}

/// How good a result is, from the worst up.
fn rank(verdict: ModelVerdict) -> u8 {
    match verdict {
        ModelVerdict::Agrees => 2,
        other => u8::from(!other.fails()),
    }
}

impl Changed<'_> {
    /// Whether something got worse: a lower rank, a grown error, an agreement that is gone, a new failure.
    pub fn is_worse(&self) -> bool {
        match (self.before, self.after) {
            (Some(old), Some(new)) => match (rank(old.verdict), rank(new.verdict)) {
                (old, new) if new != old => new < old,
                _ => grew(old, new),
            },
            (Some(old), None) => old.verdict == ModelVerdict::Agrees,
            (None, _) => self.is_new_failure(),
        }
    }

    /// Whether the later record fails here and the earlier one does not.
    pub fn is_new_failure(&self) -> bool {
        let fails = |result: &ModelResult| result.verdict.fails();
        self.after.is_some_and(fails) && !self.before.is_some_and(fails)
    }

    /// Whether only the earlier record has it.
    pub fn is_gone(&self) -> bool {
        self.after.is_none()
    }

    /// In a line.
    pub fn text(&self) -> String {
        let word = |result: Option<&ModelResult>| result.map_or("-", |result| result.verdict.word());
        let error = |result: Option<&ModelResult>| {
            let error = result.and_then(|result| result.error);
            error.map_or_else(|| "no distance".to_owned(), |error| format!("{error:.1e}"))
        };
        let mut line = String::new();
        let Some(result) = self.after.or(self.before) else {
            return line;
        };
        // Writing to a `String` does not fail.
        let _ = write!(
            line,
            "{} {} on {}: {} ({}) to {} ({})",
            result.model,
            result.dtype,
            result.backend,
            word(self.before),
            error(self.before),
            word(self.after),
            error(self.after)
        );
        line
    }
}

fn grew(old: &ModelResult, new: &ModelResult) -> bool {
    let both = old.error.zip(new.error);
    both.is_some_and(|(old, new)| old > 0.0 && new >= GROWTH * old)
}

/// Every result that the records do not share, in the later one's order; what is gone comes last.
///
/// # Errors
/// The records' seeds differ, so that their weights and inputs do.
pub fn changes<'a>(
    before: &'a Record,
    after: &'a Record,
    measure: Measure,
) -> Result<Vec<Changed<'a>>, Error> {
    if before.seed != after.seed {
        let (old, new) = (before.seed, after.seed);
        return Err(Error::Seeds { old, new });
    }
    let mut left: BTreeMap<(&str, Dtype, &str), &ModelResult> = BTreeMap::new();
    left.extend(before.results.iter().map(|result| (key(result), result)));
    let mut found = vec![];
    for new in &after.results {
        let change = Changed {
            before: left.remove(&key(new)),
            after: Some(new),
        };
        let says_the_same = change.before.is_some_and(|old| {
            old.verdict == new.verdict && (measure == Measure::Verdict || !grew(old, new))
        });
        if !says_the_same {
            found.push(change);
        }
    }
    found.extend(left.into_values().map(|old| Changed {
        before: Some(old),
        after: None,
    }));
    Ok(found)
}

fn key(result: &ModelResult) -> (&str, Dtype, &str) {
    (&result.model, result.dtype, &result.backend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::record;

    fn lines(before: &Record, after: &Record, measure: Measure) -> Vec<(String, bool)> {
        let found = changes(before, after, measure).unwrap();
        found
            .iter()
            .map(|change| (change.text(), change.is_worse()))
            .collect()
    }

    #[test]
    fn a_run_and_itself_say_the_same() {
        let run = record(&[ModelVerdict::Agrees, ModelVerdict::Wrong, ModelVerdict::Chaotic]);
        assert_eq!(lines(&run, &run, Measure::All), []);
    }

    #[test]
    fn another_verdict_is_better_or_worse() {
        let before = record(&[ModelVerdict::Agrees, ModelVerdict::Wrong, ModelVerdict::Agrees]);
        let after = record(&[ModelVerdict::Chaotic, ModelVerdict::Agrees, ModelVerdict::Agrees]);
        let want = [
            (
                "m0 f32 on rocm:gfx1100: agrees (1.0e-6) to chaotic (1.0e-6)".to_owned(),
                true,
            ),
            (
                "m1 f32 on rocm:gfx1100: wrong (1.0e-6) to agrees (1.0e-6)".to_owned(),
                false,
            ),
        ];
        assert_eq!(lines(&before, &after, Measure::Verdict), want);
    }

    #[test]
    fn an_error_of_ten_times_the_size_is_worse_unless_verdicts_alone_count() {
        let before = record(&[ModelVerdict::Agrees]);
        let mut after = before.clone();
        after.results[0].error = Some(1e-5);
        let want = "m0 f32 on rocm:gfx1100: agrees (1.0e-6) to agrees (1.0e-5)";
        assert_eq!(lines(&before, &after, Measure::All), [(want.to_owned(), true)]);
        assert_eq!(lines(&before, &after, Measure::Verdict), []);
    }

    #[test]
    fn a_result_that_is_gone_is_worse_where_it_agreed() {
        let before = record(&[ModelVerdict::Agrees, ModelVerdict::Wrong]);
        let worse: Vec<_> = lines(&before, &record(&[]), Measure::All)
            .into_iter()
            .map(|line| line.1)
            .collect();
        assert_eq!(worse, [true, false]);
    }

    #[test]
    fn records_of_other_seeds_are_refused() {
        let other = Record {
            seed: 1,
            ..record(&[])
        };
        let error = changes(&record(&[]), &other, Measure::All)
            .unwrap_err()
            .to_string();
        assert!(error.contains("seeds 0 and 1"), "{error}");
    }
}
