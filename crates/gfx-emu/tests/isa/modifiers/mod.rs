//! Modifiers: what LLVM's assembler takes around a plain instruction is executed, or refused by an error that shows it.
//!
//! Each instruction is written with each value of each modifier, and with each two of different modifiers. What LLVM takes is read by
//! the decoder, which must print LLVM's text, and run. Where the unmodified instruction says what must come out, that is compared:
//! [`meaning`] for registers, [`places`] for memory. `reports/isa.md` has the counts.

mod forms;
mod meaning;
mod modes;
mod pattern;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use gfx_emu::disassemble;

use crate::authority;
use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA3, RDNA4, RDNA35, encoded_line, shown, words};
use forms::{Change, Form};

/// Lines that the assembler is asked about at once.
const CHUNK: usize = 40_000;

/// The machine code of each line, in the text that LLVM gives it; `None` where it refuses the line.
fn assembled(card: Card, lines: &[String]) -> Vec<Option<(String, Vec<u8>)>> {
    // A label in front of each line tells the answers apart.
    const LABEL: &str = "line_";
    let mut answers = Vec::with_capacity(lines.len());
    for chunk in lines.chunks(CHUNK) {
        let text: String = chunk
            .iter()
            .enumerate()
            .map(|(i, line)| format!("{LABEL}{i}:\n{line}\n"))
            .collect();
        let shown = shown(card, &[], &text).expect("llvm-mc-19 crashed");
        let before = answers.len();
        for line in shown.lines() {
            if line.starts_with(LABEL) {
                answers.push(None);
            } else if let Some((text, Some(bytes))) = encoded_line(line)
                && let Some(answer) = answers.last_mut()
            {
                *answer = Some((text, bytes));
            }
        }
        assert_eq!(answers.len() - before, chunk.len(), "a line has no answer");
    }
    answers
}

/// What LLVM's disassembler makes of machine code; nothing where it refuses it.
fn read_back(card: Card, codes: &[&[u8]]) -> Vec<Option<String>> {
    // `s_nop` with a number in front of each.
    const MARK: u32 = 0xbf80_0000;
    let bytes = |code: &[u8]| -> String {
        let bytes: Vec<String> = code.iter().map(|byte| format!("{byte:#04x}")).collect();
        bytes.join(",") + "\n"
    };
    let text: String = codes
        .iter()
        .enumerate()
        .map(|(i, code)| bytes(&(MARK | (i as u32 & 0x7fff)).to_le_bytes()) + &bytes(code))
        .collect();
    let mut answers: Vec<Option<String>> = Vec::new();
    for (text, code) in crate::llvm::disassembled(card, &text) {
        let mark = MARK | (answers.len() as u32 & 0x7fff);
        if code == mark.to_le_bytes() {
            answers.push(None);
        } else if let Some(answer) = answers.last_mut() {
            answer.get_or_insert(text);
        }
    }
    assert_eq!(answers.len(), codes.len(), "a code has no answer");
    answers
}

/// What became of the lines of an encoding.
#[derive(Clone, Debug, Default)]
struct Count {
    accepted: usize,
    executed: usize,
    /// Those whose result is what the unmodified instruction gives of modified registers.
    held: usize,
    /// Those that run as machine code of the host, too.
    compiled: usize,
    refused: usize,
    /// Modifiers by which single ones are refused, each with its instructions.
    by: BTreeMap<String, BTreeSet<String>>,
}

/// What became of a line.
enum LineFate {
    Executed { held: bool, compiled: bool },
    Refused,
}

/// One line that LLVM takes, and the plain one.
struct Case<'a> {
    card: Card,
    form: &'a Form,
    changes: &'a [Change],
    text: &'a str,
    code: &'a [u8],
    plain: Option<&'a [u8]>,
    /// Whether it is run as machine code of the host, too.
    compiles: bool,
}

impl Case<'_> {
    /// Decodes and runs it.
    fn outcome(&self) -> Result<LineFate, String> {
        let wrong = |what: String| Err(format!("{}: `{}`: {what}", self.card.name, self.text));
        match disassemble(self.card.target, self.code) {
            Ok((ours, size)) if words(&ours) == self.text && size == self.code.len() => {}
            Ok((ours, _)) => return wrong(format!("read as `{ours}`")),
            // An error that shows the words.
            Err(error) if error.to_string().contains("encoding ") => return Ok(LineFate::Refused),
            Err(error) => return wrong(error.to_string()),
        }
        self.ran().or_else(wrong)
    }

    fn ran(&self) -> Result<LineFate, String> {
        if self.form.is_memory() {
            places::compare(self)
        } else if self.card.lanes == 32 {
            meaning::compare::<32>(self)
        } else {
            meaning::compare::<64>(self)
        }
    }
}

/// Whether a refusal shows the instruction with its modifiers.
fn names(refusal: &str, text: &str) -> bool {
    words(refusal).contains(&format!("`{text}`, encoding "))
}

/// A line: the number of its form, the modifiers in it, and its text.
type Line = (usize, Vec<Change>, String);

/// What LLVM makes of the lines. It is asked about two modifiers where it takes each alone. Asked about all pairs, it took no others, and the
/// test twice the time.
fn answers(card: Card, lines: &[Line]) -> Vec<Option<(String, Vec<u8>)>> {
    let mut answers = vec![None; lines.len()];
    let mut taken: BTreeSet<(usize, &str, &str)> = BTreeSet::new();
    for pairs in [false, true] {
        let asked = |(number, changes, _): &Line| {
            let alone = |change: &Change| taken.contains(&(*number, change.field, change.value.as_str()));
            (changes.len() == 2) == pairs && (!pairs || changes.iter().all(alone))
        };
        let at: Vec<usize> = (0..lines.len()).filter(|i| asked(&lines[*i])).collect();
        let texts: Vec<String> = at.iter().map(|i| lines[*i].2.clone()).collect();
        for (i, answer) in at.into_iter().zip(assembled(card, &texts)) {
            if let (Some(_), [change]) = (&answer, &lines[i].1[..]) {
                taken.insert((lines[i].0, change.field, &change.value));
            }
            answers[i] = answer;
        }
    }
    answers
}

/// The lines of a card: all that it has around its instructions, counted by encoding, and what is wrong.
fn counted(card: Card) -> Counted {
    let forms = forms::of(card);
    let mut lines = Vec::new();
    for (number, form) in forms.iter().enumerate() {
        lines.push((number, Vec::new(), form.line(&[])));
        for changes in form.changes() {
            let line = form.line(&changes);
            lines.push((number, changes, line));
        }
    }
    let mut answers = answers(card, &lines);
    // Some of what the assembler takes it does not encode: where its disassembler reads something else, so do we.
    let differs = |(text, code): &(String, Vec<u8>)| {
        !disassemble(card.target, code).is_ok_and(|(ours, _)| words(&ours) == *text)
    };
    let others: Vec<usize> = (0..answers.len())
        .filter(|i| answers[*i].as_ref().is_some_and(differs))
        .collect();
    let codes: Vec<&[u8]> = others
        .iter()
        .map(|i| answers[*i].as_ref().unwrap().1.as_slice())
        .collect();
    let back = read_back(card, &codes);
    for (i, back) in others.into_iter().zip(back) {
        let Some((text, _)) = &mut answers[i] else {
            continue;
        };
        let Some(back) = back else { continue };
        if words(&text.replace("null offset:", "")) == back {
            *text = back;
        } else if *text != back {
            answers[i] = None;
        }
    }
    let plains: Vec<Vec<String>> = forms.iter().map(Form::plain).collect();
    let plain_code = assembled(card, &plains.concat());
    let mut first = 0;
    let plain_code: Vec<Option<Vec<u8>>> = plains
        .iter()
        .map(|lines| {
            let range = first..first + lines.len();
            first = range.end;
            plain_code[range]
                .iter()
                .flatten()
                .next()
                .map(|(_, code)| code.clone())
        })
        .collect();
    let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (i, ((number, changes, _), answer)) in lines.iter().zip(&answers).enumerate() {
        let (form, Some((text, code))) = (&forms[*number], answer) else {
            continue;
        };
        if changes.is_empty() || form.is_exempt(text) {
            continue;
        }
        let case = Case {
            card,
            form,
            changes,
            text,
            code,
            plain: plain_code[*number].as_deref(),
            // Of the pairs every fourth.
            compiles: changes.len() == 1 || i % 4 == 0,
        };
        let count = counts.entry(form.encoding).or_default();
        count.accepted += 1;
        match case.outcome() {
            Ok(LineFate::Executed { held, compiled }) => {
                count.executed += 1;
                count.held += usize::from(held);
                count.compiled += usize::from(compiled);
            }
            Ok(LineFate::Refused) => {
                count.refused += 1;
                if let [change] = &changes[..] {
                    let names = count.by.entry(change.shown()).or_default();
                    names.insert(authority::base(&form.name).to_owned());
                }
            }
            Err(what) => wrong.push(what),
        }
    }
    (counts, wrong)
}

/// How the page calls the instructions of a refusal.
fn listed(names: &BTreeSet<String>) -> String {
    const MOST: usize = 6;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(MOST + 1) {
        None => shown.join(" "),
        Some(more) => format!("{} and {} more", shown.join(" "), more + 1),
    }
}

impl Case<'_> {
    /// `s_endpgm`.
    fn end(&self) -> [u8; 4] {
        match self.card.is_rdna() && !self.card.is_rdna2() {
            true => [0, 0, 0xb0, 0xbf],
            false => [0, 0, 0x81, 0xbf],
        }
    }
}

/// What became of the lines of a card, and what is wrong.
type Counted = (BTreeMap<&'static str, Count>, Vec<String>);

/// What a function says of each card, asked for once.
type EachCard<T> = [(Card, LazyLock<T>); 6];

/// An [`EachCard`] of a function of a card.
macro_rules! of_each_card {
    ($function:path) => {
        [
            (RDNA3, LazyLock::new(|| $function(RDNA3))),
            (RDNA35, LazyLock::new(|| $function(RDNA35))),
            (RDNA4, LazyLock::new(|| $function(RDNA4))),
            (RDNA2, LazyLock::new(|| $function(RDNA2))),
            (CDNA3, LazyLock::new(|| $function(CDNA3))),
            (CDNA2, LazyLock::new(|| $function(CDNA2))),
        ]
    };
}
use of_each_card;

static ALL: EachCard<Counted> = of_each_card!(counted);

fn of<T>(all: &EachCard<T>, card: Card) -> &T {
    let (_, counted) = all.iter().find(|(other, _)| other.name == card.name).unwrap();
    counted
}

/// What the page of instructions says of a card's modifiers.
pub(crate) fn section(page: &mut String, card: Card) {
    let (counts, _) = of(&ALL, card);
    let sum = |of: fn(&Count) -> usize| counts.values().map(of).sum::<usize>();
    writeln!(
        page,
        "\nModifiers: of {} combinations that LLVM takes, {} are executed and {} are refused.\n",
        sum(|count| count.accepted),
        sum(|count| count.executed),
        sum(|count| count.refused)
    )
    .unwrap();
    page.push_str("| encoding | combinations | executed | as the plain instruction says | compiled alike | refused |\n|---|---|---|---|---|---|\n");
    for (encoding, count) in counts {
        writeln!(
            page,
            "| {encoding} | {} | {} | {} | {} | {} |",
            count.accepted, count.executed, count.held, count.compiled, count.refused
        )
        .unwrap();
    }
    page.push_str("\nRefused by themselves:\n\n");
    let by = counts.iter().flat_map(|(encoding, count)| {
        let line = |(modifier, names): (&String, &BTreeSet<String>)| {
            format!("- {encoding}, `{modifier}`: {}\n", listed(names))
        };
        count.by.iter().map(line).collect::<Vec<_>>()
    });
    let by: String = by.collect();
    page.push_str(if by.is_empty() { "- none\n" } else { &by });
    modes::section(page, card);
}

#[track_caller]
fn check(card: Card) {
    let (counts, wrong) = of(&ALL, card);
    let mut first: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for what in wrong {
        let name = what.split(['`', ' ']).nth(2).unwrap_or_default();
        first.entry(name).or_insert((0, what)).0 += 1;
    }
    let shown: Vec<String> = first
        .values()
        .map(|(count, what)| format!("{count} like {what}"))
        .collect();
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), shown.join("\n"));
    let sum = |of: fn(&Count) -> usize| counts.values().map(of).sum::<usize>();
    let (accepted, executed, held) = (
        sum(|count| count.accepted),
        sum(|count| count.executed),
        sum(|count| count.held),
    );
    assert!(
        accepted > 40_000 && 10 * executed > 8 * accepted && 10 * held > 7 * accepted,
        "{}: {accepted} accepted, {executed} executed, {held} held",
        card.name
    );
}

#[test]
fn modifiers_of_gfx1100_are_executed_or_refused() {
    check(RDNA3);
}

#[test]
fn modifiers_of_gfx1151_are_executed_or_refused() {
    check(RDNA35);
}

#[test]
fn modifiers_of_gfx1201_are_executed_or_refused() {
    check(RDNA4);
}

#[test]
fn modifiers_of_gfx1030_are_executed_or_refused() {
    check(RDNA2);
}

#[test]
fn modifiers_of_gfx942_are_executed_or_refused() {
    check(CDNA3);
}

#[test]
fn modifiers_of_gfx90a_are_executed_or_refused() {
    check(CDNA2);
}

/// Code of one modifier in the place of another: what is compared must see it.
#[test]
fn a_modifier_that_is_ignored_or_another_is_noticed() {
    let planted: [(Card, &str, &str, &str, &str, &str); 9] = [
        (RDNA3, "VOP3", "v_add_f32_e64", "src0", "-", ""),
        (RDNA3, "VOP3", "v_add_f32_e64", "src1", "|", "-"),
        (RDNA3, "VOP3", "v_mul_f64", "clamp", "clamp", ""),
        (
            RDNA3,
            "VOP3",
            "v_add_nc_u16",
            "op_sel",
            "op_sel:[0,1,0]",
            "op_sel:[1,0,0]",
        ),
        (RDNA3, "VOP3P", "v_pk_add_f16", "neg_hi", "neg_hi:[1,0]", ""),
        (RDNA3, "DPP16", "v_mov_b32_dpp", "dpp", "row_shl:1", "row_shr:1"),
        (
            RDNA3,
            "DPP16",
            "v_mov_b32_dpp",
            "row_mask",
            "row_mask:0x5",
            "row_mask:0xf",
        ),
        (
            CDNA3,
            "SDWA",
            "v_add_u32_sdwa",
            "src1_sel",
            "src1_sel:BYTE_1",
            "src1_sel:BYTE_2",
        ),
        (CDNA3, "GLOBAL", "global_load_dword", "offset", "offset:8", ""),
    ];
    for (card, encoding, name, field, claimed, written) in planted {
        let forms = forms::of(card);
        let form = forms
            .iter()
            .find(|form| form.encoding == encoding && form.name == name);
        let form = form.unwrap_or_else(|| panic!("no {encoding} {name}"));
        let change = |value: &str| {
            vec![Change {
                field,
                value: value.to_owned(),
            }]
        };
        let without = |value: &str| {
            if value.is_empty() {
                Vec::new()
            } else {
                change(value)
            }
        };
        let lines = [
            form.line(&change(claimed)),
            form.line(&without(written)),
            form.plain()[0].clone(),
        ];
        let codes = assembled(card, &lines);
        let [Some((text, right)), Some((_, wrong)), Some((_, plain))] = &codes[..] else {
            panic!("{lines:?}");
        };
        let outcome = |code: &[u8]| {
            let changes = change(claimed);
            let case = Case {
                card,
                form,
                changes: &changes,
                text,
                code,
                plain: Some(plain),
                compiles: true,
            };
            let ran = case.ran();
            matches!(ran, Ok(LineFate::Executed { held: true, .. }))
        };
        assert!(outcome(right), "{lines:?}");
        assert!(!outcome(wrong), "{lines:?} in its place is not noticed");
    }
}
