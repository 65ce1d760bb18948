//! RIPEMD-160 over lanes (Dobbertin, Bosselaers, Preneel: "RIPEMD-160, a strengthened version of RIPEMD", 1996).

use super::chain::{Chain, Costs, hash_of_chain, kernels};
use super::lanes::Lanes;
use super::{Hash, Kernel};
use crate::cpu::Tier;

/// RIPEMD-160 as a PRF's hash.
pub(crate) enum Ripemd160 {}

hash_of_chain!(Ripemd160, 5, false);

const START: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// Message word and rotation for the 80 steps of the left line.
#[rustfmt::skip]
const LEFT: [(usize, u32); 80] = zip(
    [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8,
        3, 10, 14, 4, 9, 15, 8, 1, 2, 7, 0, 6, 13, 11, 5, 12,
        1, 9, 11, 10, 0, 8, 12, 4, 13, 3, 7, 15, 14, 5, 6, 2,
        4, 0, 5, 9, 7, 12, 2, 10, 14, 1, 3, 8, 11, 6, 15, 13,
    ],
    [
        11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8,
        7, 6, 8, 13, 11, 9, 7, 15, 7, 12, 15, 9, 11, 7, 13, 12,
        11, 13, 6, 7, 14, 9, 13, 15, 14, 8, 13, 6, 5, 12, 7, 5,
        11, 12, 14, 15, 14, 15, 9, 8, 9, 14, 5, 6, 8, 6, 5, 12,
        9, 15, 5, 11, 6, 8, 13, 12, 5, 12, 13, 14, 11, 8, 5, 6,
    ],
);

/// Message word and rotation for the 80 steps of the right line.
#[rustfmt::skip]
const RIGHT: [(usize, u32); 80] = zip(
    [
        5, 14, 7, 0, 9, 2, 11, 4, 13, 6, 15, 8, 1, 10, 3, 12,
        6, 11, 3, 7, 0, 13, 5, 10, 14, 15, 8, 12, 4, 9, 1, 2,
        15, 5, 1, 3, 7, 14, 6, 9, 11, 8, 12, 2, 10, 0, 4, 13,
        8, 6, 4, 1, 3, 11, 15, 0, 5, 12, 2, 13, 9, 7, 10, 14,
        12, 15, 10, 4, 1, 5, 8, 7, 6, 2, 13, 14, 0, 3, 9, 11,
    ],
    [
        8, 9, 9, 11, 13, 15, 15, 5, 7, 7, 8, 11, 14, 14, 12, 6,
        9, 13, 15, 7, 12, 8, 9, 11, 7, 7, 12, 7, 6, 15, 13, 11,
        9, 7, 15, 11, 8, 6, 6, 14, 12, 13, 5, 14, 13, 13, 7, 5,
        15, 5, 8, 11, 14, 14, 6, 14, 6, 9, 12, 9, 12, 5, 15, 8,
        8, 5, 12, 9, 12, 5, 14, 6, 8, 13, 6, 5, 15, 13, 11, 11,
    ],
);

/// Constants of each group of 16 steps.
const LEFT_ADD: [u32; 5] = [0, 0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xa953_fd4e];
const RIGHT_ADD: [u32; 5] = [0x50a2_8be6, 0x5c4d_d124, 0x6d70_3ef3, 0x7a6d_76e9, 0];

const fn zip(words: [usize; 80], rotations: [u32; 80]) -> [(usize, u32); 80] {
    let mut steps = [(0, 0); 80];
    let mut i = 0;
    while i < 80 {
        steps[i] = (words[i], rotations[i]);
        i += 1;
    }
    steps
}

impl Chain<5> for Ripemd160 {
    type Digest = ripemd::Ripemd160;
    type Word = u32;
    const BLOCK: usize = 64;

    fn absorb(block: &[u32; 16]) -> [u32; 5] {
        // SAFETY: single words need no special instructions.
        unsafe { compress(&START, block) }
    }

    #[inline(always)]
    unsafe fn finish<V: Lanes<Word = u32>>(mid: &[V; 5], digest: &[V; 5]) -> [V; 5] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let mut message = [V::splat(0); 16];
            message[..5].copy_from_slice(digest);
            message[5] = V::splat(0x80);
            message[14] = V::splat((64 + 20) * 8);
            compress(mid, &message)
        }
    }

    fn kernels(tier: Tier) -> Vec<Kernel<Self>>
    where
        Self: Hash,
    {
        kernels(tier, &Costs { one: 383, avx2: 508, avx512vl: 302, avx512: 392 })
    }
}

/// The compression function. It interleaves both lines, because they are independent.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn compress<V: Lanes<Word = u32>>(state: &[V; 5], message: &[V; 16]) -> [V; 5] {
    let (mut left, mut right) = (*state, *state);
    macro_rules! group {
        ($group:literal: $($step:literal)+) => { $(
            // SAFETY: the caller guarantees the instruction set.
            unsafe {
                step(&mut left, $group, LEFT[16 * $group + $step], LEFT_ADD[$group], message);
                step(&mut right, 4 - $group, RIGHT[16 * $group + $step], RIGHT_ADD[$group], message);
            }
        )+ };
    }
    group!(0: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    group!(1: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    group!(2: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    group!(3: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    group!(4: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    // SAFETY: as above.
    std::array::from_fn(|i| unsafe {
        state[(i + 1) % 5].add(left[(i + 2) % 5]).add(right[(i + 3) % 5])
    })
}

/// One step of a line, with the line's Boolean function.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn step<V: Lanes<Word = u32>>(
    line: &mut [V; 5],
    function: usize,
    (word, rotation): (usize, u32),
    constant: u32,
    message: &[V; 16],
) {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let [a, b, c, d, e] = *line;
        let f = match function {
            0 => b.xor3(c, d),
            1 => b.choose(c, d),
            2 => b.or_not_xor(c, d),
            3 => d.choose(b, c),
            _ => c.or_not_xor(d, b),
        };
        let sum = a.add(message[word].add(V::splat(constant))).add(f);
        *line = [e, sum.ror(32 - rotation).add(e), b, c.ror(22), d];
    }
}
