//! The RustCrypto block ciphers: with the `xts-mode` crate, and with an XTS implementation that processes whole
//! data units.

use aes::cipher::consts::U16;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use xts_mode::{Xts128, get_tweak_default};

use super::Peer;
use crate::contender::{Contender, Direction, each_unit};

/// The block ciphers in one of two modes.
///
/// `xts-mode` encrypts one block after another, so the kernels for several blocks are not used. The speed of
/// the block ciphers shows only with a mode that uses these kernels, such as the one below.
pub struct RustCrypto {
    name: &'static str,
    batched: bool,
}

impl RustCrypto {
    /// The `xts-mode` crate.
    pub fn one_by_one() -> Self {
        Self { name: "RustCrypto xts-mode", batched: false }
    }

    /// The XTS implementation below.
    pub fn batched() -> Self {
        Self { name: "RustCrypto batched", batched: true }
    }

    fn with<C>(&self, key: &[u8], direction: Direction) -> anyhow::Result<Box<dyn Contender>>
    where
        C: KeyInit
            + BlockCipherEncrypt
            + BlockCipherDecrypt
            + BlockSizeUser<BlockSize = U16>
            + 'static,
    {
        let (data_key, tweak_key) = key.split_at(key.len() / 2);
        let data = C::new_from_slice(data_key)?;
        let tweak = C::new_from_slice(tweak_key)?;
        Ok(if self.batched {
            Box::new(Batched { data, tweak, direction, masks: Vec::new() })
        } else {
            Box::new(OneByOne { xts: Xts128::new(data, tweak), direction })
        })
    }
}

impl Peer for RustCrypto {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> String {
        let own = ["aes", "camellia", "kuznyechik", "serpent", "twofish"];
        let mode = if self.batched { None } else { Some("xts-mode") };
        let versions: Vec<_> = own
            .into_iter()
            .chain(mode)
            .map(|name| format!("{name} {}", locked_version(name).unwrap_or("?")))
            .collect();
        versions.join(", ")
    }

    fn keyed(
        &self,
        cipher: &str,
        key: &[u8],
        direction: Direction,
    ) -> anyhow::Result<Option<Box<dyn Contender>>> {
        Ok(Some(match cipher {
            "aes-128-xts" => self.with::<aes::Aes128>(key, direction)?,
            "aes-256-xts" => self.with::<aes::Aes256>(key, direction)?,
            "camellia-256-xts" => self.with::<camellia::Camellia256>(key, direction)?,
            "kuznyechik-xts" => self.with::<kuznyechik::Kuznyechik>(key, direction)?,
            "serpent-256-xts" => self.with::<serpent::Serpent>(key, direction)?,
            "twofish-256-xts" => self.with::<twofish::Twofish>(key, direction)?,
            _ => return Ok(None),
        }))
    }
}

/// The version of the crate `name` with which this program was built.
fn locked_version(name: &str) -> Option<&'static str> {
    let mut lines = include_str!("../../Cargo.lock").lines();
    lines.find(|line| *line == format!("name = \"{name}\""))?;
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

struct OneByOne<C> {
    xts: Xts128<C>,
    direction: Direction,
}

impl<C> Contender for OneByOne<C>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
{
    fn pass(&mut self, unit: usize, data: &mut [u8]) -> anyhow::Result<()> {
        match self.direction {
            Direction::Encrypt => self.xts.encrypt_area(data, unit, 0, get_tweak_default),
            Direction::Decrypt => self.xts.decrypt_area(data, unit, 0, get_tweak_default),
        }
        Ok(())
    }
}

struct Batched<C> {
    data: C,
    tweak: C,
    direction: Direction,
    /// The masks of one data unit, reused for the next one to avoid an allocation.
    masks: Vec<u128>,
}

impl<C> Contender for Batched<C>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
{
    fn pass(&mut self, unit: usize, data: &mut [u8]) -> anyhow::Result<()> {
        each_unit(unit, data, |tweak, bytes| {
            let mut tweak = Array(tweak);
            self.tweak.encrypt_block(&mut tweak);
            let first = u128::from_le_bytes(tweak.0);
            self.masks.clear();
            // Multiplication by x modulo x^128 + x^7 + x^2 + x + 1 (IEEE 1619-2018, 5.2).
            self.masks.extend(
                std::iter::successors(Some(first), |t| Some((t << 1) ^ ((t >> 127) * 0x87)))
                    .take(bytes.len() / 16),
            );
            let (blocks, _) = Array::<u8, U16>::slice_as_chunks_mut(bytes);
            mask(blocks, &self.masks);
            match self.direction {
                Direction::Encrypt => self.data.encrypt_blocks(blocks),
                Direction::Decrypt => self.data.decrypt_blocks(blocks),
            }
            mask(blocks, &self.masks);
            Ok(())
        })
    }
}

fn mask(blocks: &mut [Array<u8, U16>], masks: &[u128]) {
    for (block, mask) in blocks.iter_mut().zip(masks) {
        block.0 = (u128::from_le_bytes(block.0) ^ mask).to_le_bytes();
    }
}
