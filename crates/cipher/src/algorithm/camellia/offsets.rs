//! The effect of the keys if state bytes are stored in another basis and with a constant offset.
//!
//! The kernels store each half of the state as `B(half + offset)`. B is a linear map of bytes after which the S-boxes
//! need no further map before the inversion. The offset is chosen so that the half already includes the round key at
//! the input of S, so that no step has to add a round key. The change of the offset from round to round is included
//! where a constant is added anyway, or where it costs nothing (a third operand, or a table entry). FL and its
//! inverse have the same effect on the offset as on the half.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::function::{TURNED_INPUT, TURNS, diffuse, each_byte, fl_inverse};
use super::linear::Linear;
use super::schedule::{MAX_ROUNDS, SEGMENT, Schedule};

/// The constants of the S-boxes in the rounds of one half, in the plain basis.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    /// The constant that the S-boxes s1 to s3 add to their input; s4 adds it after the rotation of its input.
    pub(super) input: u8,
    /// The constant that s1 adds to its result; the other S-boxes rotate this constant.
    pub(super) output: u8,
}

impl Constants {
    fn inputs(self) -> u64 {
        let turns = TURNED_INPUT.map(|turned| match turned {
            true => Linear::ROTATE_RIGHT,
            false => Linear::IDENTITY,
        });
        each_byte(u64::from_ne_bytes([self.input; 8]), turns)
    }

    fn outputs(self) -> u64 {
        each_byte(u64::from_ne_bytes([self.output; 8]), TURNS)
    }
}

/// The values to add, in the plain basis.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Offsets {
    /// Added to the left half of a block before the first round.
    pub(super) first: u64,
    /// Added to the half that a round changes, together with P(S(other half)), where S does not add constants.
    pub(super) rounds: [u64; MAX_ROUNDS],
    /// Added to the left half of the result after the last round.
    pub(super) last: u64,
}

impl Offsets {
    /// `constants` contains first the constants for the rounds whose input is the left half, then those for the rounds
    /// whose input is the right half.
    pub(super) fn new(schedule: &Schedule, constants: [Constants; 2]) -> Self {
        let count = schedule.rounds;
        // The offset that a half must have at the input of a round.
        let needed = |round: usize| schedule.k[round] ^ constants[round % 2].inputs();
        let [mut left, mut right] = [needed(0), schedule.kw[1]];
        let first = schedule.kw[0] ^ left;
        let mut rounds = [0; MAX_ROUNDS];
        for round in 0..count {
            let layer = (round + 1) / SEGMENT;
            let at_layer = (round + 1) % SEGMENT == 0 && round + 1 < count;
            let next = match round + 1 {
                end if end == count => schedule.kw[3],
                // The offset is chosen so that FL turns it into the offset that is needed next.
                next if at_layer => fl_inverse(needed(next), schedule.ke[2 * layer - 2]),
                next => needed(next),
            };
            let changed = if round % 2 == 0 { &mut right } else { &mut left };
            rounds[round] = *changed ^ next ^ diffuse(constants[round % 2].outputs());
            *changed = next;
            if at_layer {
                left = needed(round + 1);
                right = fl_inverse(right, schedule.ke[2 * layer - 1]);
            }
        }
        Self { first, rounds, last: right ^ schedule.kw[2] }
    }
}
