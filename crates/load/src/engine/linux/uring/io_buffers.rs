//! The buffers of all slots, carved from the arena.

/// A source buffer for each slot, and a second one where sealed data must not replace its plaintext, or
/// what is read must not replace what is to be written. They lie densely packed, whatever the block
/// size, to spare caches and TLB.
pub(super) struct IoBuffers {
    base: *mut u8,
    /// Bytes of a slot's buffer.
    pub(super) block: usize,
    /// Slots.
    pub(super) depth: usize,
    second: bool,
    /// From a slot's source to where it reads.
    read_at: usize,
}

impl IoBuffers {
    /// Reads go to the second buffers with `reads_into_second`, else to the sources.
    ///
    /// # Safety
    /// `base` points to `depth * block` bytes, twice that with `second`, which nothing else
    /// refers to, requests in flight included, and which outlive the buffers and every request made
    /// of them.
    pub(super) unsafe fn new(
        base: *mut u8,
        block: usize,
        depth: usize,
        (second, reads_into_second): (bool, bool),
    ) -> Self {
        let second = second || reads_into_second;
        let read_at = if reads_into_second { depth * block } else { 0 };
        Self { base, block, depth, second, read_at }
    }

    fn source_ptr(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.depth);
        // SAFETY: within the arena, see `new`.
        unsafe { self.base.add(slot * self.block) }
    }

    /// Where a slot reads.
    pub(super) fn read_ptr(&self, slot: usize) -> *mut u8 {
        // SAFETY: the second buffers follow the sources in the arena, and `read_at` leads to them only
        // where there are any.
        unsafe { self.source_ptr(slot).add(self.read_at) }
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

    /// What a slot has read.
    ///
    /// # Safety
    /// No request of this slot is in flight and no other reference to what it read exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    pub(super) unsafe fn read(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(len <= self.block);
        // SAFETY: as in `source`.
        unsafe { std::slice::from_raw_parts_mut(self.read_ptr(slot), len) }
    }

    /// Where a slot's data is sealed to.
    ///
    /// # Safety
    /// No request of this slot is in flight and no other reference to its second buffer exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    pub(super) unsafe fn sealed(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(self.second && slot < self.depth && len <= self.block);
        // SAFETY: the second buffers follow the sources in the arena; as in `source`.
        unsafe {
            let ptr = self.base.add((self.depth + slot) * self.block);
            std::slice::from_raw_parts_mut(ptr, len)
        }
    }
}
