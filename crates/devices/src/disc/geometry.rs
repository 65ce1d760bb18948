//! The position of a byte on the platters: its zone, its angle on the track, and the time until the head reaches it.

use super::per_second;
use crate::draw::unit;
use crate::model::Disc;

/// The fixed properties of a hard disk.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    capacity: f64,
    /// Rate at the first byte, followed by the rate at the last byte, in bytes per second.
    outer: f64,
    inner: f64,
    /// Seconds per rotation.
    turn: f64,
    track_to_track: f64,
    average: f64,
    full: f64,
    /// The angle of the platters at time 0, in rotations.
    phase: f64,
}

/// A head that is late by less than this many rotations has not missed its sector: calculated times are not more
/// precise than this.
const TOLERANCE: f64 = 1e-6;

impl Geometry {
    pub(super) fn new(of: &Disc, capacity: u64, seed: u64) -> Self {
        Self {
            capacity: capacity.max(1) as f64,
            outer: per_second(of.outer_mib_s),
            inner: per_second(of.inner_mib_s),
            turn: 60.0 / of.rotations_per_minute,
            track_to_track: of.track_to_track_ms * 1e-3,
            average: of.average_seek_ms * 1e-3,
            full: of.full_stroke_ms * 1e-3,
            phase: unit(seed),
        }
    }

    fn rate(&self, offset: f64) -> f64 {
        let at = (offset / self.capacity).clamp(0.0, 1.0);
        self.outer + (self.inner - self.outer) * at
    }

    /// Seconds to transfer `bytes` from `offset` on.
    pub(super) fn transfer_s(&self, offset: u64, bytes: u64) -> f64 {
        (self.turns(offset as f64 + bytes as f64) - self.turns(offset as f64)) * self.turn
    }

    /// Number of bytes that pass the head in `seconds`, starting at `offset`.
    pub(super) fn bytes_in(&self, offset: u64, seconds: f64) -> u64 {
        (self.rate(offset as f64) * seconds) as u64
    }

    /// Rotations of the platters while all bytes up to `offset` pass the head: the integral of 1/(rate · rotation).
    fn turns(&self, offset: f64) -> f64 {
        let slope = (self.inner - self.outer) / self.capacity;
        if slope.abs() * self.capacity < 1.0 {
            return offset / (self.outer * self.turn);
        }
        (1.0 + slope * offset.min(self.capacity) / self.outer).ln() / (slope * self.turn)
    }

    /// Seconds from time `now` until `offset` is under the head.
    pub(super) fn wait_s(&self, offset: u64, now: f64) -> f64 {
        let wait = (self.turns(offset as f64) + self.phase - now / self.turn).rem_euclid(1.0);
        if wait > 1.0 - TOLERANCE { 0.0 } else { wait * self.turn }
    }

    /// Seconds to move from one track to another. Up to a third of the stroke, which is the mean distance of random
    /// positions, the times grow with the square root of the distance; beyond that, in proportion to the distance
    /// (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994).
    pub(super) fn seek_s(&self, from: u64, to: u64) -> f64 {
        let distance = (to as f64 - from as f64).abs() / self.capacity;
        let third = 1.0 / 3.0;
        if distance <= third {
            self.track_to_track + (self.average - self.track_to_track) * (distance / third).sqrt()
        } else {
            let rest = ((distance - third) / (1.0 - third)).min(1.0);
            self.average + (self.full - self.average) * rest
        }
    }
}
