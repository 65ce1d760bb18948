//! The key of a vector kernel: four S-boxes for look-ups, and the expanded key words.

use std::sync::Arc;

use zeroize::{Zeroize, Zeroizing};

use super::spec;
use super::vector::Planes;

/// Twofish with a key, for one instruction set.
pub(super) struct Keys<V: Planes> {
    /// The key-dependent S-boxes of g, without the MDS matrix.
    pub(super) tables: [V::Table; 4],
    /// K0 .. K39: whitening of the input, whitening of the output, then two words per round.
    pub(super) words: [u32; 40],
}

impl<V: Planes> Keys<V> {
    /// Expands a 16-, 24- or 32-byte key.
    pub(super) fn new(key: &[u8]) -> Arc<Self> {
        let mut shared = Arc::new(Self { tables: Default::default(), words: [0; 40] });
        // The key is filled in place, so that no copy is left on the stack. It is not shared yet.
        if let Some(keys) = Arc::get_mut(&mut shared) {
            let words = Zeroizing::new(spec::sbox_words(key));
            let mut sbox = Zeroizing::new([0; 256]);
            for (lane, table) in keys.tables.iter_mut().enumerate() {
                for (x, entry) in (0..=255).zip(sbox.iter_mut()) {
                    *entry = spec::substitute(lane, x, &words);
                }
                V::arrange(&sbox, table);
            }
            keys.words = spec::round_keys(key);
        }
        shared
    }
}

impl<V: Planes> Drop for Keys<V> {
    fn drop(&mut self) {
        self.tables.iter_mut().for_each(Zeroize::zeroize);
        self.words.zeroize();
    }
}

/// The unchanged values of an S-box, for look-ups in four tables of 64 bytes.
#[derive(Zeroize)]
#[repr(C, align(64))]
pub(super) struct Quarters(pub(super) [u8; 256]);

impl Default for Quarters {
    fn default() -> Self {
        Self([0; 256])
    }
}
