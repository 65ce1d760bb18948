//! TrueCrypt's modes before XTS: LRW (4.1 to 4.3) and CBC with whitening (1.0 to 4.0).
//!
//! The definitions are those of TrueCrypt 4.3a; this crate's tests repeat its self-test. A key area, whether for the
//! header or for the data, begins with 32 bytes for IVs, whitening or tweaks ([`LegacyCipher::IV_KEY_BYTES`]). The
//! keys of the stages follow in encryption order.

use std::fmt;

use zeroize::Zeroizing;

use crate::algorithm::{aes, narrow, serpent, twofish};
use crate::cascade::{Cascade, Chain};
use crate::cpu::Tier;
use crate::error::CipherError;
use crate::kernel::{BLOCK, BlockKernel, Buffer, Run, UnitKernel};
use crate::mode::cbc::Cbc;
use crate::mode::iv::Ivs;
use crate::mode::lrw::Lrw;
use crate::mode::whitening::Whitening;
use crate::sector::{Layout, SectorCipher, Sectors};

/// An algorithm with blocks of `N` bytes, and the function that keys it.
struct Stage<const N: usize> {
    key_bytes: usize,
    blocks: fn(&[u8], Tier) -> Box<dyn BlockKernel<N>>,
}

static AES: Stage<BLOCK> = Stage { key_bytes: 32, blocks: aes::blocks };
static SERPENT: Stage<BLOCK> = Stage { key_bytes: 32, blocks: serpent::blocks };
static TWOFISH: Stage<BLOCK> = Stage { key_bytes: 32, blocks: twofish::blocks };
static BLOWFISH: Stage<{ narrow::BLOCK }> = Stage { key_bytes: 56, blocks: narrow::blowfish_le };
static CAST5: Stage<{ narrow::BLOCK }> = Stage { key_bytes: 16, blocks: narrow::cast5 };
static TRIPLE_DES: Stage<{ narrow::BLOCK }> = Stage { key_bytes: 24, blocks: narrow::triple_des };

/// The stages of a cipher in encryption order, and how the mode is applied to these stages.
enum Stages {
    /// One cipher with 64-bit blocks.
    Narrow(&'static Stage<{ narrow::BLOCK }>),
    /// Ciphers with 128-bit blocks, in sequence within one mode.
    Wide(&'static [&'static Stage<BLOCK>]),
    /// Ciphers with any block size, each in its own CBC with whitening.
    Inner(&'static [Either]),
}

enum Either {
    Narrow(&'static Stage<{ narrow::BLOCK }>),
    Wide(&'static Stage<BLOCK>),
}

/// A mode of operation of old TrueCrypt volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LegacyMode {
    /// LRW. In a cascade, the masks are added before and after all stages, which is equivalent to LRW for each stage.
    Lrw,
    /// CBC with one cipher, with whitening.
    Cbc,
    /// CBC around all stages of a cascade, with whitening.
    OuterCbc,
    /// Each stage of a cascade in its own CBC with whitening.
    InnerCbc,
}

impl fmt::Display for LegacyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Lrw => "LRW",
            Self::Cbc => "CBC",
            Self::OuterCbc => "outer-CBC",
            Self::InnerCbc => "inner-CBC",
        })
    }
}

/// A cipher of old TrueCrypt volumes: algorithms in a mode.
pub struct LegacyCipher {
    /// Name for users, in which the cipher that is applied last comes first, such as `AES(Twofish)`.
    pub name: &'static str,
    /// Mode of operation.
    pub mode: LegacyMode,
    /// Total length of the keys of all stages, in bytes.
    pub key_bytes: usize,
    /// Cipher block size in bytes: 8 or 16; 16 for a cascade with both block sizes.
    pub block_bytes: usize,
    stages: Stages,
}

static CIPHERS: [LegacyCipher; 24] = [
    LegacyCipher::wide("AES", LegacyMode::Lrw, &[&AES]),
    LegacyCipher::wide("Serpent", LegacyMode::Lrw, &[&SERPENT]),
    LegacyCipher::wide("Twofish", LegacyMode::Lrw, &[&TWOFISH]),
    LegacyCipher::wide("AES(Twofish)", LegacyMode::Lrw, &[&TWOFISH, &AES]),
    LegacyCipher::wide("AES(Twofish(Serpent))", LegacyMode::Lrw, &[&SERPENT, &TWOFISH, &AES]),
    LegacyCipher::wide("Serpent(AES)", LegacyMode::Lrw, &[&AES, &SERPENT]),
    LegacyCipher::wide("Serpent(Twofish(AES))", LegacyMode::Lrw, &[&AES, &TWOFISH, &SERPENT]),
    LegacyCipher::wide("Twofish(Serpent)", LegacyMode::Lrw, &[&SERPENT, &TWOFISH]),
    LegacyCipher::narrow("Blowfish", LegacyMode::Lrw, &BLOWFISH),
    LegacyCipher::narrow("CAST5", LegacyMode::Lrw, &CAST5),
    LegacyCipher::narrow("Triple DES", LegacyMode::Lrw, &TRIPLE_DES),
    LegacyCipher::wide("AES", LegacyMode::Cbc, &[&AES]),
    LegacyCipher::wide("Serpent", LegacyMode::Cbc, &[&SERPENT]),
    LegacyCipher::wide("Twofish", LegacyMode::Cbc, &[&TWOFISH]),
    LegacyCipher::wide("AES(Twofish)", LegacyMode::OuterCbc, &[&TWOFISH, &AES]),
    LegacyCipher::wide("AES(Twofish(Serpent))", LegacyMode::OuterCbc, &[&SERPENT, &TWOFISH, &AES]),
    LegacyCipher::wide("Serpent(AES)", LegacyMode::OuterCbc, &[&AES, &SERPENT]),
    LegacyCipher::wide("Serpent(Twofish(AES))", LegacyMode::OuterCbc, &[&AES, &TWOFISH, &SERPENT]),
    LegacyCipher::wide("Twofish(Serpent)", LegacyMode::OuterCbc, &[&SERPENT, &TWOFISH]),
    LegacyCipher::narrow("Blowfish", LegacyMode::Cbc, &BLOWFISH),
    LegacyCipher::narrow("CAST5", LegacyMode::Cbc, &CAST5),
    LegacyCipher::narrow("Triple DES", LegacyMode::Cbc, &TRIPLE_DES),
    LegacyCipher::inner("AES(Blowfish)", &[Either::Narrow(&BLOWFISH), Either::Wide(&AES)]),
    LegacyCipher::inner(
        "AES(Blowfish(Serpent))",
        &[Either::Wide(&SERPENT), Either::Narrow(&BLOWFISH), Either::Wide(&AES)],
    ),
];

/// Every cipher and cascade of TrueCrypt 1.0 to 4.3 in each of its modes, LRW first.
///
/// A volume does not state which of these it uses, so all must be tried.
pub fn legacy_ciphers() -> &'static [LegacyCipher] {
    &CIPHERS
}

/// The encrypted part of a volume.
#[derive(Clone, Copy)]
enum Area {
    /// One data unit of any length, with IVs and whitening that differ from those of sectors in CBC.
    Header,
    /// 512-byte sectors.
    Data,
}

impl LegacyCipher {
    /// Number of bytes at the start of a volume's key area for IVs and whitening, or for tweaks.
    pub const IV_KEY_BYTES: usize = 32;

    const fn wide(
        name: &'static str,
        mode: LegacyMode,
        stages: &'static [&'static Stage<BLOCK>],
    ) -> Self {
        let mut key_bytes = 0;
        let mut stage = 0;
        while stage < stages.len() {
            key_bytes += stages[stage].key_bytes;
            stage += 1;
        }
        Self { name, mode, key_bytes, block_bytes: BLOCK, stages: Stages::Wide(stages) }
    }

    const fn narrow(
        name: &'static str,
        mode: LegacyMode,
        stage: &'static Stage<{ narrow::BLOCK }>,
    ) -> Self {
        let (key_bytes, stages) = (stage.key_bytes, Stages::Narrow(stage));
        Self { name, mode, key_bytes, block_bytes: narrow::BLOCK, stages }
    }

    const fn inner(name: &'static str, stages: &'static [Either]) -> Self {
        let mut key_bytes = 0;
        let mut stage = 0;
        while stage < stages.len() {
            key_bytes += stages[stage].key_bytes();
            stage += 1;
        }
        let (mode, stages) = (LegacyMode::InnerCbc, Stages::Inner(stages));
        Self { name, mode, key_bytes, block_bytes: BLOCK, stages }
    }

    /// The cipher for a volume's data in 512-byte units, with the best kernel that the CPU supports and `tier`
    /// allows.
    ///
    /// In CBC, unit numbers are the container's sector numbers; the first data sector of a normal volume is 1. In LRW,
    /// unit numbers count from 0 at the start of the data, also in hidden volumes.
    ///
    /// # Errors
    /// [`CipherError::KeyLength`] if `keys` is not [`Self::key_bytes`] bytes long, or `iv_key` is not
    /// [`Self::IV_KEY_BYTES`] bytes long.
    pub fn with_key(
        &self,
        keys: &[u8],
        iv_key: &[u8],
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, CipherError> {
        let kernel = self.kernel(keys, iv_key, tier, Area::Data)?;
        Ok(Box::new(Sectors::new(Layout::SECTOR_512, kernel)))
    }

    /// Decrypts the encrypted part of a volume header (448 of its 512 bytes, after the salt) in place, with the
    /// derived header key, which is divided like a key area.
    ///
    /// # Errors
    /// [`CipherError::KeyLength`] as for [`Self::with_key`], [`CipherError::DataUnit`] for a length
    /// that is not a multiple of 16.
    pub fn decrypt_header(
        &self,
        keys: &[u8],
        iv_key: &[u8],
        tier: Tier,
        header: &mut [u8],
    ) -> Result<(), CipherError> {
        let (kernel, run) = self.header(keys, iv_key, tier, header)?;
        kernel.decrypt_units(run, Buffer::in_place(header));
        Ok(())
    }

    /// The inverse of [`Self::decrypt_header`].
    ///
    /// # Errors
    /// As for [`Self::decrypt_header`].
    pub fn encrypt_header(
        &self,
        keys: &[u8],
        iv_key: &[u8],
        tier: Tier,
        header: &mut [u8],
    ) -> Result<(), CipherError> {
        let (kernel, run) = self.header(keys, iv_key, tier, header)?;
        kernel.encrypt_units(run, Buffer::in_place(header));
        Ok(())
    }

    fn header(
        &self,
        keys: &[u8],
        iv_key: &[u8],
        tier: Tier,
        header: &[u8],
    ) -> Result<(Box<dyn UnitKernel>, Run), CipherError> {
        let layout = Layout { data_unit: header.len(), tweak_step: 1 }.checked()?;
        let kernel = self.kernel(keys, iv_key, tier, Area::Header)?;
        Ok((kernel, Run { first: 0, layout }))
    }

    fn kernel(
        &self,
        keys: &[u8],
        iv_key: &[u8],
        tier: Tier,
        area: Area,
    ) -> Result<Box<dyn UnitKernel>, CipherError> {
        let wrong =
            |expected, actual| CipherError::KeyLength { cipher: self.name, expected, actual };
        if keys.len() != self.key_bytes {
            return Err(wrong(self.key_bytes, keys.len()));
        }
        let iv_key: &[u8; Self::IV_KEY_BYTES] =
            iv_key.try_into().map_err(|_| wrong(Self::IV_KEY_BYTES, iv_key.len()))?;
        Ok(match &self.stages {
            Stages::Narrow(stage) => self.mode_around((stage.blocks)(keys, tier), iv_key, area),
            Stages::Wide([stage]) => self.mode_around((stage.blocks)(keys, tier), iv_key, area),
            Stages::Wide(stages) => {
                let mut rest = keys;
                let key = |stage: &&'static Stage<BLOCK>| {
                    let key = rest.split_off(..stage.key_bytes).unwrap_or_default();
                    (stage.blocks)(key, tier)
                };
                let chain = Chain::new(stages.iter().map(key).collect());
                self.mode_around(Box::new(chain), iv_key, area)
            }
            Stages::Inner(stages) => {
                let mut rest = keys;
                let key = |stage: &Either| -> Box<dyn UnitKernel> {
                    let key = rest.split_off(..stage.key_bytes()).unwrap_or_default();
                    match stage {
                        Either::Narrow(stage) => {
                            Box::new(cbc((stage.blocks)(key, tier), iv_key, area))
                        }
                        Either::Wide(stage) => {
                            Box::new(cbc((stage.blocks)(key, tier), iv_key, area))
                        }
                    }
                };
                Box::new(Cascade::new(stages.iter().map(key).collect()))
            }
        })
    }

    /// Applies the mode to one cipher, or to a cascade that acts like one.
    fn mode_around<const N: usize>(
        &self,
        cipher: Box<dyn BlockKernel<N>>,
        iv_key: &[u8; Self::IV_KEY_BYTES],
        area: Area,
    ) -> Box<dyn UnitKernel> {
        match self.mode {
            LegacyMode::Lrw => Box::new(Lrw::new(cipher, &part(iv_key, 0), None)),
            _ => Box::new(cbc(cipher, iv_key, area)),
        }
    }
}

impl Either {
    const fn key_bytes(&self) -> usize {
        match self {
            Self::Narrow(stage) => stage.key_bytes,
            Self::Wide(stage) => stage.key_bytes,
        }
    }
}

/// CBC with TrueCrypt's IVs and whitening. The whitening bytes follow the seed of the IVs for sectors; for headers, the
/// whitening bytes always start at byte 8.
fn cbc<const N: usize>(
    cipher: Box<dyn BlockKernel<N>>,
    iv_key: &[u8; LegacyCipher::IV_KEY_BYTES],
    area: Area,
) -> Cbc<N> {
    let whitening = match area {
        Area::Header => Whitening::Fixed(part(iv_key, 8)),
        Area::Data => Whitening::Sector(part(iv_key, N)),
    };
    Cbc { cipher, ivs: Ivs::Seeded(part(iv_key, 0)), whitening }
}

/// `N` bytes from `start` on.
fn part<const N: usize>(
    iv_key: &[u8; LegacyCipher::IV_KEY_BYTES],
    start: usize,
) -> Zeroizing<[u8; N]> {
    let mut part = Zeroizing::new([0; N]);
    part.copy_from_slice(&iv_key[start..start + N]);
    part
}
