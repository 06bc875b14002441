//! The entry points of HIP's graphs. See entry.rs for what is relied on.

use core::ffi::c_ulonglong;

use rocm_rs::hip::bindings::{
    hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipStreamCaptureMode, hipStreamCaptureStatus,
};

use super::{INVALID_VALUE, bound, c_void, done, guard, hip, hipError_t, hipStream_t, out};

rocm_rs::hip_entries! {
results {
    // Both interfaces have the same three modes, and the same three states.
    fn hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuStreamBeginCapture_v2)(stream.cast(), mode) })
    }

    fn hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) {
        // SAFETY: HIP's contract on out-pointers.
        let graph = unsafe { out(graph) }?;
        let cuda = bound()?;
        // SAFETY: a live place for a handle; HIP's contract on the stream.
        done(cuda, unsafe { (cuda.cuStreamEndCapture)(stream.cast(), graph.as_mut_ptr().cast()) })
    }

    fn hipStreamIsCapturing(stream: hipStream_t, status: *mut hipStreamCaptureStatus) {
        // SAFETY: HIP's contract on out-pointers.
        let status = unsafe { out(status) }?;
        let cuda = bound()?;
        // SAFETY: a live place for a number; HIP's contract on the stream.
        done(cuda, unsafe { (cuda.cuStreamIsCapturing)(stream.cast(), status.as_mut_ptr()) })
    }

    fn hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize) {
        // SAFETY: HIP's contract on out-pointers.
        let count = unsafe { out(count) }?;
        let cuda = bound()?;
        // SAFETY: HIP's contract: `nodes` is null, or has room for as many handles as `count` says.
        done(cuda, unsafe { (cuda.cuGraphGetNodes)(graph.cast(), nodes.cast(), count.as_mut_ptr()) })
    }

    // The flags of both interfaces differ; none is the same in both.
    fn hipGraphInstantiateWithFlags(executable: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: HIP's contract on out-pointers.
        let executable = unsafe { out(executable) }?;
        let cuda = bound()?;
        // SAFETY: a live place for a handle; HIP's contract on the graph.
        done(cuda, unsafe {
            (cuda.cuGraphInstantiateWithFlags)(executable.as_mut_ptr().cast(), graph.cast(), flags)
        })
    }

    fn hipGraphLaunch(executable: hipGraphExec_t, stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuGraphLaunch)(executable.cast(), stream.cast()) })
    }

    fn hipGraphExecDestroy(executable: hipGraphExec_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuGraphExecDestroy)(executable.cast()) })
    }

    fn hipGraphDestroy(graph: hipGraph_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuGraphDestroy)(graph.cast()) })
    }
}
values {}
}
