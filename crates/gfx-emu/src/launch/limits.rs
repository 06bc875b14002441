//! What a card allows a launch.

use crate::Target;

/// What the device allows a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Work-items of a workgroup.
    pub workgroup_size: u32,
    /// LDS bytes of a workgroup.
    pub lds: u32,
}

impl Limits {
    /// Of the cards that [`Limits::of`] does not name.
    pub const DEVICE: Limits = Limits {
        workgroup_size: 1024,
        lds: 64 * 1024,
    };

    /// Of the card that executes a target's kernels.
    pub fn of(target: Target) -> Limits {
        match target {
            Target::Gfx950 => Limits {
                lds: 160 * 1024,
                ..Limits::DEVICE
            },
            Target::Gfx1250 => Limits {
                lds: 320 * 1024,
                ..Limits::DEVICE
            },
            _ => Limits::DEVICE,
        }
    }
}
