//! The kernels built into this crate, and how a device comes by one.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use crate::hip::context::Context;
use crate::hip::module::{LoadedKernel, LoadedModule};
use crate::kernel::Kernel;
use crate::{DType, DriverKind, Error, Result, trace};

// `CODE_OBJECTS`, written by build.rs.
include!(concat!(env!("OUT_DIR"), "/code_objects.rs"));

/// Kernels as they are built in: target, module (the kernel file's name), code object or PTX, compressed by zlib.
pub(crate) type CodeObjects = &'static [(&'static str, &'static str, &'static [u8])];

/// What build.rs compressed.
pub(crate) fn inflated(module: &str, compressed: &[u8]) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    flate2::read::ZlibDecoder::new(compressed)
        .read_to_end(&mut code)
        .map_err(|error| {
            Error::CodeObject(format!("the built-in kernels of `{module}` are broken: {error}"))
        })?;
    Ok(code)
}

/// The kernel for elements of `dtype` on the context's device. Its module is loaded at the first call.
pub(crate) fn function(context: &Arc<Context>, kernel: Kernel, dtype: DType) -> Result<LoadedKernel> {
    kernel.supports(dtype)?;
    let symbol = [kernel.name, "_", dtype.suffix()].concat();
    named(context, kernel.family.module(), &symbol, kernel.name, dtype)
}

/// The kernel `symbol` of `module` on the context's device. One that is not there is `op` unsupported for `dtype`.
pub(crate) fn named(
    context: &Arc<Context>,
    module: &'static str,
    symbol: &str,
    op: &str,
    dtype: DType,
) -> Result<LoadedKernel> {
    let unsupported = || Error::Unsupported {
        op: op.to_owned(),
        dtype,
    };
    self::module(context, module)?
        .function(symbol)?
        .ok_or_else(unsupported)
}

fn module(context: &Arc<Context>, name: &'static str) -> Result<Arc<LoadedModule>> {
    context
        .modules()
        .get(name, || trace::loading(|| loaded(context, name)))
}

fn loaded(context: &Context, name: &'static str) -> Result<LoadedModule> {
    context.bind()?;
    let target = context.info().target();
    let ordinal = context.raw_ordinal();
    match replacement(target, name)? {
        Some(code) => LoadedModule::load(ordinal, &code),
        None if context.info().driver().kind() == DriverKind::Nvidia => {
            LoadedModule::load(ordinal, &ptx(target, name)?)
        }
        None => match code_object(CODE_OBJECTS, target, name) {
            Ok(compressed) => LoadedModule::load(ordinal, &inflated(name, compressed)?),
            Err(missing) => LoadedModule::load(ordinal, &compiled(context, name, missing)?),
        },
    }
}

/// The kernels for one of NVIDIA's targets.
#[cfg(feature = "nvidia")]
fn ptx(target: &str, module: &'static str) -> Result<Vec<u8>> {
    crate::ptx::code(target, module)
}

#[cfg(not(feature = "nvidia"))]
fn ptx(target: &str, module: &'static str) -> Result<Vec<u8>> {
    inflated(module, code_object(CODE_OBJECTS, target, module)?)
}

/// The code object of a target that is not built in, compiled now.
#[cfg(feature = "compile")]
fn compiled(context: &Context, module: &str, missing: Error) -> Result<Vec<u8>> {
    crate::late::code_object(context.info(), module, &missing)
}

#[cfg(not(feature = "compile"))]
fn compiled(_: &Context, _: &str, missing: Error) -> Result<Vec<u8>> {
    Err(missing)
}

/// The folder whose code objects replace the built-in ones, as `ROCM_CODE_OBJECTS` names it: for trying a kernel without
/// building this crate anew.
pub(crate) fn replacement_dir() -> Result<Option<&'static Path>> {
    Ok(rocm_env::CODE_OBJECTS.get()?.path())
}

/// Where the kernels come from, in words, where they are not those that this program was built of.
pub(crate) fn origin() -> Option<String> {
    match replacement_dir() {
        Ok(Some(dir)) => Some(format!("kernels from {}", dir.display())),
        Ok(None) if changed() => Some("kernels changed since this program was built".to_owned()),
        Ok(None) | Err(_) => None,
    }
}

#[cfg(feature = "compile")]
fn changed() -> bool {
    crate::late::changed()
}

#[cfg(not(feature = "compile"))]
fn changed() -> bool {
    false
}

/// The code object of `module` for `target` in the folder of [`replacement_dir`], if that has one.
fn replacement(target: &str, module: &str) -> Result<Option<Vec<u8>>> {
    let Some(dir) = replacement_dir()? else {
        return Ok(None);
    };
    let path = dir.join(replacement_name(dir, target, module));
    match std::fs::read(&path) {
        // PTX ends with a NUL; a code object says itself how long it is.
        Ok(mut code) => {
            code.push(0);
            Ok(Some(code))
        }
        Err(error) if error.kind() == ErrorKind::NotFound && dir.is_dir() => Ok(None),
        Err(error) => Err(Error::Replacement {
            path: path.display().to_string(),
            reason: error.to_string(),
        }),
    }
}

#[cfg(feature = "nvidia")]
fn replacement_name(dir: &Path, target: &str, module: &str) -> String {
    crate::ptx::replacement_name(dir, target, module).unwrap_or_else(|| format!("{module}.{target}.hsaco"))
}

#[cfg(not(feature = "nvidia"))]
fn replacement_name(_: &Path, target: &str, module: &str) -> String {
    format!("{module}.{target}.hsaco")
}

/// The compressed code object of `module` for `target` in `objects`.
fn code_object(objects: CodeObjects, target: &str, module: &'static str) -> Result<&'static [u8]> {
    if let Some((_, _, code)) = objects
        .iter()
        .find(|(built, name, _)| *built == target && *name == module)
    {
        return Ok(code);
    }
    let built: Vec<_> = objects
        .iter()
        .filter(|(_, name, _)| *name == module)
        .map(|(built, ..)| *built)
        .collect();
    let built = if built.is_empty() {
        "no target".to_owned()
    } else {
        built.join(", ")
    };
    Err(Error::KernelMissing {
        target: target.to_owned(),
        module,
        built,
    })
}

/// Every code object that is built in: target, module, ELF file.
#[cfg(test)]
pub(crate) fn built_in() -> impl Iterator<Item = (&'static str, &'static str, Vec<u8>)> {
    assert!(
        !CODE_OBJECTS.is_empty(),
        "no kernels are built in: cargo test --config ci/tests.toml names a target for them"
    );
    CODE_OBJECTS.iter().map(|(target, module, compressed)| {
        let code = inflated(module, compressed).unwrap_or_else(|error| panic!("{target}: {error}"));
        (*target, *module, code)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use object::read::elf::ElfFile64;
    use object::{Object, ObjectSymbol};

    use super::*;
    use crate::kernel;

    #[test]
    fn a_target_that_was_not_built_is_named_with_those_that_were() {
        let objects: CodeObjects = &[("gfx1100", "unary", b"a"), ("gfx942", "unary", b"b")];
        assert_eq!(code_object(objects, "gfx942", "unary").unwrap(), b"b");
        let text = code_object(objects, "gfx906", "unary").unwrap_err().to_string();
        assert!(
            text.contains("not built for gfx906 (built for: gfx1100, gfx942)"),
            "{text}"
        );
        let text = code_object(objects, "gfx942", "sort").unwrap_err().to_string();
        assert!(text.contains("built for: no target"), "{text}");
    }

    #[test]
    fn the_streams_of_a_device_share_its_modules_for_as_long_as_one_of_them_lives() {
        let device = || crate::Device::of(crate::driver::soft_for_tests(), 0).unwrap();
        let loaded = |device: &crate::Device| module(device.context(), "affine").unwrap();
        let first = device();
        let stream = first.new_stream().unwrap();
        let module = loaded(&first);
        assert!(Arc::ptr_eq(&module, &loaded(&stream)));
        drop(first);
        assert!(Arc::ptr_eq(&module, &loaded(&device())));
    }

    #[test]
    fn every_code_object_has_the_listed_kernels_for_their_dtypes_and_no_others() {
        for kernel in kernel::listed() {
            let module = kernel.family.module();
            let mut objects = built_in().filter(|(_, name, _)| *name == module).peekable();
            assert!(objects.peek().is_some(), "{}: no module `{module}`", kernel.name);
            for (target, _, code) in objects {
                let elf: ElfFile64 = ElfFile64::parse(code.as_slice()).unwrap();
                let inside: BTreeSet<_> = elf.symbols().filter_map(|symbol| symbol.name().ok()).collect();
                let is_there = |dtype: &&DType| {
                    inside.contains(format!("{}_{}.kd", kernel.name, dtype.suffix()).as_str())
                };
                let found: Vec<_> = DType::ALL.iter().filter(is_there).collect();
                let listed: Vec<_> = DType::ALL
                    .iter()
                    .filter(|dtype| kernel.dtypes.contains(dtype))
                    .collect();
                assert_eq!(found, listed, "{target}: {}", kernel.name);
            }
        }
    }
}
