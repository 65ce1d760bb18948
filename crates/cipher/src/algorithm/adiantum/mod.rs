//! Adiantum with XChaCha12 or XChaCha20, and AES-256 (Crowley and Biggers, "Adiantum: length-preserving encryption for entry-level
//! processors", ToSC 2018): each data unit is one wide block.
//!
//! A data unit consists of its last block and the bulk before it. AES encrypts only the last block, after the hash of
//! the bulk and the tweak has been added to it. The result is the nonce of the keystream for the bulk. The last block
//! of the ciphertext is this result minus the hash of the bulk's ciphertext. Nearly all of the time is therefore spent
//! in ChaCha and NH, which do not need special instructions. Linux calls this cipher `adiantum(xchacha12,aes)`, with
//! 32-byte tweaks (crypto/adiantum.c), which an IV generator derives from the data unit's number.

#[cfg(target_arch = "aarch64")]
mod arm;
mod chacha;
mod nh;
mod poly1305;
mod soft;
#[cfg(target_arch = "x86_64")]
mod x86;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::aes;
use crate::cascade::joined;
use crate::cpu::Tier;
use crate::isa::Isa;
use crate::kernel::{BLOCK, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};
use crate::mode::iv::Ivs;

use chacha::{Key, Stream};
use nh::NhKey;
use poly1305::Poly1305;

/// Size in bytes of the key from which all other keys are derived.
pub(crate) const KEY_BYTES: usize = 32;

/// Bytes of a tweak.
pub(crate) const TWEAK: usize = 32;

/// Number of data units whose blocks are processed together by AES, and whose nonces are processed together by
/// HChaCha.
const BATCH: usize = 8;

/// Adiantum's parts for one instruction set.
trait Kernel: Isa {
    /// Name of the kernels, as stored in records.
    const NAME: &'static str;

    /// The vector of ChaCha.
    type Stream: Stream;

    /// NH of at most [`nh::MOST`] bytes.
    ///
    /// # Safety
    /// The instruction set must be enabled in the calling function.
    unsafe fn nh(key: &NhKey, message: &[u8]) -> [u64; nh::PASSES];
}

/// All keys except the AES key. They are written in place, because moving them would leave a copy behind.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Keys {
    stream: Key,
    /// Hashes length and tweak.
    tweak: Poly1305,
    /// Hashes the NH hashes of the bulk.
    bulk: Poly1305,
    nh: NhKey,
}

/// Adiantum keyed for one instruction set.
struct Adiantum<K> {
    kernel: K,
    keys: Box<Keys>,
    aes: Box<dyn BlockKernel<BLOCK>>,
    tweaks: Ivs<TWEAK>,
    name: &'static str,
}

/// Keys Adiantum with XChaCha12 for the best kernels that the CPU supports and `tier` allows. The key must be
/// [`KEY_BYTES`] long, which the registry ensures.
pub(crate) fn wide(key: &[u8], tier: Tier) -> Box<dyn UnitKernel> {
    with_tweaks(12, key, Ivs::Plain64, tier)
}

/// Like [`wide`], with the given number of ChaCha rounds and the tweaks of an IV generator.
pub(crate) fn with_tweaks(
    rounds: u32,
    key: &[u8],
    tweaks: Ivs<TWEAK>,
    tier: Tier,
) -> Box<dyn UnitKernel> {
    let stream = zeroize::Zeroizing::new(chacha::words(key, rounds));
    each!(
        { "x86_64": Avx512 Avx2; "aarch64": Neon; },
        tier, isa => return Box::new(Adiantum::new(isa, &stream, tweaks, tier))
    );
    Box::new(Adiantum::new(soft::Soft, &stream, tweaks, tier))
}

impl<K: Kernel> Adiantum<K> {
    fn new(kernel: K, stream: &Key, tweaks: Ivs<TWEAK>, tier: Tier) -> Self {
        let mut keys = Box::new(Keys {
            stream: *stream,
            tweak: Poly1305::default(),
            bulk: Poly1305::default(),
            nh: NhKey::default(),
        });
        // The keystream for the nonce 1 provides the keys of AES, of both polynomials and of NH, in this order.
        let mut derived = [0; 64 + nh::KEY_BYTES];
        let mut nonces = [[0; BLOCK]; BATCH];
        nonces[0][0] = 1;
        // SAFETY: single words need no special instructions.
        let mut subkeys = unsafe { chacha::subkeys::<u32>(&keys.stream, &nonces) };
        chacha::derive(&subkeys[0], &mut derived);
        let (aes_key, rest) = derived.split_at(32);
        let (tweak, rest) = rest.split_at(BLOCK);
        let (bulk, rest) = rest.split_at(BLOCK);
        let aes = aes::blocks(aes_key, tier);
        keys.tweak.set(tweak);
        keys.bulk.set(bulk);
        keys.nh.set(rest);
        derived.zeroize();
        subkeys.zeroize();
        let name = joined([K::NAME, aes.name()].into_iter());
        Self { kernel, keys, aes, tweaks, name }
    }

    /// The hash of a bulk: the polynomial of its NH hashes.
    fn hash(&self, bulk: &[u8]) -> u128 {
        let mut sum = poly1305::Sum::default();
        for message in bulk.chunks(nh::MOST) {
            let key = &self.keys.nh;
            let [a, b, c, d] = self.kernel.run(
                #[inline(always)]
                // SAFETY: the instruction set is enabled.
                move || unsafe { K::nh(key, message) },
            );
            sum.block(&self.keys.bulk, a, b);
            sum.block(&self.keys.bulk, c, d);
        }
        sum.finish()
    }

    /// The hash of the tweak and of the bulk's length, which is added to the hash of the bulk.
    fn tweak_hash(&self, bulk_bytes: usize, tweak: &[u8]) -> u128 {
        let mut sum = poly1305::Sum::default();
        sum.block(&self.keys.tweak, 8 * bulk_bytes as u64, 0);
        sum.bytes(&self.keys.tweak, tweak);
        sum.finish()
    }

    fn transform<const ENCRYPT: bool>(&self, run: Run, mut buffer: Buffer<'_>) {
        let unit = run.layout.data_unit;
        let total = buffer.len() / unit;
        for first in (0..total).step_by(BATCH) {
            let count = BATCH.min(total - first);
            let mut tweaks = [[0; TWEAK]; BATCH];
            self.tweaks.fill(run.after(first), &mut tweaks[..count]);
            let mut hashes = [0; BATCH];
            for (hash, tweak) in hashes.iter_mut().zip(&tweaks[..count]) {
                *hash = self.tweak_hash(unit - BLOCK, tweak);
            }
            let part = buffer.part(first * unit..(first + count) * unit);
            self.batch::<ENCRYPT>(&hashes[..count], unit, part);
        }
    }

    /// Encrypts or decrypts at most [`BATCH`] units of `unit` bytes, as many as there are tweak hashes.
    fn batch<const ENCRYPT: bool>(&self, hashes: &[u128], unit: usize, mut buffer: Buffer<'_>) {
        let mut nonces = [[0; BLOCK]; BATCH];
        let units = buffer.src().chunks_exact(unit);
        for ((nonce, source), hash) in nonces.iter_mut().zip(units).zip(hashes) {
            let (bulk, last) = parts(source);
            let sum = last.wrapping_add(self.hash(bulk)).wrapping_add(*hash);
            *nonce = sum.to_le_bytes();
        }
        let mut lasts = nonces;
        let blocks = &mut lasts[..hashes.len()];
        if ENCRYPT {
            self.aes.encrypt(blocks);
            nonces = lasts;
        } else {
            self.aes.decrypt(blocks);
        }
        let (key, nonces) = (&self.keys.stream, &nonces);
        let subkeys = self.kernel.run(
            #[inline(always)]
            // SAFETY: the instruction set is enabled.
            move || unsafe { chacha::subkeys::<K::Stream>(key, nonces) },
        );
        for (index, hash) in hashes.iter().enumerate() {
            let mut part = buffer.part(index * unit..(index + 1) * unit);
            // Processes the whole unit, because a unit's length is more often a multiple of a keystream block than the
            // bulk's length. The unit's last block is overwritten below.
            let (key, (from, to)) = (&subkeys[index], part.pointers());
            self.kernel.run(
                #[inline(always)]
                // SAFETY: the instruction set is enabled; the pointers are to the unit.
                move || unsafe { chacha::stream::<K::Stream>(key, from, to, unit) },
            );
            let (bulk, _) = parts(part.dst());
            let last = u128::from_le_bytes(lasts[index]);
            let last = last.wrapping_sub(self.hash(bulk)).wrapping_sub(*hash);
            part.dst()[unit - BLOCK..].copy_from_slice(&last.to_le_bytes());
        }
    }
}

/// The bulk of a unit, and its last block as a number.
fn parts(unit: &[u8]) -> (&[u8], u128) {
    let (bulk, last) = unit.split_at(unit.len() - BLOCK);
    let mut block = [0; BLOCK];
    block.copy_from_slice(last);
    (bulk, u128::from_le_bytes(block))
}

impl<K: Kernel> UnitKernel for Adiantum<K> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<true>(run, buffer);
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<false>(run, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
        tell(&*self.aes, visit);
        self.aes.visit_keys(visit);
    }

    /// The name of the kernel of ChaCha and NH, then the name of the kernel of AES if it is different.
    fn name(&self) -> &'static str {
        self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    /// The output of a kernel for a text: encrypted, decrypted.
    fn batch<K: Kernel>(
        kernel: K,
        key: &Key,
        tier: Tier,
        tweak: &[u8],
        text: &[u8],
    ) -> (&'static str, [Vec<u8>; 2]) {
        let cipher = Adiantum::new(kernel, key, Ivs::Plain64, tier);
        let hash = [cipher.tweak_hash(text.len() - BLOCK, tweak)];
        let (mut encrypted, mut decrypted) = (text.to_vec(), text.to_vec());
        cipher.batch::<true>(&hash, text.len(), Buffer::in_place(&mut encrypted));
        cipher.batch::<false>(&hash, text.len(), Buffer::in_place(&mut decrypted));
        (K::NAME, [encrypted, decrypted])
    }

    /// The output of each kernel of this CPU for a text.
    fn on_all(key: &Key, tweak: &[u8], text: &[u8]) -> Vec<(&'static str, [Vec<u8>; 2])> {
        let best = Tier::available().pop().unwrap();
        let mut all = vec![batch(soft::Soft, key, Tier::Soft, tweak, text)];
        each!(
            { "x86_64": Avx512 Avx2; "aarch64": Neon; },
            best, isa => all.push(batch(isa, key, best, tweak, text))
        );
        all
    }

    /// Tested here rather than through the public interface, because tweaks have any length and texts any
    /// length from a block on.
    #[test]
    fn vectors_of_the_reference_implementation_and_of_linux() {
        for (rounds, text, least) in [
            (12, include_str!("../../../tests/vectors/adiantum-12.txt"), 60),
            (20, include_str!("../../../tests/vectors/adiantum-20.txt"), 26),
        ] {
            check(rounds, text, least);
        }
    }

    fn check(rounds: u32, text: &str, least: usize) {
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.len() >= least, "{}", lines.len());
        for line in lines {
            let fields: Vec<&str> = line.split(' ').collect();
            let [key, tweak, plain, cipher] = [0, 1, 2, 3].map(|i| match fields[i] {
                "-" => Vec::new(),
                digits => hex(digits),
            });
            let key = chacha::words(&key, rounds);
            for (kernel, [encrypted, _]) in on_all(&key, &tweak, &plain) {
                assert_eq!(encrypted, cipher, "{kernel} encrypts {} bytes", plain.len());
            }
            for (kernel, [_, decrypted]) in on_all(&key, &tweak, &cipher) {
                assert_eq!(decrypted, plain, "{kernel} decrypts {} bytes", plain.len());
            }
        }
    }
}
