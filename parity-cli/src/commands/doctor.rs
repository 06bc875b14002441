//! `parity doctor`: which drivers, devices and tools this machine has, what is missing, and how to get it. Looks, and
//! changes nothing.

use std::{env, fs, io, path::Path, process::Command};

use parity_exec::{Backend, BackendDevice, CANDLE_VERSION, StartError, probe};
use parity_report::text::describe;
use parity_run::{Error, START_LIMIT, cores, files::BUILT_IN, provenance, specs, worker};
use serde_json::{Value, json};

use crate::{
    args::DoctorArgs,
    exit::{Exit, Failure},
};

/// Device files of the kernel's GPU drivers, what each is, and what to do when it may not be opened.
const DEVICES: [(&str, &str, &str); 3] = [
    (
        "/dev/kfd",
        "AMD's compute driver",
        "load the amdgpu driver; in a container, pass --device /dev/kfd --device /dev/dri",
    ),
    (
        "/dev/dri/renderD128",
        "the first GPU's render node",
        "load the GPU's driver; in a container, pass --device /dev/dri",
    ),
    (
        "/dev/nvidiactl",
        "NVIDIA's driver",
        "install NVIDIA's driver; in a container, use its container toolkit",
    ),
];

/// Programs that building takes, and how to get each.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("cargo", "builds parity", "see https://rustup.rs"),
    (
        "cc",
        "links parity",
        "Debian, Ubuntu: apt install build-essential",
    ),
    (
        "nvcc",
        "builds the backend cuda (`--features cuda`)",
        "install the CUDA toolkit; nothing else needs it",
    ),
];

pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let mut page = Page::default();
    page.found("parity", &version());
    page.found("candle-core", CANDLE_VERSION);
    page.found(
        "host",
        &format!("{} {}, {} cores", env::consts::OS, env::consts::ARCH, cores()),
    );
    page.section("Specs");
    let specs = specs_line(&mut page, args.specs.spec_dir.as_deref());
    page.section("Backends");
    let backends = backends(&mut page)?;
    page.section("Devices");
    DEVICES.iter().for_each(|device| device_line(&mut page, device));
    page.section("Tools, for building only");
    tools(&mut page);
    page.section("Environment variables");
    variables(&mut page);
    let (exit, summary) = match (specs, backends) {
        (Exit::Ok, Exit::Ok) => (Exit::Ok, "parity run works here"),
        (Exit::Ok, exit) => (exit, "parity run does not work here: see Backends"),
        (exit, _) => (exit, "parity run does not work here: see Specs"),
    };
    args.page
        .put(|| page.text(summary), || page.json(exit == Exit::Ok, summary))?;
    Ok(exit)
}

fn version() -> String {
    let commit = provenance::commit().map(|commit| format!(" ({commit})"));
    format!("{}{}", provenance::VERSION, commit.unwrap_or_default())
}

/// What was looked at, a line each; what is missing comes with its remedy.
#[derive(Default)]
struct Page {
    lines: Vec<Line>,
    section: &'static str,
}

struct Line {
    section: &'static str,
    /// Before the line: `ok` where it was found, `--` where it was not, nothing where either is right.
    mark: &'static str,
    what: String,
    finding: String,
    remedy: Option<String>,
}

impl Page {
    fn section(&mut self, title: &'static str) {
        self.section = title;
    }

    fn found(&mut self, what: &str, finding: &str) {
        self.line("ok", what, finding);
    }

    fn missing(&mut self, what: &str, finding: &str, remedy: &str) {
        self.push("--", what, finding, Some(remedy.trim_end().to_owned()));
    }

    fn line(&mut self, mark: &'static str, what: &str, finding: &str) {
        self.push(mark, what, finding, None);
    }

    fn push(&mut self, mark: &'static str, what: &str, finding: &str, remedy: Option<String>) {
        self.lines.push(Line {
            section: self.section,
            mark,
            what: what.to_owned(),
            finding: finding.trim_end().to_owned(),
            remedy,
        });
    }

    fn text(&self, summary: &str) -> String {
        let indented = |text: &str| text.replace('\n', "\n     ");
        let (mut page, mut section) = (String::new(), "");
        for line in &self.lines {
            if line.section != section {
                section = line.section;
                page.push_str(&format!("\n{section}\n"));
            }
            let (mark, what, finding) = (line.mark, &line.what, indented(&line.finding));
            page.push_str(&format!("  {mark} {what}: {finding}\n"));
            if let Some(remedy) = &line.remedy {
                page.push_str(&format!("     to get it: {}\n", indented(remedy)));
            }
        }
        page + &format!("\nSummary\n  {summary}\n")
    }

    fn json(&self, works: bool, summary: &str) -> Value {
        let line = |line: &Line| {
            json!({
                "section": line.section,
                "found": match line.mark {
                    "ok" => Some(true),
                    "--" => Some(false),
                    _ => None,
                },
                "what": line.what,
                "finding": line.finding,
                "remedy": line.remedy,
            })
        };
        json!({
            "works": works,
            "summary": summary,
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}

/// Whether there are specs to run, as the exit that a run would have.
fn specs_line(page: &mut Page, asked: Option<&Path>) -> Exit {
    let loaded = specs::find(asked).and_then(|dir| Ok((specs::load(&dir)?.len(), dir)));
    match loaded {
        Ok((cases, dir)) => {
            let carried = match dir.starts_with(BUILT_IN) {
                true => ", carried by this program; `parity specs export DIR` writes them",
                false => "",
            };
            page.found("specs", &format!("{cases} cases in {}{carried}", dir.display()));
            Exit::Ok
        }
        Err(Error::Specs(_)) => {
            page.missing(
                "specs",
                "something is wrong with them",
                "`parity list cases` shows what, with its place",
            );
            Exit::BadData
        }
        Err(error) => {
            let remedy = "run parity in a checkout of its repository, or name the directory with --spec-dir";
            page.missing("specs", &error.to_string(), remedy);
            Failure::from(error).exit
        }
    }
}

/// Opens every backend in a worker; the exit is the one that a run without options would have.
fn backends(page: &mut Page) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for backend in Backend::ALL {
        let name = backend.name();
        let command = worker::command(&backend.into(), 1, None)?;
        match probe(&command, START_LIMIT) {
            Ok(info) => page.found(name, &describe(&info)),
            Err(error) => {
                if [Backend::REFERENCE, Backend::DEFAULT].contains(&backend) {
                    exit = Exit::Unavailable;
                }
                page.line("--", name, &words(&error));
            }
        }
    }
    // The default driver falls back to the software GPU without a word; the first of these says why.
    for (device, what, remedy) in [
        (
            BackendDevice::hardware(),
            "real hardware",
            "install ROCm (https://rocm.docs.amd.com) on a machine with an AMD GPU; without one the software GPU serves",
        ),
        (
            BackendDevice::amd_over_software(),
            "AMD's own HIP runtime and libraries over the software GPU",
            "install libamdhip64-6 or libamdhip64-7 of Debian, or ROCm, and build this workspace's library below it: \
             `cargo build --release -p hsa-soft`; the software GPU serves without them",
        ),
        (
            BackendDevice::hip_on_nvidia(),
            "our kernels on an NVIDIA GPU",
            "build parity with `--features nvidia` for a machine with an NVIDIA GPU and its driver; nothing else needs it",
        ),
    ] {
        let command = worker::command(&device, 1, None)?;
        let what = format!("{}, {what}", device.name());
        match probe(&command, START_LIMIT) {
            Ok(info) => page.found(&what, &describe(&info)),
            Err(error) => page.missing(&what, &words(&error), remedy),
        }
    }
    Ok(exit)
}

/// The backend's own words, without those that name it again.
fn words(error: &StartError) -> String {
    match error {
        StartError::Unavailable { reason, .. } => reason.clone(),
        StartError::Spawn { .. }
        | StartError::Version { .. }
        | StartError::Stopped { .. }
        | StartError::Died { .. } => error.to_string(),
    }
}

fn device_line(page: &mut Page, (file, what, remedy): &(&str, &str, &str)) {
    let what = format!("{file}, {what}");
    match fs::OpenOptions::new().read(true).write(true).open(file) {
        Ok(_) => page.found(&what, "can be opened"),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => page.missing(
            &what,
            "may not be opened by this user",
            "add the user to the groups that own it: usermod -aG render,video USER, then log in again",
        ),
        Err(error) => page.missing(&what, &error.to_string(), remedy),
    }
}

fn tools(page: &mut Page) {
    for (program, what, remedy) in PROGRAMS {
        let name = format!("{program}, {what}");
        match Command::new(program).arg("--version").output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                // nvcc's first line is its copyright's neighbour; the last one names the release.
                let line = text
                    .lines()
                    .find(|line| line.contains(|c: char| c.is_ascii_digit()));
                page.found(&name, line.unwrap_or("it tells no version"));
            }
            Err(error) => page.missing(&name, &error.to_string(), remedy),
        }
    }
    let name = "clang and device libraries, compile the kernels";
    match kernel_build::find_toolchain() {
        Ok((version, files)) => {
            let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            page.found(name, &format!("{version}\n{}", files.join("\n")));
        }
        Err(reason) => page.missing(name, &reason, "as said above, or `ci/setup` in a checkout"),
    }
}

/// Every variable that docs/environment.md lists: its value, and where that comes from.
fn variables(page: &mut Page) {
    for entry in rocm_env::ALL {
        let about = entry.about();
        let value = match entry.set_to() {
            Some(text) => format!("{}, from the environment", text.display()),
            None => format!("{}, by default", about.default),
        };
        match entry.check() {
            Ok(()) => page.found(about.name, &value),
            Err(why) => page.missing(about.name, &value, &format!("set it to {}", why.form)),
        }
    }
    for other in rocm_env::OTHERS {
        let value = other.set_to();
        let value = value.map(|text| format!("{}, from the environment", text.display()));
        page.line("  ", other.name, value.as_deref().unwrap_or("not set"));
    }
}
