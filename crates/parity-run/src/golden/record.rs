//! Runs cases on one backend and stores every output with its provenance.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use parity_exec::Backend;
use parity_golden::{Provenance, Recorder, Size};
use parity_model::record::BackendInfo;

use super::bundles;
use crate::{
    error::Error,
    run::{Event, Plan, Session},
    settings::Settings,
    specs,
};

/// What was recorded.
pub struct Recorded {
    /// The bundle's folder.
    pub dir: PathBuf,
    /// The device.
    pub info: BackendInfo,
    /// How much it is.
    pub size: Size,
}

/// Records the outputs of the one backend of `settings` that is not the reference, in the bundle `name`; `watch` sees what
/// happens.
///
/// # Errors
/// A name that no folder should have, settings with another number of backends, a run that did not come to its end, and a
/// bundle that cannot be written.
pub fn record(name: &str, settings: &Settings, watch: impl Fn(Event<'_>) + Sync) -> Result<Recorded, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(plain) || name.starts_with('.') {
        return Err(Error::Settings(format!(
            "--name {name:?}: a bundle's name is letters, digits, `-`, `_` and `.`"
        )));
    }
    let other = settings
        .columns
        .iter()
        .position(|column| column.device.backend() != Backend::REFERENCE);
    let Some(column) = other.filter(|column| settings.columns.len() == column + 1) else {
        let words = "a recording takes one backend besides the reference: name one with --backend";
        return Err(Error::settings(words));
    };
    let dir = bundles(&specs::find(settings.selection.spec_dir.as_deref())?).join(name);
    let plan = Plan::load(settings)?;
    let recorder = Mutex::new(Recorder::default());
    let finished = plan.run(settings, Session::default(), |event| {
        if let Event::Judged {
            prepared, executions, ..
        } = &event
            && let Some(execution) = executions.get(column)
        {
            let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
            let (inputs, answer) = (&prepared.inputs, prepared.want.tensor());
            recorder.add(&prepared.id, inputs, &answer, execution.outcome.clone());
        }
        watch(event);
    })?;
    let recorder = recorder.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A bundle with holes would be compared with as if it were whole.
    if let Some(case) = recorder.missing().first() {
        return Err(Error::DidNotRun(case.to_string()));
    }
    let run = finished.record;
    let info = run.backends[column].clone();
    let provenance = Provenance {
        backend: info.clone(),
        recorded: run.started,
        parity_version: run.parity_version,
        candle_version: run.candle_version,
        commit: run.commit,
        seed: run.seed,
        specs: run.specs,
    };
    let size = recorder.write(&dir, provenance)?;
    Ok(Recorded { dir, info, size })
}
