//! The processors that code objects are compiled for, and which of them are executed.

use std::fmt;

/// The processor a code object was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// RDNA3 (RX 7900). Executed, with waves of 32 lanes or of 64.
    Gfx1100,
    /// RDNA3.5 (Radeon 8060S, in Ryzen AI Max). Executed, with waves of 32 lanes or of 64.
    Gfx1151,
    /// RDNA4 (Radeon RX 9060). Executed, with waves of 32 lanes or of 64.
    Gfx1200,
    /// RDNA4 (Radeon RX 9070). Executed, with waves of 32 lanes or of 64.
    Gfx1201,
    /// GFX12.5 (Instinct MI455X). Executed, with waves of 32 lanes.
    Gfx1250,
    /// RDNA2 (Radeon RX 6900 XT). Executed, with waves of 32 lanes or of 64.
    Gfx1030,
    /// CDNA2 (MI200). Executed, with waves of 64 lanes.
    Gfx90a,
    /// CDNA3 (MI300). Executed, with waves of 64 lanes.
    Gfx942,
    /// CDNA4 (MI350). Executed, with waves of 64 lanes.
    Gfx950,
    /// Another one, by its machine number in the ELF header.
    Other(u8),
}

impl Target {
    /// By the machine number in the ELF header, `EF_AMDGPU_MACH`.
    pub(crate) fn of_machine(number: u8) -> Target {
        match number {
            0x41 => Target::Gfx1100,
            0x4a => Target::Gfx1151,
            0x48 => Target::Gfx1200,
            0x4e => Target::Gfx1201,
            0x49 => Target::Gfx1250,
            0x36 => Target::Gfx1030,
            0x3f => Target::Gfx90a,
            0x4c => Target::Gfx942,
            0x4f => Target::Gfx950,
            other => Target::Other(other),
        }
    }

    /// The target of that name, as compilers write it: one of [`Target::EXECUTABLE`].
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
    pub const EXECUTABLE: [Target; 9] = [
        Target::Gfx1100,
        Target::Gfx1151,
        Target::Gfx1200,
        Target::Gfx1201,
        Target::Gfx1030,
        Target::Gfx90a,
        Target::Gfx942,
        Target::Gfx950,
        Target::Gfx1250,
    ];

    /// Lanes of the waves that compilers ask for unless they are told otherwise: 32 from GFX10 on, 64 on CDNA before it.
    pub fn lanes(self) -> usize {
        match self {
            Target::Gfx1100
            | Target::Gfx1151
            | Target::Gfx1200
            | Target::Gfx1201
            | Target::Gfx1250
            | Target::Gfx1030 => 32,
            Target::Gfx90a | Target::Gfx942 | Target::Gfx950 | Target::Other(_) => 64,
        }
    }

    /// Whether kernels of this target can be launched.
    pub fn is_executable(self) -> bool {
        Target::EXECUTABLE.contains(&self)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Gfx1100 => f.write_str("gfx1100"),
            Target::Gfx1151 => f.write_str("gfx1151"),
            Target::Gfx1200 => f.write_str("gfx1200"),
            Target::Gfx1201 => f.write_str("gfx1201"),
            Target::Gfx1250 => f.write_str("gfx1250"),
            Target::Gfx1030 => f.write_str("gfx1030"),
            Target::Gfx90a => f.write_str("gfx90a"),
            Target::Gfx942 => f.write_str("gfx942"),
            Target::Gfx950 => f.write_str("gfx950"),
            Target::Other(mach) => write!(f, "AMD GPU machine {mach:#x}"),
        }
    }
}
