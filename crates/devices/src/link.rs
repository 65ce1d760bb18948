//! The connection between host and device: a limited number of commands in flight, the cost of each command, and the
//! wire.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{Interface, MIB};
use crate::request::{Operation, Request};

/// State of the interface.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    of: Interface,
    /// The times at which the wire and the command processor will be free.
    free_at: f64,
    /// Completion times of the requests in flight, as the bits of floating-point numbers. Positive numbers and their
    /// bits have the same order.
    in_flight: BinaryHeap<Reverse<u64>>,
}

/// The times at which a request reaches the device and has been transferred by the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The time at which the device has the command.
    pub(crate) begun: f64,
    /// The time at which command and data have been transferred; no request completes earlier.
    pub(crate) passed: f64,
    /// Requests in flight, including this one.
    pub(crate) queued: usize,
}

impl Link {
    pub(crate) fn new(of: &Interface) -> Self {
        Self { of: of.clone(), free_at: 0.0, in_flight: BinaryHeap::new() }
    }

    /// Admits a request at `now` or as soon as the queue has room.
    pub(crate) fn admit(&mut self, request: &Request, now: f64) -> Slot {
        while self.in_flight.peek().is_some_and(|first| f64::from_bits(first.0) <= now) {
            self.in_flight.pop();
        }
        let mut start = now;
        while self.in_flight.len() >= self.of.queue_depth as usize {
            if let Some(first) = self.in_flight.pop() {
                start = start.max(f64::from_bits(first.0));
            }
        }
        let command = match request.operation {
            _ if request.continues => 0.0,
            Operation::Read => self.of.read_command_us,
            Operation::Write => self.of.write_command_us,
            Operation::Flush => 0.0,
        };
        let command = command * 1e-6;
        let turn = start.max(self.free_at);
        let rate = match request.operation {
            Operation::Read => self.of.read_mib_s,
            _ => self.of.write_mib_s,
        };
        let wire = request.bytes as f64 / (rate * MIB);
        let begun = turn + command;
        let passed = turn + command.max(wire) + (1.0 - self.of.overlap) * command.min(wire);
        self.free_at = passed;
        Slot { begun, passed, queued: self.in_flight.len() + 1 }
    }

    /// Records that an admitted request completes at `done`, and returns the time at which the host is notified.
    pub(crate) fn completes(&mut self, done: f64) -> f64 {
        let done = done + self.of.latency_us * 1e-6;
        self.in_flight.push(Reverse(done.to_bits()));
        done
    }
}
