//! SHA-1 over lanes (FIPS 180-4, section 6.1) and with the CPU's SHA-1 instructions, for old LUKS1
//! and TrueCrypt volumes.

#[cfg(target_arch = "x86_64")]
mod ni;

use super::chain::{Chain, Costs, hash_of_chain, kernels};
use super::lanes::Lanes;
use super::{Hash, Kernel};
use crate::cpu::Tier;

/// SHA-1 as a PRF's hash.
pub(crate) enum Sha1 {}

hash_of_chain!(Sha1, 5, true);

const START: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// Constants of each group of 20 steps.
const ROUNDS: [u32; 4] = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6];

/// Number of bits that each of HMAC's two hashes covers: one block and a digest.
const LENGTH: u32 = (64 + 20) * 8;

impl Chain<5> for Sha1 {
    type Digest = sha1::Sha1;
    type Word = u32;
    const BLOCK: usize = 64;

    fn absorb(block: &[u32; 16]) -> [u32; 5] {
        // SAFETY: single words need no special instructions.
        unsafe { compress(&START, *block) }
    }

    #[inline(always)]
    unsafe fn finish<V: Lanes<Word = u32>>(mid: &[V; 5], digest: &[V; 5]) -> [V; 5] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let mut message = [V::splat(0); 16];
            message[..5].copy_from_slice(digest);
            message[5] = V::splat(1 << 31);
            message[15] = V::splat(LENGTH);
            compress(mid, message)
        }
    }

    fn kernels(tier: Tier) -> Vec<Kernel<Self>>
    where
        Self: Hash,
    {
        let kernels = kernels(tier, &Costs { one: 216, avx2: 388, avx512vl: 225, avx512: 307 });
        #[cfg(target_arch = "x86_64")]
        let kernels = kernels.into_iter().chain(ni::kernels(tier)).collect();
        kernels
    }
}

/// The compression function.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn compress<V: Lanes<Word = u32>>(state: &[V; 5], mut w: [V; 16]) -> [V; 5] {
    let mut line = *state;
    macro_rules! steps {
        ($from:literal: $($step:literal)+) => { $(
            // SAFETY: the caller guarantees the instruction set.
            unsafe { step(&mut line, &mut w, $from + $step) };
        )+ };
    }
    steps!(0: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    steps!(20: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    steps!(40: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    steps!(60: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    // SAFETY: as above.
    std::array::from_fn(|i| unsafe { state[i].add(line[i]) })
}

/// Step `t`, with the message schedule in a ring of 16 words.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn step<V: Lanes<Word = u32>>(line: &mut [V; 5], w: &mut [V; 16], t: usize) {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        if t >= 16 {
            let word = w[(t + 13) % 16].xor3(w[(t + 8) % 16], w[(t + 2) % 16]).xor(w[t % 16]);
            w[t % 16] = word.ror(31);
        }
        let [a, b, c, d, e] = *line;
        let f = match t / 20 {
            0 => b.choose(c, d),
            2 => b.majority(c, d),
            _ => b.xor3(c, d),
        };
        let sum = e.add(w[t % 16].add(V::splat(ROUNDS[t / 20]))).add(f);
        *line = [a.ror(27).add(sum), a, b.ror(2), c, d];
    }
}
