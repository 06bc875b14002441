//! The reader of `known-failures.toml`.

use super::SpecError;
use super::reader::{Report, Table, document};
use crate::Verdict;
use crate::known::{Known, KnownFailures};

pub(crate) fn parse(file_name: &str, text: &str) -> Result<KnownFailures, Vec<SpecError>> {
    let report = Report::new(file_name);
    let document = document(&report, text);
    let root = Table::open(&report, document.get_ref(), document.span(), &["known"]);
    let mut entries = Vec::new();
    for entry in root
        .get("known")
        .and_then(|list| list.array(true))
        .unwrap_or_default()
    {
        let Some(table) = entry.table(&["id", "except", "backend", "verdict", "may_pass", "reason", "link"])
        else {
            continue;
        };
        entries.extend(known(&table));
    }
    report.finish(KnownFailures {
        file: file_name.to_owned(),
        entries,
    })
}

fn known(table: &Table<'_, '_>) -> Option<Known> {
    let id = table.require("id", r#"id = "unary/relu:*:nan", a pattern over case ids"#);
    let backend = table.require("backend", r#"backend = "..", the one whose cases fail"#);
    let verdict = table.require("verdict", r#"verdict = "mismatch", the verdict that is expected"#);
    let reason = table.require("reason", r#"reason = "..", why these cases fail"#);
    let may_pass = table
        .get("may_pass")
        .map_or(Some(false), |may_pass| may_pass.boolean());
    let except = table.get("except");
    let except = except.map_or(Some(vec![]), |list| list.list(|pattern| pattern.text()));
    let link = table.get("link").map(|link| link.text());
    let explainable: Vec<Verdict> = Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.fails_run())
        .collect();
    let (id, backend) = (
        id.and_then(|id| id.text()),
        backend.and_then(|backend| backend.text()),
    );
    let verdict = verdict.and_then(|verdict| verdict.word("verdict", &explainable, Verdict::name));
    let reason = reason.and_then(|reason| reason.text());
    let link = link.map_or(Some(None), |link| link.map(Some));
    Some(Known {
        id: id?,
        except: except?,
        backend: backend?,
        verdict: verdict?,
        may_pass: may_pass?,
        reason: reason?,
        link: link?,
        span: table.span.clone(),
    })
}
