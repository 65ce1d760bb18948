//! Bitsliced AES in portable Rust: constant time, no tables, several blocks in parallel.
//!
//! The state consists of eight bit planes. A 64-bit word of a plane contains one bit of each byte of four blocks: bit
//! `16 row + 4 column + block` belongs to the state byte in that row and column (FIPS 197, 3.4). Moving to the next
//! row is therefore a rotation of the word by 16, and moving to the next column is a rotation of each 16-bit field by
//! 4.
//!
//! The kernel never performs ShiftRows. As in "Fixslicing AES-like Ciphers" (Adomnicai and Peyrin, TCHES 2021), the
//! state stays in place. If SR denotes ShiftRows, the true state after round i is SR^i of the stored state.
//! MixColumns takes SR^i into account, and SR^-i is applied to each stored round key.

use std::array::from_fn;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::plane::{LANES, Plane};
use super::sbox::{inv_sub_bytes, sub_bytes};
use super::schedule::{MAX_ROUND_KEYS, Schedule};
use crate::kernel::{BLOCK, Block, BlockKernel};

/// Blocks in a word.
const BLOCKS_PER_LANE: usize = 4;

/// Blocks in a state.
const BLOCKS: usize = LANES * BLOCKS_PER_LANE;

type State = [Plane; 8];

/// AES with a key, for the bitsliced kernel.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Soft {
    /// Bit planes of SR^-i of round key i, which are the same for every block; the last key is stored unchanged.
    keys: [[u64; 8]; MAX_ROUND_KEYS],
    rounds: usize,
}

impl Soft {
    /// Expands a 16-, 24- or 32-byte key.
    pub(super) fn new(key: &[u8]) -> Self {
        let schedule = Schedule::new(key);
        let rounds = schedule.rounds();
        let mut keys = [[0; 8]; MAX_ROUND_KEYS];
        for (round, (planes, key)) in keys.iter_mut().zip(schedule.keys()).enumerate() {
            let shifts = if round == rounds { 0 } else { round };
            let state = pack(&[inv_shift_rows(key, shifts); BLOCKS]);
            *planes = from_fn(|bit| state[bit].to_lanes()[0]);
        }
        Self { keys, rounds }
    }

    #[inline(always)]
    fn add_round_key(&self, state: State, round: usize) -> State {
        let key = &self.keys[round];
        from_fn(|bit| state[bit] ^ Plane::splat(key[bit]))
    }

    fn encrypt_state(&self, mut state: State) -> State {
        state = self.add_round_key(state, 0);
        for round in 1..self.rounds {
            state = sub_bytes(state);
            state = match round % 4 {
                0 => mix_columns::<0>(state),
                1 => mix_columns::<1>(state),
                2 => mix_columns::<2>(state),
                _ => mix_columns::<3>(state),
            };
            state = self.add_round_key(state, round);
        }
        state = self.true_state(sub_bytes(state));
        self.add_round_key(state, self.rounds)
    }

    fn decrypt_state(&self, mut state: State) -> State {
        state = self.add_round_key(state, self.rounds);
        state = inv_sub_bytes(self.true_state(state));
        for round in (1..self.rounds).rev() {
            state = self.add_round_key(state, round);
            state = match round % 4 {
                0 => inv_mix_columns::<0>(state),
                1 => inv_mix_columns::<1>(state),
                2 => inv_mix_columns::<2>(state),
                _ => inv_mix_columns::<3>(state),
            };
            state = inv_sub_bytes(state);
        }
        self.add_round_key(state, 0)
    }

    /// Applies SR once per round. SR^4 is the identity and the number of rounds is even, so the result is the identity
    /// or SR^2, which is its own inverse.
    #[inline(always)]
    fn true_state(&self, state: State) -> State {
        if self.rounds.is_multiple_of(4) {
            return state;
        }
        // Rows 1 and 3 are rotated by two columns.
        let rows = Plane::splat(0xffff_0000_ffff_0000);
        state.map(|plane| plane ^ ((plane ^ plane.rotate_fields::<8, 8>()) & rows))
    }
}

impl BlockKernel<BLOCK> for Soft {
    fn parallel(&self) -> usize {
        BLOCKS
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        each_state(blocks, |state| self.encrypt_state(state));
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        each_state(blocks, |state| self.decrypt_state(state));
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

/// Applies `cipher` to all blocks; the last state may be only partly filled.
fn each_state(blocks: &mut [Block], cipher: impl Fn(State) -> State) {
    let (full, rest) = blocks.as_chunks_mut::<BLOCKS>();
    for group in full {
        *group = unpack(cipher(pack(group)));
    }
    if !rest.is_empty() {
        let mut group = [[0; 16]; BLOCKS];
        group[..rest.len()].copy_from_slice(rest);
        let group = unpack(cipher(pack(&group)));
        rest.copy_from_slice(&group[..rest.len()]);
    }
}

/// Applies SR^-1 to a block `times` times.
fn inv_shift_rows(block: &Block, times: usize) -> Block {
    from_fn(|i| {
        let (column, row) = (i / 4, i % 4);
        block[(column + 4 * times - times * row) % 4 * 4 + row]
    })
}

/// Turns blocks into bit planes.
fn pack(blocks: &[Block; BLOCKS]) -> State {
    // The byte in a row and column is moved to byte 2 row + column / 2 of word 4 (column mod 2) + block. The
    // transposition then moves it to its final position.
    let word = |index: usize, block: usize| {
        let columns = blocks[block].as_chunks::<4>().0;
        let column = |c: usize| spread(u32::from_le_bytes(columns[c]));
        column(index) | column(index + 2) << 8
    };
    transpose(from_fn(|w| {
        let (columns, block) = (w / BLOCKS_PER_LANE, w % BLOCKS_PER_LANE);
        Plane::from_lanes(from_fn(|lane| word(columns, lane * BLOCKS_PER_LANE + block)))
    }))
}

/// Undoes [`pack`].
fn unpack(state: State) -> [Block; BLOCKS] {
    let words = transpose(state).map(Plane::to_lanes);
    from_fn(|index| {
        let (lane, block) = (index / BLOCKS_PER_LANE, index % BLOCKS_PER_LANE);
        let even = words[block][lane];
        let odd = words[BLOCKS_PER_LANE + block][lane];
        let columns = [even, odd, even >> 8, odd >> 8].map(gather);
        let low = u64::from(columns[0]) | u64::from(columns[1]) << 32;
        let high = u64::from(columns[2]) | u64::from(columns[3]) << 32;
        (u128::from(low) | u128::from(high) << 64).to_le_bytes()
    })
}

/// Moves each byte of a word to an even byte of a word twice as wide.
#[inline(always)]
fn spread(word: u32) -> u64 {
    let wide = u64::from(word);
    let wide = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
    (wide | wide << 8) & 0x00ff_00ff_00ff_00ff
}

/// The inverse of [`spread`]; ignores the odd bytes.
#[inline(always)]
fn gather(wide: u64) -> u32 {
    let wide = wide & 0x00ff_00ff_00ff_00ff;
    let wide = (wide | wide >> 8) & 0x0000_ffff_0000_ffff;
    (wide | wide >> 16) as u32
}

/// Transposes the 8 × 8 bits of each byte position in the eight planes. This is its own inverse.
#[inline(always)]
fn transpose(mut q: State) -> State {
    for i in [0, 2, 4, 6] {
        swap::<1>(&mut q, i, i + 1, 0x5555_5555_5555_5555);
    }
    for i in [0, 1, 4, 5] {
        swap::<2>(&mut q, i, i + 2, 0x3333_3333_3333_3333);
    }
    for i in [0, 1, 2, 3] {
        swap::<4>(&mut q, i, i + 4, 0x0f0f_0f0f_0f0f_0f0f);
    }
    q
}

/// Swaps the bits of plane `low` that are `SHIFT` positions above those in `mask` with the bits of `high` in `mask`.
#[inline(always)]
fn swap<const SHIFT: i32>(q: &mut State, low: usize, high: usize, mask: u64) {
    let moved = (q[low].shift_right::<SHIFT>() ^ q[high]) & Plane::splat(mask);
    q[high] = q[high] ^ moved;
    q[low] = q[low] ^ moved.shift_left::<SHIFT>();
}

/// Multiplies each byte by x: planes move up by one position, and the top plane is reduced by `x^8 = x^4 + x^3 + x +
/// 1`.
#[inline(always)]
#[rustfmt::skip]
fn times_x(a: State) -> State {
    let top = a[7];
    [top, a[0] ^ top, a[1], a[2] ^ top, a[3] ^ top, a[4], a[5], a[6]]
}

/// The next row, taking SR^I into account: also rotated by `I` columns.
#[inline(always)]
fn next_row<const I: usize>(plane: Plane) -> Plane {
    let plane = plane.rotate_16();
    match I {
        0 => plane,
        1 => plane.rotate_fields::<4, 12>(),
        2 => plane.rotate_fields::<8, 8>(),
        _ => plane.rotate_fields::<12, 4>(),
    }
}

/// The row after the next, taking SR^I into account: also rotated by `2 I` columns.
#[inline(always)]
fn second_row<const I: usize>(plane: Plane) -> Plane {
    let plane = plane.rotate_32();
    match I {
        0 | 2 => plane,
        _ => plane.rotate_fields::<8, 8>(),
    }
}

/// Per column: 2 a(r) + 3 a(r+1) + a(r+2) + a(r+3) = 2 (a(r) + a(r+1)) + a(r+1) + (a(r+2) + a(r+3)).
#[inline(always)]
fn mix_columns<const I: usize>(a: State) -> State {
    let next = a.map(next_row::<I>);
    let sum: State = from_fn(|bit| a[bit] ^ next[bit]);
    let double = times_x(sum);
    from_fn(|bit| double[bit] ^ next[bit] ^ second_row::<I>(sum[bit]))
}

/// InvMixColumns: MixColumns applied to a(r) + 4 (a(r) + a(r+2)).
#[inline(always)]
fn inv_mix_columns<const I: usize>(a: State) -> State {
    let sum: State = from_fn(|bit| a[bit] ^ second_row::<I>(a[bit]));
    let quadruple = times_x(times_x(sum));
    mix_columns::<I>(from_fn(|bit| a[bit] ^ quadruple[bit]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fips_197_appendix_c() {
        let plain = 0x00112233_44556677_8899aabb_ccddeeff_u128.to_be_bytes();
        let key: Vec<u8> = (0..32).collect();
        for (key_bytes, cipher) in [
            (16, 0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a_u128),
            (24, 0xdda97ca4_864cdfe0_6eaf70a0_ec0d7191),
            (32, 0x8ea2b7ca_516745bf_eafc4990_4b496089),
        ] {
            let aes = Soft::new(&key[..key_bytes]);
            // Odd counts too: a state may be part empty.
            for count in 1..=2 * BLOCKS + 1 {
                let mut blocks = vec![plain; count];
                aes.encrypt(&mut blocks);
                assert!(blocks.iter().all(|b| *b == cipher.to_be_bytes()));
                aes.decrypt(&mut blocks);
                assert!(blocks.iter().all(|b| *b == plain));
            }
        }
    }

    #[test]
    fn packing_is_undone() {
        let blocks: [Block; BLOCKS] = from_fn(|i| from_fn(|j| (i * 31 + j * 7) as u8));
        assert_eq!(unpack(pack(&blocks)), blocks);
    }
}
