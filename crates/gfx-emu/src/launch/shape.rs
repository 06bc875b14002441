//! The work-items of a workgroup. Those at the end of a grid may have fewer than the others.

use super::Dispatch;

/// A workgroup: its size, and what its waves start with.
#[derive(Clone, Debug)]
pub(super) struct GroupShape<const W: usize> {
    /// Work-items in x, y, z.
    pub(super) block: [u32; 3],
    /// Work-items in all.
    pub(super) items: usize,
    /// The first vector register of each wave: the work-item ids, packed.
    pub(super) ids: Vec<[u32; W]>,
}

impl<const W: usize> GroupShape<W> {
    pub(super) fn new(block: [u32; 3]) -> Self {
        let items = block.iter().product::<u32>() as usize;
        let mut ids = vec![[0; W]; items.div_ceil(W)];
        for item in 0..items {
            let [x, y, z] = work_item_id(block, item);
            ids[item / W][item % W] = x | y << 10 | z << 20;
        }
        GroupShape { block, items, ids }
    }

    pub(super) fn waves(&self) -> usize {
        self.ids.len()
    }
}

/// Work-items in x, y, z of the last workgroup of a grid of `items` work-items.
pub(super) fn last(items: [u32; 3], block: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|dim| match items[dim] % block[dim] {
        0 => block[dim],
        rest => rest,
    })
}

/// Work-items in x, y, z of workgroup `id`, where the last one has `last`.
pub(super) fn block(dispatch: &Dispatch<'_>, last: [u32; 3], id: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|dim| match dispatch.grid[dim] - id[dim] {
        1 => last[dim],
        _ => dispatch.block[dim],
    })
}

/// Place of a workgroup's work-item number `item`: x counts fastest.
pub(super) fn work_item_id(block: [u32; 3], item: usize) -> [u32; 3] {
    let item = item as u32;
    [
        item % block[0],
        item / block[0] % block[1],
        item / block[0] / block[1],
    ]
}
