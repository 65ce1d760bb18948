//! The numbers of the NBD protocol, all big-endian on the wire.

/// `NBDMAGIC`, the server's first word.
pub(super) const HELLO: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`, which precedes each option. The server also sends it after [`HELLO`].
pub(super) const OPTION: u64 = 0x4948_4156_454f_5054;
/// Precedes each reply to an option.
pub(super) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// Precedes each request.
pub(super) const REQUEST: u32 = 0x2560_9513;
/// Precedes each simple reply.
pub(super) const REPLY: u32 = 0x6744_6698;

/// Handshake flags: `FIXED_NEWSTYLE | NO_ZEROES`.
pub(super) const HANDSHAKE: u16 = 0b11;
/// The client's flag for no padding after `EXPORT_NAME`.
pub(super) const NO_ZEROES: u32 = 0b10;

/// Options.
pub(super) mod option {
    pub(in crate::nbd) const EXPORT_NAME: u32 = 1;
    pub(in crate::nbd) const ABORT: u32 = 2;
    pub(in crate::nbd) const LIST: u32 = 3;
    pub(in crate::nbd) const INFO: u32 = 6;
    pub(in crate::nbd) const GO: u32 = 7;
}

/// Replies to options; errors have the highest bit set.
pub(super) mod answer {
    pub(in crate::nbd) const ACK: u32 = 1;
    pub(in crate::nbd) const SERVER: u32 = 2;
    pub(in crate::nbd) const INFO: u32 = 3;
    pub(in crate::nbd) const UNSUPPORTED: u32 = 1 << 31 | 1;
    pub(in crate::nbd) const INVALID: u32 = 1 << 31 | 3;
    pub(in crate::nbd) const UNKNOWN: u32 = 1 << 31 | 6;
    pub(in crate::nbd) const TOO_BIG: u32 = 1 << 31 | 9;
}

/// Kinds of information about an export.
pub(super) const INFO_EXPORT: u16 = 0;
/// Minimum, preferred and maximum length of requests.
pub(super) const INFO_BLOCK_SIZE: u16 = 3;

/// Transmission flags.
pub(super) mod export {
    pub(in crate::nbd) const HAS_FLAGS: u16 = 1 << 0;
    pub(in crate::nbd) const READ_ONLY: u16 = 1 << 1;
    pub(in crate::nbd) const SEND_FLUSH: u16 = 1 << 2;
    pub(in crate::nbd) const SEND_FUA: u16 = 1 << 3;
    pub(in crate::nbd) const SEND_TRIM: u16 = 1 << 5;
    pub(in crate::nbd) const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub(in crate::nbd) const CAN_MULTI_CONN: u16 = 1 << 8;
}

/// Commands.
pub(super) mod command {
    pub(in crate::nbd) const READ: u16 = 0;
    pub(in crate::nbd) const WRITE: u16 = 1;
    pub(in crate::nbd) const DISCONNECT: u16 = 2;
    pub(in crate::nbd) const FLUSH: u16 = 3;
    pub(in crate::nbd) const TRIM: u16 = 4;
    pub(in crate::nbd) const WRITE_ZEROES: u16 = 6;
}

/// Command flag: reply once the data is on stable storage.
pub(super) const FUA: u16 = 1 << 0;
/// Command flag of `WRITE_ZEROES`: allocate the range.
pub(super) const NO_HOLE: u16 = 1 << 1;

/// The longest request: the size that clients assume if no size was negotiated.
pub(super) const MAX_REQUEST: u32 = 32 << 20;

/// A request without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) flags: u16,
    pub(super) command: u16,
    pub(super) cookie: u64,
    pub(super) offset: u64,
    pub(super) len: u32,
}

impl Request {
    pub(super) const LEN: usize = 28;

    /// `None` if the magic number is missing; the stream can then no longer be parsed.
    pub(super) fn parse(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let (flags, rest) = rest.split_first_chunk()?;
        let (command, rest) = rest.split_first_chunk()?;
        let (cookie, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        if u32::from_be_bytes(*magic) != REQUEST {
            return None;
        }
        Some(Self {
            flags: u16::from_be_bytes(*flags),
            command: u16::from_be_bytes(*command),
            cookie: u64::from_be_bytes(*cookie),
            offset: u64::from_be_bytes(*offset),
            len: u32::from_be_bytes(rest.try_into().ok()?),
        })
    }
}

/// A simple reply without its data.
pub(super) fn reply(cookie: u64, error: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&REPLY.to_be_bytes());
    bytes[4..8].copy_from_slice(&error.to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}
