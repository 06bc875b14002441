//! Failures in groups: by backend, op, verdict, the kind of outcome, the class of the case, and the finding that explains them.

use std::collections::BTreeMap;

use parity_fuzz::Class;
use parity_model::{Case, Verdict, findings::Findings};
use serde::{Deserialize, Serialize};

use super::bench::Seen;
use crate::shrink::size;

/// What the failures of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The finding that explains them; `None` for those that nothing explains.
    pub finding: Option<String>,
    /// The column.
    pub backend: String,
    /// The op, with its family: `unary/exp`.
    pub op: String,
    /// The judgement.
    pub verdict: Verdict,
    /// What the executions came to, in words.
    pub how: String,
    /// Size and layouts: [`Class`].
    pub class: String,
}

/// The failures that have a [`Key`] in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// How many cases.
    pub count: u64,
    /// The id of the smallest of them.
    pub case: String,
    /// What was said of it.
    pub note: String,
}

/// How many failures the rows of a finding explain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Failures that no other finding explains.
    pub alone: u64,
    /// Failures that others explain, too.
    pub shared: u64,
}

/// Verdicts of one column, counted.
pub type Tally = BTreeMap<String, u64>;

/// What became of cases: every verdict counted, and the failures in groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Cases that were drawn and not run, because a finding says that they never end.
    pub left_out: u64,
    /// Verdicts by column. What a finding explains is a `known-failure`.
    pub verdicts: BTreeMap<String, Tally>,
    /// Findings that would explain failures, by name, where the run excuses nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<String, Found>,
    /// The failures.
    #[serde(with = "pairs")]
    pub groups: BTreeMap<Key, Group>,
}

impl Groups {
    /// Counts what became of a case on a backend. Findings that do not `excuse` failures are counted beside them.
    pub fn put(&mut self, backend: &str, case: &Case, seen: &Seen, findings: &Findings, excuse: bool) {
        // An output that proves nothing is a poor case, and no failure of a backend.
        let fails = seen.verdict.fails_run() && seen.verdict != Verdict::Untrusted;
        let mut names: Vec<String> = match fails {
            true => findings
                .explaining(backend, case, seen.verdict)
                .map(|known| known.finding.name.clone())
                .collect(),
            false => vec![],
        };
        if !excuse {
            names.sort();
            names.dedup();
            let alone = names.len() == 1;
            for name in names.drain(..) {
                let found = self.found.entry(name).or_default();
                *(if alone {
                    &mut found.alone
                } else {
                    &mut found.shared
                }) += 1;
            }
        }
        let finding = names.into_iter().next();
        let counted = if finding.is_some() {
            Verdict::KnownFailure
        } else {
            seen.verdict
        };
        let tally = self.verdicts.entry(backend.to_owned()).or_default();
        *tally.entry(counted.name().to_owned()).or_default() += 1;
        if !fails {
            return;
        }
        let key = Key {
            finding,
            backend: backend.to_owned(),
            op: format!("{}/{}", case.op.family(), case.op),
            verdict: seen.verdict,
            how: seen.how.to_owned(),
            class: Class::of(case).to_string(),
        };
        let group = Group {
            count: 1,
            case: case.id().to_string(),
            note: seen.note.clone().unwrap_or_default(),
        };
        self.join(key, group);
    }

    /// Adds another part of the same run.
    pub fn add(&mut self, other: Groups) {
        self.left_out += other.left_out;
        for (backend, tally) in other.verdicts {
            let own = self.verdicts.entry(backend).or_default();
            for (verdict, count) in tally {
                *own.entry(verdict).or_default() += count;
            }
        }
        for (name, more) in other.found {
            let found = self.found.entry(name).or_default();
            (found.alone, found.shared) = (found.alone + more.alone, found.shared + more.shared);
        }
        for (key, group) in other.groups {
            self.join(key, group);
        }
    }

    fn join(&mut self, key: Key, group: Group) {
        let Some(own) = self.groups.get_mut(&key) else {
            self.groups.insert(key, group);
            return;
        };
        own.count += group.count;
        let smaller = match (group.case.parse::<Case>(), own.case.parse::<Case>()) {
            (Ok(theirs), Ok(ours)) => (size(&theirs), &group.case) < (size(&ours), &own.case),
            (_, _) => false,
        };
        if smaller {
            (own.case, own.note) = (group.case, group.note);
        }
    }
}

/// Keys of a JSON object are strings: a map by [`Key`] is a list of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Group, Key};

    #[derive(Serialize, Deserialize)]
    struct Pair {
        #[serde(flatten)]
        key: Key,
        #[serde(flatten)]
        group: Group,
    }

    pub(super) fn serialize<S: Serializer>(map: &BTreeMap<Key, Group>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map.iter().map(|(key, group)| Pair {
            key: key.clone(),
            group: group.clone(),
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Key, Group>, D::Error> {
        let pairs = Vec::<Pair>::deserialize(from)?;
        Ok(pairs.into_iter().map(|pair| (pair.key, pair.group)).collect())
    }
}
