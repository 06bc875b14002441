//! Brings findings in line with what a stored run shows: rows that do not hold go, and new failures get a folder.

mod changes;
mod edit;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use parity_model::{Case, Verdict, findings::Findings, record::CaseResult};

use self::changes::{Added, BaselineChanges, Evidence, RowAt, RowChange};
use crate::{
    error::Error,
    files,
    findings::{self, FILE, Folders},
    records::Stored,
    specs,
};

/// What is to be done to findings.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The backend whose results count.
    pub backend: String,
    /// Why new failures are accepted; needed where they get a new folder.
    pub reason: Option<String>,
    /// An upstream issue about them.
    pub link: Option<String>,
    /// The folder that new failures go to; `None` for one called `unexplained-` and the family of their op.
    pub name: Option<String>,
    /// The directory of findings; `None` for the one beside the specs.
    pub findings: Option<PathBuf>,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// The directory of specs; `None` as for [`Selection::spec_dir`](crate::Selection::spec_dir).
    pub spec_dir: Option<PathBuf>,
}

/// What an update did to findings, or would do.
pub struct Updated {
    /// The directory of findings.
    pub name: String,
    /// The backend's column in the run.
    pub column: usize,
    update: Update,
    findings: Findings,
    changes: BaselineChanges,
}

/// Brings findings in line with a stored run.
///
/// # Errors
/// A run, specs or findings that cannot be used, and new failures without a reason.
pub fn update(stored: &Stored, update: &Update) -> Result<Updated, Error> {
    if update
        .reason
        .as_deref()
        .is_some_and(|reason| reason.trim().is_empty())
    {
        return Err(Error::settings(
            "--reason is empty: say why the failures are accepted",
        ));
    }
    let spec_dir = specs::find(update.spec_dir.as_deref())?;
    let all = specs::load(&spec_dir)?;
    let dir = findings::directory(update.findings.as_deref(), &spec_dir);
    if files::is_built_in(&dir) {
        return Err(Error::settings(
            "the findings are built into this program: `parity specs export DIR` writes them and the specs into a directory; \
             repeat the command there",
        ));
    }
    let folders = Folders::read(&dir, false)?;
    let found = match folders.parse() {
        Ok(found) => found,
        Err(errors) => return Err(folders.sources.failure(errors)),
    };
    let name = dir.display().to_string();
    let column = stored.column(&update.backend)?;
    let evidence = Evidence {
        backend: &update.backend,
        all: &all,
        results: judged(stored, column)?,
    };
    evidence.fits(&found).map_err(|id| {
        Error::Data(format!(
            "{} was judged by other findings than {name}: they disagree about {id}; repeat the run with --findings {name}",
            stored.path
        ))
    })?;
    let updated = Updated {
        changes: evidence.changes(&found),
        update: update.clone(),
        findings: found,
        name,
        column,
    };
    if updated.is_up_to_date() {
        return Ok(updated);
    }
    let texts = updated.texts(&folders)?;
    updated.verify(&folders, &texts, &evidence)?;
    if !update.dry_run {
        texts
            .iter()
            .try_for_each(|(name, text)| write(&dir.join(name), text.as_deref()))?;
    }
    Ok(updated)
}

/// Every case of the column with its result, if findings can be kept by it.
fn judged(stored: &Stored, column: usize) -> Result<Vec<(Case, &CaseResult)>, Error> {
    let info = &stored.run.backends[column];
    if info.is_recorded() {
        return Err(Error::Settings(format!(
            "{} holds recorded outputs, which are judged by the findings of the backend that was recorded; update them from \
             a run on such a device",
            info.backend
        )));
    }
    let results = stored
        .run
        .cases
        .iter()
        .filter_map(|case| Some((&case.id, case.results.get(column)?)));
    let results: Result<Vec<_>, Error> = results
        .map(|(id, result)| {
            Ok((
                id.parse::<Case>()
                    .map_err(|error| Error::Data(format!("{}: {error}", stored.path)))?,
                result,
            ))
        })
        .collect();
    let results = results?;
    if results.is_empty() {
        return Err(Error::Nothing(format!("{} holds no result", stored.path)));
    }
    Ok(results)
}

/// Writes a finding at once, for one that is half written would excuse other cases; removes its folder where it has no text.
fn write(folder: &Path, text: Option<&str>) -> Result<(), Error> {
    let Some(text) = text else {
        return fs::remove_dir_all(folder).map_err(Error::write(folder));
    };
    let (file, beside) = (folder.join(FILE), folder.join("finding.toml.new"));
    fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &file));
    written.map_err(Error::write(&file))
}

impl Updated {
    /// Whether nothing had to change.
    pub fn is_up_to_date(&self) -> bool {
        self.changes.is_empty()
    }

    /// The folder that a new row goes to.
    fn folder(&self, added: &Added) -> String {
        let unexplained = || format!("unexplained-{}", added.family);
        self.update.name.clone().unwrap_or_else(unexplained)
    }

    /// The new text of every folder that changes; `None` for one that goes.
    fn texts(&self, folders: &Folders) -> Result<BTreeMap<String, Option<String>>, Error> {
        let mut more: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for added in &self.changes.added {
            let backend = [self.update.backend.as_str()];
            let row = edit::row_text(&added.predicate, &backend, added.verdict, false);
            more.entry(self.folder(added)).or_default().push(row);
        }
        let mut texts = BTreeMap::new();
        for (i, finding) in self.findings.findings.iter().enumerate() {
            let rows = self.changes.rows.iter().filter(|(at, _)| at.finding == i);
            let rows: BTreeMap<usize, Vec<String>> = rows
                .map(|(at, (change, _))| (at.row, self.replaced(*at, change)))
                .collect();
            let more = more.remove(&finding.name).unwrap_or_default();
            if rows.is_empty() && more.is_empty() {
                continue;
            }
            let text = edit::rewrite(folders.text(&finding.name), &rows, &more);
            let text = text.map_err(|why| Error::Data(format!("{}: {why}", finding.file)))?;
            texts.insert(finding.name.clone(), text);
        }
        for (folder, rows) in more {
            let Some(reason) = self.update.reason.as_deref().map(str::trim) else {
                let message = format!(
                    "{} would need a new folder, and that needs a reason: name it with --reason TEXT\n{self}",
                    self.name
                );
                return Err(Error::settings(message.trim_end()));
            };
            let (title, reason) = match &self.update.name {
                Some(_) => (reason.to_owned(), reason.to_owned()),
                None => (
                    format!("{folder}: failures that nobody has explained"),
                    format!("Unexplained: {reason}"),
                ),
            };
            let text = edit::create(&title, &reason, self.update.link.as_deref(), &rows);
            texts.insert(folder, Some(text.map_err(Error::Internal)?));
        }
        Ok(texts)
    }

    /// The rows in the place of one that changes.
    fn replaced(&self, at: RowAt, change: &RowChange) -> Vec<String> {
        let row = &self.findings.findings[at.finding].rows[at.row];
        match change {
            RowChange::Stale => vec![],
            RowChange::Left => edit::replacement(row, &self.update.backend, &[]),
            RowChange::Narrowed(predicates) => edit::replacement(row, &self.update.backend, predicates),
        }
    }

    /// Whether the new findings make everything of the run that they are to explain a known failure.
    fn verify(
        &self,
        folders: &Folders,
        texts: &BTreeMap<String, Option<String>>,
        evidence: &Evidence<'_>,
    ) -> Result<(), Error> {
        let names = folders.files.iter().map(|(name, _)| name).chain(texts.keys());
        let names: BTreeSet<&String> = names.collect();
        let new = names.into_iter().filter_map(|name| {
            let text = match texts.get(name) {
                Some(text) => text.as_deref()?,
                None => folders.text(name),
            };
            Some((name.as_str(), format!("{name}/{FILE}"), text))
        });
        let new = findings::parse(&new.collect::<Vec<_>>()).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Error::Internal(format!("the new findings would be wrong: {}", errors.join("; ")))
        })?;
        match evidence.unexplained(&new) {
            None => Ok(()),
            Some(id) => Err(Error::Data(format!(
                "{}: rows overlap, so that adding and removing some does not explain {id}; narrow by hand those that match it",
                self.name
            ))),
        }
    }
}

/// The changes, a line each.
impl fmt::Display for Updated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BaselineChanges { rows, added, left } = &self.changes;
        let backend = &self.update.backend;
        for (at, (change, why)) in rows {
            let finding = &self.findings.findings[at.finding];
            let row = format!("{}: {}", finding.name, finding.rows[at.row].cases);
            match change {
                RowChange::Stale => writeln!(f, "  - {row}: {why}")?,
                RowChange::Left => writeln!(f, "  - {row} on {backend}: {why}")?,
                RowChange::Narrowed(predicates) => {
                    let now: Vec<_> = predicates.iter().map(ToString::to_string).collect();
                    writeln!(f, "  ~ {row} on {backend}: {why}; now {}", now.join("; "))?;
                }
            }
        }
        for new in added {
            let (folder, verdict, cases) = (self.folder(new), new.verdict.name(), new.cases);
            writeln!(
                f,
                "  + {folder}: {} on {backend}: {verdict}; cases: {cases}",
                new.predicate
            )?;
        }
        for (id, verdict) in left {
            let why = if *verdict == Verdict::NotRun {
                "it never ran: a finding names what fails"
            } else {
                "it is in no spec; `parity shrink CASE --pin FILE` puts it into one"
            };
            writeln!(f, "  ! {id} fails ({}) and is left out: {why}", verdict.name())?;
        }
        let narrowed = rows
            .values()
            .filter(|(change, _)| matches!(change, RowChange::Narrowed(_)))
            .count();
        let removed = rows.len() - narrowed;
        writeln!(
            f,
            "added: {}, narrowed: {narrowed}, removed: {removed}",
            added.len()
        )
    }
}
