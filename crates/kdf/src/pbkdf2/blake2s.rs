//! BLAKE2s-256 over lanes (RFC 7693), unkeyed and in HMAC, as used by VeraCrypt.

use super::chain::{Chain, Costs, hash_of_chain, kernels};
use super::lanes::Lanes;
use super::{Hash, Kernel};
use crate::cpu::Tier;

/// BLAKE2s-256 as a PRF's hash.
pub(crate) enum Blake2s {}

hash_of_chain!(Blake2s, 8, false);

/// The initialization vector, which is the same as SHA-256's (RFC 7693, section 2.6).
#[rustfmt::skip]
const START: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
    0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

/// The message words of each round (RFC 7693, section 2.7).
#[rustfmt::skip]
const ORDER: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// Block size in bytes.
const BLOCK: u32 = 64;
/// Digest size in bytes.
const DIGEST: u32 = 32;

impl Chain<8> for Blake2s {
    type Digest = blake2::Blake2s256;
    type Word = u32;
    const BLOCK: usize = BLOCK as usize;

    fn absorb(block: &[u32; 16]) -> [u32; 8] {
        let mut state = START;
        // The parameter block: digest length, no key, fan-out 1, depth 1 (RFC 7693, section 2.5).
        state[0] ^= 0x0101_0000 ^ DIGEST;
        // SAFETY: single words need no special instructions.
        unsafe { compress(&state, &block.map(Some), BLOCK, false) }
    }

    #[inline(always)]
    unsafe fn finish<V: Lanes<Word = u32>>(mid: &[V; 8], digest: &[V; 8]) -> [V; 8] {
        let message = std::array::from_fn(|i| digest.get(i).copied());
        // SAFETY: the caller guarantees the instruction set.
        unsafe { compress(mid, &message, BLOCK + DIGEST, true) }
    }

    fn kernels(tier: Tier) -> Vec<Kernel<Self>>
    where
        Self: Hash,
    {
        kernels(tier, &Costs { one: 258, avx2: 469, avx512vl: 331, avx512: 424 })
    }
}

/// The compression function. It does not add message words that are zero.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn compress<V: Lanes<Word = u32>>(
    state: &[V; 8],
    message: &[Option<V>; 16],
    bytes: u32,
    last: bool,
) -> [V; 8] {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let mut v: [V; 16] =
            std::array::from_fn(|i| if i < 8 { state[i] } else { V::splat(START[i - 8]) });
        v[12] = V::splat(START[4] ^ bytes);
        if last {
            v[14] = V::splat(!START[6]);
        }
        macro_rules! rounds {
            ($($round:literal)+) => { $(
                mix(&mut v, [0, 4, 8, 12], $round, 0, message);
                mix(&mut v, [1, 5, 9, 13], $round, 1, message);
                mix(&mut v, [2, 6, 10, 14], $round, 2, message);
                mix(&mut v, [3, 7, 11, 15], $round, 3, message);
                mix(&mut v, [0, 5, 10, 15], $round, 4, message);
                mix(&mut v, [1, 6, 11, 12], $round, 5, message);
                mix(&mut v, [2, 7, 8, 13], $round, 6, message);
                mix(&mut v, [3, 4, 9, 14], $round, 7, message);
            )+ };
        }
        rounds!(0 1 2 3 4 5 6 7 8 9);
        std::array::from_fn(|i| state[i].xor3(v[i], v[i + 8]))
    }
}

/// G of RFC 7693, section 3.1, at the given indexes, with the message words for the `nth` use of G in the round.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn mix<V: Lanes<Word = u32>>(
    v: &mut [V; 16],
    [a, b, c, d]: [usize; 4],
    round: usize,
    nth: usize,
    message: &[Option<V>; 16],
) {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        for (half, (first, second)) in [(16, 12), (8, 7)].into_iter().enumerate() {
            let mut sum = v[a];
            if let Some(word) = message[ORDER[round][2 * nth + half]] {
                sum = sum.add(word);
            }
            v[a] = sum.add(v[b]);
            v[d] = v[d].xor(v[a]).ror(first);
            v[c] = v[c].add(v[d]);
            v[b] = v[b].xor(v[c]).ror(second);
        }
    }
}
