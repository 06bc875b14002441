//! A record as JUnit XML, for CI systems that show test results: a suite for each device, a test case for each model and dtype.

use core::time::Duration; // core's: it has no clock

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::{
    Error,
    record::{ModelResult, ModelVerdict, Record},
};

/// Renders the XML. A result that was not compared, or that is known to be wrong, is `skipped` with its reason.
///
/// # Errors
/// When the XML writer fails, which writing to memory does not.
pub fn junit(record: &Record) -> Result<String, Error> {
    let mut report = Report::new("parity model");
    for info in &record.backends {
        let mut suite = TestSuite::new(info.backend.as_str());
        for (name, value) in [
            ("candle", record.candle_version.as_str()),
            ("seed", record.seed.to_string().as_str()),
            ("device", info.device.as_str()),
            ("driver", info.driver.as_str()),
            ("target", info.target.as_str()),
            ("level", info.level.as_str()),
        ] {
            suite.add_property(Property::new(name, value));
        }
        let results = record
            .results
            .iter()
            .filter(|result| result.backend == info.backend);
        suite.add_test_cases(results.map(test_case));
        report.add_test_suite(suite);
    }
    // The schema of Jenkins' xUnit plugin has no such count on the root, whose tag comes first.
    let count = format!(" skipped=\"{}\"", report.skipped);
    let xml = report.to_string().map_err(|why| Error::Xml(why.to_string()))?;
    Ok(xml.replacen(&count, "", 1))
}

fn test_case(result: &ModelResult) -> TestCase {
    let mut status = match result.verdict {
        ModelVerdict::Agrees => TestCaseStatus::success(),
        ModelVerdict::Chaotic | ModelVerdict::CpuFails | ModelVerdict::Known | ModelVerdict::TooFew => {
            TestCaseStatus::skipped()
        }
        ModelVerdict::Wrong | ModelVerdict::Fallback | ModelVerdict::Refused => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        ModelVerdict::Lacks | ModelVerdict::Died | ModelVerdict::Timeout => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
    };
    if result.verdict != ModelVerdict::Agrees {
        status.set_type(result.verdict.word());
        status.set_message(result.message.as_deref().unwrap_or(result.verdict.meaning()));
    }
    let mut test = TestCase::new(format!("{} {}", result.model, result.dtype), status);
    test.set_classname(format!("{}.{}", result.backend, result.architecture));
    // A stored number of seconds may be anything; one that is not a time counts as zero.
    test.set_time(Duration::try_from_secs_f64(result.seconds).unwrap_or_default());
    test
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::record;

    #[test]
    fn failures_are_failures_and_what_was_not_compared_is_skipped() {
        let xml = junit(&record(&[
            ModelVerdict::Agrees,
            ModelVerdict::Chaotic,
            ModelVerdict::Wrong,
            ModelVerdict::Died,
        ]))
        .unwrap();
        assert!(
            xml.contains(r#"<testsuite name="rocm:gfx1100" tests="4" skipped="1" errors="1" failures="1""#),
            "{xml}"
        );
        assert!(
            xml.contains(r#"<testcase name="m2 f32" classname="rocm:gfx1100.llama""#),
            "{xml}"
        );
    }
}
