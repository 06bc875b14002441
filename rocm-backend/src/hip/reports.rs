//! What kernels say of ids that are not positions: two words of device memory for each operation and bound, which the host reads when
//! it waits for the device. `Report` of `kernels/indexing.hip` writes them.
//!
//! So an operation that works by ids waits for nothing. The error comes from the call that waits next: a download, a
//! synchronisation, or work handed to another stream. The words travel with what that call fetches, so that it waits once. A graph has
//! words of its own, which are read after each replay. On the software device a launch is over when it returns, and each has words
//! of its own, which its caller reads: threads that share the device never hear of each other's ids.
#![expect(unsafe_code, reason = "has HIP set device memory to zero, and copy from it")]

use std::sync::Arc;

use rocm_rs::hip::bindings;

use super::context::Context;
use super::pool::Block;
use super::staging::Slot;
use super::status::check;
use super::stream::Stream;
use crate::{DriverKind, Error, Result};

/// Operations with their bounds that are watched between two looks.
const SITES: usize = 64;
/// Bytes that an operation has: two words.
const SITE_BYTES: usize = 16;

/// An operation whose ids are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    op: String,
    bound: usize,
    /// The number of the first id that the kernel is given.
    first: usize,
}

/// Words for some operations, all zero but where a kernel reported something.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) block: Block,
    /// Number N has the block's words number 2 N and 2 N + 1.
    sites: Vec<Site>,
}

impl Words {
    /// Words for [`SITES`] operations in `block`, which is as long as [`Words::BYTES`] and becomes zero in the order of `stream`.
    pub(super) fn new(block: Block, stream: &Stream) -> Result<Words> {
        clear(block, Words::BYTES, stream)?;
        Ok(Words {
            block,
            sites: Vec::new(),
        })
    }

    pub(super) const BYTES: usize = SITES * SITE_BYTES;

    /// The address of the words of an operation; none when other operations have all of them.
    fn address(&mut self, site: Site) -> Option<usize> {
        let known = self.sites.iter().position(|known| *known == site);
        let at = match known {
            Some(at) => at,
            None if self.sites.len() == SITES => return None,
            None => {
                self.sites.push(site);
                self.sites.len() - 1
            }
        };
        Some(self.block.address() + at * SITE_BYTES)
    }
}

/// The words that kernels of a context's stream may have written since the host looked last.
#[derive(Default)]
pub(crate) struct Reports {
    words: Option<Words>,
    /// Those of graphs.
    replayed: Vec<Arc<Vec<Words>>>,
    /// Where words arrive, one for each block that is fetched; those that no look is using.
    slots: Vec<Slot>,
    /// What the words of a graph said that is gone, for the next look.
    found: Option<Error>,
    /// Of the software device: blocks of one operation's words that are 0, and that no launch has.
    spare: Vec<Block>,
}

impl Reports {
    /// The blocks, for their context to give back.
    pub(super) fn take_blocks(&mut self) -> Vec<Block> {
        let mut blocks = std::mem::take(&mut self.spare);
        blocks.extend(self.words.take().map(|words| words.block));
        blocks
    }

    /// A graph was replayed that has words of its own.
    pub(super) fn watch(&mut self, words: &Arc<Vec<Words>>) {
        let is_watched = self.replayed.iter().any(|other| Arc::ptr_eq(other, words));
        if !is_watched && !words.is_empty() {
            self.replayed.push(Arc::clone(words));
        }
    }

    /// Has the next look say `error`, unless it has one to say.
    pub(super) fn keep(&mut self, error: Error) {
        self.found.get_or_insert(error);
    }
}

/// Where a launch reports its ids.
pub(crate) struct Report<'a> {
    context: &'a Context,
    address: usize,
    /// The words, where nobody else looks at them.
    own: Option<(Block, Site)>,
}

impl<'a> Report<'a> {
    /// Of a kernel that reports nothing, as it is told by address 0.
    pub(crate) fn none(context: &'a Context) -> Self {
        Report {
            context,
            address: 0,
            own: None,
        }
    }

    /// The address of its two words, for the kernel.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// After the launch: on the software device what it reported, on others nothing, as the call that waits next says it.
    ///
    /// # Errors
    /// [`Error::Index`] for an id that is not a position; [`Error::Hip`] or [`Error::DeviceFault`].
    pub(crate) fn end(mut self) -> Result<()> {
        let Some((block, site)) = &self.own else {
            return Ok(());
        };
        let (block, slot) = (*block, self.context.reports().slots.pop());
        let fetched = self.context.fetch(block, vec![site.clone()], slot)?;
        let found = fetched.end(self.context)?;
        // They are 0 again.
        self.own = None;
        self.context.reports().spare.push(block);
        found.map_or(Ok(()), Err)
    }
}

impl Drop for Report<'_> {
    /// A launch that failed, or whose words could not be read, may have written something.
    fn drop(&mut self) {
        if let Some((block, _)) = self.own.take()
            && clear(block, SITE_BYTES, self.context.stream()).is_ok()
        {
            self.context.reports().spare.push(block);
        }
    }
}

/// Words on their way to the host.
pub(super) struct Look<'a> {
    context: &'a Context,
    fetched: Vec<Fetched>,
    found: Option<Error>,
}

struct Fetched {
    block: Block,
    sites: Vec<Site>,
    slot: Slot,
}

impl Fetched {
    /// What the words say. They are 0 again afterwards.
    fn end(mut self, context: &Context) -> Result<Option<Error>> {
        let mut bytes = vec![0; self.sites.len() * SITE_BYTES];
        self.slot.receive(&mut bytes)?;
        context.reports().slots.push(self.slot);
        let sites = self.sites.into_iter();
        let wrong = sites
            .zip(bytes.chunks_exact(SITE_BYTES))
            .find_map(|(site, words)| wrong_id(site, words));
        if wrong.is_some() {
            // The trace does not list this call, because the operation that is launched next did not ask for it.
            clear(self.block, bytes.len(), context.stream())?;
        }
        Ok(wrong)
    }
}

impl Look<'_> {
    /// What the words say, once the host has waited for the stream or does so here.
    ///
    /// # Errors
    /// [`Error::Index`] for an id that is not a position, once; [`Error::Hip`] or [`Error::DeviceFault`].
    pub(super) fn end(self) -> Result<()> {
        let mut found = self.found;
        for fetched in self.fetched {
            found = found.or(fetched.end(self.context)?);
        }
        found.map_or(Ok(()), Err)
    }

    /// Whether there was anything to fetch.
    pub(super) fn is_needed(&self) -> bool {
        !self.fetched.is_empty()
    }
}

impl Context {
    /// Where a kernel launched now for `op`, of ids from number `first` on, reports those that are not below `bound`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Hip`]. When all places are taken the host looks at them first, and the errors of
    /// [`Context::look_at_reports`] are possible.
    pub(crate) fn report_of(&self, op: &str, bound: usize, first: usize) -> Result<Report<'_>> {
        let site = Site {
            op: op.to_owned(),
            bound,
            first,
        };
        let (address, own) = if self.ends_at_once() {
            let block = self.own_words()?;
            (block.address(), Some((block, site)))
        } else {
            (self.late_report_of(site)?, None)
        };
        Ok(Report {
            context: self,
            address,
            own,
        })
    }

    /// Words of one operation, all 0.
    fn own_words(&self) -> Result<Block> {
        if let Some(block) = self.reports().spare.pop() {
            return Ok(block);
        }
        self.bind()?;
        let block = self.lasting(SITE_BYTES)?;
        clear(block, SITE_BYTES, self.stream()).inspect_err(|_| self.put(block))?;
        Ok(block)
    }

    /// Words that the call which waits next looks at.
    fn late_report_of(&self, site: Site) -> Result<usize> {
        if let Some(address) = self.words_of_capture(|words| words.address(site.clone()))? {
            return Ok(address);
        }
        loop {
            let mut reports = self.reports();
            let words = match &mut reports.words {
                Some(words) => words,
                none => {
                    self.bind()?;
                    none.insert(Words::new(self.lasting(Words::BYTES)?, self.stream())?)
                }
            };
            if let Some(address) = words.address(site.clone()) {
                return Ok(address);
            }
            drop(reports);
            self.look_at_reports()?;
        }
    }

    /// The same for a test of what a GPU does, whose launches are not over when they return.
    #[cfg(test)]
    pub(super) fn late_report_of_gpu(&self, op: &str, bound: usize) -> Result<usize> {
        let op = op.to_owned();
        self.late_report_of(Site { op, bound, first: 0 })
    }

    /// Has the words of `sites` in `block` copied to the host, in stream order.
    fn fetch(&self, block: Block, sites: Vec<Site>, slot: Option<Slot>) -> Result<Fetched> {
        let mut slot = slot.map_or_else(|| Slot::of(Words::BYTES), Ok)?;
        // SAFETY: the block has the words of as many operations, which are `SITES` at most. A graph whose words these are looks at
        // them before it gives the block up.
        unsafe { slot.fetch(sites.len() * SITE_BYTES, block, 0, self.stream()) }?;
        Ok(Fetched { block, sites, slot })
    }

    /// Has the words that are watched copied to the host, in stream order.
    pub(super) fn begin_look(&self) -> Result<Look<'_>> {
        self.refuse_in_capture("a wait for the device")?;
        self.bind()?;
        let mut reports = self.reports();
        let mut blocks = Vec::new();
        if let Some(words) = reports.words.as_mut().filter(|words| !words.sites.is_empty()) {
            blocks.push((words.block, std::mem::take(&mut words.sites)));
        }
        for list in std::mem::take(&mut reports.replayed) {
            blocks.extend(list.iter().map(|words| (words.block, words.sites.clone())));
        }
        let mut fetched = Vec::new();
        for (block, sites) in blocks {
            fetched.push(self.fetch(block, sites, reports.slots.pop())?);
        }
        Ok(Look {
            context: self,
            fetched,
            found: reports.found.take(),
        })
    }

    /// Waits for the launches whose ids are watched, if there are any, and says what they found.
    ///
    /// # Errors
    /// [`Error::Index`] for an id that is not a position, once; [`Error::Hip`] or [`Error::DeviceFault`].
    pub(crate) fn look_at_reports(&self) -> Result<()> {
        let look = self.begin_look()?;
        if look.is_needed() {
            self.count_wait();
        }
        look.end()
    }

    /// The same where a graph's launches are over when its replay returns, on the software device.
    pub(crate) fn look_if_done(&self) -> Result<()> {
        match self.ends_at_once() {
            true => self.begin_look()?.end(),
            false => Ok(()),
        }
    }

    /// Whether a launch is over when its submission returns: on the software device, unless it is captured.
    fn ends_at_once(&self) -> bool {
        self.info().driver().kind() == DriverKind::Soft && !self.is_capturing()
    }
}

/// Sets the words in the first `len` bytes of `block` to 0, in the order of `stream`.
fn clear(block: Block, len: usize, stream: &Stream) -> Result<()> {
    // SAFETY: the block has as many bytes, and is written in stream order.
    check("hipMemsetAsync", unsafe {
        bindings::hipMemsetAsync(block.pointer(0), 0, len, stream.raw())
    })
}

/// The error that the two words of a site stand for; none where they are 0.
fn wrong_id(site: Site, words: &[u8]) -> Option<Error> {
    let word = |at: usize| {
        words[at..][..8]
            .iter()
            .rev()
            .fold(0_u64, |word, &byte| word << 8 | u64::from(byte))
    };
    let (low, high) = (word(0), word(8));
    if low == 0 {
        return None;
    }
    let half = |word: u64| word & u64::from(u32::MAX);
    Some(Error::Index {
        op: site.op,
        what: "id",
        index: (half(low) | half(high) << 32).cast_signed(),
        position: site.first + !((low >> 32) as u32) as usize,
        bound: site.bound,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: [u64; 2]) -> Option<String> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let site = Site {
            op: "gather".to_owned(),
            bound: 4,
            first: 100,
        };
        wrong_id(site, &bytes).map(|error| error.to_string())
    }

    #[test]
    fn words_say_which_id_is_wrong_and_where() {
        assert_eq!(found([0, 0]), None);
        let place = |at: u32| u64::from(!at) << 32;
        let of = |id: i64, at: u32| {
            let bits = id.cast_unsigned();
            found([place(at) | bits & 0xffff_ffff, place(at) | bits >> 32]).unwrap()
        };
        for (id, at) in [
            (7, 0),
            (-1, 3),
            (i64::MIN, 9),
            (i64::MAX - 1, u32::MAX - 1),
            (1 << 32, 2),
        ] {
            let text = of(id, at);
            assert!(
                text.contains(&id.to_string()) && text.contains(&(100 + u64::from(at)).to_string()),
                "{text}"
            );
        }
    }
}
