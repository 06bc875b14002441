//! How many waves a SIMD can hold of a kernel, by the registers and the LDS that it takes.
//!
//! The formulas are those of LLVM's AMDGPU backend, by name: `getTotalNumVGPRs`, `getVGPRAllocGranule`, `getMaxWavesPerEU` and
//! `getEUsPerCU` of `AMDGPUBaseInfo.cpp`, `GCNSubtarget::getOccupancyWithNumSGPRs` and `getOccupancyWithLocalMemSize`. The sizes that
//! they name are in the "User Guide for AMDGPU Backend" and in the chapters on LDS of the ISA documents.

use crate::Target;
use crate::code::Kernel;
use crate::isa::Isa;

/// What limits the waves of a SIMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// As many as a SIMD has places for.
    Waves,
    /// The vector registers.
    Vgprs,
    /// The scalar registers.
    Sgprs,
    /// The LDS of the workgroups.
    Lds,
    /// The workgroups that can be at a barrier of their own.
    Workgroups,
}

impl Limit {
    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Waves => "waves",
            Limit::Vgprs => "vgprs",
            Limit::Sgprs => "sgprs",
            Limit::Lds => "lds",
            Limit::Workgroups => "workgroups",
        }
    }
}

/// What a launch takes of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Lanes of a wave.
    pub lanes: u32,
    /// Vector registers of a wave that the code names, accumulation registers included.
    pub vgprs: u32,
    /// Scalar registers of a wave that the code names.
    pub sgprs: u32,
    /// LDS of a workgroup in bytes, dynamic LDS included.
    pub lds: u32,
    /// Private memory of a work-item in bytes.
    pub scratch: u32,
    /// Waves that a SIMD can hold, those of several workgroups together.
    pub occupancy: u32,
    /// What allows no more.
    pub limit: Limit,
}

/// What a processor offers.
struct Offer {
    /// Vector registers of a SIMD, in registers of a wave.
    vgprs: u32,
    /// Registers come in blocks of so many.
    granule: u32,
    waves: u32,
    /// SIMDs that share an LDS.
    simds: u32,
    lds: u32,
    /// LDS comes in blocks of so many bytes.
    lds_granule: u32,
    workgroups: u32,
}

/// The processor as a kernel sees it: on RDNA the two compute units of a work-group processor share their LDS, if it asks for that.
fn offer(isa: Isa, kernel: &Kernel) -> Offer {
    let wide = kernel.descriptor.wavefront_size() == 64;
    match isa {
        Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 => {
            let both = kernel.descriptor.work_group_processor_mode();
            // All of RDNA3 and RDNA4 that are here have half as many again as RDNA2, and blocks of such a size.
            let (vgprs, granule) = if isa == Isa::Rdna2 { (1024, 16) } else { (1536, 24) };
            Offer {
                vgprs: if wide { vgprs / 2 } else { vgprs },
                granule: if wide { granule / 2 } else { granule },
                waves: 16,
                simds: if both { 4 } else { 2 },
                lds: if both { 128 << 10 } else { 64 << 10 },
                lds_granule: 1024,
                workgroups: if both { 32 } else { 16 },
            }
        }
        // LLVM's figures.
        Isa::Gfx125 => Offer {
            vgprs: 1024,
            granule: 16,
            waves: 16,
            simds: 4,
            lds: 320 << 10,
            lds_granule: 1024,
            workgroups: 16,
        },
        Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4 => Offer {
            vgprs: 512,
            granule: 8,
            waves: 8,
            simds: 4,
            lds: if isa == Isa::Cdna4 { 160 << 10 } else { 64 << 10 },
            lds_granule: if isa == Isa::Cdna4 { 1280 } else { 512 },
            workgroups: 16,
        },
    }
}

impl Resources {
    /// Of a launch of `kernel` with workgroups of `block` work-items and so many bytes of dynamic LDS; `None` of a target that is
    /// not executed.
    pub fn of(target: Target, kernel: &Kernel, block: [u32; 3], dynamic_lds: u32) -> Option<Resources> {
        let isa = Isa::of(target)?;
        let descriptor = &kernel.descriptor;
        let lanes = descriptor.wavefront_size() as u32;
        let lds = descriptor.group_segment_size.saturating_add(dynamic_lds);
        let items = block.iter().fold(1_u32, |product, n| product.saturating_mul(*n));
        let waves = items.div_ceil(lanes).max(1);
        let offer = offer(isa, kernel);
        // What the descriptor asks for is a multiple of its own, smaller blocks.
        let asked = (isa.vgpr_block(lanes as usize) * descriptor.vgpr_blocks()) as u32;
        let by_vgprs = offer.vgprs / asked.next_multiple_of(offer.granule).max(1);
        let by_sgprs = match (isa, kernel.sgprs) {
            // Every wave has all of them.
            (Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 | Isa::Gfx125, _) | (_, ..=80) => u32::MAX,
            (_, 81..=88) => 9,
            (_, 89..=100) => 8,
            (_, 101..) => 7,
        };
        // Waves of so many workgroups, spread over the SIMDs that share the LDS.
        let spread = |groups: u32| groups.saturating_mul(waves).div_ceil(offer.simds);
        let by_lds = match lds.next_multiple_of(offer.lds_granule) {
            0 => u32::MAX,
            taken => spread((offer.lds / taken).max(1)),
        };
        // A workgroup of one wave needs no place to wait.
        let by_workgroups = if waves > 1 {
            spread(offer.workgroups)
        } else {
            u32::MAX
        };
        let limits = [
            (offer.waves, Limit::Waves),
            (by_vgprs.max(1), Limit::Vgprs),
            (by_sgprs, Limit::Sgprs),
            (by_lds, Limit::Lds),
            (by_workgroups, Limit::Workgroups),
        ];
        let (occupancy, limit) = limits.into_iter().min_by_key(|(waves, _)| *waves)?;
        Some(Resources {
            lanes,
            vgprs: kernel.vgprs,
            sgprs: kernel.sgprs,
            lds,
            scratch: descriptor.private_segment_size,
            occupancy,
            limit,
        })
    }
}
