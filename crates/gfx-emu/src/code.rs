//! Loaded code objects: the image for device memory, the kernels and the device variables.
//!
//! The file is read by the crate `code-object`; here it is decided what of it can be loaded. A file that cannot is a
//! [`LoadError`], never a panic.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use code_object::{Arg, ArgKind, KernelDescriptor, KernelMetadata, Relocation, Symbol, SymbolKind};

use crate::Target;
use crate::fault::MemoryFault;
use crate::isa::{Code, DecodeError, Program};
use crate::launch::Limits;
use crate::lines::{LineTable, Lines};
use crate::memory::{Memory, OutOfMemory};

/// Name of the kernel of [`CodeObject::bare`].
pub const BARE_KERNEL: &str = "code";
/// `p_flags` of a segment with code.
const PF_X: u32 = 1;

/// Bytes at the beginning of a kernel for hardware that does not load arguments into SGPRs.
const PRELOAD_PROLOGUE: u64 = 256;

/// Why a code object was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file is not a code object, or a broken one.
    #[error(transparent)]
    File(#[from] code_object::Error),
    /// What the file says about a kernel does not fit together.
    #[error("kernel `{kernel}` of the code object: {what}")]
    Kernel {
        /// Its name.
        kernel: String,
        /// What does not fit.
        what: String,
    },
    /// A relocation needs the address of a symbol that the file does not define.
    #[error(
        "the code object needs the address of `{symbol}`, which it does not define; link all of the device code"
    )]
    Undefined {
        /// Name of the symbol.
        symbol: String,
    },
    /// Bytes that cannot be bare machine code.
    #[error("bare machine code: {what}")]
    Bare {
        /// What is wrong with them.
        what: String,
    },
}

/// A kernel of a code object.
#[derive(Debug)]
pub struct Kernel {
    /// Its name, as the host asks for it.
    pub name: String,
    /// The kernel descriptor.
    pub descriptor: KernelDescriptor,
    /// Arguments by ascending offset as the compiler listed them, the hidden ones included.
    pub args: Vec<Arg>,
    /// Bytes of the kernarg segment, hidden arguments included.
    pub kernarg_size: u32,
    /// Work-items a workgroup may have, from `__launch_bounds__` or 1024.
    pub max_workgroup_size: u32,
    /// Vector registers that the code uses.
    pub vgprs: u32,
    /// Scalar registers that the code uses.
    pub sgprs: u32,
    /// Byte offset of the kernel descriptor in the image: a launch by packet names a kernel by its address.
    pub descriptor_offset: u64,
    /// The code in the image.
    code: Range<usize>,
    /// The part of the image that holds this code and the functions that it may call.
    segment: Range<usize>,
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
    pub fn explicit_args(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|arg| !arg.kind.is_hidden())
    }

    /// The same kernel with this program, or one that is yet to be decoded.
    pub(crate) fn with_program(&self, program: Option<Program>) -> Kernel {
        Kernel {
            name: self.name.clone(),
            args: self.args.clone(),
            code: self.code.clone(),
            segment: self.segment.clone(),
            program: program.map_or_else(OnceLock::new, |program| OnceLock::from(Ok(program))),
            ..*self
        }
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
    image: Arc<[u8]>,
    /// Offsets of functions that may be called through a pointer.
    functions: Vec<usize>,
    kernels: BTreeMap<String, Kernel>,
    globals: BTreeMap<String, Global>,
    /// Relocations, each with the address of its symbol in the image.
    relocations: Vec<(Relocation, u64)>,
    lines: Lines,
}

impl CodeObject {
    /// Reads a code object: the ELF file itself, not a clang offload bundle around it.
    ///
    /// # Errors
    /// A file that is not a code object, contradicts itself, or needs symbols that it does not define.
    pub fn load(file: &[u8]) -> Result<CodeObject, LoadError> {
        let object = code_object::CodeObject::parse(file)?;
        let image = object.image()?;
        let symbols = object.symbols()?;
        let relocations = object
            .relocations()?
            .into_iter()
            .map(|relocation| resolve(relocation, &symbols));
        let relocations = relocations.collect::<Result<Vec<_>, _>>()?;
        let defined = symbols.iter().filter(|symbol| symbol.is_defined);
        let symbols: BTreeMap<&str, &Symbol<'_>> = defined.map(|symbol| (symbol.name, symbol)).collect();
        let mut kernels = BTreeMap::new();
        for metadata in object.metadata()?.kernels {
            let kernel = kernel(metadata, &object, &symbols, &image)?;
            kernels.insert(kernel.name.clone(), kernel);
        }
        let variables = symbols.values().filter(|symbol| {
            let end = symbol.address.checked_add(symbol.size);
            let inside = end.is_some_and(|end| end <= image.len() as u64);
            symbol.kind == SymbolKind::Object && inside && !symbol.name.ends_with(".kd")
        });
        let globals = variables.map(|symbol| {
            let (offset, size) = (symbol.address, symbol.size);
            (symbol.name.to_owned(), Global { offset, size })
        });
        Ok(CodeObject {
            target: Target::of_machine(object.machine()),
            functions: functions(&symbols, &relocations, &kernels),
            globals: globals.collect(),
            image: Arc::from(image),
            kernels,
            relocations,
            lines: Lines::of(object.elf()),
        })
    }

    /// Bare machine code, without the file around it, as a code object whose one kernel is called [`BARE_KERNEL`]. The
    /// kernel starts at the first byte with the address of `kernarg_size` bytes of arguments in `s[0:1]`; `rsrc2` is
    /// COMPUTE_PGM_RSRC2: how many user SGPRs there are (bits 5:1, at least two), which workgroup ids follow them (bits 7
    /// to 9) and LDS in blocks of 512 bytes (bits 23:15). The work-item ids are packed in `v0`, ten bits each.
    ///
    /// # Errors
    /// [`LoadError::Bare`] for code that is not whole dwords, and for too many bytes of code or arguments.
    pub fn bare(
        target: Target,
        code: &[u8],
        rsrc2: u32,
        scratch: u32,
        kernarg_size: u32,
    ) -> Result<CodeObject, LoadError> {
        if code.is_empty() || !code.len().is_multiple_of(4) || code.len() as u64 > code_object::MAX_IMAGE {
            let what = format!("{} bytes; instructions are whole dwords", code.len());
            return Err(LoadError::Bare { what });
        }
        if kernarg_size > code_object::MAX_KERNARG {
            let what = format!(
                "{kernarg_size} bytes of arguments; at most {} fit",
                code_object::MAX_KERNARG
            );
            return Err(LoadError::Bare { what });
        }
        let arguments = Arg {
            name: None,
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
            descriptor_offset: 0,
            code: 0..code.len(),
            segment: 0..code.len(),
            program: OnceLock::new(),
        };
        Ok(CodeObject {
            target,
            image: Arc::from(code),
            functions: Vec::new(),
            kernels: BTreeMap::from([(kernel.name.clone(), kernel)]),
            globals: BTreeMap::new(),
            relocations: Vec::new(),
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

    /// `file:line` of the instruction `pc` bytes after a kernel's first one, where the file has debug information.
    pub fn source_line(&self, kernel: &Kernel, pc: usize) -> Option<String> {
        self.lines.at(kernel.code_offset().wrapping_add(pc as u64))
    }

    /// A kernel's machine code.
    pub fn code(&self, kernel: &Kernel) -> &[u8] {
        // The range was checked when the kernel was read; of another object's kernel it may be outside.
        self.image.get(kernel.code.clone()).unwrap_or_default()
    }

    /// Puts a copy of the image into device memory: code, constants and device variables, each at its distance from the
    /// others, so that pc-relative addresses hold. Relocations are applied to the copy.
    ///
    /// # Errors
    /// [`OutOfMemory`] when the image does not fit.
    pub fn place(&self, memory: &mut Memory) -> Result<Placement, OutOfMemory> {
        let base = memory.alloc(self.image.len() as u64)?;
        let placed = self.place_at(memory, base);
        debug_assert!(placed.is_ok(), "the allocation has the image's size");
        Ok(Placement { base })
    }

    /// Bytes of the image.
    pub fn image_size(&self) -> u64 {
        self.image.len() as u64
    }

    /// Device variables by name.
    pub fn globals(&self) -> impl Iterator<Item = (&str, &Global)> {
        self.globals.iter().map(|(name, global)| (name.as_str(), global))
    }

    /// As [`CodeObject::place`], into memory that is accessible already: [`CodeObject::image_size`] bytes at `base`, which
    /// is a multiple of 256.
    ///
    /// # Errors
    /// [`MemoryFault`] when some of it is not accessible.
    pub fn place_at(&self, memory: &Memory, base: u64) -> Result<Placement, MemoryFault> {
        let mut image = self.image.to_vec();
        for (relocation, symbol) in &self.relocations {
            let value = relocation.value(base, *symbol).to_le_bytes();
            let written = &value[..relocation.kind.bytes() as usize];
            let start = relocation.place as usize;
            if let Some(place) = image.get_mut(start..start + written.len()) {
                place.copy_from_slice(written);
            }
        }
        memory.write(base, &image)?;
        Ok(Placement { base })
    }

    /// The image.
    pub(crate) fn image(&self) -> &[u8] {
        &self.image
    }

    /// The source lines of the image.
    pub(crate) fn sources(&self) -> LineTable {
        self.lines.rows()
    }

    /// The kernel as it was decoded, where it was.
    pub(crate) fn decoded<'a>(&self, kernel: &'a Kernel) -> Option<&'a Program> {
        kernel.program.get()?.as_ref().ok()
    }

    /// The decoded kernel; decoding happens once.
    pub(crate) fn program<'a>(&self, kernel: &'a Kernel) -> Result<&'a Program, &'a DecodeError> {
        let lanes = kernel.descriptor.wavefront_size();
        let decode = || Program::decode(self.target, lanes, &self.code_of(kernel));
        kernel.program.get_or_init(decode).as_ref()
    }

    /// The machine code of a kernel with all that it may call.
    pub(crate) fn code_of(&self, kernel: &Kernel) -> Code<'_> {
        Code {
            image: &self.image,
            entry: kernel.code.start,
            segment: kernel.segment.clone(),
            functions: &self.functions,
        }
    }
}

/// A relocation with the address of its symbol, 0 where it has none.
fn resolve(relocation: Relocation, symbols: &[Symbol<'_>]) -> Result<(Relocation, u64), LoadError> {
    let symbol = match relocation.symbol {
        0 => return Ok((relocation, 0)),
        number => symbols.get(number as usize),
    };
    match symbol.filter(|symbol| symbol.is_defined) {
        Some(symbol) => Ok((relocation, symbol.address)),
        None => Err(LoadError::Undefined {
            symbol: symbol.map_or_else(
                || format!("symbol {}", relocation.symbol),
                |symbol| symbol.name.to_owned(),
            ),
        }),
    }
}

fn kernel(
    metadata: KernelMetadata,
    object: &code_object::CodeObject<'_>,
    symbols: &BTreeMap<&str, &Symbol<'_>>,
    image: &[u8],
) -> Result<Kernel, LoadError> {
    let wrong = |what: &str| LoadError::Kernel {
        kernel: metadata.name.clone(),
        what: what.to_owned(),
    };
    let symbol = symbols.get(metadata.symbol.as_str());
    let symbol = symbol.ok_or_else(|| wrong("its descriptor has no symbol"))?;
    let descriptor = object.descriptor(image, symbol.address)?;
    let entry = symbol.address.checked_add_signed(descriptor.entry_offset);
    let function = symbols.get(metadata.name.as_str()).copied();
    // Every gfx1250 loads them.
    let always = Target::of_machine(object.machine()) == Target::Gfx1250;
    let skipped = if always || descriptor.kernarg_preload().is_empty() {
        0
    } else {
        PRELOAD_PROLOGUE
    };
    let code = entry.and_then(|entry| code_range(entry, skipped, function, object, image.len()));
    let [code, segment] = code.ok_or_else(|| wrong("its entry is not in executable code"))?;
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
        descriptor_offset: symbol.address,
        code,
        segment,
        program: OnceLock::new(),
    })
}

/// Offsets of what may be a function whose address is in memory: functions with a symbol, and what relocations point at. One
/// that is a kernel cannot be called.
fn functions(
    symbols: &BTreeMap<&str, &Symbol<'_>>,
    relocations: &[(Relocation, u64)],
    kernels: &BTreeMap<String, Kernel>,
) -> Vec<usize> {
    let named = symbols
        .values()
        .filter(|symbol| symbol.kind == SymbolKind::Function);
    let addresses = named.map(|symbol| symbol.address);
    let pointers = relocations
        .iter()
        .map(|(relocation, symbol)| relocation.value(0, *symbol));
    let offsets = addresses
        .chain(pointers)
        .filter_map(|address| usize::try_from(address).ok());
    // `Kernel::code` is not asked: of a kernel with preloaded arguments it begins after the entry.
    let entry = |kernel: &Kernel| {
        let descriptor = kernel.descriptor_offset;
        usize::try_from(descriptor.checked_add_signed(kernel.descriptor.entry_offset)?).ok()
    };
    let entries: BTreeSet<usize> = kernels.values().filter_map(entry).collect();
    offsets
        .filter(|offset| offset.is_multiple_of(4) && !entries.contains(offset))
        .collect()
}

/// From `skipped` bytes after the entry to the end of the function's symbol, or to the end of its segment when there is no such symbol; and the
/// segment.
fn code_range(
    entry: u64,
    skipped: u64,
    function: Option<&Symbol<'_>>,
    object: &code_object::CodeObject<'_>,
    image: usize,
) -> Option<[Range<usize>; 2]> {
    let segment = object.loaded().find(|segment| {
        let offset = entry.wrapping_sub(segment.address);
        segment.flags & PF_X != 0 && offset < segment.content.len() as u64
    })?;
    let whole = segment.address..segment.address.checked_add(segment.content.len() as u64)?;
    let mut end = whole.end;
    if let Some(function) = function.filter(|f| f.address == entry && f.size > 0) {
        end = end.min(entry.checked_add(function.size)?);
    }
    let range =
        |range: Range<u64>| Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?);
    let (code, segment) = (range(entry.checked_add(skipped)?..end)?, range(whole)?);
    let is_code = code.start.is_multiple_of(4) && code.start < code.end && segment.end <= image;
    is_code.then_some([code, segment])
}
