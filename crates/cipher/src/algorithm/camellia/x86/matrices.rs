//! The shared part of the GFNI kernels: bit matrices and round constants.
//!
//! Both halves are kept in the basis in which GF2P8AFFINEINVQB inverts directly, and the map in the same instruction
//! converts the result back to this basis. Each S-box is therefore one instruction, except s4, whose rotation comes
//! first.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::super::function::{INPUT, INPUT_CONSTANT, OUTPUT, OUTPUT_CONSTANT, TURNS};
use super::super::layers::{MAX_LAYERS, layer};
use super::super::linear::Linear;
use super::super::offsets::{Constants, Offsets};
use super::super::schedule::{MAX_ROUNDS, SEGMENT, Schedule};
use crate::kernel::Block;
use crate::vector::matrix;

const PLAIN: Linear = INPUT.inverse();

/// The map from plain bytes to the basis of the inversion.
pub(super) const ENTER: u64 = matrix(INPUT.0);

/// Back to plain bytes.
pub(super) const LEAVE: u64 = matrix(PLAIN.0);

const CONSTANTS: [Constants; 2] = [Constants { input: INPUT_CONSTANT, output: OUTPUT_CONSTANT }; 2];

/// The matrix after the inversion in the S-box of each byte.
pub(super) const AFTER: [u64; 8] = {
    let mut matrices = [0; 8];
    let mut i = 0;
    while i < 8 {
        matrices[i] = matrix(INPUT.after(TURNS[i]).after(OUTPUT).0);
        i += 1;
    }
    matrices
};

/// The rotation of s4.
pub(super) const ROTATE: u64 = matrix(INPUT.after(Linear::ROTATE_LEFT).after(PLAIN).0);

/// [`super::super::layers::HalfLayer`] as matrices.
#[derive(Clone, Copy, Default, Zeroize)]
pub(super) struct HalfMatrices {
    pub(super) same: [u64; 4],
    pub(super) carry: [u64; 4],
    pub(super) back: [u64; 4],
}

/// Constants of one direction.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(in super::super) struct Keys {
    /// Added to blocks at the input, in the byte order of memory.
    pub(super) first: Block,
    /// The bytes of each round, each repeated four times.
    pub(super) rounds: [[u32; 8]; MAX_ROUNDS],
    pub(super) layers: [[HalfMatrices; 2]; MAX_LAYERS],
    /// Added to blocks at the output.
    pub(super) last: Block,
    pub(super) count: usize,
}

impl Keys {
    pub(super) fn new(schedule: &Schedule) -> Self {
        let offsets = Offsets::new(schedule, CONSTANTS);
        let of = |map: Linear| matrix(map.0);
        let mut layers = [[HalfMatrices::default(); 2]; MAX_LAYERS];
        for (index, matrices) in layers[..schedule.rounds / SEGMENT - 1].iter_mut().enumerate() {
            *matrices = layer(schedule, index, [INPUT; 2]).map(|half| HalfMatrices {
                same: half.same.map(of),
                carry: half.carry.map(of),
                back: half.back.map(of),
            });
        }
        // A word as the left half of a block.
        let left = |word: u64| u128::from(word.swap_bytes()).to_le_bytes();
        let bytes = |word: u64| INPUT.of_each(word).to_be_bytes();
        Self {
            first: left(offsets.first),
            rounds: offsets
                .rounds
                .map(|word| bytes(word).map(|byte| u32::from_ne_bytes([byte; 4]))),
            layers,
            last: left(offsets.last),
            count: schedule.rounds,
        }
    }
}
