//! Requests over io_uring: a few threads receive many short requests from the kernel, issue the disk requests and
//! reply.
//!
//! A [`Transport`] defines how requests arrive and how replies are sent: [FUSE](crate::fuse) or [ublk](crate::ublk).
//! All other processing is the same for both.

mod prepared;
mod requests;
mod ring;
mod slow;
mod worker;

pub use prepared::Prepared;
pub(crate) use prepared::{Queues, Rings, cpus, depth};
pub(crate) use requests::{Answer, Buffer, Requests, Success};
pub(crate) use ring::{Command, Ring, Tag, Vector};
pub(crate) use slow::{Done, Outcome, Work};
pub(crate) use worker::{Arrived, Transport, serve};

/// The maximum request size, which is negotiated with the kernel.
///
/// FUSE would allow 1 MiB, but the kernel splits a transfer that exceeds the agreed size into requests that it sends
/// together. Several cores can therefore encrypt a 1 MiB transfer while parts of that transfer are already being
/// written, at the cost of three more requests. `cargo xtask bench volume` was run with 128 KiB to 1 MiB: 256 KiB was
/// the best size for writes, and not worse for reads.
pub(crate) const MAX_REQUEST: usize = 256 << 10;

/// For data of at least this size, it is worthwhile to pass the data to another thread, because copying and encrypting
/// that much data takes longer than waking the thread.
pub(crate) const LONG: usize = 64 << 10;

/// Distance between the data of two slots in bytes: one page more than the data needs. Otherwise the first pages of
/// all slots, which short requests use, would compete for the same few cache sets of the CPU.
pub(crate) const DATA_STRIDE: usize = MAX_REQUEST + 4096;
