//! The part of the FUSE wire format that is needed for one directory with one file.
//!
//! Source: `include/uapi/linux/fuse.h` of Linux, protocol 7.31 (Linux 5.4) to 7.45. Numbers are in
//! the machine's byte order.

use rustix::fs::OFlags;

/// Length of `struct fuse_in_header`.
pub(super) const IN_HEADER: usize = 40;
/// Length of `struct fuse_out_header`.
pub(super) const OUT_HEADER: usize = 16;
/// Length of `struct fuse_write_in`, the longest structure that precedes data.
pub(super) const WRITE_IN: usize = 40;
/// The protocol's major version.
pub(super) const MAJOR: u32 = 7;
/// The newest minor version whose structures this module knows.
pub(super) const MINOR: u32 = 42;
/// The oldest supported minor version: the first with `max_pages` and full 64-byte INIT replies.
pub(super) const OLDEST_MINOR: u32 = 31;

/// `FUSE_DEV_IOC_CLONE`: `_IOR(229, 0, uint32_t)`.
pub(super) const IOC_CLONE: u32 = 0x8004_e500;

/// Flags of INIT; flags above bit 31 are passed in `flags2`.
pub(super) mod init {
    pub(in crate::fuse) const ASYNC_READ: u64 = 1 << 0;
    pub(in crate::fuse) const BIG_WRITES: u64 = 1 << 5;
    pub(in crate::fuse) const ASYNC_DIO: u64 = 1 << 15;
    pub(in crate::fuse) const PARALLEL_DIROPS: u64 = 1 << 18;
    /// Reads from an aborted connection return ECONNABORTED, so that ENODEV always means an unmount.
    pub(in crate::fuse) const ABORT_ERROR: u64 = 1 << 21;
    pub(in crate::fuse) const MAX_PAGES: u64 = 1 << 22;
    pub(in crate::fuse) const INIT_EXT: u64 = 1 << 30;
    pub(in crate::fuse) const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
    pub(in crate::fuse) const OVER_IO_URING: u64 = 1 << 41;
}

/// `FOPEN_DIRECT_IO`: no page cache, even for programs that open the file without `O_DIRECT`.
pub(super) const FOPEN_DIRECT_IO: u32 = 1 << 0;
/// `FOPEN_NOFLUSH`: closing the file does not send FLUSH (Linux 5.16). If the serving process itself has the file
/// open, a child that it forks closes the file on exec. If the server has exited by then, the child's FLUSH would
/// wait for ever, because the child itself keeps the connection open.
pub(super) const FOPEN_NOFLUSH: u32 = 1 << 5;
/// `FOPEN_PARALLEL_DIRECT_WRITES`: writes do not wait for each other.
pub(super) const FOPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;

/// `FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE`.
pub(super) const PUNCH_HOLE: u32 = 0x03;
/// `FALLOC_FL_ZERO_RANGE`.
pub(super) const ZERO_RANGE: u32 = 0x10;
/// `FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE`.
pub(super) const ZERO_RANGE_KEEP_SIZE: u32 = 0x11;

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The fields of `struct fuse_in_header` that this server uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Length of the request including its header.
    pub len: usize,
    pub opcode: u32,
    /// Identifies the request; the reply repeats it.
    pub unique: u64,
    pub node: u64,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            len: u32_at(bytes, 0)? as usize,
            opcode: u32_at(bytes, 4)?,
            unique: u64_at(bytes, 8)?,
            node: u64_at(bytes, 16)?,
        })
    }
}

/// A request with its decoded arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request<'a> {
    Init {
        major: u32,
        minor: u32,
        max_readahead: u32,
        flags: u64,
    },
    Lookup {
        name: &'a [u8],
    },
    GetAttr,
    SetAttr,
    Open,
    OpenDir,
    Read {
        offset: u64,
        size: usize,
    },
    Write {
        offset: u64,
        size: usize,
        /// Whether the file was opened with `O_DSYNC`, or the write has `RWF_DSYNC`. With `FOPEN_DIRECT_IO`, the server
        /// itself has to sync.
        sync: bool,
    },
    StatFs,
    /// Closes a file or directory; the server keeps no state for open files and directories.
    Release,
    Fsync,
    ReadDir {
        offset: u64,
        size: usize,
    },
    Fallocate {
        offset: u64,
        len: u64,
        mode: u32,
    },
    /// `FORGET`, `BATCH_FORGET` and `INTERRUPT`, which get no reply.
    Silent,
    Destroy,
    /// `CREATE`, `MKDIR`, `UNLINK` and other changes to the directory.
    Change,
    Unknown,
}

/// Length of the operation's own structure; io_uring passes the structure separately from the data that follows.
pub(super) fn arguments_len(opcode: u32) -> usize {
    match opcode {
        15 | 16 | 28 => WRITE_IN, // struct fuse_read_in is as long
        _ => 0,
    }
}

impl<'a> Request<'a> {
    /// Decodes `arguments`, the operation's own structure, and `payload`, the data after it. If there is no data, the
    /// structure may be in either part.
    pub(super) fn parse(opcode: u32, arguments: &'a [u8], payload: &'a [u8]) -> Option<Self> {
        let a = if arguments.is_empty() { payload } else { arguments };
        Some(match opcode {
            1 => {
                let end = payload.iter().position(|&b| b == 0)?;
                Self::Lookup { name: &payload[..end] }
            }
            2 | 36 | 42 => Self::Silent,
            3 => Self::GetAttr,
            4 => Self::SetAttr,
            6 | 8..=13 | 35 | 45 => Self::Change,
            14 => Self::Open,
            15 => Self::Read { offset: u64_at(a, 8)?, size: u32_at(a, 16)? as usize },
            16 => Self::Write {
                offset: u64_at(a, 8)?,
                size: u32_at(a, 16)? as usize,
                sync: u32_at(a, 32)? & OFlags::DSYNC.bits() != 0,
            },
            17 => Self::StatFs,
            18 | 29 => Self::Release,
            20 | 30 => Self::Fsync,
            26 => Self::Init {
                major: u32_at(a, 0)?,
                minor: u32_at(a, 4)?,
                max_readahead: u32_at(a, 8)?,
                flags: u64::from(u32_at(a, 12)?) | u64::from(u32_at(a, 16).unwrap_or(0)) << 32,
            },
            27 => Self::OpenDir,
            28 => Self::ReadDir { offset: u64_at(a, 8)?, size: u32_at(a, 16)? as usize },
            38 => Self::Destroy,
            43 => {
                Self::Fallocate { offset: u64_at(a, 8)?, len: u64_at(a, 16)?, mode: u32_at(a, 24)? }
            }
            _ => Self::Unknown,
        })
    }
}

/// Writes a reply's fields in sequence.
pub(super) struct Reply<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> Reply<'a> {
    /// A reply that is written to `bytes`, which must be longer than any structure of the protocol.
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        self
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(super) fn zeros(&mut self, count: usize) -> &mut Self {
        self.bytes[self.len..][..count].fill(0);
        self.len += count;
        self
    }
}

/// `struct fuse_out_header`: `len` bytes follow it.
pub(super) fn out_header(unique: u64, result: Result<usize, i32>) -> [u8; OUT_HEADER] {
    let (len, error) = match result {
        Ok(len) => (OUT_HEADER + len, 0),
        Err(errno) => (OUT_HEADER, -errno),
    };
    let mut bytes = [0; OUT_HEADER];
    Reply::new(&mut bytes).u32(len as u32).u32(error as u32).u64(unique);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_cut_short_are_no_requests() {
        let mut body = vec![0u8; 40];
        body[8..16].copy_from_slice(&4096u64.to_ne_bytes());
        body[16..20].copy_from_slice(&512u32.to_ne_bytes());
        let read = Some(Request::Read { offset: 4096, size: 512 });
        assert_eq!(Request::parse(15, &body, &[]), read);
        assert_eq!(Request::parse(15, &[], &body), read);
        for opcode in [1, 15, 16, 26, 28, 43] {
            assert_eq!(Request::parse(opcode, &[], &body[..7]).filter(|_| opcode != 1), None);
        }
        assert_eq!(Request::parse(1, &[], b"volume"), None, "a name without its end");
        assert_eq!(Request::parse(1, &[], b"volume\0"), Some(Request::Lookup { name: b"volume" }));
        assert!(Header::parse(&body[..20]).is_none());
    }
}
