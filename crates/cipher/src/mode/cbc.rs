//! CBC (NIST SP 800-38A, 6.2) for any block kernel, with an IV for each data unit.
//!
//! Decryption is inherently parallel. Encryption is a chain, but each data unit has its own chain, so blocks of several
//! units are encrypted together to keep the kernel busy.

use super::iv::Ivs;
use super::whitening::Whitening;
use crate::kernel::{BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

/// Number of blocks that are decrypted together, and maximum number of data units that are encrypted together. Arrays
/// of this size are on the stack.
const BATCH: usize = 64;

/// A block cipher in CBC.
pub(crate) struct Cbc<const N: usize> {
    pub(crate) cipher: Box<dyn BlockKernel<N>>,
    pub(crate) ivs: Ivs<N>,
    pub(crate) whitening: Whitening,
}

impl<const N: usize> Cbc<N> {
    /// The whitening of unit `unit` of the run, repeated to the length of a block.
    fn whitening_of(&self, run: Run, unit: usize) -> Option<[u8; N]> {
        let eight = self.whitening.of(run.after(unit).first as u64)?;
        Some(std::array::from_fn(|i| eight[i % 8]))
    }

    /// Calls `each` on batches of at most `units` data units with their IVs.
    fn batches(
        &self,
        run: Run,
        mut buffer: Buffer<'_>,
        units: usize,
        each: impl Fn(Run, &[[u8; N]], Buffer<'_>),
    ) {
        let unit = run.layout.data_unit;
        let total = buffer.len() / unit;
        let mut ivs = [[0; N]; BATCH];
        for first in (0..total).step_by(units) {
            let end = total.min(first + units);
            let (run, ivs) = (run.after(first), &mut ivs[..end - first]);
            self.ivs.fill(run, ivs);
            each(run, ivs, buffer.part(first * unit..end * unit));
        }
    }

    /// XORs the whitening of each unit with `data`.
    fn whiten(&self, run: Run, data: &mut [u8]) {
        for (index, unit) in data.chunks_mut(run.layout.data_unit).enumerate() {
            if let Some(white) = self.whitening_of(run, index) {
                unit.as_chunks_mut::<N>().0.iter_mut().for_each(|block| add(block, &white));
            }
        }
    }

    /// Decrypts the units of `buffer`, whose IVs are `ivs`. Batches of blocks continue across unit borders.
    fn decrypt_batch(&self, run: Run, ivs: &[[u8; N]], mut buffer: Buffer<'_>) {
        let unit_blocks = run.layout.data_unit / N;
        let total = buffer.len() / N;
        let mut text = [[0; N]; BATCH];
        // The preceding ciphertext, which is XORed with each block after the cipher.
        let mut chain = [[0; N]; BATCH + 1];
        for start in (0..total).step_by(BATCH) {
            let end = total.min(start + BATCH);
            let (text, bytes) = (&mut text[..end - start], start * N..end * N);
            text.as_flattened_mut().copy_from_slice(&buffer.src()[bytes.clone()]);
            let first_unit = start / unit_blocks;
            for unit in first_unit..end.div_ceil(unit_blocks) {
                if let Some(white) = self.whitening_of(run, unit) {
                    let begin = (unit * unit_blocks).max(start) - start;
                    let stop = ((unit + 1) * unit_blocks).min(end) - start;
                    text[begin..stop].iter_mut().for_each(|block| add(block, &white));
                }
            }
            chain[0] = chain[BATCH];
            chain[1..=text.len()].copy_from_slice(text);
            for unit in start.div_ceil(unit_blocks)..end.div_ceil(unit_blocks) {
                chain[unit * unit_blocks - start] = ivs[unit];
            }
            self.cipher.decrypt(text);
            let out = buffer.dst()[bytes].as_chunks_mut::<N>().0;
            for ((out, block), before) in out.iter_mut().zip(&*text).zip(&chain) {
                *out = *block;
                add(out, before);
            }
        }
    }
}

impl<const N: usize> UnitKernel for Cbc<N> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        let together = self.cipher.parallel().clamp(1, BATCH);
        self.batches(run, buffer, together, |run, ivs, mut buffer| {
            let mut chain = [[0; N]; BATCH];
            let chain = &mut chain[..ivs.len()];
            chain.copy_from_slice(ivs);
            let whole = 0..buffer.len();
            self.cipher.encrypt_chains(chain, buffer.part(whole));
            self.whiten(run, buffer.dst());
        });
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.batches(run, buffer, BATCH, |run, ivs, buffer| self.decrypt_batch(run, ivs, buffer));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.cipher, visit);
        self.cipher.visit_keys(visit);
        self.ivs.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.cipher.name()
    }
}

/// Encrypts data units in parallel, one block of each at a time; see [`BlockKernel::encrypt_chains`].
pub(crate) fn encrypt_chains<const N: usize>(
    chain: &mut [[u8; N]],
    mut buffer: Buffer<'_>,
    cipher: impl Fn(&mut [[u8; N]]),
) {
    let unit = buffer.len() / chain.len().max(1);
    for at in (0..unit).step_by(N) {
        for (block, unit) in chain.iter_mut().zip(buffer.src().chunks_exact(unit)) {
            add(block, &unit.as_chunks().0[at / N]);
        }
        cipher(chain);
        for (block, unit) in chain.iter().zip(buffer.dst().chunks_exact_mut(unit)) {
            unit.as_chunks_mut().0[at / N] = *block;
        }
    }
}

/// XORs a block, which is read completely before the result is written. With individual bytes, the compiler could not
/// rule out that the two blocks overlap.
#[inline(always)]
pub(super) fn add<const N: usize>(block: &mut [u8; N], other: &[u8; N]) {
    let before = *block;
    *block = std::array::from_fn(|i| before[i] ^ other[i]);
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::algorithm::aes;
    use crate::cpu::Tier;
    use crate::sector::Layout;

    /// NIST SP 800-38A, F.2.1 to F.2.6.
    #[test]
    fn nist_sp_800_38a() {
        let iv = 0x00010203_04050607_08090a0b_0c0d0e0f_u128.to_be_bytes();
        let plain = [
            0x6bc1bee2_2e409f96_e93d7e11_7393172a_u128,
            0xae2d8a57_1e03ac9c_9eb76fac_45af8e51,
            0x30c81c46_a35ce411_e5fbc119_1a0a52ef,
            0xf69f2445_df4f9b17_ad2b417b_e66c3710,
        ];
        let keys = [
            vec![0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128],
            // Only its upper half is used.
            vec![0x8e73b0f7_da0e6452_c810f32b_809079e5, 0x62f8ead2_522c6b7b << 64],
            vec![0x603deb10_15ca71be_2b73aef0_857d7781, 0x1f352c07_3b6108d7_2d9810a3_0914dff4],
        ];
        let ciphers = [
            [
                0x7649abac_8119b246_cee98e9b_12e9197d_u128,
                0x5086cb9b_507219ee_95db113a_917678b2,
                0x73bed6b8_e3c1743b_7116e69e_22229516,
                0x3ff1caa1_681fac09_120eca30_7586e1a7,
            ],
            [
                0x4f021db2_43bc633d_7178183a_9fa071e8,
                0xb4d9ada9_ad7dedf4_e5e73876_3f69145a,
                0x571b2420_12fb7ae0_7fa9baac_3df102e0,
                0x08b0e279_88598881_d920a9e6_4f5615cd,
            ],
            [
                0xf58c4c04_d6e5f1ba_779eabfb_5f7bfbd6,
                0x9cfc4e96_7edb808d_679f777b_c6702c7d,
                0x39f23369_a9d9bacf_a530e263_04231461,
                0xb2eb05e2_c39be9fc_da6c1907_8c6a9d1b,
            ],
        ];
        let bytes = |words: &[u128]| words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for (index, (key, cipher)) in keys.iter().zip(&ciphers).enumerate() {
            let (key, plain, cipher): (Vec<u8>, Vec<u8>, Vec<u8>) =
                (bytes(key), bytes(&plain), bytes(cipher));
            for tier in Tier::available() {
                let cbc = Cbc {
                    cipher: aes::blocks(&key[..16 + 8 * index], tier),
                    ivs: Ivs::Seeded(Zeroizing::new(iv)),
                    whitening: Whitening::None,
                };
                let run = Run { first: 0, layout: Layout { data_unit: 64, tweak_step: 1 } };
                let mut data = plain.clone();
                cbc.encrypt_units(run, Buffer::in_place(&mut data));
                assert_eq!(data, cipher, "{}", cbc.name());
                cbc.decrypt_units(run, Buffer::in_place(&mut data));
                assert_eq!(data, plain, "{}", cbc.name());
            }
        }
    }
}
