//! Carries out a kernel dispatch packet.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use gfx_emu::{FaultKind, LaunchError, LaunchStats, Packet, launch_packet};

use crate::blit;
use crate::coverage;
use crate::host;
use crate::report;
use crate::runtime::Runtime;
use crate::status::{Answer, Status};

/// Where a dispatch packet has the address of the kernel's descriptor.
const KERNEL_OBJECT: u64 = 32;

/// Runs the kernel of the packet at an address to its end.
pub fn packet(runtime: &Runtime, address: u64) -> Answer<()> {
    let object = host::arena().and_then(|arena| arena.wide(address + KERNEL_OBJECT));
    let object = object.ok_or(Status::InvalidQueue)?.load(SeqCst);
    let Some((loaded, name)) = runtime.loader().kernel_at(object) else {
        report::finding(&format!(
            "a dispatch packet names the kernel object {object:#x}, which is not a kernel of a loaded code object"
        ));
        return Err(Status::InvalidPacketFormat);
    };
    let kernel = loaded.code.kernel(&name).ok_or(Status::Error)?;
    let view = runtime.pools().view();
    let packet = Packet {
        kernel,
        placement: loaded.placement,
        address,
    };
    let start = Instant::now();
    let launched = if cfg!(feature = "planted") {
        Ok(LaunchStats::default())
    } else {
        // The sanitizer watches what the kernel itself accesses.
        let served = (!runtime.options.sanitize)
            .then(|| blit::serve(kernel, address, &view))
            .flatten();
        served.map_or_else(
            || launch_packet(&loaded.code, &packet, &view, &runtime.options),
            Ok,
        )
    };
    // Of a kernel that faulted as well.
    let noted = coverage::launched(&loaded, kernel);
    match launched {
        Ok(stats) => {
            report::ran(object, &loaded.code, kernel, stats, start.elapsed());
            noted
        }
        Err(why) => {
            report::finding(&why.to_string());
            Err(status(&why))
        }
    }
}

fn status(why: &LaunchError) -> Status {
    match why {
        LaunchError::Fault(fault) => match fault.kind {
            FaultKind::Memory(_) => Status::MemoryFault,
            _ => Status::Exception,
        },
        LaunchError::Packet { .. }
        | LaunchError::BlockSize { .. }
        | LaunchError::GridSize { .. }
        | LaunchError::KernargSize { .. } => Status::InvalidPacketFormat,
        LaunchError::Lds { .. } | LaunchError::Busy { .. } => Status::OutOfResources,
        LaunchError::Decode { .. }
        | LaunchError::Unsupported { .. }
        | LaunchError::UnsupportedTarget { .. } => Status::InvalidCodeObject,
    }
}
