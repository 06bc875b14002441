//! The whole surface of candle: every public function of `Tensor`, of `Device`, of its weights in ggml's formats and of candle-nn is an op
//! of the table by its name, is run by an op of another name, or stands here with the reason why it needs none. Read from
//! the pristine sources, so that a function that a new candle brings fails this test until somebody decides.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod table;

use std::collections::BTreeSet;

use candle_overlay::pristine::{CANDLE_CORE, CANDLE_NN, Places, Release, Source};
use parity_model::Op;
use table::{DEVICE, METHODS, NN, QUANTIZED, Why};

/// The files of a release whose path `wanted` takes, as text.
fn texts(release: &Release, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let source = Source::find(release, &Places::from_env(release).unwrap()).unwrap();
    let files = source.files().filter(|(path, _)| wanted(path));
    files
        .map(|(_, bytes)| String::from_utf8(bytes.to_vec()).unwrap())
        .collect()
}

/// The word that begins `text`.
fn word(text: &str) -> String {
    let letters = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_');
    letters.collect()
}

/// The public functions in the `impl` blocks of a type, those that candle's macros for ops write among them.
fn methods(texts: &[String], of: &str) -> BTreeSet<String> {
    let head = format!("\nimpl {of} {{\n");
    let mut found = BTreeSet::new();
    for text in texts {
        for block in text.split(&head).skip(1) {
            let block = block.split("\n}").next().unwrap();
            for line in block.lines().filter_map(|line| line.strip_prefix("    ")) {
                if let Some(rest) = line.strip_prefix("pub fn ") {
                    found.insert(word(rest));
                } else if let Some((macro_name, rest)) = line.split_once("!(")
                    && macro_name.contains("_op")
                {
                    found.insert(word(rest));
                }
            }
        }
    }
    found
}

/// The public functions and types outside of any block.
fn items(texts: &[String]) -> BTreeSet<String> {
    let lines = texts.iter().flat_map(|text| text.lines());
    let named = |line: &str| {
        let kinds = ["pub fn ", "pub struct ", "pub enum "];
        kinds.iter().find_map(|kind| line.strip_prefix(kind)).map(word)
    };
    lines.filter_map(named).collect()
}

/// What is wrong with a table about the functions `found`.
fn complaints(found: &BTreeSet<String>, table: &[(&str, Why)]) -> Vec<String> {
    let is_op = |name: &str| name.parse::<Op>().is_ok();
    let listed = |name: &str| {
        table
            .iter()
            .any(|(listed, _)| listed.split(' ').any(|one| one == name))
    };
    let undecided = found
        .iter()
        .filter(|name| !is_op(name) && !listed(name))
        .map(|name| format!("`{name}` is not an op and has no row"));
    let rows = table
        .iter()
        .flat_map(|(names, why)| names.split(' ').map(move |name| (name, why)));
    let stale = rows.clone().filter_map(|(name, why)| match why {
        _ if !found.contains(name) => Some(format!("candle has no `{name}`")),
        _ if is_op(name) => Some(format!("`{name}` is an op: its row says otherwise")),
        Why::By(op) if !is_op(op) => Some(format!("`{name}` is run by `{op}`, which is not an op")),
        Why::No(reason) if reason.len() < 10 => Some(format!("`{name}` has no reason")),
        Why::By(_) | Why::No(_) => None,
    });
    let names: Vec<_> = rows.clone().map(|(name, _)| name).collect();
    let twice = (0..names.len())
        .filter(|i| names[..*i].contains(&names[*i]))
        .map(|i| format!("`{}` stands twice", names[i]));
    undecided.chain(stale).chain(twice).collect()
}

#[track_caller]
fn decided(found: &BTreeSet<String>, table: &[(&str, Why)], least: usize) {
    assert!(found.len() >= least, "only {} found: {found:?}", found.len());
    let complaints = complaints(found, table);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_method_of_tensor_is_an_op_or_has_a_reason() {
    let own = |path: &str| path.starts_with("src/") && !path.contains("backend");
    decided(&methods(&texts(&CANDLE_CORE, own), "Tensor"), METHODS, 180);
}

#[test]
fn every_method_of_device_is_run_by_an_op_or_has_a_reason() {
    let own = texts(&CANDLE_CORE, |path| path == "src/device.rs");
    decided(&methods(&own, "Device"), DEVICE, 15);
}

#[test]
fn every_method_of_quantized_weights_is_an_op_or_has_a_reason() {
    let own = texts(&CANDLE_CORE, |path| path == "src/quantized/mod.rs");
    let both = &methods(&own, "QTensor") | &methods(&own, "QMatMul");
    decided(&both, QUANTIZED, 20);
}

#[test]
fn every_function_and_type_of_candle_nn_is_an_op_or_has_a_reason() {
    let own = texts(&CANDLE_NN, |path| path.starts_with("src/"));
    decided(&items(&own), NN, 90);
}

#[test]
fn a_new_function_a_lost_one_and_an_op_that_is_none_are_complained_of() {
    let found: BTreeSet<String> = ["exp", "brand_new", "old"].map(str::to_owned).into();
    let of = |table: &[(&str, Why)]| complaints(&found, table);
    assert_eq!(of(&[("brand_new old", Why::By("exp"))]), Vec::<String>::new());
    assert_eq!(
        of(&[("old", Why::By("exp"))]),
        ["`brand_new` is not an op and has no row"]
    );
    let table = [("brand_new old gone", Why::By("exp"))];
    assert_eq!(of(&table), ["candle has no `gone`"]);
    assert_eq!(of(&[("brand_new old", Why::By("expm1"))]).len(), 2);
    assert_eq!(of(&[("brand_new old exp", Why::By("exp"))]).len(), 1);
}
