//! FL and its inverse as linear maps of bytes in a kernel's basis; the rest is in the offsets.

use super::super::linear::Linear;
use super::super::schedule::{MAX_ROUNDS, SEGMENT, Schedule};

/// Layers of FL and its inverse.
pub(super) const MAX_LAYERS: usize = MAX_ROUNDS / SEGMENT - 1;

/// The maps of one half: `right += rotation(left)` and `left += sum(right)`, of which FL does the first
/// one first, and its inverse the second.
pub(super) struct HalfLayer {
    /// From byte i of the left word to byte i of the right one.
    pub(super) same: [Linear; 4],
    /// From byte i of the left word to the byte before it, cyclically, of the right one.
    pub(super) carry: [Linear; 4],
    /// From byte i of the right word to byte i of the left one.
    pub(super) back: [Linear; 4],
}

/// The maps of a layer for the left and the right half, in their bases.
pub(super) fn layer(schedule: &Schedule, layer: usize, bases: [Linear; 2]) -> [HalfLayer; 2] {
    std::array::from_fn(|half| {
        let [kl, kr] = [32, 0].map(|shift| (schedule.ke[2 * layer + half] >> shift) as u32);
        let bytes = |key: u32| key.to_be_bytes();
        let basis = bases[half];
        let plain = basis.inverse();
        HalfLayer {
            same: bytes(kl).map(|key| basis.after(SHIFT).after(mask(key)).after(plain)),
            carry: bytes(kl).map(|key| basis.after(CARRY).after(mask(key)).after(plain)),
            // x + (y | k) is x + (y & !k) and a constant.
            back: bytes(kr).map(|key| basis.after(mask(!key)).after(plain)),
        }
    })
}

/// Left by one bit.
const SHIFT: Linear = Linear([2, 4, 8, 16, 32, 64, 128, 0]);

/// The top bit, which goes to the next byte.
const CARRY: Linear = Linear([0, 0, 0, 0, 0, 0, 0, 1]);

fn mask(key: u8) -> Linear {
    Linear(std::array::from_fn(|bit| key & 1 << bit))
}
