//! The descriptors of a queue's requests: memory that the kernel fills.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::abi::{DESCRIPTOR_LEN, MAX_DEPTH, Request};

pub(super) struct Descriptors {
    start: NonNull<[u64; 3]>,
    depth: usize,
    len: usize,
}

impl Descriptors {
    /// The descriptors of the queue with this number and `depth` slots; `page` is the page size.
    pub(super) fn new(
        connection: BorrowedFd<'_>,
        queue: u16,
        depth: usize,
        page: usize,
    ) -> io::Result<Self> {
        let len = (depth * DESCRIPTOR_LEN).next_multiple_of(page);
        let stride = (MAX_DEPTH * DESCRIPTOR_LEN).next_multiple_of(page);
        let offset = u64::from(queue) * stride as u64;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses does not affect other memory.
        let start =
            unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, flags, connection, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, depth, len })
    }

    /// The request that has arrived in a slot.
    pub(super) fn request(&self, slot: usize) -> Request {
        assert!(slot < self.depth, "a slot of the queue");
        // SAFETY: the slot's descriptor is in the mapping, which is page-aligned. The kernel wrote the descriptor
        // before the slot's completion, and will write it again only after the reply; any bytes are valid.
        Request::parse(unsafe { self.start.as_ptr().add(slot).read_volatile() })
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the memory with this length; nothing borrows from it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
