//! Backends that run elsewhere: behind `ssh`, and behind any command. No test needs a network: what stands for `ssh` here
//! runs what it is told to.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::Value;

use crate::common::{Run, Specs, finish, parity, timeless};

const PARITY: &str = env!("CARGO_BIN_EXE_parity");
const OPS: &str = r#""abs", "exp", "gelu""#;

fn run(specs: &Specs, backend: &str, env: &[(&str, &str)]) -> Run {
    let dir = specs.path("");
    let args = ["run", "--backend", backend, "--format", "json", "--spec-dir", "."];
    parity(&args, &dir, env)
}

/// The record without times, and the place of its first backend taken out of it.
fn moved(record: &str) -> (Value, Value) {
    let mut record = timeless(record);
    let host = record["backends"][0]["host"].take();
    record["backends"][0].as_object_mut().unwrap().remove("host");
    (record, host)
}

/// A directory with an `ssh` that writes its arguments, a line each, beside itself, and then runs the command here.
fn fake_ssh(specs: &Specs) -> String {
    let script = r#"#!/bin/sh
printf '%s\n' "$@" > "$0.args"
while [ "$1" != -- ]; do shift; done
shift 2
exec sh -c "$*"
"#;
    let path = specs.path("ssh");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!(
        "{}:{}",
        specs.path("").display(),
        std::env::var("PATH").unwrap_or_default()
    )
}

#[test]
fn a_worker_behind_a_command_gives_what_a_local_one_gives() {
    let specs = Specs::unary(OPS, "");
    let (local, host) = moved(&run(&specs, "cpu", &[]).exits(0).stdout);
    assert_eq!(host, Value::Null);
    let place = format!("exec:env -i LANG=C,POSIX '{PARITY}' worker --backend cpu");
    let (remote, host) = moved(&run(&specs, &format!("cpu={place}"), &[]).exits(0).stdout);
    assert_eq!(host, place.as_str());
    assert_eq!(remote, local);
}

#[test]
fn ssh_is_given_what_the_help_says() {
    let specs = Specs::unary(OPS, "");
    let path = fake_ssh(&specs);
    let place = format!("ssh://me@gpu7:2222{PARITY}");
    let record = run(&specs, &format!("cpu={place}"), &[("PATH", &path)])
        .exits(0)
        .stdout;
    let args = fs::read_to_string(specs.path("ssh.args")).unwrap();
    let want = ["-T", "-o", "BatchMode=yes", "-p", "2222", "--", "me@gpu7", PARITY];
    let want = [&want[..], &["worker", "--backend", "cpu"]].concat();
    assert_eq!(args.lines().collect::<Vec<_>>(), want);
    let (remote, host) = moved(&record);
    assert_eq!(host, place.as_str());
    assert_eq!(remote, moved(&run(&specs, "cpu", &[]).exits(0).stdout).0);
}

#[test]
fn a_repro_names_the_place_and_works_as_printed() {
    let specs = Specs::unary(r#""gelu""#, r#"limit = { ulp = 0.001, source = "planted" }"#);
    let place = format!("cpu=exec:env A='1 2' '{PARITY}' worker --backend cpu");
    let page = specs.parity(&["run", "--backend", &place]).exits(100).stdout;
    assert!(page.contains(", level host, at exec:env A='1 2'"), "{page}");
    let again = page
        .lines()
        .find_map(|line| line.trim().strip_prefix("again: "))
        .unwrap();
    let line = again.replacen("parity", PARITY, 1);
    let mut shell = std::process::Command::new("sh");
    let page = finish(shell.args(["-c", &line])).exits(100).stdout;
    assert!(page.contains(", at exec:env A='1 2'"), "{page}");
}

#[test]
fn what_is_no_worker_is_one_error_with_its_last_words() {
    let specs = Specs::unary(OPS, "");
    run(&specs, "cpu=exec:echo no route to host >&2; exit 255", &[])
        .exits(69)
        .complains("the cpu worker did not come up")
        .complains("no route to host");
    run(&specs, "cpu=exec:echo Welcome to gpu7", &[])
        .exits(69)
        .complains("expected a frame, found the bytes");
}

#[test]
fn a_worker_of_another_protocol_is_named_as_such() {
    let specs = Specs::unary(OPS, "");
    // The first bytes of a frame: its mark, the version, a length of nothing.
    run(&specs, r"cpu=exec:printf 'PRTY\377\0\0\0\0\0\0\0'", &[])
        .exits(69)
        .complains("the cpu worker is of another parity: it speaks version 255 of the worker protocol")
        .complains("install the same one at both ends");
}

#[test]
fn a_place_that_is_none_and_two_places_for_one_backend_are_refused() {
    let specs = Specs::unary(OPS, "");
    run(&specs, "cpu=telnet://gpu7", &[])
        .exits(64)
        .complains("a backend cannot run at `telnet://gpu7`: expected ssh://");
    run(&specs, "rocm,rocm=ssh://gpu7", &[])
        .exits(64)
        .complains("backend rocm is to run in two places");
}
