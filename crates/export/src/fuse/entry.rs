//! An entry: memory to which the kernel writes a request, and from which it reads the reply.
//!
//! The holder of an entry replies to its request. The kernel accepts the reply on any ring of this process, and
//! delivers the entry's next request to the same ring. Replying on another thread's ring therefore moves the entry to
//! that thread.

use std::sync::Arc;

use rustix::io::Errno;

use super::abi::{self, Header, Request};
use crate::arena::Arena;
use crate::rings::{Buffer, DATA_STRIDE, MAX_REQUEST, Vector};

/// Length of `struct fuse_uring_req_header`: 128 bytes of FUSE header, 128 bytes for the
/// operation's structure, and `struct fuse_uring_ent_in_out`.
const REQUEST_HEADER: usize = 288;
/// Offset of the operation's structure in the request header.
const OPERATION_AT: usize = 128;
/// Offset of `fuse_uring_ent_in_out.commit_id` in it.
const COMMIT_ID_AT: usize = 264;
/// Offset of `fuse_uring_ent_in_out.payload_sz` in it.
const PAYLOAD_SIZE_AT: usize = 272;

/// Bytes between the headers of two entries.
const HEADER_STRIDE: usize = 512;

pub(super) struct Entry {
    arena: Arc<Arena>,
    /// Offset of the entry's headers in the arena.
    header: usize,
    payload: usize,
    /// The kernel's queue to which the entry belongs.
    pub(super) queue: u16,
    unique: u64,
    /// Identifies the request to the kernel.
    pub(super) commit_id: u64,
}

/// The fields of a request other than its data.
pub(super) struct Copied {
    header: [u8; REQUEST_HEADER],
    names: [u8; 512],
}

impl Default for Copied {
    fn default() -> Self {
        Self { header: [0; REQUEST_HEADER], names: [0; 512] }
    }
}

/// An entry for each of `queues`.
pub(super) fn entries(queues: &[u16]) -> std::io::Result<Vec<Entry>> {
    let first = (queues.len() * HEADER_STRIDE).next_multiple_of(4096);
    let arena = Arc::new(Arena::new(first + queues.len() * DATA_STRIDE)?);
    let entry = |(i, &queue)| Entry {
        arena: Arc::clone(&arena),
        header: i * HEADER_STRIDE,
        payload: first + i * DATA_STRIDE,
        queue,
        unique: 0,
        commit_id: 0,
    };
    Ok(queues.iter().enumerate().map(entry).collect())
}

impl Entry {
    /// The kernel's description of the two parts.
    pub(super) fn vectors(&mut self) -> [Vector; 2] {
        [
            Vector { start: self.header().as_mut_ptr(), len: REQUEST_HEADER },
            Vector { start: self.data().as_mut_ptr(), len: MAX_REQUEST },
        ]
    }

    /// The request that has arrived, and its node. `None` if the request is not valid. `copy` receives the parts that
    /// the reply may overwrite.
    pub(super) fn request<'c>(
        &mut self,
        copy: &'c mut Copied,
    ) -> Option<(u64, Option<Request<'c>>)> {
        copy.header.copy_from_slice(self.header());
        let payload_size = abi::u32_at(&copy.header, PAYLOAD_SIZE_AT).map_or(0, |n| n as usize);
        self.commit_id = abi::u64_at(&copy.header, COMMIT_ID_AT).unwrap_or(0);
        let header = Header::parse(&copy.header)?;
        self.unique = header.unique;
        let operation = &copy.header[OPERATION_AT..COMMIT_ID_AT - 8];
        // Except for reads and writes, data after the operation's structure consists only of names.
        let names = &mut copy.names[..payload_size.min(512)];
        if abi::arguments_len(header.opcode) == 0 {
            names.copy_from_slice(&self.data()[..names.len()]);
        }
        let request = Request::parse(header.opcode, operation, names)
            .filter(|r| !matches!(r, Request::Write { size, .. } if *size != payload_size));
        Some((header.node, request))
    }

    /// Writes the reply's header: for this number of data bytes, or for an error.
    pub(super) fn answer(&mut self, result: Result<usize, Errno>) {
        let out = abi::out_header(self.unique, result.map_err(Errno::raw_os_error));
        let payload = result.unwrap_or(0) as u32;
        let header = self.header();
        header[..out.len()].copy_from_slice(&out);
        header[PAYLOAD_SIZE_AT..PAYLOAD_SIZE_AT + 4].copy_from_slice(&payload.to_ne_bytes());
    }

    /// Writes `struct fuse_write_out` to the data part, and returns its length.
    pub(super) fn written(&mut self, bytes: usize) -> usize {
        let mut reply = abi::Reply::new(self.data());
        reply.u32(bytes as u32).u32(0);
        reply.len()
    }

    /// Start and length of the memory that the entry shares with the other entries of its ring.
    pub(super) fn arena(&self) -> (*mut u8, usize) {
        (self.arena.at(0, self.arena.len()), self.arena.len())
    }

    fn header(&mut self) -> &mut [u8] {
        self.part(self.header, REQUEST_HEADER)
    }

    fn part(&mut self, at: usize, len: usize) -> &mut [u8] {
        // SAFETY: the part is in the arena, as `at` checks, and belongs only to this entry.
        unsafe { std::slice::from_raw_parts_mut(self.arena.at(at, len), len) }
    }
}

impl Buffer for Entry {
    fn data(&mut self) -> &mut [u8] {
        self.part(self.payload, MAX_REQUEST)
    }

    fn leak(&self) {
        self.arena.leak();
    }
}
