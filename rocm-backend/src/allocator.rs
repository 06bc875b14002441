//! How device memory is handed out: `ROCM_ALLOCATOR=auto|caching|exact`.

use std::ffi::OsString;

use crate::{DriverKind, Error, Result};

/// The environment variable that chooses.
pub(crate) const VARIABLE: &str = "ROCM_ALLOCATOR";

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
    /// What the variable's value asks for.
    pub(crate) fn parse(variable: Option<OsString>, driver: DriverKind) -> Result<Allocator> {
        let auto = Allocator::auto(driver);
        let Some(value) = variable.filter(|value| !value.is_empty()) else {
            return Ok(auto);
        };
        match value.to_str() {
            Some("auto") => Ok(auto),
            Some("caching") => Ok(Allocator::Caching),
            Some("exact") => Ok(Allocator::Exact),
            _ => Err(Error::Driver {
                reason: format!("{VARIABLE}={} is none of auto, caching, exact", value.display()),
                tried: Vec::new(),
            }),
        }
    }

    /// What a driver gets unasked.
    pub(crate) fn auto(driver: DriverKind) -> Allocator {
        match driver {
            DriverKind::System => Allocator::Caching,
            DriverKind::Soft => Allocator::Exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_software_device_keeps_nothing_unless_asked() {
        let parse = |value: &str, driver| Allocator::parse(Some(value.into()), driver);
        assert_eq!(parse("", DriverKind::Soft).unwrap(), Allocator::Exact);
        assert_eq!(parse("caching", DriverKind::Soft).unwrap(), Allocator::Caching);
        assert_eq!(parse("auto", DriverKind::System).unwrap(), Allocator::Caching);
        assert_eq!(parse("exact", DriverKind::System).unwrap(), Allocator::Exact);
        let refusal = parse("Exact", DriverKind::Soft).unwrap_err().to_string();
        assert!(
            refusal.contains("ROCM_ALLOCATOR=Exact is none of auto, caching, exact"),
            "{refusal}"
        );
    }
}
