//! Why a file was refused: the place, what was expected there, and what was found.

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is not a 64-bit little-endian ELF file.
    #[error("not a code object: expected a 64-bit little-endian ELF file, found {found}")]
    NotElf {
        /// What the file is instead, as far as its first bytes tell.
        found: String,
    },
    /// It is an ELF file, but not a linked code object of ROCm.
    #[error("not a code object for AMD GPUs: {field} is {found}, expected {expected}")]
    OtherMachine {
        /// Field of the ELF header.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The value that it should have.
        expected: &'static str,
    },
    /// The file contradicts itself or the format.
    #[error("malformed code object: {part} at byte {offset:#x}: expected {expected}, found {found}")]
    Malformed {
        /// Part of the file.
        part: &'static str,
        /// Byte offset in the file; in a compressed bundle, in its content.
        offset: u64,
        /// What the format asks for.
        expected: String,
        /// What is there.
        found: String,
    },
}
