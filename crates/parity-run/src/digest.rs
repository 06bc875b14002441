//! Fingerprints of what a run went by, so that records that do not belong together are told apart.

use parity_model::{Case, findings::Findings};
use sha2::{Digest, Sha256};

/// Every case of the specs with what else it says, in order, and every row of a finding: their meaning, not the text of the
/// files, so that a comment changes nothing.
pub fn rules(all: &[Case], findings: &Findings) -> String {
    let cases = all.iter().map(|case| {
        let Case {
            tier,
            limit,
            timeout,
            isolated,
            ..
        } = case;
        format!("case {} {tier} {limit:?} {timeout:?} {isolated}", case.id())
    });
    let known = findings.rows().map(|known| {
        let (row, verdict) = (known.row, known.row.verdict.name());
        format!(
            "known {} {:?} {verdict} {} {}",
            row.cases,
            row.backends,
            row.may_pass,
            known.note()
        )
    });
    of_lines(cases.chain(known))
}

/// The ids of a plan, in order.
pub(crate) fn plan(cases: &[Case]) -> String {
    of_lines(cases.iter().map(|case| case.id().to_string()))
}

/// A number that depends on an id alone, the same in every release.
pub(crate) fn number(id: &str) -> u64 {
    let hash = Sha256::digest(id.as_bytes());
    hash.iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn of_lines(lines: impl Iterator<Item = String>) -> String {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use parity_model::LimitSpec;

    use super::*;

    fn case() -> Case {
        "unary/neg:f32:[4]:contiguous:uniform(1,2)".parse().unwrap()
    }

    #[test]
    fn the_rules_change_with_a_limit_and_with_a_finding() {
        let none = Findings::default();
        let before = rules(&[case()], &none);
        assert_eq!(rules(&[case()], &none), before);
        let mut looser = case();
        looser.limit = LimitSpec::Fixed {
            ulp: 4.0,
            abs: 0.0,
            source: "a reason".to_owned(),
        };
        assert_ne!(rules(&[looser], &none), before);
        let mut apart = case();
        apart.isolated = true;
        assert_ne!(rules(&[apart], &none), before);
        let text = "title = \"x\"\nclass = \"unexplained\"\nreason = \"x\"\n\
                    matches = [{ op = [\"neg\"], backends = [\"cpu\"], verdict = \"mismatch\" }]\n";
        let known = crate::findings::parse(&[("x", "x".to_owned(), text)]).unwrap();
        assert_ne!(rules(&[case()], &known), before);
    }

    #[test]
    fn the_number_of_an_id_is_a_promise_to_scripts_that_shard() {
        assert_eq!(
            number("abc"),
            0xba78_16bf_8f01_cfea,
            "the first bytes of SHA-256's own example"
        );
    }
}
