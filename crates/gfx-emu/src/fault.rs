//! Why a kernel stopped before its end, and where: the facts a report needs, and their one wording.
//!
//! A dispatch that is refused before it starts is not a fault; see `LaunchError` in launch.rs.

use std::fmt;

/// What an instruction wanted to do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A read-modify-write.
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Load => "load",
            Access::Store => "store",
            Access::Atomic => "atomic",
        })
    }
}

/// What an instruction takes from its registers that matters beyond them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Where it loads or stores.
    Address,
    /// What it stores, or combines with what is in memory.
    Data,
    /// Where the wave goes on.
    Branch,
    /// Which lanes are active from now on.
    Lanes,
    /// Which register it reads or writes.
    Register,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decision::Address => "the address",
            Decision::Data => "the value that goes to memory",
            Decision::Branch => "the branch",
            Decision::Lanes => "whether the lane is active",
            Decision::Register => "the number of a register",
        })
    }
}

/// Where a faulting address lies, seen from the nearest allocation. Sizes and distances are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Within the first page: a null pointer, perhaps with a small offset.
    Null,
    /// In an allocation that was freed.
    Freed {
        /// First address of the freed allocation.
        base: u64,
        /// Its size.
        size: u64,
    },
    /// After the end of a live allocation, or across its end.
    After {
        /// First address of the allocation.
        base: u64,
        /// Its size.
        size: u64,
        /// First byte of the access, counted from the allocation's end; 0 is the first byte after it.
        /// Negative when the access starts inside and ends outside.
        past: i64,
    },
    /// Before the start of a live allocation and nearer to it than to the one before.
    Before {
        /// First address of the allocation.
        base: u64,
        /// Its size.
        size: u64,
        /// Distance from the address up to the allocation.
        gap: u64,
    },
    /// Inside a live allocation, but not aligned as an atomic must be.
    Misaligned {
        /// First address of the allocation.
        base: u64,
        /// Its size.
        size: u64,
    },
    /// Nowhere near an allocation.
    Nowhere,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Place::Null => f.write_str("a null pointer"),
            Place::Freed { base, size } => {
                write!(
                    f,
                    "inside the freed allocation {base:#x} of {size} bytes (use after free)"
                )
            }
            Place::After { base, size, past } if past < 0 => {
                write!(
                    f,
                    "across the end of the allocation {base:#x} of {size} bytes ({} bytes inside)",
                    -past
                )
            }
            Place::After { base, size, past } => {
                write!(
                    f,
                    "{past} bytes past the end of the allocation {base:#x} of {size} bytes"
                )
            }
            Place::Before { base, size, gap } => {
                write!(f, "{gap} bytes before the allocation {base:#x} of {size} bytes")
            }
            Place::Misaligned { base, size } => {
                write!(
                    f,
                    "misaligned for an atomic, in the allocation {base:#x} of {size} bytes"
                )
            }
            Place::Nowhere => f.write_str("not near any allocation"),
        }
    }
}

/// An access to device memory that no live allocation covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{access} of {bytes} bytes at {address:#x}: {place}")]
pub struct MemoryFault {
    /// Guest address of the first byte.
    pub address: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Load, store or atomic.
    pub access: Access,
    /// Where the address lies.
    pub place: Place,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An access to device memory outside every live allocation.
    #[error("invalid memory access: {0}")]
    Memory(#[from] MemoryFault),
    /// An LDS access outside what the workgroup was given.
    #[error(
        "invalid LDS access: {access} of {bytes} bytes at offset {offset:#x}, the workgroup has {size} bytes of LDS"
    )]
    Lds {
        /// Byte offset in the workgroup's LDS.
        offset: u64,
        /// Bytes asked for.
        bytes: u32,
        /// LDS bytes of the workgroup.
        size: u32,
        /// Load, store or atomic.
        access: Access,
    },
    /// A private-memory access outside the lane's scratch.
    #[error(
        "invalid scratch access: {access} of {bytes} bytes at offset {offset:#x}, a lane has {size} bytes of scratch"
    )]
    Scratch {
        /// Byte offset in the lane's scratch.
        offset: u64,
        /// Bytes asked for.
        bytes: u32,
        /// Scratch bytes of a lane.
        size: u32,
        /// Load or store.
        access: Access,
    },
    /// Sanitizer: a kernel reads device memory that neither the host nor a kernel wrote.
    #[error(
        "uninitialised device memory: {access} of {bytes} bytes at {address:#x} reads the byte at {unwritten:#x}, which was \
         never written, in the allocation {base:#x} of {size} bytes"
    )]
    Unwritten {
        /// Load, or an atomic that needs the old value.
        access: Access,
        /// Guest address of the first byte.
        address: u64,
        /// Bytes asked for.
        bytes: u64,
        /// Guest address of the first byte that was never written.
        unwritten: u64,
        /// First address of the allocation.
        base: u64,
        /// Its size.
        size: u64,
    },
    /// Sanitizer: a read of LDS that no wave of the workgroup wrote.
    #[error(
        "uninitialised LDS: {access} of {bytes} bytes at offset {offset:#x} reads the byte at {unwritten:#x}, which no wave of \
         the workgroup has written yet"
    )]
    UnwrittenLds {
        /// Load, or an atomic that needs the old value.
        access: Access,
        /// Byte offset in the workgroup's LDS.
        offset: u64,
        /// Bytes asked for.
        bytes: u64,
        /// Offset of the first byte that was never written.
        unwritten: u64,
    },
    /// Sanitizer: a read of private memory that its lane has not written.
    #[error(
        "uninitialised scratch: load of {bytes} bytes at offset {offset:#x} reads the byte at {unwritten:#x}, which the lane \
         has not written yet"
    )]
    UnwrittenScratch {
        /// Byte offset in the lane's scratch.
        offset: u64,
        /// Bytes asked for.
        bytes: u64,
        /// Offset of the first byte that was never written.
        unwritten: u64,
    },
    /// Sanitizer: something the wave does depends on a vector register that nobody wrote.
    #[error("uninitialised register: {decides} depends on a vector register that was never written")]
    UnwrittenRegister {
        /// What depends on it.
        decides: Decision,
    },
    /// Sanitizer: two waves touch a byte of LDS without a barrier between them, and one changes it.
    #[error(
        "data race in LDS: {access} of the byte at offset {offset:#x}, and {other} by wave {wave} at pc {pc:#x} with no \
         barrier in between"
    )]
    Race {
        /// Offset of the first byte both touch.
        offset: u64,
        /// What this wave does.
        access: Access,
        /// What the other wave did.
        other: Access,
        /// The other wave.
        wave: usize,
        /// Where it did: byte offset from the kernel's first instruction.
        pc: usize,
    },
    /// Sanitizer: two waves of a workgroup touch a byte of device memory without a barrier between them, and one stores.
    #[error(
        "data race in device memory: {access} of the byte at {address:#x}, after a {other} by wave {wave} of the workgroup \
         at pc {pc:#x} with no barrier in between"
    )]
    DeviceRace {
        /// Guest address of the first byte both touch.
        address: u64,
        /// Load or store.
        access: Access,
        /// What the other wave did.
        other: Access,
        /// The other wave.
        wave: usize,
        /// Where it did: byte offset from the kernel's first instruction.
        pc: usize,
    },
    /// Sanitizer: a workgroup touches device memory that an earlier one of the same launch stored to; nothing orders
    /// workgroups.
    #[error(
        "data race between workgroups: {access} of the byte at {address:#x}, to which workgroup ({}, {}, {}) stored at pc \
         {pc:#x} in the same launch",
        .group[0], .group[1], .group[2]
    )]
    GroupRace {
        /// Guest address of the first byte both touch.
        address: u64,
        /// Load or store.
        access: Access,
        /// The workgroup that stored.
        group: [u32; 3],
        /// Where it did: byte offset from the kernel's first instruction.
        pc: usize,
    },
    /// Sanitizer: the waves of a workgroup do not meet at one barrier.
    #[error("barrier divergence: this wave waits, wave {wave} {}", elsewhere(*.at))]
    BarrierDivergence {
        /// A wave that is somewhere else.
        wave: usize,
        /// The other barrier it waits at, as a byte offset from the kernel's first instruction; `None`: it has
        /// ended.
        at: Option<usize>,
    },
    /// Sanitizer: an address that the card rounds down or refuses.
    #[error("misaligned: {access} of {bytes} bytes at {address:#x}, which must be a multiple of {alignment}")]
    Misaligned {
        /// Load or atomic.
        access: Access,
        /// Guest address, or offset in LDS.
        address: u64,
        /// Bytes asked for.
        bytes: u64,
        /// What the address must be a multiple of.
        alignment: u64,
    },
    /// Sanitizer: a read past the kernel's arguments.
    #[error(
        "invalid kernarg access: {access} of {bytes} bytes at offset {offset}, the kernel's arguments have {size} bytes"
    )]
    Kernarg {
        /// Byte offset in the kernarg segment; negative in front of it.
        offset: i64,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes of the kernarg segment, hidden arguments included.
        size: u64,
        /// Load, store or atomic.
        access: Access,
    },
    /// An instruction, or a form of one, that this emulator does not execute.
    #[error("not implemented by the software GPU: {what}")]
    Unimplemented {
        /// Mnemonic and encoding words.
        what: String,
    },
    /// The kernel executed a trap, for instance `__builtin_trap` or a failed device `assert`.
    #[error("the kernel trapped (s_trap {id})")]
    Trap {
        /// Trap number.
        id: u16,
    },
    /// A wave halted. A card would wait for a debugger to resume it, and the launch would never end.
    #[error("the wave halted (s_sethalt {bits}), and nothing resumes it: the launch would never end")]
    Halt {
        /// The instruction's bits.
        bits: u16,
    },
    /// The program counter left the kernel's code.
    #[error("the program counter left the kernel's code: {target:#x}")]
    WildJump {
        /// Where it went: byte offset from the kernel's first instruction.
        target: i64,
    },
    /// A wave executed more instructions than the launch allows.
    #[error("watchdog: the wave executed {limit} instructions without ending")]
    Watchdog {
        /// Instructions a wave may execute.
        limit: u64,
    },
    /// The launch ran for longer than it may.
    #[error("watchdog: the launch ran for more than {limit} ms")]
    Timeout {
        /// Milliseconds that the launch may take.
        limit: u64,
    },
}

/// Where the other wave of a barrier divergence is.
fn elsewhere(at: Option<usize>) -> String {
    at.map_or("has ended".to_owned(), |pc| {
        format!("waits at another barrier, at pc {pc:#x}")
    })
}

/// A fault of a running kernel, with everything that tells where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kernel name.
    pub kernel: String,
    /// Byte offset of the instruction from the kernel's first one; in a function that lies before the kernel it wraps.
    pub pc: usize,
    /// The instruction in assembly text.
    pub instruction: String,
    /// Workgroup id in the grid.
    pub workgroup: [u32; 3],
    /// Wave within the workgroup.
    pub wave: usize,
    /// Lane within the wave, when one lane is to blame.
    pub lane: Option<usize>,
    /// Work-item id of that lane in its workgroup.
    pub work_item: Option<[u32; 3]>,
    /// Source file and line of the instruction, where the code object has debug information.
    pub source: Option<String>,
    /// What went wrong.
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        let pc = self.pc.cast_signed();
        let sign = if pc < 0 { "-" } else { "" };
        write!(
            f,
            "kernel `{}`: {}; at pc {sign}{:#x} `{}`",
            self.kernel,
            self.kind,
            pc.unsigned_abs(),
            self.instruction
        )?;
        write!(f, ", workgroup ({x}, {y}, {z}), wave {}", self.wave)?;
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        if let Some([x, y, z]) = self.work_item {
            write!(f, ", work-item ({x}, {y}, {z})")?;
        }
        if let Some(source) = &self.source {
            write!(f, ", source {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: FaultKind) -> Fault {
        Fault {
            kernel: "badd_f32".into(),
            pc: 0x40,
            instruction: "global_store_b32 v0, v1, s[2:3]".into(),
            workgroup: [3, 0, 1],
            wave: 2,
            lane: Some(7),
            work_item: Some([71, 0, 0]),
            source: None,
            kind,
        }
    }

    #[test]
    fn the_text_names_kernel_instruction_place_and_allocation() {
        let place = Place::After {
            base: 0x2000_0000_0000,
            size: 64,
            past: 4,
        };
        let memory = MemoryFault {
            address: 0x2000_0000_0044,
            bytes: 4,
            access: Access::Store,
            place,
        };
        assert_eq!(
            fault(FaultKind::Memory(memory)).to_string(),
            "kernel `badd_f32`: invalid memory access: store of 4 bytes at 0x200000000044: 4 bytes past the end of the \
             allocation 0x200000000000 of 64 bytes; at pc 0x40 `global_store_b32 v0, v1, s[2:3]`, \
             workgroup (3, 0, 1), wave 2, lane 7, work-item (71, 0, 0)"
        );
    }

    #[test]
    fn an_access_across_the_end_says_how_much_was_inside() {
        let place = Place::After {
            base: 0x1000,
            size: 6,
            past: -2,
        };
        assert_eq!(
            place.to_string(),
            "across the end of the allocation 0x1000 of 6 bytes (2 bytes inside)"
        );
    }
}
