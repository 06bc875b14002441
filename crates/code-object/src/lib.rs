//! Reads AMD GPU code objects: the ELF files that clang writes for ROCm, and the bundles in which several of them travel.
//!
//! The crate says what a file contains. It loads nothing, executes nothing and decodes no instruction. [`CodeObject`] reads
//! one ELF file: its memory image, symbols, relocations, kernel descriptors and the metadata notes with the kernels'
//! arguments and resources. [`bundle`] takes clang's offload bundles apart, the compressed ones too. [`Elf`] is the layer
//! below, for any 64-bit little-endian ELF file.
//!
//! Files come from outside. No byte of a file makes this crate panic, loop without an end or reserve memory that the file's
//! size does not justify; what contradicts the format is an [`Error`] with the offset and with what was expected there.
//!
//! Formats: LLVM, "User Guide for AMDGPU Backend", sections "Code Object" and "Code Object Metadata"; clang, "Clang Offload
//! Bundler"; the System V ABI's "Object Files".
//!
//! ```
//! use code_object::{ArgKind, CodeObject, Error, bundle};
//!
//! /// One line for each kernel of a file, whether it is a code object or a bundle of several.
//! fn kernels(file: &[u8]) -> Result<Vec<String>, Error> {
//!     let mut lines = Vec::new();
//!     if bundle::is_bundle(file) {
//!         let unpacked = bundle::unpack(file)?;
//!         for entry in bundle::entries(&unpacked)? {
//!             lines.extend(kernels(entry.content)?);
//!         }
//!     } else {
//!         for kernel in CodeObject::parse(file)?.metadata()?.kernels {
//!             let args = kernel.args.iter().filter(|arg| !arg.kind.is_hidden());
//!             let pointers = args.filter(|arg| arg.kind == ArgKind::GlobalBuffer).count();
//!             lines.push(format!("{}: {pointers} pointers, {} VGPRs", kernel.name, kernel.vgprs));
//!         }
//!     }
//!     Ok(lines)
//! }
//!
//! let error = kernels(b"\x7fELF and no more").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "not a code object: expected a 64-bit little-endian ELF file, found 16 bytes that begin with 7f 45 4c 46"
//! );
//! ```

pub mod bundle;
mod bytes;
mod descriptor;
mod elf;
mod error;
pub mod extent;
mod metadata;
mod msgpack;
mod object;

pub use descriptor::{DESCRIPTOR_BYTES, KernelDescriptor, UserSgpr};
pub use elf::{Elf, Note, Section, Segment};
pub use error::Error;
pub use metadata::{Arg, ArgKind, KernelMetadata, MAX_KERNARG, Metadata};
pub use object::{CodeObject, MAX_IMAGE, Relocation, RelocationKind, Symbol, SymbolKind};
