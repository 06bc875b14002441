//! The kernels for NVIDIA's GPUs that are built into this crate, as PTX: which of them serves a device, and its text. The
//! driver compiles it when a module is loaded (`hip/module.rs`).

use std::path::Path;

use crate::module::{CodeObjects, inflated};
use crate::{Error, Result};

// `PTX_MODULES`, written by build.rs.
include!(concat!(env!("OUT_DIR"), "/ptx_modules.rs"));

/// The compute capability of a target of NVIDIA's, `sm_90`; `None` for a target of another maker.
pub(crate) fn capability(target: &str) -> Option<u32> {
    target.strip_prefix("sm_")?.parse().ok()
}

/// The PTX of `module` that serves `target`: of those that are not for a later GPU, the one for the latest. It ends with a
/// NUL, as the driver takes it.
///
/// # Errors
/// [`Error::KernelMissing`] when there is none.
pub(crate) fn code(target: &str, module: &'static str) -> Result<Vec<u8>> {
    let (_, compressed) = best(PTX_MODULES, target, module)?;
    let mut text = inflated(module, compressed)?;
    text.push(0);
    Ok(text)
}

/// The file of `dir` that serves `target` by the same rule, `MODULE.sm_80.ptx` or the like.
pub(crate) fn replacement_name(dir: &Path, target: &str, module: &str) -> Option<String> {
    let names = (0..=capability(target)?)
        .rev()
        .map(|number| format!("{module}.sm_{number}.ptx"));
    names.into_iter().find(|name| dir.join(name).exists())
}

fn best(modules: CodeObjects, target: &str, module: &'static str) -> Result<(&'static str, &'static [u8])> {
    let of_module = || modules.iter().filter(|(_, name, _)| *name == module);
    let most = capability(target).unwrap_or(0);
    let serving = of_module().filter(|(built, ..)| capability(built).is_some_and(|number| number <= most));
    serving
        .max_by_key(|(built, ..)| capability(built))
        .map(|(built, _, code)| (*built, *code))
        .ok_or_else(|| Error::KernelMissing {
            target: target.to_owned(),
            module,
            built: of_module()
                .map(|(built, ..)| *built)
                .collect::<Vec<_>>()
                .join(", "),
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use object::read::elf::ElfFile64;
    use object::{Object, ObjectSymbol};

    use super::*;
    use crate::module::built_in;

    #[test]
    fn ptx_serves_its_gpu_and_later_ones() {
        let modules: CodeObjects = &[
            ("sm_80", "unary", b"a"),
            ("sm_90", "unary", b"b"),
            ("sm_90", "sort", b"c"),
        ];
        for (target, want) in [
            ("sm_80", "sm_80"),
            ("sm_89", "sm_80"),
            ("sm_90", "sm_90"),
            ("sm_120", "sm_90"),
        ] {
            assert_eq!(best(modules, target, "unary").unwrap().0, want, "{target}");
        }
        let text = best(modules, "sm_75", "unary").unwrap_err().to_string();
        assert!(
            text.contains("not built for sm_75 (built for: sm_80, sm_90)"),
            "{text}"
        );
        assert!(best(modules, "sm_80", "sort").is_err());
        assert_eq!((capability("sm_90"), capability("gfx1100")), (Some(90), None));
    }

    /// Names after `.entry`.
    fn entries(text: &str) -> BTreeSet<String> {
        let after = text.split(".entry ").skip(1);
        after
            .map(|rest| {
                rest.chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect()
            })
            .collect()
    }

    #[test]
    fn ptx_has_the_kernels_of_the_code_objects_and_no_others() {
        let modules: BTreeSet<_> = built_in().map(|(_, module, _)| module).collect();
        let mut all = 0;
        for module in modules {
            let text = code("sm_80", module).unwrap();
            let text = std::str::from_utf8(text.strip_suffix(&[0]).unwrap()).unwrap();
            assert!(text.contains("\n.target sm_80"), "{module}");
            let (target, _, elf) = built_in().find(|(_, name, _)| *name == module).unwrap();
            let elf: ElfFile64 = ElfFile64::parse(elf.as_slice()).unwrap();
            let kernels: BTreeSet<String> = elf
                .symbols()
                .filter_map(|symbol| Some(symbol.name().ok()?.strip_suffix(".kd")?.to_owned()))
                .collect();
            all += kernels.len();
            assert_eq!(entries(text), kernels, "{module}: PTX and {target}");
        }
        assert!(all > 1000, "{all} kernels");
    }

    #[test]
    fn what_is_nvidias_alone_is_in_ptx_and_in_no_code_object() {
        let of_amd: BTreeSet<_> = built_in().map(|(_, module, _)| module).collect();
        let all: BTreeSet<_> = PTX_MODULES.iter().map(|(_, module, _)| *module).collect();
        let alone: Vec<_> = all.difference(&of_amd).copied().collect();
        assert_eq!(alone, ["conv_nvidia"]);
        let text = code("sm_80", "conv_nvidia").unwrap();
        let text = std::str::from_utf8(text.strip_suffix(&[0]).unwrap()).unwrap();
        let kernels = ["conv_128_f32", "conv_64_f32"].map(str::to_owned);
        assert_eq!(entries(text), BTreeSet::from(kernels));
        // Sixteen blocks of a warp's results, two steps of a stage and three products of parts.
        assert_eq!(text.matches("mma.sync").count(), 2 * 96);
    }
}
