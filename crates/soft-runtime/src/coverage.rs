//! What launches executed of each kernel, for `ROCM_COVERAGE`: code objects when they are loaded, marks after each launch.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coverage_folder::{Folder, digest};
use gfx_emu::Kernel;

use crate::loader::Loaded;
use crate::report;
use crate::status::{Answer, Status};

static FOLDER: Mutex<Option<Folder>> = Mutex::new(None);

fn locked() -> MutexGuard<'static, Option<Folder>> {
    // Bits are only added: a panic in between loses some.
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a folder filled.
pub(crate) fn begin(folder: &Path) {
    *locked() = Some(Folder::at(folder));
}

/// Of coverage that is not whole nobody must believe that it is.
fn unwritten(why: String) -> Status {
    report::finding(&why);
    Status::Error
}

/// A code object is loaded: its digest, where that is noted.
pub(crate) fn loaded(file: &[u8]) -> Answer<Option<Arc<str>>> {
    let mut folder = locked();
    let Some(folder) = folder.as_mut() else {
        return Ok(None);
    };
    let id = digest(file);
    folder.object(&id, file).map_err(unwritten)?;
    Ok(Some(Arc::from(id)))
}

/// A kernel was launched.
pub(crate) fn launched(loaded: &Loaded, kernel: &Kernel) -> Answer<()> {
    let Some(id) = &loaded.noted else { return Ok(()) };
    let Some(marks) = loaded.code.take_marks(kernel) else {
        return Ok(());
    };
    match locked().as_mut() {
        Some(folder) => folder.add(id, &kernel.name, &marks).map_err(unwritten),
        None => Ok(()),
    }
}
