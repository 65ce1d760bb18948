//! CBC with the IVs of loop-AES (Linux, drivers/md/dm-crypt.c, `lmk`): MD5 of a unit's plaintext except its first 16
//! bytes, and of its number. A change within a unit therefore changes all of its ciphertext.
//!
//! In version 3 of loop-AES's multi-key mode, a seed is hashed before the plaintext and the number.

use md5::block_api::compress;
use zeroize::Zeroizing;

use super::cbc::{Cbc, add};
use super::iv::Ivs;
use super::whitening::Whitening;
use crate::kernel::{BlockKernel, Buffer, Run, UnitKernel, Visit};

/// Size in bytes of a data unit; dm-crypt does not accept any other size.
pub(crate) const UNIT: usize = 512;

/// Number of bytes at the start of a unit on which its IV does not depend.
const LEFT_OUT: usize = 16;

/// Number of data units encrypted together.
const TOGETHER: usize = 64;

/// Number of bytes of the seed that are used (LMK_SEED_SIZE is larger; the rest is zero).
const SEED: usize = 16;

/// A block cipher in CBC with these IVs.
pub(crate) struct Lmk<const N: usize> {
    cbc: Cbc<N>,
    /// MD5's state before the plaintext.
    start: Zeroizing<[u32; 4]>,
}

impl<const N: usize> Lmk<N> {
    /// `seed` must be at least as long as the shortest key of a cipher.
    pub(crate) fn new(cipher: Box<dyn BlockKernel<N>>, seed: Option<&[u8]>) -> Self {
        // RFC 1321, 3.3.
        let mut start = Zeroizing::new([0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]);
        if let Some(seed) = seed {
            let mut block = Zeroizing::new([0; 64]);
            block.iter_mut().zip(seed).take(SEED).for_each(|(byte, seed)| *byte = *seed);
            compress(&mut start, std::slice::from_ref(&*block));
        }
        Self { cbc: Cbc { cipher, ivs: Ivs::Null, whitening: Whitening::None }, start }
    }

    /// The state of MD5 after whole blocks, without the padding.
    fn iv_of(&self, unit: &[u8], number: u64) -> [u8; N] {
        let mut blocks = [0; UNIT];
        blocks[..UNIT - LEFT_OUT].copy_from_slice(&unit[LEFT_OUT..]);
        let end = &mut blocks[UNIT - LEFT_OUT..];
        // 56 bits of the unit's number, a padding bit, and a length that no message has.
        let number = number & 0x00ff_ffff_ffff_ffff | 1 << 63;
        end[..8].copy_from_slice(&number.to_le_bytes());
        end[8..12].copy_from_slice(&4024_u32.to_le_bytes());
        let mut state = *self.start;
        compress(&mut state, blocks.as_chunks::<64>().0);
        std::array::from_fn(|i| state[i / 4].to_le_bytes()[i % 4])
    }
}

impl<const N: usize> UnitKernel for Lmk<N> {
    fn encrypt_units(&self, run: Run, mut buffer: Buffer<'_>) {
        let together = self.cbc.cipher.parallel().clamp(1, TOGETHER);
        let total = buffer.len() / UNIT;
        let mut ivs = [[0; N]; TOGETHER];
        for first in (0..total).step_by(together) {
            let end = total.min(first + together);
            let mut part = buffer.part(first * UNIT..end * UNIT);
            let ivs = &mut ivs[..end - first];
            for ((index, iv), unit) in ivs.iter_mut().enumerate().zip(part.src().chunks(UNIT)) {
                *iv = self.iv_of(unit, run.after(first + index).first as u64);
            }
            let whole = 0..part.len();
            self.cbc.cipher.encrypt_chains(ivs, part.part(whole));
        }
    }

    fn decrypt_units(&self, run: Run, mut buffer: Buffer<'_>) {
        let whole = 0..buffer.len();
        self.cbc.decrypt_units(run, buffer.part(whole));
        for (index, unit) in buffer.dst().chunks_mut(UNIT).enumerate() {
            let iv: [u8; N] = self.iv_of(unit, run.after(index).first as u64);
            add(&mut unit.as_chunks_mut().0[0], &iv);
        }
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        self.cbc.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.cbc.name()
    }
}
