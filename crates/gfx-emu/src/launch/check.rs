//! What a launch is refused for: by the device, by the kernel, or because nothing here provides it.

use code_object::{ArgKind, UserSgpr};

use super::limits::Limits;
use super::{Dispatch, LaunchError, private_size};
use crate::Target;
use crate::code::Kernel;
use crate::isa::Isa;

/// Private memory that the cards can give a wave, in bytes.
const WAVE_SCRATCH: u64 = 8 << 20;

/// Refuses what the device, the kernel or this emulator does not allow.
pub(super) fn check(target: Target, dispatch: &Dispatch<'_>) -> Result<(), LaunchError> {
    let Dispatch { kernel, kernarg, .. } = *dispatch;
    let name = || kernel.name.clone();
    check_kernel(target, kernel, private_size(&kernel.descriptor))?;
    if let Some(arg) = kernel
        .args
        .iter()
        .find(|arg| matches!(arg.kind, ArgKind::Other(_)))
    {
        let what = format!("an argument of kind `{}`", arg.kind);
        return Err(LaunchError::Unsupported { kernel: name(), what });
    }
    check_sizes(target, dispatch, kernel.max_workgroup_size)?;
    // A caller's argument struct may be padded at its end to the alignment of its members, 16 bytes at most.
    let expected = kernel.explicit_kernarg_size();
    let padded = expected.next_multiple_of(16).min(kernel.kernarg_size) as usize;
    if !(expected as usize..=padded).contains(&kernarg.len()) {
        return Err(LaunchError::KernargSize {
            kernel: name(),
            got: kernarg.len(),
            expected,
        });
    }
    Ok(())
}

/// Refuses a kernel for another processor, and one that needs what nothing here provides.
pub(super) fn check_kernel(target: Target, kernel: &Kernel, scratch: u32) -> Result<(), LaunchError> {
    let name = || kernel.name.clone();
    let Some(isa) = Isa::of(target) else {
        return Err(LaunchError::UnsupportedTarget {
            kernel: name(),
            target,
        });
    };
    match unsupported(isa, kernel, scratch) {
        None => Ok(()),
        Some(what) => Err(LaunchError::Unsupported { kernel: name(), what }),
    }
}

/// Workgroups whose ids have 16 bits.
const SHARED_IDS: u32 = 1 << 16;

/// Refuses workgroups of more than `limit` work-items, and grids and LDS that the device does not have.
pub(super) fn check_sizes(target: Target, dispatch: &Dispatch<'_>, limit: u32) -> Result<(), LaunchError> {
    let Dispatch {
        kernel,
        grid,
        block,
        dynamic_lds,
        ..
    } = *dispatch;
    let name = || kernel.name.clone();
    let limit = limit.min(Limits::DEVICE.workgroup_size);
    let size = block.iter().try_fold(1_u32, |product, n| product.checked_mul(*n));
    if !size.is_some_and(|size| (1..=limit).contains(&size)) {
        return Err(LaunchError::BlockSize {
            kernel: name(),
            block,
            limit,
        });
    }
    let fits = grid
        .iter()
        .zip(block)
        .all(|(groups, items)| groups.checked_mul(items).is_some());
    // GFX12's ids of workgroups in y and z share a register.
    let shares = Isa::of(target).is_some_and(Isa::is_gfx12);
    let fits = fits && !(shares && grid[1].max(grid[2]) > SHARED_IDS);
    let groups = grid
        .iter()
        .try_fold(1_u64, |product, n| product.checked_mul(u64::from(*n)));
    if !groups.is_some_and(|groups| fits && groups > 0) {
        return Err(LaunchError::GridSize { kernel: name(), grid });
    }
    let requested = u64::from(kernel.descriptor.group_segment_size) + u64::from(dynamic_lds);
    let device = Limits::of(target);
    if requested > u64::from(device.lds) {
        return Err(LaunchError::Lds {
            kernel: name(),
            requested,
            limit: device.lds,
        });
    }
    Ok(())
}

/// What the kernel's descriptor asks for and nothing here provides.
fn unsupported(isa: Isa, kernel: &Kernel, scratch: u32) -> Option<String> {
    let descriptor = &kernel.descriptor;
    let lanes = descriptor.wavefront_size();
    if !isa.has_waves_of(lanes) {
        return Some(format!("waves of {lanes} lanes"));
    }
    let scratch = u64::from(scratch);
    if scratch * lanes as u64 > WAVE_SCRATCH {
        return Some(format!("{scratch} bytes of private memory for each work-item"));
    }
    if descriptor.workgroup_info_enabled() {
        return Some("the workgroup info SGPR".to_owned());
    }
    let absent = [UserSgpr::PrivateSegmentBuffer, UserSgpr::FlatScratchInit];
    let is_absent =
        |register: &UserSgpr| !matches!(isa, Isa::Rdna2 | Isa::Cdna2) && absent.contains(register);
    if let Some(register) = descriptor.user_sgprs().find(is_absent) {
        return Some(format!("{register:?} in SGPRs, which this target does not have"));
    }
    let preloaded = descriptor.kernarg_preload();
    if !preloaded.is_empty() && 4 * preloaded.end > kernel.kernarg_size as usize {
        return Some(format!(
            "dwords {preloaded:?} of a kernarg segment of {} bytes in SGPRs",
            kernel.kernarg_size
        ));
    }
    let filled = descriptor.user_sgprs().map(UserSgpr::registers).sum::<usize>() + preloaded.len();
    (filled > descriptor.user_sgpr_count()).then(|| {
        format!(
            "{filled} user SGPRs, more than the {} it declares",
            descriptor.user_sgpr_count()
        )
    })
}
