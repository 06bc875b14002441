//! `reports/isa.md`: which instructions each card has, which of them the software GPU executes, and for which a test checks
//! the result. The page is generated here and compared with the file; `GFX_WRITE_REPORT=1` writes it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gfx_emu::coverage;

use crate::authority::{self, CLASSES};
use crate::lines::{literal_lines, sources};
use crate::llvm::Card;
use crate::reference::CARDS;
use crate::{matrix, modifiers, reference, scalar_float, twin};

/// What every card must at least execute of the instructions kernels are made of, in percent.
const LEAST: usize = 95;

/// Mnemonics in the tests' own rows of assembly: string literals of the files that check results.
fn written_in_tests() -> BTreeSet<String> {
    // Files about texts and encodings, and those whose tables are asked for by name.
    let others = [
        "authority",
        "compiled",
        "decode",
        "decode_cdna3",
        "decode_rdna2",
        "decode_rdna4",
        "lines",
        "llvm",
        "main",
        "page",
        "rows_cdna3",
        "twin",
    ];
    // Names that a test puts together: the divisions of `division.rs` in double precision.
    let mut found = BTreeSet::from(["v_div_scale_f64", "v_div_fixup_f64"].map(str::to_owned));
    for (name, source) in sources("tests/isa") {
        if others.contains(&name.as_str()) {
            continue;
        }
        for half in literal_lines(&source).flat_map(|line| line.split("::")) {
            let name = authority::base(half.trim().split(' ').next().unwrap());
            found.insert(name.to_owned());
        }
    }
    found
}

/// The mnemonics whose results tests check on a card.
fn tested(card: Card) -> BTreeSet<String> {
    let mut names = reference::tested(card);
    names.extend(matrix::names(card));
    names.extend(scalar_float::names());
    let written = written_in_tests();
    // The rows of gfx1100 run on the other cards too, as far as these have them; see `twin.rs`.
    names.extend(written.iter().map(|name| match card.is_rdna() {
        true if card.is_rdna2() => twin::respell_rdna2(name).trim().to_owned(),
        true => name.clone(),
        false => twin::respell(name).trim().to_owned(),
    }));
    names.extend(written);
    names
}

/// The mnemonics a card executes.
pub(crate) fn executed(card: Card) -> BTreeSet<String> {
    let lines = coverage(card.target).into_iter().filter(|line| line.executed);
    lines.flat_map(|line| line.names()).collect()
}

/// One encoding of a card.
#[derive(Clone, Debug, Default)]
struct Line {
    documented: usize,
    missing: Vec<String>,
    untested: Vec<String>,
}

fn lines(card: Card) -> Vec<(&'static str, bool, Line)> {
    let (executed, tested) = (executed(card), tested(card));
    let mut lines: Vec<_> = CLASSES
        .iter()
        .map(|(class, counts)| (*class, *counts, Line::default()))
        .collect();
    for (name, class) in authority::of(card) {
        let line = lines.iter_mut().find(|line| line.0 == *class).unwrap();
        line.2.documented += 1;
        if !executed.contains(name) {
            line.2.missing.push(name.clone());
        } else if !tested.contains(name) {
            line.2.untested.push(name.clone());
        }
    }
    lines.retain(|line| line.2.documented > 0);
    lines
}

/// Documented, executed and tested instructions of the encodings kernels are made of.
fn totals(lines: &[(&'static str, bool, Line)]) -> (usize, usize, usize) {
    let counted = lines.iter().filter(|line| line.1).map(|line| &line.2);
    counted.fold((0, 0, 0), |(documented, executed, tested), line| {
        let runs = line.documented - line.missing.len();
        (
            documented + line.documented,
            executed + runs,
            tested + runs - line.untested.len(),
        )
    })
}

fn percent(part: usize, whole: usize) -> String {
    // Rounded down: 99.9 % is not all.
    format!("{}.{} %", part * 100 / whole, part * 1000 / whole % 10)
}

fn section(page: &mut String, card: Card) {
    let lines = lines(card);
    let (documented, executed, tested) = totals(&lines);
    writeln!(page, "\n## {}\n", card.name).unwrap();
    writeln!(
        page,
        "Arithmetic, program flow and memory: {executed} of {documented} instructions are executed ({}), {tested} have a test \
         of their result ({}).\n",
        percent(executed, documented),
        percent(tested, documented)
    )
    .unwrap();
    page.push_str("| encoding | LLVM knows | executed | tested |\n|---|---|---|---|\n");
    for (class, _, line) in &lines {
        let runs = line.documented - line.missing.len();
        let checked = runs - line.untested.len();
        writeln!(page, "| {class} | {} | {runs} | {checked} |", line.documented).unwrap();
    }
    for (title, pick) in [
        (
            "Not executed",
            (|line: &Line| line.missing.clone()) as fn(&Line) -> Vec<String>,
        ),
        ("Executed without a test of the result", |line: &Line| {
            line.untested.clone()
        }),
    ] {
        writeln!(page, "\n{title}:\n").unwrap();
        let mut any = false;
        for (class, counts, line) in &lines {
            let names = pick(line);
            if names.is_empty() {
                continue;
            }
            any = true;
            if *counts {
                writeln!(page, "- {class}: `{}`", names.join("` `")).unwrap();
            } else {
                writeln!(
                    page,
                    "- {class}: all {} of them; they belong to graphics",
                    names.len()
                )
                .unwrap();
            }
        }
        if !any {
            page.push_str("- none\n");
        }
    }
    modifiers::section(page, card);
}

fn page() -> String {
    let mut page = String::from(
        "# Instructions\n\n\
         What the software GPU executes, card by card. Generated by `GFX_WRITE_REPORT=1 cargo test -p gfx-emu --test isa page`; \
         the same test holds this page to the tables.\n\n\
         - *LLVM knows*: mnemonics that LLVM 19's disassembler of the card gives for any opcode of the encoding. An instruction \
         with a short and a long encoding counts once, for the short one.\n\
         - *executed*: its row of the table names an operation. An instruction that is not executed stops a kernel with an \
         error that names it.\n\
         - *tested*: a test runs it and compares its result with one that was not computed by the emulator: a row of registers \
         before and after, a function written out in the test, LLVM's software floating point, LLVM's constant folder, or a matrix product. Of waits, hints and cache controls it is that no register changes.\n\n\
         Modifiers are counted apart: each instruction that is executed is written with each value of each modifier that its encoding has (signs, \
         absolute values, clamp, output scaling, halves, lanes and parts of sources, offsets, cache policies), and with each two of \
         different ones, as far as LLVM's assembler takes the line. `tests/isa/modifiers/` runs them all.\n\n\
         - *as the plain instruction says*: the result is what the instruction without modifiers gives of registers that have them in \
         them, or of a moved address, clamped, scaled and placed as written out in the test.\n\
         - *compiled alike*: run as machine code of the host, too, with the same result: of the pairs every fourth.\n\
         - *refused*: a wave that comes to it stops with an error that shows it.\n\n\
         What the results stand on: documentation, LLVM, and arithmetic of the host. No real card was compared.\n",
    );
    for card in CARDS {
        section(&mut page, card);
    }
    for card in crate::newer::NEWER {
        page.push_str(&card.section());
    }
    page
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/isa.md")
}

#[test]
fn the_page_of_instructions_says_what_tables_and_tests_say() {
    let page = page();
    if std::env::var_os("GFX_WRITE_REPORT").is_some() {
        std::fs::write(file(), &page).unwrap();
    }
    let there = std::fs::read_to_string(file()).unwrap_or_default();
    let differs = page.lines().zip(there.lines()).find(|(new, old)| new != old);
    assert!(
        page == there,
        "reports/isa.md is stale; GFX_WRITE_REPORT=1 writes it. First difference: {differs:?}"
    );
}

#[test]
fn no_instruction_is_executed_without_a_test_of_its_result() {
    for card in CARDS {
        let untested: Vec<String> = lines(card).into_iter().flat_map(|line| line.2.untested).collect();
        assert!(untested.is_empty(), "{}: {untested:?}", card.name);
    }
}

#[test]
fn almost_all_instructions_that_kernels_are_made_of_are_executed() {
    for card in CARDS {
        let (documented, executed, _) = totals(&lines(card));
        assert!(
            executed * 100 >= documented * LEAST,
            "{}: {executed} of {documented}",
            card.name
        );
    }
}
