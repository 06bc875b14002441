//! What a code object says of itself: its target, its kernels, and the arguments each declares, as far as launches are
//! checked against them. The crate `code-object` reads the file; code and symbols are left to HIP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use code_object::{ArgKind, CodeObject, KernelMetadata};

/// A code object's own account.
#[derive(Debug)]
pub(crate) struct Image {
    /// The gfx target without its features.
    pub(crate) target: String,
    pub(crate) kernels: BTreeMap<String, Arc<Signature>>,
}

/// What a launch of a kernel must fit to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// The arguments of the caller, in order.
    pub(crate) params: Vec<Param>,
    /// Threads of a workgroup at most.
    pub(crate) max_threads: usize,
    /// Bytes of LDS a workgroup takes before any dynamic ones.
    pub(crate) static_lds: usize,
}

/// An argument that a kernel declares.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Param {
    /// As in the source, when the compiler kept it.
    pub(crate) name: Option<String>,
    /// In bytes.
    pub(crate) size: usize,
    pub(crate) kind: ParamKind,
}

/// How an argument is passed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParamKind {
    Value,
    Pointer,
    /// Another `.value_kind`: an OpenCL image, for one.
    Other(String),
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ParamKind::Value if self.size == 1 => write!(f, "a value of 1 byte"),
            ParamKind::Value => write!(f, "a value of {} bytes", self.size),
            ParamKind::Pointer => write!(f, "a pointer"),
            ParamKind::Other(kind) => write!(f, "a `{kind}`, which cannot be passed"),
        }
    }
}

impl Image {
    /// Reads a whole code object; HIP gets its address without a length, so all that the headers name must be there.
    pub(crate) fn parse(file: &[u8]) -> Result<Image, String> {
        let object = CodeObject::parse(file).map_err(|error| error.to_string())?;
        let metadata = object.metadata().map_err(|error| error.to_string())?;
        let target = metadata
            .target
            .ok_or("its metadata have no text `amdhsa.target`")?;
        Ok(Image {
            target: target.split(':').next().unwrap_or_default().to_owned(),
            kernels: metadata
                .kernels
                .into_iter()
                .map(kernel)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn kernel(metadata: KernelMetadata) -> Result<(String, Arc<Signature>), String> {
    // HIP runs such a kernel when it loads the code object, without the caller's promise that it is safe.
    if metadata.runs_unasked {
        let name = metadata.name;
        return Err(format!("its kernel `{name}` would run without being launched"));
    }
    let explicit = metadata.args.into_iter().filter(|arg| !arg.kind.is_hidden());
    let params = explicit.map(|arg| Param {
        // clang names a pointer's argument after the rewriting that it does for address spaces.
        name: arg
            .name
            .map(|name| name.strip_suffix(".coerce").unwrap_or(&name).to_owned()),
        size: arg.size as usize,
        kind: match arg.kind {
            ArgKind::ByValue => ParamKind::Value,
            ArgKind::GlobalBuffer => ParamKind::Pointer,
            other => ParamKind::Other(other.to_string()),
        },
    });
    let signature = Signature {
        params: params.collect(),
        max_threads: metadata.max_workgroup_size as usize,
        static_lds: metadata.group_segment_size as usize,
    };
    Ok((metadata.name, Arc::new(signature)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::built_in;

    /// A small code object of this crate's.
    fn sample() -> Vec<u8> {
        let (_, _, code) = built_in().find(|(_, module, _)| *module == "fill").unwrap();
        code
    }

    fn refusal(file: &[u8]) -> String {
        Image::parse(file).map(|image| image.target).unwrap_err()
    }

    /// The sample with `old` overwritten by `new` of the same length, wherever it occurs.
    fn altered(old: &[u8], new: &[u8]) -> Vec<u8> {
        let mut file = sample();
        let places: Vec<_> = (0..file.len() - old.len())
            .filter(|&at| file[at..].starts_with(old))
            .collect();
        assert!(!places.is_empty());
        for at in places {
            file[at..at + new.len()].copy_from_slice(new);
        }
        file
    }

    #[test]
    fn every_built_in_code_object_names_its_target_and_its_kernels() {
        for (target, module, code) in built_in() {
            let image = Image::parse(&code).unwrap();
            assert_eq!(image.target, target, "{module}");
            assert!(!image.kernels.is_empty(), "{module}");
        }
    }

    #[test]
    fn an_argument_has_its_size_and_kind_and_hidden_ones_are_left_out() {
        let image = Image::parse(&sample()).unwrap();
        let params = &image.kernels["const_set_f64"].params;
        let seen: Vec<_> = params.iter().map(|param| (param.size, &param.kind)).collect();
        let (value, pointer) = (&ParamKind::Value, &ParamKind::Pointer);
        let want = [(8, value), (8, value), (8, pointer), (8, value), (8, pointer)];
        assert_eq!(seen, want);
    }

    #[test]
    fn every_prefix_of_a_code_object_is_refused() {
        let whole = sample();
        assert!(Image::parse(&whole).is_ok());
        for end in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
            assert!(Image::parse(&whole[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn another_file_is_refused_with_what_it_is() {
        let mut host = sample();
        host[18..20].copy_from_slice(&62_u16.to_le_bytes());
        assert!(refusal(&host).contains("not a code object for AMD GPUs"));
        assert!(refusal(b"__CLANG_OFFLOAD_BUNDLE__ and more").contains("--no-gpu-bundle-output"));
        let mut far = sample();
        far[32..40].fill(0xff);
        assert!(refusal(&far).contains("the end of the file"));
    }

    #[test]
    fn metadata_that_lack_something_are_refused_by_its_name() {
        for key in [
            "amdhsa.target",
            "amdhsa.kernels",
            ".value_kind",
            ".max_flat_workgroup_size",
        ] {
            let mut other = key.as_bytes().to_vec();
            other[1] = b'_';
            let text = refusal(&altered(key.as_bytes(), &other));
            assert!(text.contains(&format!("`{key}`")), "{key}: {text}");
        }
        assert!(refusal(&altered(b"AMDGPU\0", b"AMDGPX\0")).contains("a metadata note"));
    }

    #[test]
    fn a_kernel_that_would_run_by_itself_is_refused() {
        let file = sample();
        let object = CodeObject::parse(&file).unwrap();
        let mut metadata = object.metadata().unwrap().kernels.remove(0);
        assert!(kernel(metadata.clone()).is_ok());
        metadata.runs_unasked = true;
        assert!(kernel(metadata).unwrap_err().contains("without being launched"));
    }
}
