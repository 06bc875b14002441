//! The kernel descriptor: the 64 bytes at a `.kd` symbol that tell the hardware how to start a wave.
//!
//! Layout: LLVM, "User Guide for AMDGPU Backend", section "Kernel Descriptor". Bits are interpreted as gfx10 and later,
//! and gfx90a and later, do; the caller knows the target.

/// Size of a descriptor in bytes.
pub const DESCRIPTOR_BYTES: usize = 64;

/// Bytes in one step of the LDS size in COMPUTE_PGM_RSRC2.
const LDS_BLOCK: u32 = 512;

/// What a kernel asks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Static LDS of a workgroup, in bytes.
    pub group_segment_size: u32,
    /// Private memory (scratch) of a work-item, in bytes.
    pub private_segment_size: u32,
    /// Size of the kernarg segment, in bytes; 0 when the compiler left it to the metadata.
    pub kernarg_size: u32,
    /// Where the code starts, in bytes from the descriptor.
    pub entry_offset: i64,
    rsrc1: u32,
    rsrc2: u32,
    rsrc3: u32,
    properties: u16,
    preload: u16,
}

/// What the user SGPRs hold, in the order in which the hardware fills them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSgpr {
    /// A buffer descriptor of private memory.
    PrivateSegmentBuffer,
    /// Address of the dispatch packet.
    DispatchPtr,
    /// Address of the queue.
    QueuePtr,
    /// Address of the kernarg segment.
    KernargSegmentPtr,
    /// Number of the dispatch.
    DispatchId,
    /// Where the wave's private memory is.
    FlatScratchInit,
    /// Bytes of private memory of a work-item.
    PrivateSegmentSize,
}

impl UserSgpr {
    /// In hardware order; the position is the enable bit in the descriptor's properties.
    const ORDER: [UserSgpr; 7] = [
        UserSgpr::PrivateSegmentBuffer,
        UserSgpr::DispatchPtr,
        UserSgpr::QueuePtr,
        UserSgpr::KernargSegmentPtr,
        UserSgpr::DispatchId,
        UserSgpr::FlatScratchInit,
        UserSgpr::PrivateSegmentSize,
    ];

    /// Registers it takes.
    pub fn registers(self) -> usize {
        match self {
            UserSgpr::PrivateSegmentBuffer => 4,
            UserSgpr::DispatchPtr
            | UserSgpr::QueuePtr
            | UserSgpr::KernargSegmentPtr
            | UserSgpr::DispatchId
            | UserSgpr::FlatScratchInit => 2,
            UserSgpr::PrivateSegmentSize => 1,
        }
    }
}

impl KernelDescriptor {
    /// Reads a descriptor.
    pub fn parse(bytes: &[u8; DESCRIPTOR_BYTES]) -> KernelDescriptor {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        KernelDescriptor {
            group_segment_size: word(0),
            private_segment_size: word(4),
            kernarg_size: word(8),
            entry_offset: (u64::from(word(20)) << 32 | u64::from(word(16))).cast_signed(),
            rsrc1: word(48),
            rsrc2: word(52),
            rsrc3: word(44),
            properties: word(56) as u16,
            preload: (word(56) >> 16) as u16,
        }
    }

    /// For code that has no descriptor: `rsrc2` is the hardware's COMPUTE_PGM_RSRC2, the kernarg pointer is in the first two
    /// SGPRs, the compiler's usual modes, and as many vector registers as instructions can name.
    pub fn bare(rsrc2: u32, private_segment_size: u32, kernarg_size: u32, lanes: usize) -> Self {
        // Blocks of 8: 256 registers, and for waves of 64 lanes as many accumulation registers after them.
        let blocks = if lanes == 32 { 31 } else { 63 };
        KernelDescriptor {
            group_segment_size: (rsrc2 >> 15 & 0x1ff) * LDS_BLOCK,
            private_segment_size,
            kernarg_size,
            entry_offset: 0,
            // Denormals are kept, DX10_CLAMP and IEEE are on.
            rsrc1: blocks | 0xf << 16 | 1 << 21 | 1 << 23,
            rsrc2,
            rsrc3: 63,
            properties: 1 << 3 | u16::from(lanes == 32) << 10,
            preload: 0,
        }
    }

    /// Vector registers of a wave, in the blocks in which the processor counts them: 8, but 4 for waves of 64 lanes on RDNA.
    pub fn vgpr_blocks(&self) -> usize {
        (self.rsrc1 as usize & 0x3f) + 1
    }

    /// Where the accumulation registers begin in the registers of a wave of CDNA (gfx90a and later).
    pub fn accumulation_offset(&self) -> usize {
        (self.rsrc3 as usize & 0x3f) * 4 + 4
    }

    /// Lanes of a wave: 32 or 64.
    pub fn wavefront_size(&self) -> usize {
        if self.properties >> 10 & 1 == 1 { 32 } else { 64 }
    }

    /// Whether the waves of a workgroup may be on both compute units of a work-group processor, and share its LDS: bit 29 of
    /// COMPUTE_PGM_RSRC1, of RDNA alone.
    pub fn work_group_processor_mode(&self) -> bool {
        self.rsrc1 >> 29 & 1 == 1
    }

    /// Initial MODE register: rounding and denormals in bits 7:0, DX10_CLAMP bit 8, IEEE bit 9.
    pub fn mode(&self) -> u32 {
        let bit = |at: u32| self.rsrc1 >> at & 1;
        self.rsrc1 >> 12 & 0xff | bit(21) << 8 | bit(23) << 9
    }

    /// The same with other rounding and denormals at the start: bits 7:0 of MODE.
    #[must_use]
    pub fn with_float_mode(self, bits: u8) -> KernelDescriptor {
        KernelDescriptor {
            rsrc1: self.rsrc1 & !(0xff << 12) | u32::from(bits) << 12,
            ..self
        }
    }

    /// User SGPRs, the unused ones at the end included: workgroup ids follow them. Bit 6 is one of theirs on gfx1250, and zero elsewhere.
    pub fn user_sgpr_count(&self) -> usize {
        (self.rsrc2 >> 1 & 0x3f) as usize
    }

    /// The user SGPRs that are filled, in order.
    pub fn user_sgprs(&self) -> impl Iterator<Item = UserSgpr> {
        let properties = self.properties;
        UserSgpr::ORDER
            .into_iter()
            .enumerate()
            .filter(move |(bit, _)| properties >> bit & 1 == 1)
            .map(|(_, r)| r)
    }

    /// Which of the workgroup ids x, y, z follow the user SGPRs.
    pub fn workgroup_id_enabled(&self) -> [bool; 3] {
        [7, 8, 9].map(|bit| self.rsrc2 >> bit & 1 == 1)
    }

    /// Whether an SGPR with the wave's place in its workgroup follows the workgroup ids.
    pub fn workgroup_info_enabled(&self) -> bool {
        self.rsrc2 >> 10 & 1 == 1
    }

    /// How many of the work-item ids x, y, z a wave starts with, where each has a vector register of its own (before gfx90a, and on
    /// gfx10).
    pub fn work_item_ids(&self) -> usize {
        (self.rsrc2 as usize >> 11 & 3).min(2) + 1
    }

    /// The dwords of the kernarg segment that the hardware loads into the SGPRs after the other user SGPRs. A kernel that has
    /// some starts 256 bytes after its entry, where there is code for hardware that does not load them.
    pub fn kernarg_preload(&self) -> std::ops::Range<usize> {
        let (len, first) = (usize::from(self.preload & 0x7f), usize::from(self.preload >> 7));
        first..first + len
    }

    /// Whether the stack grows at run time beyond what the descriptor says.
    pub fn uses_dynamic_stack(&self) -> bool {
        self.properties >> 11 & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(fields: &[(usize, u32)]) -> KernelDescriptor {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        for (at, value) in fields {
            bytes[*at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        KernelDescriptor::parse(&bytes)
    }

    #[test]
    fn sizes_and_the_entry_are_read_little_endian() {
        let d = descriptor(&[(0, 1024), (4, 16), (8, 288), (16, 0xffff_ff00), (20, 0xffff_ffff)]);
        assert_eq!(
            (d.group_segment_size, d.private_segment_size, d.kernarg_size),
            (1024, 16, 288)
        );
        assert_eq!(d.entry_offset, -256);
    }

    #[test]
    fn registers_come_in_blocks() {
        assert_eq!(descriptor(&[]).vgpr_blocks(), 1);
        assert_eq!(descriptor(&[(48, 0x3f)]).vgpr_blocks(), 64);
    }

    #[test]
    fn accumulation_registers_follow_the_vector_registers() {
        assert_eq!(descriptor(&[]).accumulation_offset(), 4);
        assert_eq!(descriptor(&[(44, 0xffc2)]).accumulation_offset(), 12);
    }

    #[test]
    fn the_compilers_usual_mode_keeps_denormals_and_sets_clamp_and_ieee() {
        // Round to nearest even = 0, both denormal fields = 3, DX10_CLAMP bit 21, IEEE bit 23.
        assert_eq!(descriptor(&[(48, 0xf << 16 | 1 << 21 | 1 << 23)]).mode(), 0x3f0);
        assert_eq!(descriptor(&[(48, 0)]).mode(), 0);
        let usual = descriptor(&[(48, 0xf << 16 | 1 << 21 | 1 << 23)]);
        assert_eq!(usual.with_float_mode(0xc0).mode(), 0x3c0);
        assert_eq!(usual.with_float_mode(0xf0), usual);
    }

    #[test]
    fn bare_code_gets_the_kernarg_pointer_the_usual_mode_and_every_register() {
        // Two user SGPRs, workgroup id x, two blocks of LDS.
        let d = KernelDescriptor::bare(2 << 1 | 1 << 7 | 2 << 15, 16, 24, 64);
        assert_eq!(d.user_sgprs().collect::<Vec<_>>(), [UserSgpr::KernargSegmentPtr]);
        assert_eq!(
            (d.group_segment_size, d.private_segment_size, d.kernarg_size),
            (1024, 16, 24)
        );
        assert_eq!(
            (
                d.mode(),
                d.vgpr_blocks(),
                d.accumulation_offset(),
                d.wavefront_size()
            ),
            (0x3f0, 64, 256, 64)
        );
        assert_eq!(d.workgroup_id_enabled(), [true, false, false]);
        let d = KernelDescriptor::bare(0, 0, 0, 32);
        assert_eq!((d.vgpr_blocks(), d.wavefront_size()), (32, 32));
    }

    #[test]
    fn preloaded_arguments_are_a_range_of_dwords() {
        assert_eq!(descriptor(&[(56, (3 << 7 | 4) << 16)]).kernarg_preload(), 3..7);
        assert!(descriptor(&[(56, 3 << 23)]).kernarg_preload().is_empty());
    }

    #[test]
    fn user_registers_follow_the_hardware_order_not_the_bit_order_of_a_set() {
        let d = descriptor(&[
            (56, 1 << 10 | 1 << 6 | 1 << 3 | 1 << 1),
            (52, 15 << 1 | 1 << 7 | 1 << 9),
        ]);
        let order: Vec<UserSgpr> = d.user_sgprs().collect();
        assert_eq!(
            order,
            [
                UserSgpr::DispatchPtr,
                UserSgpr::KernargSegmentPtr,
                UserSgpr::PrivateSegmentSize
            ]
        );
        assert_eq!(
            (d.user_sgpr_count(), d.workgroup_id_enabled()),
            (15, [true, false, true])
        );
        assert_eq!(d.wavefront_size(), 32);
    }
}
