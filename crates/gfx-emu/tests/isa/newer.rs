//! Cards that LLVM 19 does not know: their decoder and printer against what a newer LLVM says, as `ci/gfx950` and `ci/gfx1250` stored it.

use std::collections::BTreeSet;

use gfx_emu::{Target, coverage, disassemble};

/// A card that LLVM 19 does not know.
pub(crate) struct Newer {
    pub(crate) target: Target,
    /// The release of LLVM that wrote the listing, and the card that the listing departs from.
    pub(crate) llvm: u32,
    pub(crate) from: &'static str,
    pub(crate) text: &'static str,
    /// Instructions that no row names, by the beginnings of their names: words of theirs are refused as unknown ones.
    pub(crate) without_row: &'static [&'static str],
}

pub(crate) const NEWER: [Newer; 2] = [
    Newer {
        target: Target::Gfx950,
        llvm: 21,
        from: "gfx942",
        text: include_str!("gfx950.txt"),
        without_row: &[],
    },
    Newer {
        target: Target::Gfx1250,
        llvm: 23,
        from: "gfx1200",
        text: include_str!("gfx1250.txt"),
        without_row: &["v_wmma_f32_32x16x128_f4"],
    },
];

impl Newer {
    /// A line of the listing has bytes and LLVM's text of their instruction. The text is `None` where the bytes are not an instruction.
    fn listing(&self) -> Vec<(Vec<u8>, Option<&'static str>)> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        let line = |line: &'static str| {
            let (code, text) = line.split_once(' ').unwrap();
            let bytes = (0..code.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&code[at..at + 2], 16).unwrap());
            (bytes.collect(), (text != "-").then_some(text))
        };
        lines.map(line).collect()
    }

    /// How many instructions the listing names, and those that are not executed.
    pub(crate) fn own(&self) -> (usize, BTreeSet<String>) {
        let lines = coverage(self.target).into_iter();
        let (executed, _): (Vec<_>, Vec<_>) = lines.partition(|line| line.executed);
        let executed: BTreeSet<String> = executed.iter().flat_map(|line| line.names()).collect();
        let name = |part: &str, lds: bool| {
            let name = part
                .split(' ')
                .next()
                .unwrap_or_default()
                .trim_end_matches("_e32")
                .trim_end_matches("_e64");
            // A product with scales is the row of the product.
            let name = name.replace("v_mfma_scale_", "v_mfma_");
            if lds { format!("{name} lds") } else { name }
        };
        let texts = self.listing().into_iter().filter_map(|(_, text)| text);
        let names = texts.flat_map(|text| {
            let lds = text.ends_with(" lds");
            text.split(" :: ").map(move |part| name(part, lds))
        });
        let all: BTreeSet<String> = names.collect();
        (all.len(), &all - &executed)
    }

    /// What the page of instructions says of it.
    pub(crate) fn section(&self) -> String {
        let (all, missing) = self.own();
        let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        format!(
            "\n## {}\n\nLLVM 19 does not know it. Beyond what {} has, LLVM {} names {} instructions (`tests/isa/{}.txt`); {} are \
             executed.\n\nNot executed:\n\n- {}\n",
            self.target,
            self.from,
            self.llvm,
            all,
            self.target,
            all - missing.len(),
            names.join(" ")
        )
    }
}

#[test]
fn newer_cards_read_as_their_llvm_says() {
    for card in NEWER {
        let mut wrong = Vec::new();
        for (code, want) in card.listing() {
            // Loads of buffers into LDS are refused, as those of the other cards are.
            let named = |text: &&str| {
                !text.ends_with(" lds") && !card.without_row.iter().any(|name| text.starts_with(name))
            };
            let want = want.filter(named);
            let got = disassemble(card.target, &code);
            // Where there is none, shorter bytes may be one.
            let text = got.as_ref().ok().filter(|(_, size)| *size == code.len());
            let text = text.map(|(text, _)| text.as_str());
            if text != want {
                wrong.push(format!("{code:02x?}: {text:?}, not {want:?}"));
            }
        }
        assert!(
            wrong.is_empty(),
            "{}: {} lines:\n{}",
            card.target,
            wrong.len(),
            wrong.join("\n")
        );
    }
}
