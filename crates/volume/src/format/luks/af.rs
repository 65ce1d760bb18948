//! The anti-forensic splitter: it expands a key into stripes, all of which are needed to recover
//! the key.
//!
//! Source: LUKS1 specification, section 2.4 ("Anti-forensic stripes"), after C. Fruhwirth, "TKS1"
//! (2004). LUKS2 uses the same splitter under the name `luks1`.

use cryptbench_blockdev::LockedBytes;
use zeroize::Zeroizing;

use super::hash::{Hash, MOST_DIGEST};

/// Recovers the key from `material`, which consists of whole stripes of `key_bytes` each.
pub(super) fn merge(material: &[u8], key_bytes: usize, hash: &Hash) -> LockedBytes {
    let mut key = LockedBytes::zeroed(key_bytes);
    let mut stripes = material.chunks_exact(key_bytes).peekable();
    while let Some(stripe) = stripes.next() {
        xor(&mut key, stripe);
        if stripes.peek().is_some() {
            diffuse(&mut key, hash);
        }
    }
    key
}

/// Fills `material` with stripes that [`merge`] combines into `key`. The caller must fill
/// `material` with random bytes first; `split` replaces only the last stripe.
pub(super) fn split(key: &[u8], material: &mut [u8], hash: &Hash) {
    let mut sum = LockedBytes::zeroed(key.len());
    let (random, last) = material.split_at_mut(material.len() - key.len());
    for stripe in random.chunks_exact(key.len()) {
        xor(&mut sum, stripe);
        diffuse(&mut sum, hash);
    }
    last.copy_from_slice(key);
    xor(last, &sum);
}

fn xor(into: &mut [u8], other: &[u8]) {
    for (a, b) in into.iter_mut().zip(other) {
        *a ^= b;
    }
}

/// Replaces each digest-sized piece with the hash of its big-endian index and itself. A shorter last piece is
/// replaced with the start of its hash.
fn diffuse(block: &mut [u8], hash: &Hash) {
    let mut digest = Zeroizing::new([0; MOST_DIGEST]);
    for (index, piece) in block.chunks_mut(hash.bytes).enumerate() {
        let len = piece.len();
        hash.digest(&[&(index as u32).to_be_bytes(), piece], &mut digest[..len]);
        piece.copy_from_slice(&digest[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stripe_is_needed() {
        for (name, key_bytes) in [("sha1", 32), ("sha256", 64), ("sha512", 32), ("whirlpool", 96)] {
            let hash = Hash::find(name).unwrap();
            let key: Vec<u8> = (0..key_bytes).map(|i| (i * 5) as u8).collect();
            let mut material: Vec<u8> = (0..key_bytes * 7).map(|i| (i * 31 / 7) as u8).collect();
            split(&key, &mut material, hash);
            assert_eq!(*merge(&material, key_bytes, hash), key);
            for byte in (0..material.len()).step_by(key_bytes / 2) {
                material[byte] ^= 1;
                assert_ne!(*merge(&material, key_bytes, hash), key, "{name} {byte}");
                material[byte] ^= 1;
            }
        }
    }

    #[test]
    fn one_stripe_is_the_key_itself() {
        let hash = Hash::find("sha256").unwrap();
        let mut material = vec![9; 32];
        split(&[3; 32], &mut material, hash);
        assert_eq!(material, [3; 32]);
        assert_eq!(*merge(&material, 32, hash), [3; 32]);
    }
}
