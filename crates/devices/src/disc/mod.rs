//! A hard disk: a head with a position, a look-ahead buffer, a write cache that drains at the mechanical rate, and
//! optionally flash.

mod geometry;
mod hybrid;
mod pending;

use geometry::Geometry;
use hybrid::HybridState;
use pending::Pending;

use crate::link::Slot;
use crate::model::{Disc, Hybrid, MIB};
use crate::request::Request;

/// Writes are split into pieces of this size, so that the cache accepts a request larger than
/// itself while it drains.
const PIECE: u64 = 1 << 20;

/// State of the mechanics and the caches.
#[derive(Clone, Debug)]
pub(crate) struct DiscState {
    of: Disc,
    geometry: Geometry,
    hybrid: Option<HybridState>,
    /// The time at which the head has finished its work.
    free_at: f64,
    /// The byte after the last byte that passed under the head.
    head: u64,
    ahead: Option<Ahead>,
    pending: Pending,
}

/// The data that the drive reads ahead after a read.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The first byte still in the buffer.
    start: u64,
    /// End of the data that the drive had read ahead at time `at`.
    frontier: u64,
    at: f64,
    /// End of the data that the host has requested.
    consumed: u64,
    /// Whether reading ahead continues.
    streaming: bool,
}

impl DiscState {
    pub(crate) fn new(of: &Disc, hybrid: Option<Hybrid>, capacity: u64, seed: u64) -> Self {
        Self {
            geometry: Geometry::new(of, capacity, seed),
            hybrid: hybrid.map(HybridState::new),
            free_at: 0.0,
            head: 0,
            ahead: None,
            pending: Pending::default(),
            of: of.clone(),
        }
    }

    /// The time at which the data for a read is in the drive's memory.
    pub(crate) fn read(&mut self, request: &Request, slot: &Slot) -> f64 {
        let (offset, bytes) = (request.offset, request.bytes);
        self.drain_until(slot.begun);
        if self.pending.holds(offset, bytes) {
            return slot.begun;
        }
        if let Some(ready) = self.read_ahead(offset, bytes, slot.begun) {
            return ready;
        }
        if let Some(hybrid) = &mut self.hybrid
            && let Some(ready) = hybrid.read(offset, bytes, slot.begun)
        {
            return ready;
        }
        let begin = slot.begun.max(self.free_at);
        let reached = self.position(offset, begin, slot.queued);
        let ready = reached + self.geometry.transfer_s(offset, bytes);
        self.moved_to(offset + bytes, ready);
        self.ahead = Some(Ahead {
            start: offset,
            frontier: offset + bytes,
            at: ready,
            consumed: offset + bytes,
            streaming: true,
        });
        ready
    }

    /// The time at which the data is available, if the data is in the look-ahead buffer or is about to pass under the
    /// head.
    fn read_ahead(&mut self, offset: u64, bytes: u64, now: f64) -> Option<f64> {
        let room = self.of.look_ahead_bytes;
        let mut ahead = self.ahead?;
        let end = offset + bytes;
        if ahead.streaming {
            let gone = self.geometry.bytes_in(ahead.frontier, (now - ahead.at).max(0.0));
            let frontier = (ahead.frontier + gone).min(ahead.consumed + room).max(ahead.frontier);
            // The most recently requested data may still be in transfer.
            (ahead.frontier, ahead.at) = (frontier, ahead.at.max(now));
        }
        ahead.start = ahead.start.max(ahead.frontier.saturating_sub(2 * room));
        if offset < ahead.start {
            return None;
        }
        let ready = if end <= ahead.frontier {
            ahead.at.min(now).max(now)
        } else if ahead.streaming && end - ahead.frontier <= room.max(2 * bytes) {
            let ready = ahead.at + self.geometry.transfer_s(ahead.frontier, end - ahead.frontier);
            (ahead.frontier, ahead.at) = (end, ready);
            ready
        } else {
            return None;
        };
        ahead.consumed = ahead.consumed.max(end);
        self.ahead = Some(ahead);
        if ahead.streaming {
            self.head = ahead.frontier;
            self.free_at = self.free_at.max(ahead.at.min(ready));
        }
        Some(ready)
    }

    /// The time at which the drive accepts a write.
    pub(crate) fn write(&mut self, request: &Request, slot: &Slot) -> f64 {
        let (mut offset, mut left) = (request.offset, request.bytes);
        if let Some(ahead) = &self.ahead
            && offset < ahead.frontier
            && ahead.start < offset + left
        {
            self.ahead = None;
        }
        self.drain_until(slot.begun);
        let mut accepted = slot.passed;
        if self.of.write_cache_bytes == 0 {
            let begin = slot.passed.max(self.free_at);
            let reached = self.position(offset, begin, slot.queued);
            let ready = reached + self.geometry.transfer_s(offset, left);
            self.disturbed();
            self.moved_to(offset + left, ready);
            return ready;
        }
        while left > 0 {
            let piece = left.min(PIECE);
            while self.pending.bytes() + piece > self.of.write_cache_bytes.max(piece)
                || self.pending.len() >= self.of.write_cache_commands as usize
            {
                accepted = accepted.max(self.drain_one());
            }
            self.pending.add(offset, piece, slot.begun);
            offset += piece;
            left -= piece;
        }
        accepted
    }

    /// The time at which all data is on the disc.
    pub(crate) fn flush(&mut self, now: f64) -> f64 {
        while !self.pending.is_empty() {
            self.drain_one();
        }
        self.free_at.max(now) + self.of.flush_us * 1e-6
    }

    /// Performs those writes from the cache that would have been done by `now`.
    fn drain_until(&mut self, now: f64) {
        while let Some(since) = self.pending.first_since()
            && self.free_at.max(since) < now
        {
            self.drain_one();
        }
    }

    /// Writes the first pending run, and returns the time at which this is done.
    fn drain_one(&mut self) -> f64 {
        let sorted = self.pending.len();
        let Some(next) = self.pending.take(self.head, PIECE) else { return self.free_at };
        let begin = self.free_at.max(next.since);
        self.disturbed();
        let reached = self.position(next.offset, begin, sorted);
        let done = reached + self.geometry.transfer_s(next.offset, next.bytes);
        self.moved_to(next.offset + next.bytes, done);
        done
    }

    /// Stops reading ahead; the contents of the buffer remain.
    fn disturbed(&mut self) {
        if let Some(ahead) = &mut self.ahead {
            ahead.streaming = false;
        }
    }

    fn moved_to(&mut self, head: u64, at: f64) {
        (self.head, self.free_at) = (head, at);
    }

    /// The time at which the head is over `offset`, if it starts at time `begin` and if the drive can choose from
    /// `queued` requests.
    fn position(&self, offset: u64, begin: f64, queued: usize) -> f64 {
        if offset == self.head {
            return begin + self.geometry.wait_s(offset, begin);
        }
        let seek = self.geometry.seek_s(self.head, offset);
        let wait = self.geometry.wait_s(offset, begin + seek);
        // With more requests to choose from, the nearest request is closer, in both distance and angle.
        begin + (seek + wait) * (queued.max(1) as f64).powf(-self.of.sorting_exponent)
    }
}

/// Bytes per second.
fn per_second(mib_s: f64) -> f64 {
    mib_s * MIB
}
