//! Computes completion times from requests.

use crate::disc::DiscState;
use crate::flash::FlashState;
use crate::link::Link;
use crate::model::Model;
use crate::request::{Operation, Request};

/// A device with its state: head position, cache contents, requests in flight.
#[derive(Clone, Debug)]
pub struct Engine {
    link: Link,
    medium: Medium,
    /// Arrival of the last request.
    now: f64,
}

#[derive(Clone, Debug)]
enum Medium {
    Disc(Box<DiscState>),
    Flash(Box<FlashState>),
}

impl Engine {
    /// An idle device whose tracks or blocks have `capacity_bytes` in total: the model's own capacity, or less capacity
    /// if a small backing represents the whole device.
    pub fn new(model: &Model, capacity_bytes: u64) -> Self {
        let medium = match (&model.disc, &model.flash) {
            (Some(disc), _) => {
                let hybrid = model.hybrid.clone();
                Medium::Disc(Box::new(DiscState::new(disc, hybrid, capacity_bytes, model.seed)))
            }
            (None, Some(flash)) => Medium::Flash(Box::new(FlashState::new(flash, model.seed))),
            (None, None) => unreachable!("reading a model rejects one without a medium"),
        };
        Self { link: Link::new(&model.interface), medium, now: 0.0 }
    }

    /// The time at which `request` completes, in seconds after the engine's start.
    pub fn submit(&mut self, request: &Request) -> f64 {
        if request.arrival_s > self.now {
            self.now = request.arrival_s;
        }
        let slot = self.link.admit(request, self.now);
        let ready = match (&mut self.medium, request.operation) {
            (Medium::Disc(disc), Operation::Read) => disc.read(request, &slot),
            (Medium::Disc(disc), Operation::Write) => disc.write(request, &slot),
            (Medium::Disc(disc), Operation::Flush) => disc.flush(slot.begun),
            (Medium::Flash(flash), Operation::Read) => flash.read(request, &slot),
            (Medium::Flash(flash), Operation::Write) => flash.write(request, &slot),
            (Medium::Flash(flash), Operation::Flush) => flash.flush(slot.begun),
        };
        self.link.completes(ready.max(slot.passed))
    }
}
