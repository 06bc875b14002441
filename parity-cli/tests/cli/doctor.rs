//! `parity doctor`: it finds what is there, and says how to get what is not.

use crate::common::{Specs, parity};

#[test]
fn a_machine_without_a_gpu_is_well_and_told_why_it_has_no_hardware() {
    let specs = Specs::unary("\"exp\"", "");
    let dir = specs.path("");
    let soft = [("ROCM_DRIVER", "soft"), ("ROCM_PATH", "/nonexistent")];
    let run = parity(&["doctor", "--spec-dir", dir.to_str().unwrap()], &dir, &soft).exits(0);
    for text in [
        "ok specs: 2 cases in ",
        "ok cpu: host CPU",
        "ok rocm: software AMD GPU",
        "rocm:system, real hardware",
        "rocm:hsa, AMD's own HIP runtime and libraries over the software GPU",
        "rocm:nvidia, our kernels on an NVIDIA GPU",
        "/dev/kfd",
        "ok cargo, builds parity: cargo ",
        "ok ROCM_DRIVER: soft, from the environment",
        "ok ROCM_SOFT_TARGET: gfx1100, by default",
        "parity run works here",
    ] {
        assert!(run.stdout.contains(text), "`{text}` is not in\n{}", run.stdout);
    }
}

#[test]
fn what_it_found_is_there_as_json() {
    let specs = Specs::unary("\"exp\"", "");
    let dir = specs.path("");
    let args = [
        "doctor",
        "--spec-dir",
        dir.to_str().unwrap(),
        "--format",
        "json",
        "--out",
        "found.json",
    ];
    for (driver, code) in [("soft", 0), ("Soft", 69)] {
        assert_eq!(
            parity(&args, &dir, &[("ROCM_DRIVER", driver)]).exits(code).stdout,
            ""
        );
        let text = std::fs::read_to_string(dir.join("found.json")).unwrap();
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut lines = found["lines"].as_array().unwrap().iter();
        let rocm = lines
            .find(|line| line["section"] == "Backends" && line["what"] == "rocm")
            .unwrap();
        assert_eq!(
            (&found["works"], &rocm["found"]),
            (&(code == 0).into(), &(code == 0).into())
        );
    }
}

#[test]
fn a_value_that_a_variable_cannot_have_is_told_with_those_that_it_can() {
    let specs = Specs::unary("\"exp\"", "");
    let dir = specs.path("");
    for (name, value, words) in [
        ("ROCM_DRIVER", "Soft", "auto, system, hsa, soft, nvidia"),
        (
            "ROCM_SOFT_TARGET",
            "gfx999",
            "gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942, gfx950, gfx90a, gfx1250",
        ),
        ("ROCM_FALLBACK", "Refuse", "allow, refuse"),
        ("ROCM_ACTIVATIONS", "CPU", "cuda, cpu"),
    ] {
        let run = parity(
            &["doctor", "--spec-dir", dir.to_str().unwrap()],
            &dir,
            &[(name, value)],
        )
        .exits(69);
        for text in [
            &format!("-- rocm: {name}={value} is not one of {words}"),
            &format!("-- {name}: {value}, from the environment"),
            &format!("to get it: set it to one of {words}"),
        ] {
            assert!(run.stdout.contains(text), "`{text}` is not in\n{}", run.stdout);
        }
    }
}

#[test]
fn without_its_default_backend_parity_is_unwell() {
    let specs = Specs::unary("\"exp\"", "");
    let dir = specs.path("");
    let nowhere = [
        ("ROCM_DRIVER", "system"),
        ("LD_LIBRARY_PATH", "/nonexistent"),
        ("ROCM_PATH", "/nonexistent"),
    ];
    let run = parity(&["doctor", "--spec-dir", dir.to_str().unwrap()], &dir, &nowhere);
    // On a machine with ROCm in the linker's own path the backend opens, and all is well.
    if run.stdout.contains("ok rocm: ") {
        return;
    }
    let run = run.exits(69);
    assert!(
        run.stdout.contains("does not work here: see Backends"),
        "{}",
        run.stdout
    );
}

#[test]
fn without_specs_there_is_nothing_to_run() {
    let run = parity(
        &["doctor", "--spec-dir", "/no/such/dir"],
        &std::env::temp_dir(),
        &[],
    )
    .exits(66);
    assert!(
        run.stdout
            .contains("-- specs: the spec directory /no/such/dir does not exist"),
        "{}",
        run.stdout
    );
    let broken = Specs::new(&[("a.toml", "family = 3")]);
    let run = broken.parity(&["doctor"]).exits(65);
    assert!(
        run.stdout.contains("`parity list cases` shows what"),
        "{}",
        run.stdout
    );
}
