//! Brings known-failures.toml in line with what a stored run shows.

mod changes;
mod list;
mod patterns;

use std::{fmt, fs, io::ErrorKind, path::Path, path::PathBuf};

use parity_model::{Case, Verdict, known::KnownFailures, record::CaseResult};

use self::changes::{Changes, Evidence};
use crate::{
    error::Error,
    records::Stored,
    specs::{self, KNOWN_FAILURES, Sources},
};

/// What a list starts with that was not there.
const NEW_LIST: &str = "# Cases that are expected to fail, each with the reason.\n";

/// What is to be done to a list.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The backend whose results count.
    pub backend: String,
    /// Why new failures are accepted; needed where there are any.
    pub reason: Option<String>,
    /// An upstream issue about them.
    pub link: Option<String>,
    /// The list; `None` for that in the directory of specs.
    pub known: Option<PathBuf>,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// The directory of specs; `None` as for [`Selection::spec_dir`](crate::Selection::spec_dir).
    pub spec_dir: Option<PathBuf>,
}

/// What an update did to a list, or would do.
pub struct Updated {
    /// The list.
    pub name: String,
    /// The backend's column in the run.
    pub column: usize,
    backend: String,
    known: KnownFailures,
    changes: Changes,
}

/// Brings a list in line with a stored run.
///
/// # Errors
/// A run, specs or a list that cannot be used, and new failures without a reason.
pub fn update(stored: &Stored, update: &Update) -> Result<Updated, Error> {
    let reason = update.reason.as_deref().map(str::trim);
    if reason == Some("") {
        return Err(Error::settings(
            "--reason is empty: say why the failures are accepted",
        ));
    }
    let dir = specs::find(update.spec_dir.as_deref())?;
    let ids = specs::load(&dir)?;
    let ids: Vec<String> = ids.iter().map(|case: &Case| case.id().to_string()).collect();
    let path = update.known.clone().unwrap_or_else(|| dir.join(KNOWN_FAILURES));
    let name = path.display().to_string();
    let (text, known) = read_list(&path)?;
    let column = stored.column(&update.backend)?;
    let results = listed(stored, column)?;
    let evidence = Evidence {
        backend: &update.backend,
        ids: &ids,
        results: &results,
    };
    evidence.fits(&known).map_err(|id| {
        Error::Data(format!(
            "{} was judged by another list than {name}: they disagree about {id}; repeat the run with --known {name}",
            stored.path
        ))
    })?;
    let updated = Updated {
        changes: evidence.changes(&known),
        backend: update.backend.clone(),
        name,
        column,
        known,
    };
    if updated.is_up_to_date() {
        return Ok(updated);
    }
    if reason.is_none() && !updated.changes.added.is_empty() {
        let message = format!(
            "{} would need new entries, and each needs a reason: name it with --reason TEXT\n{updated}",
            updated.name
        );
        return Err(Error::settings(message.trim_end()));
    }
    let (reason, link) = (reason.unwrap_or_default(), update.link.as_deref());
    let new = list::rewrite(&text, &updated.changes, &update.backend, reason, link)
        .map_err(|why| Error::Data(format!("{}: {why}", updated.name)))?;
    verify(&updated.name, &new, &evidence)?;
    if !update.dry_run {
        replace(&path, &new)?;
    }
    Ok(updated)
}

/// Every case's result in the column, if a list can be kept by it.
fn listed(stored: &Stored, column: usize) -> Result<Vec<(&str, &CaseResult)>, Error> {
    let info = &stored.run.backends[column];
    if info.is_recorded() {
        return Err(Error::Settings(format!(
            "{} holds recorded outputs, which are judged by the list of the backend that was recorded; update that from a \
             run on such a device",
            info.backend
        )));
    }
    let cases = stored.run.cases.iter();
    let results = cases.filter_map(|case| Some((case.id.as_str(), case.results.get(column)?)));
    let results: Vec<_> = results.collect();
    if results.is_empty() {
        return Err(Error::Nothing(format!("{} holds no result", stored.path)));
    }
    Ok(results)
}

/// The list's text and what it says; an empty one where there is no file.
fn read_list(path: &Path) -> Result<(String, KnownFailures), Error> {
    let name = path.display().to_string();
    let mut sources = Sources::default();
    let text = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => NEW_LIST,
        _ => sources.read(path)?,
    };
    let text = text.to_owned();
    match KnownFailures::parse(&name, &text) {
        Ok(known) => Ok((text, known)),
        Err(errors) => Err(sources.failure(errors)),
    }
}

/// Whether the new list makes everything of the run that it is to explain a known failure.
fn verify(name: &str, text: &str, evidence: &Evidence<'_>) -> Result<(), Error> {
    let known = KnownFailures::parse(name, text).map_err(|errors| {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Error::Internal(format!("the new list would be wrong: {}", errors.join("; ")))
    })?;
    match evidence.unexplained(&known) {
        None => Ok(()),
        Some(id) => Err(Error::Data(format!(
            "{name}: entries overlap, so that adding and removing some does not explain {id}; narrow by hand those that \
             match it"
        ))),
    }
}

/// Replaces a file at once: a list that is half written would excuse other cases.
fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.map_err(Error::write(path))
}

impl Updated {
    /// Whether nothing had to change.
    pub fn is_up_to_date(&self) -> bool {
        self.changes.is_empty()
    }
}

/// The changes, a line each.
impl fmt::Display for Updated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes {
            removed,
            narrowed,
            added,
            left,
        } = &self.changes;
        let entry = |i: &usize| {
            let entry = &self.known.entries[*i];
            format!("{} on {}", entry.id, entry.backend)
        };
        for (i, why) in removed {
            writeln!(f, "  - {}: {why}", entry(i))?;
        }
        for (i, patterns, why) in narrowed {
            writeln!(f, "  ~ {}: {why}; now {}", entry(i), patterns.join(", "))?;
        }
        for new in added {
            let (pattern, verdict, cases) = (&new.pattern, new.verdict.name(), new.cases);
            writeln!(f, "  + {pattern} on {}: {verdict}; cases: {cases}", self.backend)?;
        }
        for (id, verdict) in left {
            let why = if *verdict == Verdict::NotRun {
                "it never ran, which is no known failure"
            } else {
                "it is in no spec; `parity shrink CASE --pin FILE` puts it into one"
            };
            writeln!(f, "  ! {id} fails ({}) and is left out: {why}", verdict.name())?;
        }
        writeln!(
            f,
            "added: {}, narrowed: {}, removed: {}",
            added.len(),
            narrowed.len(),
            removed.len()
        )
    }
}
