//! Simulates a model under a load: the mean time per request, by operation, size and queue depth.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::draw::mix;
use crate::engine::Engine;
use crate::model::Model;
use crate::predict::{Added, Serial};
use crate::request::{Operation, Request};

/// A load with constant parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Read or write.
    pub operation: Operation,
    /// Whether requests go to random offsets; otherwise they are sequential.
    pub random: bool,
    /// Bytes per request.
    pub bytes: u64,
    /// Requests in flight.
    pub queue_depth: u32,
    /// Size in bytes of the file that the load uses, at the start of the device.
    pub file_bytes: u64,
    /// Seconds for which one CPU of the host is busy between a completion and the next request; this CPU processes
    /// requests one after another.
    pub think_s: f64,
}

impl Load {
    /// The load of ATTO in study A: sequential, four requests in flight, over a 256 MB file.
    pub fn atto(operation: Operation, bytes: u64) -> Self {
        let file_bytes = 256 << 20;
        Self { operation, random: false, bytes, queue_depth: 4, file_bytes, think_s: 0.0 }
    }

    /// The load of Anvil in study D: one request in flight, over a 1 GB file.
    pub fn anvil(operation: Operation, random: bool, bytes: u64) -> Self {
        let file_bytes = 1 << 30;
        Self { operation, random, bytes, queue_depth: 1, file_bytes, think_s: 0.0 }
    }
}

/// Maximum number of requests in a simulation, with which it takes a few milliseconds.
const MOST: u64 = 20_000;

/// Minimum number of requests, even if fewer requests fit into the file.
const FEWEST: u64 = 64;

/// The requests of a simulation.
struct Requests {
    count: u64,
    /// Number of initial requests that are not counted, because the device has not reached its steady state.
    uncounted: u64,
    bytes: u64,
    /// Number of possible offsets of a request in the file.
    places: u64,
    random: bool,
    seed: u64,
}

impl Requests {
    fn of(model: &Model, load: &Load) -> Self {
        let bytes = load.bytes.max(512);
        let most = if load.random { MOST / 8 } else { MOST };
        let count = (load.file_bytes / bytes).clamp(FEWEST, most);
        let places = (load.file_bytes / bytes).max(1);
        let (random, seed) = (load.random, model.seed);
        Self { count, uncounted: count / 4, bytes, places, random, seed }
    }

    fn offset(&self, number: u64) -> u64 {
        let place = if self.random { mix(number ^ self.seed) } else { number } % self.places;
        place * self.bytes
    }

    /// Seconds per counted request, from the end of the uncounted requests to the end of the last request.
    fn each(&self, counted_from: f64, last: f64) -> f64 {
        (last - counted_from) / (self.count - self.uncounted) as f64
    }
}

/// Seconds per request of `load` on an initially idle device. The first quarter of the requests, before the steady
/// state, is not counted. This is the time between completions, which is the inverse of the requests per second.
pub fn seconds_per_request(model: &Model, load: &Load) -> f64 {
    let mut engine = Engine::new(model, model.capacity_bytes);
    let requests = Requests::of(model, load);
    let mut in_flight = BinaryHeap::new();
    let (mut last, mut counted_from, mut host_free_at) = (0.0f64, 0.0f64, 0.0f64);
    for number in 0..requests.count {
        let now = if in_flight.len() < load.queue_depth.max(1) as usize {
            0.0
        } else {
            let Reverse(done) = in_flight.pop().unwrap_or_default();
            f64::from_bits(done)
        };
        let now = now.max(host_free_at) + load.think_s;
        host_free_at = now;
        let done = engine.submit(&Request {
            operation: load.operation,
            offset: requests.offset(number),
            bytes: requests.bytes,
            arrival_s: now,
            continues: false,
        });
        in_flight.push(Reverse(done.to_bits()));
        last = last.max(done);
        if number + 1 == requests.uncounted {
            counted_from = last;
        }
    }
    requests.each(counted_from, last)
}

/// Like [`seconds_per_request`], for a serial driver, which handles one request at a time whatever the queue depth.
pub fn seconds_in_series(model: &Model, load: &Load, serial: Serial, added: &Added) -> f64 {
    let mut engine = Engine::new(model, model.capacity_bytes);
    let requests = Requests::of(model, load);
    let (mut now, mut counted_from) = (0.0f64, 0.0f64);
    for number in 0..requests.count {
        let (mut offset, end) = (requests.offset(number), requests.offset(number) + requests.bytes);
        while offset < end {
            let bytes = serial.piece.min(end - offset);
            let operation = load.operation;
            let request = Request { operation, offset, bytes, arrival_s: now, continues: false };
            now = engine.submit(&request) + added.seconds(bytes);
            offset += bytes;
        }
        if number + 1 == requests.uncounted {
            counted_from = now;
        }
    }
    requests.each(counted_from, now)
}
