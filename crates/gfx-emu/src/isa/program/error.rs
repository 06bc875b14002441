//! Why a kernel's code cannot be run.

use crate::Target;

/// Why a kernel's code cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The code is for a card this emulator does not execute.
    #[error(
        "the software GPU executes code for {}, not for {target}; compile with --offload-arch=gfx1100",
        Target::EXECUTABLE.map(|target| target.to_string()).join(", ")
    )]
    Target {
        /// The code object's target.
        target: Target,
    },
    /// Words that do not encode an instruction of the table.
    #[error("unknown instruction at pc {pc:#x}: encoding {words}")]
    Unknown {
        /// Byte offset from the kernel's entry.
        pc: i64,
        /// Encoding words in hexadecimal.
        words: String,
    },
    /// The code ends, or a branch leaves it.
    #[error("the code ends at pc {pc:#x} without s_endpgm, or a branch leaves it")]
    End {
        /// Byte offset from the kernel's entry.
        pc: i64,
    },
    /// Instructions whose registers have other numbers on one way to them than on another.
    #[error(
        "the instruction at pc {pc:#x} is reached with different `s_set_vgpr_msb` before it, which is not executed here"
    )]
    Banks {
        /// Byte offset from the kernel's entry.
        pc: i64,
    },
    /// Two instructions overlap: a branch goes into the middle of one.
    #[error("a branch goes into the middle of the instruction at pc {pc:#x}")]
    Overlap {
        /// Byte offset from the kernel's entry.
        pc: i64,
    },
}

impl DecodeError {
    /// The same error, of code that begins so many bytes before what was decoded.
    #[must_use]
    pub fn moved_by(self, distance: i64) -> DecodeError {
        let there = |pc: i64| pc.saturating_add(distance);
        match self {
            DecodeError::Target { target } => DecodeError::Target { target },
            DecodeError::Unknown { pc, words } => DecodeError::Unknown { pc: there(pc), words },
            DecodeError::End { pc } => DecodeError::End { pc: there(pc) },
            DecodeError::Banks { pc } => DecodeError::Banks { pc: there(pc) },
            DecodeError::Overlap { pc } => DecodeError::Overlap { pc: there(pc) },
        }
    }
}
