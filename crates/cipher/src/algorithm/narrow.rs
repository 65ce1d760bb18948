//! Ciphers with 64-bit blocks, only for old volumes: Blowfish, CAST5, DES and triple DES from RustCrypto.
//!
//! Each has one scalar kernel, which is not constant time. With such short blocks, collisions occur after tens of
//! gigabytes (Bhargavan and Leurent, "On the Practical (In-)Security of 64-bit Block Ciphers", 2016).

use blowfish::{Blowfish, BlowfishLE};
use cast5::Cast5;
use cipher::array::Array;
use cipher::typenum::U8;
use cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use des::{Des, TdesEde3};

use crate::cpu::Tier;
use crate::kernel::BlockKernel;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 8;

/// A RustCrypto cipher as a kernel.
struct Narrow<C>(C);

impl<C> BlockKernel<BLOCK> for Narrow<C>
where
    C: BlockSizeUser<BlockSize = U8> + BlockCipherEncrypt + BlockCipherDecrypt + Send + Sync,
{
    fn parallel(&self) -> usize {
        1
    }

    fn encrypt(&self, blocks: &mut [[u8; BLOCK]]) {
        let blocks: &mut [Block<C>] = Array::cast_slice_from_core_mut(blocks);
        self.0.encrypt_blocks(blocks);
    }

    fn decrypt(&self, blocks: &mut [[u8; BLOCK]]) {
        let blocks: &mut [Block<C>] = Array::cast_slice_from_core_mut(blocks);
        self.0.decrypt_blocks(blocks);
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

/// Keys a cipher. The tables of ciphers contain only key lengths that the cipher accepts.
fn keyed<C>(key: &[u8]) -> Box<dyn BlockKernel<BLOCK>>
where
    C: KeyInit + BlockSizeUser<BlockSize = U8> + BlockCipherEncrypt + BlockCipherDecrypt,
    C: Send + Sync + 'static,
{
    Box::new(Narrow(C::new_from_slice(key).expect("the tables have the cipher's key lengths")))
}

/// Blowfish with 4- to 56-byte keys.
pub(crate) fn blowfish(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    keyed::<Blowfish>(key)
}

/// Blowfish with little-endian words, as in TrueCrypt.
pub(crate) fn blowfish_le(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    keyed::<BlowfishLE>(key)
}

/// CAST-128 (RFC 2144) with 5- to 16-byte keys.
pub(crate) fn cast5(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    keyed::<Cast5>(key)
}

/// Triple DES in EDE mode with three keys (24 bytes).
pub(crate) fn triple_des(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    keyed::<TdesEde3>(key)
}

/// DES with 8-byte keys, of which 56 bits are used.
pub(crate) fn des(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    keyed::<Des>(key)
}
