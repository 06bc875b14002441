//! RCCL behind safe types: communicators of a group of devices, and operations of all of them. Over NVIDIA's driver its functions are
//! NCCL's, on the software device those of a model.
#![expect(
    unsafe_code,
    reason = "calls RCCL with device addresses, and says why its handles may cross threads"
)]

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use rocm_rs::rccl::bindings::{self, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};

use super::context::Context;
use super::launch::indexing::Run;
use super::status::{check_library, static_text};
use crate::trace::Level;
use crate::{DType, DriverKind, DynBuffer, Error, Result};

/// A rank's communicator, owned.
struct Comm(ncclComm_t);

// SAFETY: the library ties a communicator to no thread; it asks that one thread at a time uses it, and `Ranks` is used through `&mut`.
unsafe impl Send for Comm {}

/// The ranks of a group: devices and their communicators. Used through `&mut` only.
pub(crate) struct Ranks {
    comms: Vec<Comm>,
    contexts: Vec<Arc<Context>>,
}

/// What is asked of all ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GroupCall {
    AllReduce(ncclRedOp_t),
    AllGather,
    ReduceScatter(ncclRedOp_t),
    Broadcast {
        root: usize,
    },
    /// Of two ranks alone.
    Message {
        from: usize,
        to: usize,
    },
}

impl GroupCall {
    fn name(self) -> &'static str {
        match self {
            GroupCall::AllReduce(_) => "ncclAllReduce",
            GroupCall::AllGather => "ncclAllGather",
            GroupCall::ReduceScatter(_) => "ncclReduceScatter",
            GroupCall::Broadcast { .. } => "ncclBroadcast",
            GroupCall::Message { .. } => "ncclSend",
        }
    }

    /// Whether a rank's own source is read.
    fn reads(self, rank: usize) -> bool {
        match self {
            GroupCall::AllReduce(_) | GroupCall::AllGather | GroupCall::ReduceScatter(_) => true,
            GroupCall::Broadcast { root } => rank == root,
            GroupCall::Message { from, .. } => rank == from,
        }
    }

    /// The elements that the call names, as the results say.
    fn count(self, out: &[DynBuffer]) -> usize {
        match self {
            GroupCall::AllGather => out[0].len() / out.len(),
            GroupCall::Message { to, .. } => out[to].len(),
            GroupCall::AllReduce(_) | GroupCall::ReduceScatter(_) | GroupCall::Broadcast { .. } => {
                out[0].len()
            }
        }
    }

    /// The elements that a rank gets, of a call that names `count`.
    pub(crate) fn received(self, rank: usize, count: usize, ranks: usize) -> usize {
        match self {
            GroupCall::AllGather => count * ranks,
            GroupCall::Message { to, .. } if rank != to => 0,
            GroupCall::AllReduce(_)
            | GroupCall::ReduceScatter(_)
            | GroupCall::Broadcast { .. }
            | GroupCall::Message { .. } => count,
        }
    }
}

/// Where a rank's elements are and go to.
#[derive(Debug, Clone, Copy)]
struct Ends {
    send: usize,
    receive: usize,
}

/// The library's type of elements of `dtype`, for arithmetic; none where it has none.
fn datatype(dtype: DType) -> Option<ncclDataType_t> {
    Some(match dtype {
        DType::U8 => bindings::ncclUint8,
        DType::U32 => bindings::ncclUint32,
        DType::I32 => bindings::ncclInt32,
        DType::I64 => bindings::ncclInt64,
        DType::F16 => bindings::ncclFloat16,
        DType::BF16 => bindings::ncclBfloat16,
        DType::F32 => bindings::ncclFloat32,
        DType::F64 => bindings::ncclFloat64,
        DType::I16 | DType::F8E4M3 => return None,
    })
}

fn done(call: &'static str, status: ncclResult_t) -> Result<()> {
    check_library("RCCL", call, status, || {
        // SAFETY: takes any number and gives a static text.
        static_text(unsafe { bindings::ncclGetErrorString(status) })
    })
}

impl Ranks {
    /// A rank for each of `contexts`, whose devices differ.
    pub(crate) fn new(contexts: Vec<Arc<Context>>) -> Result<Ranks> {
        let numbers: Vec<c_int> = contexts.iter().map(|context| context.raw_ordinal()).collect();
        let count = c_int::try_from(numbers.len())
            .map_err(|_| Error::too_large("comm", "there are more ranks than can be counted"))?;
        let mut raw = vec![std::ptr::null_mut(); numbers.len()];
        // SAFETY: a place and a number for each rank.
        done("ncclCommInitAll", unsafe {
            bindings::ncclCommInitAll(raw.as_mut_ptr(), count, numbers.as_ptr())
        })?;
        let comms = raw.into_iter().map(Comm).collect();
        Ok(Ranks { comms, contexts })
    }

    /// Has every rank do `call` in the order of its device's stream: of the elements from `sources` on, to `out`, whose lengths say how
    /// many. Of a message the two ranks' entries count, of a broadcast the root's source.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the library cannot join such elements; [`Error::Shape`] for lengths that do not fit the call;
    /// [`Error::Devices`]; [`Error::Capture`], [`Error::Hip`], [`Error::DeviceFault`].
    pub(crate) fn submit(
        &mut self,
        op: &str,
        call: GroupCall,
        sources: &[Run<'_>],
        out: &mut [DynBuffer],
    ) -> Result<()> {
        let ranks = self.contexts.len();
        if sources.len() != ranks || out.len() != ranks {
            return Err(Error::shape(op, "not every rank has a source and a result"));
        }
        let (count, dtype) = (call.count(out), sources[0].buffer.dtype());
        let sent = match call {
            GroupCall::ReduceScatter(_) => count * ranks,
            _ => count,
        };
        for (rank, (source, out)) in sources.iter().zip(&*out).enumerate() {
            let here = |buffer: &DynBuffer| Arc::ptr_eq(buffer.memory().context(), &self.contexts[rank]);
            if !here(out) || (call.reads(rank) && !here(source.buffer)) {
                return Err(Error::Devices { op: op.to_owned() });
            }
            let reads = !call.reads(rank)
                || source
                    .offset
                    .checked_add(sent)
                    .is_some_and(|end| end <= source.buffer.len());
            let writes = out.len() == call.received(rank, count, ranks);
            let alike = source.buffer.dtype() == dtype && out.dtype() == dtype;
            if !(reads && writes && alike) {
                return Err(Error::shape(
                    op,
                    "the parts and results of the ranks do not fit each other",
                ));
            }
            // Before any rank is asked: the others would wait for one that is refused.
            self.contexts[rank].refuse_in_capture("work of several devices")?;
            self.contexts[rank].bind()?;
        }
        // What only moves may be of any dtype.
        let (datatype, count) = match (datatype(dtype), call) {
            (Some(datatype), _) => (datatype, count),
            (None, GroupCall::AllReduce(_) | GroupCall::ReduceScatter(_)) => {
                return Err(Error::Unsupported {
                    op: op.to_owned(),
                    dtype,
                });
            }
            (None, GroupCall::AllGather | GroupCall::Broadcast { .. } | GroupCall::Message { .. }) => {
                (bindings::ncclUint8, count * dtype.size_in_bytes())
            }
        };
        if count == 0 {
            return Ok(());
        }
        let end = |(source, out): (&Run<'_>, &DynBuffer)| Ends {
            send: source.buffer.memory().block().address() + source.offset * dtype.size_in_bytes(),
            receive: out.memory().block().address(),
        };
        let ends: Vec<Ends> = sources.iter().zip(&*out).map(end).collect();
        // SAFETY: takes nothing.
        done("ncclGroupStart", unsafe { bindings::ncclGroupStart() })?;
        let asked = (0..ranks).try_for_each(|rank| {
            // SAFETY: each rank's memory is of its device, and has as many elements as the call reads and writes there: checked above.
            // `out` is borrowed mutably. A block that is given back before the work is done serves other work only after it.
            unsafe { self.ask(rank, call, datatype, count, ends[rank]) }
        });
        // SAFETY: takes nothing. A group that was begun is ended, whatever became of its calls.
        let ended = done(call.name(), unsafe { bindings::ncclGroupEnd() });
        asked.and(ended)?;
        for context in &self.contexts {
            let level = match context.info().driver().kind() {
                DriverKind::Soft => Level::Model,
                DriverKind::System | DriverKind::Nvidia => Level::of_kernels(context.info().driver()),
            };
            context.ledger().trace(&Arc::from(call.name()), None, level);
        }
        Ok(())
    }

    /// # Safety
    /// `ends` are in live memory of the rank's device, and have as many elements as the call reads and writes there.
    unsafe fn ask(
        &self,
        rank: usize,
        call: GroupCall,
        datatype: ncclDataType_t,
        count: usize,
        ends: Ends,
    ) -> Result<()> {
        let (comm, context) = (self.comms[rank].0, &self.contexts[rank]);
        context.bind()?;
        let stream = context.stream().raw();
        let send: *const c_void = std::ptr::without_provenance(ends.send);
        let receive: *mut c_void = std::ptr::without_provenance_mut(ends.receive);
        // Groups have no more ranks than an int counts.
        let number = |rank: usize| rank as c_int;
        // SAFETY: the communicator and the stream live, and are of one device; the memory is as the caller says.
        let status = unsafe {
            match call {
                GroupCall::AllReduce(op) => {
                    bindings::ncclAllReduce(send, receive, count, datatype, op, comm, stream)
                }
                GroupCall::AllGather => bindings::ncclAllGather(send, receive, count, datatype, comm, stream),
                GroupCall::ReduceScatter(op) => {
                    bindings::ncclReduceScatter(send, receive, count, datatype, op, comm, stream)
                }
                GroupCall::Broadcast { root } => {
                    bindings::ncclBroadcast(send, receive, count, datatype, number(root), comm, stream)
                }
                GroupCall::Message { from, to } if rank == from => {
                    bindings::ncclSend(send, count, datatype, number(to), comm, stream)
                }
                GroupCall::Message { from, to } if rank == to => {
                    bindings::ncclRecv(receive, count, datatype, number(from), comm, stream)
                }
                GroupCall::Message { .. } => bindings::ncclSuccess,
            }
        };
        done(call.name(), status)
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for (comm, context) in self.comms.iter().zip(&self.contexts) {
            let _ = context.select();
            // A device that cannot be waited for does no more work of the communicator's.
            let _ = context.stream().synchronize();
            // SAFETY: from ncclCommInitAll, ended only here.
            let _ = unsafe { bindings::ncclCommDestroy(comm.0) };
        }
    }
}
