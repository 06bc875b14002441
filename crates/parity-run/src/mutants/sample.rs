//! Which mutants are tried.

use gfx_emu::{Mutation, Reason};

use super::{Name, Options};

/// A mutant that may be drawn.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Digest of the code object, and the kernel's name.
    pub(super) key: (String, String),
    /// The card.
    pub(super) target: String,
    /// The instruction's number in the kernel's listing.
    pub(super) index: usize,
    /// Its file and line, where they are known.
    pub(super) source: Option<(String, u64)>,
    /// The mutant.
    pub(super) mutation: Mutation,
    /// Why no case can notice it, where that is proven.
    pub(super) proof: Option<Reason>,
}

impl Candidate {
    /// What tells it from the others of its card.
    pub(super) fn name(&self) -> Name {
        Name {
            kernel: self.key.1.clone(),
            pc: self.mutation.pc,
            after: self.mutation.after.clone(),
        }
    }
}

/// FNV-1a in 64 bits, of a seed and a text, mixed so that neighbours are far apart.
pub(super) fn digest(seed: u64, text: &str) -> u64 {
    let bytes = seed.to_le_bytes();
    let bytes = bytes.iter().chain(text.as_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// The mutants that the seed draws, in an order that it decides.
pub(super) fn draw(candidates: Vec<Candidate>, options: &Options) -> Vec<Candidate> {
    let mut drawn: Vec<(u64, Candidate)> = candidates
        .into_iter()
        .map(|candidate| {
            let Mutation { pc, kind, after, .. } = &candidate.mutation;
            let text = format!(
                "{} {} {pc} {} {after}",
                candidate.target,
                candidate.key.1,
                kind.word()
            );
            (digest(options.seed, &text), candidate)
        })
        .collect();
    drawn.sort_by_key(|(number, _)| *number);
    drawn.truncate(options.samples.unwrap_or(usize::MAX));
    drawn.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Whether a name matches a pattern in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    (0..=rest.len())
        .filter(|at| rest.is_char_boundary(*at))
        .any(|at| matches(tail, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_characters_and_nothing_else_is() {
        for (pattern, name, expected) in [
            ("*", "copy_f32", true),
            ("copy*", "copy_f32", true),
            ("*_f32", "copy_f32", true),
            ("c*y*f3*", "copy_f32", true),
            ("copy_f32", "copy_f32", true),
            ("copy", "copy_f32", false),
            ("*f64", "copy_f32", false),
            ("copy.f32", "copy_f32", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn other_seeds_and_texts_have_other_digests() {
        assert_eq!(digest(1, "a"), digest(1, "a"));
        assert_ne!(digest(1, "a"), digest(2, "a"));
        assert_ne!(digest(1, "a"), digest(1, "b"));
    }
}
