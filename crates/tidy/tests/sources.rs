//! Invariants that the sources show: where unsafe code, foreign functions, IO and backend names may be. Each rule has a
//! test over the repository, and a test over lines as a hurried person would write them, which the rule must find.

use tidy::{Named, Source, sources};

/// A rule over sources: `file:line: what` of everything that breaks it.
type Rule = fn(&[Source]) -> Vec<String>;

/// `file:line: name` of every name that `forbidden` picks, in the files that `watched` picks. Test code is left out.
fn names(
    files: &[Source],
    watched: impl Fn(&str) -> bool,
    forbidden: impl Fn(&Named) -> bool,
) -> Vec<String> {
    let watched = files.iter().filter(|file| !file.is_test() && watched(&file.path));
    watched
        .flat_map(|file| {
            let mentions = file
                .mentions()
                .into_iter()
                .filter(|mention| forbidden(&mention.named));
            mentions
                .map(|mention| format!("{}:{}: {:?}", file.path, mention.line, mention.named))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Whether a path is one of `modules` or leads into one.
fn leads_into(named: &Named, modules: &[&str]) -> bool {
    let Named::Path(path) = named else { return false };
    modules.iter().any(|module| {
        path.strip_prefix(module)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// Whether a path has one of `words` in it.
fn has_word(named: &Named, words: &[&str]) -> bool {
    matches!(named, Named::Path(path) if path.split("::").any(|part| words.contains(&part)))
}

fn below(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// What reads or writes something outside the program.
const IO: [&str; 6] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::time",
    "std::io",
];

/// The files that may define or declare foreign functions.
const FOREIGN: [&str; 16] = [
    "rocm-backend/src/hip/sys.rs",
    "crates/rocm-soft/src/entry.rs",
    "crates/rocm-soft-c/src/abi.rs",
    "crates/hsa-soft/src/abi.rs",
    "crates/hip-soft/src/abi.rs",
    // What it calls of the host's C library.
    "crates/hip-soft/src/abi/print.rs",
    "crates/rocm-nvidia/src/entry.rs",
    "crates/rocm-nvidia/src/cuda.rs",
    "crates/rocm-nvidia/src/blas.rs",
    "crates/rocm-nvidia/src/miopen.rs",
    "crates/rocm-nvidia/src/rocrand.rs",
    "crates/rocm-nvidia/src/library.rs",
    // The macro by which the drivers define theirs.
    "crates/rocm-rs/src/driver.rs",
    // Declarations alone, as in the bindings that are rocm-rs's own.
    "crates/rocm-rs/src/rccl.rs",
    // They call what hsa-soft and hip-soft define, as a program does.
    "fuzz/targets/barriers.rs",
    "fuzz/targets/fat_binary.rs",
];

fn foreign_functions(files: &[Source]) -> Vec<String> {
    let watched = files
        .iter()
        .filter(|file| !file.is_test() && !FOREIGN.contains(&file.path.as_str()));
    watched
        .flat_map(|file| {
            let mentions = file.mentions();
            let foreign = mentions.windows(2).filter(|pair| {
                let is_abi = |abi: &Named| matches!(abi, Named::Literal(text) if text.starts_with('C') || text == "system");
                has_word(&pair[0].named, &["global_asm"])
                    || has_word(&pair[0].named, &["extern"]) && is_abi(&pair[1].named)
            });
            foreign.map(|pair| format!("{}:{}", file.path, pair[0].line)).collect::<Vec<_>>()
        })
        .collect()
}

fn pure_model_and_oracle(files: &[Source]) -> Vec<String> {
    let crates = [
        "crates/parity-model/src/",
        "crates/parity-oracle/src/",
        "crates/parity-fuzz/src/",
    ];
    let watched = |path: &str| below(path, &crates);
    names(files, watched, |named| leads_into(named, &IO))
}

fn pure_report(files: &[Source]) -> Vec<String> {
    let watched = |path: &str| path.starts_with("crates/parity-report/src/");
    let wanted = |named: &Named| {
        leads_into(
            named,
            &["std::fs", "std::env", "std::process", "std::net", "std::time"],
        )
    };
    names(files, watched, |named| {
        wanted(named) || has_word(named, &["Instant", "SystemTime"])
    })
}

fn deterministic_emulator(files: &[Source]) -> Vec<String> {
    let watched = |path: &str| path.starts_with("crates/gfx-emu/src/");
    let words = ["HashMap", "HashSet", "Instant", "SystemTime", "rand"];
    names(files, watched, |named| {
        leads_into(named, &IO) || has_word(named, &words)
    })
}

/// The crates that treat backends alike, or ask crates/parity-exec/src/backend.rs.
const NEUTRAL: [&str; 15] = [
    "crates/kernel-coverage/src/",
    "crates/parity-bench/src/",
    "crates/parity-exec/src/",
    "crates/parity-fuzz/src/",
    "crates/parity-golden/src/",
    "crates/parity-model/src/",
    "crates/parity-oracle/src/",
    "crates/parity-report/src/",
    "crates/parity-run/src/",
    "crates/parity-selftest/src/",
    "crates/parity-zoo/src/",
    "crates/repo-pages/src/",
    "crates/zoo-protocol/src/",
    "crates/zoo-worker/src/",
    "parity-cli/src/",
];

fn backend_names(files: &[Source]) -> Vec<String> {
    const HOME: &str = "crates/parity-exec/src/backend.rs";
    // Records that unit tests judge.
    const SAMPLES: &str = "crates/parity-zoo/src/samples.rs";
    let watched = |path: &str| below(path, &NEUTRAL) && path != HOME && path != SAMPLES;
    // The word alone, or at the head of a device such as `rocm:gfx942`. Messages to people may name a backend.
    names(
        files,
        watched,
        |named| matches!(named, Named::Literal(text) if ["cpu", "cuda", "rocm"].contains(&text.split(':').next().unwrap_or_default())),
    )
}

/// The modules of the command line know the library that parses it, and nothing else of the command does.
fn clap_below_the_arguments(files: &[Source]) -> Vec<String> {
    let watched = |path: &str| {
        path.starts_with("parity-cli/src/")
            && path != "parity-cli/src/args.rs"
            && !path.starts_with("parity-cli/src/args/")
    };
    let words = ["clap", "clap_complete", "clap_mangen"];
    names(files, watched, |named| has_word(named, &words))
}

/// The enums of the table of ops.
const TABLES_OF_OPS: [&str; 21] = [
    "Op",
    "Unary",
    "Binary",
    "Cast",
    "Where",
    "Reduce",
    "Keep",
    "Indexing",
    "Matmul",
    "Conv",
    "Pool",
    "Upsample",
    "Copies",
    "Sort",
    "Nn",
    "Layers",
    "Random",
    "Quantized",
    "BlockFormat",
    "Differentiable",
    "GradOnly",
];

fn tables_are_matched_whole(files: &[Source]) -> Vec<String> {
    let crates = [
        "crates/parity-model/src/",
        "crates/parity-oracle/src/",
        "crates/parity-exec/src/",
        "crates/parity-run/src/",
    ];
    // The shapes that follow from an op's own rule: a new op has a rule, and needs no line here. parity-fuzz draws by it, too.
    const BY_THE_RULE: &str = "crates/parity-model/src/spec/shapes.rs";
    let watched = files
        .iter()
        .filter(|file| !file.is_test() && below(&file.path, &crates) && file.path != BY_THE_RULE);
    watched
        .flat_map(|file| {
            let lines = file.open_matches(&TABLES_OF_OPS);
            lines
                .into_iter()
                .map(|line| format!("{}:{line}", file.path))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// What executes an instruction, and what that has to know: the enums of the emulator's `isa/unit.rs`.
const TABLES_OF_INSTRUCTIONS: [&str; 12] = [
    "Unit",
    "Relative",
    "Element",
    "Control",
    "Condition",
    "Words",
    "ScalarAccess",
    "Transfer",
    "Atomic",
    "Atomic32",
    "Atomic64",
    "Share",
];

/// Matches of the interpreter, and of what watches and counts what it does.
fn units_are_matched_whole(files: &[Source]) -> Vec<String> {
    // What it does not know it calls the interpreter for.
    const COMPILER: &str = "crates/gfx-emu/src/exec/jit/";
    let watched = files.iter().filter(|file| {
        let executes = below(
            &file.path,
            &[
                "crates/gfx-emu/src/exec/",
                "crates/gfx-emu/src/cost.rs",
                "crates/gfx-emu/src/cover.rs",
            ],
        );
        executes && !file.is_test() && !file.path.starts_with(COMPILER)
    });
    watched
        .flat_map(|file| {
            let lines = file.open_matches(&TABLES_OF_INSTRUCTIONS);
            lines
                .into_iter()
                .map(|line| format!("{}:{line}", file.path))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// A name of ours in a string: to read a variable takes its name.
fn environment_variables(files: &[Source]) -> Vec<String> {
    const HOMES: [&str; 2] = [
        "crates/rocm-env/",
        // Starts candle's own tests, and sets variables for them.
        "crates/candle-overlay/src/bin/upstream-tests/",
    ];
    let watched = |path: &str| !below(path, &HOMES) && !path.contains("/examples/");
    let ours = |text: &str| {
        let rest = text.strip_prefix("ROCM_").unwrap_or_default();
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    names(
        files,
        watched,
        |named| matches!(named, Named::Literal(text) if ours(text)),
    )
}

/// A variable that is read by another way than its name in the source, so that nothing shows whose it is: `env::var_os(name)`.
fn environment_by_value(files: &[Source]) -> Vec<String> {
    const HOMES: [&str; 4] = [
        "crates/rocm-env/",
        // Cargo's variables and NVIDIA's, when crates are built.
        "crates/candle-overlay/src/",
        // CUDA_HOME and CUDA_PATH.
        "crates/kernel-build/src/toolchain.rs",
        // The dynamic linker's lists, which it makes longer for the program that it starts.
        "crates/gfx-tool/src/exec.rs",
    ];
    let watched = files.iter().filter(|file| {
        !file.is_test()
            && !below(&file.path, &HOMES)
            && !file.path.ends_with("build.rs")
            && !file.path.contains("/examples/")
    });
    watched
        .flat_map(|file| {
            let mentions = file.mentions();
            let reads = |named: &Named| {
                let Named::Path(path) = named else { return false };
                match path.rsplit_once("::") {
                    Some((_, word)) => ["var", "var_os", "vars", "vars_os"].contains(&word),
                    None => ["var_os", "vars_os"].contains(&path.as_str()),
                }
            };
            let by_value = (0..mentions.len()).filter(|at| {
                let next = mentions.get(at + 1).map(|mention| &mention.named);
                reads(&mentions[*at].named) && !matches!(next, Some(Named::Literal(_)))
            });
            by_value
                .map(|at| format!("{}:{}", file.path, mentions[at].line))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Pages that mention an environment variable and do not link to the page of all.
fn unlinked_variables(files: &[Source]) -> Vec<String> {
    const PAGE: &str = "environment.md";
    let mentioned = |text: &str| {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut words = text.split(|c| !part(c));
        words
            .find(|word| rocm_env::ALL.iter().any(|entry| entry.about().name == *word))
            .map(str::to_owned)
    };
    let pages = files
        .iter()
        .filter(|file| file.path.ends_with(".md") && !file.path.ends_with(PAGE));
    let unlinked = pages.filter(|file| !file.text.contains(&format!("{PAGE})")));
    unlinked
        .filter_map(|file| Some(format!("{}: {}", file.path, mentioned(&file.text)?)))
        .collect()
}

/// Lines of prose that are longer than an editor shows, in the pages for readers. Rows of tables and code are as long as they are.
fn long_prose(files: &[Source]) -> Vec<String> {
    const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];
    const WIDTH: usize = 130;
    let watched = files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    watched
        .flat_map(|file| {
            let mut code = false;
            let lines = file.text.lines().enumerate().filter(move |(_, line)| {
                code ^= line.starts_with("```");
                !code && !line.starts_with('|') && line.chars().count() > WIDTH
            });
            lines
                .map(|(i, _)| format!("{}:{}", file.path, i + 1))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn modules_say_their_job(files: &[Source]) -> Vec<String> {
    let silent = files.iter().filter(|file| {
        let mut first = file.text.lines().take(3);
        file.path.ends_with(".rs") && !first.any(|line| line.starts_with("//!"))
    });
    silent.map(|file| file.path.clone()).collect()
}

fn readable_in_one_sitting(files: &[Source]) -> Vec<String> {
    /// Tables are as long as what they list.
    const TABLES: [&str; 1] = ["crates/gfx-emu/src/isa/"];
    let long = files
        .iter()
        .filter(|file| !below(&file.path, &TABLES) && file.text.lines().count() > 800);
    long.map(|file| file.path.clone()).collect()
}

fn work_left_undone_has_a_number(files: &[Source]) -> Vec<String> {
    let unnumbered = |line: &str| {
        ["TODO", "FIXME", "XXX"].iter().any(|word| {
            let Some((_, after)) = line.split_once(word) else {
                return false;
            };
            let number = after.strip_prefix("(#").unwrap_or_default();
            !number.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let watched = files.iter().filter(|file| !file.path.starts_with("crates/tidy/"));
    watched
        .flat_map(|file| {
            let lines = file.text.lines().enumerate().filter(|(_, line)| unnumbered(line));
            lines
                .map(|(i, _)| format!("{}:{}", file.path, i + 1))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[track_caller]
fn holds(rule: Rule, extensions: &[&str], why: &str) {
    let found = rule(&sources(extensions));
    assert!(found.is_empty(), "{why}:\n{}", found.join("\n"));
}

#[test]
fn foreign_functions_are_defined_in_one_file_of_each_crate_that_meets_c() {
    holds(
        foreign_functions,
        &["rs"],
        "foreign functions belong in rocm-backend/src/hip/sys.rs, or in the files of rocm-soft, rocm-soft-c, hsa-soft, hip-soft and rocm-nvidia that are for them",
    );
}

/// The files of [`FOREIGN`] that the row of this invariant in the page of architecture does not name.
fn foreign_but_not_documented(architecture: &str) -> Vec<&'static str> {
    let mut rows = architecture.lines();
    let row = rows.find(|line| line.contains("| foreign functions are in"));
    let named = |path: &str| row.is_some_and(|row| row.contains(&format!("`{path}`")));
    FOREIGN.into_iter().filter(|path| !named(path)).collect()
}

#[test]
fn the_page_of_architecture_names_every_file_of_foreign_functions() {
    let pages = sources(&["md"]);
    let page = pages.iter().find(|page| page.path == "ARCHITECTURE.md");
    let text = &page.expect("the page is a tracked file").text;
    assert_eq!(foreign_but_not_documented(text), [""; 0]);
    let planted = text.replace("`crates/rocm-nvidia/src/library.rs`", "others");
    assert_eq!(
        foreign_but_not_documented(&planted),
        ["crates/rocm-nvidia/src/library.rs"]
    );
}

#[test]
fn the_model_and_the_oracle_do_no_io_and_read_no_clock() {
    holds(
        pure_model_and_oracle,
        &["rs"],
        "parity-model and parity-oracle are pure",
    );
}

#[test]
fn a_report_reads_no_clock_environment_or_file() {
    holds(pure_report, &["rs"], "a report is a pure function of the record");
}

#[test]
fn the_emulator_does_no_io_reads_no_clock_and_has_no_hash_order() {
    holds(
        deterministic_emulator,
        &["rs"],
        "the emulator's results depend on its inputs alone",
    );
}

#[test]
fn backend_names_are_in_one_module() {
    holds(
        backend_names,
        &["rs"],
        "backend names belong in crates/parity-exec/src/backend.rs",
    );
}

#[test]
fn the_library_of_the_command_line_is_named_by_its_modules_alone() {
    holds(
        clap_below_the_arguments,
        &["rs"],
        "clap belongs in parity-cli/src/args.rs and args/: `Command::of_line`, `word`, `manual`",
    );
}

#[test]
fn a_new_op_does_not_compile_until_every_match_knows_it() {
    holds(
        tables_are_matched_whole,
        &["rs"],
        "name the variants: a `_` arm takes an op that nobody thought of",
    );
}

#[test]
fn a_new_unit_of_the_emulator_does_not_compile_until_every_match_knows_it() {
    holds(
        units_are_matched_whole,
        &["rs"],
        "name the variants: a `_` arm takes an instruction that nobody thought of",
    );
}

#[test]
fn environment_variables_are_read_through_their_table() {
    holds(
        environment_variables,
        &["rs"],
        "a variable is a row of crates/rocm-env/src/table.rs, and is read there",
    );
}

#[test]
fn no_variable_is_read_by_a_name_that_the_source_does_not_show() {
    holds(
        environment_by_value,
        &["rs"],
        "ask rocm_env for a variable of ours (`get`, `is_set`, `set_to`), and write the name of another's where it is read",
    );
}

#[test]
fn a_page_that_mentions_an_environment_variable_links_to_the_page_of_all() {
    holds(unlinked_variables, &["md"], "link to docs/environment.md");
}

#[test]
fn lines_of_prose_fit_an_editor() {
    holds(long_prose, &["md"], "break lines of prose after 130 characters");
}

#[test]
fn every_module_says_its_job_in_its_first_lines() {
    holds(
        modules_say_their_job,
        &["rs"],
        "a file starts with a `//!` line: its job, and what it does not do",
    );
}

#[test]
fn files_stay_readable_in_one_sitting() {
    holds(
        readable_in_one_sitting,
        &["rs", "hip", "h"],
        "split files of more than 800 lines by concept",
    );
}

#[test]
fn work_left_undone_carries_an_issue_number() {
    holds(
        work_left_undone_has_a_number,
        &["rs", "hip", "h", "sh", "toml", "md"],
        "write TODO(#123), or do it",
    );
}

/// A file whose only flaw is `text`.
fn planted(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

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
        pure_report,
        "crates/parity-report/src/x.rs",
        "use std::{time::Instant, fmt};",
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
    let long = "//! Job.\n".repeat(801);
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
