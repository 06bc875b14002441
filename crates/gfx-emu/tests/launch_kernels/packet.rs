//! Launches by a dispatch packet, on memory that the host lends.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use gfx_emu::{CodeObject, LaunchError, LaunchOptions, LaunchStats, Memory, Packet, launch_packet};

use crate::compile::compile;

const SOURCE: &str = r#"
KERNEL __attribute__((amdgpu_flat_work_group_size(1, 64))) count(unsigned* seen, unsigned* ids) {
    __atomic_fetch_add(seen + bid(0) + 2 * bid(1), 1, __ATOMIC_RELAXED);
    ids[tid(0) + 100 * tid(1)] = 1;
}
"#;

/// The packet, the arguments and two buffers, one page after the other.
const AT: u64 = 0x7f00_0000_0000;
const PAGE: u64 = 4096;

struct Setup {
    code: CodeObject,
    memory: Memory,
    words: &'static [AtomicU32],
}

impl Setup {
    /// `test` names the files of the compiler: tests run side by side.
    fn new(test: &str, target: &str) -> Setup {
        let code = CodeObject::load(&compile(test, target, SOURCE, &[])).unwrap();
        let mut memory = Memory::new(1 << 20);
        let mut words = Vec::new();
        words.resize_with(4 * PAGE as usize / 4, AtomicU32::default);
        let words: &'static [AtomicU32] = words.leak();
        memory.lend(AT, 4 * PAGE, words, false).unwrap();
        Setup { code, memory, words }
    }

    fn put(&self, address: u64, values: &[u32]) {
        for (i, value) in values.iter().enumerate() {
            self.words[(address - AT) as usize / 4 + i].store(*value, Relaxed);
        }
    }

    fn get(&self, address: u64, count: usize) -> Vec<u32> {
        let first = (address - AT) as usize / 4;
        self.words[first..first + count]
            .iter()
            .map(|word| word.load(Relaxed))
            .collect()
    }

    /// A packet of `items` work-items in workgroups of `block`, with its arguments at `kernarg`.
    fn launch(&mut self, items: [u32; 3], block: [u32; 3], kernarg: u64) -> Result<LaunchStats, LaunchError> {
        let [x, y, z] = block;
        let mut packet = vec![2 | 3 << 16, x | y << 16, z];
        packet.extend(items);
        packet.extend([0, 0, 0, 0, kernarg as u32, (kernarg >> 32) as u32, 0, 0, 0, 0]);
        self.put(AT, &packet);
        let (seen, ids) = (AT + 2 * PAGE, AT + 3 * PAGE);
        let arguments = [seen, ids].map(|at| [at as u32, (at >> 32) as u32]);
        self.put(AT + PAGE, arguments.as_flattened());
        let placement = self.code.place(&mut self.memory).unwrap();
        let packet = Packet {
            kernel: self.code.kernel("count").unwrap(),
            placement,
            address: AT,
        };
        launch_packet(&self.code, &packet, &self.memory, &LaunchOptions::default())
    }
}

#[test]
fn the_last_workgroups_of_a_grid_may_be_partial_in_each_dimension() {
    for target in ["gfx1100", "gfx1201", "gfx1030", "gfx942", "gfx90a"] {
        let mut setup = Setup::new("packet-partial", target);
        // 40 and 13 in x, 6 and 1 in y.
        setup.launch([53, 7, 1], [40, 6, 1], AT + PAGE).unwrap();
        assert_eq!(setup.get(AT + 2 * PAGE, 4), [40 * 6, 13 * 6, 40, 13], "{target}");
        let ids = setup.get(AT + 3 * PAGE, 1000);
        let seen: Vec<usize> = (0..1000).filter(|i| ids[*i] == 1).collect();
        let expected: Vec<usize> = (0..6).flat_map(|y| (0..40).map(move |x| x + 100 * y)).collect();
        assert_eq!(seen, expected, "{target}");
    }
}

#[test]
fn a_workgroup_may_be_larger_than_the_kernel_declares_and_not_than_the_card_allows() {
    let mut setup = Setup::new("packet-large", "gfx1100");
    setup.launch([512, 1, 1], [512, 1, 1], AT + PAGE).unwrap();
    assert_eq!(setup.get(AT + 2 * PAGE, 2), [512, 0]);
    let refused = setup.launch([2048, 1, 1], [2048, 1, 1], AT + PAGE).unwrap_err();
    assert!(
        matches!(refused, LaunchError::BlockSize { limit: 1024, .. }),
        "{refused}"
    );
}

#[test]
fn a_packet_without_work_or_arguments_is_refused() {
    let mut setup = Setup::new("packet-refused", "gfx1100");
    for (items, block, kernarg) in [
        ([0, 1, 1], [64, 1, 1], AT + PAGE),
        ([64, 1, 1], [0, 1, 1], AT + PAGE),
        ([64, 1, 1], [64, 1, 0], AT + PAGE),
        ([64, 1, 1], [64, 1, 1], 0),
        ([64, 1, 1], [64, 1, 1], AT + 4 * PAGE - 8),
        ([64, 1, 1], [64, 1, 1], u64::MAX),
    ] {
        let refused = setup.launch(items, block, kernarg).unwrap_err();
        assert!(
            matches!(refused, LaunchError::Packet { address: AT, .. }),
            "{refused}"
        );
    }
    assert_eq!(setup.get(AT + 2 * PAGE, 4), [0; 4]);
}
