//! `parity shrink`: the smallest case is found, shown, printed as a test and pinned.

use std::fs;

use crate::common::{Run, Specs, parity};

/// candle's CPU backend drops NaN in `relu`.
const RELU: &str = "unary/relu:f16:[5,7]:transposed:nan";
const SMALLEST: &str = "unary/relu:f32:[3]:contiguous:nan";

fn shrink(specs: &Specs, id: &str, more: &[&str]) -> Run {
    specs.parity(&[&["shrink", id, "--backend", "cpu"], more].concat())
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "`{text}` is not in\n{page}");
}

#[test]
fn a_failure_of_candle_is_shrunk_to_its_cause() {
    let page = shrink(&Specs::unary("\"exp\"", ""), RELU, &[]).exits(0).stdout;
    shows(&page, "mismatch (a value came back) on cpu");
    shows(&page, "no smaller neighbour fails in the same way");
    shows(&page, &format!("case    {SMALLEST}\n"));
    shows(&page, "verdict  mismatch");
    shows(
        &page,
        &format!("again    parity run --backend cpu --case '{SMALLEST}'"),
    );
    shows(&page, "let x0 = Tensor::from_vec::<_, f32>(vec![f32::NAN, ");
    shows(&page, "let got = x0.relu()?;");
    shows(&page, &format!("next: parity shrink '{SMALLEST}' --backend cpu"));
}

#[test]
fn a_case_that_does_not_fail_is_not_shrunk() {
    let specs = Specs::unary("\"exp\"", "");
    let id = "unary/exp:f32:[8,9]:transposed:uniform(-2,2)";
    shrink(&specs, id, &[])
        .exits(4)
        .complains("does not fail on cpu: pass");
    shrink(&specs, "unary/exp", &[])
        .exits(64)
        .complains("expected family/op:dtype");
}

#[test]
fn a_pinned_case_runs_and_is_not_pinned_twice() {
    let specs = Specs::unary("\"exp\"", "");
    let file = specs.path("unary.toml");
    let before = fs::read_to_string(&file).unwrap();
    let page = shrink(&specs, RELU, &["--pin", file.to_str().unwrap()])
        .exits(0)
        .stdout;
    shows(&page, "pinned in ");
    shows(&page, "next: parity run --backend cpu --tags pinned");
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(before.trim_end()), "{after}");
    shows(
        &after,
        "# ---- Found by `parity shrink`: mismatch (a value came back) on cpu.\n[[group]]\n",
    );
    let listed = specs
        .parity(&["list", "cases", "--tags", "pinned"])
        .exits(0)
        .stdout;
    assert_eq!(listed, format!("{SMALLEST}\n"));
    let page = shrink(&specs, RELU, &["--pin", file.to_str().unwrap()])
        .exits(0)
        .stdout;
    shows(&page, "not pinned: the specs have ");
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
}

#[test]
fn a_case_is_pinned_in_a_file_of_its_family_or_in_a_new_one() {
    let specs = Specs::unary("\"exp\"", "");
    let other = "family = \"binary\"\n[[group]]\nops = [\"add\"]\ndtypes = [\"f32\"]\nshapes = [[2]]\nlayouts = \
                 [\"contiguous\"]\nvalues = [\"any\"]\ntier = \"ci\"\n";
    fs::write(specs.path("binary.toml"), other).unwrap();
    let file = specs.path("binary.toml");
    let run = shrink(&specs, SMALLEST, &["--pin", file.to_str().unwrap()]).exits(64);
    run.complains("binary.toml is of the family binary, and relu is of unary");
    assert_eq!(fs::read_to_string(&file).unwrap(), other);
    let new = specs.path("new.toml");
    shrink(&specs, SMALLEST, &["--pin", new.to_str().unwrap()]).exits(0);
    assert!(fs::read_to_string(new).unwrap().contains("family = \"unary\""));
}

#[test]
fn the_runs_are_bounded_and_the_test_goes_into_a_file() {
    let specs = Specs::unary("\"exp\"", "");
    let file = specs.path("relu.rs");
    let page = shrink(&specs, RELU, &["--runs", "3", "--out", file.to_str().unwrap()])
        .exits(0)
        .stdout;
    shows(&page, "    3  --runs are used up; more may find a smaller case");
    shows(&page, "test written to ");
    let test = fs::read_to_string(&file).unwrap();
    // Its name before the other commands had one for the same.
    fs::remove_file(&file).unwrap();
    shrink(&specs, RELU, &["--runs", "3", "--test", file.to_str().unwrap()]).exits(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), test);
    assert!(
        test.contains("#[test]\nfn relu_") && !page.contains("#[test]"),
        "{test}"
    );
}

#[test]
fn two_backends_are_one_too_many() {
    let dir = std::env::temp_dir();
    let run = parity(&["shrink", SMALLEST, "--backend", "cuda,rocm"], &dir, &[]).exits(64);
    run.complains("name one with --backend");
}
