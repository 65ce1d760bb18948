//! The structures of `include/uapi/linux/ublk_cmd.h`.

use crate::rings::{Command, MAX_REQUEST};

/// Operations of `/dev/ublk-control`, and of a disk's character device.
pub(super) const GET_DEV_INFO: u32 = read(0x02);
pub(super) const ADD_DEV: u32 = read_write(0x04);
pub(super) const DEL_DEV: u32 = read_write(0x05);
pub(super) const START_DEV: u32 = read_write(0x06);
pub(super) const STOP_DEV: u32 = read_write(0x07);
pub(super) const SET_PARAMS: u32 = read_write(0x08);
pub(super) const GET_FEATURES: u32 = read(0x13);
/// Linux 6.9 and later.
pub(super) const DEL_DEV_ASYNC: u32 = read(0x14);
const FETCH_REQ: u32 = io(0x20);
const COMMIT_AND_FETCH_REQ: u32 = io(0x21);

/// `_IOR('u', number, struct ublksrv_ctrl_cmd)`, and so on.
const fn read(number: u32) -> u32 {
    ioctl(2, CONTROL_LEN as u32, number)
}

const fn read_write(number: u32) -> u32 {
    ioctl(3, CONTROL_LEN as u32, number)
}

const fn io(number: u32) -> u32 {
    ioctl(3, 16, number)
}

const fn ioctl(direction: u32, len: u32, number: u32) -> u32 {
    direction << 30 | len << 16 | (b'u' as u32) << 8 | number
}

/// Length of `struct ublksrv_ctrl_cmd`.
const CONTROL_LEN: usize = 32;
/// Length of `struct ublksrv_ctrl_dev_info`.
pub(super) const INFO_LEN: usize = 64;
/// Length of `struct ublk_params` up to the end of its basic parameters.
pub(super) const PARAMS_LEN: usize = 40;
/// Length of `struct ublksrv_io_desc`.
pub(super) const DESCRIPTOR_LEN: usize = 24;

/// `UBLK_MAX_QUEUE_DEPTH`: the number of descriptors between the starts of two queues.
pub(super) const MAX_DEPTH: usize = 4096;

/// The unit of sizes and offsets on a disk, in bytes.
pub(super) const SECTOR: u64 = 512;

/// `struct ublksrv_ctrl_cmd`, with one word of data, or with `len` bytes at `address`.
pub(super) fn control(number: u32, (address, len): (u64, u16), word: u64) -> [u8; 80] {
    const NO_QUEUE: u16 = u16::MAX;
    let mut body = [0; 80];
    body[..4].copy_from_slice(&number.to_ne_bytes());
    body[4..6].copy_from_slice(&NO_QUEUE.to_ne_bytes());
    body[6..8].copy_from_slice(&len.to_ne_bytes());
    body[8..16].copy_from_slice(&address.to_ne_bytes());
    body[16..24].copy_from_slice(&word.to_ne_bytes());
    body
}

/// `struct ublksrv_ctrl_dev_info` of a new disk. Only this program uses `mark`.
pub(super) fn info(number: u32, queues: u16, depth: u16, mark: u64) -> [u8; INFO_LEN] {
    let mut info = [0; INFO_LEN];
    info[..2].copy_from_slice(&queues.to_ne_bytes());
    info[2..4].copy_from_slice(&depth.to_ne_bytes());
    info[8..12].copy_from_slice(&(MAX_REQUEST as u32).to_ne_bytes());
    info[12..16].copy_from_slice(&number.to_ne_bytes());
    info[MARK_AT..MARK_AT + 8].copy_from_slice(&mark.to_ne_bytes());
    info
}

/// Offset of `ublksrv_flags` in `struct ublksrv_ctrl_dev_info`.
pub(super) const MARK_AT: usize = 32;

/// `struct ublk_params` with `struct ublk_param_basic`: a disk of `size` bytes that has a write cache, and for which
/// requests of `sector` bytes, a power of two, are the most efficient.
pub(super) fn params(size: u64, sector: usize, read_only: bool) -> [u8; PARAMS_LEN] {
    const BASIC: u32 = 1;
    const READ_ONLY: u32 = 1;
    const VOLATILE_CACHE: u32 = 1 << 2;
    const FUA: u32 = 1 << 3;
    let attributes = VOLATILE_CACHE | FUA | if read_only { READ_ONLY } else { 0 };
    let [logical, best] = [SECTOR as u32, sector as u32].map(|bytes| bytes.trailing_zeros() as u8);
    let mut params = [0; PARAMS_LEN];
    params[..4].copy_from_slice(&(PARAMS_LEN as u32).to_ne_bytes());
    params[4..8].copy_from_slice(&BASIC.to_ne_bytes());
    params[8..12].copy_from_slice(&attributes.to_ne_bytes());
    // Logical and physical block size, optimal and minimum request size, as powers of two.
    params[12..16].copy_from_slice(&[logical, best, best, best]);
    params[16..20].copy_from_slice(&(MAX_REQUEST as u32 / SECTOR as u32).to_ne_bytes());
    params[24..32].copy_from_slice(&(size / SECTOR).to_ne_bytes());
    params
}

/// A request from the kernel; a single variant represents all operations that are not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Read { offset: u64, len: usize },
    Write { offset: u64, len: usize, sync: bool },
    Flush,
    Other,
}

impl Request {
    /// Reads `struct ublksrv_io_desc`, given as three words.
    pub(super) fn parse(descriptor: [u64; 3]) -> Self {
        const FUA: u32 = 1 << 13;
        let bytes = descriptor[0].to_ne_bytes();
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let (operation, sectors) = (word(0), word(4));
        let offset = descriptor[1].wrapping_mul(SECTOR);
        let len = sectors as usize * SECTOR as usize;
        match operation & 0xff {
            0 => Self::Read { offset, len },
            1 => Self::Write { offset, len, sync: operation & FUA != 0 },
            2 => Self::Flush,
            _ => Self::Other,
        }
    }
}

/// Asks the kernel for the first request of a slot, whose data is read from or written to `address`.
pub(super) fn fetch(queue: u16, slot: usize, address: u64) -> Command {
    io_command(FETCH_REQ, queue, slot, 0, address)
}

/// Replies with a number of bytes or a negative error number, and asks for the next request.
pub(super) fn commit(queue: u16, slot: usize, result: i32, address: u64) -> Command {
    io_command(COMMIT_AND_FETCH_REQ, queue, slot, result, address)
}

/// A command with `struct ublksrv_io_cmd`.
fn io_command(operation: u32, queue: u16, slot: usize, result: i32, address: u64) -> Command {
    let mut body = [0; 80];
    body[..2].copy_from_slice(&queue.to_ne_bytes());
    body[2..4].copy_from_slice(&(slot as u16).to_ne_bytes());
    body[4..8].copy_from_slice(&result.to_ne_bytes());
    body[8..16].copy_from_slice(&address.to_ne_bytes());
    Command { operation, body, address: 0, len: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_numbers_of_the_header() {
        // As printed by a C compiler.
        assert_eq!(ADD_DEV, 0xc020_7504);
        assert_eq!(GET_FEATURES, 0x8020_7513);
        assert_eq!(FETCH_REQ, 0xc010_7520);
    }

    #[test]
    fn descriptors_are_read_as_the_kernel_writes_them() {
        let words = |operation: u32, sectors: u32, start: u64| {
            let mut first = [0; 8];
            first[..4].copy_from_slice(&operation.to_ne_bytes());
            first[4..].copy_from_slice(&sectors.to_ne_bytes());
            Request::parse([u64::from_ne_bytes(first), start, 7])
        };
        assert_eq!(words(0, 8, 3), Request::Read { offset: 1536, len: 4096 });
        assert_eq!(words(1, 1, 1), Request::Write { offset: 512, len: 512, sync: false });
        assert_eq!(words(1 | 1 << 13, 1, 0), Request::Write { offset: 0, len: 512, sync: true });
        assert_eq!(words(2 | 1 << 11, 0, 0), Request::Flush);
        assert_eq!(words(3, 8, 0), Request::Other);
    }

    #[test]
    fn a_disk_is_described_in_full() {
        let params = params(1 << 20, 4096, true);
        assert_eq!(params[8..16], [0b1101, 0, 0, 0, 9, 12, 12, 12]);
        assert_eq!(params[24..32], 2048u64.to_ne_bytes());
        let info = info(3, 2, 20, 0x55);
        assert_eq!((info[0], info[2], info[12], info[MARK_AT]), (2, 20, 3, 0x55));
    }
}
