//! The page of upstream's own tests, `reports/upstream.md`: each by name, what came of it on the CPU and on the ROCm device.
//! Text in, text out: who ran them is the business of `upstream-tests`.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::upstream::{Test, Twin};

/// What came of one run of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestResult {
    /// It passed.
    Pass,
    /// It passed, once its own custom ops were let run on the CPU.
    PassWithFallback,
    /// It passed, once activations were rounded as on the CPU.
    PassRoundedAsCpu,
    /// It failed.
    Fail,
}

/// The tests of a release and what came of them, by file and name.
#[derive(Debug)]
pub struct Section {
    /// The release: `candle-core 0.11.1`.
    pub title: String,
    /// Its tests.
    pub tests: Vec<Test>,
    /// Every test that ran, upstream's as the derived ones.
    pub outcomes: BTreeMap<(String, String), TestResult>,
}

/// How a test's line ends, in the columns of the CPU and of ROCm.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cells {
    cpu: String,
    rocm: String,
}

const PASS: &str = "pass";
const WITH_FALLBACK: &str = "pass, its own custom ops on the CPU";
const ROUNDED_AS_CPU: &str = "pass, with `ROCM_ACTIVATIONS=cpu`";
const CALLS_HOST: &str =
    "pass, candle's attention for the CPU, where it is called, on copies of the operands";
const FAIL: &str = "**fail**";
const NOT_RUN: &str = "**not run**";

impl Section {
    fn outcome(&self, file: &str, name: &str) -> Option<TestResult> {
        self.outcomes.get(&(file.to_owned(), name.to_owned())).copied()
    }

    fn cells(&self, test: &Test) -> Cells {
        let cpu = match (&test.absent, self.outcome(&test.file, &test.name)) {
            (Some(reason), _) => format!("– ({reason})"),
            (None, outcome) => cell(outcome, false),
        };
        let rocm = match &test.rocm {
            Twin::None(_) if test.absent.is_some() => "–".to_owned(),
            Twin::None(reason) => format!("– ({reason})"),
            Twin::Test {
                file,
                name,
                calls_host,
            } => cell(self.outcome(file, name), *calls_host),
        };
        Cells { cpu, rocm }
    }

    /// Tests that pass on the CPU; of them those that pass on ROCm, those with a reason, and the rest.
    fn totals(&self) -> [usize; 4] {
        let mut totals = [0; 4];
        for cells in self.tests.iter().map(|test| self.cells(test)) {
            if cells.cpu == PASS {
                totals[0] += 1;
                totals[match cells.rocm.as_str() {
                    rocm if rocm.starts_with(PASS) => 1,
                    rocm if rocm.starts_with('–') => 2,
                    _ => 3,
                }] += 1;
            }
        }
        totals
    }
}

fn cell(outcome: Option<TestResult>, calls_host: bool) -> String {
    let text = match outcome {
        Some(TestResult::Pass) if calls_host => CALLS_HOST,
        Some(TestResult::Pass) => PASS,
        Some(TestResult::PassWithFallback) => WITH_FALLBACK,
        Some(TestResult::PassRoundedAsCpu) => ROUNDED_AS_CPU,
        Some(TestResult::Fail) => FAIL,
        None => NOT_RUN,
    };
    text.to_owned()
}

/// The page. `device` is what ran: the device's name and its driver's.
pub fn render(device: &str, sections: &[Section]) -> String {
    let mut page = format!(
        "# Candle's own tests on the ROCm device\n\n\
         Written by `cargo run -p candle-overlay --bin upstream-tests -- FOLDER --page reports/upstream.md`; a test holds its\n\
         names to those of the pinned releases.\n\n\
         The tests are in the published archives. Those that upstream writes for each device have one more; those that name\n\
         the CPU are moved to the device; figures and tolerances stay. They ran with\n\
         [`ROCM_FALLBACK=refuse`](../docs/environment.md), so that no op\n\
         of candle's or candle-nn's was computed by the CPU instead; a test that brings a custom op for the CPU of its own\n\
         ran again without, and says so. So does one that asserts digits of activations as the CPU rounds them, or products of\n\
         a row that the others do not change: by itself the device does these as CUDA, with `ROCM_ACTIVATIONS=cpu` as the CPU.\n\n\
         ROCm device: {device}.\n\n\
         | Release | pass on the CPU | of them pass on ROCm | do not run there, for a reason | fail there |\n\
         |---|---|---|---|---|\n"
    );
    for section in sections {
        let [cpu, rocm, reason, fail] = section.totals();
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| {} | {cpu} | {rocm} | {reason} | {fail} |", section.title);
    }
    for section in sections {
        let _ = writeln!(
            page,
            "\n## {}\n\n| File | Test | CPU | ROCm |\n|---|---|---|---|",
            section.title
        );
        for test in &section.tests {
            let Cells { cpu, rocm } = section.cells(test);
            let _ = writeln!(page, "| {} | {} | {cpu} | {rocm} |", test.file, test.name);
        }
    }
    page
}

/// Whether the page says that a test which passes on the CPU neither passes on the device nor has a reason.
pub fn has_failures(sections: &[Section]) -> bool {
    sections.iter().any(|section| section.totals()[3] > 0)
}

/// A line of a page: release, file, test, and the cells of the CPU and of ROCm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The release: `candle-core 0.11.1`.
    pub title: String,
    /// The file, without `.rs`.
    pub file: String,
    /// The test's name.
    pub test: String,
    /// What came of it on the CPU.
    pub cpu: String,
    /// What came of it on the ROCm device.
    pub rocm: String,
}

impl Line {
    /// Whether it passes on the CPU, and on the ROCm device neither passes nor says why it does not run there.
    pub fn is_failure(&self) -> bool {
        self.cpu == PASS && !self.rocm.starts_with(PASS) && !self.rocm.starts_with('–')
    }
}

/// The tests that a page lists.
pub fn lines(page: &str) -> Vec<Line> {
    let (mut title, mut lines) = (None, Vec::new());
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            title = Some(heading.to_owned());
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let (Some(title), [file, test, cpu, rocm]) = (&title, &cells[..])
            && !["File", "---"].contains(file)
        {
            let [file, test, cpu, rocm] = [file, test, cpu, rocm].map(|cell| (*cell).to_owned());
            let title = title.clone();
            lines.push(Line {
                title,
                file,
                test,
                cpu,
                rocm,
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, absent: Option<&str>, rocm: Twin) -> Test {
        Test {
            file: "x".to_owned(),
            name: name.to_owned(),
            absent: absent.map(str::to_owned),
            rocm,
        }
    }

    fn twin(name: &str, calls_host: bool) -> Twin {
        Twin::Test {
            file: "x_rocm".to_owned(),
            name: name.to_owned(),
            calls_host,
        }
    }

    fn section(outcomes: &[(&str, &str, TestResult)]) -> Section {
        let outcomes = outcomes
            .iter()
            .map(|(file, name, outcome)| (((*file).to_owned(), (*name).to_owned()), *outcome));
        Section {
            title: "candle 1".to_owned(),
            tests: vec![
                test("adds", None, twin("adds_rocm", false)),
                test("attends", None, twin("attends_rocm", true)),
                test("parses", None, Twin::None("no device".to_owned())),
                test("rounds", None, twin("rounds_rocm", false)),
                test("timed", Some("ignored"), Twin::None("ignored".to_owned())),
            ],
            outcomes: outcomes.collect(),
        }
    }

    const ALL: [(&str, &str, TestResult); 7] = [
        ("x", "adds", TestResult::Pass),
        ("x_rocm", "adds_rocm", TestResult::PassWithFallback),
        ("x", "attends", TestResult::Pass),
        ("x_rocm", "attends_rocm", TestResult::Pass),
        ("x", "parses", TestResult::Pass),
        ("x", "rounds", TestResult::Pass),
        ("x_rocm", "rounds_rocm", TestResult::PassRoundedAsCpu),
    ];

    #[test]
    fn each_test_has_a_line_that_can_be_read_back() {
        let section = section(&ALL);
        assert_eq!(section.totals(), [4, 3, 1, 0]);
        let page = render("a card", &[section]);
        let lines = lines(&page);
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line.test.as_str(), line.rocm.as_str()))
            .collect();
        let want = [
            ("adds", WITH_FALLBACK),
            ("attends", CALLS_HOST),
            ("parses", "– (no device)"),
            ("rounds", ROUNDED_AS_CPU),
            ("timed", "–"),
        ];
        assert_eq!(told, want);
        assert!(
            lines
                .iter()
                .all(|line| line.title == "candle 1" && !line.is_failure())
        );
    }

    #[test]
    fn a_test_that_fails_or_was_not_run_on_the_device_is_a_failure() {
        let mut failed = ALL;
        failed[1].2 = TestResult::Fail;
        for outcomes in [&failed[..], &ALL[2..3]] {
            let sections = [section(outcomes)];
            assert!(has_failures(&sections), "{outcomes:?}");
            assert!(lines(&render("a card", &sections)).iter().any(Line::is_failure));
        }
        assert!(!has_failures(&[section(&ALL)]));
    }
}
