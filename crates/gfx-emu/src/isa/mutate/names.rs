//! What the operations are called that take the place of others.

use super::MutationKind;

/// Words of comparisons, and those that take their place.
const RELATIONS: [(&str, &str); 19] = [
    ("lt", "le"),
    ("le", "lt"),
    ("gt", "ge"),
    ("ge", "gt"),
    ("eq", "ne"),
    ("eq", "lg"),
    ("eq", "neq"),
    ("ne", "eq"),
    ("neq", "eq"),
    ("lg", "eq"),
    ("nlt", "nle"),
    ("nle", "nlt"),
    ("ngt", "nge"),
    ("nge", "ngt"),
    ("nlg", "lg"),
    ("o", "u"),
    ("u", "o"),
    ("tru", "f"),
    ("f", "t"),
];

/// Words of other operations, likewise.
const OPERATIONS: [(&str, &str); 26] = [
    ("add", "sub"),
    ("sub", "add"),
    ("subrev", "add"),
    ("addc", "subb"),
    ("subb", "addc"),
    ("addk", "mulk"),
    ("mul", "add"),
    ("fmac", "mul"),
    ("fmac", "max"),
    ("min", "max"),
    ("max", "min"),
    ("min3", "max3"),
    ("max3", "min3"),
    ("med3", "max3"),
    ("minmax", "maxmin"),
    ("maxmin", "minmax"),
    ("and", "or"),
    ("or", "and"),
    ("xor", "or"),
    ("xnor", "xor"),
    ("andn2", "and"),
    ("floor", "ceil"),
    ("ceil", "floor"),
    ("trunc", "rndne"),
    ("rndne", "trunc"),
    ("sqrt", "rcp"),
];

/// Words of shifts, likewise.
const SHIFTS: [(&str, &str); 8] = [
    ("lshlrev", "lshrrev"),
    ("lshrrev", "lshlrev"),
    ("lshrrev", "ashrrev"),
    ("ashrrev", "lshrrev"),
    ("lshl", "lshr"),
    ("lshr", "lshl"),
    ("lshr", "ashr"),
    ("ashr", "lshr"),
];

/// Types of integers, likewise; where the operation depends on the sign.
const SIGNS: [(&str, &str); 12] = [
    ("u32", "i32"),
    ("i32", "u32"),
    ("u16", "i16"),
    ("i16", "u16"),
    ("u64", "i64"),
    ("i64", "u64"),
    ("u8", "i8"),
    ("i8", "u8"),
    ("ubyte", "sbyte"),
    ("sbyte", "ubyte"),
    ("ushort", "sshort"),
    ("sshort", "ushort"),
];

/// Words of branches, likewise.
const BRANCHES: [(&str, &str); 6] = [
    ("scc0", "scc1"),
    ("scc1", "scc0"),
    ("vccz", "vccnz"),
    ("vccnz", "vccz"),
    ("execz", "execnz"),
    ("execnz", "execz"),
];

/// Words of mnemonics and what each becomes.
type Renames = [(&'static str, &'static str)];

/// Mnemonics that may stand for a mutant of an instruction; not all exist.
pub(super) fn renames(mnemonic: &str) -> Vec<(MutationKind, String)> {
    let has = |word: &str| mnemonic.contains(word);
    let compares = has("_cmp");
    // What is equal does not depend on the sign.
    let equality = ["_eq_", "_ne_", "_lg_"].into_iter().any(has);
    let signed = compares && !equality
        || ["_min", "_max", "_mul_hi", "_cvt", "_bfe", "load"]
            .into_iter()
            .any(has);
    let tables: [(MutationKind, &Renames, bool); 6] = [
        (MutationKind::Compare, &RELATIONS, compares),
        (MutationKind::Lanes, &OPERATIONS, has("saveexec")),
        (
            MutationKind::Operation,
            &OPERATIONS,
            !compares && !has("saveexec"),
        ),
        (MutationKind::Shift, &SHIFTS, true),
        (MutationKind::Operation, &SIGNS, signed),
        (MutationKind::Branch, &BRANCHES, has("cbranch")),
    ];
    let words: Vec<&str> = mnemonic.split('_').collect();
    let mut found = vec![];
    for (kind, table, _) in tables.into_iter().filter(|(.., applies)| *applies) {
        for (from, to) in table {
            // The first word says which unit it is.
            let places = words.iter().enumerate().skip(1).filter(|(_, word)| *word == from);
            found.extend(places.map(|(place, _)| {
                let mut words = words.clone();
                words[place] = to;
                (kind, words.join("_"))
            }));
        }
    }
    found
}
