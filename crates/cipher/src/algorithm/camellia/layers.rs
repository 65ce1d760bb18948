//! FL and its inverse as linear maps of bytes in a kernel's basis; the remaining constants are included in the
//! offsets.

use super::linear::Linear;
use super::schedule::{MAX_ROUNDS, SEGMENT, Schedule};

/// Maximum number of layers of FL and its inverse.
pub(super) const MAX_LAYERS: usize = MAX_ROUNDS / SEGMENT - 1;

/// The maps of one half: `right += rotation(left)` and `left += sum(right)`. FL applies the rotation first; its
/// inverse applies the sum first.
pub(super) struct HalfLayer {
    /// Maps byte i of the left word to byte i of the right word.
    pub(super) same: [Linear; 4],
    /// Maps byte i of the left word to the preceding byte, cyclically, of the right word.
    pub(super) carry: [Linear; 4],
    /// Maps byte i of the right word to byte i of the left word.
    pub(super) back: [Linear; 4],
}

/// The maps of a layer for the left and the right half, in the bases of the halves.
pub(super) fn layer(schedule: &Schedule, layer: usize, bases: [Linear; 2]) -> [HalfLayer; 2] {
    std::array::from_fn(|half| {
        let [kl, kr] = [32, 0].map(|shift| (schedule.ke[2 * layer + half] >> shift) as u32);
        let bytes = |key: u32| key.to_be_bytes();
        let basis = bases[half];
        let plain = basis.inverse();
        HalfLayer {
            same: bytes(kl).map(|key| basis.after(SHIFT).after(mask(key)).after(plain)),
            carry: bytes(kl).map(|key| basis.after(CARRY).after(mask(key)).after(plain)),
            // x + (y | k) equals x + (y & !k) plus a constant.
            back: bytes(kr).map(|key| basis.after(mask(!key)).after(plain)),
        }
    })
}

/// Shifts left by one bit.
const SHIFT: Linear = Linear([2, 4, 8, 16, 32, 64, 128, 0]);

/// The top bit of a byte, which is rotated into the next byte.
const CARRY: Linear = Linear([0, 0, 0, 0, 0, 0, 0, 1]);

fn mask(key: u8) -> Linear {
    Linear(std::array::from_fn(|bit| key & 1 << bit))
}
