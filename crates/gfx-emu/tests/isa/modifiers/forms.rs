//! The plain instructions of a card, how each is written in its encodings, and what may be written around it.

use std::collections::BTreeMap;

use crate::authority::{self, base};
use crate::llvm::Card;

/// One modifier: which, and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// `src0` to `src2` for what is written around an operand, else the modifier's own name.
    pub(super) field: &'static str,
    pub(super) value: String,
}

impl Change {
    /// How a page calls it: modifiers of operands without their number, lists without their bits.
    pub(super) fn shown(&self) -> String {
        match self.field {
            "src0" | "src1" | "src2" => match self.value.as_str() {
                "-" => "neg".to_owned(),
                "|" => "abs".to_owned(),
                "-|" => "neg of abs".to_owned(),
                _ => "sext".to_owned(),
            },
            _ => match self.value.split_once([':', '[']) {
                Some((name, _)) if self.field != "omod" => name.to_owned(),
                _ if self.field == "omod" => "omod".to_owned(),
                _ => self.value.clone(),
            },
        }
    }
}

/// An instruction in one of its encodings.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) encoding: &'static str,
    pub(super) name: String,
    pub(super) operands: Vec<String>,
    /// Number of operands before the sources.
    pub(super) destinations: usize,
    /// What must be written after the operands: field and value.
    tail: Vec<(&'static str, &'static str)>,
}

/// Numbers of a list in brackets that has `count` bits, but for one of them.
fn lists(name: &str, count: usize, but: usize) -> Vec<String> {
    let list = |bits: usize| {
        let bits: Vec<String> = (0..count).map(|i| (bits >> i & 1).to_string()).collect();
        format!("{name}:[{}]", bits.join(","))
    };
    (0..1 << count).filter(|bits| *bits != but).map(list).collect()
}

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

impl Form {
    pub(super) fn is_memory(&self) -> bool {
        matches!(
            self.encoding,
            "DS" | "FLAT" | "GLOBAL" | "SCRATCH" | "MUBUF" | "SMEM"
        )
    }

    /// Sources, as far as they may have modifiers.
    pub(super) fn sources(&self) -> &[String] {
        &self.operands[self.destinations.min(self.operands.len())..]
    }

    fn is_packed(&self) -> bool {
        self.encoding.starts_with("VOP3P")
    }

    /// The line with these changes.
    pub(super) fn line(&self, changes: &[Change]) -> String {
        let mut operands = self.operands.clone();
        let mut tail: Vec<(&str, String)> = self
            .tail
            .iter()
            .map(|(field, value)| (*field, (*value).to_owned()))
            .collect();
        for change in changes {
            let operand = match change.field {
                "src0" => Some(0),
                "src1" => Some(1),
                "src2" => Some(2),
                _ => None,
            };
            if let Some(i) = operand {
                let operand = &mut operands[self.destinations + i];
                *operand = match change.value.as_str() {
                    "-" => format!("-{operand}"),
                    "|" => format!("|{operand}|"),
                    "-|" => format!("-|{operand}|"),
                    _ => format!("sext({operand})"),
                };
            } else if let Some((_, value)) = tail.iter_mut().find(|(field, _)| *field == change.field) {
                value.clone_from(&change.value);
            } else {
                tail.push((change.field, change.value.clone()));
            }
        }
        let tail: String = tail
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(_, value)| format!(" {value}"))
            .collect();
        format!("{} {}{tail}", self.name, operands.join(", "))
    }

    /// The plain instruction whose result says what a modified one gives: it has the same operands and no lanes or parts of its own.
    pub(super) fn plain(&self) -> Vec<String> {
        if self.is_memory() || self.is_packed() {
            return vec![self.line(&[])];
        }
        let operands = self.operands.join(", ");
        let root = base(&self.name);
        ["_e64", "", "_e32"]
            .iter()
            .map(|suffix| format!("{root}{suffix} {operands}"))
            .collect()
    }

    /// Whether the line is left out: what it says is not compared here.
    pub(super) fn is_exempt(&self, text: &str) -> bool {
        // LLVM marks operands that the encoding holds but the instruction does not take.
        text.contains("/*Invalid")
            // It prints the names of patterns where we print numbers.
            || text.starts_with("ds_swizzle") && text.contains("swizzle(")
            // A hint without an effect, whose operands we do not print.
            || text.starts_with("s_atc_probe")
    }

    /// Each value of each modifier, and each two of different ones. Of a modifier with many values, those at its ends are in the pairs.
    pub(super) fn changes(&self) -> Vec<Vec<Change>> {
        let fields: Vec<Vec<Change>> = self
            .fields()
            .into_iter()
            .map(|(field, values)| values.into_iter().map(|value| Change { field, value }).collect())
            .collect();
        let mut all: Vec<Vec<Change>> = fields
            .iter()
            .flatten()
            .map(|change| vec![change.clone()])
            .collect();
        let few = |values: &[Change]| -> Vec<Change> {
            // The lanes and parts of sources have nothing to do with what else is written around an instruction.
            let most = if self.tail.is_empty() { 8 } else { 3 };
            let step = values.len().div_ceil(most).max(1);
            values.iter().rev().step_by(step).cloned().collect()
        };
        let fields: Vec<Vec<Change>> = fields.iter().map(|values| few(values)).collect();
        for (i, firsts) in fields.iter().enumerate() {
            for second in fields[i + 1..].iter().flatten() {
                all.extend(firsts.iter().map(|first| vec![first.clone(), second.clone()]));
            }
        }
        all.dedup();
        all
    }

    /// What may be written around it. LLVM refuses what it does not have.
    fn fields(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut fields = Vec::new();
        if self.is_memory() {
            return self.fields_of_memory();
        }
        let count = self.sources().len();
        let sdwa = self.encoding.ends_with("SDWA");
        if !self.is_packed() || self.name.contains("mix") {
            for field in ["src0", "src1", "src2"].iter().take(count) {
                fields.push((*field, texts(&["-", "|", "-|", "sext"])));
            }
        }
        fields.push(("clamp", texts(&["clamp"])));
        fields.push(("omod", texts(&["mul:2", "mul:4", "div:2"])));
        if self.encoding == "MAI" {
            fields.push(("cbsz", (1..8).map(|n| format!("cbsz:{n}")).collect()));
            fields.push(("abid", (1..16).map(|n| format!("abid:{n}")).collect()));
            fields.push(("blgp", (1..8).map(|n| format!("blgp:{n}")).collect()));
            fields.push(("neg", lists("neg", 3, 0)));
            return fields;
        }
        if self.is_packed() {
            let count = count.min(3);
            let mix = self.name.contains("mix");
            fields.push(("op_sel", lists("op_sel", count, 0)));
            let high = if mix { 0 } else { (1 << count) - 1 };
            fields.push(("op_sel_hi", lists("op_sel_hi", count, high)));
            fields.push(("neg_lo", lists("neg_lo", count, 0)));
            fields.push(("neg_hi", lists("neg_hi", count, 0)));
        } else if !sdwa {
            fields.push(("op_sel", lists("op_sel", (count + 1).min(4), 0)));
            fields.push(("byte_sel", (1..4).map(|n| format!("byte_sel:{n}")).collect()));
        }
        if self.encoding.ends_with("DPP16") {
            fields.push(("dpp", self.patterns()));
            fields.push((
                "row_mask",
                texts(&["row_mask:0x0", "row_mask:0x5", "row_mask:0xa"]),
            ));
            fields.push((
                "bank_mask",
                texts(&["bank_mask:0x0", "bank_mask:0x3", "bank_mask:0x6"]),
            ));
            fields.push(("bound_ctrl", texts(&["bound_ctrl:1"])));
            fields.push(("fi", texts(&["fi:1"])));
        } else if self.encoding.ends_with("DPP8") {
            fields.push((
                "dpp8",
                texts(&[
                    "dpp8:[7,6,5,4,3,2,1,0]",
                    "dpp8:[1,1,4,4,0,7,2,6]",
                    "dpp8:[5,5,5,5,5,5,5,5]",
                ]),
            ));
            fields.push(("fi", texts(&["fi:1"])));
        } else if sdwa {
            let parts = |name: &str| -> Vec<String> {
                ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"]
                    .iter()
                    .map(|part| format!("{name}:{part}"))
                    .collect()
            };
            if self.tail.iter().any(|(field, _)| *field == "dst_sel") {
                fields.push(("dst_sel", parts("dst_sel")));
                fields.push((
                    "dst_unused",
                    texts(&["dst_unused:UNUSED_SEXT", "dst_unused:UNUSED_PRESERVE"]),
                ));
            }
            fields.push(("src0_sel", parts("src0_sel")));
            if self.tail.iter().any(|(field, _)| *field == "src1_sel") {
                fields.push(("src1_sel", parts("src1_sel")));
            }
        }
        fields
    }

    /// The patterns of lanes; of one instruction all.
    fn patterns(&self) -> Vec<String> {
        let all = base(&self.name) == "v_mov_b32";
        let mut patterns: Vec<String> = Vec::new();
        for code in 0..256 {
            if all || matches!(code, 0xb1 | 0x1b | 0x00 | 0xff) {
                let [a, b, c, d] = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6];
                patterns.push(format!("quad_perm:[{a},{b},{c},{d}]"));
            }
        }
        for name in [
            "row_shl",
            "row_shr",
            "row_ror",
            "row_share",
            "row_newbcast",
            "row_xmask",
        ] {
            for n in 0..16 {
                if all || matches!(n, 1 | 7 | 15) {
                    patterns.push(format!("{name}:{n}"));
                }
            }
        }
        patterns.extend(texts(&[
            "wave_shl:1",
            "wave_rol:1",
            "wave_shr:1",
            "wave_ror:1",
            "row_mirror",
            "row_half_mirror",
            "row_bcast:15",
            "row_bcast:31",
        ]));
        patterns
    }

    fn fields_of_memory(&self) -> Vec<(&'static str, Vec<String>)> {
        let numbers = |name: &str, values: &[i32]| -> Vec<String> {
            values.iter().map(|n| format!("{name}:{n}")).collect()
        };
        let mut fields = vec![(
            "offset",
            numbers(
                "offset",
                &[
                    4, 8, 64, 255, 2044, 4095, 8191, 65535, 8_388_607, -4, -2048, -4096, -8_388_608,
                ],
            ),
        )];
        if self.encoding == "SMEM" {
            // Offsets have 21 bits; those beyond the memory here tell nothing apart.
            fields[0].1.retain(|offset| offset.len() < 12);
        }
        if self.encoding == "DS" {
            fields.push(("offset0", numbers("offset0", &[1, 2, 255])));
            fields.push(("offset1", numbers("offset1", &[1, 3, 254])));
            fields.push(("gds", texts(&["gds"])));
            return fields;
        }
        for word in [
            "glc", "slc", "dlc", "sc0", "sc1", "nt", "scc", "lds", "tfe", "r128", "nv",
        ] {
            fields.push((word, texts(&[word])));
        }
        let kind = match self.name.as_str() {
            name if name.contains("atomic") => "ATOMIC",
            name if name.contains("store") => "STORE",
            _ => "LOAD",
        };
        let mut hints = Vec::new();
        for hint in [
            "NT",
            "HT",
            "LU",
            "WB",
            "NT_RT",
            "RT_NT",
            "NT_HT",
            "NT_WB",
            "RETURN",
            "CASCADE_NT",
            "CASCADE_RT",
        ] {
            hints.push(format!("th:TH_{kind}_{hint}"));
        }
        fields.push(("th", hints));
        fields.push((
            "scope",
            texts(&["scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS"]),
        ));
        fields
    }
}

/// The registers of an operand of vector registers: file, first and count.
pub(super) fn vector(operand: &str) -> Option<(char, u16, u16)> {
    let file = operand.chars().next().filter(|file| matches!(file, 'v' | 'a'))?;
    let rest = &operand[1..];
    if let Some(range) = rest.strip_prefix('[') {
        let (first, last) = range.strip_suffix(']')?.split_once(':')?;
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        return Some((file, first, last - first + 1));
    }
    Some((file, rest.parse().ok()?, 1))
}

/// The operand in other registers of its file.
fn renumbered(operand: &str, first: u16) -> String {
    match vector(operand) {
        Some((file, _, 1)) => format!("{file}{first}"),
        Some((file, _, count)) => format!("{file}[{first}:{}]", first + count - 1),
        None => operand.to_owned(),
    }
}

/// Mnemonic, operands and what follows them.
fn parsed(text: &str) -> (String, Vec<String>, String) {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut operands: Vec<String> = rest.split(", ").map(str::to_owned).collect();
    let mut tail = String::new();
    if let Some(last) = operands.last_mut()
        && let Some((operand, words)) = last.clone().split_once(' ')
    {
        *last = operand.to_owned();
        words.clone_into(&mut tail);
    }
    (name.to_owned(), operands, tail)
}

/// What follows the operands, but for offsets: the plain instruction has none.
fn without_offsets(tail: &str) -> String {
    let words = tail.split(' ').filter(|word| !word.starts_with("offset"));
    words.collect::<Vec<_>>().join(" ")
}

/// Whether nothing follows the operands; of mixed precision the candidates say of each which half it is.
fn is_plain(name: &str, tail: &str) -> bool {
    let mut words = tail.split(' ').filter(|word| !word.is_empty());
    words.all(|word| name.contains("_mix") && word.starts_with("op_sel"))
}

/// Operands of a scalar memory instruction that have no register in common: data, base, offset.
fn apart(name: &str, operands: &mut [String]) {
    let range = |first: usize, count: usize| match count {
        1 => format!("s{first}"),
        _ => format!("s[{first}:{}]", first + count - 1),
    };
    let is_number =
        |operand: &str| operand.starts_with(|c: char| c.is_ascii_digit() || c == '-') || operand == "null";
    if let Some(data) = operands.first_mut().filter(|data| !is_number(data)) {
        let inner = data.split_once('[').map(|(_, range)| range.trim_end_matches(']'));
        let ends = inner.and_then(|inner| inner.split_once(':'));
        let count = match ends {
            Some((first, last)) => last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1,
            None if matches!(data.as_str(), "vcc" | "exec" | "flat_scratch" | "xnack_mask") => 2,
            None => 1,
        };
        *data = range(24, count);
    }
    if let Some(base) = operands.get_mut(1) {
        *base = range(16, if name.contains("buffer") { 4 } else { 2 });
    }
    if let Some(offset) = operands.get_mut(2).filter(|offset| !is_number(offset)) {
        "s6".clone_into(offset);
    }
}

/// Operands in front of the sources.
fn destinations(name: &str, operands: &[String]) -> usize {
    if name.starts_with("v_cmpx") && operands.len() == 2 {
        return 0;
    }
    let carries = name.contains("_co_")
        || name.starts_with("v_div_scale")
        || name.starts_with("v_mad_u64_u32")
        || name.starts_with("v_mad_i64_i32");
    if carries { 2 } else { 1 }
}

/// The encodings with modifiers of a vector instruction: suffix, what they add to the encoding's name, and what must follow.
type Encoding = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);
const DPP16: &[(&str, &str)] = &[
    ("dpp", "quad_perm:[0,1,2,3]"),
    ("row_mask", "row_mask:0xf"),
    ("bank_mask", "bank_mask:0xf"),
];
const DPP8: &[(&str, &str)] = &[("dpp8", "dpp8:[0,1,2,3,4,5,6,7]")];
const ONE: &[(&str, &str)] = &[
    ("dst_sel", "dst_sel:DWORD"),
    ("dst_unused", "dst_unused:UNUSED_PAD"),
    ("src0_sel", "src0_sel:DWORD"),
];
const TWO: &[(&str, &str)] = &[
    ("dst_sel", "dst_sel:DWORD"),
    ("dst_unused", "dst_unused:UNUSED_PAD"),
    ("src0_sel", "src0_sel:DWORD"),
    ("src1_sel", "src1_sel:DWORD"),
];
const COMPARED: &[(&str, &str)] = &[("src0_sel", "src0_sel:DWORD"), ("src1_sel", "src1_sel:DWORD")];

/// What the encodings of vector instructions are called, with the modifiers that make them.
const ENCODINGS: &[Encoding] = &[
    ("_e64", "VOP3", &[]),
    ("_dpp", "DPP16", DPP16),
    ("_dpp", "DPP8", DPP8),
    ("_e64_dpp", "VOP3 DPP16", DPP16),
    ("_e64_dpp", "VOP3 DPP8", DPP8),
    ("_sdwa", "SDWA", ONE),
    ("_sdwa", "SDWA", TWO),
    ("_sdwa", "SDWA", COMPARED),
];

/// The instructions of a card that can have modifiers, in each encoding.
pub(super) fn of(card: Card) -> Vec<Form> {
    let executed = crate::page::executed(card);
    // The plainest text of each instruction: of memory, one for each kind of address.
    let mut plainest: BTreeMap<(String, String), (usize, &str, &'static str)> = BTreeMap::new();
    for (text, bytes) in authority::listing(card) {
        let class = authority::class(card.is_rdna(), text, bytes);
        let (name, operands, tail) = parsed(text);
        let tail = without_offsets(&tail);
        let vector_class = matches!(class, "VOP1" | "VOP2" | "VOPC" | "VOP3" | "VOP3P" | "MAI");
        let memory = matches!(class, "DS" | "FLAT" | "GLOBAL" | "SCRATCH" | "MUBUF" | "SMEM");
        if text.contains(" :: ")
            || text.contains("/*Invalid")
            || text.contains("literal")
            || !(vector_class || memory)
            || !executed.contains(&authority::name(text))
            || vector_class && (!is_plain(&name, &tail) || text.contains('-') || text.contains('|'))
        {
            continue;
        }
        let others = operands
            .iter()
            .filter(|operand| vector(operand).is_none())
            .count();
        let accumulates = operands.iter().filter(|operand| operand.starts_with('a')).count();
        let constants = operands
            .iter()
            .filter(|operand| !operand.starts_with(|c: char| c.is_alphabetic()) || operand.contains("src_"))
            .count();
        let kinds: String = if memory {
            operands
                .iter()
                .map(|operand| operand.chars().take(1).collect::<String>())
                .chain(tail.contains("offen").then(|| "offen".to_owned()))
                .chain(tail.contains("idxen").then(|| "idxen".to_owned()))
                .collect()
        } else {
            String::new()
        };
        let score = 1000 * (others + constants + accumulates) + 100 * tail.len() + text.len();
        let key = (base(&name).to_owned(), kinds);
        let entry = plainest.entry(key).or_insert((score, text, class));
        if score < entry.0 {
            *entry = (score, text, class);
        }
    }
    let mut forms = Vec::new();
    for ((root, _), (_, text, class)) in plainest {
        let (name, mut operands, tail) = parsed(text);
        let tail = without_offsets(&tail);
        let destinations = destinations(&name, &operands);
        if matches!(class, "VOP1" | "VOP2" | "VOPC" | "VOP3" | "VOP3P" | "MAI") {
            for (i, operand) in operands.iter_mut().enumerate() {
                let source = i.checked_sub(destinations);
                *operand = renumbered(operand, source.map_or(0, |i| 32 * (i as u16 + 1)));
            }
        }
        if matches!(class, "DS" | "FLAT" | "GLOBAL" | "SCRATCH" | "MUBUF") {
            for (i, operand) in operands.iter_mut().enumerate() {
                *operand = renumbered(operand, 32 * i as u16);
            }
        }
        if class == "SMEM" {
            apart(&name, &mut operands);
        }
        if matches!(class, "GLOBAL" | "SCRATCH") {
            let scalar = if class == "GLOBAL" { "s[16:17]" } else { "s6" };
            let is_scalar = |operand: &&mut String| vector(operand).is_none() && *operand != "off";
            operands
                .iter_mut()
                .filter(is_scalar)
                .for_each(|operand| scalar.clone_into(operand));
        }
        // Descriptor and offset apart.
        if class == "MUBUF" && operands.len() == 4 {
            "s[8:11]".clone_into(&mut operands[2]);
            "s6".clone_into(&mut operands[3]);
        }
        let form = |encoding, name: String, tail: &[(&'static str, &'static str)]| Form {
            encoding,
            name,
            operands: operands.clone(),
            destinations,
            tail: tail.to_vec(),
        };
        match class {
            "VOP1" | "VOP2" | "VOPC" | "VOP3" => {
                for (suffix, encoding, tail) in ENCODINGS {
                    let alone = class == "VOP3" && *suffix == "_e64" && name == root;
                    let suffix = if alone { "" } else { suffix };
                    let mut form = form(encoding, format!("{root}{suffix}"), tail);
                    if !suffix.starts_with("_e64") {
                        // The short encodings have no other masks than VCC.
                        let vcc = if card.lanes == 32 { "vcc_lo" } else { "vcc" };
                        let is_mask = |operand: &&mut String| operand.starts_with('s');
                        form.operands
                            .iter_mut()
                            .filter(is_mask)
                            .for_each(|operand| vcc.clone_into(operand));
                    }
                    forms.push(form);
                }
            }
            "VOP3P" => {
                forms.push(form("VOP3P", name.clone(), &[]));
                forms.push(form("VOP3P DPP16", format!("{root}_e64_dpp"), DPP16));
                forms.push(form("VOP3P DPP8", format!("{root}_e64_dpp"), DPP8));
            }
            "MAI" => forms.push(form("MAI", name.clone(), &[])),
            class => {
                let fixed: &[(&str, &str)] = match tail.as_str() {
                    "" => &[],
                    "offen" => &[("mode", "offen")],
                    "idxen" => &[("mode", "idxen")],
                    "idxen offen" => &[("mode", "idxen offen")],
                    "glc" => &[("glc", "glc")],
                    "sc0" => &[("sc0", "sc0")],
                    "offen glc" => &[("mode", "offen"), ("glc", "glc")],
                    "offen sc0" => &[("mode", "offen"), ("sc0", "sc0")],
                    "th:TH_ATOMIC_RETURN" => &[("th", "th:TH_ATOMIC_RETURN")],
                    _ => continue,
                };
                forms.push(form(class, name.clone(), fixed));
            }
        }
    }
    forms
}
