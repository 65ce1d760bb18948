//! One io_uring for the kernel's requests and for disk requests.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use cryptbench_blockdev::IoTarget;
use io_uring::register::Restriction;
use io_uring::squeue::Entry128;
use io_uring::{IoUring, cqueue, opcode, types};
use rustix::io::Errno;

/// Indexes of the two files in the ring's table.
const DISK: types::Fixed = types::Fixed(0);
const KERNEL: types::Fixed = types::Fixed(1);

/// Index of the pinned memory in the ring's table.
const PINNED: u16 = 0;

/// Pause before a retry if the kernel is short of memory.
const SHORTAGE: Duration = Duration::from_millis(1);

/// Identifies the request to which a completion belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// A request has arrived in this slot.
    Fetch(usize),
    /// The data of this slot has been read or written.
    Transfer(usize),
    /// A flush on behalf of this slot has completed.
    Flush(usize),
    /// An event was raised.
    Event(usize),
}

impl Tag {
    fn encode(self) -> u64 {
        let (kind, entry) = match self {
            Self::Fetch(entry) => (0, entry),
            Self::Transfer(entry) => (1, entry),
            Self::Flush(entry) => (2, entry),
            Self::Event(number) => (3, number),
        };
        kind << 56 | entry as u64
    }

    fn decode(data: u64) -> Self {
        let entry = data as u32 as usize;
        match data >> 56 {
            0 => Self::Fetch(entry),
            1 => Self::Transfer(entry),
            2 => Self::Flush(entry),
            _ => Self::Event(entry),
        }
    }
}

/// `struct iovec`.
#[repr(C)]
pub(crate) struct Vector {
    pub(crate) start: *mut u8,
    pub(crate) len: usize,
}

pub(crate) struct Ring {
    ring: IoUring<Entry128, cqueue::Entry>,
    /// Whether the kernel has pinned the pages that reads and writes use.
    pinned: bool,
}

impl Ring {
    /// A ring for up to `entries` simultaneous requests. The ring starts with [`enable`](Self::enable), and then
    /// accepts only a server's operations, because system call filters do not apply to ring operations.
    pub(crate) fn new(entries: usize) -> io::Result<Self> {
        const FIXED_FILE: u8 = 1;
        let operations = [
            opcode::UringCmd80::CODE,
            opcode::Read::CODE,
            opcode::ReadFixed::CODE,
            opcode::Write::CODE,
            opcode::WriteFixed::CODE,
            opcode::Fsync::CODE,
            opcode::PollAdd::CODE,
        ];
        let size = (entries as u32 * 2).next_power_of_two().min(4096);
        let ring: IoUring<Entry128, cqueue::Entry> = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_r_disabled()
            .setup_cqsize(size * 4)
            .build(size)?;
        let mut all = vec![Restriction::sqe_flags_allowed(FIXED_FILE)];
        all.extend(operations.map(Restriction::sqe_op));
        ring.submitter().register_restrictions(&mut all)?;
        Ok(Self { ring, pinned: false })
    }

    /// Sets the two files that the ring accesses.
    pub(crate) fn open(&mut self, kernel: BorrowedFd<'_>, io_target: &IoTarget) -> io::Result<()> {
        self.ring.submitter().register_files(&[io_target.file.as_raw_fd(), kernel.as_raw_fd()])
    }

    /// Pins the memory that all reads and writes use, if this user may pin that much memory. The kernel then does not
    /// need to look up the pages for each request.
    ///
    /// # Safety
    /// The memory must stay valid while the ring exists.
    pub(crate) unsafe fn pin(&mut self, start: *mut u8, len: usize) {
        let whole = Vector { start, len };
        // SAFETY: `Vector` is `struct iovec`. The caller guarantees that the memory it points to stays valid.
        self.pinned = unsafe {
            let whole = std::slice::from_raw_parts((&raw const whole).cast(), 1);
            self.ring.submitter().register_buffers(whole)
        }
        .is_ok();
    }

    /// From now on, only the calling thread may use the ring.
    pub(crate) fn enable(&mut self) -> io::Result<()> {
        // This registration saves a look-up in the kernel per call; not every kernel supports it.
        let _ = self.ring.submitter().register_ring_fd();
        self.ring.submitter().register_enable_rings()
    }

    /// Requests a slot's next request from the kernel, and passes the reply to the previous request, if there was one.
    ///
    /// # Safety
    /// The memory that the command refers to must stay valid while the ring exists, and nobody may access it until
    /// the slot's [`Tag::Fetch`] has arrived.
    pub(crate) unsafe fn fetch(&mut self, command: &Command, slot: usize) -> io::Result<()> {
        self.push(command.build(), Tag::Fetch(slot))
    }

    /// Starts a read.
    ///
    /// # Safety
    /// Nobody else may access the `len` bytes at `to` until the completion has arrived. The bytes must be in
    /// the [pinned](Self::pin) memory, if any was pinned.
    pub(crate) unsafe fn read(
        &mut self,
        to: *mut u8,
        len: u32,
        offset: u64,
        tag: Tag,
    ) -> io::Result<()> {
        let request = if self.pinned {
            opcode::ReadFixed::new(DISK, to, len, PINNED).offset(offset).build()
        } else {
            opcode::Read::new(DISK, to, len).offset(offset).build()
        };
        self.push(request.into(), tag)
    }

    /// Starts a write.
    ///
    /// # Safety
    /// Nobody may write to the `len` bytes at `from` until the completion has arrived. The bytes must be in
    /// the [pinned](Self::pin) memory, if any was pinned.
    pub(crate) unsafe fn write(
        &mut self,
        from: *const u8,
        len: u32,
        offset: u64,
        tag: Tag,
    ) -> io::Result<()> {
        let request = if self.pinned {
            opcode::WriteFixed::new(DISK, from, len, PINNED).offset(offset).build()
        } else {
            opcode::Write::new(DISK, from, len).offset(offset).build()
        };
        self.push(request.into(), tag)
    }

    pub(crate) fn flush(&mut self, slot: usize) -> io::Result<()> {
        let request = opcode::Fsync::new(DISK).flags(types::FsyncFlags::DATASYNC).build();
        self.push(request.into(), Tag::Flush(slot))
    }

    /// Completes once `event` is readable.
    pub(crate) fn watch(&mut self, event: BorrowedFd<'_>, number: usize) -> io::Result<()> {
        const POLLIN: u32 = 1;
        let request = opcode::PollAdd::new(types::Fd(event.as_raw_fd()), POLLIN).build();
        self.push(request.into(), Tag::Event(number))
    }

    /// Submits the queued requests, and does not wait.
    pub(crate) fn submit(&mut self) -> io::Result<()> {
        self.enter(0)
    }

    /// Submits the queued requests, waits for one completion, and takes all completions that have arrived from the
    /// queue.
    pub(crate) fn wait(&mut self, completions: &mut Vec<(Tag, i32)>) -> io::Result<()> {
        if self.ring.completion().is_empty() {
            self.enter(1)?;
        } else {
            self.enter(0)?;
        }
        self.take(completions);
        Ok(())
    }

    /// Takes from the queue all completions that have arrived.
    pub(crate) fn take(&mut self, completions: &mut Vec<(Tag, i32)>) {
        let queue = self.ring.completion();
        completions.extend(queue.map(|c| (Tag::decode(c.user_data()), c.result())));
    }

    fn enter(&self, want: usize) -> io::Result<()> {
        let Err(error) = self.ring.submit_and_wait(want) else { return Ok(()) };
        match Errno::from_io_error(&error) {
            // The call was interrupted, or the completion queue is full: the next iteration handles both.
            Some(Errno::INTR | Errno::BUSY) => Ok(()),
            // The kernel is temporarily short of memory for requests (io_uring_enter(2)).
            Some(Errno::AGAIN | Errno::NOMEM) => {
                std::thread::sleep(SHORTAGE);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn push(&mut self, request: Entry128, tag: Tag) -> io::Result<()> {
        let request = request.user_data(tag.encode());
        loop {
            // SAFETY: the caller guarantees that the memory to which the request refers stays valid.
            if unsafe { self.ring.submission().push(&request) }.is_ok() {
                return Ok(());
            }
            self.enter(0)?;
        }
    }
}

/// A command to the kernel's driver: an `IORING_OP_URING_CMD` of 80 bytes.
pub(crate) struct Command {
    pub(crate) operation: u32,
    /// The driver's own structure.
    pub(crate) body: [u8; 80],
    /// `addr` and `len` of the request itself.
    pub(crate) address: u64,
    pub(crate) len: u32,
}

impl Command {
    pub(crate) fn build(&self) -> Entry128 {
        /// Offset of `len` in `struct io_uring_sqe`.
        const LEN_AT: usize = 24;
        let mut request = opcode::UringCmd80::new(KERNEL, self.operation)
            .cmd(self.body)
            .addr(Some(self.address))
            .build();
        // SAFETY: an `Entry128` is the kernel's 128-byte structure, in which bytes 24 to 28 are `len`. The crate offers
        // no other way to set `len` for this operation.
        unsafe { (&raw mut request).cast::<u8>().add(LEN_AT).cast::<u32>().write(self.len) };
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_survive_the_kernel() {
        for tag in [Tag::Fetch(7), Tag::Transfer(31), Tag::Flush(1000), Tag::Event(1)] {
            assert_eq!(Tag::decode(tag.encode()), tag);
        }
    }

    #[test]
    fn a_ring_does_nothing_but_what_a_server_does() {
        let mut ring = match Ring::new(4) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("SKIPPED: no io_uring here: {e}"),
        };
        let more = &mut [Restriction::sqe_op(opcode::OpenAt::CODE)];
        assert!(ring.ring.submitter().register_restrictions(more).is_err(), "nothing widens it");
        assert!(ring.ring.submit().is_err(), "it does nothing before it is enabled");
        ring.enable().unwrap();
        let path = c"/etc/passwd".as_ptr();
        let address = [0u8; 16];
        let not_ours = [
            opcode::OpenAt::new(types::Fd(rustix::fs::CWD.as_raw_fd()), path).build(),
            opcode::Connect::new(types::Fd(0), address.as_ptr().cast(), 16).build(),
            opcode::Socket::new(1, 1, 0).build(),
        ];
        for request in not_ours {
            ring.push(request.into(), Tag::Event(0)).unwrap();
            let mut completions = Vec::new();
            ring.wait(&mut completions).unwrap();
            assert_eq!(completions, [(Tag::Event(0), -Errno::ACCESS.raw_os_error())]);
        }
        assert!(ring.ring.submitter().register_personality().is_err(), "nor takes anything more");
    }

    #[test]
    fn commands_lie_where_the_kernel_looks() {
        let mut body = [0; 80];
        body[..2].copy_from_slice(&[7, 8]);
        let request = Command { operation: 0x0a0b, body, address: 0x1122, len: 9 }.build();
        // SAFETY: reading a plain structure as its 128 bytes.
        let bytes: [u8; 128] = unsafe { std::mem::transmute_copy(&request) };
        assert_eq!(bytes[8..12], 0x0a0bu32.to_ne_bytes());
        assert_eq!(bytes[16..24], 0x1122u64.to_ne_bytes());
        assert_eq!(bytes[24..28], 9u32.to_ne_bytes());
        assert_eq!(bytes[48..51], [7, 8, 0]);
    }
}
