//! Libraries of NVIDIA's that are stand-ins, compiled from the C files beside the tests with `cc`. Each notes what it was asked
//! (`mock.h`).

use std::ffi::{CStr, c_char, c_uint};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::{Library, Symbol};

/// A stand-in that was loaded.
pub(crate) struct Mock(Library);

impl Mock {
    /// Compiles `source` of this folder as the library `folder`/`name`.
    pub(crate) fn compile(folder: &Path, source: &str, name: &str) -> PathBuf {
        let library = folder.join(name);
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&library)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        library
    }

    /// The library that [`Mock::compile`] made, and that the crate under test has loaded.
    pub(crate) fn load(library: &Path) -> Mock {
        // SAFETY: a stand-in has no constructors; it is the one that was loaded before.
        Mock(unsafe { Library::new(library) }.unwrap())
    }

    /// A function of the stand-in, which has the type `F`.
    pub(crate) fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: the callers name types that the C files declare.
        unsafe { self.0.get::<F>(name) }.unwrap()
    }

    /// What was called since the last time.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.function::<unsafe extern "C" fn() -> *const c_char>("mock_calls");
        // SAFETY: the text ends with a NUL, and stays the same until the next call.
        let text = unsafe { CStr::from_ptr(calls()) }.to_str().unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The next call of `name` fails with `status`, and does nothing.
    pub(crate) fn fail(&self, name: &'static CStr, status: c_uint) {
        let fail = self.function::<unsafe extern "C" fn(*const c_char, c_uint)>("mock_fail");
        // SAFETY: the name is static.
        unsafe { fail(name.as_ptr(), status) }
    }
}
