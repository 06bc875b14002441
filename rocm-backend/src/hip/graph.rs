//! Graphs: work that was submitted to a stream once, to be run again by one call.
//!
//! What makes that safe: a graph keeps every block of memory that its work names. [`DeviceMemory::block`](super::memory) tells the open
//! capture of each block whose address is asked for. Blocks that are taken meanwhile come from the graph's [`Arena`], which serves
//! nothing else until the graph and its results are gone. What is not part of the graph, memory for constants above all, is written
//! over a stream beside the captured one.
#![expect(
    unsafe_code,
    reason = "calls HIP with graphs and says why they may cross threads"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocm_rs::hip::bindings::{self, hipGraph_t, hipGraphExec_t};

use super::context::Context;
use super::memory::Owned;
use super::pool::Block;
use super::reports::Words;
use super::status::check;
use super::stream::Stream;
use crate::trace::Books;
use crate::{Allocator, Error, Result};

/// The memory that a graph's work takes and gives back.
pub(super) struct Arena {
    context: Arc<Context>,
    /// For work that the graph does not contain.
    side: Arc<Stream>,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    all: Vec<Block>,
    /// Given back, by capacity: what is captured next may have them, as it runs after what had them.
    free: BTreeMap<usize, Vec<Block>>,
}

impl Arena {
    fn new(context: &Arc<Context>) -> Result<Arena> {
        Ok(Arena {
            context: Arc::clone(context),
            side: Arc::new(Stream::new()?),
            blocks: Mutex::default(),
        })
    }

    /// A block of at least `len` bytes, more than none.
    pub(super) fn take(&self, len: usize) -> Result<Block> {
        let pool = self.context.pool();
        if let Some(capacity) = pool.capacity(len) {
            let mut blocks = self.blocks();
            let found = blocks
                .free
                .range_mut(capacity..=capacity.saturating_add(capacity / 4))
                .find_map(|(_, list)| list.pop());
            if let Some(block) = found {
                return Ok(block);
            }
        }
        self.take_new(len)
    }

    fn take_new(&self, len: usize) -> Result<Block> {
        let block = self.context.pool().take_new(len)?;
        self.context.usage().add(block.capacity());
        self.blocks().all.push(block);
        Ok(block)
    }

    /// A block that nothing else of the graph has, with these bytes.
    pub(super) fn constant(&self, bytes: &[u8]) -> Result<Block> {
        let block = self.take_new(bytes.len())?;
        // SAFETY: the block is as long.
        unsafe { self.context.upload_beside(&self.side, bytes, block) }?;
        Ok(block)
    }

    /// A block is used no more by what is captured next. Exact memory is not handed out again: what reads it before it is written
    /// would read what another buffer left.
    pub(super) fn give_back(&self, block: Block) {
        if self.context.info().driver().allocator() == Allocator::Caching {
            let mut blocks = self.blocks();
            blocks.free.entry(block.capacity()).or_default().push(block);
        }
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        // The lists are whole after every statement.
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let blocks = std::mem::take(&mut self.blocks().all);
        for block in blocks {
            self.context.usage().remove(block.capacity());
            self.context.put(block);
        }
    }
}

/// A capture that is open: what the graph will keep.
pub(super) struct Capture {
    arena: Arc<Arena>,
    /// Blocks that are named, by the address of their owner.
    kept: BTreeMap<usize, Arc<Owned>>,
    /// Blocks that were given up meanwhile, and that the graph does not name. They go back at the end: HIP frees none meanwhile.
    late: Vec<Block>,
    words: Vec<Words>,
    /// What the device did before.
    books: Books,
}

/// A thread's number, from 1 on.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

/// Which thread captures on a context, and what was found out so far.
#[derive(Default)]
pub(crate) struct Capturing {
    /// 0 for none.
    thread: AtomicU64,
    open: Mutex<Option<Capture>>,
}

impl Capturing {
    fn open(&self) -> MutexGuard<'_, Option<Capture>> {
        // Every change is one step.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    /// Whether this thread captures a graph on this context.
    pub(crate) fn is_capturing(&self) -> bool {
        let thread = self.capturing().thread.load(Ordering::Relaxed);
        thread != 0 && thread == this_thread()
    }

    /// Refuses this thread's work while another one captures: it would become part of that one's graph.
    pub(super) fn refuse_beside_capture(&self) -> Result<()> {
        match self.capturing().thread.load(Ordering::Relaxed) {
            0 => Ok(()),
            thread if thread == this_thread() => Ok(()),
            _ => Err(Error::Capture(
                "another thread captures on this device; a stream of its own (`Device::new_stream`) works meanwhile".to_owned(),
            )),
        }
    }

    /// Refuses what cannot be part of a graph.
    pub(crate) fn refuse_in_capture(&self, what: &str) -> Result<()> {
        match self.is_capturing() {
            true => Err(Error::Capture(format!("{what} cannot be part of it"))),
            false => Ok(()),
        }
    }

    /// The memory of the graph that this thread captures.
    pub(super) fn arena(&self) -> Option<Arc<Arena>> {
        if !self.is_capturing() {
            return None;
        }
        let open = self.capturing().open();
        open.as_ref().map(|capture| Arc::clone(&capture.arena))
    }

    /// Has the graph that this thread captures keep a block. Those of its own arena it has, whoever else gives them up.
    pub(super) fn keep_for_graph(&self, owned: &Arc<Owned>) {
        if self.is_capturing()
            && let Some(capture) = &mut *self.capturing().open()
            && !owned.is_of(&capture.arena)
        {
            let key = Arc::as_ptr(owned).addr();
            capture.kept.entry(key).or_insert_with(|| Arc::clone(owned));
        }
    }

    /// Puts a block back to the pool: at once, or when the capture ends.
    pub(super) fn put(&self, block: Block) {
        if let Some(capture) = &mut *self.capturing().open() {
            capture.late.push(block);
            return;
        }
        self.pool().put(self.stream(), block);
    }

    /// An address of words of the graph that this thread captures, as `find` finds one among those there are; `None` without a capture.
    pub(super) fn words_of_capture(
        &self,
        find: impl Fn(&mut Words) -> Option<usize>,
    ) -> Result<Option<usize>> {
        let Some(arena) = self.arena() else {
            return Ok(None);
        };
        let found = |open: &mut Option<Capture>| open.as_mut()?.words.last_mut().and_then(&find);
        if let Some(address) = found(&mut self.capturing().open()) {
            return Ok(Some(address));
        }
        let words = Words::new(arena.take_new(Words::BYTES)?, &arena.side)?;
        arena.side.synchronize()?;
        let mut open = self.capturing().open();
        if let Some(capture) = &mut *open {
            capture.words.push(words);
        }
        Ok(found(&mut open))
    }

    /// A block that is the context's own for as long as it lives, with these bytes.
    pub(super) fn lasting_with(&self, bytes: &[u8]) -> Result<Block> {
        let block = self.lasting(bytes.len())?;
        // SAFETY: the block is as long.
        let sent = unsafe {
            match self.arena() {
                Some(arena) => self.upload_beside(&arena.side, bytes, block),
                None => self.staging().get()?.upload(bytes, block, self.stream()),
            }
        };
        sent.inspect_err(|_| self.put(block))?;
        Ok(block)
    }

    /// A block of `len` bytes, more than none, that is the context's own for as long as it lives.
    pub(super) fn lasting(&self, len: usize) -> Result<Block> {
        self.bind()?;
        match self.is_capturing() {
            true => self.pool().take_new(len),
            false => self.pool().take(self.stream(), len),
        }
    }

    /// Copies `bytes` to the start of `block` over the stream `side`, and waits for it.
    ///
    /// # Safety
    /// The block has room for them.
    unsafe fn upload_beside(&self, side: &Stream, bytes: &[u8], block: Block) -> Result<()> {
        self.bind()?;
        // SAFETY: as the caller says.
        unsafe { self.staging().get()?.upload(bytes, block, side) }?;
        side.synchronize()
    }

    /// Captures what `f` submits.
    pub(crate) fn capture<T, E: From<Error>>(
        self: &Arc<Self>,
        f: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<(Graph, T), E> {
        self.refuse_in_capture("the capture of another graph")?;
        // Earlier failures are told before, and memory beside the captured stream may be written at once.
        self.synchronize()?;
        // A handle of a library is made where nothing is captured.
        self.prepare_libraries()?;
        let arena = Arc::new(Arena::new(self)?);
        *self.capturing().open() = Some(Capture {
            arena,
            kept: BTreeMap::new(),
            late: Vec::new(),
            words: Vec::new(),
            books: self.ledger().set_aside(),
        });
        self.capturing().thread.store(this_thread(), Ordering::SeqCst);
        // A panic in `f` ends the capture as well.
        let open = Open(Some(self));
        // Other threads are refused from here on. What one of them was submitting is waited for.
        self.stream().synchronize()?;
        // SAFETY: a live stream. `Relaxed`: memory is allocated and modules are loaded meanwhile.
        check("hipStreamBeginCapture", unsafe {
            bindings::hipStreamBeginCapture(
                self.stream().raw(),
                bindings::hipStreamCaptureMode_hipStreamCaptureModeRelaxed,
            )
        })?;
        let result = f()?;
        Ok((open.end()?, result))
    }

    /// Ends the capture: the stream does again what it is given.
    fn end_capture(self: &Arc<Self>) -> Result<Graph> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: a live stream, and a live handle to be written.
        let ended = check("hipStreamEndCapture", unsafe {
            bindings::hipStreamEndCapture(self.stream().raw(), &raw mut graph)
        });
        let capture = self.capturing().open().take();
        self.capturing().thread.store(0, Ordering::Relaxed);
        let graph = Template(graph);
        let Some(capture) = capture else {
            return Err(Error::Capture("it has ended".to_owned()));
        };
        let books = self.ledger().restore(capture.books);
        capture.late.into_iter().for_each(|block| self.put(block));
        ended?;
        let exec = graph.instantiate()?;
        Ok(Graph {
            nodes: graph.nodes()?,
            exec: Mutex::new(exec),
            context: Arc::clone(self),
            words: Arc::new(capture.words),
            books,
            _kept: capture.kept.into_values().collect(),
            _arena: capture.arena,
        })
    }
}

/// The context on which a capture is open.
struct Open<'a>(Option<&'a Arc<Context>>);

impl Open<'_> {
    fn end(mut self) -> Result<Graph> {
        match self.0.take() {
            Some(context) => context.end_capture(),
            None => Err(Error::Capture("it has ended".to_owned())),
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.0.take() {
            // The caller's error or panic is what is told.
            let _ = context.end_capture();
        }
    }
}

/// What HIP has captured, before it can be run.
struct Template(hipGraph_t);

impl Template {
    fn nodes(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: a live graph; without a list HIP writes how many nodes there are.
        check("hipGraphGetNodes", unsafe {
            bindings::hipGraphGetNodes(self.0, std::ptr::null_mut(), &raw mut count)
        })?;
        Ok(count)
    }

    fn instantiate(&self) -> Result<Exec> {
        let mut exec = std::ptr::null_mut();
        // SAFETY: a live graph and a live handle to be written; there are no flags.
        check("hipGraphInstantiateWithFlags", unsafe {
            bindings::hipGraphInstantiateWithFlags(&raw mut exec, self.0, 0)
        })?;
        Ok(Exec(exec))
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: from hipStreamEndCapture, destroyed only here. What was made of it does not need it.
            let _ = unsafe { bindings::hipGraphDestroy(self.0) };
        }
    }
}

/// A graph that can be run, owned.
struct Exec(hipGraphExec_t);

// SAFETY: HIP ties the handle to no thread, and a lock is held while it is used.
unsafe impl Send for Exec {}

impl Drop for Exec {
    fn drop(&mut self) {
        // SAFETY: from hipGraphInstantiateWithFlags, destroyed only here; the graph's owner has waited for its runs.
        let _ = unsafe { bindings::hipGraphExecDestroy(self.0) };
    }
}

/// Work that was captured; see [`Device::capture`](crate::Device::capture).
pub struct Graph {
    exec: Mutex<Exec>,
    nodes: usize,
    context: Arc<Context>,
    words: Arc<Vec<Words>>,
    books: Books,
    // Memory of its work; dropped after `Drop::drop` below has waited.
    _kept: Vec<Arc<Owned>>,
    _arena: Arc<Arena>,
}

impl Graph {
    /// Submits all of the graph's work to the stream that it was captured on, after what was submitted there before. Nothing waits.
    ///
    /// # Errors
    /// [`Error::Hip`]; [`Error::Capture`] while a graph is captured on the stream. On the software device, whose work is done when this
    /// returns, what the work's own calls could say: [`Error::Index`], [`Error::DeviceFault`].
    pub fn replay(&self) -> Result<()> {
        self.context.refuse_in_capture("a replay")?;
        self.context.bind()?;
        {
            let exec = self.exec.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: both handles live, and the graph keeps what its work names.
            check("hipGraphLaunch", unsafe {
                bindings::hipGraphLaunch(exec.0, self.context.stream().raw())
            })?;
        }
        self.context.ledger().add_all(&self.books);
        self.context.reports().watch(&self.words);
        self.context.look_if_done()
    }

    /// How many launches, copies and fills it has.
    pub fn nodes(&self) -> usize {
        self.nodes
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Graph({} nodes on device {})",
            self.nodes,
            self.context.ordinal()
        )
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // What it reported is told by the next call that waits. A device that fails runs nothing more.
        if let Err(error @ Error::Index { .. }) = self.context.look_at_reports() {
            self.context.reports().keep(error);
        }
        let _ = self.context.select();
        let _ = self.context.stream().synchronize();
    }
}
