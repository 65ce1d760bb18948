//! The contents of the mount and its replies, for either transport: one directory with one file.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

use super::abi::{self, Reply, Request, init};
use super::options::FuseOptions;
use crate::bytes::Bytes;
use crate::rings::MAX_REQUEST;
use crate::served::Served;

const ROOT: u64 = 1;
const FILE: u64 = 2;

/// Seconds for which the kernel may cache replies; the contents of the mount never change.
const VALID: u64 = 3600;

const DIRECTORY_MODE: u32 = 0o040_500;
const FILE_MODE: u32 = 0o100_000;

/// Maximum number of background requests in flight. These are requests for which no program waits synchronously, such
/// as those of a loop device.
const MAX_BACKGROUND: u16 = 512;

/// The state of one mount.
pub(super) struct Session {
    pub(super) served: Served,
    name: Vec<u8>,
    discard: bool,
    uid: u32,
    gid: u32,
    since: u64,
}

/// The result of INIT.
pub(super) struct Agreed {
    /// Bytes of the reply.
    pub(super) len: usize,
    /// Whether requests will arrive through io_uring.
    pub(super) uring: bool,
}

impl Session {
    pub(super) fn new(bytes: Bytes, options: &FuseOptions) -> Self {
        let (uid, gid) = options.owner.unwrap_or_else(|| {
            (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
        });
        Self {
            served: Served::new(bytes, options.read_only),
            name: options.file_name.clone().into_bytes(),
            discard: options.discard,
            uid,
            gid,
            since: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        }
    }

    pub(super) fn name(&self) -> &std::ffi::OsStr {
        use std::os::unix::ffi::OsStrExt as _;
        std::ffi::OsStr::from_bytes(&self.name)
    }

    /// Writes the reply to INIT into `out`. `None` if the kernel is too old.
    pub(super) fn init(
        &self,
        request: &Request<'_>,
        uring: bool,
        out: &mut [u8],
    ) -> Option<Agreed> {
        let &Request::Init { major, minor, max_readahead, flags } = request else { return None };
        if major != abi::MAJOR || minor < abi::OLDEST_MINOR {
            return None;
        }
        let mut wanted = init::ASYNC_READ
            | init::BIG_WRITES
            | init::ASYNC_DIO
            | init::PARALLEL_DIROPS
            | init::ABORT_ERROR
            | init::MAX_PAGES
            | init::INIT_EXT
            | init::DIRECT_IO_ALLOW_MMAP;
        if uring {
            wanted |= init::OVER_IO_URING;
        }
        let agreed = wanted & flags;
        let mut reply = Reply::new(out);
        reply
            .u32(abi::MAJOR)
            .u32(abi::MINOR.min(minor))
            .u32(max_readahead)
            .u32(agreed as u32)
            .u16(MAX_BACKGROUND)
            .u16(MAX_BACKGROUND / 4 * 3)
            .u32(MAX_REQUEST as u32)
            .u32(1) // time_gran, nanoseconds
            .u16((MAX_REQUEST / 4096) as u16)
            .u16(0)
            .u32((agreed >> 32) as u32)
            .zeros(28);
        Some(Agreed { len: reply.len(), uring: agreed & init::OVER_IO_URING != 0 })
    }

    /// Writes the reply to a request without file data into `out`, and returns the reply's length.
    pub(super) fn answer(
        &self,
        node: u64,
        request: &Request<'_>,
        out: &mut [u8],
    ) -> Result<usize, Errno> {
        let mut reply = Reply::new(out);
        match *request {
            Request::Lookup { name } if node == ROOT && name == self.name => {
                reply.u64(FILE).u64(0).u64(VALID).u64(VALID).u32(0).u32(0);
                self.attributes(FILE, &mut reply);
            }
            Request::Lookup { .. } => return Err(Errno::NOENT),
            // Changes to the size (for example by `> volume`) and to the times succeed without effect, as on a disk.
            Request::GetAttr | Request::SetAttr => {
                reply.u64(VALID).u32(0).u32(0);
                self.attributes(node, &mut reply);
            }
            Request::Open => {
                let flags =
                    abi::FOPEN_DIRECT_IO | abi::FOPEN_NOFLUSH | abi::FOPEN_PARALLEL_DIRECT_WRITES;
                reply.u64(0).u32(flags).u32(0);
            }
            Request::OpenDir => {
                reply.u64(0).u32(0).u32(0);
            }
            Request::StatFs => {
                // struct fuse_kstatfs
                reply.u64(self.served.bytes.size() / 4096).u64(0).u64(0).u64(2).u64(0);
                reply.u32(4096).u32(255).u32(4096).zeros(28);
            }
            Request::ReadDir { offset, size } => self.list(offset, size, &mut reply),
            Request::Release | Request::Destroy => {}
            Request::Change => return Err(Errno::PERM),
            _ => return Err(Errno::NOSYS),
        }
        Ok(reply.len())
    }

    /// Whether fallocate(2) with this mode may discard. A hole must read as zeros, and a loop device relies on zeros
    /// for other requests as well as for discards. Therefore discards are permitted only for devices that promise
    /// zeros; for other devices, the kernel falls back to writing zeros.
    pub(super) fn zeroing(&self, mode: u32) -> Result<bool, Errno> {
        let may_discard = self.discard && self.served.bytes.device().discard_zeroes();
        match mode {
            abi::PUNCH_HOLE if may_discard => Ok(true),
            abi::ZERO_RANGE | abi::ZERO_RANGE_KEEP_SIZE => Ok(false),
            _ => Err(Errno::OPNOTSUPP),
        }
    }

    /// `struct fuse_attr`.
    fn attributes(&self, node: u64, reply: &mut Reply<'_>) {
        let size = if node == FILE { self.served.bytes.size() } else { 0 };
        let mode = match node {
            FILE if self.served.read_only => FILE_MODE | 0o400,
            FILE => FILE_MODE | 0o600,
            _ => DIRECTORY_MODE,
        };
        reply.u64(node).u64(size).u64(size / 512).u64(self.since).u64(self.since).u64(self.since);
        reply.u32(0).u32(0).u32(0).u32(mode).u32(1).u32(self.uid).u32(self.gid);
        reply.u32(0).u32(4096).u32(0);
    }

    /// Writes directory entries, starting with number `offset`, up to `size` bytes.
    fn list(&self, offset: u64, size: usize, reply: &mut Reply<'_>) {
        const DIRECTORY: u32 = 4;
        const REGULAR: u32 = 8;
        let entries: [(u64, u32, &[u8]); 3] =
            [(ROOT, DIRECTORY, b"."), (ROOT, DIRECTORY, b".."), (FILE, REGULAR, &self.name)];
        for (number, (node, kind, name)) in (1u64..).zip(entries) {
            let padded = name.len().next_multiple_of(8);
            if number <= offset {
                continue;
            }
            if reply.len() + 24 + padded > size {
                break;
            }
            reply.u64(node).u64(number).u32(name.len() as u32).u32(kind);
            reply.bytes(name).zeros(padded - name.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cryptbench_blockdev::MemoryDevice;

    use super::*;
    use crate::stop::Stop;

    fn session(options: &FuseOptions) -> Session {
        Session::new(Bytes::new(Arc::new(MemoryDevice::new(vec![1; 8192]))), options)
    }

    #[test]
    fn structures_have_the_lengths_of_the_protocol() {
        let session = session(&FuseOptions::default());
        let mut out = [0; 4096];
        let mut len = |request: Request<'_>| session.answer(2, &request, &mut out).unwrap();
        assert_eq!(len(Request::GetAttr), 104);
        assert_eq!(len(Request::Open), 16);
        assert_eq!(len(Request::StatFs), 80);
        let found = session.answer(1, &Request::Lookup { name: b"volume" }, &mut out);
        assert_eq!(found, Ok(128));
        let missing = session.answer(1, &Request::Lookup { name: b"volum" }, &mut out);
        assert_eq!(missing, Err(Errno::NOENT));
        let hello = Request::Init { major: 7, minor: 45, max_readahead: 1 << 17, flags: u64::MAX };
        let agreed = session.init(&hello, true, &mut out).unwrap();
        assert_eq!((agreed.len, agreed.uring), (64, true));
        assert!(!session.init(&hello, false, &mut out).unwrap().uring);
        let old = Request::Init { major: 7, minor: 12, max_readahead: 0, flags: 0 };
        assert!(session.init(&old, false, &mut out).is_none());
    }

    #[test]
    fn a_directory_is_listed_in_pieces_of_any_size() {
        let session = session(&FuseOptions::default());
        let (mut out, mut at, mut seen) = ([0; 4096], 0, 0);
        loop {
            let len =
                session.answer(1, &Request::ReadDir { offset: at, size: 40 }, &mut out).unwrap();
            if len == 0 {
                break;
            }
            assert!(len <= 40);
            at = abi::u64_at(&out, 8).unwrap();
            seen += 1;
        }
        assert_eq!((seen, at), (3, 3));
    }

    #[test]
    fn the_end_of_the_device_and_its_modes_are_told_as_a_disk_would() {
        let writable = session(&FuseOptions::default());
        let stop = Stop::new().unwrap();
        let mut buf = [9; 1024];
        assert_eq!(writable.served.read(8000, &mut buf), Ok(192));
        assert_eq!(writable.served.read(9000, &mut buf), Ok(0));
        assert_eq!(writable.served.write(8000, &mut buf, false), Ok(192));
        assert_eq!(writable.served.write(8192, &mut buf, false), Err(Errno::NOSPC));
        assert_eq!(writable.zeroing(abi::PUNCH_HOLE), Err(Errno::OPNOTSUPP));
        assert_eq!(writable.zeroing(abi::ZERO_RANGE), Ok(false));
        assert_eq!(writable.served.zero(0, 512, false, &stop), Ok(0));
        let options = FuseOptions { discard: true, ..FuseOptions::default() };
        let discarding = session(&options);
        assert_eq!(discarding.zeroing(abi::PUNCH_HOLE), Ok(true));
        assert_eq!(discarding.served.zero(0, 512, true, &stop), Ok(0));
        assert_eq!(discarding.served.zero(8192, 512, true, &stop), Err(Errno::NOSPC));
        let read_only = session(&FuseOptions { read_only: true, ..options });
        assert_eq!(read_only.served.write(0, &mut buf, false), Err(Errno::ROFS));
        assert_eq!(read_only.served.zero(0, 512, true, &stop), Err(Errno::ROFS));
    }
}
