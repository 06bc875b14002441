//! A caller's own kernels: code objects loaded on a device. How a kernel of one is launched says custom/launch.rs; the
//! kernels that this crate brings are module.rs's.

#[cfg(feature = "compile")]
pub(crate) mod compile;
mod image;
mod launch;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::hip::context::Context;
use crate::hip::module::LoadedModule;
use crate::{Device, DriverKind, Error, Result};
use image::{Image, Signature};

pub(crate) use launch::ArgKind;
pub use launch::{Arg, Dims, Launch};

/// A code object on a device, HIP's module: kernels of the caller's, by name. Clones share it; it is unloaded when the
/// last is gone and its kernels have run.
#[derive(Clone)]
pub struct Module(Arc<OwnedModule>);

struct OwnedModule {
    loaded: Arc<LoadedModule>,
    kernels: BTreeMap<String, Arc<Signature>>,
    device: Device,
}

impl Device {
    /// Loads a code object: the ELF file that clang or `hipcc --genco --no-gpu-bundle-output` writes for one gfx target.
    ///
    /// # Errors
    /// [`Error::CodeObject`] when the bytes are not a whole code object, are compiled for another target, or hold
    /// code that would run at once; [`Error::Hip`] when HIP refuses them for another reason.
    pub fn load(&self, code_object: &[u8]) -> Result<Module> {
        self.takes_own_kernels()?;
        let image = Image::parse(code_object)
            .map_err(|reason| Error::CodeObject(format!("this code object cannot be loaded: {reason}")))?;
        // Which generic target serves which device is HIP's to know.
        let target = self.info().target();
        if image.target != target && !image.target.ends_with("-generic") {
            return Err(Error::CodeObject(format!(
                "the code object is compiled for {}, {self} executes {target}",
                image.target
            )));
        }
        let context = self.context();
        context.bind()?;
        let loaded = LoadedModule::load(context.raw_ordinal(), code_object)?;
        Ok(Module(Arc::new(OwnedModule {
            loaded: Arc::new(loaded),
            kernels: image.kernels,
            device: self.clone(),
        })))
    }
}

impl Device {
    /// Refuses a kernel of the caller's own on an NVIDIA GPU: what a code object declares, which launches are checked against,
    /// PTX does not.
    pub(crate) fn takes_own_kernels(&self) -> Result<()> {
        match self.info().driver().kind() {
            DriverKind::System | DriverKind::Soft => Ok(()),
            DriverKind::Nvidia => Err(Error::CodeObject(format!(
                "kernels of one's own run on AMD's targets; {self} runs this crate's only"
            ))),
        }
    }
}

impl Module {
    /// The device it is loaded on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The kernels' names, in order. One that is not `extern "C"` has its mangled name.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.kernels.keys().map(String::as_str)
    }

    /// A launch of the kernel `name`: of one workgroup of one thread, without arguments, until more is said.
    ///
    /// # Errors
    /// [`Error::NoKernel`] when there is no such kernel; it names those that there are.
    pub fn kernel<'a>(&self, name: &str) -> Result<Launch<'a>> {
        let Some(signature) = self.0.kernels.get(name) else {
            return Err(Error::NoKernel {
                name: name.to_owned(),
                kernels: self.kernels().map(str::to_owned).collect(),
            });
        };
        self.context().bind()?;
        let function = self.0.loaded.function(name)?.ok_or_else(|| {
            Error::CodeObject(format!(
                "HIP finds no kernel `{name}`, which the code object declares"
            ))
        })?;
        Ok(Launch::new(self.clone(), name, function, Arc::clone(signature)))
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        self.0.device.context()
    }
}

impl Drop for OwnedModule {
    fn drop(&mut self) {
        // A queued kernel's code must not go away. Whoever waits for its results is told of a failure.
        let _ = self.device.synchronize();
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({} kernels on {})", self.0.kernels.len(), self.0.device)
    }
}
