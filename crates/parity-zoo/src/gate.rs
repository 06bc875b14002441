//! Whether the results of one device in a record of models are good enough.

use std::fmt::Write as _;

use crate::{
    Error,
    changes::{Measure, changes},
    record::{ModelResult, ModelVerdict, Record},
};

/// The results of one device, held to a bar.
#[derive(Debug)]
pub struct Gated<'a> {
    device: &'a str,
    min: f64,
    agreed: usize,
    /// Results that the CPU gives something to compare with.
    compared: usize,
    /// Those of them that do not agree.
    rest: Vec<&'a ModelResult>,
    missing: usize,
    /// Failures that an earlier record does not have.
    new: Option<Vec<&'a ModelResult>>,
}

/// Holds a device's results to a bar: `min` percent of what candle's CPU can run must agree. What is chaotic or known to be wrong does not
/// agree. Nothing may be missing, and no failure may be new where an earlier record is given.
///
/// # Errors
/// The record has no such device, or the earlier one has another seed.
pub fn gate<'a>(
    record: &'a Record,
    device: &'a str,
    min: f64,
    base: Option<&'a Record>,
) -> Result<Gated<'a>, Error> {
    if record.backends.iter().all(|info| info.backend != device) {
        let known: Vec<_> = record.backends.iter().map(|info| info.backend.as_str()).collect();
        let known = known.join(", ");
        return Err(Error::Unknown {
            what: "device of the record",
            name: device.to_owned(),
            known,
        });
    }
    let compared = |verdict| !matches!(verdict, ModelVerdict::CpuFails | ModelVerdict::TooFew);
    let of_device = record.results.iter().filter(|result| result.backend == device);
    let (agreed, rest): (Vec<_>, Vec<_>) = of_device
        .filter(|result| compared(result.verdict))
        .partition(|result| result.verdict == ModelVerdict::Agrees);
    let new = base.map(|base| {
        let changed = changes(base, record, Measure::Verdict)?;
        let new = changed.iter().filter(|change| change.is_new_failure());
        let new = new.filter_map(|change| change.after);
        Ok(new.filter(|result| result.backend == device).collect())
    });
    Ok(Gated {
        device,
        min,
        agreed: agreed.len(),
        compared: agreed.len() + rest.len(),
        rest,
        missing: record.missing,
        new: new.transpose()?,
    })
}

impl Gated<'_> {
    /// Whether nothing blocks.
    pub fn passes(&self) -> bool {
        self.blocks().is_empty()
    }

    /// Every reason for blocking, in words.
    fn blocks(&self) -> Vec<String> {
        let mut blocks = vec![];
        if self.missing > 0 {
            blocks.push(format!(
                "the run was cut off, and {} results are missing: `parity model --resume` goes on with it",
                self.missing
            ));
        }
        if self.compared == 0 {
            blocks.push("nothing was compared, which is never a pass".to_owned());
        } else if self.agreed as f64 * 100.0 < self.min * self.compared as f64 {
            let (share, min) = (self.share(), self.min);
            blocks.push(format!(
                "{share} of what candle's CPU can run agree, fewer than {min} %"
            ));
        }
        let new = self.new.iter().flatten().map(|result| {
            format!(
                "new: {} {} is {}",
                result.model,
                result.dtype,
                result.verdict.word()
            )
        });
        blocks.extend(new);
        blocks
    }

    /// Rounded down, so that a bar that was missed never reads as reached.
    fn share(&self) -> String {
        let parts = self.agreed * 10_000 / self.compared.max(1);
        format!(
            "{} of {}, {}.{:02} %",
            self.agreed,
            self.compared,
            parts / 100,
            parts % 100
        )
    }

    /// What [`Gated::text`] says, for programs.
    pub fn json(&self) -> serde_json::Value {
        let blocks = self.blocks();
        let rest = self.rest.iter().map(|result| {
            serde_json::json!({
                "model": result.model,
                "dtype": result.dtype,
                "verdict": result.verdict.word(),
                "message": result.message,
            })
        });
        serde_json::json!({
            "backend": self.device,
            "min": self.min,
            "passes": blocks.is_empty(),
            "agreed": self.agreed,
            "compared": self.compared,
            "missing": self.missing,
            "rest": rest.collect::<Vec<_>>(),
            "blocked": blocks,
        })
    }

    /// The judgement and what it goes by.
    pub fn text(&self) -> String {
        let mut page = String::new();
        // Writing to a `String` does not fail.
        let _ = writeln!(
            page,
            "{}: {} of what candle's CPU can run agree",
            self.device,
            self.share()
        );
        for result in &self.rest {
            let words = result.message.as_deref().unwrap_or("no words");
            let _ = writeln!(
                page,
                "  {}: {} {}: {words}",
                result.verdict.word(),
                result.model,
                result.dtype
            );
        }
        let blocks = self.blocks();
        if blocks.is_empty() {
            let _ = writeln!(page, "PASS: at least {} %", self.min);
        }
        for block in blocks {
            let _ = writeln!(page, "BLOCKED, {block}");
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::record;

    #[test]
    fn what_agrees_is_a_share_of_what_the_cpu_can_run() {
        let run = record(&[
            ModelVerdict::Agrees,
            ModelVerdict::Agrees,
            ModelVerdict::CpuFails,
            ModelVerdict::Chaotic,
        ]);
        let half = gate(&run, "rocm:gfx1100", 66.0, None).unwrap();
        assert!(half.passes(), "{}", half.text());
        assert!(
            half.text().starts_with("rocm:gfx1100: 2 of 3, 66.66 %"),
            "{}",
            half.text()
        );
        let more = gate(&run, "rocm:gfx1100", 67.0, None).unwrap();
        assert!(!more.passes());
        assert!(more.text().contains("chaotic: m3 f32"), "{}", more.text());
    }

    #[test]
    fn a_record_without_anything_compared_is_blocked() {
        let run = record(&[ModelVerdict::CpuFails]);
        let gated = gate(&run, "rocm:gfx1100", 1.0, None).unwrap();
        assert!(
            gated.text().contains("BLOCKED, nothing was compared"),
            "{}",
            gated.text()
        );
    }

    #[test]
    fn a_run_that_was_cut_off_is_blocked() {
        let run = Record {
            missing: 1,
            ..record(&[ModelVerdict::Agrees])
        };
        let gated = gate(&run, "rocm:gfx1100", 1.0, None).unwrap();
        assert!(
            gated
                .text()
                .contains("BLOCKED, the run was cut off, and 1 results"),
            "{}",
            gated.text()
        );
    }

    #[test]
    fn a_failure_that_an_earlier_record_has_may_stay_and_another_may_not() {
        let run = record(&[ModelVerdict::Agrees, ModelVerdict::Wrong]);
        assert!(gate(&run, "rocm:gfx1100", 50.0, Some(&run)).unwrap().passes());
        let base = record(&[ModelVerdict::Agrees, ModelVerdict::Agrees]);
        let gated = gate(&run, "rocm:gfx1100", 50.0, Some(&base)).unwrap();
        assert!(
            gated.text().contains("BLOCKED, new: m1 f32 is wrong"),
            "{}",
            gated.text()
        );
    }

    #[test]
    fn a_device_that_the_record_lacks_is_named_with_those_it_has() {
        let error = gate(&record(&[]), "cuda", 1.0, None).unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown device of the record `cuda`: expected one of rocm:gfx1100"
        );
    }
}
