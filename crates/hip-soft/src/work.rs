//! What a stream does, or a node of a graph.

use std::sync::Arc;
use std::time::Duration;

use soft_runtime::runtime::Runtime;

use crate::device;
use crate::error::{self, INVALID_VALUE, Result};
use crate::event::Event;
use crate::graph::Graph;
use crate::launch::Launch;

/// Between two looks at a number that is waited for.
const LOOK: Duration = Duration::from_micros(100);

/// The size of a box: bytes of a row, rows of a slice, slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl Rows {
    pub(crate) fn line(bytes: u64) -> Rows {
        Rows {
            width: bytes,
            height: 1,
            depth: 1,
        }
    }
}

/// One side of a copy: an address, the bytes from row to row, and the rows from slice to slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) address: u64,
    pub(crate) pitch: u64,
    pub(crate) rows: u64,
}

impl Side {
    pub(crate) fn flat(address: u64) -> Side {
        Side {
            address,
            pitch: 0,
            rows: 0,
        }
    }

    fn at(self, row: u64, slice: u64) -> u64 {
        self.address.wrapping_add(
            self.pitch
                .wrapping_mul(slice.wrapping_mul(self.rows).wrapping_add(row)),
        )
    }
}

/// A copy, whoever owns the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) rows: Rows,
}

/// A fill with 1, 2 or 4 bytes again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) to: Side,
    pub(crate) pattern: u32,
    pub(crate) size: u32,
    pub(crate) rows: Rows,
}

/// A function of the program's that is called, with the numbers by which the program knows it.
#[derive(Clone)]
pub(crate) struct Callback {
    pub(crate) call: Arc<dyn Fn() + Send + Sync>,
    pub(crate) function: usize,
    pub(crate) data: usize,
}

/// What is done.
#[derive(Clone)]
pub(crate) enum Work {
    /// A kernel.
    Kernel(Arc<Launch>),
    /// A copy.
    Copy(Transfer),
    /// A fill.
    Fill(Fill),
    /// A call of the program's.
    Host(Callback),
    /// An event is reached.
    Record(Arc<Event>),
    /// An event is waited for, wherever it is recorded.
    Await(Arc<Event>),
    /// Memory that a graph allocates, which is there as long as the graph.
    Allocate(Arc<Memory>),
    /// The graph's memory at this address is used no more.
    Release(u64),
    /// A number is stored.
    Write { address: u64, value: u64, bytes: u64 },
    /// A number is waited for.
    Until(Until),
    /// An allocation is freed.
    Free(u64),
    /// A graph's, in its order.
    Graph(Arc<[Work]>),
    /// A graph that is a node of another.
    Child(Arc<Graph>),
    /// Nothing.
    Empty,
}

impl Work {
    /// HIP's number for a node of this type.
    pub(crate) fn node_type(&self) -> u32 {
        match self {
            Work::Kernel(_) => 0,
            Work::Copy(_) => 1,
            Work::Fill(_) => 2,
            Work::Host(_) => 3,
            Work::Graph(_) | Work::Child(_) => 4,
            Work::Empty => 5,
            Work::Await(_) => 6,
            Work::Record(_) => 7,
            Work::Allocate(_) => 10,
            Work::Write { .. } | Work::Until(_) => 14,
            Work::Free(_) | Work::Release(_) => 11,
        }
    }

    /// Has `act` look at every event that it records.
    pub(crate) fn records(&self, act: &mut impl FnMut(&Event)) {
        match self {
            Work::Record(event) => act(event),
            Work::Graph(steps) => steps.iter().for_each(|step| step.records(act)),
            _ => {}
        }
    }

    /// Does it. A call that was refused when it was submitted never gets here.
    pub(crate) fn carry_out(&self, runtime: &'static Runtime) -> Result {
        match self {
            Work::Kernel(launch) => launch.carry_out(runtime),
            Work::Copy(copy) => copy.carry_out(runtime),
            Work::Fill(fill) => fill.carry_out(runtime),
            Work::Host(call) => {
                (call.call)();
                Ok(())
            }
            Work::Record(event) => {
                event.reached();
                Ok(())
            }
            Work::Write {
                address,
                value,
                bytes,
            } => {
                let bytes = usize::try_from(*bytes).unwrap_or(8);
                let value = value.to_le_bytes();
                let view = runtime.pools().view();
                view.write(*address, value.get(..bytes).unwrap_or(&value))
                    .map_err(|_| INVALID_VALUE)
            }
            Work::Until(until) => until.carry_out(runtime),
            Work::Free(address) => runtime.pools().free(*address).map_err(error::of),
            Work::Graph(steps) => steps.iter().try_for_each(|step| step.carry_out(runtime)),
            Work::Child(graph) => graph.as_work()?.carry_out(runtime),
            Work::Await(event) => event.wait_in_graph(),
            Work::Allocate(_) | Work::Release(_) | Work::Empty => Ok(()),
        }
    }
}

/// An allocation of a graph.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) address: u64,
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Ok(runtime) = device::runtime() {
            // The address is this allocation's alone; nothing is left to be told.
            runtime.pools().free(self.address).ok();
        }
    }
}

/// A wait for a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    pub(crate) address: u64,
    pub(crate) value: u64,
    pub(crate) mask: u64,
    /// HIP's number of it: at least, equal, any bit in common, neither this nor that bit.
    pub(crate) condition: u32,
    pub(crate) size: u64,
}

impl Until {
    fn carry_out(self, runtime: &Runtime) -> Result {
        let view = runtime.pools().view();
        loop {
            let mut bytes = [0; 8];
            let part = bytes.get_mut(..self.size as usize).ok_or(INVALID_VALUE)?;
            view.read(self.address, part).map_err(|_| INVALID_VALUE)?;
            let found = u64::from_le_bytes(bytes) & self.mask;
            let met = match self.condition {
                0 => found >= self.value,
                1 => found == self.value,
                2 => found & self.value != 0,
                _ => !(found | self.value) & self.mask != 0,
            };
            if met {
                return Ok(());
            }
            // Kernels and the host store without a call.
            std::thread::sleep(LOOK);
        }
    }
}

/// Every row of every slice: its number in the slice, and the slice's.
fn each(rows: Rows, mut act: impl FnMut(u64, u64) -> Result) -> Result {
    (0..rows.depth).try_for_each(|slice| (0..rows.height).try_for_each(|row| act(row, slice)))
}

impl Transfer {
    #[expect(
        unsafe_code,
        reason = "memory of the program, which HIP's caller promises; allocations are checked"
    )]
    fn carry_out(self, runtime: &Runtime) -> Result {
        let pools = runtime.pools();
        each(self.rows, |row, slice| {
            let (to, from) = (self.to.at(row, slice), self.from.at(row, slice));
            // SAFETY: whoever calls a copy of HIP's gives ranges that can be read and written until it is done.
            unsafe { pools.copy(to, from, self.rows.width) }.map_err(error::of)
        })
    }
}

impl Fill {
    #[expect(
        unsafe_code,
        reason = "memory of the program, which HIP's caller promises; allocations are checked"
    )]
    fn carry_out(self, runtime: &Runtime) -> Result {
        let pools = runtime.pools();
        let pattern = self.pattern.to_le_bytes();
        let pattern = pattern.get(..self.size as usize).unwrap_or(&pattern);
        each(self.rows, |row, slice| {
            let to = self.to.at(row, slice);
            // SAFETY: whoever calls a fill of HIP's gives a range that can be written until it is done.
            unsafe { pools.fill(to, pattern, self.rows.width) }.map_err(error::of)
        })
    }
}
