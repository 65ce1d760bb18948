//! HCTR2 (Crowley, Huckleberry, Biggers, "Length-preserving encryption with HCTR2", 2021) for any block kernel: each
//! data unit is one wide block. Linux calls this cipher `hctr2(aes)`, with 32-byte tweaks (crypto/hctr2.c).

use polyval::Polyval;
use polyval::universal_hash::UniversalHash as _;

use super::iv::Ivs;
use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

/// Bytes of a tweak.
pub(crate) const TWEAK: usize = 32;

/// Number of keystream blocks that are computed together.
const BATCH: usize = 64;

/// A block cipher in HCTR2.
pub(crate) struct Hctr2 {
    cipher: Box<dyn BlockKernel<BLOCK>>,
    tweaks: Ivs<TWEAK>,
    /// The keyed hash, before any block has been processed.
    hash: Box<Polyval>,
    /// XORed with the seed of the keystream.
    added: Box<Block>,
}

impl Hctr2 {
    pub(crate) fn new(cipher: Box<dyn BlockKernel<BLOCK>>, tweaks: Ivs<TWEAK>) -> Self {
        let mut keys = zeroize::Zeroizing::new([[0; BLOCK]; 2]);
        keys[1][0] = 1;
        cipher.encrypt(&mut *keys);
        let hash = Box::new(Polyval::new((&keys[0]).into()));
        Self { cipher, tweaks, hash, added: Box::new(keys[1]) }
    }

    /// The hash of a tweak and of the data after the first block, both of which consist of whole blocks.
    fn hash_of(&self, tweak: &[u8; TWEAK], rest: &[u8]) -> Block {
        let mut hash = (*self.hash).clone();
        // Twice the tweak's length in bits, plus a flag for data that consists only of whole blocks.
        let length = u128::from(2 * 8 * TWEAK as u64 + 2);
        hash.update(&[length.to_le_bytes().into()]);
        hash.update_padded(tweak);
        hash.update_padded(rest);
        hash.finalize().into()
    }

    /// XORs the keystream derived from `start`: for each block, numbered from 1, the encryption of its number XORed
    /// with `start`.
    fn add_stream(&self, start: u128, data: &mut [u8]) {
        for (first, part) in (0..).step_by(BATCH).zip(data.chunks_mut(BATCH * BLOCK)) {
            let mut blocks = [[0; BLOCK]; BATCH];
            for (index, block) in blocks.iter_mut().enumerate() {
                *block = (start ^ (first + index as u128 + 1)).to_le_bytes();
            }
            self.cipher.encrypt(&mut blocks[..part.len().div_ceil(BLOCK)]);
            let stream = blocks.as_flattened();
            part.iter_mut().zip(stream).for_each(|(byte, other)| *byte ^= other);
        }
    }

    fn transform<const ENCRYPT: bool>(&self, run: Run, data: &mut [u8]) {
        for (index, unit) in data.chunks_mut(run.layout.data_unit).enumerate() {
            let mut tweak = [[0; TWEAK]];
            self.tweaks.fill(run.after(index), &mut tweak);
            self.unit::<ENCRYPT>(&tweak[0], unit);
        }
    }

    fn unit<const ENCRYPT: bool>(&self, tweak: &[u8; TWEAK], unit: &mut [u8]) {
        let (first, rest) = unit.split_at_mut(BLOCK);
        let number = |bytes: &[u8]| {
            let mut block = [0; BLOCK];
            block.copy_from_slice(bytes);
            u128::from_le_bytes(block)
        };
        let before = number(first) ^ number(&self.hash_of(tweak, rest));
        let mut block = [before.to_le_bytes()];
        if ENCRYPT {
            self.cipher.encrypt(&mut block);
        } else {
            self.cipher.decrypt(&mut block);
        }
        let after = number(&block[0]);
        self.add_stream(before ^ after ^ number(&*self.added), rest);
        first.copy_from_slice(&(after ^ number(&self.hash_of(tweak, rest))).to_le_bytes());
    }
}

impl UnitKernel for Hctr2 {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<true>(run, buffer.copied());
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<false>(run, buffer.copied());
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.cipher, visit);
        self.cipher.visit_keys(visit);
        tell(&*self.hash, visit);
        tell(&*self.added, visit);
    }

    fn name(&self) -> &'static str {
        self.cipher.name()
    }
}

impl Drop for Hctr2 {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut *self.added);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::aes;
    use crate::cpu::Tier;
    use crate::hex::hex;

    #[test]
    fn vectors_of_the_reference_implementation() {
        let text = include_str!("../../tests/vectors/hctr2.txt");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.len() >= 30, "{}", lines.len());
        for line in lines {
            let fields: Vec<Vec<u8>> = line.split(' ').map(hex).collect();
            let [key, tweak, plain, cipher] = &fields[..] else { panic!("{line}") };
            let tweak = tweak.as_slice().try_into().unwrap();
            for tier in Tier::available() {
                let hctr2 = Hctr2::new(aes::blocks(key, tier), Ivs::Plain64);
                let mut data = plain.clone();
                hctr2.unit::<true>(tweak, &mut data);
                assert_eq!(data, *cipher, "{} bytes", plain.len());
                hctr2.unit::<false>(tweak, &mut data);
                assert_eq!(data, *plain, "{} bytes", plain.len());
            }
        }
    }
}
