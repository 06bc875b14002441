//! Several ROCm devices that work together, on tensors: sums over all of them, parts gathered from all, messages between two.

use std::ops::Deref;

pub use rocm_backend::comm::Reduction;
use rocm_backend::{DynBuffer, View, comm};

use super::{RocmDevice, RocmStorage};
use crate::{Device, Layout, Result, Shape, Storage, Tensor, bail, op::BackpropOp};

/// ROCm devices of this process, each of which is a rank: its number in the list. The functions are RCCL's, see
/// [`rocm_backend::comm`]. No gradient goes through them.
#[derive(Debug)]
pub struct Comm {
    group: comm::Group,
    devices: Vec<RocmDevice>,
}

impl Comm {
    /// A group of `devices`, no two of which are one GPU.
    ///
    /// # Errors
    /// A device of the list is not a ROCm device. Those of [`comm::Group::new`].
    pub fn new(devices: &[Device]) -> Result<Comm> {
        let devices = devices.iter().map(|device| device.as_rocm_device().cloned());
        let devices: Vec<RocmDevice> = devices.collect::<Result<_>>()?;
        let backends: Vec<_> = devices.iter().map(|device| device.backend().clone()).collect();
        Ok(Comm {
            group: comm::Group::new(&backends)?,
            devices,
        })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.devices.len()
    }

    /// For each rank the join of all `parts`, which have one shape: part `r` is of rank `r`.
    ///
    /// # Errors
    /// Those of [`comm::Group::all_reduce`].
    pub fn all_reduce(&self, reduction: Reduction, parts: &[Tensor]) -> Result<Vec<Tensor>> {
        let sums = with_views(parts, |views| self.group.all_reduce(reduction, views))?;
        self.tensors(sums, parts[0].shape())
    }

    /// For each rank all `parts`, one after the other along the first dimension.
    ///
    /// # Errors
    /// Those of [`comm::Group::all_gather`]; for parts without a dimension.
    pub fn all_gather(&self, parts: &[Tensor]) -> Result<Vec<Tensor>> {
        let all = with_views(parts, |views| self.group.all_gather(views))?;
        let shape = scaled(&parts[0], |rows| rows * self.ranks())?;
        self.tensors(all, &shape)
    }

    /// For each rank its share of the join of all `parts`, which are divided among the ranks along the first dimension.
    ///
    /// # Errors
    /// Those of [`comm::Group::reduce_scatter`]; for a first dimension that the ranks cannot share.
    pub fn reduce_scatter(&self, reduction: Reduction, parts: &[Tensor]) -> Result<Vec<Tensor>> {
        let ranks = self.ranks();
        if let Some(part) = parts.first() {
            if !part.dim(0)?.is_multiple_of(ranks) {
                bail!(
                    "reduce_scatter: {ranks} ranks cannot share the rows of {:?}",
                    part.dims()
                )
            }
        }
        let shares = with_views(parts, |views| self.group.reduce_scatter(reduction, views))?;
        let shape = scaled(&parts[0], |rows| rows / ranks)?;
        self.tensors(shares, &shape)
    }

    /// For each rank a copy of `x`, which is of rank `root`.
    ///
    /// # Errors
    /// Those of [`comm::Group::broadcast`].
    pub fn broadcast(&self, root: usize, x: &Tensor) -> Result<Vec<Tensor>> {
        let copies = with_views(std::slice::from_ref(x), |views| {
            self.group.broadcast(root, views[0])
        })?;
        self.tensors(copies, x.shape())
    }

    /// A copy of `x`, which is of rank `from`, for rank `to`.
    ///
    /// # Errors
    /// Those of [`comm::Group::send`].
    pub fn send(&self, from: usize, to: usize, x: &Tensor) -> Result<Tensor> {
        let copy = with_views(std::slice::from_ref(x), |views| {
            self.group.send(from, to, views[0])
        })?;
        Ok(tensor(copy, self.devices[to].clone(), x.shape()))
    }

    fn tensors(&self, buffers: Vec<DynBuffer>, shape: &Shape) -> Result<Vec<Tensor>> {
        let ranks = buffers.into_iter().zip(&self.devices);
        Ok(ranks
            .map(|(buffer, device)| tensor(buffer, device.clone(), shape))
            .collect())
    }
}

fn tensor(buffer: DynBuffer, device: RocmDevice, shape: &Shape) -> Tensor {
    let storage = Storage::Rocm(RocmStorage::new(buffer, device));
    Tensor::from_storage(storage, shape.clone(), BackpropOp::none(), false)
}

/// The shape of `part` with another first dimension.
fn scaled(part: &Tensor, rows: impl Fn(usize) -> usize) -> Result<Shape> {
    let mut dims = part.dims().to_vec();
    match dims.first_mut() {
        Some(first) => *first = rows(*first),
        None => bail!("the parts of a group need a dimension"),
    }
    Ok(Shape::from(dims))
}

/// Calls `f` with views of all `tensors`, which there have to be.
fn with_views<T>(tensors: &[Tensor], f: impl FnOnce(&[View<'_>]) -> rocm_backend::Result<T>) -> Result<T> {
    if tensors.is_empty() {
        bail!("there is no part of any rank")
    }
    let held: Vec<_> = tensors.iter().map(Tensor::storage_and_layout).collect();
    let views = held.iter().map(|(storage, layout)| view(storage.deref(), layout));
    Ok(f(&views.collect::<Result<Vec<_>>>()?)?)
}

fn view<'a>(storage: &'a Storage, layout: &'a Layout) -> Result<View<'a>> {
    match storage {
        Storage::Rocm(storage) => Ok(storage.view(layout)),
        _ => bail!("a part of a group is not on a ROCm device"),
    }
}
