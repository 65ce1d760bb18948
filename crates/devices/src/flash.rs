//! Flash with a controller: channels that read and program in parallel, read-ahead streams, a write buffer, a fast
//! region of limited size, and blocks that must be erased.

use std::collections::VecDeque;

use crate::draw::{mix, unit};
use crate::link::Slot;
use crate::model::{Flash, MIB};
use crate::request::Request;

/// Number of sequential streams that a controller tracks.
const STREAMS: usize = 8;

/// A request that starts within this distance after the end of a stream belongs to the stream, because requests in
/// flight can overtake each other.
const STREAM_WINDOW: u64 = 1 << 20;

/// State of the flash and its controller.
#[derive(Clone, Debug)]
pub(crate) struct FlashState {
    of: Flash,
    /// The time at which each channel becomes free.
    channels: Vec<f64>,
    /// The time at which the array has delivered all data requested so far.
    array_free_at: f64,
    /// Ends of the read-ahead streams, with the most recently used last.
    streams: VecDeque<u64>,
    /// The time at which all accepted writes have been programmed.
    programmed_at: f64,
    /// The time at which each accepted write leaves the buffer, with its bytes.
    buffered: VecDeque<(f64, u64)>,
    buffered_bytes: u64,
    /// Bytes in the fast region.
    fast_used: f64,
    /// Erase units open for writing, with the most recently used last.
    open: VecDeque<u64>,
    /// Ends of the write streams.
    written: VecDeque<u64>,
    draws: u64,
}

impl FlashState {
    pub(crate) fn new(of: &Flash, seed: u64) -> Self {
        Self {
            channels: vec![0.0; of.channels as usize],
            array_free_at: 0.0,
            streams: VecDeque::new(),
            programmed_at: 0.0,
            buffered: VecDeque::new(),
            buffered_bytes: 0,
            fast_used: 0.0,
            open: VecDeque::new(),
            written: VecDeque::new(),
            draws: seed,
            of: of.clone(),
        }
    }

    /// The time at which the data for a read is in the controller.
    pub(crate) fn read(&mut self, request: &Request, slot: &Slot) -> f64 {
        let per_byte = 1.0 / (self.of.read_mib_s * MIB);
        let transfer = request.bytes as f64 * per_byte;
        let reached = if continues(&mut self.streams, request.offset, request.bytes) {
            // While the host was busy with the previous data, the controller fetched the next data.
            slot.begun - transfer.min(slot.begun)
        } else {
            self.fetch(request, slot.begun)
        };
        self.array_free_at = self.array_free_at.max(reached) + transfer;
        self.array_free_at
    }

    /// The time at which the first pages of a read at a new offset have arrived from their channels.
    fn fetch(&mut self, request: &Request, begun: f64) -> f64 {
        let page = self.of.page_bytes;
        let first = request.offset / page;
        let last = (request.offset + request.bytes.max(1) - 1) / page;
        let count = self.channels.len() as u64;
        let mut reached = begun;
        for page in first..=last.min(first + count - 1) {
            let latency = self.of.read_us * 1e-6 * self.jitter();
            // A hash distributes pages over the channels, so that requests at a regular stride do not all go to the
            // same channel.
            let channel = (mix(page) % count) as usize;
            let done = self.channels[channel].max(begun) + latency;
            self.channels[channel] = done;
            reached = reached.max(done);
        }
        reached
    }

    /// The time at which the device accepts a write.
    pub(crate) fn write(&mut self, request: &Request, slot: &Slot) -> f64 {
        self.recover(slot.begun);
        let sequential = continues(&mut self.written, request.offset, request.bytes);
        let begin = self.programmed_at.max(slot.begun);
        let mut cost = self.program_s(request.bytes);
        if !request.continues {
            cost += self.of.program_command_us * 1e-6 * self.jitter();
        }
        if !sequential && !self.is_open(request) {
            cost += self.of.erase_us * 1e-6 * self.jitter();
        }
        self.programmed_at = begin + cost;
        if self.of.buffer_bytes == 0 {
            return self.programmed_at;
        }
        while self.buffered.front().is_some_and(|first| first.0 <= slot.begun) {
            self.leave_buffer();
        }
        self.buffered.push_back((self.programmed_at, request.bytes));
        self.buffered_bytes += request.bytes;
        let mut accepted = slot.passed;
        // A write larger than the buffer is accepted once the remaining part fits into the buffer.
        if request.bytes > self.of.buffer_bytes {
            let last = self.program_s(self.of.buffer_bytes);
            accepted = accepted.max(self.programmed_at - last);
        }
        while self.buffered_bytes > self.of.buffer_bytes && self.buffered.len() > 1 {
            accepted = accepted.max(self.buffered.front().map_or(0.0, |first| first.0));
            self.leave_buffer();
        }
        accepted
    }

    /// The time at which all accepted writes are programmed.
    pub(crate) fn flush(&mut self, now: f64) -> f64 {
        self.buffered.clear();
        self.buffered_bytes = 0;
        self.programmed_at.max(now) + self.of.flush_us * 1e-6
    }

    fn leave_buffer(&mut self) {
        if let Some((_, bytes)) = self.buffered.pop_front() {
            self.buffered_bytes -= bytes;
        }
    }

    /// Seconds to program `bytes`; this is fast while the fast region has space.
    fn program_s(&mut self, bytes: u64) -> f64 {
        let bytes = bytes as f64;
        let fast = (self.of.fast_bytes as f64 - self.fast_used).clamp(0.0, bytes);
        self.fast_used += fast;
        fast / (self.of.fast_write_mib_s * MIB) + (bytes - fast) / (self.of.write_mib_s * MIB)
    }

    /// Empties the fast region during idle time.
    fn recover(&mut self, now: f64) {
        let idle = (now - self.programmed_at).max(0.0);
        self.fast_used = (self.fast_used - idle * self.of.fold_mib_s * MIB).max(0.0);
    }

    /// Whether a write goes to an open erase unit. If not, opens the unit.
    fn is_open(&mut self, request: &Request) -> bool {
        if self.of.open_units == 0 {
            return true;
        }
        let number = request.offset / self.of.erase_unit_bytes;
        let found = self.open.iter().position(|open| *open == number);
        if let Some(at) = found {
            self.open.remove(at);
        }
        self.open.push_back(number);
        while self.open.len() > self.of.open_units as usize {
            self.open.pop_front();
        }
        found.is_some()
    }

    /// A random factor around 1, within the model's range of variation.
    fn jitter(&mut self) -> f64 {
        self.draws = self.draws.wrapping_add(1);
        1.0 + self.of.jitter_percent / 100.0 * (2.0 * unit(self.draws) - 1.0)
    }
}

/// Whether a request continues a stream. If so, moves the stream's end to the end of the request.
fn continues(streams: &mut VecDeque<u64>, offset: u64, bytes: u64) -> bool {
    let end = offset + bytes;
    let near = |at: &u64| {
        offset == *at || (offset.abs_diff(*at) <= STREAM_WINDOW.min(8 * bytes) && bytes >= 65536)
    };
    let found = streams.iter().position(near);
    let known = found.and_then(|at| streams.remove(at));
    streams.push_back(end.max(known.unwrap_or(0)));
    while streams.len() > STREAMS {
        streams.pop_front();
    }
    found.is_some()
}
