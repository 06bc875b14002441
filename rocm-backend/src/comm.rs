//! Several devices that work together: sums over all of them, parts gathered from all, messages between two.
//!
//! The functions are RCCL's. Over NVIDIA's driver they are NCCL's, which have the same names; on software devices a model on the host
//! answers, and the trace says so ([`Level::Model`](crate::trace::Level::Model)). An operation takes a view of each rank's and gives a
//! buffer of each rank's. It is submitted to all streams at once, and nothing waits.
//!
//! ```no_run
//! use rocm_backend::comm::{Group, Reduction};
//! use rocm_backend::{Device, Result};
//!
//! fn main() -> Result<()> {
//!     let group = Group::new(&[Device::new(0)?, Device::new(1)?])?;
//!     let parts = [group.devices()[0].upload(&[1.0_f32, 2.0])?, group.devices()[1].upload(&[10.0, 20.0])?];
//!     let sums = group.all_reduce(Reduction::Sum, &[parts[0].view(), parts[1].view()])?;
//!     assert_eq!(sums[1].download::<f32>()?, [11.0, 22.0]);
//!     Ok(())
//! }
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rocm_rs::rccl::bindings::{self, ncclRedOp_t};

use crate::hip::ccl::{GroupCall, Ranks};
use crate::hip::launch::indexing::Run;
use crate::ops::indexing::Dense;
use crate::{Device, DynBuffer, Error, Library, Result, View};

/// How the ranks' elements are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Added up; integers wrap.
    Sum,
    /// Multiplied; integers wrap.
    Product,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The sum, divided by the number of ranks.
    Mean,
}

impl Reduction {
    fn op(self) -> ncclRedOp_t {
        match self {
            Reduction::Sum => bindings::ncclSum,
            Reduction::Product => bindings::ncclProd,
            Reduction::Max => bindings::ncclMax,
            Reduction::Min => bindings::ncclMin,
            Reduction::Mean => bindings::ncclAvg,
        }
    }
}

/// Devices of this process, each of which is a rank: its number in the list.
pub struct Group {
    devices: Vec<Device>,
    ranks: Mutex<Ranks>,
}

impl Group {
    /// A group of `devices`, no two of which are one GPU.
    ///
    /// # Errors
    /// [`Error::Parameter`]: the list is empty, or names a GPU twice. [`Error::Driver`]: RCCL was not found; the error says where it was
    /// looked for. [`Error::Hip`].
    pub fn new(devices: &[Device]) -> Result<Group> {
        const OP: &str = "comm";
        let Some(first) = devices.first() else {
            return Err(Error::parameter(OP, "a group needs a device"));
        };
        let mut ordinals: Vec<usize> = devices.iter().map(Device::ordinal).collect();
        ordinals.sort_unstable();
        if let Some(twice) = ordinals.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::parameter(
                OP,
                format!("device {} is to be two ranks", twice[0]),
            ));
        }
        if let Library::Absent(why) = first.info().driver().rccl() {
            return Err(Error::Driver {
                reason: format!("no library carries buffers between devices: {why}"),
                tried: Vec::new(),
            });
        }
        let contexts = devices
            .iter()
            .map(|device| Arc::clone(device.context()))
            .collect();
        Ok(Group {
            devices: devices.to_vec(),
            ranks: Mutex::new(Ranks::new(contexts)?),
        })
    }

    /// The devices, by rank.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// For each rank the join of all `parts`, which have one shape and one dtype: part `r` is of rank `r`.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::DTypes`] for parts that differ, [`Error::Devices`] for one that is not of its rank's device,
    /// [`Error::Unsupported`] for i16 and f8e4m3; [`Error::Capture`] while a graph is captured; [`Error::OutOfMemory`], [`Error::Hip`],
    /// [`Error::DeviceFault`].
    pub fn all_reduce(&self, reduction: Reduction, parts: &[View<'_>]) -> Result<Vec<DynBuffer>> {
        const OP: &str = "all_reduce";
        let (parts, len) = self.parts(OP, parts)?;
        self.run(OP, GroupCall::AllReduce(reduction.op()), &runs(&parts), len)
    }

    /// For each rank the elements of all `parts`, one rank's after the other's.
    ///
    /// # Errors
    /// As [`Group::all_reduce`], but for every dtype.
    pub fn all_gather(&self, parts: &[View<'_>]) -> Result<Vec<DynBuffer>> {
        const OP: &str = "all_gather";
        let (parts, len) = self.parts(OP, parts)?;
        if len.checked_mul(self.devices.len()).is_none() {
            return Err(Error::too_large(
                OP,
                "there are more elements than can be counted",
            ));
        }
        self.run(OP, GroupCall::AllGather, &runs(&parts), len)
    }

    /// For each rank its share of the join of all `parts`, whose elements are divided among the ranks in order.
    ///
    /// # Errors
    /// As [`Group::all_reduce`]; [`Error::Shape`] where the ranks' shares would differ.
    pub fn reduce_scatter(&self, reduction: Reduction, parts: &[View<'_>]) -> Result<Vec<DynBuffer>> {
        const OP: &str = "reduce_scatter";
        let (parts, len) = self.parts(OP, parts)?;
        let ranks = self.devices.len();
        if !len.is_multiple_of(ranks) {
            return Err(Error::shape(OP, format!("{len} elements for {ranks} ranks")));
        }
        self.run(
            OP,
            GroupCall::ReduceScatter(reduction.op()),
            &runs(&parts),
            len / ranks,
        )
    }

    /// For each rank the elements of `x`, which is of rank `root`.
    ///
    /// # Errors
    /// Those of [`Group::all_gather`]. [`Error::Parameter`]: the group has no rank `root`.
    pub fn broadcast(&self, root: usize, x: View<'_>) -> Result<Vec<DynBuffer>> {
        const OP: &str = "broadcast";
        let (x, len) = self.part(OP, root, x)?;
        // The others send nothing: what stands in their place is not read.
        let runs = vec![x.run(); self.devices.len()];
        self.run(OP, GroupCall::Broadcast { root }, &runs, len)
    }

    /// A copy of `x`, which is of rank `from`, for rank `to`.
    ///
    /// # Errors
    /// As [`Group::broadcast`]; [`Error::Parameter`] where both ranks are one.
    pub fn send(&self, from: usize, to: usize, x: View<'_>) -> Result<DynBuffer> {
        const OP: &str = "send";
        self.rank(OP, to)?;
        if from == to {
            return Err(Error::parameter(OP, format!("rank {from} is to send to itself")));
        }
        let (x, len) = self.part(OP, from, x)?;
        let runs = vec![x.run(); self.devices.len()];
        let mut received = self.run(OP, GroupCall::Message { from, to }, &runs, len)?;
        Ok(received.swap_remove(to))
    }

    fn rank(&self, op: &str, rank: usize) -> Result<&Device> {
        let ranks = self.devices.len();
        self.devices
            .get(rank)
            .ok_or_else(|| Error::parameter(op, format!("there is no rank {rank} of {ranks}")))
    }

    /// A rank's elements, side by side, and how many.
    fn part<'a>(&self, op: &str, rank: usize, x: View<'a>) -> Result<(Dense<'a>, usize)> {
        let x = x.check(op)?;
        if !x.buffer().device().same(self.rank(op, rank)?) {
            return Err(Error::Devices { op: op.to_owned() });
        }
        let len = x.numel();
        Ok((Dense::of(x)?, len))
    }

    /// The elements of all ranks, and how many each has: as many of one dtype.
    fn parts<'a>(&self, op: &str, views: &[View<'a>]) -> Result<(Vec<Dense<'a>>, usize)> {
        if views.len() != self.devices.len() {
            let (found, ranks) = (views.len(), self.devices.len());
            return Err(Error::shape(op, format!("{found} parts for {ranks} ranks")));
        }
        for view in views {
            Error::unless_same_dtype(op, views[0].buffer().dtype(), view.buffer().dtype())?;
            if view.dims() != views[0].dims() {
                let (one, other) = (views[0].dims(), view.dims());
                return Err(Error::shape(op, format!("parts of shapes {one:?} and {other:?}")));
            }
        }
        let parts = views
            .iter()
            .enumerate()
            .map(|(rank, view)| self.part(op, rank, *view));
        let (parts, lens): (Vec<_>, Vec<_>) = parts.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok((parts, lens[0]))
    }

    /// Has every rank do `call`, which names `count` elements, and gives what each gets.
    fn run(&self, op: &str, call: GroupCall, sources: &[Run<'_>], count: usize) -> Result<Vec<DynBuffer>> {
        let dtype = sources[0].buffer.dtype();
        let ranks = self.devices.iter().enumerate();
        let out = ranks.map(|(rank, device)| {
            DynBuffer::uninit(device, dtype, call.received(rank, count, self.devices.len()))
        });
        let mut out: Vec<DynBuffer> = out.collect::<Result<_>>()?;
        let mut ranks = self.ranks.lock().unwrap_or_else(PoisonError::into_inner);
        ranks.submit(op, call, sources, &mut out)?;
        Ok(out)
    }
}

fn runs<'a>(parts: &'a [Dense<'_>]) -> Vec<Run<'a>> {
    parts.iter().map(Dense::run).collect()
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.devices).finish()
    }
}
