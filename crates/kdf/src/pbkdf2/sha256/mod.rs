//! SHA-256 over lanes (FIPS 180-4, section 6.2) and with the CPU's SHA-256 instructions.

#[cfg(target_arch = "aarch64")]
mod ce;
#[cfg(target_arch = "x86_64")]
mod ni;

use super::chain::{Chain, Costs, hash_of_chain, kernels};
use super::lanes::Lanes;
use super::sha2::{first, step, steps};
use super::{Hash, Kernel};
use crate::cpu::Tier;

/// SHA-256 as a PRF's hash.
pub(crate) enum Sha256 {}

hash_of_chain!(Sha256, 8, true);

/// H(0) (FIPS 180-4, section 5.3.3).
#[rustfmt::skip]
const START: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
    0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

/// The round constants (FIPS 180-4, section 4.2.2).
#[rustfmt::skip]
pub(super) static ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
    0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
    0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
    0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
    0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
    0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
    0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
    0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

impl Chain<8> for Sha256 {
    type Digest = sha2::Sha256;
    type Word = u32;
    const BLOCK: usize = 64;

    fn absorb(block: &[u32; 16]) -> [u32; 8] {
        // SAFETY: single words need no special instructions.
        unsafe { compress(&START, *block) }
    }

    #[inline(always)]
    unsafe fn finish<V: Lanes<Word = u32>>(mid: &[V; 8], digest: &[V; 8]) -> [V; 8] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let [a, b, c, d, e, f, g, h] = *digest;
            let zero = V::splat(0);
            let one = V::splat(1 << 31);
            let length = V::splat(768);
            compress(mid, [a, b, c, d, e, f, g, h, one, zero, zero, zero, zero, zero, zero, length])
        }
    }

    fn kernels(tier: Tier) -> Vec<Kernel<Self>>
    where
        Self: Hash,
    {
        let kernels = kernels(tier, &Costs { one: 530, avx2: 875, avx512vl: 557, avx512: 696 });
        #[cfg(target_arch = "x86_64")]
        let kernels = kernels.into_iter().chain(ni::kernels(tier)).collect();
        #[cfg(target_arch = "aarch64")]
        let kernels = kernels.into_iter().chain(ce::kernels(tier)).collect();
        kernels
    }
}

/// Rotations in the sum over e and in the sum over a of a step.
const SUM_1: [u32; 3] = [6, 11, 25];
const SUM_0: [u32; 3] = [2, 13, 22];

/// The compression function.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn compress<V: Lanes<Word = u32>>(state: &[V; 8], mut w: [V; 16]) -> [V; 8] {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        steps!(first w, 0, a b c d e f g h);
        // Kept out of the loop, so that the compiler knows which words are constant padding.
        expand(&mut w);
        steps!(first w, 16, a b c d e f g h);
        for round in (32..ROUNDS.len()).step_by(16) {
            expand(&mut w);
            steps!(first w, round, a b c d e f g h);
        }
        let end = [a, b, c, d, e, f, g, h];
        std::array::from_fn(|i| state[i].add(end[i]))
    }
}

/// The next sixteen words of the message schedule.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn expand<V: Lanes<Word = u32>>(w: &mut [V; 16]) {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        for i in 0..16 {
            let (x, y) = (w[(i + 1) % 16], w[(i + 14) % 16]);
            let s0 = x.ror(7).xor3(x.ror(18), x.shr(3));
            let s1 = y.ror(17).xor3(y.ror(19), y.shr(10));
            w[i] = w[i].add(s0).add(w[(i + 9) % 16].add(s1));
        }
    }
}
