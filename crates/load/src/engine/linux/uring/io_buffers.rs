//! The buffers of all slots, laid out in the arena.

/// One source buffer per slot. Each slot also has a second buffer if sealed data must not overwrite its plaintext, or
/// if read data must not overwrite data to be written. Buffers are packed densely for every block size, to use few
/// cache lines and TLB entries.
pub(super) struct IoBuffers {
    base: *mut u8,
    /// Bytes of one buffer.
    pub(super) block: usize,
    /// Number of slots.
    pub(super) depth: usize,
    second: bool,
    /// Distance in bytes from a slot's source buffer to the buffer for reads.
    read_at: usize,
}

impl IoBuffers {
    /// With `reads_into_second`, reads use the second buffers, otherwise the source buffers.
    ///
    /// # Safety
    /// `base` points to `depth * block` bytes, or twice as many with `second`. Nothing else refers to these
    /// bytes, not even requests in flight. The bytes outlive this value and every request that uses it.
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

    /// The address of a slot's buffer for reads.
    pub(super) fn read_ptr(&self, slot: usize) -> *mut u8 {
        // SAFETY: the second buffers follow the sources in the arena, and `read_at` points to the second buffers only
        // if these exist.
        unsafe { self.source_ptr(slot).add(self.read_at) }
    }

    /// # Safety
    /// No request of this slot is in flight and no other reference to its source exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    pub(super) unsafe fn source(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(len <= self.block);
        // SAFETY: the range is within the arena (see `new`), has been initialised since its allocation, and is accessed
        // exclusively, as required by this function.
        unsafe { std::slice::from_raw_parts_mut(self.source_ptr(slot), len) }
    }

    /// The data that was read into a slot's buffer.
    ///
    /// # Safety
    /// No request of this slot is in flight and no other reference to this buffer exists.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for exclusiveness, per slot")]
    pub(super) unsafe fn read(&self, slot: usize, len: usize) -> &mut [u8] {
        assert!(len <= self.block);
        // SAFETY: as in `source`.
        unsafe { std::slice::from_raw_parts_mut(self.read_ptr(slot), len) }
    }

    /// The buffer that receives a slot's sealed data.
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
