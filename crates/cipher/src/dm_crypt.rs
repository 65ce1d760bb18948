//! Ciphers as dm-crypt specifies them and LUKS headers store them: `aes` with `xts-plain64`.
//!
//! The table lists what Linux's dm-crypt supports and LUKS volumes are known to use. It omits
//! authenticated modes, `random` and `tcw` IVs, several keys (`aes:64`) and `cipher_null`. `cbc-eboiv` and
//! `cbc-elephant` are BitLocker's.

mod capi;
mod modes;

use zeroize::Zeroizing;

use self::modes::{ADIANTUM_MODES, NARROW_MODES, WIDE_MODES};
use crate::algorithm::{adiantum, aes, camellia, cast6, narrow, serpent, twofish};
use crate::cpu::Tier;
use crate::error::CipherError;
use crate::essiv::Hash;
use crate::kernel::{BLOCK, BlockKernel, UnitKernel};
use crate::mode::cbc::Cbc;
use crate::mode::ecb::Ecb;
use crate::mode::elephant::Elephant;
use crate::mode::feedback::{Feedback, WithFeedback};
use crate::mode::hctr2::Hctr2;
use crate::mode::iv::Ivs;
use crate::mode::lmk::{self, Lmk};
use crate::mode::lrw::Lrw;
use crate::mode::whitening::Whitening;
use crate::mode::xts_iv::{XtsIv, XtsPlain};
use crate::registry::KeyXts;
use crate::sector::{Layout, SectorCipher, Sectors};

/// Keys an algorithm for a mode that is not fused with it.
type KeyBlocks<const N: usize> = fn(&[u8], Tier) -> Box<dyn BlockKernel<N>>;

/// A cipher by its name in Linux's crypto API.
struct Algorithm {
    name: &'static str,
    /// Lengths in bytes of volume keys, without tweak keys.
    key_bytes: &'static [usize],
    /// Whether it accepts a key of this many bytes: ESSIV produces lengths that the list may omit.
    takes: fn(usize) -> bool,
    keying: Keying,
}

#[derive(Clone, Copy)]
enum Keying {
    /// 128-bit blocks.
    Wide { xts: KeyXts, blocks: KeyBlocks<BLOCK> },
    /// 64-bit blocks, which have neither XTS nor LRW.
    Narrow(KeyBlocks<{ narrow::BLOCK }>),
    /// Adiantum with that many rounds of XChaCha, which is its own mode.
    Adiantum(u32),
}

static ALGORITHMS: [Algorithm; 10] = [
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
];

/// A parsed specification.
struct Spec {
    algorithm: &'static Algorithm,
    chosen: Chosen,
}

/// A mode with its key: no other combination can be built.
#[derive(Clone, Copy)]
enum Chosen {
    Wide { xts: KeyXts, blocks: KeyBlocks<BLOCK>, mode: Mode },
    Narrow { blocks: KeyBlocks<{ narrow::BLOCK }>, mode: AnyMode },
    Adiantum { rounds: u32, tweak: Tweak },
}

/// A mode for 128-bit blocks.
#[derive(Clone, Copy)]
enum Mode {
    Any(AnyMode),
    Xts(Iv),
    /// CBC with `eboiv` between the Elephant diffuser and the disk; the second half of the key is the
    /// sector keys'.
    Elephant,
    /// LRW with `benbi`, which counts as LRW does, or with any other generator, whose IV is the index
    /// of a unit's first block.
    Lrw(Option<Iv>),
    Hctr2(Tweak),
}

/// A mode for blocks of any length.
#[derive(Clone, Copy)]
enum AnyMode {
    Ecb,
    Cbc(Iv),
    Feedback(Feedback, Iv),
    /// CBC with the IVs of loop-AES.
    Lmk,
}

#[derive(Clone, Copy)]
enum Iv {
    /// Made of the number without a key.
    Keyless(Tweak),
    Eboiv,
    Essiv(&'static Hash),
}

/// A generator that needs no key, so that its IVs have any length.
#[derive(Clone, Copy)]
enum Tweak {
    Plain,
    Plain64,
    Plain64Be,
    Benbi,
    Null,
}

/// The ciphers that [`dm_crypt`] knows, by their names in Linux's crypto API.
pub fn dm_crypt_ciphers() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|algorithm| algorithm.name)
}

/// The modes of a cipher of [`dm_crypt_ciphers`], with `HASH` for each of [`essiv_hashes`]; empty for any other.
#[must_use]
pub fn dm_crypt_modes(cipher: &str) -> &'static [&'static str] {
    let algorithm = ALGORITHMS.iter().find(|algorithm| algorithm.name == cipher);
    algorithm.map_or(&[], |algorithm| match algorithm.keying {
        Keying::Wide { .. } => WIDE_MODES,
        Keying::Narrow(_) => NARROW_MODES,
        Keying::Adiantum(_) => ADIANTUM_MODES,
    })
}

/// Every length in bytes that a volume key can have for `cipher` in `mode`, including the tweak's
/// part. This checks a header before there is a key.
///
/// LUKS1 stores both names separately. In LUKS2's `encryption`, such as `aes-xts-plain64`, the
/// cipher is the part before the first `-` and the mode is the rest.
///
/// # Errors
/// [`CipherError::DmCryptCipher`], [`CipherError::DmCryptMode`], [`CipherError::EssivHash`],
/// [`CipherError::EssivKey`].
pub fn dm_crypt_key_bytes(cipher: &str, mode: &str) -> Result<Vec<usize>, CipherError> {
    Ok(Spec::parse(cipher, mode)?.key_bytes())
}

/// A cipher as dm-crypt specifies it, under `key`, with the best kernel that the CPU has and `tier`
/// allows.
///
/// Data unit numbers count 512-byte sectors, as in dm-crypt without `iv_large_sectors`. For LUKS2
/// with larger sectors, pass a layout such as [`Layout::LUKS2_4096`]. Names are as for
/// [`dm_crypt_key_bytes`].
///
/// # Errors
/// As for [`dm_crypt_key_bytes`]; also [`CipherError::DmCryptKeyLength`],
/// [`CipherError::DataUnit`], [`CipherError::DmCryptUnit`], [`CipherError::TweakStep`].
pub fn dm_crypt(
    cipher: &str,
    mode: &str,
    key: &[u8],
    layout: Layout,
    tier: Tier,
) -> Result<Box<dyn SectorCipher>, CipherError> {
    // Linux treats ctr, cfb and ofb as stream ciphers, with one-byte blocks, which `benbi` counts
    // (crypt_iv_benbi_ctr).
    built((cipher, mode), key, layout, tier, 1)
}

/// The same as cryptsetup encrypts keyslots, outside the kernel: there `benbi` counts blocks of the cipher in every mode
/// (crypt_sector_iv_init).
///
/// # Errors
/// As for [`dm_crypt`].
pub fn of_keyslots(
    cipher: &str,
    mode: &str,
    key: &[u8],
    layout: Layout,
    tier: Tier,
) -> Result<Box<dyn SectorCipher>, CipherError> {
    built((cipher, mode), key, layout, tier, BLOCK)
}

/// `stream` is what `benbi` counts in modes of stream ciphers, in bytes.
fn built(
    (cipher, mode): (&str, &str),
    key: &[u8],
    layout: Layout,
    tier: Tier,
    stream: usize,
) -> Result<Box<dyn SectorCipher>, CipherError> {
    let layout = layout.checked()?;
    let spec = Spec::parse(cipher, mode)?;
    if spec.has_short_units() && layout.data_unit != lmk::UNIT {
        return Err(CipherError::DmCryptUnit { mode: mode.to_owned(), bytes: layout.data_unit });
    }
    let expected = spec.key_bytes();
    if !expected.contains(&key.len()) {
        return Err(CipherError::DmCryptKeyLength {
            cipher: spec.algorithm.name,
            mode: mode.to_owned(),
            expected,
            actual: key.len(),
        });
    }
    let kernel = match spec.chosen {
        Chosen::Wide { xts, blocks, mode } => match mode {
            Mode::Any(mode) => unfused(mode, blocks, key, tier, stream),
            Mode::Xts(iv) => {
                let (data_key, tweak_key) = key.split_at(key.len() / 2);
                let kernel = xts(data_key, tweak_key, tier);
                match iv {
                    Iv::Keyless(Tweak::Plain64) => kernel,
                    Iv::Keyless(Tweak::Plain) => Box::new(XtsPlain(kernel)),
                    Iv::Keyless(_) | Iv::Eboiv | Iv::Essiv(_) => {
                        Box::new(XtsIv { kernel, ivs: iv.keyed(blocks, key, tier) })
                    }
                }
            }
            Mode::Elephant => {
                let (data_key, sector_key) = key.split_at(key.len() / 2);
                let cbc = Cbc {
                    cipher: blocks(data_key, tier),
                    ivs: Ivs::Eboiv(blocks(data_key, tier)),
                    whitening: Whitening::None,
                };
                Box::new(Elephant { cbc, sector_keys: blocks(sector_key, tier) })
            }
            Mode::Lrw(iv) => {
                let (data_key, tweak_key) = key.split_at(key.len() - BLOCK);
                let mut block = Zeroizing::new([0; BLOCK]);
                block.copy_from_slice(tweak_key);
                // The hash of ESSIV covers the whole key, as in dm-crypt.
                let ivs = iv.map(|iv| iv.keyed(blocks, key, tier));
                Box::new(Lrw::new(blocks(data_key, tier), &block, ivs))
            }
            Mode::Hctr2(tweak) => Box::new(Hctr2::new(blocks(key, tier), tweak.ivs(BLOCK))),
        },
        Chosen::Narrow { blocks, mode } => {
            unfused(mode, blocks, key, tier, stream.min(narrow::BLOCK))
        }
        Chosen::Adiantum { rounds, tweak } => {
            // For Adiantum, the kernel counts AES blocks and cryptsetup blocks of twice that size.
            let counted = if stream == BLOCK { 2 * BLOCK } else { BLOCK };
            adiantum::with_tweaks(rounds, key, tweak.ivs(counted), tier)
        }
    };
    Ok(Box::new(Sectors::new(layout, kernel)))
}

fn unfused<const N: usize>(
    mode: AnyMode,
    blocks: KeyBlocks<N>,
    key: &[u8],
    tier: Tier,
    stream: usize,
) -> Box<dyn UnitKernel> {
    let whitening = Whitening::None;
    match mode {
        AnyMode::Cbc(iv) => {
            let ivs = iv.keyed(blocks, key, tier);
            Box::new(Cbc { cipher: blocks(key, tier), ivs, whitening })
        }
        AnyMode::Feedback(feedback, iv) => {
            let ivs = match iv {
                Iv::Keyless(tweak) if feedback != Feedback::Pcbc => tweak.ivs(stream),
                _ => iv.keyed(blocks, key, tier),
            };
            Box::new(WithFeedback { cipher: blocks(key, tier), ivs, feedback })
        }
        AnyMode::Lmk => Box::new(Lmk::new(blocks(key, tier))),
        AnyMode::Ecb => Box::new(Ecb(blocks(key, tier))),
    }
}

impl Spec {
    fn parse(cipher: &str, mode: &str) -> Result<Self, CipherError> {
        // In LUKS1 the cipher field by itself can be a specification in the API's syntax.
        let whole = if mode.is_empty() { cipher.to_owned() } else { format!("{cipher}-{mode}") };
        match capi::translated(&whole) {
            Some((cipher, mode)) => Self::of(&cipher, &mode, whole),
            None => Self::of(cipher, mode, whole),
        }
    }

    /// The cipher in the mode, which errors call `whole`.
    fn of(cipher: &str, mode: &str, whole: String) -> Result<Self, CipherError> {
        let algorithm = ALGORITHMS.iter().find(|algorithm| algorithm.name == cipher);
        let algorithm = algorithm.ok_or_else(|| CipherError::DmCryptCipher {
            name: whole,
            known: dm_crypt_ciphers().collect(),
        })?;
        let chosen = match algorithm.keying {
            Keying::Wide { xts, blocks } => {
                Mode::parse(mode, algorithm).map(|mode| Chosen::Wide { xts, blocks, mode })
            }
            Keying::Narrow(blocks) => {
                let unknown = || unknown(algorithm, mode, NARROW_MODES);
                AnyMode::parse(mode, algorithm, unknown).map(|mode| Chosen::Narrow { blocks, mode })
            }
            Keying::Adiantum(rounds) => {
                let tweak = mode.strip_prefix("adiantum-").and_then(Tweak::parse);
                let unknown = || unknown(algorithm, mode, ADIANTUM_MODES);
                tweak.ok_or_else(unknown).map(|tweak| Chosen::Adiantum { rounds, tweak })
            }
        };
        Ok(Self { algorithm, chosen: chosen? })
    }

    /// Whether the mode supports only 512-byte data units.
    fn has_short_units(&self) -> bool {
        matches!(
            self.chosen,
            Chosen::Narrow { mode: AnyMode::Lmk, .. }
                | Chosen::Wide { mode: Mode::Any(AnyMode::Lmk), .. }
        )
    }

    fn key_bytes(&self) -> Vec<usize> {
        let lengths = self.algorithm.key_bytes.iter();
        let whole = |&bytes: &usize| match self.chosen {
            Chosen::Narrow { .. }
            | Chosen::Adiantum { .. }
            | Chosen::Wide { mode: Mode::Any(_) | Mode::Hctr2(_), .. } => bytes,
            Chosen::Wide { mode: Mode::Lrw(_), .. } => bytes + BLOCK,
            Chosen::Wide { mode: Mode::Xts(_) | Mode::Elephant, .. } => 2 * bytes,
        };
        lengths.map(whole).collect()
    }
}

fn unknown(algorithm: &Algorithm, mode: &str, known: &'static [&'static str]) -> CipherError {
    CipherError::DmCryptMode { cipher: algorithm.name, mode: mode.to_owned(), known }
}

impl Mode {
    fn parse(mode: &str, algorithm: &Algorithm) -> Result<Self, CipherError> {
        let unknown = || unknown(algorithm, mode, WIDE_MODES);
        let iv = |name| Iv::parse(name, algorithm, unknown);
        Ok(match mode.split_once('-') {
            Some(("cbc", name)) if named("eboiv", name) => Self::Any(AnyMode::Cbc(Iv::Eboiv)),
            Some(("cbc", name)) if named("elephant", name) => Self::Elephant,
            Some(("xts", name)) => Self::Xts(iv(name)?),
            Some(("lrw", name)) if named("benbi", name) => Self::Lrw(None),
            Some(("lrw", name)) => Self::Lrw(Some(iv(name)?)),
            Some(("hctr2", name)) => Self::Hctr2(Tweak::parse(name).ok_or_else(unknown)?),
            _ => Self::Any(AnyMode::parse(mode, algorithm, unknown)?),
        })
    }
}

impl AnyMode {
    fn parse(
        mode: &str,
        algorithm: &Algorithm,
        unknown: impl Fn() -> CipherError,
    ) -> Result<Self, CipherError> {
        let feedback = |feedback, name| {
            Iv::parse(name, algorithm, &unknown).map(|iv| Self::Feedback(feedback, iv))
        };
        Ok(match mode.split_once('-') {
            None if mode == "ecb" => Self::Ecb,
            // dm-crypt ignores the generator if the mode does not use an IV.
            Some(("ecb", name)) => Iv::parse(name, algorithm, unknown).map(|_| Self::Ecb)?,
            // The specification from the time when only CBC existed.
            None if mode == "plain" => Self::Cbc(Iv::Keyless(Tweak::Plain)),
            Some(("cbc", name)) if named("lmk", name) => Self::Lmk,
            Some(("cbc", name)) => Self::Cbc(Iv::parse(name, algorithm, unknown)?),
            Some(("ctr", name)) => feedback(Feedback::Ctr, name)?,
            Some(("cfb", name)) => feedback(Feedback::Cfb, name)?,
            Some(("ofb", name)) => feedback(Feedback::Ofb, name)?,
            Some(("pcbc", name)) => feedback(Feedback::Pcbc, name)?,
            _ => return Err(unknown()),
        })
    }
}

/// Whether `text` names this generator, with or without options, which it ignores.
fn named(generator: &str, text: &str) -> bool {
    text.split(':').next() == Some(generator)
}

impl Iv {
    fn parse(
        name: &str,
        algorithm: &Algorithm,
        unknown: impl Fn() -> CipherError,
    ) -> Result<Self, CipherError> {
        let Some(hash) = name.strip_prefix("essiv:") else {
            return Tweak::parse(name).map(Self::Keyless).ok_or_else(unknown);
        };
        let hash = Hash::find(hash)?;
        if !(algorithm.takes)(hash.bytes) {
            let (cipher, hash, bytes) = (algorithm.name, hash.name, hash.bytes);
            return Err(CipherError::EssivKey { cipher, hash, bytes });
        }
        Ok(Self::Essiv(hash))
    }

    /// The generator, for a volume under `key`.
    fn keyed<const N: usize>(self, blocks: KeyBlocks<N>, key: &[u8], tier: Tier) -> Ivs<N> {
        match self {
            Self::Keyless(tweak) => tweak.ivs(N),
            Self::Eboiv => Ivs::Eboiv(blocks(key, tier)),
            Self::Essiv(hash) => Ivs::Essiv(blocks(&hash.key(key), tier)),
        }
    }
}

impl Tweak {
    /// The generator with that name. Its options are ignored as in dm-crypt: many Tomb volumes have
    /// `plain64:sha256`.
    fn parse(name: &str) -> Option<Self> {
        let all = [
            ("plain", Self::Plain),
            ("plain64", Self::Plain64),
            ("plain64be", Self::Plain64Be),
            ("benbi", Self::Benbi),
            ("null", Self::Null),
        ];
        all.into_iter().find(|(known, _)| named(known, name)).map(|(_, tweak)| tweak)
    }

    /// The generator for a cipher with blocks of `block` bytes.
    fn ivs<const N: usize>(self, block: usize) -> Ivs<N> {
        match self {
            Self::Plain => Ivs::Plain,
            Self::Plain64 => Ivs::Plain64,
            Self::Plain64Be => Ivs::Plain64Be,
            Self::Benbi => Ivs::Benbi { shift: 9 - block.ilog2() },
            Self::Null => Ivs::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier;

    const LEN: usize = 512;

    /// Where `plain` and `plain64` differ.
    const UNIT: u64 = (1 << 32) + 3;

    fn encrypted(cipher: &str, mode: &str) -> Vec<u8> {
        let bytes = dm_crypt_key_bytes(cipher, mode).unwrap()[0];
        let key: Vec<u8> = (0..bytes as u8).map(|i| i.wrapping_mul(37) ^ 0x5a).collect();
        let made = dm_crypt(cipher, mode, &key, Layout::SECTOR_512, tier().unwrap()).unwrap();
        let mut data = vec![0x5a; LEN];
        made.encrypt_in_place(UNIT, &mut data);
        data
    }

    /// A mode that fell through to another one's match arm would produce the same bytes.
    #[test]
    fn each_mode_reaches_its_own_cipher() {
        for algorithm in &ALGORITHMS {
            let (modes, block) = match algorithm.keying {
                Keying::Wide { .. } => (WIDE_MODES, BLOCK),
                Keying::Narrow(_) => (NARROW_MODES, narrow::BLOCK),
                Keying::Adiantum(_) => (ADIANTUM_MODES, BLOCK),
            };
            // The digest is the key of ESSIV, and not every cipher accepts its length.
            let fits = |name: &&str| (algorithm.takes)(Hash::find(name).unwrap().bytes);
            let hash = ["sha256", "sha1", "md5"].into_iter().find(fits);
            let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
            for mode in modes {
                if mode.ends_with("HASH") && hash.is_none() {
                    continue;
                }
                let mode = mode.replace("HASH", hash.unwrap_or_default());
                let data = encrypted(algorithm.name, &mode);
                let mut blocks: Vec<&[u8]> = data.chunks(block).collect();
                blocks.sort_unstable();
                blocks.dedup();
                let expected = if mode == "ecb" { 1 } else { LEN / block };
                assert_eq!(blocks.len(), expected, "{}-{mode}: blocks that differ", algorithm.name);
                let twin = seen.iter().find(|(_, other)| *other == data);
                assert!(twin.is_none(), "{}-{mode} is {:?}", algorithm.name, twin.map(|t| &t.0));
                seen.push((mode, data));
            }
        }
    }
}
