//! What a code object says of itself: its target, its kernels, and the arguments each declares. Reads the ELF headers and
//! the metadata note ("User Guide for AMDGPU Backend", "Code Object V3 Metadata" and later); executes nothing, and leaves
//! code and symbols to HIP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rmpv::Value;

/// Bytes of an ELF64 header, of a program header and of a section header.
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
/// `e_machine` of AMD GPUs.
const EM_AMDGPU: u64 = 224;
/// A segment of notes.
const PT_NOTE: u64 = 4;
/// A section without bytes in the file.
const SHT_NOBITS: u64 = 8;
/// The note whose content is a MessagePack map that describes the kernels.
const NT_AMDGPU_METADATA: u64 = 32;
/// Bytes of a pointer.
const POINTER: usize = 8;
/// What `amdhsa.target` says before the gfx target.
const TRIPLE: &str = "amdgcn-amd-amdhsa--";
/// How clang and hipcc begin a file of code objects for several targets.
const BUNDLES: [&[u8]; 2] = [b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"];

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
        if BUNDLES.iter().any(|magic| file.starts_with(magic)) {
            return Err(
                "it is a bundle of several; compile with --no-gpu-bundle-output, or unpack it with \
                        clang-offload-bundler"
                    .into(),
            );
        }
        let mut metadata = None;
        for range in note_segments(file)? {
            metadata = metadata.or(metadata_note(range)?);
        }
        let mut metadata =
            metadata.ok_or("it has no metadata note; code objects from version 3 on have one")?;
        let root = rmpv::decode::read_value(&mut metadata)
            .map_err(|error| format!("its metadata are not MessagePack: {error}"))?;
        let target = text(&root, "amdhsa.target")?;
        let target = target.strip_prefix(TRIPLE).unwrap_or(target);
        let kernels = get(&root, "amdhsa.kernels")
            .and_then(Value::as_array)
            .ok_or("its metadata have no list `amdhsa.kernels`")?;
        Ok(Image {
            target: target.split(':').next().unwrap_or_default().to_owned(),
            kernels: kernels.iter().map(kernel).collect::<Result<_, _>>()?,
        })
    }
}

/// The content of every segment of notes. Checks that every segment and section lies in the file.
fn note_segments(file: &[u8]) -> Result<Vec<&[u8]>, String> {
    let is_elf = file.len() >= HEADER && file.starts_with(b"\x7fELF\x02\x01");
    if !is_elf || number(file, 18, 2) != Some(EM_AMDGPU) {
        return Err("it is no 64-bit ELF file for AMD GPUs".into());
    }
    let cut = || "it is cut off: its headers name bytes behind its end".to_owned();
    let mut notes = Vec::new();
    for segment in table(file, 32, 54, SEGMENT).ok_or_else(cut)? {
        let content = slice(file, number(segment, 8, 8), number(segment, 32, 8)).ok_or_else(cut)?;
        if number(segment, 0, 4) == Some(PT_NOTE) {
            notes.push(content);
        }
    }
    for section in table(file, 40, 58, SECTION).ok_or_else(cut)? {
        if number(section, 4, 4) != Some(SHT_NOBITS) {
            slice(file, number(section, 24, 8), number(section, 32, 8)).ok_or_else(cut)?;
        }
    }
    Ok(notes)
}

/// The entries of a header table: its offset stands at `offset_at`, the size and number of its entries at `size_at`.
fn table(file: &[u8], offset_at: usize, size_at: usize, entry: usize) -> Option<impl Iterator<Item = &[u8]>> {
    let (size, count) = (number(file, size_at, 2)?, number(file, size_at + 2, 2)?);
    if count != 0 && size != entry as u64 {
        return None;
    }
    let entries = slice(file, number(file, offset_at, 8), Some(count * entry as u64))?;
    Some(entries.chunks_exact(entry))
}

/// The content of the metadata note among `notes`.
fn metadata_note(mut notes: &[u8]) -> Result<Option<&[u8]>, String> {
    let broken = || "a note of it reaches out of its segment".to_owned();
    while !notes.is_empty() {
        let field = |at| number(notes, at, 4).ok_or_else(broken);
        let (name_len, len, kind) = (field(0)?, field(4)?, field(8)?);
        let content_at = 12 + name_len.next_multiple_of(4);
        let name = slice(notes, Some(12), Some(name_len)).ok_or_else(broken)?;
        let content = slice(notes, Some(content_at), Some(len)).ok_or_else(broken)?;
        if kind == NT_AMDGPU_METADATA && name == b"AMDGPU\0" {
            return Ok(Some(content));
        }
        // The last note's padding may be missing.
        let next = usize::try_from(content_at + len.next_multiple_of(4)).map_err(|_| broken())?;
        notes = notes.get(next..).unwrap_or_default();
    }
    Ok(None)
}

fn kernel(map: &Value) -> Result<(String, Arc<Signature>), String> {
    let name = text(map, ".name")?.to_owned();
    // HIP runs such a kernel when it loads the code object, and nobody has vouched for it.
    if let Some(kind @ ("init" | "fini")) = get(map, ".kind").and_then(Value::as_str) {
        return Err(format!(
            "its kernel `{name}` is of kind `{kind}`: it would run without being launched"
        ));
    }
    let args = match get(map, ".args") {
        None => &[][..],
        Some(list) => list
            .as_array()
            .ok_or_else(|| format!("`.args` of its kernel `{name}` is no list"))?,
    };
    let params: Vec<_> = args.iter().map(param).collect::<Result<_, _>>()?;
    let signature = Signature {
        params: params.into_iter().flatten().collect(),
        max_threads: size(map, ".max_flat_workgroup_size")?,
        static_lds: size(map, ".group_segment_fixed_size")?,
    };
    Ok((name, Arc::new(signature)))
}

/// An argument; `None` for one that HIP fills in itself.
fn param(map: &Value) -> Result<Option<Param>, String> {
    let kind = match text(map, ".value_kind")? {
        hidden if hidden.starts_with("hidden_") => return Ok(None),
        "by_value" => ParamKind::Value,
        "global_buffer" => ParamKind::Pointer,
        other => ParamKind::Other(other.to_owned()),
    };
    let size = size(map, ".size")?;
    // HIP copies as many bytes as stand here from where the caller has an address.
    if kind == ParamKind::Pointer && size != POINTER {
        return Err(format!("a pointer of its kernels' arguments has {size} bytes"));
    }
    // clang names a pointer's argument after the rewriting that it does for address spaces.
    let name = get(map, ".name").and_then(Value::as_str);
    let name = name.map(|name| name.strip_suffix(".coerce").unwrap_or(name).to_owned());
    Ok(Some(Param { name, size, kind }))
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let entries = map.as_map()?;
    entries
        .iter()
        .find(|(k, _)| k.as_str() == Some(key))
        .map(|(_, v)| v)
}

fn text<'a>(map: &'a Value, key: &str) -> Result<&'a str, String> {
    get(map, key)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("its metadata have no text `{key}`"))
}

fn size(map: &Value, key: &str) -> Result<usize, String> {
    get(map, key)
        .and_then(Value::as_u64)
        .and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| format!("its metadata have no number `{key}`"))
}

/// A little-endian number of `bytes` bytes.
fn number(data: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = data.get(at..at + bytes)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

/// `len` bytes from `start`, if `data` has them.
fn slice(data: &[u8], start: Option<u64>, len: Option<u64>) -> Option<&[u8]> {
    let (start, len) = (usize::try_from(start?).ok()?, usize::try_from(len?).ok()?);
    data.get(start..start.checked_add(len)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::CODE_OBJECTS;

    /// A small code object of this crate's.
    fn sample() -> &'static [u8] {
        let (_, _, code) = CODE_OBJECTS
            .iter()
            .find(|(_, module, _)| *module == "fill")
            .unwrap();
        code
    }

    fn refusal(file: &[u8]) -> String {
        Image::parse(file).map(|image| image.target).unwrap_err()
    }

    /// The sample with `old` overwritten by `new` of the same length, wherever it stands.
    fn altered(old: &[u8], new: &[u8]) -> Vec<u8> {
        let mut file = sample().to_vec();
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
        for (target, module, code) in CODE_OBJECTS {
            let image = Image::parse(code).unwrap();
            assert_eq!(image.target, *target, "{module}");
            assert!(!image.kernels.is_empty(), "{module}");
        }
    }

    #[test]
    fn an_argument_has_its_size_and_kind_and_hidden_ones_are_left_out() {
        let image = Image::parse(sample()).unwrap();
        let params = &image.kernels["const_set_f64"].params;
        let seen: Vec<_> = params.iter().map(|param| (param.size, &param.kind)).collect();
        let (value, pointer) = (&ParamKind::Value, &ParamKind::Pointer);
        let want = [(8, value), (8, value), (8, pointer), (8, value), (8, pointer)];
        assert_eq!(seen, want);
    }

    #[test]
    fn every_prefix_of_a_code_object_is_refused() {
        let whole = sample();
        assert!(Image::parse(whole).is_ok());
        for end in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
            assert!(Image::parse(&whole[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn what_is_no_code_object_is_told_apart() {
        let mut host = sample().to_vec();
        host[18..20].copy_from_slice(&62_u16.to_le_bytes());
        assert!(refusal(&host).contains("no 64-bit ELF file for AMD GPUs"));
        assert!(refusal(b"__CLANG_OFFLOAD_BUNDLE__ and more").contains("--no-gpu-bundle-output"));
        let mut far = sample().to_vec();
        far[32..40].fill(0xff);
        assert!(refusal(&far).contains("cut off"));
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
        assert!(refusal(&altered(b"AMDGPU\0", b"AMDGPX\0")).contains("no metadata note"));
    }

    #[test]
    fn a_pointer_that_is_not_as_long_as_an_address_is_refused() {
        let entries = |size: u32| {
            Value::Map(vec![
                (".size".into(), size.into()),
                (".value_kind".into(), "global_buffer".into()),
            ])
        };
        assert!(param(&entries(8)).is_ok());
        assert!(param(&entries(100)).unwrap_err().contains("100 bytes"));
    }

    #[test]
    fn a_kernel_that_would_run_by_itself_is_refused() {
        let entries = |kind: &str| {
            let entry = |key: &str, value: Value| (Value::from(key), value);
            Value::Map(vec![
                entry(".name", "k".into()),
                entry(".kind", kind.into()),
                entry(".max_flat_workgroup_size", 1024.into()),
                entry(".group_segment_fixed_size", 0.into()),
            ])
        };
        assert!(kernel(&entries("normal")).is_ok());
        assert!(kernel(&entries("init")).unwrap_err().contains("kind `init`"));
    }
}
