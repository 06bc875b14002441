//! `parity baseline update`: brings known-failures.toml in line with what a stored run shows.

mod changes;
mod list;
mod patterns;

use std::{fs, io::ErrorKind, path::Path};

use parity_model::{Case, Verdict, known::KnownFailures, record::CaseResult};

use self::changes::{Changes, Evidence};
use crate::{
    args::{BaselineArgs, BaselineCommand, BaselineUpdateArgs},
    exit::{Exit, Failure},
    next,
    output::print,
    records::{self, Stored},
    specs::{self, KNOWN_FAILURES, Sources},
};

/// What a list starts with that was not there.
const NEW_LIST: &str = "# Cases that are expected to fail, each with the reason.\n";

pub(crate) fn baseline(args: &BaselineArgs) -> Result<Exit, Failure> {
    match &args.command {
        BaselineCommand::Update(args) => update(args),
    }
}

fn update(args: &BaselineUpdateArgs) -> Result<Exit, Failure> {
    let reason = args.reason.as_deref().map(str::trim);
    if reason == Some("") {
        return Err(Failure::new(
            Exit::Usage,
            "--reason is empty: say why the failures are accepted",
        ));
    }
    let stored = records::read(&args.record)?;
    let dir = specs::find(args.spec_dir.as_deref())?;
    let ids: Vec<String> = specs::load(&dir)?
        .iter()
        .map(|case: &Case| case.id().to_string())
        .collect();
    let path = args.known.clone().unwrap_or_else(|| dir.join(KNOWN_FAILURES));
    let name = path.display().to_string();
    let (text, known) = read_list(&path)?;
    let column = stored.column(&args.backend)?;
    let results = listed(&stored, column)?;
    let evidence = Evidence {
        backend: &args.backend,
        ids: &ids,
        results: &results,
    };
    evidence.fits(&known).map_err(|id| {
        let message = format!(
            "{} was judged by another list than {name}: they disagree about {id}; repeat the run with --known {name}",
            stored.path
        );
        Failure::new(Exit::BadData, message)
    })?;
    let changes = evidence.changes(&known);
    let page = changes.page(&known, &args.backend);
    if changes.is_empty() {
        print(&format!("{name} is up to date\n{page}"))?;
        return Ok(Exit::Ok);
    }
    if reason.is_none() && !changes.added.is_empty() {
        let message = format!(
            "{name} would need new entries, and each needs a reason: name it with --reason TEXT\n{page}"
        );
        return Err(Failure::new(Exit::Usage, message.trim_end()));
    }
    let new = list::rewrite(
        &text,
        &changes,
        &args.backend,
        reason.unwrap_or_default(),
        args.link.as_deref(),
    )
    .map_err(|why| Failure::new(Exit::BadData, format!("{name}: {why}")))?;
    verify(&name, &new, &evidence)?;
    if args.dry_run {
        print(&format!("{name} would change\n{page}"))?;
        return Ok(Exit::Ok);
    }
    replace(&path, &new)?;
    let next = next::after_baseline(args, &stored.run.backends[column]);
    print(&format!("{name}\n{page}{next}"))?;
    Ok(Exit::Ok)
}

/// Every case's result in the column, if a list can be kept by it.
fn listed(stored: &Stored, column: usize) -> Result<Vec<(&str, &CaseResult)>, Failure> {
    let info = &stored.run.backends[column];
    if info.is_recorded() {
        let message = format!(
            "{} holds recorded outputs, which are judged by the list of the backend that was recorded; update that from a run on such a \
             device",
            info.backend
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let cases = stored.run.cases.iter();
    let results = cases.filter_map(|case| Some((case.id.as_str(), case.results.get(column)?)));
    let results: Vec<_> = results.collect();
    if results.is_empty() {
        let message = format!("{} holds no result", stored.path);
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    Ok(results)
}

/// The list's text and what it says; an empty one where there is no file.
fn read_list(path: &Path) -> Result<(String, KnownFailures), Failure> {
    let name = path.display().to_string();
    let mut sources = Sources::default();
    let text = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => NEW_LIST,
        _ => sources.read(path)?,
    };
    let text = text.to_owned();
    let known = KnownFailures::parse(&name, &text).map_err(|errors| sources.failure(&errors))?;
    Ok((text, known))
}

/// Whether the new list makes everything of the run that it is to explain a known failure.
fn verify(name: &str, text: &str, evidence: &Evidence<'_>) -> Result<(), Failure> {
    let known = KnownFailures::parse(name, text).map_err(|errors| {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Failure::new(
            Exit::Internal,
            format!("the new list would be wrong: {}", errors.join("; ")),
        )
    })?;
    match evidence.unexplained(&known) {
        None => Ok(()),
        Some(id) => {
            let message = format!(
                "{name}: entries overlap, so that adding and removing some does not explain {id}; narrow by hand those \
                 that match it"
            );
            Err(Failure::new(Exit::BadData, message))
        }
    }
}

/// Replaces a file at once: a list that is half written would excuse other cases.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| Failure::new(Exit::Io, format!("cannot write {}: {error}", path.display())))
}

impl Changes {
    /// The changes, a line each.
    fn page(&self, known: &KnownFailures, backend: &str) -> String {
        let mut page = String::new();
        let entry = |i: &usize| format!("{} on {}", known.entries[*i].id, known.entries[*i].backend);
        for (i, why) in &self.removed {
            page.push_str(&format!("  - {}: {why}\n", entry(i)));
        }
        for (i, patterns, why) in &self.narrowed {
            page.push_str(&format!("  ~ {}: {why}; now {}\n", entry(i), patterns.join(", ")));
        }
        for added in &self.added {
            let (verdict, cases) = (added.verdict.name(), added.cases);
            page.push_str(&format!(
                "  + {} on {backend}: {verdict}; cases: {cases}\n",
                added.pattern
            ));
        }
        for (id, verdict) in &self.left {
            let why = if *verdict == Verdict::NotRun {
                "it never ran, which is no known failure"
            } else {
                "it is in no spec; `parity shrink CASE --pin FILE` puts it into one"
            };
            page.push_str(&format!(
                "  ! {id} fails ({}) and is left out: {why}\n",
                verdict.name()
            ));
        }
        let counts = (self.added.len(), self.narrowed.len(), self.removed.len());
        page.push_str(&format!(
            "added: {}, narrowed: {}, removed: {}\n",
            counts.0, counts.1, counts.2
        ));
        page
    }
}
