//! Negative controls: what a hurried person writes, which the rules find, and what looks like it, which they let pass.

use crate::files::{
    long_prose, modules_say_their_job, readable_in_one_sitting, work_left_undone_has_a_number,
};
use crate::reach::{deterministic_emulator, foreign_functions, pure_model_and_oracle, pure_report};
use crate::tables::{tables_are_matched_whole, units_are_matched_whole};
use crate::variables::{environment_by_value, environment_variables, unlinked_variables};
use crate::words::{NEUTRAL, backend_names, clap_below_the_arguments};
use crate::{Rule, planted};

/// What a hurried person writes, and the rule that finds it.
const PLANTED: &[(Rule, &str, &str)] = &[
    (
        pure_model_and_oracle,
        "crates/parity-model/src/x.rs",
        "use std::{fs, fmt};",
    ),
    (
        pure_model_and_oracle,
        "crates/parity-model/src/x.rs",
        "use std::{collections::BTreeMap, time::{self, Duration}};",
    ),
    (
        pure_model_and_oracle,
        "crates/parity-oracle/src/x.rs",
        "fn f() { let x = std::env::var(\"A\"); }",
    ),
    (
        pure_model_and_oracle,
        "crates/parity-oracle/src/x.rs",
        "fn f() { println!(\"{:?}\", std::io::stdin()); }",
    ),
    (
        pure_model_and_oracle,
        "crates/parity-oracle/src/x.rs",
        "#[cfg(test)]\nmod tests { use std::fs; }\n\nuse std::fs;",
    ),
    (
        pure_model_and_oracle,
        "crates/parity-oracle/src/x.rs",
        "#[cfg(test)]\nmod tests;\nuse std::process as p;",
    ),
    (
        pure_model_and_oracle,
        "crates/parity-bench/src/x.rs",
        "use std::{io::{self, Write}, fmt};",
    ),
    (
        pure_model_and_oracle,
        "crates/parity-selftest/src/x.rs",
        "fn f() -> std::time::Instant { std::time::Instant::now() }",
    ),
    (
        pure_report,
        "crates/parity-report/src/x.rs",
        "use std::{time::Instant, fmt};",
    ),
    (
        pure_report,
        "crates/code-object/src/x.rs",
        "use std::{fs::File, io::Read};",
    ),
    (
        pure_report,
        "crates/zoo-protocol/src/x.rs",
        "fn f() { std::net::TcpStream::connect(\"host:1\"); }",
    ),
    (
        pure_report,
        "crates/parity-report/src/x.rs",
        "#[cfg(test)]\nuse a::b;\nfn f() { SystemTime::now(); }",
    ),
    (
        deterministic_emulator,
        "crates/gfx-emu/src/x.rs",
        "use std::collections::{BTreeMap, HashMap};",
    ),
    (
        deterministic_emulator,
        "crates/gfx-emu/src/x.rs",
        "use std::{env as settings};",
    ),
    (
        backend_names,
        "crates/parity-report/src/x.rs",
        "fn f() -> &'static str { \"cuda\" }",
    ),
    (
        backend_names,
        "parity-cli/src/x.rs",
        "fn f() { matches!(x, \"rocm:gfx942\") }",
    ),
    (
        clap_below_the_arguments,
        "parity-cli/src/commands/x.rs",
        "use crate::args::Format;\nfn f(format: Format) { clap::ValueEnum::to_possible_value(&format); }",
    ),
    (
        clap_below_the_arguments,
        "parity-cli/src/x.rs",
        "use {std::fs, clap_complete::{self as shells, Shell}};",
    ),
    (
        environment_variables,
        "rocm-backend/src/x.rs",
        "use std::{env as e, fs};\nfn f() { e::var_os(\"ROCM_SOMETHING_NEW\"); }",
    ),
    (
        environment_variables,
        "parity-cli/src/x.rs",
        "#[cfg(test)]\nmod t {}\nconst VARIABLE: &str = \"ROCM_DRIVER\";",
    ),
    (
        environment_by_value,
        "crates/parity-run/src/x.rs",
        "fn f() { let name = rocm_env::KERNEL_CACHE.about().name; env::var_os(name).map(PathBuf::from); }",
    ),
    (
        environment_by_value,
        "crates/parity-exec/src/x.rs",
        "fn f() { [names::DRIVER, names::SOFT_TARGET].into_iter().any(|name| std::env::var(name).is_ok()); }",
    ),
    (
        environment_by_value,
        "crates/parity-exec/src/x.rs",
        "use std::env::var_os;\nfn f() { NAMES.iter().filter_map(var_os); }",
    ),
    (
        environment_by_value,
        "parity-cli/src/x.rs",
        "use std::{env as e, fs};\nfn f() { for (name, value) in e::vars_os() {} }",
    ),
    (
        unlinked_variables,
        "reports/x.md",
        "Set `ROCM_DRIVER=soft`; [here](environment.html) is more.",
    ),
    (
        foreign_functions,
        "parity-cli/src/x.rs",
        "unsafe extern \"C\" { fn getpid() -> i32; }",
    ),
    (
        foreign_functions,
        "parity-cli/src/x.rs",
        "#[cfg(test)]\nmod t {}\npub extern \"C\" fn f() {}",
    ),
    (
        foreign_functions,
        "parity-cli/src/x.rs",
        "core::arch::global_asm!(\"nop\");",
    ),
    (
        tables_are_matched_whole,
        "crates/parity-model/src/x.rs",
        "fn f(op: Op) -> u8 { match op { Op::Unary(_) => 1, _ => 0 } }",
    ),
    (
        tables_are_matched_whole,
        "crates/parity-model/src/x.rs",
        "fn f() { g(|op| { match (op, 1) { (Some(Unary::Exp), _) if h() => { 1 } (_, _) => { 0 } } }); }",
    ),
    (
        tables_are_matched_whole,
        "crates/parity-model/src/x.rs",
        "#[cfg(test)]\nuse a::b;\nfn f(op: Copies) { match op { Copies::Copy => {} other => g(other), } }",
    ),
    (
        tables_are_matched_whole,
        "crates/repo-pages/src/x.rs",
        "fn f(family: Family) -> u8 { match family { Family::Unary | Family::Own => 1, _ => 0 } }",
    ),
    (
        tables_are_matched_whole,
        "parity-cli/src/x.rs",
        "fn f(op: Op) -> u8 { match op { Op::Unary(_) => 1, op => g(op) } }",
    ),
    (
        units_are_matched_whole,
        "crates/gfx-emu/src/exec/x.rs",
        "fn f(unit: Unit) -> bool { match unit { Unit::Memory(_) | Unit::Atomic(_) => true, _ => false } }",
    ),
    (
        units_are_matched_whole,
        "crates/gfx-emu/src/cost.rs",
        "fn f(inst: &Inst) -> u8 { match inst.unit { Unit::Control(Control::End) => 1, unit => g(unit) } }",
    ),
    (
        modules_say_their_job,
        "parity-cli/src/x.rs",
        "use a::b;\n\n\n//! Too late.\n",
    ),
    (
        work_left_undone_has_a_number,
        "parity-cli/src/x.rs",
        "// TODO: later\n",
    ),
];

#[test]
fn each_rule_finds_what_a_hurried_person_writes() {
    for (rule, path, text) in PLANTED {
        let found = rule(&[planted(path, text)]);
        assert!(!found.is_empty(), "{path}: nothing found in {text:?}");
    }
    let prose = format!("| {0} |\n```\n{0}\n```\n{0}\n", "word ".repeat(30));
    assert_eq!(long_prose(&[planted("README.md", &prose)]), ["README.md:5"]);
    let long = "//! Job.\n".repeat(661);
    assert_eq!(readable_in_one_sitting(&[planted("x.rs", &long)]).len(), 1);
}

#[test]
fn a_backend_name_is_found_in_each_crate_that_treats_backends_alike() {
    for folder in NEUTRAL {
        let path = format!("{folder}x.rs");
        let found = backend_names(&[planted(&path, "fn f() { g(&[\"--backend\", \"rocm\"]) }")]);
        assert_eq!(found.len(), 1, "{path}");
    }
}

#[test]
fn no_rule_finds_what_tests_comments_and_texts_say() {
    let harmless = "//! Reads no `std::fs`.\n// std::env\n/// std::time\nfn f() { g(\"std::fs and extern C on the cpu\"); }\n\
                    #[cfg(test)]\nmod tests {\n    use std::{fs, time::Instant};\n    fn f() -> &'static str { \"cuda\" }\n    \
                    fn g(op: Op) { match op { Op::Unary(_) => {} _ => {} } }\n}\nfn h(op: Op) { match op { Op::Unary(_) => {} Op::Grad(_) => {} } }\n\
                    fn i(x: u8) { match x { 1 => f(Op::ALL), _ => {} } }\n";
    for (rule, path, _) in PLANTED {
        let found = rule(&[planted(path, harmless)]);
        assert!(found.is_empty(), "{found:?}");
    }
}
