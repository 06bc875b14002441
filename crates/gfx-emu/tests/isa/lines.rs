//! Lines of assembly, and what LLVM's assembler makes of each on a card.
//!
//! To start the assembler takes longer than anything that it is asked here. So a line is asked about once, many lines are asked
//! about together, and the first of a card take all those along that the tests' sources spell out. What a line becomes depends
//! on the card alone: `a_line_is_the_same_in_any_company` holds that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::llvm::{
    CDNA2, CDNA3, Card, Listing, RDNA2, RDNA2_WAVE64, RDNA3, RDNA3_WAVE64, RDNA4, RDNA4_WAVE64, RDNA35,
    assemble, assemble_file, encoded_line, shown,
};
use crate::{reference, twin};

/// The instructions of a line, none where LLVM refuses it; `None` where an encoding depends on what a name stands for.
type Answer = Option<Listing>;
type Answers = BTreeMap<String, Answer>;

/// What was asked so far, card by card.
static ASKED: [(Card, Mutex<Answers>); 9] = [
    nothing(RDNA2),
    nothing(RDNA2_WAVE64),
    nothing(RDNA3),
    nothing(RDNA3_WAVE64),
    nothing(RDNA35),
    nothing(RDNA4),
    nothing(RDNA4_WAVE64),
    nothing(CDNA3),
    nothing(CDNA2),
];

const fn nothing(card: Card) -> (Card, Mutex<Answers>) {
    (card, Mutex::new(Answers::new()))
}

/// The name of a source file of these tests without its ending, and what is in it.
pub(crate) fn sources(directory: &str) -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let paths = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let named = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    files.map(named).collect()
}

/// The lines of the string literals of a source file.
pub(crate) fn literal_lines(source: &str) -> impl Iterator<Item = &str> {
    let literals = source.split('"').skip(1).step_by(2);
    literals
        .flat_map(|literal| literal.split("\\n"))
        .flat_map(str::lines)
        .map(str::trim)
}

/// Lines of the tests' literals that may be instructions.
static SPELLED_OUT: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let sources = [sources("tests/isa"), sources("tests/isa/reference")].concat();
    let lines = sources.iter().flat_map(|(_, source)| literal_lines(source));
    // What is put in front of a line are lines of another literal.
    let behind = |line: &'_ str| {
        line.strip_prefix('{')?
            .split_once('}')
            .map(|(_, rest)| rest.to_owned())
    };
    let lines = lines.map(|line| behind(line).unwrap_or_else(|| line.to_owned()));
    lines.filter(|line| is_instruction(line)).collect()
});

/// Whether a line begins as an instruction does, rather than a label or a directive.
fn is_instruction(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or_default();
    name.contains('_')
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// The lines of a text.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The instructions of a text, in which lines that LLVM refuses have none. Names of places are for [`crate::llvm::assemble`].
#[track_caller]
pub(crate) fn instructions(card: Card, text: &str) -> Listing {
    let foreign = lines(text).find(|line| !is_instruction(line));
    assert_eq!(foreign, None, "no instruction");
    let answers = answers(card, text);
    let whole = |(line, answer): (&str, Answer)| answer.unwrap_or_else(|| panic!("`{line}` names a place"));
    lines(text).zip(answers).flat_map(whole).collect()
}

/// The machine code of a text, if each of its lines has some whatever the others are.
#[track_caller]
pub(crate) fn code(card: Card, text: &str) -> Option<Vec<u8>> {
    if !lines(text).all(is_instruction) {
        return None;
    }
    let of_line = |answer: Answer| {
        let listing = answer.filter(|listing| !listing.is_empty())?;
        Some(listing.into_iter().flat_map(|(_, bytes)| bytes))
    };
    let code: Option<Vec<_>> = answers(card, text).into_iter().map(of_line).collect();
    Some(code?.into_iter().flatten().collect())
}

/// Asks about texts together that will be asked about one by one.
#[track_caller]
pub(crate) fn ask_together(card: Card, texts: impl IntoIterator<Item = String>) {
    let texts: Vec<String> = texts.into_iter().collect();
    answers(card, &texts.join("\n"));
}

/// What LLVM makes of each line of a text.
#[track_caller]
fn answers(card: Card, text: &str) -> Vec<Answer> {
    let same = |other: Card| (other.name, other.lanes) == (card.name, card.lanes);
    let (_, asked) = ASKED.iter().find(|(other, _)| same(*other)).unwrap();
    // A test that fails in here has not changed it.
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    let new: BTreeSet<String> = lines(text)
        .filter(|line| !asked.contains_key(*line))
        .map(str::to_owned)
        .collect();
    if !new.is_empty() {
        // A line that crashes LLVM must fail its own test alone.
        let more = asked
            .is_empty()
            .then(|| ask(card, &(&new | &spelled_out(card))))
            .flatten();
        let more = more.or_else(|| ask(card, &new)).expect("llvm-mc-19 crashed");
        asked.extend(more);
    }
    lines(text).map(|line| asked[line].clone()).collect()
}

/// The lines that the sources spell out, and how they are spelled on a card.
fn spelled_out(card: Card) -> BTreeSet<String> {
    let spelled = |line: &String| {
        [
            line.clone(),
            twin::spelled(card, line),
            reference::spelled(card, line),
        ]
    };
    let all = SPELLED_OUT
        .iter()
        .flat_map(spelled)
        .map(|line| line.trim().to_owned());
    all.filter(|line| !line.is_empty()).collect()
}

/// Starts the assembler; `None` when it crashes.
fn ask(card: Card, lines: &BTreeSet<String>) -> Option<Answers> {
    // A label in front of each line tells the answers apart.
    const LABEL: &str = "line_";
    let numbered = lines.iter().enumerate();
    let text: String = numbered
        .map(|(i, line)| format!("{LABEL}{i}:\n{line}\n"))
        .collect();
    let mut answers: Vec<Answer> = Vec::new();
    for line in shown(card, &[], &text)?.lines() {
        let number = line
            .strip_prefix(LABEL)
            .and_then(|rest| rest.trim_end().strip_suffix(':'));
        if let Some(number) = number {
            assert_eq!(number, answers.len().to_string(), "a line has no answer");
            answers.push(Some(Vec::new()));
        } else if let Some((text, encoding)) = encoded_line(line) {
            let answer = answers.last_mut().unwrap();
            *answer = answer.take().zip(encoding).map(|(mut listing, encoding)| {
                listing.push((text, encoding));
                listing
            });
        }
    }
    assert_eq!(answers.len(), lines.len(), "a line has no answer");
    Some(lines.iter().cloned().zip(answers).collect())
}

#[test]
fn a_line_is_the_same_in_any_company() {
    for (card, _) in &ASKED {
        let lines: Vec<String> = spelled_out(*card).into_iter().collect();
        let answers = answers(*card, &lines.join("\n"));
        // The other way round, without those that are refused, and into a file.
        let whole =
            |(line, answer): (String, Answer)| Some((line, answer.filter(|listing| !listing.is_empty())?));
        let known: Vec<(String, Listing)> = lines.into_iter().zip(answers).rev().filter_map(whole).collect();
        assert!(known.len() > 500, "{} has only {}", card.name, known.len());
        let text: String = known.iter().map(|(line, _)| format!("{line}\n")).collect();
        let mut file = &assemble_file(*card, &text)[..];
        for (line, listing) in known {
            for (_, bytes) in listing {
                file = file.strip_prefix(&bytes[..]).unwrap_or_else(|| {
                    panic!(
                        "{} `{line}`: {bytes:x?}, not {:x?}",
                        card.name,
                        &file[..file.len().min(20)]
                    )
                });
            }
        }
        assert!(file.is_empty(), "{}", card.name);
    }
}

#[test]
fn a_text_with_places_is_assembled_as_a_whole() {
    // Back over itself and the instruction in front of it.
    let text = "again:\ns_nop 0\ns_branch again";
    assert_eq!(code(RDNA3, text), None);
    assert_eq!(code(RDNA3, "s_nop 0\ns_branch elsewhere"), None);
    assert_eq!(assemble(RDNA3, text), [0, 0, 0x80, 0xbf, 0xfe, 0xff, 0xa0, 0xbf]);
}
