//! Code objects: AMD GPU ELF files, read into an image for device memory and a list of kernels.
//!
//! Every number in the file is checked before it is used: a broken file is a [`LoadError`], never a panic.
//! Relocations are refused, because nothing here would apply them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use object::LittleEndian;
use object::elf;
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _, Sym as _};

use crate::descriptor::{DESCRIPTOR_BYTES, KernelDescriptor};
use crate::isa::{DecodeError, Program};
use crate::launch::Limits;
use crate::lines::Lines;
use crate::memory::{Memory, OutOfMemory};
use crate::metadata::{self, ArgKind, KernelArg, KernelMetadata};

const ENDIAN: LittleEndian = LittleEndian;
type Header = elf::FileHeader64<LittleEndian>;
type Segment = elf::ProgramHeader64<LittleEndian>;

/// Type of the metadata note; its owner is `AMDGPU`.
const NT_AMDGPU_METADATA: u32 = 32;
/// `e_ident[EI_OSABI]` of code objects for the HSA runtime, which HIP uses.
const ELFOSABI_AMDGPU_HSA: u8 = 64;
/// `e_ident[EI_ABIVERSION]` of code object versions 4, 5 and 6.
const ABI_VERSIONS: std::ops::RangeInclusive<u8> = 2..=4;
/// The machine number within `e_flags`.
const EF_AMDGPU_MACH: u32 = 0xff;
/// An image may be this large: device code with its constants and global variables.
const MAX_IMAGE: u64 = 1 << 28;

/// Name of the kernel of [`CodeObject::bare`].
pub const BARE_KERNEL: &str = "code";

/// Why a code object was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It is not a 64-bit little-endian ELF file.
    #[error("not a code object: {what}")]
    NotElf {
        /// What it is instead, as far as one can tell.
        what: String,
    },
    /// It is an ELF file for something else.
    #[error("not a code object for AMD GPUs: {what}")]
    WrongMachine {
        /// Which field differs.
        what: String,
    },
    /// The file contradicts itself or the format.
    #[error("malformed code object: {part}: {what}")]
    Malformed {
        /// Part of the file.
        part: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// It needs relocations.
    #[error(
        "the code object needs {bytes} bytes of relocations applied, which is not supported; \
         set device variables that hold addresses at run time"
    )]
    Relocations {
        /// Size of the relocation tables.
        bytes: u64,
    },
}

/// The processor a code object was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// RDNA3, 32 lanes (RX 7900). Executed.
    Gfx1100,
    /// CDNA2, 64 lanes (MI200). Executed.
    Gfx90a,
    /// CDNA3, 64 lanes (MI300). Executed.
    Gfx942,
    /// Another one, by its machine number in the ELF header.
    Other(u8),
}

impl Target {
    fn from_flags(flags: u32) -> Target {
        match (flags & EF_AMDGPU_MACH) as u8 {
            0x41 => Target::Gfx1100,
            0x3f => Target::Gfx90a,
            0x4c => Target::Gfx942,
            other => Target::Other(other),
        }
    }

    /// The target of that name, as compilers write it: `gfx1100`, `gfx90a` or `gfx942`.
    ///
    /// ```
    /// use gfx_emu::Target;
    /// assert_eq!(Target::named("gfx942"), Some(Target::Gfx942));
    /// assert_eq!(Target::named("gfx9"), None);
    /// ```
    pub fn named(name: &str) -> Option<Target> {
        Target::EXECUTABLE
            .into_iter()
            .find(|target| target.to_string() == name)
    }

    /// The targets whose kernels can be launched.
    pub const EXECUTABLE: [Target; 3] = [Target::Gfx1100, Target::Gfx90a, Target::Gfx942];

    /// Lanes of a wave: 32 on gfx1100, 64 on the others.
    pub fn lanes(self) -> usize {
        if self == Target::Gfx1100 { 32 } else { 64 }
    }

    /// Whether kernels of this target can be launched.
    pub fn is_executable(self) -> bool {
        !matches!(self, Target::Other(_))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Gfx1100 => f.write_str("gfx1100"),
            Target::Gfx90a => f.write_str("gfx90a"),
            Target::Gfx942 => f.write_str("gfx942"),
            Target::Other(mach) => write!(f, "AMD GPU machine {mach:#x}"),
        }
    }
}

/// A kernel of a code object.
#[derive(Debug)]
pub struct Kernel {
    /// Its name, as the host asks for it.
    pub name: String,
    /// The kernel descriptor.
    pub descriptor: KernelDescriptor,
    /// Arguments by ascending offset as the compiler listed them, the hidden ones included.
    pub args: Vec<KernelArg>,
    /// Bytes of the kernarg segment, hidden arguments included.
    pub kernarg_size: u32,
    /// Work-items a workgroup may have, from `__launch_bounds__` or 1024.
    pub max_workgroup_size: u32,
    /// Vector registers that the code uses.
    pub vgprs: u32,
    /// Scalar registers that the code uses.
    pub sgprs: u32,
    /// The code in the image.
    code: std::ops::Range<usize>,
    program: OnceLock<Result<Program, DecodeError>>,
}

impl Kernel {
    /// Bytes of the kernarg segment that the caller fills: up to the end of the last argument that is not
    /// hidden.
    pub fn explicit_kernarg_size(&self) -> u32 {
        self.explicit_args()
            .map(|arg| arg.offset + arg.size)
            .max()
            .unwrap_or(0)
    }

    /// The arguments that the caller passes.
    pub fn explicit_args(&self) -> impl Iterator<Item = &KernelArg> {
        self.args.iter().filter(|arg| !arg.kind.is_hidden())
    }

    /// Offset of the kernel's first instruction in the image.
    pub(crate) fn code_offset(&self) -> u64 {
        self.code.start as u64
    }
}

/// A device variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Byte offset in the image.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Where a code object's image lies in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    base: u64,
}

impl Placement {
    /// Guest address of the image; freeing it unloads the code object.
    pub fn base(self) -> u64 {
        self.base
    }

    /// Guest address of a device variable.
    pub fn address(self, global: &Global) -> u64 {
        self.base + global.offset
    }
}

/// A loaded code object.
#[derive(Debug)]
pub struct CodeObject {
    target: Target,
    image: Vec<u8>,
    kernels: BTreeMap<String, Kernel>,
    globals: BTreeMap<String, Global>,
    lines: Lines,
}

impl CodeObject {
    /// Reads a code object: the ELF file itself, not a clang offload bundle around it.
    pub fn load(file: &[u8]) -> Result<CodeObject, LoadError> {
        let header = header(file)?;
        let segments = header
            .program_headers(ENDIAN, file)
            .map_err(|e| malformed("program headers", e))?;
        refuse_relocations(segments, file)?;
        let image = image(segments, file)?;
        let symbols = symbols(header, file)?;
        let mut kernels = BTreeMap::new();
        for metadata in metadata::parse(metadata_note(segments, file)?)? {
            let kernel = kernel(metadata, &symbols, &image, segments)?;
            kernels.insert(kernel.name.clone(), kernel);
        }
        let mut globals = BTreeMap::new();
        for (name, symbol) in symbols {
            let inside = symbol
                .address
                .checked_add(symbol.size)
                .is_some_and(|end| end <= image.len() as u64);
            if symbol.is_object && inside && !name.ends_with(".kd") {
                globals.insert(
                    name,
                    Global {
                        offset: symbol.address,
                        size: symbol.size,
                    },
                );
            }
        }
        Ok(CodeObject {
            target: Target::from_flags(header.e_flags(ENDIAN).0),
            image,
            kernels,
            globals,
            lines: Lines::of(file),
        })
    }

    /// Bare machine code, without the file around it, as a code object whose one kernel is called [`BARE_KERNEL`]. The
    /// kernel starts at the first byte with the address of `kernarg_size` bytes of arguments in `s[0:1]`; `rsrc2` is
    /// COMPUTE_PGM_RSRC2: how many user SGPRs there are (bits 5:1, at least two), which workgroup ids follow them (bits 7
    /// to 9) and LDS in blocks of 512 bytes (bits 23:15). The work-item ids are packed in `v0`, ten bits each.
    pub fn bare(
        target: Target,
        code: &[u8],
        rsrc2: u32,
        scratch: u32,
        kernarg_size: u32,
    ) -> Result<CodeObject, LoadError> {
        if code.is_empty() || !code.len().is_multiple_of(4) || code.len() as u64 > MAX_IMAGE {
            let what = format!("{} bytes; instructions are whole dwords", code.len());
            return Err(malformed("code", what));
        }
        if kernarg_size > metadata::MAX_KERNARG {
            let most = metadata::MAX_KERNARG;
            return Err(malformed(
                "kernarg",
                format!("{kernarg_size} bytes; at most {most} fit"),
            ));
        }
        let arguments = KernelArg {
            offset: 0,
            size: kernarg_size,
            kind: ArgKind::ByValue,
        };
        let kernel = Kernel {
            name: BARE_KERNEL.to_owned(),
            descriptor: KernelDescriptor::bare(rsrc2, scratch, kernarg_size, target.lanes()),
            args: vec![arguments],
            kernarg_size,
            max_workgroup_size: Limits::DEVICE.workgroup_size,
            vgprs: 256,
            sgprs: 106,
            code: 0..code.len(),
            program: OnceLock::new(),
        };
        Ok(CodeObject {
            target,
            image: code.to_vec(),
            kernels: BTreeMap::from([(kernel.name.clone(), kernel)]),
            globals: BTreeMap::new(),
            lines: Lines::default(),
        })
    }

    /// The processor it was compiled for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.get(name)
    }

    /// All kernels by name.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.values()
    }

    /// The device variable of that name.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.get(name)
    }

    /// `file:line` of the instruction `pc` bytes behind a kernel's first one, where the file has debug information.
    pub fn source_line(&self, kernel: &Kernel, pc: usize) -> Option<String> {
        self.lines.at(kernel.code_offset().wrapping_add(pc as u64))
    }

    /// A kernel's machine code.
    pub fn code(&self, kernel: &Kernel) -> &[u8] {
        // The range was checked when the kernel was read; of another object's kernel it may be outside.
        self.image.get(kernel.code.clone()).unwrap_or_default()
    }

    /// Puts a copy of the image into device memory: code, constants and device variables, each at its
    /// distance from the others, so that pc-relative addresses hold.
    pub fn place(&self, memory: &mut Memory) -> Result<Placement, OutOfMemory> {
        let base = memory.alloc(self.image.len() as u64)?;
        let placed = memory.write(base, &self.image);
        debug_assert!(placed.is_ok(), "the allocation has the image's size");
        Ok(Placement { base })
    }

    /// The decoded kernel; decoding happens once.
    pub(crate) fn program<'a>(&self, kernel: &'a Kernel) -> Result<&'a Program, &'a DecodeError> {
        let decode = || Program::decode(self.target, &self.image[kernel.code.clone()], 0);
        kernel.program.get_or_init(decode).as_ref()
    }
}

fn malformed(part: &'static str, what: impl ToString) -> LoadError {
    LoadError::Malformed {
        part,
        what: what.to_string(),
    }
}

fn header(file: &[u8]) -> Result<&Header, LoadError> {
    let not_elf = |what: &str| LoadError::NotElf {
        what: what.to_owned(),
    };
    if file.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") || file.starts_with(b"CCOB") {
        return Err(not_elf(
            "a clang offload bundle; compile with `--no-gpu-bundle-output`",
        ));
    }
    let header = Header::parse(file).map_err(|e| LoadError::NotElf { what: e.to_string() })?;
    header.endian().map_err(|_| not_elf("a big-endian ELF file"))?;
    let wrong = |what: String| Err(LoadError::WrongMachine { what });
    let ident = header.e_ident();
    if header.e_machine(ENDIAN) != elf::EM_AMDGPU {
        return wrong(format!(
            "the ELF machine is {}, not {}",
            header.e_machine(ENDIAN).0,
            elf::EM_AMDGPU.0
        ));
    }
    if ident.os_abi.0 != ELFOSABI_AMDGPU_HSA || !ABI_VERSIONS.contains(&ident.abi_version) {
        return wrong(format!(
            "OS ABI {} version {}, not {ELFOSABI_AMDGPU_HSA} version 2 to 4; compile with `-mcode-object-version=5`",
            ident.os_abi.0, ident.abi_version
        ));
    }
    if header.e_type(ENDIAN) != elf::ET_DYN {
        return wrong("not linked (the ELF type is not ET_DYN)".to_owned());
    }
    Ok(header)
}

fn refuse_relocations(segments: &[Segment], file: &[u8]) -> Result<(), LoadError> {
    let mut bytes = 0_u64;
    for segment in segments {
        let entries = segment
            .dynamic(ENDIAN, file)
            .map_err(|e| malformed("dynamic segment", e))?;
        for entry in entries.unwrap_or_default() {
            if [elf::DT_RELASZ, elf::DT_RELSZ, elf::DT_RELRSZ, elf::DT_PLTRELSZ]
                .contains(&entry.d_tag(ENDIAN))
            {
                bytes = bytes.saturating_add(entry.d_val(ENDIAN));
            }
        }
    }
    if bytes == 0 {
        Ok(())
    } else {
        Err(LoadError::Relocations { bytes })
    }
}

fn loadable(segments: &[Segment]) -> impl Iterator<Item = &Segment> {
    segments
        .iter()
        .filter(|segment| segment.p_type(ENDIAN) == elf::PT_LOAD)
}

/// The bytes as they lie in memory, from address 0 to the end of the last segment.
fn image(segments: &[Segment], file: &[u8]) -> Result<Vec<u8>, LoadError> {
    let mut size = 0;
    for segment in loadable(segments) {
        let end = segment
            .p_vaddr(ENDIAN)
            .checked_add(segment.p_memsz(ENDIAN))
            .filter(|end| *end <= MAX_IMAGE);
        let end = end.ok_or_else(|| malformed("segment", format!("it ends behind {MAX_IMAGE} bytes")))?;
        size = size.max(end);
    }
    let mut image = vec![0; size as usize];
    for segment in loadable(segments) {
        let data = segment
            .data(ENDIAN, file)
            .map_err(|()| malformed("segment", "its bytes are not in the file"))?;
        if data.len() as u64 > segment.p_memsz(ENDIAN) {
            return Err(malformed("segment", "it is larger in the file than in memory"));
        }
        let start = segment.p_vaddr(ENDIAN) as usize;
        image[start..start + data.len()].copy_from_slice(data);
    }
    Ok(image)
}

fn metadata_note<'a>(segments: &[Segment], file: &'a [u8]) -> Result<&'a [u8], LoadError> {
    for segment in segments {
        let notes = segment
            .notes(ENDIAN, file)
            .map_err(|e| malformed("note segment", e))?;
        for note in notes.into_iter().flatten() {
            let note = note.map_err(|e| malformed("note segment", e))?;
            if note.name() == b"AMDGPU" && note.n_type(ENDIAN).0 == NT_AMDGPU_METADATA {
                return Ok(note.desc());
            }
        }
    }
    Err(malformed("note segment", "it has no AMDGPU metadata"))
}

#[derive(Clone, Copy)]
struct Symbol {
    address: u64,
    size: u64,
    is_object: bool,
}

/// The dynamic symbols that the file defines.
fn symbols(header: &Header, file: &[u8]) -> Result<BTreeMap<String, Symbol>, LoadError> {
    let wrong = |e: object::read::Error| malformed("symbol table", e);
    let sections = header.sections(ENDIAN, file).map_err(wrong)?;
    let table = sections.symbols(ENDIAN, file, elf::SHT_DYNSYM).map_err(wrong)?;
    let mut symbols = BTreeMap::new();
    for symbol in table.iter().filter(|symbol| !symbol.is_undefined(ENDIAN)) {
        let name = symbol.name(ENDIAN, table.strings()).map_err(wrong)?;
        symbols.insert(
            String::from_utf8_lossy(name).into_owned(),
            Symbol {
                address: symbol.st_value(ENDIAN),
                size: symbol.st_size(ENDIAN),
                is_object: symbol.st_type() == elf::STT_OBJECT,
            },
        );
    }
    Ok(symbols)
}

fn kernel(
    metadata: KernelMetadata,
    symbols: &BTreeMap<String, Symbol>,
    image: &[u8],
    segments: &[Segment],
) -> Result<Kernel, LoadError> {
    let wrong = |what: &str| malformed("kernel", format!("`{}`: {what}", metadata.name));
    let symbol = symbols
        .get(&metadata.symbol)
        .ok_or_else(|| wrong("its descriptor has no symbol"))?;
    let at = usize::try_from(symbol.address).ok();
    let bytes = at.and_then(|at| image.get(at..)?.first_chunk::<DESCRIPTOR_BYTES>());
    let descriptor =
        KernelDescriptor::parse(bytes.ok_or_else(|| wrong("its descriptor is not in the image"))?);
    let entry = symbol.address.checked_add_signed(descriptor.entry_offset);
    let code = entry.and_then(|entry| code_range(entry, symbols.get(&metadata.name), segments, image.len()));
    let code = code.ok_or_else(|| wrong("its entry is not in executable code"))?;
    if metadata.wavefront_size as usize != descriptor.wavefront_size() {
        return Err(wrong(
            "the descriptor and the metadata disagree about the wavefront size",
        ));
    }
    if descriptor.kernarg_size != 0 && descriptor.kernarg_size != metadata.kernarg_size {
        return Err(wrong(
            "the descriptor and the metadata disagree about the kernarg size",
        ));
    }
    Ok(Kernel {
        name: metadata.name,
        descriptor,
        args: metadata.args,
        kernarg_size: metadata.kernarg_size,
        max_workgroup_size: metadata.max_workgroup_size,
        vgprs: metadata.vgprs,
        sgprs: metadata.sgprs,
        code,
        program: OnceLock::new(),
    })
}

/// From the entry to the end of the function's symbol, or to the end of its segment when there is no such
/// symbol.
fn code_range(
    entry: u64,
    function: Option<&Symbol>,
    segments: &[Segment],
    image: usize,
) -> Option<std::ops::Range<usize>> {
    let segment = loadable(segments).find(|segment| {
        let offset = entry.wrapping_sub(segment.p_vaddr(ENDIAN));
        segment.p_flags(ENDIAN).contains(elf::PF_X) && offset < segment.p_filesz(ENDIAN)
    })?;
    let mut end = segment.p_vaddr(ENDIAN).checked_add(segment.p_filesz(ENDIAN))?;
    if let Some(function) = function.filter(|f| f.address == entry && f.size > 0) {
        end = end.min(entry.checked_add(function.size)?);
    }
    let range = usize::try_from(entry).ok()?..usize::try_from(end).ok()?;
    (range.start.is_multiple_of(4) && range.start < range.end && range.end <= image).then_some(range)
}
