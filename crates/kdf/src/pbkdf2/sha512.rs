//! SHA-512 over lanes (FIPS 180-4, section 6.4) and with ARM's SHA-512 instructions.

#[cfg(target_arch = "aarch64")]
mod ce;

use zeroize::Zeroizing;

use super::chain::{Chain, Costs, hash_of_chain, kernels};
use super::lanes::Lanes;
use super::sha2::{first, step, steps};
use super::{Blocks, Hash, Kernel, Keys};
use crate::cpu::Tier;

/// SHA-512 as a PRF's hash.
pub(crate) enum Sha512 {}

hash_of_chain!(Sha512, 8, true);

/// H(0) (FIPS 180-4, section 5.3.5).
#[rustfmt::skip]
const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179,
];

/// The round constants (FIPS 180-4, section 4.2.3).
#[rustfmt::skip]
static ROUNDS: [u64; 80] = [
    0x428a_2f98_d728_ae22, 0x7137_4491_23ef_65cd, 0xb5c0_fbcf_ec4d_3b2f, 0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538, 0x59f1_11f1_b605_d019, 0x923f_82a4_af19_4f9b, 0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242, 0x1283_5b01_4570_6fbe, 0x2431_85be_4ee4_b28c, 0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f, 0x80de_b1fe_3b16_96b1, 0x9bdc_06a7_25c7_1235, 0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2, 0xefbe_4786_384f_25e3, 0x0fc1_9dc6_8b8c_d5b5, 0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275, 0x4a74_84aa_6ea6_e483, 0x5cb0_a9dc_bd41_fbd4, 0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab, 0xa831_c66d_2db4_3210, 0xb003_27c8_98fb_213f, 0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2, 0xd5a7_9147_930a_a725, 0x06ca_6351_e003_826f, 0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc, 0x2e1b_2138_5c26_c926, 0x4d2c_6dfc_5ac4_2aed, 0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de, 0x766a_0abb_3c77_b2a8, 0x81c2_c92e_47ed_aee6, 0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364, 0xa81a_664b_bc42_3001, 0xc24b_8b70_d0f8_9791, 0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218, 0xd699_0624_5565_a910, 0xf40e_3585_5771_202a, 0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8, 0x1e37_6c08_5141_ab53, 0x2748_774c_df8e_eb99, 0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63, 0x4ed8_aa4a_e341_8acb, 0x5b9c_ca4f_7763_e373, 0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc, 0x78a5_636f_4317_2f60, 0x84c8_7814_a1f0_ab72, 0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28, 0xa450_6ceb_de82_bde9, 0xbef9_a3f7_b2c6_7915, 0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c, 0xd186_b8c7_21c0_c207, 0xeada_7dd6_cde0_eb1e, 0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba, 0x0a63_7dc5_a2c8_98a6, 0x113f_9804_bef9_0dae, 0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84, 0x32ca_ab7b_40c7_2493, 0x3c9e_be0a_15c9_bebc, 0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6, 0x597f_299c_fc65_7e2a, 0x5fcb_6fab_3ad6_faec, 0x6c44_198c_4a47_5817,
];

/// Number of bits that each of HMAC's two hashes covers: one block and a digest.
const LENGTH: u16 = (128 + 64) * 8;

impl Chain<8> for Sha512 {
    type Digest = sha2::Sha512;
    type Word = u64;
    const BLOCK: usize = 128;

    fn absorb(block: &[u64; 16]) -> [u64; 8] {
        // SAFETY: single words need no special instructions.
        unsafe { compress(&START, *block) }
    }

    #[inline(always)]
    unsafe fn finish<V: Lanes<Word = u64>>(mid: &[V; 8], digest: &[V; 8]) -> [V; 8] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let [a, b, c, d, e, f, g, h] = *digest;
            let zero = V::splat(0);
            let one = V::splat(1 << 63);
            let length = V::splat(LENGTH.into());
            compress(mid, [a, b, c, d, e, f, g, h, one, zero, zero, zero, zero, zero, zero, length])
        }
    }

    fn kernels(tier: Tier) -> Vec<Kernel<Self>>
    where
        Self: Hash,
    {
        let mut kernels =
            kernels(tier, &Costs { one: 650, avx2: 1070, avx512vl: 680, avx512: 855 });
        #[cfg(target_arch = "aarch64")]
        kernels.extend(ce::kernels(tier));
        // For a single block, the external crate's compression function is 10 % faster.
        if tier.allows(Tier::Avx2) {
            kernels.push(Kernel {
                name: "sha2-crate-avx2",
                lanes: 1,
                cost: 560,
                run: iterate_crate,
            });
        }
        kernels
    }
}

/// The iterations with the external crate's compression function, which itself chooses the instructions.
fn iterate_crate(keys: &Keys<Sha512>, blocks: Blocks<'_, Sha512>, iterations: u32) {
    let mut message = Zeroizing::new([0; 128]);
    message[64] = 0x80;
    message[126..].copy_from_slice(&LENGTH.to_be_bytes());
    for (last, sum) in blocks.last.iter_mut().zip(blocks.sum) {
        for _ in 0..iterations {
            for mid in [&keys.inner, &keys.outer] {
                Sha512::encode(last, &mut message[..64]);
                *last = *mid;
                sha2::block_api::compress512(last, &[*message]);
            }
            for (sum, last) in sum.iter_mut().zip(*last) {
                *sum ^= last;
            }
        }
    }
}

/// Rotations in the sum over e and in the sum over a of a step.
const SUM_1: [u32; 3] = [14, 18, 41];
const SUM_0: [u32; 3] = [28, 34, 39];

/// The compression function.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn compress<V: Lanes<Word = u64>>(state: &[V; 8], mut w: [V; 16]) -> [V; 8] {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        steps!(first w, 0, a b c d e f g h);
        // Kept out of the loop, so that the compiler knows which words are constant padding.
        steps!(next w, 16, a b c d e f g h);
        for round in (32..ROUNDS.len()).step_by(16) {
            steps!(next w, round, a b c d e f g h);
        }
        let end = [a, b, c, d, e, f, g, h];
        std::array::from_fn(|i| state[i].add(end[i]))
    }
}

/// The schedule word that replaces the word from sixteen steps earlier. The word is computed immediately before its
/// step, so that its shifts fill gaps between the shifts of the steps.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
unsafe fn next<V: Lanes<Word = u64>>(w: &mut [V; 16], i: usize) -> V {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let (x, y) = (w[(i + 1) % 16], w[(i + 14) % 16]);
        let s0 = x.ror(1).xor3(x.ror(8), x.shr(7));
        let s1 = y.ror(19).xor3(y.ror(61), y.shr(6));
        w[i] = w[i].add(s0).add(w[(i + 9) % 16].add(s1));
        w[i]
    }
}
