//! Each rule on a small piece of Rust: what is beside Metal afterwards.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;

use candle_overlay::{
    derive::{DeriveError, Derived, Glue, derive, derive_test},
    pristine::{CANDLE_CORE, Places, Source},
};
use tempfile::TempDir;

/// Checks the derivation of `before`, white space at line ends and line starts apart.
#[track_caller]
fn check(before: &str, after: &str) {
    let derived = String::from_utf8(derive_test("src/piece.rs", before.as_bytes()).unwrap()).unwrap();
    let lines = |text: &str| {
        text.lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&derived)[1..], lines(after)[..], "derived:\n{derived}");
}

#[track_caller]
fn check_unchanged(source: &str) {
    check(source, source);
}

/// The whole derivation of a crate made of `files`, with `glue`.
fn crate_of(files: &[(&str, &str)], glue: &[(&str, &str)]) -> Result<Derived, DeriveError> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("Cargo.toml"), "").unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let places = Places {
        cargo_home: "/none".into(),
        cargo: None,
        upstream: Some(folder.path().to_owned()),
    };
    let mut ours = Glue::default();
    for (path, text) in glue {
        ours.add(path, (*text).to_owned());
    }
    derive(&Source::find(&CANDLE_CORE, &places).unwrap(), &ours)
}

#[test]
fn an_arm_is_cloned_and_renamed_with_its_body() {
    check(
        "fn f(d: D) { match d { \n Self::Metal(m) => m.metal_thing(), \n Self::Cpu => {} \n } }",
        "fn f(d: D) { match d { \n Self::Metal(m) => m.metal_thing(), \n Self::Rocm(m) => m.rocm_thing(), \n Self::Cpu => {} \n } }",
    );
}

#[test]
fn a_last_arm_without_a_comma_gets_one() {
    check(
        "fn f(d: D) -> u8 { match d { \n D::Cpu => 0, \n D::Metal(_) => 1 \n } }",
        "fn f(d: D) -> u8 { match d { \n D::Cpu => 0, \n D::Metal(_) => 1, \n D::Rocm(_) => 1 \n } }",
    );
}

#[test]
fn a_block_arm_needs_no_comma() {
    check(
        "fn f(d: D) { match d { \n D::Metal(_) => { g() } \n D::Cpu => {} \n } }",
        "fn f(d: D) { match d { \n D::Metal(_) => { g() } \n D::Rocm(_) => { g() } \n D::Cpu => {} \n } }",
    );
}

#[test]
fn an_arm_inside_a_cloned_arm_is_cloned_once_with_it() {
    check(
        "fn f(q: Q) { match q { \n Q::Metal(s) => match x { \n S::Metal(i) => g(s, i), \n _ => h() \n }, \n Q::Cpu => {} \n } }",
        "fn f(q: Q) { match q { \n Q::Metal(s) => match x { \n S::Metal(i) => g(s, i), \n _ => h() \n }, \n \
         Q::Rocm(s) => match x { \n S::Rocm(i) => g(s, i), \n _ => h() \n }, \n Q::Cpu => {} \n } }",
    );
}

#[test]
fn an_arm_for_upstreams_feature_has_no_counterpart() {
    check_unchanged(
        "fn f(d: D) { match d { \n #[cfg(feature = \"metal\")] \n D::Metal(d) => g(d), \n D::Cpu => {} \n } }",
    );
}

#[test]
fn an_arm_for_the_absence_of_upstreams_feature_is_cloned_without_the_condition() {
    check(
        "fn f(d: D) { match d { \n #[cfg(not(feature = \"metal\"))] \n D::Metal(_) => g(), \n D::Cpu => {} \n } }",
        "fn f(d: D) { match d { \n #[cfg(not(feature = \"metal\"))] \n D::Metal(_) => g(), \n D::Rocm(_) => g(), \n D::Cpu => {} \n } }",
    );
}

#[test]
fn an_or_pattern_gets_a_case_and_no_second_arm() {
    check(
        "fn f(d: D) -> bool { match d { \n D::Cuda(_) | D::Metal(_) => true, \n D::Cpu => false, \n } }",
        "fn f(d: D) -> bool { match d { \n D::Cuda(_) | D::Metal(_) | D::Rocm(_) => true, \n D::Cpu => false, \n } }",
    );
}

#[test]
fn a_struct_pattern_is_a_pattern_like_another() {
    check(
        "fn f(l: L) -> String { match l { \n L::Metal { gpu_id } => format!(\"metal:{gpu_id}\"), \n L::Cpu => s(), \n } }",
        "fn f(l: L) -> String { match l { \n L::Metal { gpu_id } => format!(\"metal:{gpu_id}\"), \n \
         L::Rocm { gpu_id } => format!(\"rocm:{gpu_id}\"), \n L::Cpu => s(), \n } }",
    );
}

#[test]
fn a_function_that_only_cuda_has_gets_an_arm_where_it_is_named_and_nowhere_else() {
    let body = "match q {\n Q::Cuda(s) => match x {\n S::Cuda(i) => g(s, i),\n _ => no(),\n },\n";
    let copy = "Q::Rocm(s) => match x {\n S::Rocm(i) => g(s, i),\n _ => no(),\n },\n";
    let inside = |name: &str, copy: &str| {
        format!("impl QTensor {{\n fn {name}(&self) {{\n {body}{copy} _ => other(),\n }}\n }}\n }}")
    };
    check(
        &inside("indexed_moe_forward", ""),
        &inside("indexed_moe_forward", copy),
    );
    check_unchanged(&inside("device_ptr", ""));
}

#[test]
fn a_cuda_pair_that_metal_lacks_is_cloned_before_a_catch_all_can_swallow_it() {
    check(
        "fn f() { match (s, d) { \n (S::Metal(s), D::Cpu) => a(s), \n (S::Cuda(s), D::Cpu) => a(s), \n \
         (S::Cuda(s), D::Cuda(cuda)) => move_to(s, cuda), \n _ => no() \n } }",
        "fn f() { match (s, d) { \n (S::Metal(s), D::Cpu) => a(s), \n (S::Rocm(s), D::Cpu) => a(s), \n \
         (S::Cuda(s), D::Cpu) => a(s), \n (S::Cuda(s), D::Cuda(cuda)) => move_to(s, cuda), \n \
         (S::Rocm(s), D::Rocm(rocm)) => move_to(s, rocm), \n _ => no() \n } }",
    );
}

#[test]
fn variants_names_in_use_trees_and_macro_calls_get_a_neighbour() {
    check(
        "use crate::{CudaError, MetalError, Shape};\nenum E {\n Cuda(CudaError),\n /// Metal's.\n Metal(#[from] MetalError),\n}",
        "use crate::{CudaError, MetalError, RocmError, Shape};\nenum E {\n Cuda(CudaError),\n /// Metal's.\n \
         Metal(#[from] MetalError),\n /// Rocm's.\n Rocm(#[from] RocmError),\n}",
    );
    check(
        "impl A for B {\n forward!(metal_fwd, MetalStorage);\n}",
        "impl A for B {\n forward!(metal_fwd, MetalStorage);\n forward!(rocm_fwd, RocmStorage);\n}",
    );
}

#[test]
fn modules_and_uses_follow_their_conditions() {
    check(
        "#[cfg(feature = \"metal\")]\nmod metal;\n#[cfg(not(feature = \"metal\"))]\nmod metal {\n pub use super::d::*;\n}",
        "#[cfg(feature = \"metal\")]\nmod metal;\n#[cfg(not(feature = \"metal\"))]\nmod metal {\n pub use super::d::*;\n}\n\
         mod rocm {\n pub use super::d::*;\n}",
    );
    check(
        "#[cfg(not(feature = \"metal\"))]\npub use d::{MetalDevice};",
        "#[cfg(not(feature = \"metal\"))]\npub use d::{MetalDevice};\npub use d::{RocmDevice};",
    );
}

#[test]
fn a_function_about_metal_is_cloned_and_both_learn_of_the_other() {
    check(
        "impl D {\n fn as_metal(&self) -> R {\n match self {\n Self::Cuda(_) => no(\"cuda\"),\n Self::Cpu => no(\"cpu\"),\n \
         Self::Metal(d) => Ok(d),\n }\n }\n}",
        "impl D {\n fn as_metal(&self) -> R {\n match self {\n Self::Cuda(_) => no(\"cuda\"),\n Self::Rocm(_) => no(\"rocm\"),\n \
         Self::Cpu => no(\"cpu\"),\n Self::Metal(d) => Ok(d),\n }\n }\n\
         fn as_rocm(&self) -> R {\n match self {\n Self::Cuda(_) => no(\"cuda\"),\n Self::Metal(_) => no(\"metal\"),\n \
         Self::Cpu => no(\"cpu\"),\n Self::Rocm(d) => Ok(d),\n }\n }\n}",
    );
}

#[test]
fn a_function_for_upstreams_feature_has_no_counterpart() {
    check_unchanged("impl O for A {\n #[cfg(feature = \"metal\")]\n fn metal_fwd(&self) {}\n}");
}

#[test]
fn a_macro_definition_is_left_alone_and_a_device_test_gets_a_fifth_name() {
    check_unchanged("macro_rules! m { ($test_metal: ident) => { Device::Metal }; }");
    check(
        "test_device!(add, add_cpu, add_gpu, add_metal);",
        "test_device!(add, add_cpu, add_gpu, add_metal, add_rocm);",
    );
}

#[test]
fn what_no_rule_covers_is_in_the_audit_with_its_place() {
    let known = crate_of(
        &[(
            "src/a.rs",
            "fn f(d: D) { match d { D::Metal(_) => {} D::Cpu => {} } }",
        )],
        &[],
    );
    assert!(!known.unwrap().audit.contains("src/a.rs: f: "));
    let unknown = crate_of(&[("src/a.rs", "fn f(d: D) { if let D::Metal(_) = d {} }")], &[]).unwrap();
    assert!(
        unknown.audit.contains("src/a.rs: f: Metal\n"),
        "{}",
        unknown.audit
    );
}

const STAND_IN: &str = "impl Backend for MetalStorage {\n fn exp(&self, _: &MetalStorage) -> Result<Self> { no() }\n \
                        fn log(&mut self) -> Result<()> { no() }\n}";

#[test]
fn glue_is_completed_with_errors_that_name_the_method() {
    let glue = "impl Backend for RocmStorage {\n fn log(&mut self) -> Result<()> { Ok(()) }\n}\n";
    let derived = crate_of(
        &[("src/dummy_metal_backend.rs", STAND_IN)],
        &[("rocm/storage.rs", glue)],
    )
    .unwrap();
    let text = str::from_utf8(&derived.files["src/rocm/storage.rs"]).unwrap();
    assert!(text.contains(
        "fn exp(&self, _: &RocmStorage) -> Result<Self> {\n        Err(self.not_implemented(\"exp\"))"
    ));
    assert_eq!(text.matches("fn log").count(), 1);
}

#[test]
fn a_missing_method_that_cannot_return_an_error_stops_the_derivation() {
    let stand_in = STAND_IN.replace("Result<()>", "bool");
    let glue = "impl Backend for RocmStorage {}\n";
    let error = crate_of(
        &[("src/dummy_metal_backend.rs", &stand_in)],
        &[("rocm/storage.rs", glue)],
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("the glue must implement `log`"),
        "{error}"
    );
}

#[test]
fn an_override_takes_the_place_of_the_derived_function() {
    let files = [(
        "src/utils.rs",
        "pub fn metal_is_there() -> bool {\n    cfg!(feature = \"metal\")\n}\n",
    )];
    let glue = "mod utils {\n    pub fn rocm_is_there() -> bool {\n        ours()\n    }\n}\n";
    let derived = crate_of(&files, &[("overrides.rs", glue)]).unwrap();
    let text = str::from_utf8(&derived.files["src/utils.rs"]).unwrap();
    assert!(
        text.contains("\n\npub fn rocm_is_there() -> bool {\n    ours()\n}\n"),
        "{text}"
    );
    assert!(!derived.audit.contains("override of"));
}

#[test]
fn an_override_without_a_place_is_in_the_audit() {
    let glue = "mod utils {\n    pub fn rocm_is_gone() -> bool {\n        true\n    }\n}\n";
    let derived = crate_of(&[("src/utils.rs", "")], &[("overrides.rs", glue)]).unwrap();
    assert!(
        derived.audit.contains("override of utils::rocm_is_gone"),
        "{}",
        derived.audit
    );
}

#[test]
fn source_that_does_not_parse_is_an_error_with_file_and_line() {
    let error = crate_of(&[("src/a.rs", "fn f() {}\nfn {")], &[])
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("src/a.rs:2: "), "{error}");
}

#[test]
fn a_test_with_figures_for_each_device_holds_rocm_to_the_cpus() {
    let before = "fn f(d: &Device) { match d { Device::Metal(_) => assert_eq!(x, 1.), Device::Cpu => assert_eq!(x, 2.), } }";
    let derive = |path: &str| String::from_utf8(derive_test(path, before.as_bytes()).unwrap()).unwrap();
    assert!(derive("tests/piece.rs").contains("Device::Rocm(_) => assert_eq!(x, 2.),"));
    assert!(
        derive("src/piece.rs").contains("Device::Rocm(_) => assert_eq!(x, 1.)"),
        "elsewhere Rocm does what Metal does"
    );
}

#[test]
fn the_test_that_expects_two_kernels_on_cuda_expects_them_on_rocm() {
    let before = "fn qmm_batch(dev: &Device) { if dev.is_cuda() { a() } }\nfn other(dev: &Device) { if dev.is_cuda() { a() } }";
    let derived = derive_test("tests/quantized_tests.rs", before.as_bytes()).unwrap();
    let derived = String::from_utf8(derived).unwrap();
    assert_eq!(
        derived.matches("dev.is_cuda() || dev.is_rocm()").count(),
        1,
        "{derived}"
    );
}
