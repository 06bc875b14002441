//! `docs/walkthrough.md`: its commands, run one after the other in a copy of the specs, print what it says they print.
//!
//! In a block that is marked `console`, a line that begins with `$ ` is a command, `? 100` below it its exit code where
//! that is not 0, and the rest its output, both streams together. `...` stands for any lines, `[..]` for a part of one.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use snapbox::Assert;

const WALKTHROUGH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/walkthrough.md");

/// A command of the page, and what is said of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    command: String,
    exit: i32,
    output: String,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            inside = fence == "console";
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                ..Step::default()
            });
            continue;
        }
        let step = steps.last_mut().expect("a block begins with a command");
        match line.strip_prefix("? ") {
            Some(exit) => step.exit = exit.parse().unwrap(),
            None => step.output.push_str(&format!("{line}\n")),
        }
    }
    steps
}

/// What a command prints on both streams, and its exit code.
fn run(command: &str, dir: &Path) -> (String, i32) {
    let binary = Path::new(env!("CARGO_BIN_EXE_parity")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(dir)
        .env("PATH", format!("{}:{path}", binary.display()))
        .env_remove("GITHUB_STEP_SUMMARY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code().unwrap_or(-1),
    )
}

#[test]
fn the_walkthrough_prints_what_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let specs = dir.path().join("op-specs");
    fs::create_dir(&specs).unwrap();
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../op-specs")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, specs.join(path.file_name().unwrap())).unwrap();
        }
    }
    let steps = steps(&fs::read_to_string(WALKTHROUGH).unwrap());
    assert!(steps.len() > 10, "the page has a way to go");
    for step in steps {
        let (output, exit) = run(&step.command, dir.path());
        println!("$ {}\n? {exit}\n{output}", step.command);
        assert_eq!(exit, step.exit, "$ {}\n{output}", step.command);
        Assert::new().eq(output, step.output);
    }
}

#[test]
fn a_step_is_a_command_its_exit_code_and_its_output() {
    let page = "text\n```sh\n$ no\n```\n```console\n$ one\n? 4\na\nb\n$ two\n```\n";
    let step = |command: &str, exit, output: &str| Step {
        command: command.to_owned(),
        exit,
        output: output.to_owned(),
    };
    assert_eq!(steps(page), [step("one", 4, "a\nb\n"), step("two", 0, "")]);
}
