//! Words at random, whole instructions of them: where LLVM's disassembler reads an instruction, ours reads the same text of the
//! same size.
//!
//! LLVM refuses many words that ours reads, because bits are set that the instruction does not use: a destination that it has
//! not, a scalar pair that begins at an odd register, a half of a whole operand. No compiler makes them.

use std::collections::BTreeMap;

use gfx_emu::disassemble;

use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA3, RDNA4, RDNA35, try_disassembled, words};
use crate::wave::Numbers;
use crate::{authority, decode, decode_cdna3, decode_rdna2, decode_rdna4};

/// Words of a candidate, as many as the longest instruction has.
const WORDS: usize = 3;
/// Markers in front of a candidate: an instruction at the end of the one before takes two of them for its own at most.
const MARKERS: usize = 3;
/// Candidates of a card.
const CANDIDATES: usize = 20_000;

/// Words at random. Half of all words are VOP2: three in four are drawn from the other encodings.
fn candidates(seed: u64) -> Vec<[u32; WORDS]> {
    let mut numbers = Numbers(seed);
    let mut one = || {
        let mut words = [0; WORDS].map(|_: u32| numbers.next() as u32);
        if !numbers.next().is_multiple_of(4) {
            words[0] |= 1 << 31;
        }
        words
    };
    (0..CANDIDATES).map(|_| one()).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Candidates that LLVM is asked about at once.
const CHUNK: usize = 1_000;

/// What LLVM makes of the beginning of a candidate.
#[derive(Clone, Debug, PartialEq)]
enum Theirs {
    /// It refuses.
    Refused,
    /// Text and encoding.
    Read(String, Vec<u8>),
    /// Its disassembler crashes.
    Crashed,
}

/// Asks LLVM about candidates, whose numbers begin with `first`; what crashes it is found by halves.
fn ask(card: Card, candidates: &[[u32; WORDS]], first: usize, theirs: &mut [Theirs]) {
    // `s_nop` with the candidate's number.
    let marker = |i: usize| 0xbf80_0000 | (first + i) as u32;
    let lines = candidates.iter().enumerate().map(|(i, candidate)| {
        let line = [marker(i); MARKERS].into_iter().chain(*candidate);
        decode::hex_bytes(&line.collect::<Vec<_>>())
    });
    let Some(output) = try_disassembled(card, &lines.collect::<String>()) else {
        if let [crashed] = theirs {
            *crashed = Theirs::Crashed;
            return;
        }
        let half = candidates.len() / 2;
        let (left, right) = theirs.split_at_mut(half);
        ask(card, &candidates[..half], first, left);
        ask(card, &candidates[half..], first + half, right);
        return;
    };
    let mut current = None;
    for (text, encoding) in output {
        if let Some(number) = marked(&encoding)
            && current.is_none_or(|current| number == current || number == current + 1)
        {
            current = Some(number);
            continue;
        }
        // After the markers comes the candidate, unless LLVM refused it and this is the word after.
        if let Some(i) = current.and_then(|current| current.checked_sub(first))
            && let Some(place @ Theirs::Refused) = theirs.get_mut(i)
            && bytes(&candidates[i]).starts_with(&encoding)
        {
            *place = Theirs::Read(text, encoding);
        }
    }
}

/// The number of a marker.
fn marked(encoding: &[u8]) -> Option<usize> {
    let word = u32::from_le_bytes(encoding.try_into().ok()?);
    (word >> 16 == 0xbf80).then_some((word & 0xffff) as usize)
}

fn by_llvm(card: Card, candidates: &[[u32; WORDS]]) -> Vec<Theirs> {
    let mut theirs = vec![Theirs::Refused; candidates.len()];
    let chunks = candidates.chunks(CHUNK).zip(theirs.chunks_mut(CHUNK)).enumerate();
    for (i, (candidates, theirs)) in chunks {
        ask(card, candidates, i * CHUNK, theirs);
    }
    theirs
}

fn compare(card: Card) {
    let candidates = candidates(11);
    let theirs = by_llvm(card, &candidates);
    let (mut same, mut refused, mut crashed, mut differences) = (0, 0, 0, BTreeMap::new());
    for (candidate, theirs) in candidates.iter().zip(theirs) {
        let code = bytes(candidate);
        let ours = disassemble(card.target, &code).ok();
        let ours = ours.map(|(text, size)| (words(&text), size));
        match (ours, theirs) {
            (_, Theirs::Crashed) => crashed += 1,
            (None, Theirs::Refused) => refused += 1,
            // Bits that the instruction does not use are set; see above.
            (Some(_), Theirs::Refused) => {}
            (Some((ours, size)), Theirs::Read(text, encoding)) if ours == text && size == encoding.len() => {
                same += 1
            }
            (_, Theirs::Read(text, encoding)) if on_purpose(card, &text, &encoding) => {}
            (ours, Theirs::Read(text, _)) => {
                let line = format!("LLVM `{text}`, ours {ours:?}, {candidate:08x?}");
                differences.entry(authority::name(&text)).or_insert(line);
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{}: {} differ:\n{differences:#?}",
        card.name,
        differences.len()
    );
    // Half of the words are no instruction, or one of graphics.
    let least = CANDIDATES / 10;
    assert!(
        same > least && refused > least && crashed < least,
        "{}: {same} alike, {refused} refused by both, {crashed} crash LLVM",
        card.name
    );
}

fn on_purpose(card: Card, text: &str, encoding: &[u8]) -> bool {
    let name = text.split(' ').next().unwrap();
    // Operand codes of graphics and of other cards of the generation, a status after the data of a buffer, and a matrix whose
    // second factor is a constant.
    let codes = [
        "src_vccz",
        "src_execz",
        "src_pops_exiting_wave_id",
        "src_lds_direct",
    ];
    if codes.iter().any(|code| text.contains(code))
        || text.ends_with(" tfe")
        || name.starts_with("lds_")
        || name.starts_with("v_mfma") && text.contains("src_")
    {
        return true;
    }
    match card.is_rdna() {
        true if card.name == "gfx1030" => {
            decode_rdna2::differs_on_purpose(text) || decode_rdna2::is_left_out(name)
        }
        true if card.name == "gfx1201" => decode_rdna4::differs_on_purpose(text) || decode::is_left_out(name),
        true => decode::differs_on_purpose(text) || decode::is_left_out(name),
        false => {
            decode_cdna3::differs_on_purpose(text)
                || decode_cdna3::has_vop3_literal(encoding)
                || decode_cdna3::is_left_out(name)
        }
    }
}

#[test]
fn random_words_read_as_llvm_reads_them_on_gfx1030() {
    compare(RDNA2);
}

#[test]
fn random_words_read_as_llvm_reads_them_on_gfx1100() {
    compare(RDNA3);
}

#[test]
fn random_words_read_as_llvm_reads_them_on_gfx1151() {
    compare(RDNA35);
}

#[test]
fn random_words_read_as_llvm_reads_them_on_gfx1201() {
    compare(RDNA4);
}

#[test]
fn random_words_read_as_llvm_reads_them_on_gfx942() {
    compare(CDNA3);
}

#[test]
fn random_words_read_as_llvm_reads_them_on_gfx90a() {
    compare(CDNA2);
}
