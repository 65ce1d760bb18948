//! LRW (Liskov, Rivest, Wagner, "Tweakable Block Ciphers", 2002, section 4; IEEE P1619 draft 00, 2004) for any block
//! kernel.
//!
//! The mask of a block is its index times the tweak key, in GF(2^128) or, for short blocks, GF(2^64), both with the
//! most significant bit first. Indexes count cipher blocks, starting with 1 at sector 0, as with dm-crypt's IV
//! generator `benbi` and in TrueCrypt. With other generators, the IV, read as a big-endian number, is the index of a
//! unit's first block (Linux, crypto/lrw.c). The mode is broken, because a plaintext block that contains the tweak key
//! reveals that key. It is implemented only to open existing volumes.

use zeroize::{Zeroize, Zeroizing};

use super::iv::{Ivs, SECTOR};
use crate::kernel::{BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

/// Number of blocks that are masked and encrypted together. Two arrays of this size are on the stack.
const BATCH: usize = 64;

/// A block cipher in LRW. The tweak key has the length of a block.
pub(crate) struct Lrw<const N: usize> {
    cipher: Box<dyn BlockKernel<N>>,
    /// The tweak key times x^0, x^1 ...; only 64 of these products are used for short blocks.
    powers: Zeroizing<[u128; 128]>,
    /// The tweak key times 2^(i+1) - 1: the change of the mask if the previous index ends in i ones, which become
    /// zeros.
    steps: Zeroizing<[u128; 128]>,
    /// The source of the index of a unit's first block; if `None`, blocks are counted.
    ivs: Option<Ivs<N>>,
}

impl<const N: usize> Lrw<N> {
    /// `tweak_key` is a number whose most significant byte is the first.
    pub(crate) fn new(
        cipher: Box<dyn BlockKernel<N>>,
        tweak_key: &[u8; N],
        ivs: Option<Ivs<N>>,
    ) -> Self {
        let mut powers = Zeroizing::new([0; 128]);
        let mut steps = Zeroizing::new([0; 128]);
        let mut power = tweak_key.iter().fold(0, |number, &byte| number << 8 | u128::from(byte));
        let mut sum = 0;
        for (slot, step) in powers.iter_mut().zip(steps.iter_mut()) {
            sum ^= power;
            (*slot, *step) = (power, sum);
            power = double::<N>(power);
        }
        power.zeroize();
        sum.zeroize();
        Self { cipher, powers, steps, ivs }
    }

    /// The tweak key times `index`.
    fn product(&self, index: u128) -> u128 {
        let set = |bit: &usize| index >> bit & 1 == 1;
        (0..8 * N).filter(set).fold(0, |sum, bit| sum ^ self.powers[bit])
    }

    /// The index of the first block of the run's first unit.
    fn first_index(&self, run: Run) -> u128 {
        let Some(ivs) = &self.ivs else {
            return u128::from((run.first as u64).wrapping_mul(SECTOR / N as u64)) + 1;
        };
        let mut iv = [[0; N]];
        ivs.fill(run, &mut iv);
        iv[0].iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
    }

    /// Applies `cipher` to the buffer, and XORs the masks before and after.
    fn mask_around(&self, run: Run, mut buffer: Buffer<'_>, cipher: impl Fn(&mut [[u8; N]])) {
        let unit = run.layout.data_unit;
        let (mut index, mut mask) = (0, 0);
        for (number, start) in (0..buffer.len()).step_by(unit).enumerate() {
            let first = self.first_index(run.after(number));
            // Normally a unit continues where the previous unit ended.
            if index != first {
                (index, mask) = (first, self.product(first));
            }
            let unit = buffer.part(start..start + unit);
            (index, mask) = self.unit(index, mask, unit, &cipher);
        }
    }

    /// Encrypts or decrypts a data unit whose first block has the given index and mask; returns the index and mask of
    /// the block after the unit.
    fn unit(
        &self,
        mut index: u128,
        mut mask: u128,
        mut buffer: Buffer<'_>,
        cipher: &impl Fn(&mut [[u8; N]]),
    ) -> (u128, u128) {
        let mut blocks = [[0; N]; BATCH];
        let mut masks = [[0; N]; BATCH];
        for start in (0..buffer.len()).step_by(BATCH * N) {
            let end = buffer.len().min(start + BATCH * N);
            let blocks = &mut blocks[..(end - start) / N];
            let masks = &mut masks[..blocks.len()];
            for slot in masks.iter_mut() {
                slot.copy_from_slice(&mask.to_be_bytes()[16 - N..]);
                mask ^= self.steps[(index.trailing_ones() as usize).min(8 * N - 1)];
                index = index.wrapping_add(1);
            }
            blocks.as_flattened_mut().copy_from_slice(&buffer.src()[start..end]);
            add(blocks, masks);
            cipher(blocks);
            add(blocks, masks);
            buffer.dst()[start..end].copy_from_slice(blocks.as_flattened());
        }
        (index, mask)
    }
}

impl<const N: usize> UnitKernel for Lrw<N> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.mask_around(run, buffer, |blocks| self.cipher.encrypt(blocks));
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.mask_around(run, buffer, |blocks| self.cipher.decrypt(blocks));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.cipher, visit);
        self.cipher.visit_keys(visit);
        self.ivs.iter().for_each(|ivs| ivs.visit_keys(visit));
    }

    fn name(&self) -> &'static str {
        self.cipher.name()
    }
}

fn add<const N: usize>(blocks: &mut [[u8; N]], masks: &[[u8; N]]) {
    for (block, mask) in blocks.iter_mut().zip(masks) {
        block.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// Multiplies by x, modulo x^128 + x^7 + x^2 + x + 1 or x^64 + x^4 + x^3 + x + 1, without branches.
fn double<const N: usize>(value: u128) -> u128 {
    if N == 16 {
        let carry = ((value as i128) >> 127) as u128;
        value << 1 ^ carry & 0x87
    } else {
        let value = value as u64;
        let carry = ((value as i64) >> 63) as u64;
        u128::from(value << 1 ^ carry & 0x1b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sector::Layout;

    /// Sets everything to zero, so that the output is the masks.
    struct Zero;

    impl<const N: usize> BlockKernel<N> for Zero {
        fn parallel(&self) -> usize {
            1
        }

        fn encrypt(&self, blocks: &mut [[u8; N]]) {
            blocks.fill([0; N]);
        }

        fn decrypt(&self, blocks: &mut [[u8; N]]) {
            blocks.fill([0; N]);
        }

        fn name(&self) -> &'static str {
            "zero"
        }
    }

    /// The masks of a run.
    fn masks<const N: usize>(key: &[u8; N], first: u64, layout: Layout, units: usize) -> Vec<u8> {
        let lrw = Lrw::new(Box::new(Zero), key, None);
        let mut data = vec![0; units * layout.data_unit];
        let run = Run { first: u128::from(first), layout };
        lrw.encrypt_units(run, Buffer::in_place(&mut data));
        data
    }

    #[test]
    fn masks_are_products_with_the_block_s_index() {
        fn check<const N: usize>(key: &[u8; N], first: u64, layout: Layout) {
            let lrw = Lrw::new(Box::new(Zero), key, None);
            let masks = masks(key, first, layout, 3);
            let per_unit = layout.data_unit / N;
            for (i, mask) in masks.as_chunks::<N>().0.iter().enumerate() {
                let sector = first + (i / per_unit) as u64 * layout.tweak_step;
                let index = u128::from(sector) * (512 / N as u128) + 1 + (i % per_unit) as u128;
                assert_eq!(*mask, lrw.product(index).to_be_bytes()[16 - N..], "block {i}");
            }
        }
        let key = std::array::from_fn(|i| 0xf0 ^ (i as u8).wrapping_mul(0x13));
        for first in [0, 1, 31, (1 << 32) - 1, 1 << 50] {
            check::<16>(&key, first, Layout::SECTOR_512);
            check::<16>(&key, first, Layout::LUKS2_4096);
            check::<8>(&key[..8].try_into().unwrap(), first, Layout::SECTOR_512);
        }
    }

    #[test]
    fn products_are_those_of_the_field() {
        // Index 1 has the key itself as mask, index 2 twice that.
        let mut key = [0; 16];
        (key[0], key[15]) = (0x80, 1);
        let masks = masks(&key, 0, Layout::SECTOR_512, 1);
        assert_eq!(masks[..16], key);
        assert_eq!(masks[16..32], 0x85_u128.to_be_bytes());
        let masks = self::masks(&[0x80, 0, 0, 0, 0, 0, 0, 1], 0, Layout::SECTOR_512, 1);
        assert_eq!(masks[8..16], 0x19_u64.to_be_bytes());
    }
}
