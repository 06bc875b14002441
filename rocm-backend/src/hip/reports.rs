//! What kernels say of ids that are not positions: two words of device memory for each operation and bound, which the host reads when
//! it waits for the device. `Report` of `kernels/indexing.hip` writes them.
//!
//! So an operation that reads by ids is one launch, and waits for nothing. The error comes from the call that waits next: a
//! download, a synchronisation, or work handed to another stream.
#![expect(unsafe_code, reason = "has HIP set device memory to zero")]

use std::sync::Arc;

use rocm_rs::hip::bindings;

use super::context::Context;
use super::memory::DeviceMemory;
use super::pool::Block;
use super::status::check;
use crate::{Error, Result};

/// Operations with their bounds that are watched between two looks.
const SITES: usize = 64;
/// Bytes that an operation has: two words.
const SITE_BYTES: usize = 16;

/// An operation whose ids are watched.
#[derive(Debug, PartialEq, Eq)]
struct Site {
    op: String,
    bound: usize,
}

/// The words of a context's stream, all zero but where a kernel reported something.
#[derive(Default)]
pub(crate) struct Reports {
    block: Option<Block>,
    /// Watched since the host looked last; number N has the block's words number 2 N and 2 N + 1.
    sites: Vec<Site>,
}

impl Reports {
    /// The block, for its context to give back.
    pub(super) fn take_block(&mut self) -> Option<Block> {
        self.block.take()
    }
}

impl Context {
    /// Where a kernel launched now for `op` reports ids that are not below `bound`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Hip`]. When all places are taken the host looks at them first, and the errors of
    /// [`Context::look_at_reports`] are possible.
    pub(crate) fn report_of(self: &Arc<Self>, op: &str, bound: usize) -> Result<usize> {
        if self.reports().sites.len() == SITES {
            self.look_at_reports()?;
        }
        let mut reports = self.reports();
        let block = match reports.block {
            Some(block) => block,
            None => {
                let block = DeviceMemory::new(self, SITES * SITE_BYTES)?.into_block();
                reports.block = Some(block);
                self.clear(block)?;
                block
            }
        };
        let is_this = |site: &Site| site.op == op && site.bound == bound;
        let at = reports.sites.iter().position(is_this).unwrap_or_else(|| {
            reports.sites.push(Site {
                op: op.to_owned(),
                bound,
            });
            reports.sites.len() - 1
        });
        Ok(block.address() + at * SITE_BYTES)
    }

    /// Waits for the launches whose ids are watched, if there are any, and says what they found.
    ///
    /// # Errors
    /// [`Error::Index`] for an id that is not a position, once; [`Error::Hip`] or [`Error::DeviceFault`].
    pub(crate) fn look_at_reports(&self) -> Result<()> {
        let mut reports = self.reports();
        let Some(block) = reports.block.filter(|_| !reports.sites.is_empty()) else {
            return Ok(());
        };
        let sites = std::mem::take(&mut reports.sites);
        let mut bytes = vec![0; sites.len() * SITE_BYTES];
        self.bind()?;
        // SAFETY: the block has `SITES` times `SITE_BYTES` bytes. `sites` has at most `SITES` elements, so `bytes` is not longer.
        unsafe { self.staging().get()?.download(&mut bytes, block, self.stream()) }?;
        let found = sites
            .into_iter()
            .zip(bytes.chunks_exact(SITE_BYTES))
            .find_map(|(site, words)| wrong_id(site, words));
        let Some(error) = found else { return Ok(()) };
        self.clear(block)?;
        Err(error)
    }

    /// Sets all words to 0, in stream order. The trace does not list this call, because the operation that is launched next did not
    /// ask for it.
    fn clear(&self, block: Block) -> Result<()> {
        self.bind()?;
        // SAFETY: the block has as many bytes, and is written in stream order.
        check("hipMemsetAsync", unsafe {
            bindings::hipMemsetAsync(block.pointer(0), 0, SITES * SITE_BYTES, self.stream().raw())
        })
    }
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
        position: !((low >> 32) as u32) as usize,
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
                text.contains(&id.to_string()) && text.contains(&at.to_string()),
                "{text}"
            );
        }
    }
}
