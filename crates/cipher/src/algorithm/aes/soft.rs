//! Bitsliced AES in portable Rust: constant time, no tables, 16 blocks at once.
//!
//! Layout: eight bit planes of [`LANES`] 64-bit words. A word holds one bit of each byte of four blocks;
//! bit `16 row + 4 column + block` belongs to the state byte in that row and column (FIPS 197, 3.4). So
//! ShiftRows is a rotation inside 16-bit fields, and the next row is a rotation of the word by 16.

use std::array::from_fn;
use std::ops::{BitAnd, BitXor, Not};

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::sbox::{inv_sub_bytes, sub_bytes};
use super::schedule::{MAX_ROUND_KEYS, Schedule};
use crate::kernel::{Block, BlockCipher};

/// Words per plane; the compiler makes vectors of them where the baseline target has some.
const LANES: usize = 4;

/// Blocks in a word.
const BLOCKS_PER_LANE: usize = 4;

/// Blocks in a state.
const BLOCKS: usize = LANES * BLOCKS_PER_LANE;

/// One bit plane.
#[derive(Clone, Copy)]
struct Plane([u64; LANES]);

impl Plane {
    #[inline(always)]
    fn map(self, f: impl Fn(u64) -> u64) -> Self {
        Self(from_fn(|lane| f(self.0[lane])))
    }
}

impl BitXor for Plane {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(from_fn(|lane| self.0[lane] ^ other.0[lane]))
    }
}

impl BitAnd for Plane {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(from_fn(|lane| self.0[lane] & other.0[lane]))
    }
}

impl Not for Plane {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self.map(|word| !word)
    }
}

type State = [Plane; 8];

/// AES keyed for the bitsliced kernel.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Soft {
    /// Bit planes of each round key, the same for each block.
    keys: [[u64; 8]; MAX_ROUND_KEYS],
    rounds: usize,
}

impl Soft {
    /// Expands a key of 16, 24 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        let schedule = Schedule::new(key);
        let mut keys = [[0; 8]; MAX_ROUND_KEYS];
        for (planes, key) in keys.iter_mut().zip(schedule.keys()) {
            let state = pack(&[*key; BLOCKS]);
            *planes = from_fn(|bit| state[bit].0[0]);
        }
        Self { keys, rounds: schedule.rounds() }
    }

    #[inline(always)]
    fn add_round_key(&self, state: State, round: usize) -> State {
        let key = &self.keys[round];
        from_fn(|bit| state[bit].map(|word| word ^ key[bit]))
    }

    fn encrypt(&self, mut state: State) -> State {
        state = self.add_round_key(state, 0);
        for round in 1..self.rounds {
            state = mix_columns(shift_rows(sub_bytes(state)));
            state = self.add_round_key(state, round);
        }
        self.add_round_key(shift_rows(sub_bytes(state)), self.rounds)
    }

    fn decrypt(&self, mut state: State) -> State {
        state = self.add_round_key(state, self.rounds);
        for round in (1..self.rounds).rev() {
            state = inv_sub_bytes(inv_shift_rows(state));
            state = inv_mix_columns(self.add_round_key(state, round));
        }
        self.add_round_key(inv_sub_bytes(inv_shift_rows(state)), 0)
    }
}

impl BlockCipher for Soft {
    const PARALLEL: usize = BLOCKS;

    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        each_state(blocks, |state| self.encrypt(state));
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        each_state(blocks, |state| self.decrypt(state));
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

/// Runs `cipher` over all blocks; the last state may be part empty.
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

/// Turns blocks into bit planes.
fn pack(blocks: &[Block; BLOCKS]) -> State {
    let mut state = [Plane([0; LANES]); 8];
    for (index, block) in blocks.iter().enumerate() {
        let (lane, block_in_lane) = (index / BLOCKS_PER_LANE, index % BLOCKS_PER_LANE);
        let column = |c: usize| {
            spread(u32::from_le_bytes([
                block[4 * c],
                block[4 * c + 1],
                block[4 * c + 2],
                block[4 * c + 3],
            ]))
        };
        // Byte 2 row + column / 2 of word 4 (column mod 2) + block: transposed, it is in its place.
        state[block_in_lane].0[lane] = column(0) | column(2) << 8;
        state[4 + block_in_lane].0[lane] = column(1) | column(3) << 8;
    }
    transpose(state)
}

/// Undoes [`pack`].
fn unpack(state: State) -> [Block; BLOCKS] {
    let state = transpose(state);
    let mut blocks = [[0; 16]; BLOCKS];
    for (index, block) in blocks.iter_mut().enumerate() {
        let (lane, block_in_lane) = (index / BLOCKS_PER_LANE, index % BLOCKS_PER_LANE);
        let even = state[block_in_lane].0[lane];
        let odd = state[4 + block_in_lane].0[lane];
        for (column, word) in [even, odd, even >> 8, odd >> 8].into_iter().enumerate() {
            block[4 * column..4 * column + 4].copy_from_slice(&gather(word).to_le_bytes());
        }
    }
    blocks
}

/// Moves the bytes of a word to the even bytes of a wider one.
#[inline(always)]
fn spread(word: u32) -> u64 {
    let wide = u64::from(word);
    let wide = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
    (wide | wide << 8) & 0x00ff_00ff_00ff_00ff
}

/// Undoes [`spread`], whatever is in the odd bytes.
#[inline(always)]
fn gather(wide: u64) -> u32 {
    let wide = wide & 0x00ff_00ff_00ff_00ff;
    let wide = (wide | wide >> 8) & 0x0000_ffff_0000_ffff;
    (wide | wide >> 16) as u32
}

/// Transposes the 8 x 8 bits that each byte position makes over the eight planes; undoes itself.
#[inline(always)]
fn transpose(mut q: State) -> State {
    let swap = |q: &mut State, low: usize, high: usize, shift: u32, mask: u64| {
        for lane in 0..LANES {
            let (a, b) = (q[low].0[lane], q[high].0[lane]);
            let moved = ((a >> shift) ^ b) & mask;
            q[high].0[lane] = b ^ moved;
            q[low].0[lane] = a ^ (moved << shift);
        }
    };
    for i in [0, 2, 4, 6] {
        swap(&mut q, i, i + 1, 1, 0x5555_5555_5555_5555);
    }
    for i in [0, 1, 4, 5] {
        swap(&mut q, i, i + 2, 2, 0x3333_3333_3333_3333);
    }
    for i in [0, 1, 2, 3] {
        swap(&mut q, i, i + 4, 4, 0x0f0f_0f0f_0f0f_0f0f);
    }
    q
}

#[inline(always)]
fn shift_rows(state: State) -> State {
    state.map(|plane| {
        plane.map(|x| {
            (x & 0x0000_0000_0000_ffff)
                | (x & 0x0000_0000_fff0_0000) >> 4
                | (x & 0x0000_0000_000f_0000) << 12
                | (x & 0x0000_ff00_0000_0000) >> 8
                | (x & 0x0000_00ff_0000_0000) << 8
                | (x & 0xf000_0000_0000_0000) >> 12
                | (x & 0x0fff_0000_0000_0000) << 4
        })
    })
}

#[inline(always)]
fn inv_shift_rows(state: State) -> State {
    state.map(|plane| {
        plane.map(|x| {
            (x & 0x0000_0000_0000_ffff)
                | (x & 0x0000_0000_0fff_0000) << 4
                | (x & 0x0000_0000_f000_0000) >> 12
                | (x & 0x0000_ff00_0000_0000) >> 8
                | (x & 0x0000_00ff_0000_0000) << 8
                | (x & 0x000f_0000_0000_0000) << 12
                | (x & 0xfff0_0000_0000_0000) >> 4
        })
    })
}

/// Multiplies each byte by x: planes move up, the top one is reduced by x^8 = x^4 + x^3 + x + 1.
#[inline(always)]
fn times_x(a: State) -> State {
    let top = a[7];
    [top, a[0] ^ top, a[1], a[2] ^ top, a[3] ^ top, a[4], a[5], a[6]]
}

/// Per column: 2 a(r) + 3 a(r+1) + a(r+2) + a(r+3) = 2 (a(r) + a(r+1)) + a(r+1) + (a(r+2) + a(r+3)).
#[inline(always)]
fn mix_columns(a: State) -> State {
    let next: State = a.map(|plane| plane.map(|x| x.rotate_right(16)));
    let sum: State = from_fn(|bit| a[bit] ^ next[bit]);
    let double = times_x(sum);
    from_fn(|bit| double[bit] ^ next[bit] ^ sum[bit].map(|x| x.rotate_right(32)))
}

/// The inverse matrix is MixColumns after a(r) + 4 (a(r) + a(r+2)).
#[inline(always)]
fn inv_mix_columns(a: State) -> State {
    let sum: State = from_fn(|bit| a[bit] ^ a[bit].map(|x| x.rotate_right(32)));
    let quadruple = times_x(times_x(sum));
    mix_columns(from_fn(|bit| a[bit] ^ quadruple[bit]))
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
            for count in 1..=33 {
                let mut blocks = vec![plain; count];
                aes.encrypt_blocks(&mut blocks);
                assert!(blocks.iter().all(|b| *b == cipher.to_be_bytes()));
                aes.decrypt_blocks(&mut blocks);
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
