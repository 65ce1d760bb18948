//! The ciphers of dm-crypt's specifications, by their names in Linux's crypto API.

use crate::algorithm::{
    adiantum, aes, anubis, camellia, cast6, khazad, narrow, seed, serpent, twofish,
};
use crate::cpu::Tier;
use crate::kernel::{BLOCK, BlockKernel};
use crate::registry::KeyXts;

/// A function that keys an algorithm for modes that are not fused with it.
pub(super) type KeyBlocks<const N: usize> = fn(&[u8], Tier) -> Box<dyn BlockKernel<N>>;

/// A cipher by its name in Linux's crypto API.
pub(super) struct Algorithm {
    pub name: &'static str,
    /// Lengths in bytes of volume keys, without tweak keys; empty if the cipher does not use a key.
    pub key_bytes: &'static [usize],
    /// Whether the cipher accepts a key of this length in bytes. The digests of ESSIV can have lengths that are not in
    /// the list.
    pub takes: fn(usize) -> bool,
    pub keying: Keying,
}

#[derive(Clone, Copy)]
pub(super) enum Keying {
    /// 128-bit blocks.
    Wide { xts: KeyXts, blocks: KeyBlocks<BLOCK> },
    /// A cipher with 64-bit blocks, for which neither XTS nor LRW is available.
    Narrow(KeyBlocks<{ narrow::BLOCK }>),
    /// Adiantum, which is its own mode, with this number of XChaCha rounds.
    Adiantum(u32),
    /// `cipher_null`, which does not encrypt.
    Null,
}

pub(super) static ALGORITHMS: [Algorithm; 15] = [
    Algorithm {
        name: "aes",
        key_bytes: &[16, 24, 32],
        takes: |bytes| matches!(bytes, 16 | 24 | 32),
        keying: Keying::Wide { xts: aes::xts, blocks: aes::blocks },
    },
    Algorithm {
        name: "serpent",
        key_bytes: &[16, 24, 32],
        takes: |bytes| bytes <= 32,
        keying: Keying::Wide { xts: serpent::xts, blocks: serpent::blocks },
    },
    Algorithm {
        name: "twofish",
        key_bytes: &[16, 24, 32],
        takes: |bytes| matches!(bytes, 16 | 24 | 32),
        keying: Keying::Wide { xts: twofish::xts, blocks: twofish::blocks },
    },
    Algorithm {
        name: "camellia",
        key_bytes: &[16, 24, 32],
        takes: |bytes| matches!(bytes, 16 | 24 | 32),
        keying: Keying::Wide { xts: camellia::xts, blocks: camellia::blocks },
    },
    Algorithm {
        name: "cast6",
        key_bytes: &[16, 24, 32],
        takes: |bytes| matches!(bytes, 16 | 20 | 24 | 28 | 32),
        keying: Keying::Wide { xts: cast6::xts, blocks: cast6::blocks },
    },
    Algorithm {
        name: "cast5",
        key_bytes: &[16],
        takes: |bytes| matches!(bytes, 5..=16),
        keying: Keying::Narrow(narrow::cast5),
    },
    Algorithm {
        name: "blowfish",
        key_bytes: &[16, 24, 32, 40, 48, 56],
        takes: |bytes| matches!(bytes, 4..=56),
        keying: Keying::Narrow(narrow::blowfish),
    },
    Algorithm {
        name: "des3_ede",
        key_bytes: &[24],
        takes: |bytes| bytes == 24,
        keying: Keying::Narrow(narrow::triple_des),
    },
    Algorithm {
        name: "xchacha12,aes",
        key_bytes: &[adiantum::KEY_BYTES],
        takes: |_| false,
        keying: Keying::Adiantum(12),
    },
    Algorithm {
        name: "xchacha20,aes",
        key_bytes: &[adiantum::KEY_BYTES],
        takes: |_| false,
        keying: Keying::Adiantum(20),
    },
    Algorithm {
        name: "anubis",
        key_bytes: &[16, 20, 24, 28, 32, 36, 40],
        takes: |bytes| matches!(bytes, 16 | 20 | 24 | 28 | 32 | 36 | 40),
        keying: Keying::Wide { xts: anubis::xts, blocks: anubis::blocks },
    },
    Algorithm {
        name: "seed",
        key_bytes: &[16],
        takes: |bytes| bytes == 16,
        keying: Keying::Wide { xts: seed::xts, blocks: seed::blocks },
    },
    Algorithm {
        name: "khazad",
        key_bytes: &[16],
        takes: |bytes| bytes == 16,
        keying: Keying::Narrow(khazad::blocks),
    },
    Algorithm {
        name: "des",
        key_bytes: &[8],
        takes: |bytes| bytes == 8,
        keying: Keying::Narrow(narrow::des),
    },
    Algorithm { name: "cipher_null", key_bytes: &[], takes: |_| false, keying: Keying::Null },
];
