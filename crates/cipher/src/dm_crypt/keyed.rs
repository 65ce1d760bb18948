//! Turns a parsed specification and a key into a cipher.

use zeroize::Zeroizing;

use super::algorithms::KeyBlocks;
use super::iv::{Iv, Tweak};
use super::{AnyMode, Chosen, Mode, Spec};
use crate::algorithm::adiantum;
use crate::cpu::Tier;
use crate::error::CipherError;
use crate::kernel::{BLOCK, UnitKernel};
use crate::mode::cbc::Cbc;
use crate::mode::ecb::Ecb;
use crate::mode::elephant::Elephant;
use crate::mode::feedback::{Feedback, WithFeedback};
use crate::mode::hctr2::Hctr2;
use crate::mode::iv::Ivs;
use crate::mode::lmk::Lmk;
use crate::mode::lrw::Lrw;
use crate::mode::none::Nothing;
use crate::mode::several::Several;
use crate::mode::whitening::Whitening;
use crate::mode::xts_iv::{XtsIv, XtsPlain};
use crate::registry::KeyXts;

/// The program that encrypts: dm-crypt and cryptsetup use different IVs in some modes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// dm-crypt.
    Kernel,
    /// cryptsetup, which encrypts keyslots without the kernel.
    Cryptsetup,
}

/// The keys for one of several ciphers.
pub(super) struct Part<'a> {
    pub key: &'a [u8],
    /// The first of several keys, which is the only one that `eboiv` uses.
    pub first: &'a [u8],
    /// The seed of `lmk` in version 3.
    seed: Option<&'a [u8]>,
    side: Side,
    pub tier: Tier,
}

impl Spec {
    /// The cipher, keyed with a key that has one of the cipher's key lengths.
    pub(super) fn keyed(
        &self,
        key: &[u8],
        side: Side,
        tier: Tier,
    ) -> Result<Box<dyn UnitKernel>, CipherError> {
        let (keys, seed) = self.divided(key);
        // For ciphers with several keys, cryptsetup uses the kernel.
        let side = if keys.len() > 1 { Side::Kernel } else { side };
        let first = keys.first().copied().unwrap_or_default();
        let part = |key| self.part(&Part { key, first, seed, side, tier });
        let mut kernels = keys.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
        Ok(match kernels.pop() {
            Some(only) if kernels.is_empty() => only,
            last => {
                kernels.extend(last);
                Box::new(Several(kernels))
            }
        })
    }

    /// The keys, and the seed of `lmk`, if any: the kernel infers from the key's length whether there is a seed.
    fn divided<'a>(&self, key: &'a [u8]) -> (Vec<&'a [u8]>, Option<&'a [u8]>) {
        let seeded = self.is_lmk() && !key.len().is_multiple_of(self.keys);
        let bytes = key.len() / (self.keys + usize::from(seeded));
        let (keys, seed) = key.split_at(bytes * self.keys);
        let keys = if bytes == 0 { vec![keys] } else { keys.chunks(bytes).collect() };
        (keys, seeded.then_some(seed))
    }

    fn part(&self, part: &Part<'_>) -> Result<Box<dyn UnitKernel>, CipherError> {
        let &Part { key, tier, side, .. } = part;
        Ok(match self.chosen {
            Chosen::Null => Box::new(Nothing),
            Chosen::Wide { xts, blocks, mode } => match mode {
                Mode::Any(mode) => unfused(mode, blocks, part),
                Mode::Xts(Iv::Eboiv) | Mode::Lrw(Some(Iv::Eboiv))
                    if side == Side::Cryptsetup && !(self.algorithm.takes)(key.len()) =>
                {
                    return Err(CipherError::DmCryptKeyLength {
                        cipher: self.algorithm.name,
                        mode: "eboiv in keyslots".to_owned(),
                        expected: self.algorithm.key_bytes.to_vec(),
                        actual: key.len(),
                    });
                }
                Mode::Xts(iv) => in_xts(xts, blocks, iv, part),
                Mode::Elephant => {
                    let (data_key, sector_key) = key.split_at(key.len() / 2);
                    let cbc = Cbc {
                        cipher: blocks(data_key, tier),
                        ivs: Ivs::Eboiv(blocks(data_key, tier)),
                        whitening: Whitening::None,
                    };
                    Box::new(Elephant { cbc, sector_keys: blocks(sector_key, tier) })
                }
                Mode::Lrw(iv) => in_lrw(blocks, iv, part),
                Mode::Hctr2(tweak) => Box::new(Hctr2::new(blocks(key, tier), tweak.ivs(BLOCK))),
            },
            Chosen::Narrow { blocks, mode } => unfused(mode, blocks, part),
            Chosen::Adiantum { rounds, tweak } => {
                // For Adiantum, the kernel counts AES blocks, and cryptsetup counts blocks of twice that size.
                let counted = if side == Side::Cryptsetup { 2 * BLOCK } else { BLOCK };
                adiantum::with_tweaks(rounds, key, tweak.ivs(counted), tier)
            }
        })
    }
}

fn in_xts(xts: KeyXts, blocks: KeyBlocks<BLOCK>, iv: Iv, part: &Part<'_>) -> Box<dyn UnitKernel> {
    let under = |key: &[u8]| {
        let (data_key, tweak_key) = key.split_at(key.len() / 2);
        xts(data_key, tweak_key, part.tier)
    };
    let kernel = under(part.key);
    match iv {
        Iv::Keyless(Tweak::Plain64) => kernel,
        Iv::Keyless(Tweak::Plain) => Box::new(XtsPlain(kernel)),
        Iv::Eboiv if part.side == Side::Kernel => {
            Box::new(XtsIv { kernel, ivs: Ivs::EboivOf(under(part.first)) })
        }
        Iv::Keyless(_) | Iv::Eboiv | Iv::Essiv(_) => {
            Box::new(XtsIv { kernel, ivs: iv.keyed(blocks, part) })
        }
    }
}

fn in_lrw(blocks: KeyBlocks<BLOCK>, iv: Option<Iv>, part: &Part<'_>) -> Box<dyn UnitKernel> {
    let under = |key: &[u8], ivs| {
        let (data_key, tweak_key) = key.split_at(key.len() - BLOCK);
        let mut block = Zeroizing::new([0; BLOCK]);
        block.copy_from_slice(tweak_key);
        Box::new(Lrw::new(blocks(data_key, part.tier), &block, ivs))
    };
    let ivs = match iv {
        Some(Iv::Eboiv) if part.side == Side::Kernel => {
            Some(Ivs::EboivOf(under(part.first, Some(Ivs::Plain64))))
        }
        // The hash of ESSIV covers the whole key, as in dm-crypt.
        iv => iv.map(|iv| iv.keyed(blocks, part)),
    };
    under(part.key, ivs)
}

fn unfused<const N: usize>(
    mode: AnyMode,
    blocks: KeyBlocks<N>,
    part: &Part<'_>,
) -> Box<dyn UnitKernel> {
    let whitening = Whitening::None;
    let cipher = blocks(part.key, part.tier);
    match mode {
        AnyMode::Cbc(iv) => Box::new(Cbc { cipher, ivs: iv.keyed(blocks, part), whitening }),
        AnyMode::Feedback(feedback, iv) => {
            let ivs = match iv {
                // Linux treats ctr, cfb and ofb as stream ciphers, with one-byte blocks, and `benbi` counts these
                // one-byte blocks (crypt_iv_benbi_ctr). cryptsetup counts cipher blocks in every mode
                // (crypt_sector_iv_init).
                Iv::Keyless(tweak) if feedback != Feedback::Pcbc && part.side == Side::Kernel => {
                    tweak.ivs(1)
                }
                _ => iv.keyed(blocks, part),
            };
            Box::new(WithFeedback { cipher, ivs, feedback })
        }
        AnyMode::Lmk => Box::new(Lmk::new(cipher, part.seed)),
        AnyMode::Ecb => Box::new(Ecb(cipher)),
    }
}
