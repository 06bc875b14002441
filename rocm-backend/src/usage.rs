//! How much device memory a device's buffers hold.

/// Bytes of one context's buffers, as their blocks are long.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    live: usize,
    peak: usize,
    blocks: usize,
}

impl Usage {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.live += bytes;
        self.blocks += 1;
        self.peak = self.peak.max(self.live);
    }

    pub(crate) fn remove(&mut self, bytes: usize) {
        self.live -= bytes;
        self.blocks -= 1;
    }

    /// Bytes held.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// The most bytes that were held at one time.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// In how many blocks the bytes are held.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }
}
