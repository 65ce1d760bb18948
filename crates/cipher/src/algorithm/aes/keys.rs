//! Round keys in the form that the vector kernels load: each key is repeated to fill the widest vector.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::schedule::{MAX_ROUND_KEYS, Schedule};
use crate::kernel::Block;

/// Blocks of the widest vector.
const MOST: usize = if cfg!(target_arch = "x86_64") { 4 } else { 1 };

/// One round key, repeated so that a vector of any width can be loaded from it.
#[derive(Clone, Copy, Default, Zeroize)]
#[cfg_attr(target_arch = "x86_64", repr(C, align(64)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(16)))]
pub(super) struct WideKey(pub(super) [Block; MOST]);

/// Round keys in the order of use.
pub(super) type RoundKeys = [WideKey; MAX_ROUND_KEYS];

/// The keys of AES in both directions. They are written in place, because moving them would leave a copy behind.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(super) struct BlockKeys {
    pub(super) encrypt: RoundKeys,
    /// For the equivalent inverse cipher (FIPS 197, 5.3.5).
    pub(super) decrypt: RoundKeys,
    /// 10, 12 or 14.
    pub(super) rounds: usize,
}

impl BlockKeys {
    /// Expands a 16-, 24- or 32-byte key.
    pub(super) fn new(key: &[u8]) -> Box<Self> {
        let mut keys = Box::new(Self::default());
        keys.expand(key);
        keys
    }

    fn expand(&mut self, key: &[u8]) {
        let schedule = Schedule::new(key);
        let last = schedule.rounds();
        self.rounds = last;
        for (round, key) in schedule.keys().iter().enumerate() {
            self.encrypt[round] = WideKey([*key; MOST]);
            let inner = round != 0 && round != last;
            let inverse = if inner { inv_mix_columns(key) } else { *key };
            self.decrypt[last - round] = WideKey([inverse; MOST]);
        }
    }
}

/// The keys of AES-XTS, also written in place.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct XtsKeys {
    pub(super) data: BlockKeys,
    pub(super) tweak: RoundKeys,
}

impl XtsKeys {
    /// Expands two keys of the same length: 16, 24 or 32 bytes.
    pub(super) fn new(data_key: &[u8], tweak_key: &[u8]) -> Box<Self> {
        assert_eq!(data_key.len(), tweak_key.len(), "both keys have as many rounds");
        let mut keys = Box::new(Self { data: BlockKeys::default(), tweak: RoundKeys::default() });
        keys.data.expand(data_key);
        for (round, key) in Schedule::new(tweak_key).keys().iter().enumerate() {
            keys.tweak[round] = WideKey([*key; MOST]);
        }
        keys
    }
}

/// InvMixColumns (FIPS 197, 5.3.3) of a round key, without branches or tables.
fn inv_mix_columns(key: &Block) -> Block {
    let double = |byte: u8| (byte << 1) ^ (0x1b * (byte >> 7));
    let mut mixed = [0; 16];
    for (i, out) in mixed.iter_mut().enumerate() {
        let row = |r: usize| key[i / 4 * 4 + (i + r) % 4];
        // 14 a + 11 b + 13 c + 9 d = 8 (a + b + c + d) + 4 (a + c) + 2 (a + b) + (b + c + d)
        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
        let eight = double(double(double(a ^ b ^ c ^ d)));
        *out = eight ^ double(double(a ^ c)) ^ double(a ^ b) ^ b ^ c ^ d;
    }
    mixed
}
