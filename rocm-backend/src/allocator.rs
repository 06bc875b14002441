//! How device memory is handed out: `ROCM_ALLOCATOR=auto|caching|exact`.

use rocm_env::Allocation;

use crate::DriverKind;

/// What becomes of device memory that a buffer gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allocator {
    /// It is kept for the next buffer of about its size. What `auto` means on a GPU.
    Caching,
    /// It goes back to HIP at once, and blocks are as long as was asked for. What `auto` means on the software device, which
    /// finds accesses out of bounds and after a free that way.
    Exact,
}

impl Allocator {
    /// What the variable asks for, with a driver.
    pub(crate) fn chosen(choice: Allocation, driver: DriverKind) -> Allocator {
        match (choice, driver) {
            (Allocation::Caching, _) | (Allocation::Auto, DriverKind::System | DriverKind::Nvidia) => {
                Allocator::Caching
            }
            (Allocation::Exact, _) | (Allocation::Auto, DriverKind::Soft) => Allocator::Exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_software_device_keeps_nothing_unless_asked() {
        let chosen = Allocator::chosen;
        assert_eq!(chosen(Allocation::Auto, DriverKind::Soft), Allocator::Exact);
        assert_eq!(chosen(Allocation::Caching, DriverKind::Soft), Allocator::Caching);
        for card in [DriverKind::System, DriverKind::Nvidia] {
            assert_eq!(chosen(Allocation::Auto, card), Allocator::Caching);
        }
        assert_eq!(chosen(Allocation::Exact, DriverKind::System), Allocator::Exact);
    }
}
