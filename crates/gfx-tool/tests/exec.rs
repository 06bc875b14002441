//! `gfx exec` and `gfx doctor`: what they pass on, count and refuse. That the library runs kernels is tested beside it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::process::{Command, Output};

/// Runs `gfx` with a file in the library's place that no program uses.
fn gfx(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gfx"))
        .args(arguments)
        .env("ROCM_HSA_LIBRARY", env!("CARGO_BIN_EXE_gfx"))
        .env("ROCM_HIP_LIBRARY", env!("CARGO_BIN_EXE_gfx"))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_exit_code_of_the_program_is_passed_on() {
    for code in [0, 1, 7, 255] {
        let output = gfx(&["exec", "--", "sh", "-c", &format!("exit {code}")]);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains("no process of the program used the GPU"));
    }
    let output = gfx(&["exec", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(128 + 9));
    assert!(
        said(&output).contains("signal 9 ended the program"),
        "{}",
        said(&output)
    );
}

#[test]
fn the_program_gets_the_card_and_the_library_and_its_own_words() {
    let script = "echo $ROCM_SOFT_DEVICES $ROCM_SANITIZE $1; ls ${LD_LIBRARY_PATH%%:*}";
    let output = gfx(&[
        "exec",
        "--card",
        "gfx942,gfx90a",
        "--sanitize",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        "--report",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(
        words,
        [
            "gfx942,gfx90a",
            "1",
            "--report",
            "libhsa-runtime64.so.1",
            "reports"
        ]
    );
}

#[test]
fn the_library_gets_the_limits_that_are_asked_for_and_no_others() {
    let script = "echo ${ROCM_SOFT_MAX_INSTRUCTIONS-none} ${ROCM_SOFT_TIMEOUT-none}";
    for (flags, words) in [
        (&[][..], "none none\n"),
        (&["--timeout", "2.5"], "none 2.5\n"),
        (&["--max-instructions", "7000", "--timeout", "1"], "7000 1\n"),
    ] {
        let output = gfx(&[&["exec"], flags, &["--", "sh", "-c", script]].concat());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), words);
    }
    let refused = gfx(&["exec", "--timeout", "0", "--", "sh", "-c", script]);
    assert!(said(&refused).contains("a number of seconds above 0"));
}

#[test]
fn what_all_processes_ran_is_added_up_and_a_finding_fails_a_program_that_ends_well() {
    let report = |findings: u32| {
        format!(
            r#"{{"kernels":[{{"name":"k","launches":2,"waves":4,"instructions":50,"seconds":0.5}}],"findings":{findings},
               "finding_texts":["kernel `k` races"],"missing_calls":{{"hsa_x":3}}}}"#
        )
    };
    let script = |findings| {
        let one = report(findings);
        format!("for i in 1 2; do cat > $ROCM_SOFT_REPORT/$i.json <<'END'\n{one}\nEND\ndone")
    };
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-report.json");
    let output = gfx(&[
        "exec",
        "--report",
        file.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &script(1),
    ]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in [
        "gfx1100: 1 kernels, 4 launches, 100 wave-instructions, 1.0 s in kernels of",
        "2 findings",
        "finding: kernel `k` races",
        "hsa_x has no body here, called 6 times",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let written = std::fs::read_to_string(file).unwrap();
    assert!(written.contains("\"wave_instructions\": 100"), "{written}");
    let output = gfx(&["exec", "--", "sh", "-c", &script(0)]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn the_library_gets_the_instruction_to_flip_and_it_is_said_how_often_that_was() {
    let script = |results: u32| {
        let report = format!(
            r#"{{"kernels":[],"flip":"v_add_f32","flipped":{results},"instructions":{{"v_add_f32":3}},"findings":0}}"#
        );
        format!(
            "echo flip is ${{ROCM_FLIP-none}} >&2; for i in 1 2; do echo '{report}' > $ROCM_SOFT_REPORT/$i.json; done"
        )
    };
    for (results, words) in [
        (7, "14 results of v_add_f32 were flipped"),
        (0, "no result of v_add_f32 was flipped: no kernel executed it"),
    ] {
        let output = gfx(&["exec", "--flip", "v_add_f32", "--", "sh", "-c", &script(results)]);
        let text = said(&output);
        assert!(
            text.contains("flip is v_add_f32") && text.contains(words),
            "{text}"
        );
    }
    let output = gfx(&["exec", "--", "sh", "-c", "echo ${ROCM_FLIP-none}"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "none\n");
    let refused = gfx(&["exec", "--flip", "v_ad_f32", "--", "true"]);
    assert!(
        said(&refused).contains("such as v_add3_u32"),
        "{}",
        said(&refused)
    );
}

#[test]
fn what_is_missing_or_broken_is_one_clear_error() {
    let refused = |arguments: &[&str], words: &str| {
        let output = gfx(arguments);
        assert!(
            !output.status.success() && said(&output).contains(words),
            "{}",
            said(&output)
        );
    };
    refused(
        &["exec", "--", "/nowhere/program"],
        "cannot start /nowhere/program",
    );
    refused(
        &["exec", "--card", "gfx9", "--", "true"],
        "a list of gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942, gfx950, gfx90a, gfx1250",
    );
    refused(&["exec"], "required");
    refused(
        &["exec", "--", "sh", "-c", "echo '{' > $ROCM_SOFT_REPORT/1.json"],
        "the report",
    );
    for command in [&["doctor"][..], &["exec", "--", "true"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_gfx"))
            .args(command)
            .env("ROCM_HIP_LIBRARY", env!("CARGO_BIN_EXE_gfx"))
            .env("ROCM_HSA_LIBRARY", "/nowhere/library.so")
            .output()
            .unwrap();
        let text = said(&output);
        assert!(!output.status.success(), "{text}");
        assert!(
            text.contains("cargo build --release -p hsa-soft") && text.contains("/nowhere/library.so"),
            "{text}"
        );
    }
    let output = gfx(&["doctor"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("gfx942"));
}
