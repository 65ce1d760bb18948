//! The shared part of the GFNI kernels: bit matrices and round constants.
//!
//! Both halves stay in the basis in which GF2P8AFFINEINVQB inverts directly, and the instruction's
//! own map leads back to that basis. Each S-box is therefore one instruction, except s4, whose
//! rotation comes first.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::super::function::{INPUT, INPUT_CONSTANT, OUTPUT, OUTPUT_CONSTANT, TURNS};
use super::super::layers::{MAX_LAYERS, layer};
use super::super::linear::Linear;
use super::super::offsets::{Constants, Offsets};
use super::super::schedule::{MAX_ROUNDS, SEGMENT, Schedule};

const PLAIN: Linear = INPUT.inverse();

/// From plain bytes to the inversion's basis.
pub(super) const ENTER: u64 = INPUT.matrix();

/// Back to plain bytes.
pub(super) const LEAVE: u64 = PLAIN.matrix();

const CONSTANTS: [Constants; 2] = [Constants { input: INPUT_CONSTANT, output: OUTPUT_CONSTANT }; 2];

/// The matrix after the inversion in the S-box of each byte.
pub(super) const AFTER: [u64; 8] = {
    let mut matrices = [0; 8];
    let mut i = 0;
    while i < 8 {
        matrices[i] = INPUT.after(TURNS[i]).after(OUTPUT).matrix();
        i += 1;
    }
    matrices
};

/// The rotation of s4.
pub(super) const ROTATE: u64 = INPUT.after(Linear::ROTATE_LEFT).after(PLAIN).matrix();

/// [`super::super::layers::HalfLayer`] as matrices.
#[derive(Clone, Copy, Default, Zeroize)]
pub(super) struct HalfMatrices {
    pub(super) same: [u64; 4],
    pub(super) carry: [u64; 4],
    pub(super) back: [u64; 4],
}

/// Constants of one direction.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Keys {
    /// Added to blocks on their way in, as they lie in memory.
    pub(super) first: [u64; 2],
    /// Bytes of each round, each repeated four times.
    pub(super) rounds: [[u32; 8]; MAX_ROUNDS],
    pub(super) layers: [[HalfMatrices; 2]; MAX_LAYERS],
    /// Added to blocks on their way out.
    pub(super) last: [u64; 2],
    pub(super) count: usize,
}

impl Keys {
    pub(super) fn new(schedule: &Schedule) -> Self {
        let offsets = Offsets::new(schedule, CONSTANTS);
        let mut layers = [[HalfMatrices::default(); 2]; MAX_LAYERS];
        for (index, matrices) in layers[..schedule.rounds / SEGMENT - 1].iter_mut().enumerate() {
            *matrices = layer(schedule, index, [INPUT; 2]).map(|half| HalfMatrices {
                same: half.same.map(Linear::matrix),
                carry: half.carry.map(Linear::matrix),
                back: half.back.map(Linear::matrix),
            });
        }
        let bytes = |word: u64| INPUT.of_each(word).to_be_bytes();
        Self {
            first: [offsets.first.swap_bytes(), 0],
            rounds: offsets
                .rounds
                .map(|word| bytes(word).map(|byte| u32::from_ne_bytes([byte; 4]))),
            layers,
            last: [offsets.last.swap_bytes(), 0],
            count: schedule.rounds,
        }
    }
}
