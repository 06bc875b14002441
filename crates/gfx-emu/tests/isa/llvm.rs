//! LLVM's tools as seen by the instruction-set tests. A missing tool fails the test that needs it, by name.

use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};

use code_object::Elf;
use gfx_emu::Target;

use crate::lines;

/// Texts and encodings.
pub(crate) type Listing = Vec<(String, Vec<u8>)>;

/// A card as the emulator and as LLVM call it.
#[derive(Clone, Copy)]
pub(crate) struct Card {
    pub(crate) target: Target,
    pub(crate) name: &'static str,
    /// The width of its waves.
    pub(crate) lanes: u32,
}

/// gfx1030: waves of 32 lanes.
pub(crate) const RDNA2: Card = Card {
    target: Target::Gfx1030,
    name: "gfx1030",
    lanes: 32,
};

/// gfx1030 with waves of 64 lanes.
pub(crate) const RDNA2_WAVE64: Card = Card { lanes: 64, ..RDNA2 };

/// gfx1100: waves of 32 lanes.
pub(crate) const RDNA3: Card = Card {
    target: Target::Gfx1100,
    name: "gfx1100",
    lanes: 32,
};

/// gfx1100 with waves of 64 lanes.
pub(crate) const RDNA3_WAVE64: Card = Card { lanes: 64, ..RDNA3 };

/// gfx1151: waves of 32 lanes.
pub(crate) const RDNA35: Card = Card {
    target: Target::Gfx1151,
    name: "gfx1151",
    ..RDNA3
};

/// gfx1201: waves of 32 lanes.
pub(crate) const RDNA4: Card = Card {
    target: Target::Gfx1201,
    name: "gfx1201",
    ..RDNA3
};

/// gfx1201 with waves of 64 lanes.
pub(crate) const RDNA4_WAVE64: Card = Card { lanes: 64, ..RDNA4 };

/// gfx942: waves of 64 lanes.
pub(crate) const CDNA3: Card = Card {
    target: Target::Gfx942,
    name: "gfx942",
    lanes: 64,
};

/// gfx90a: waves of 64 lanes.
pub(crate) const CDNA2: Card = Card {
    target: Target::Gfx90a,
    name: "gfx90a",
    lanes: 64,
};

impl Card {
    /// Whether it has the encodings of RDNA.
    pub(crate) fn is_rdna(self) -> bool {
        self.target.lanes() == 32
    }

    /// Whether it is of RDNA2, which has encodings and names of its own.
    pub(crate) fn is_rdna2(self) -> bool {
        self.target == RDNA2.target
    }

    /// Whether it spells its memory instructions as GFX9 does.
    pub(crate) fn is_before_rdna3(self) -> bool {
        !self.is_rdna() || self.is_rdna2()
    }

    /// Whether it is of RDNA4, which has no modes for NaNs and other names.
    pub(crate) fn is_rdna4(self) -> bool {
        self.target == RDNA4.target
    }

    fn args(self) -> Vec<String> {
        vec![
            "-triple=amdgcn".into(),
            format!("-mcpu={}", self.name),
            format!("-mattr=+wavefrontsize{}", self.lanes),
        ]
    }
}

/// Runs an LLVM tool on `input` and gives what it printed; its complaints are kept out of the way.
#[track_caller]
pub(crate) fn llvm(tool: &str, args: &[&str], input: &str) -> String {
    String::from_utf8(llvm_bytes(tool, args, input)).unwrap()
}

#[track_caller]
fn llvm_bytes(tool: &str, args: &[&str], input: &str) -> Vec<u8> {
    let (status, output) = answer(tool, args, input);
    assert!(status.code().is_some(), "{tool} crashed: {status}");
    output
}

/// How a tool ended, and what it printed.
#[track_caller]
fn answer(tool: &str, args: &[&str], input: &str) -> (ExitStatus, Vec<u8>) {
    // Nobody reads what a tool complains of. LLVM writes it in parts of a few bytes, which through a pipe take longer than all the
    // rest; so do the names in the report of a crash, which another tool looks up.
    let child = Command::new(tool)
        .args(args)
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{tool} is needed for this test: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A tool that crashed has not read everything.
    let written = writer.join().unwrap();
    assert!(
        written.is_ok() || output.status.code().is_none(),
        "{tool}: {written:?}"
    );
    (output.status, output.stdout)
}

/// What `llvm-mc` prints for a card, with the encoding after each instruction; `None` when it crashes, which its disassembler
/// does on some words.
#[track_caller]
pub(crate) fn shown(card: Card, more: &[&str], input: &str) -> Option<String> {
    let fixed = card.args();
    let mut args: Vec<&str> = fixed.iter().map(String::as_str).collect();
    args.push("-show-encoding");
    args.extend(more);
    let (status, output) = answer("llvm-mc-19", &args, input);
    status.code()?;
    Some(String::from_utf8(output).unwrap())
}

/// Instructions and their encodings that a card's disassembler reads.
#[track_caller]
pub(crate) fn disassembled(card: Card, words: &str) -> Listing {
    try_disassembled(card, words).expect("llvm-mc-19 crashed")
}

/// [`disassembled`]; `None` when it crashes.
#[track_caller]
pub(crate) fn try_disassembled(card: Card, words: &str) -> Option<Listing> {
    let output = shown(card, &["-disassemble"], words)?;
    let whole = |(text, encoding): (String, Option<Vec<u8>>)| (text, encoding.unwrap());
    Some(output.lines().filter_map(encoded_line).map(whole).collect())
}

/// `text ; encoding: [0x01,0x02]` taken apart. There is no encoding where it depends on what a name stands for.
pub(crate) fn encoded_line(line: &str) -> Option<(String, Option<Vec<u8>>)> {
    let (text, rest) = line
        .split_once("; encoding: [")
        .or_else(|| line.split_once("// encoding: ["))?;
    let bytes = rest.trim_end().trim_end_matches(']').split(',');
    // Of an unknown byte there is a letter.
    let bytes = bytes.map(|b| u8::from_str_radix(b.trim().strip_prefix("0x")?, 16).ok());
    Some((words(text), bytes.collect()))
}

/// Text with single blanks.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Machine code of assembly text, which may have labels.
#[track_caller]
pub(crate) fn assemble(card: Card, text: &str) -> Vec<u8> {
    lines::code(card, text).unwrap_or_else(|| assemble_file(card, text))
}

/// The code of the file that LLVM's assembler makes of a text.
#[track_caller]
pub(crate) fn assemble_file(card: Card, text: &str) -> Vec<u8> {
    let fixed = card.args();
    let mut args: Vec<&str> = fixed.iter().map(String::as_str).collect();
    args.push("-filetype=obj");
    let file = llvm_bytes("llvm-mc-19", &args, text);
    let elf = Elf::parse(&file).unwrap_or_else(|error| panic!("{error}; in:\n{text}"));
    elf.section(".text").unwrap().content.to_vec()
}
