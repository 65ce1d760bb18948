//! The buffers of all slots, carved from the arena.

/// A source buffer for each slot, and a bounce buffer where sealed data must not replace its
/// plaintext. They lie densely packed, whatever the block size, to spare caches and TLB.
pub(super) struct Lanes {
    base: *mut u8,
    /// Bytes of a slot's buffer.
    pub(super) block: usize,
    /// Slots.
    pub(super) depth: usize,
    bounce: bool,
}

impl Lanes {
    /// # Safety
    /// `base` points to `depth * block` bytes, twice that with `bounce`, which nothing else
    /// refers to, requests in flight included, and which outlive the lanes and every request made
    /// of them.
    pub(super) unsafe fn new(base: *mut u8, block: usize, depth: usize, bounce: bool) -> Self {
        Self { base, block, depth, bounce }
    }

    pub(super) fn source_ptr(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.depth);
        // SAFETY: within the arena, see `new`.
        unsafe { self.base.add(slot * self.block) }
    }

    /// # Safety
    /// No request of this slot is in flight and no other reference to its source exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    pub(super) unsafe fn source(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(len <= self.block);
        // SAFETY: within the arena (see `new`), initialised by its allocation, exclusive by this
        // function's contract.
        unsafe { std::slice::from_raw_parts_mut(self.source_ptr(slot), len) }
    }

    /// # Safety
    /// No request of this slot is in flight and no other reference to its bounce buffer exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    pub(super) unsafe fn bounce(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(self.bounce && slot < self.depth && len <= self.block);
        // SAFETY: the bounce buffers follow the sources in the arena; as in `source`.
        unsafe {
            let ptr = self.base.add((self.depth + slot) * self.block);
            std::slice::from_raw_parts_mut(ptr, len)
        }
    }
}
