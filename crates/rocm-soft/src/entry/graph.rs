//! The entry points of HIP's graphs. See entry.rs for what is relied on.

use core::ffi::c_ulonglong;

use rocm_rs::hip::bindings::{
    hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipStreamCaptureMode, hipStreamCaptureStatus,
};

use super::{Result, c_void, copy, device, guard, hip, hipError_t, hipStream_t, opaque, out, ptr};
use crate::graph::Work;

/// Does what a graph has recorded.
///
/// # Safety
/// As [`copy`], for every copy of it.
unsafe fn run(work: &Work) -> Result {
    match work {
        Work::Launch {
            function,
            shape,
            kernarg,
        } => device()?.run(function, shape, kernarg),
        Work::Copy {
            target,
            source,
            len,
            kind,
        } => {
            let target = ptr::with_exposed_provenance_mut(*target);
            let source = ptr::with_exposed_provenance(*source);
            // SAFETY: the caller promises it.
            unsafe { copy(target, source, *len, *kind) }
        }
        Work::Fill {
            target,
            pattern,
            count,
        } => device()?.fill(*target, pattern, *count),
    }
}

rocm_rs::hip_entries! {
results {
    // The modes say which calls of other threads end a capture; here none does.
    fn hipStreamBeginCapture(stream: hipStream_t, _mode: hipStreamCaptureMode) {
        device()?.begin_capture(stream.addr())
    }

    fn hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) {
        // SAFETY: HIP's contract on out-pointers.
        let graph = unsafe { out(graph) }?;
        graph.write(ptr::null_mut());
        graph.write(opaque(device()?.end_capture(stream.addr())?));
        Ok(())
    }

    fn hipStreamIsCapturing(stream: hipStream_t, status: *mut hipStreamCaptureStatus) {
        // SAFETY: HIP's contract on out-pointers.
        let status = unsafe { out(status) }?;
        status.write(device()?.capture_status(stream.addr())?);
        Ok(())
    }

    // Nodes have no handles here: what is asked for is how many there are.
    fn hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize) {
        // SAFETY: HIP's contract on out-pointers.
        let count = unsafe { out(count) }?;
        let work = device()?.graph(graph.addr())?;
        if !nodes.is_null() {
            return Err(hip::hipError_t_hipErrorNotSupported);
        }
        count.write(work.len());
        Ok(())
    }

    fn hipGraphInstantiateWithFlags(executable: *mut hipGraphExec_t, graph: hipGraph_t, _flags: c_ulonglong) {
        // SAFETY: HIP's contract on out-pointers.
        let executable = unsafe { out(executable) }?;
        executable.write(opaque(device()?.instantiate(graph.addr())?));
        Ok(())
    }

    fn hipGraphLaunch(executable: hipGraphExec_t, stream: hipStream_t) {
        device()?.must_run(stream.addr())?;
        let work = device()?.executable(executable.addr())?;
        // SAFETY: HIP's contract: what a graph's work names lives whenever the graph is launched.
        work.iter().try_for_each(|work| unsafe { run(work) })
    }

    fn hipGraphExecDestroy(executable: hipGraphExec_t) {
        device()?.destroy_executable(executable.addr())
    }

    fn hipGraphDestroy(graph: hipGraph_t) {
        device()?.destroy_graph(graph.addr())
    }
}
values {}
}
