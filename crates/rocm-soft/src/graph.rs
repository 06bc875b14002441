//! Work that a stream records instead of doing it, and graphs of such work: HIP's stream capture.
//!
//! A graph here is a list. Streams of this device do their work in order, and one stream records what is submitted to it alone: an
//! event that would join two streams in one graph is refused with `hipErrorStreamCaptureUnsupported`.

use std::sync::Arc;

use rocm_rs::hip::bindings as hip;

use crate::device::{Device, LaunchShape, LoadedKernel};
use crate::error::Result;

/// Something that was submitted to a stream.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// A kernel with its explicit arguments.
    Launch {
        function: LoadedKernel,
        shape: LaunchShape,
        kernarg: Vec<u8>,
    },
    /// `hipMemcpyAsync`, by the addresses of both sides.
    Copy {
        target: usize,
        source: usize,
        len: usize,
        kind: hip::hipMemcpyKind,
    },
    /// A pattern of bytes, so many times.
    Fill {
        target: u64,
        pattern: Vec<u8>,
        count: usize,
    },
}

/// What a stream does with what is submitted to it.
#[derive(Debug, Default)]
pub(crate) enum Stream {
    /// It does it at once.
    #[default]
    Runs,
    /// It keeps it, for a graph.
    Records(Vec<Work>),
    /// It was recording when something was asked of it that no graph has.
    Broken,
}

impl Device {
    /// Begins to record what is submitted to a stream.
    pub(crate) fn begin_capture(&self, stream: usize) -> Result {
        let mut tables = self.tables(stream);
        // The null stream and HIP's two constants are not in the table, and cannot be captured.
        let found = tables.streams.get_mut(stream);
        let state = found.map_err(|_| hip::hipError_t_hipErrorStreamCaptureUnsupported)?;
        match state {
            Stream::Runs => *state = Stream::Records(Vec::new()),
            Stream::Records(_) | Stream::Broken => return Err(hip::hipError_t_hipErrorIllegalState),
        }
        Ok(())
    }

    /// Ends it: the handle of the graph.
    pub(crate) fn end_capture(&self, stream: usize) -> Result<usize> {
        let mut tables = self.tables(stream);
        match std::mem::take(tables.streams.get_mut(stream)?) {
            Stream::Runs => Err(hip::hipError_t_hipErrorIllegalState),
            Stream::Broken => Err(hip::hipError_t_hipErrorStreamCaptureInvalidated),
            Stream::Records(work) => Ok(tables.graphs.insert(work.into())),
        }
    }

    /// Whether a stream records, as HIP numbers it: 0 no, 1 yes, 2 not any more.
    pub(crate) fn capture_status(&self, stream: usize) -> Result<hip::hipStreamCaptureStatus> {
        self.check_stream(stream)?;
        Ok(match self.tables(stream).streams.get(stream) {
            Err(_) | Ok(Stream::Runs) => hip::hipStreamCaptureStatus_hipStreamCaptureStatusNone,
            Ok(Stream::Records(_)) => hip::hipStreamCaptureStatus_hipStreamCaptureStatusActive,
            Ok(Stream::Broken) => hip::hipStreamCaptureStatus_hipStreamCaptureStatusInvalidated,
        })
    }

    /// Records `work` if the stream does that; says whether.
    pub(crate) fn record(&self, stream: usize, work: impl FnOnce() -> Work) -> Result<bool> {
        self.check_stream(stream)?;
        match self.tables(stream).streams.get_mut(stream) {
            Err(_) | Ok(Stream::Runs) => Ok(false),
            Ok(Stream::Records(list)) => {
                list.push(work());
                Ok(true)
            }
            Ok(Stream::Broken) => Err(hip::hipError_t_hipErrorStreamCaptureInvalidated),
        }
    }

    /// An error if the stream records: what is asked of it cannot be recorded, and ends that.
    pub(crate) fn must_run(&self, stream: usize) -> Result {
        self.check_stream(stream)?;
        match self.tables(stream).streams.get_mut(stream) {
            Err(_) | Ok(Stream::Runs) => Ok(()),
            Ok(state) => {
                *state = Stream::Broken;
                Err(hip::hipError_t_hipErrorStreamCaptureUnsupported)
            }
        }
    }

    /// A graph's work.
    pub(crate) fn graph(&self, graph: usize) -> Result<Arc<[Work]>> {
        self.tables(graph).graphs.get(graph).cloned()
    }

    /// A graph that can be launched, of the same work.
    pub(crate) fn instantiate(&self, graph: usize) -> Result<usize> {
        let mut tables = self.tables(graph);
        let work = tables.graphs.get(graph)?.clone();
        Ok(tables.executables.insert(work))
    }

    pub(crate) fn destroy_graph(&self, graph: usize) -> Result {
        self.tables(graph).graphs.remove(graph).map(|_| ())
    }

    /// The work of a graph that can be launched.
    pub(crate) fn executable(&self, graph: usize) -> Result<Arc<[Work]>> {
        self.tables(graph).executables.get(graph).cloned()
    }

    pub(crate) fn destroy_executable(&self, graph: usize) -> Result {
        self.tables(graph).executables.remove(graph).map(|_| ())
    }
}
