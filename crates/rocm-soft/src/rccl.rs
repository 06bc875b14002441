//! A host model of RCCL within one process: communicators, collective operations, and messages between two ranks, as NCCL documents
//! them. No code of an AMD library is executed: elements are joined by this host's arithmetic, in the order of ranks, with a rounding to
//! the elements' type after each step.
//!
//! Streams of this device do their work when it is submitted. So calls of several ranks have to be made between `ncclGroupStart` and
//! `ncclGroupEnd`, which runs them; on a card they may come from several threads or one after the other as well. What would never end on a
//! card, a call that other ranks have not made, is `ncclInvalidUsage`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU64, Ordering};

use half::{bf16, f16};
use rocm_rs::rccl::bindings as ccl;
use rocm_rs::rccl::bindings::{ncclDataType_t, ncclRedOp_t, ncclResult_t};

use crate::handles::HandleKind;
use crate::library::{Objects, Reach};
use crate::{devices, error};

/// The result of an RCCL function before it becomes a status.
pub(crate) type Result<T = ()> = core::result::Result<T, ncclResult_t>;

/// A rank of a group of devices.
#[derive(Clone, Copy, Debug)]
struct Comm {
    /// Which group.
    clique: u64,
    rank: usize,
    ranks: usize,
}

static COMMS: Objects<Comm> = Objects::new(HandleKind::Comm);

const REACH: Reach<ncclResult_t> = Reach {
    who: "RCCL",
    missing: ccl::ncclUnhandledCudaError,
    outside: ccl::ncclUnhandledCudaError,
};

/// What a rank asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    AllReduce(ncclRedOp_t),
    AllGather,
    ReduceScatter(ncclRedOp_t),
    /// From this rank.
    Broadcast(c_int),
    /// To this rank.
    Send(c_int),
    /// From this rank.
    Receive(c_int),
}

/// A call: what for, from where, to where, how many elements of which type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Communication {
    pub(crate) what: What,
    pub(crate) send: u64,
    pub(crate) receive: u64,
    pub(crate) count: usize,
    pub(crate) datatype: ncclDataType_t,
    pub(crate) stream: usize,
}

/// Calls of this thread since `ncclGroupStart`.
#[derive(Default)]
struct Group {
    depth: u32,
    calls: Vec<(Comm, Communication)>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// A refusal, with its reason.
fn refuse<T>(status: ncclResult_t, why: String) -> Result<T> {
    error::keep(why);
    Err(status)
}

/// The handles of a new group's ranks, one for each device.
pub(crate) fn create(of: &[c_int]) -> Result<Vec<usize>> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    for (rank, device) in of.iter().enumerate() {
        if devices::at(*device).is_err() {
            return refuse(
                ccl::ncclInvalidArgument,
                format!("RCCL: there is no device {device}"),
            );
        }
        if of[..rank].contains(device) {
            return refuse(
                ccl::ncclInvalidUsage,
                format!("RCCL: device {device} is to be two ranks"),
            );
        }
    }
    if of.is_empty() {
        return refuse(ccl::ncclInvalidArgument, "RCCL: a group of no device".to_owned());
    }
    let clique = NEXT.fetch_add(1, Ordering::Relaxed);
    let comm = |rank| Comm {
        clique,
        rank,
        ranks: of.len(),
    };
    Ok((0..of.len()).map(|rank| COMMS.insert(comm(rank))).collect())
}

pub(crate) fn destroy(comm: usize) -> Result {
    COMMS.remove(comm).map(drop).ok_or(ccl::ncclInvalidArgument)
}

/// A sentence for a status.
pub(crate) fn text(status: ncclResult_t) -> &'static CStr {
    match status {
        ccl::ncclSuccess => c"no error",
        ccl::ncclUnhandledCudaError => c"a call of the driver failed",
        ccl::ncclSystemError => c"a call of the system failed",
        ccl::ncclInvalidArgument => c"invalid argument",
        ccl::ncclInvalidUsage => c"invalid usage",
        _ => c"internal error",
    }
}

pub(crate) fn group_start() -> Result {
    GROUP.with_borrow_mut(|group| group.depth += 1);
    Ok(())
}

pub(crate) fn group_end() -> Result {
    let calls = GROUP.with_borrow_mut(|group| {
        group.depth = group.depth.checked_sub(1)?;
        Some((group.depth == 0).then(|| std::mem::take(&mut group.calls)))
    });
    match calls {
        None => refuse(
            ccl::ncclInvalidUsage,
            "RCCL: ncclGroupEnd without ncclGroupStart".to_owned(),
        ),
        Some(calls) => run(calls.unwrap_or_default()),
    }
}

/// Runs a call, or keeps it to the group's end.
pub(crate) fn submit(comm: usize, call: Communication) -> Result {
    let comm = COMMS.with(comm, |comm| *comm).ok_or(ccl::ncclInvalidArgument)?;
    let stream = REACH.device()?.must_run(call.stream);
    stream.map_err(|_| ccl::ncclUnhandledCudaError)?;
    size(call.datatype)?;
    let is_kept = GROUP.with_borrow_mut(|group| {
        if group.depth > 0 {
            group.calls.push((comm, call));
        }
        group.depth > 0
    });
    match is_kept {
        true => Ok(()),
        false => run(vec![(comm, call)]),
    }
}

/// Runs the calls of one group: each group of devices has the same operations of every rank, in the same order.
fn run(calls: Vec<(Comm, Communication)>) -> Result {
    let mut cliques: BTreeMap<u64, Vec<(Comm, Communication)>> = BTreeMap::new();
    for call in calls {
        cliques.entry(call.0.clique).or_default().push(call);
    }
    cliques.into_values().try_for_each(run_clique)
}

fn run_clique(calls: Vec<(Comm, Communication)>) -> Result {
    let Some(ranks) = calls.first().map(|(comm, _)| comm.ranks) else {
        return Ok(());
    };
    let mut together: Vec<Vec<Communication>> = vec![Vec::new(); ranks];
    let mut sent: BTreeMap<(usize, usize), Vec<Communication>> = BTreeMap::new();
    let mut awaited: BTreeMap<(usize, usize), Vec<Communication>> = BTreeMap::new();
    for (comm, call) in calls {
        match call.what {
            What::Send(to) => sent.entry((comm.rank, peer(to, ranks)?)).or_default().push(call),
            What::Receive(from) => awaited
                .entry((peer(from, ranks)?, comm.rank))
                .or_default()
                .push(call),
            What::AllReduce(_) | What::AllGather | What::ReduceScatter(_) | What::Broadcast(_) => {
                together[comm.rank].push(call);
            }
        }
    }
    messages(&sent, &awaited)?;
    let count = together.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..count {
        let of_all: Option<Vec<Communication>> =
            together.iter().map(|list| list.get(number).copied()).collect();
        match of_all {
            Some(of_all) => collective(&of_all)?,
            None => {
                return refuse(
                    ccl::ncclInvalidUsage,
                    format!(
                        "RCCL: of {ranks} ranks not all take part in operation {number}; on the software device all ranks' calls have to be made between \
                         ncclGroupStart and ncclGroupEnd of one thread"
                    ),
                );
            }
        }
    }
    Ok(())
}

fn peer(rank: c_int, ranks: usize) -> Result<usize> {
    let found = usize::try_from(rank).ok().filter(|rank| *rank < ranks);
    match found {
        Some(rank) => Ok(rank),
        None => refuse(
            ccl::ncclInvalidArgument,
            format!("RCCL: there is no rank {rank} of {ranks}"),
        ),
    }
}

/// What one rank sends another one receives.
fn messages(
    sent: &BTreeMap<(usize, usize), Vec<Communication>>,
    awaited: &BTreeMap<(usize, usize), Vec<Communication>>,
) -> Result {
    let none = Vec::new();
    let pairs = sent.keys().chain(awaited.keys());
    for pair in pairs.clone() {
        let [out, into] = [sent, awaited].map(|list| list.get(pair).unwrap_or(&none));
        let fits = |(out, into): (&Communication, &Communication)| {
            (out.count, out.datatype) == (into.count, into.datatype)
        };
        if out.len() != into.len() || !out.iter().zip(into).all(fits) {
            let (from, to) = pair;
            return refuse(
                ccl::ncclInvalidUsage,
                format!("RCCL: what rank {from} sends and what rank {to} receives from it differ"),
            );
        }
    }
    // All is read before anything is written, as if at once.
    let mut moved = Vec::new();
    for (pair, list) in sent {
        for (call, into) in list.iter().zip(awaited.get(pair).unwrap_or(&none)) {
            moved.push((into.receive, bytes(call, call.count)?));
        }
    }
    moved.iter().try_for_each(|(to, bytes)| REACH.write(*to, bytes))
}

/// The first `count` elements that a rank contributes.
fn bytes(call: &Communication, count: usize) -> Result<Vec<u8>> {
    let len = size(call.datatype)?.checked_mul(count);
    REACH.read(call.send, len.ok_or(ccl::ncclInvalidArgument)?)
}

/// One operation of all ranks, in their order.
fn collective(calls: &[Communication]) -> Result {
    let Some(first) = calls.first() else { return Ok(()) };
    let same = |call: &Communication| {
        (call.what, call.count, call.datatype) == (first.what, first.count, first.datatype)
    };
    if !calls.iter().all(same) {
        return refuse(
            ccl::ncclInvalidUsage,
            format!("RCCL: the ranks differ in operation, count or type: {calls:?}"),
        );
    }
    let (ranks, count) = (calls.len(), first.count);
    let all = |count| {
        calls
            .iter()
            .map(|call| bytes(call, count))
            .collect::<Result<Vec<_>>>()
    };
    match first.what {
        What::AllReduce(op) => {
            let joined = join(first.datatype, op, &all(count)?)?;
            calls
                .iter()
                .try_for_each(|call| REACH.write(call.receive, &joined))
        }
        What::AllGather => {
            let gathered = all(count)?.concat();
            calls
                .iter()
                .try_for_each(|call| REACH.write(call.receive, &gathered))
        }
        What::ReduceScatter(op) => {
            let total = count.checked_mul(ranks).ok_or(ccl::ncclInvalidArgument)?;
            let joined = join(first.datatype, op, &all(total)?)?;
            let part = joined.len() / ranks;
            calls
                .iter()
                .enumerate()
                .try_for_each(|(rank, call)| REACH.write(call.receive, &joined[rank * part..][..part]))
        }
        What::Broadcast(root) => {
            let source = bytes(&calls[peer(root, ranks)?], count)?;
            calls
                .iter()
                .try_for_each(|call| REACH.write(call.receive, &source))
        }
        // They are messages, not of all ranks.
        What::Send(_) | What::Receive(_) => Err(ccl::ncclInternalError),
    }
}

/// Bytes of an element.
fn size(datatype: ncclDataType_t) -> Result<usize> {
    match datatype {
        ccl::ncclUint8 => Ok(1),
        ccl::ncclFloat16 | ccl::ncclBfloat16 => Ok(2),
        ccl::ncclInt32 | ccl::ncclUint32 | ccl::ncclFloat32 => Ok(4),
        ccl::ncclInt64 | ccl::ncclFloat64 => Ok(8),
        other => refuse(
            ccl::ncclInvalidArgument,
            format!("RCCL's model has no type {other}"),
        ),
    }
}

/// The join of all ranks' elements.
fn join(datatype: ncclDataType_t, op: ncclRedOp_t, parts: &[Vec<u8>]) -> Result<Vec<u8>> {
    if op > ccl::ncclAvg {
        return refuse(
            ccl::ncclInvalidArgument,
            format!("RCCL's model has no operation {op}"),
        );
    }
    // Whole numbers wrap. Floats of 16 bits are joined in f32 and rounded after each step.
    macro_rules! of {
        ($ty:ty, |$a:ident, $b:ident| $sum:expr, $product:expr, $max:expr, $min:expr, |$all:ident, $ranks:ident| $mean:expr) => {{
            let two = |$a: $ty, $b: $ty| -> $ty {
                match op {
                    ccl::ncclProd => $product,
                    ccl::ncclMax => $max,
                    ccl::ncclMin => $min,
                    _ => $sum,
                }
            };
            let end = |$all: $ty, $ranks: usize| -> $ty { if op == ccl::ncclAvg { $mean } else { $all } };
            let read = |bytes: &Vec<u8>| -> Vec<$ty> {
                let element = |chunk: &[u8]| chunk.try_into().map_or(<$ty>::default(), <$ty>::from_le_bytes);
                bytes.chunks_exact(size_of::<$ty>()).map(element).collect()
            };
            let mut ranks = parts.iter().map(read);
            let mut joined = ranks.next().unwrap_or_default();
            for next in ranks {
                joined
                    .iter_mut()
                    .zip(next)
                    .for_each(|(all, x)| *all = two(*all, x));
            }
            joined
                .into_iter()
                .flat_map(|x| end(x, parts.len()).to_le_bytes())
                .collect()
        }};
    }
    macro_rules! whole {
        ($ty:ty) => {
            of!(
                $ty,
                |a, b| a.wrapping_add(b),
                a.wrapping_mul(b),
                a.max(b),
                a.min(b),
                |all, ranks| all / ranks as $ty
            )
        };
    }
    macro_rules! narrow {
        ($ty:ty) => {
            of!(
                $ty,
                |a, b| <$ty>::from_f32(a.to_f32() + b.to_f32()),
                <$ty>::from_f32(a.to_f32() * b.to_f32()),
                <$ty>::from_f32(a.to_f32().max(b.to_f32())),
                <$ty>::from_f32(a.to_f32().min(b.to_f32())),
                |all, ranks| <$ty>::from_f32(all.to_f32() / ranks as f32)
            )
        };
    }
    macro_rules! float {
        ($ty:ty) => {
            of!(
                $ty,
                |a, b| a + b,
                a * b,
                a.max(b),
                a.min(b),
                |all, ranks| all / ranks as $ty
            )
        };
    }
    Ok(match datatype {
        ccl::ncclUint8 => whole!(u8),
        ccl::ncclInt32 => whole!(i32),
        ccl::ncclUint32 => whole!(u32),
        ccl::ncclInt64 => whole!(i64),
        ccl::ncclFloat16 => narrow!(f16),
        ccl::ncclBfloat16 => narrow!(bf16),
        ccl::ncclFloat32 => float!(f32),
        ccl::ncclFloat64 => float!(f64),
        other => {
            return refuse(
                ccl::ncclInvalidArgument,
                format!("RCCL's model has no type {other}"),
            );
        }
    })
}
