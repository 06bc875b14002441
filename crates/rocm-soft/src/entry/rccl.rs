//! The entry points of RCCL: C's side of the model in `crate::rccl`. See entry.rs for what is relied on.

use rocm_rs::rccl::bindings::{self as declared, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};

use super::{address, c_char, c_int, c_void, hipStream_t, opaque, status_of};
use crate::rccl::{self, Communication, What};

fn guard(body: impl FnOnce() -> rccl::Result) -> ncclResult_t {
    status_of(declared::ncclSuccess, declared::ncclInternalError, body)
}

foreign! {
    fn ncclCommInitAll(comms: *mut ncclComm_t, count: c_int, devices: *const c_int) -> ncclResult_t {
        guard(|| {
            let count = usize::try_from(count).map_err(|_| declared::ncclInvalidArgument)?;
            if comms.is_null() {
                return Err(declared::ncclInvalidArgument);
            }
            // SAFETY: RCCL's contract: null, for the first devices, or one number for each rank.
            let device = |rank: usize| if devices.is_null() { rank as c_int } else { unsafe { *devices.add(rank) } };
            let devices: Vec<c_int> = (0..count).map(device).collect();
            for (rank, handle) in rccl::create(&devices)?.into_iter().enumerate() {
                // SAFETY: RCCL's contract: a place for each rank.
                unsafe { comms.add(rank).write(opaque(handle)) };
            }
            Ok(())
        })
    }

    fn ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t {
        guard(|| rccl::destroy(comm.addr()))
    }

    fn ncclGetErrorString(result: ncclResult_t) -> *const c_char {
        rccl::text(result).as_ptr()
    }

    fn ncclGroupStart() -> ncclResult_t {
        guard(rccl::group_start)
    }

    fn ncclGroupEnd() -> ncclResult_t {
        guard(rccl::group_end)
    }

    fn ncclAllReduce(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t, op: ncclRedOp_t,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t {
        let what = What::AllReduce(op);
        let (send, receive) = (address(send), address(receive));
        guard(|| rccl::submit(comm.addr(), Communication { what, send, receive, count, datatype, stream: stream.addr() }))
    }

    fn ncclAllGather(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t, comm: ncclComm_t,
        stream: hipStream_t,
    ) -> ncclResult_t {
        let what = What::AllGather;
        let (send, receive) = (address(send), address(receive));
        guard(|| rccl::submit(comm.addr(), Communication { what, send, receive, count, datatype, stream: stream.addr() }))
    }

    fn ncclReduceScatter(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t, op: ncclRedOp_t,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t {
        let what = What::ReduceScatter(op);
        let (send, receive) = (address(send), address(receive));
        guard(|| rccl::submit(comm.addr(), Communication { what, send, receive, count, datatype, stream: stream.addr() }))
    }

    fn ncclBroadcast(
        send: *const c_void, receive: *mut c_void, count: usize, datatype: ncclDataType_t, root: c_int,
        comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t {
        let what = What::Broadcast(root);
        let (send, receive) = (address(send), address(receive));
        guard(|| rccl::submit(comm.addr(), Communication { what, send, receive, count, datatype, stream: stream.addr() }))
    }

    fn ncclSend(
        send: *const c_void, count: usize, datatype: ncclDataType_t, peer: c_int, comm: ncclComm_t, stream: hipStream_t,
    ) -> ncclResult_t {
        let (what, send) = (What::Send(peer), address(send));
        guard(|| rccl::submit(comm.addr(), Communication { what, send, receive: 0, count, datatype, stream: stream.addr() }))
    }

    fn ncclRecv(
        receive: *mut c_void, count: usize, datatype: ncclDataType_t, peer: c_int, comm: ncclComm_t,
        stream: hipStream_t,
    ) -> ncclResult_t {
        let (what, receive) = (What::Receive(peer), address(receive));
        guard(|| rccl::submit(comm.addr(), Communication { what, send: 0, receive, count, datatype, stream: stream.addr() }))
    }
}
