//! Renders reports/candle-findings.md and the list of tests from the folders of `findings/`. `WRITE_FINDINGS=1` writes both;
//! without it the tests compare. Runs no finding.

use std::{
    collections::BTreeMap, env, fmt::Write as _, fs, io::Read as _, path::Path, path::PathBuf, sync::LazyLock,
};

use flate2::read::GzDecoder;
use parity_model::{
    Case, Verdict,
    findings::{Class, Finding, FindingRow, FindingText, Findings},
    record::{CaseRecord, RunRecord},
    spec,
};

/// The stored run on an NVIDIA H200.
const RECORD: &str = "reports/h200.json.gz";

const HEAD: &str = "\
# Findings in candle 0.11.1

What the harness, and reading the sources for the reason of what it showed, found wrong in candle itself. Each finding is a folder of
`findings/`, whose `finding.toml` also says which cases of a run fail for it. `WRITE_FINDINGS=1 cargo test -p parity-exec --test
candle_findings page` makes this page of the folders; without the variable the same test compares it with them.

Every finding is executed. Its lines, below, are a test that passes while candle is wrong and fails with \"fixed: remove the
finding\" when candle no longer is:

```sh
cargo test -p parity-exec --test candle_findings
```

`finding(now, today, right)`: `now` is what candle gives, the wrong value `today` and not the `right` one. `refuses`: candle
returns an error with these words. `panics`: it panics with them. `never_ends`: it does not come back; a child process runs
it. `faults`: the device reports the fault and is lost.

Files and lines are those of the released candle-core 0.11.1, candle-nn 0.11.1, candle-kernels 0.11.1 and half 2.7.1. The tests of
the last part, [On CUDA](#on-cuda), ran on an NVIDIA H200 (driver 580.159.04, CUDA 13.0):

```sh
eval \"$(ci/cuda-toolkit)\" && cargo test --features cuda -p parity-exec --test candle_findings cuda
```

Of a finding about the CPU, \"CUDA\" counts how candle's CUDA backend did in the same cases, in the stored run on that GPU. A
failure there may have another reason, such as a dtype without kernels.
Nothing here is a fault of the ROCm backend, whose choices are in `rocm-backend/kernels/README.md`. The tests use candle as this
repository builds it, with integer overflow unchecked as in a release build. \"By design\" is what follows from a dtype, a formula or
an order that candle chose; the others are mistakes.
";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file of a finding, where it has one.
fn text_of(finding: &str, file: &str) -> Option<String> {
    fs::read_to_string(repository().join("findings").join(finding).join(file)).ok()
}

fn findings() -> Findings {
    let folders = fs::read_dir(repository().join("findings")).unwrap();
    let folders = folders
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let names: Vec<_> = folders
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let texts: Vec<_> = names
        .iter()
        .map(|name| text_of(name, "finding.toml").unwrap())
        .collect();
    let files = names.iter().zip(&texts).map(|(name, text)| FindingText {
        name,
        file: name,
        text,
    });
    Findings::parse(&files.collect::<Vec<_>>(), &["cpu", "cuda", "rocm"]).unwrap()
}

fn cases() -> Vec<Case> {
    let files = fs::read_dir(repository().join("op-specs")).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let texts: Vec<_> = files
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|text| ("a spec", text.as_str())).collect();
    spec::expand(&spec::read(&texts).unwrap()).unwrap()
}

/// Every case of the specs. Several tests ask, and it takes seconds.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(cases);

/// The stored run on CUDA.
static CUDA: LazyLock<OnCuda> = LazyLock::new(OnCuda::read);

/// The page of the folders as they are.
static PAGE: LazyLock<String> = LazyLock::new(|| page(&findings(), &CASES, &CUDA));

/// The lines of the test, without what is around them.
fn lines(repro: &str) -> String {
    let body = repro.split_once("\nfn repro()").unwrap().1;
    let body = body.split_once("{\n").unwrap().1.split_once("\n}\n").unwrap().0;
    let lines: Vec<_> = body
        .lines()
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    lines.join("\n")
}

/// Whether the finding is about CUDA alone.
fn on_cuda(finding: &Finding) -> bool {
    let mut backends = finding.rows.iter().flat_map(|row| &row.backends).peekable();
    backends.peek().is_some() && backends.all(|backend| backend == "cuda")
}

/// Verdicts on candle's CUDA backend by case, and the GPU that it ran on.
struct OnCuda {
    device: String,
    verdicts: BTreeMap<String, Verdict>,
}

impl OnCuda {
    fn read() -> OnCuda {
        let mut text = Vec::new();
        let file = fs::File::open(repository().join(RECORD)).unwrap();
        GzDecoder::new(file).read_to_end(&mut text).unwrap();
        let run: RunRecord = serde_json::from_slice(&text).unwrap();
        let column = run.backends.iter().position(|column| column.backend == "cuda");
        let column = column.unwrap();
        let verdict = |case: &CaseRecord| (case.id.clone(), case.results[column].verdict);
        OnCuda {
            device: run.backends[column].device.clone(),
            verdicts: run.cases.iter().map(verdict).collect(),
        }
    }

    /// How candle's CUDA backend does in the cases of a finding about other backends.
    fn shown(&self, finding: &Finding, cases: &[Case]) -> Option<String> {
        let is_of = |row: &&FindingRow, backend: &str| row.backends.iter().any(|of| of == backend);
        if finding.rows.iter().any(|row| is_of(&row, "cuda")) {
            return None;
        }
        let rows: Vec<&FindingRow> = finding.rows.iter().filter(|row| is_of(row, "cpu")).collect();
        let (mut right, mut wrong) = (0, 0);
        for case in cases
            .iter()
            .filter(|case| rows.iter().any(|row| row.cases.matches(case)))
        {
            match self.verdicts.get(&case.id().to_string()) {
                Some(Verdict::Pass | Verdict::ReferenceSuspect) => right += 1,
                Some(Verdict::NotRun) | None => {}
                Some(_) => wrong += 1,
            }
        }
        (right + wrong > 0).then(|| {
            format!(
                "{wrong} of these cases fail there, for this or another reason, and {right} do not ({})",
                self.device
            )
        })
    }
}

/// Where the finding shows: how many cases fail on which backends, and one of them.
fn shown(finding: &Finding, cases: &[Case]) -> String {
    let mut parts: Vec<(&[String], &'static str, bool, Vec<&Case>)> = Vec::new();
    for FindingRow {
        backends,
        verdict,
        may_pass,
        cases: predicate,
        ..
    } in &finding.rows
    {
        let found = cases.iter().filter(|case| predicate.matches(case));
        let key = (backends.as_slice(), verdict.name(), *may_pass);
        match parts.iter_mut().find(|part| (part.0, part.1, part.2) == key) {
            Some(part) => part.3.extend(found),
            None => parts.push((key.0, key.1, key.2, found.collect())),
        }
    }
    let part = |(backends, verdict, may_pass, cases): &(&[String], &str, bool, Vec<&Case>)| {
        let may_pass = if *may_pass { " or pass" } else { "" };
        let (count, first) = (cases.len(), cases.first().map(|case| case.id().to_string()));
        let noun = if count == 1 { "case" } else { "cases" };
        format!(
            "{}: {count} {noun}, {verdict}{may_pass}, `{}`",
            backends.join(", "),
            first.unwrap_or_default()
        )
    };
    parts.iter().map(part).collect::<Vec<_>>().join("; ")
}

fn section(page: &mut String, finding: &Finding, cases: &[Case], cuda: &OnCuda) -> std::fmt::Result {
    let Finding {
        name,
        title,
        class,
        reason,
        ..
    } = finding;
    writeln!(
        page,
        "\n### {title}\n\n[`{name}`](../findings/{name}/finding.toml), {}.\n\n{reason}\n",
        class.name()
    )?;
    let items = [
        ("Right", &finding.right),
        ("Where", &finding.location),
        ("Elsewhere", &finding.elsewhere),
        ("Fix", &finding.fix),
        ("Issue", &finding.link),
        ("Cases", &Some(shown(finding, cases))),
        ("CUDA", &cuda.shown(finding, cases)),
    ];
    for (head, text) in items {
        if let Some(text) = text {
            writeln!(page, "- {head}: {text}")?;
        }
    }
    let repro = text_of(name, "repro.rs").map(|repro| lines(&repro));
    repro.map_or(Ok(()), |lines| writeln!(page, "\n```rust\n{lines}\n```"))
}

fn page(findings: &Findings, cases: &[Case], on_h200: &OnCuda) -> String {
    let all = &findings.findings;
    let part = |class: Class| {
        all.iter()
            .filter(move |finding| finding.class == class && !on_cuda(finding))
    };
    let cuda = || all.iter().filter(|finding| on_cuda(finding));
    let mut page = format!("{HEAD}\n| class | findings | of them on CUDA alone |\n|---|---|---|\n");
    let counts = |class: Class| {
        (
            part(class).count(),
            cuda().filter(|finding| finding.class == class).count(),
        )
    };
    let classes = || Class::ALL.into_iter().filter(|class| counts(*class) != (0, 0));
    for class in classes() {
        let (here, cuda) = counts(class);
        let _ = writeln!(page, "| {} | {} | {cuda} |", class.name(), here + cuda);
    }
    let _ = writeln!(page, "| all | {} | {} |", all.len(), cuda().count());
    for class in classes().filter(|class| part(*class).count() > 0) {
        let (first, rest) = class.name().split_at(1);
        let _ = writeln!(page, "\n## {}{rest}", first.to_uppercase());
        part(class).for_each(|finding| section(&mut page, finding, cases, on_h200).unwrap());
    }
    let _ = writeln!(
        page,
        "\n## On CUDA\n\nWhat candle's CUDA backend alone gets wrong, refuses or decides otherwise."
    );
    cuda().for_each(|finding| section(&mut page, finding, cases, on_h200).unwrap());
    page
}

/// `folders.rs`: a module for each folder with lines to run.
fn list(findings: &Findings) -> String {
    let mut list = "// @generated by `WRITE_FINDINGS=1 cargo test -p parity-exec --test candle_findings page` from findings/.\n\
                    //! The lines of every finding as a test. What they show is said in their folders.\n\n"
        .to_owned();
    let run = findings
        .findings
        .iter()
        .filter(|finding| text_of(&finding.name, "repro.rs").is_some());
    for Finding { name, .. } in run {
        let module = name.replace('-', "_");
        let _ = writeln!(
            list,
            "#[path = \"../../../../findings/{name}/repro.rs\"]\nmod {module};"
        );
    }
    list
}

/// Writes the file where that is asked for, and otherwise compares.
#[track_caller]
fn hold(file: &str, text: &str) {
    let path = repository().join(file);
    if env::var_os("WRITE_FINDINGS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    let differs = found
        .lines()
        .zip(text.lines())
        .find(|(found, text)| found != text);
    assert!(
        found == text,
        "{file} is stale; WRITE_FINDINGS=1 writes it. First difference: {differs:?}"
    );
}

#[test]
fn the_page_is_made_of_the_folders() {
    hold("reports/candle-findings.md", &PAGE);
}

#[test]
fn every_folder_is_run() {
    hold(
        "crates/parity-exec/tests/candle_findings/folders.rs",
        &list(&findings()),
    );
}

#[test]
fn every_finding_that_somebody_has_explained_has_lines_that_show_it() {
    for finding in findings().findings {
        let repro = text_of(&finding.name, "repro.rs");
        assert!(
            repro.is_some() || finding.class == Class::Unexplained,
            "{} has no repro.rs",
            finding.name
        );
        let cuda = repro.is_some_and(|repro| repro.contains("#![cfg(feature = \"cuda\")]"));
        assert_eq!(
            cuda,
            on_cuda(&finding),
            "{}: a finding on CUDA alone runs with the feature",
            finding.name
        );
    }
}

#[test]
fn the_page_changes_with_a_finding() {
    let mut findings = findings();
    findings.findings[0].reason.push_str(" More.");
    assert_ne!(page(&findings, &CASES, &CUDA), *PAGE);
    findings.findings.remove(0);
    assert!(list(&findings).lines().count() + 2 == list(&self::findings()).lines().count());
}

#[test]
fn the_page_says_how_cuda_does_in_the_cases_of_a_finding_about_the_cpu() {
    let findings = findings();
    let about = |name: &str| {
        findings
            .findings
            .iter()
            .find(|finding| finding.name == name)
            .unwrap()
    };
    assert_eq!(CUDA.shown(about("cuda-f16-sums"), &CASES), None);
    let relu = about("relu-loses-nan");
    assert!(CUDA.shown(relu, &CASES).is_some());
    let mut cuda = OnCuda {
        device: CUDA.device.clone(),
        verdicts: BTreeMap::new(),
    };
    assert_eq!(cuda.shown(relu, &CASES), None);
    let mut of_relu = CASES
        .iter()
        .filter(|case| relu.rows[0].cases.matches(case))
        .map(|case| case.id().to_string());
    for verdict in [Verdict::KnownFailure, Verdict::ErrorParity, Verdict::Pass] {
        cuda.verdicts.insert(of_relu.next().unwrap(), verdict);
    }
    let shown = "2 of these cases fail there, for this or another reason, and 1 do not (NVIDIA H200)";
    assert_eq!(cuda.shown(relu, &CASES).as_deref(), Some(shown));
}
