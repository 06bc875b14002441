//! Every example runs and its assertions hold; the one for a kernel of one's own stays short.

use std::path::Path;
use std::process::Command;

macro_rules! examples {
    ($($name:ident $path:literal;)*) => {
        $(
            #[path = $path]
            mod $name;

            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )*

        const RUN: &[&str] = &[$($path),*];
    };
}

examples! {
    copy "../examples/01-copy.rs";
    elementwise "../examples/02-elementwise.rs";
    streams_and_events "../examples/04-streams-and-events.rs";
    matmul "../examples/05-matmul.rs";
    several_devices "../examples/06-several-devices.rs";
    random "../examples/07-random.rs";
}

#[cfg(feature = "compile")]
#[path = "../examples/03-own-kernel.rs"]
mod own_kernel;

#[cfg(feature = "compile")]
#[test]
fn own_kernel() {
    own_kernel::main().unwrap();
}

#[test]
fn every_numbered_example_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with(|first: char| first.is_ascii_digit()) && name != "03-own-kernel.rs" {
            assert!(
                RUN.iter().any(|path| path.ends_with(&name)),
                "{name} is in no test"
            );
        }
    }
}

#[test]
fn several_devices_of_two_kinds_agree() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "several_devices", "--nocapture"])
        .env("ROCM_DRIVER", "soft")
        .env("ROCM_SOFT_DEVICES", "gfx1100,gfx942")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for target in ["gfx1100", "gfx942"] {
        let line = text
            .lines()
            .find(|line| line.contains("the roots are right on") && line.contains(target));
        assert!(line.is_some(), "{target} in {text}");
    }
}

#[test]
fn a_kernel_of_ones_own_takes_less_than_forty_lines() {
    let lines = include_str!("../examples/03-own-kernel.rs").lines().count();
    assert!(lines < 40, "{lines} lines");
}
