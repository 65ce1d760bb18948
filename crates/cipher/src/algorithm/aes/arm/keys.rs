//! Round keys in the order of use, in both directions.

use std::arch::aarch64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::super::schedule::{MAX_ROUND_KEYS, Schedule};
use super::Crypto;
use crate::kernel::Block;

/// Round keys in the order of use.
pub(super) type RoundKeys = [Block; MAX_ROUND_KEYS];

/// The keys of AES in both directions. They are written in place, because a move would leave a copy
/// behind.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(super) struct BlockKeys {
    pub(super) encrypt: RoundKeys,
    /// For the equivalent inverse cipher (FIPS 197, 5.3.5).
    pub(super) decrypt: RoundKeys,
    /// 10, 12 or 14.
    pub(super) rounds: usize,
}

impl BlockKeys {
    /// Expands a key of 16, 24 or 32 bytes.
    pub(super) fn new(isa: Crypto, key: &[u8]) -> Box<Self> {
        let mut keys = Box::new(Self::default());
        keys.expand(isa, key);
        keys
    }

    fn expand(&mut self, _isa: Crypto, key: &[u8]) {
        let schedule = Schedule::new(key);
        let last = schedule.rounds();
        self.rounds = last;
        for (round, key) in schedule.keys().iter().enumerate() {
            self.encrypt[round] = *key;
            let to = &mut self.decrypt[last - round];
            *to = *key;
            if round != 0 && round != last {
                // SAFETY: `_isa` proves the instruction set.
                unsafe { inv_mix_columns(to) };
            }
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
    /// Expands two keys of 16, 24 or 32 bytes; `None` if their lengths differ.
    pub(super) fn new(isa: Crypto, data_key: &[u8], tweak_key: &[u8]) -> Option<Box<Self>> {
        if data_key.len() != tweak_key.len() {
            return None;
        }
        let mut keys = Box::new(Self { data: BlockKeys::default(), tweak: RoundKeys::default() });
        keys.data.expand(isa, data_key);
        for (round, key) in Schedule::new(tweak_key).keys().iter().enumerate() {
            keys.tweak[round] = *key;
        }
        Some(keys)
    }
}

/// InvMixColumns (FIPS 197, 5.3.3).
///
/// # Safety
/// The CPU must have the AES instructions.
#[target_feature(enable = "aes")]
unsafe fn inv_mix_columns(key: &mut Block) {
    // SAFETY: a block has 16 bytes.
    unsafe { vst1q_u8(key.as_mut_ptr(), vaesimcq_u8(vld1q_u8(key.as_ptr()))) }
}
