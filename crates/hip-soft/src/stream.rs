//! Streams: which [`jobs`] wait for which. A stream that is captured keeps its work for a graph.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;

use crate::device;
use crate::error::{INVALID_VALUE, Result};
use crate::event::Event;
use crate::graph::{GRAPHS, Graph, Node};
use crate::handles::Table;
use crate::jobs;
use crate::work::Work;

const UNSUPPORTED: hipError_t = hip::hipError_t_hipErrorStreamCaptureUnsupported;
/// HIP's handles of the null stream, and of a thread's own stream.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

/// Every stream that the program made.
static STREAMS: Table<Stream> = Table::new();
/// The null stream, and the stream that stands for every thread's own.
static NULL: LazyLock<Arc<Stream>> = LazyLock::new(|| Arc::new(Stream::new(0, 0, true)));
static OWN: LazyLock<Arc<Stream>> = LazyLock::new(|| Arc::new(Stream::new(0, 0, false)));

/// A capture, and the nodes after which what comes next is done.
#[derive(Clone)]
pub(crate) struct Captured {
    pub(crate) id: u64,
    pub(crate) graph: Arc<Graph>,
    /// The graph's handle.
    pub(crate) handle: usize,
    /// Whether a call was made that cannot be captured.
    pub(crate) is_invalid: Arc<AtomicBool>,
    pub(crate) last: Vec<Arc<Node>>,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) card: usize,
    is_null: bool,
    last: AtomicU64,
    /// Jobs of events that its next job waits for.
    events: Mutex<Vec<u64>>,
    capture: Mutex<Option<Captured>>,
    /// Whether its capture began here.
    is_origin: Mutex<bool>,
}

/// The stream of a handle.
pub(crate) fn get(handle: usize) -> Result<Arc<Stream>> {
    match handle {
        0 | LEGACY => Ok(Arc::clone(&NULL)),
        PER_THREAD => Ok(Arc::clone(&OWN)),
        _ => STREAMS.get(handle),
    }
}

/// A new stream's handle.
pub(crate) fn create(flags: u32, priority: i32) -> Result<usize> {
    device::runtime()?;
    if flags & !hip::hipStreamNonBlocking != 0 {
        return Err(INVALID_VALUE);
    }
    Ok(STREAMS.insert(Stream::new(flags, priority, false)))
}

/// Ends a stream once its work is done.
pub(crate) fn destroy(handle: usize) -> Result {
    let stream = STREAMS.remove(handle)?;
    jobs::wait(stream.last.load(SeqCst))
}

/// The null stream and those that wait for it and it for them.
fn blocking() -> impl Iterator<Item = Arc<Stream>> {
    let own = [Arc::clone(&NULL), Arc::clone(&OWN)];
    let all = STREAMS.all().into_iter().chain(own);
    all.filter(|stream| stream.flags & hip::hipStreamNonBlocking == 0)
}

/// One submission at a time: what a job waits for is known before the next one comes.
static ORDER: Mutex<()> = Mutex::new(());

impl Stream {
    fn new(flags: u32, priority: i32, is_null: bool) -> Stream {
        Stream {
            flags,
            priority: priority.clamp(-1, 1),
            card: device::current(),
            is_null,
            last: AtomicU64::new(0),
            events: Mutex::default(),
            capture: Mutex::default(),
            is_origin: Mutex::default(),
        }
    }

    fn capture(&self) -> MutexGuard<'_, Option<Captured>> {
        // One store at a time: a panic cannot leave it half done.
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn events(&self) -> MutexGuard<'_, Vec<u64>> {
        // Pushes only: a panic cannot leave it half changed.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The capture that it takes part in.
    pub(crate) fn captured(&self) -> Option<Captured> {
        self.capture().clone()
    }

    /// Refuses a call that would wait while the stream is captured. The capture is of no use afterwards.
    fn refuse_capture(&self) -> Result {
        match &*self.capture() {
            Some(captured) => {
                captured.is_invalid.store(true, SeqCst);
                Err(UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// The jobs that are before its next one, beside those of events.
    fn before(&self) -> Vec<u64> {
        let last = |stream: &Stream| stream.last.load(SeqCst);
        if self.is_null {
            return blocking().map(|stream| last(&stream)).collect();
        }
        match self.flags & hip::hipStreamNonBlocking {
            0 => vec![last(self), last(&NULL)],
            _ => vec![last(self)],
        }
    }

    /// Opens the stream's next job.
    fn next<T>(&self, open: impl FnOnce(&[u64]) -> Result<(u64, T)>) -> Result<T> {
        let order = ORDER.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = self.before();
        after.append(&mut self.events());
        let (job, value) = open(&after)?;
        self.last.store(job, SeqCst);
        drop(order);
        Ok(value)
    }

    /// Submits work, or adds it to the graph.
    pub(crate) fn submit(&self, work: Work) -> Result {
        if let Some(captured) = &mut *self.capture() {
            let node = captured.graph.add(work, &captured.last);
            captured.last = vec![node];
            return Ok(());
        }
        let runtime = device::runtime()?;
        let mut events = Vec::new();
        if let Work::Graph(_) = work {
            work.records(&mut |event| event.begin());
            events.push(work.clone());
        }
        let job = Box::new(move || work.carry_out(runtime));
        let job = self.next(|after| {
            let job = jobs::submit(after, job)?;
            Ok((job, job))
        })?;
        for work in events {
            work.records(&mut |event| event.is_job(job));
        }
        Ok(())
    }

    /// Does work on this thread, after what is before it; for a capture, adds it to the graph.
    pub(crate) fn now(&self, work: Work) -> Result {
        if self.capture().is_some() {
            return self.submit(work);
        }
        let runtime = device::runtime()?;
        let own = self.next(|after| {
            let own = jobs::own(after)?;
            Ok((own.number(), own))
        })?;
        own.carry_out(|| work.carry_out(runtime))
    }

    /// Waits for its work.
    pub(crate) fn wait(&self) -> Result {
        self.refuse_capture()?;
        match self.is_null {
            true => self.before().into_iter().try_for_each(jobs::wait),
            false => jobs::wait(self.last.load(SeqCst)),
        }
    }

    /// Whether its work is done.
    pub(crate) fn is_done(&self) -> Result<bool> {
        self.refuse_capture()?;
        jobs::is_done(self.last.load(SeqCst))
    }

    /// Records an event after its work.
    pub(crate) fn record(&self, event: &Arc<Event>) -> Result {
        if let Some(captured) = self.captured() {
            event.capture(captured);
            return Ok(());
        }
        let runtime = device::runtime()?;
        let work = Work::Record(Arc::clone(event));
        self.next(|after| {
            let job = Box::new(move || work.carry_out(runtime));
            Ok((event.record(|| jobs::submit(after, job))?, ()))
        })
    }

    /// What comes next is done after the event.
    pub(crate) fn wait_for(&self, event: &Event) -> Result {
        let Some(there) = event.captured() else {
            self.events().extend(event.job());
            return Ok(());
        };
        let mut capture = self.capture();
        match &mut *capture {
            None => *capture = Some(there),
            Some(here) if here.id == there.id => {
                for node in there.last {
                    if here.last.iter().all(|known| !Arc::ptr_eq(known, &node)) {
                        here.last.push(node);
                    }
                }
            }
            Some(_) => return Err(hip::hipError_t_hipErrorStreamCaptureMerge),
        }
        Ok(())
    }

    /// What comes next in its capture is done after these nodes, instead of what it was, or too.
    pub(crate) fn update_capture(&self, nodes: Vec<Arc<Node>>, instead: bool) -> Result {
        let mut capture = self.capture();
        let captured = capture.as_mut().ok_or(hip::hipError_t_hipErrorIllegalState)?;
        if instead {
            captured.last.clear();
        }
        captured.last.extend(nodes);
        Ok(())
    }

    /// Its work becomes nodes of a graph from now on.
    pub(crate) fn begin_capture(self: &Arc<Stream>) -> Result {
        static ID: AtomicU64 = AtomicU64::new(1);
        if Arc::ptr_eq(self, &NULL) {
            return Err(UNSUPPORTED);
        }
        let mut capture = self.capture();
        if capture.is_some() {
            return Err(hip::hipError_t_hipErrorIllegalState);
        }
        let graph = Arc::<Graph>::default();
        *capture = Some(Captured {
            id: ID.fetch_add(1, SeqCst),
            handle: GRAPHS.share(Arc::clone(&graph)),
            graph,
            is_invalid: Arc::default(),
            last: Vec::new(),
        });
        *self.is_origin.lock().unwrap_or_else(PoisonError::into_inner) = true;
        Ok(())
    }

    /// Ends the capture that began here; gives the graph's handle.
    pub(crate) fn end_capture(&self) -> Result<usize> {
        let mut is_origin = self.is_origin.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_origin {
            let captured = self.capture().is_some();
            return Err(match captured {
                true => hip::hipError_t_hipErrorStreamCaptureUnmatched,
                false => hip::hipError_t_hipErrorIllegalState,
            });
        }
        *is_origin = false;
        let captured = self
            .capture()
            .take()
            .ok_or(hip::hipError_t_hipErrorIllegalState)?;
        for other in STREAMS.all().into_iter().chain([Arc::clone(&OWN)]) {
            other.capture().take_if(|other| other.id == captured.id);
        }
        // What no later node waits for must have come back to this stream.
        let joined = captured
            .graph
            .leaves()
            .iter()
            .all(|leaf| captured.last.iter().any(|last| Arc::ptr_eq(last, leaf)));
        let refused = match (captured.is_invalid.load(SeqCst), joined) {
            (false, true) => return Ok(captured.handle),
            (true, _) => hip::hipError_t_hipErrorStreamCaptureInvalidated,
            (false, false) => hip::hipError_t_hipErrorStreamCaptureUnjoined,
        };
        GRAPHS.remove(captured.handle)?;
        Err(refused)
    }
}
