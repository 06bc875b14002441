//! Launches a caller's kernel: the one launch whose safety is the caller's.

use crate::Result;
use crate::custom::{ArgKind, Launch};

use super::Args;

impl Launch<'_> {
    /// Checks grid, workgroup, LDS and every argument against what the code object declares, and submits the kernel. It
    /// runs after all work submitted so far; downloads of its results wait for it.
    ///
    /// # Safety
    /// What no declaration says is the caller's to know:
    /// - the kernel reads and writes only inside the buffers it is given, with this grid, these values and the buffers'
    ///   lengths; an empty buffer's address is null;
    /// - it writes only to buffers given as `&mut`;
    /// - it ends.
    ///
    /// A wrong dtype, or an integer for a float of the same size, does not break these rules by itself. The
    /// software GPU turns an access outside every buffer into [`DeviceFault`](crate::Error::DeviceFault); on
    /// hardware it may end the process, or change another buffer.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) when an argument does not fit the kernel: which, what the kernel declares
    /// and what was given; [`Error::Launch`](crate::Error::Launch) when grid, workgroup or LDS do not. [`Error::Hip`](crate::Error::Hip) and
    /// [`Error::DeviceFault`](crate::Error::DeviceFault) of the launch, or of earlier work.
    pub unsafe fn launch(self) -> Result<()> {
        self.check()?;
        let mut args = Args::default();
        for arg in &self.args {
            match &arg.0 {
                ArgKind::Read(buffer, first) => args.element(buffer, *first),
                ArgKind::Write(buffer, first) => args.element(buffer, *first),
                ArgKind::Value(word, ..) => args.word(*word),
            };
        }
        // SAFETY: the arguments were checked to be as many, as large and as passed as the code object declares, and the
        // buffers live as long as `self`. That the kernel stays inside them is the caller's promise.
        unsafe { args.submit(&self.name, self.module.context(), &self.function, self.grid) }
    }
}
