//! A ring and the memory to which its requests point.

use std::io;
use std::mem::ManuallyDrop;
use std::thread::ThreadId;

use io_uring::IoUring;

use super::arena::Arena;
use crate::engine::transfer::Filling;

/// A ring and an arena with the same lifetime.
///
/// Requests in flight contain raw pointers into the arena. If any requests are in flight when the session is dropped,
/// the ring and the arena are leaked, because the kernel may still write to the memory.
pub(super) struct Session {
    pub(super) ring: ManuallyDrop<IoUring>,
    arena: ManuallyDrop<Option<Arena>>,
    /// Requests in the submission queue or in flight whose completions have not been processed.
    pub(super) in_flight: usize,
    /// Whether a timer is running or its completion is queued. The timer outlives jobs, does not refer to this
    /// process's memory, and ends with the ring.
    pub(super) ticking: bool,
    /// Whether completions are polled.
    pub(super) polled: bool,
    /// The flags of the ring, for display.
    pub(super) flags: &'static str,
    /// Why the arena is not registered.
    pub(super) unregistered: Option<String>,
    /// The contents of the arena's source buffers, if they have been filled.
    pub(super) filled: Option<Filling>,
    owner: ThreadId,
}

impl Session {
    /// A ring for `entries` requests and a timer, owned by the calling thread, without an arena.
    pub(super) fn new(entries: u32, polled: bool) -> io::Result<Self> {
        let (ring, flags) = build_ring(entries, polled)?;
        Ok(Self {
            ring: ManuallyDrop::new(ring),
            arena: ManuallyDrop::new(None),
            in_flight: 0,
            ticking: false,
            polled,
            flags,
            unregistered: None,
            filled: None,
            owner: std::thread::current().id(),
        })
    }

    /// Whether this session can execute `depth` requests of the calling thread.
    pub(super) fn serves(&self, depth: u32) -> bool {
        // A ring that was created with IORING_SETUP_SINGLE_ISSUER can be used only by the thread that created it.
        self.in_flight == 0
            && self.ring.params().sq_entries() > depth
            && self.owner == std::thread::current().id()
    }

    /// Returns the first byte of an arena of at least `len` bytes. The arena is registered if the kernel permits
    /// this.
    ///
    /// The arena of earlier jobs is reused if it is large enough and registered. An unregistered arena is reused only
    /// by jobs of the same size, because earlier jobs must not determine whether a job's buffers are registered.
    pub(super) fn arena(&mut self, len: usize) -> *mut u8 {
        debug_assert_eq!(self.in_flight, 0);
        let keeps = |a: &Arena| match self.unregistered {
            None => a.len() >= len,
            Some(_) => a.len() == len,
        };
        if !self.arena.as_ref().is_some_and(keeps) {
            if self.arena.is_some() && self.unregistered.is_none() {
                let _ = self.ring.submitter().unregister_buffers();
            }
            // Frees the old arena before allocating the new one; no request is in flight.
            *self.arena = None;
            self.filled = None;
            let arena = self.arena.insert(Arena::new(len));
            // SAFETY: an arena is dropped only above, after it has been unregistered, or with the session, after the
            // ring.
            self.unregistered = unsafe { arena.register(&self.ring) }.err();
        }
        let arena = self.arena.as_mut().expect("just made");
        arena.as_mut_ptr()
    }
}

impl Session {
    /// The kind of the arena's pages, for display.
    pub(super) fn pages(&self) -> &'static str {
        self.arena.as_ref().map_or("no buffers", Arena::pages)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            return;
        }
        // The kernel releases the buffers of a closed ring only later, so these buffers would stay locked in addition
        // to those of the next session. If the current thread is not the ring's, the kernel refuses to unregister the
        // buffers, and releases them later.
        if self.arena.is_some() && self.unregistered.is_none() {
            let _ = self.ring.submitter().unregister_buffers();
        }
        // SAFETY: neither field is used again. The kernel has no pointers into the arena, because every submitted
        // request has completed.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.arena);
        }
    }
}

/// Creates the most efficient ring that the kernel supports: if the kernel refuses the newest flags, tries again
/// without them.
fn build_ring(entries: u32, polled: bool) -> io::Result<(IoUring, &'static str)> {
    let builder = || {
        let mut builder = IoUring::builder();
        builder.dontfork();
        if polled {
            builder.setup_iopoll();
        }
        builder
    };
    // Linux 6.1: completions are processed only when this thread asks for them, so the thread is not interrupted.
    let newest =
        builder().setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun().build(entries);
    match newest {
        Ok(ring) => return Ok((ring, "single submitter, deferred task work")),
        Err(e) if e.raw_os_error() != Some(libc::EINVAL) => return Err(e),
        Err(_) => {}
    }
    // Linux 5.19.
    match builder().setup_coop_taskrun().build(entries) {
        Ok(ring) => return Ok((ring, "cooperative task work")),
        Err(e) if e.raw_os_error() != Some(libc::EINVAL) => return Err(e),
        Err(_) => {}
    }
    builder().build(entries).map(|ring| (ring, "no set-up flags"))
}
