//! Ciphers in the notation of dm-crypt and LUKS headers: `aes` with `xts-plain64`.
//!
//! The table lists the ciphers and modes that dm-crypt supports and LUKS volumes are known to use. The table does not
//! contain authenticated modes or `random` and `tcw` IVs. `cbc-elephant` is used by BitLocker.

mod algorithms;
mod capi;
mod iv;
mod keyed;
mod modes;

use self::algorithms::{ALGORITHMS, Algorithm, KeyBlocks, Keying};
use self::iv::{Iv, Tweak, named};
use self::keyed::Side;
use self::modes::{ADIANTUM_MODES, NARROW_MODES, NULL_MODES, WIDE_MODES};
use crate::algorithm::narrow;
use crate::cpu::Tier;
use crate::error::CipherError;
use crate::kernel::BLOCK;
use crate::mode::feedback::Feedback;
use crate::mode::lmk;
use crate::registry::KeyXts;
use crate::sector::{Layout, SectorCipher, Sectors};

/// A parsed specification.
struct Spec {
    algorithm: &'static Algorithm,
    /// Number of keys that are used in turn from sector to sector: a power of two.
    keys: usize,
    chosen: Chosen,
}

/// A mode with its key; other combinations cannot be created.
#[derive(Clone, Copy)]
enum Chosen {
    Wide { xts: KeyXts, blocks: KeyBlocks<BLOCK>, mode: Mode },
    Narrow { blocks: KeyBlocks<{ narrow::BLOCK }>, mode: AnyMode },
    Adiantum { rounds: u32, tweak: Tweak },
    Null,
}

/// A mode for 128-bit blocks.
#[derive(Clone, Copy)]
enum Mode {
    Any(AnyMode),
    Xts(Iv),
    /// CBC with `eboiv` after the Elephant diffuser; the second half of the key is used for the sector keys.
    Elephant,
    /// LRW with `benbi`, which counts in the same way as LRW, or with another generator, whose IV is used as the index
    /// of a unit's first block.
    Lrw(Option<Iv>),
    Hctr2(Tweak),
}

/// A mode for any block size.
#[derive(Clone, Copy)]
enum AnyMode {
    Ecb,
    Cbc(Iv),
    Feedback(Feedback, Iv),
    /// CBC with the IVs of loop-AES.
    Lmk,
}

/// The ciphers that [`dm_crypt`] supports, by their names in Linux's crypto API.
pub fn dm_crypt_ciphers() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|algorithm| algorithm.name)
}

/// The modes of a cipher in [`dm_crypt_ciphers`], with `HASH` as a placeholder for each of [`essiv_hashes`]; empty
/// for any other cipher.
pub fn dm_crypt_modes(cipher: &str) -> &'static [&'static str] {
    let algorithm = ALGORITHMS.iter().find(|algorithm| algorithm.name == cipher);
    algorithm.map_or(&[], |algorithm| match algorithm.keying {
        Keying::Wide { .. } => WIDE_MODES,
        Keying::Narrow(_) => NARROW_MODES,
        Keying::Adiantum(_) => ADIANTUM_MODES,
        Keying::Null => NULL_MODES,
    })
}

/// Every length in bytes that a volume key can have for `cipher` in `mode`, including the tweak key and, for example,
/// both keys of `aes:2`. This allows a header to be checked before a key is known. Empty for `cipher_null`, which
/// accepts a key of any length but does not use it.
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

/// A cipher in the notation of dm-crypt, with `key` and the best kernel that the CPU supports and `tier` allows.
///
/// Data unit numbers count 512-byte sectors, as in dm-crypt without `iv_large_sectors`. For LUKS2 with larger
/// sectors, pass a layout such as [`Layout::LUKS2_4096`]. For the names, see [`dm_crypt_key_bytes`].
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
    built((cipher, mode), key, layout, tier, Side::Kernel)
}

/// Like [`dm_crypt`], with the IVs that cryptsetup uses for keyslots, which cryptsetup encrypts without the kernel.
/// Some of these IVs differ from dm-crypt's.
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
    built((cipher, mode), key, layout, tier, Side::Cryptsetup)
}

fn built(
    (cipher, mode): (&str, &str),
    key: &[u8],
    layout: Layout,
    tier: Tier,
    side: Side,
) -> Result<Box<dyn SectorCipher>, CipherError> {
    let layout = layout.checked()?;
    let spec = Spec::parse(cipher, mode)?;
    if spec.is_lmk() && layout.data_unit != lmk::UNIT {
        return Err(CipherError::DmCryptUnit { mode: mode.to_owned(), bytes: layout.data_unit });
    }
    let expected = spec.key_bytes();
    if !expected.is_empty() && !expected.contains(&key.len()) {
        return Err(CipherError::DmCryptKeyLength {
            cipher: spec.algorithm.name,
            mode: mode.to_owned(),
            expected,
            actual: key.len(),
        });
    }
    Ok(Box::new(Sectors::new(layout, spec.keyed(key, side, tier)?)))
}

impl Spec {
    fn parse(cipher: &str, mode: &str) -> Result<Self, CipherError> {
        // In LUKS1, the cipher field can contain a whole specification in the API's syntax.
        let whole = if mode.is_empty() { cipher.to_owned() } else { format!("{cipher}-{mode}") };
        match capi::translated(&whole) {
            Some((cipher, mode)) => Self::of(&cipher, &mode, whole),
            None => Self::of(cipher, mode, whole),
        }
    }

    /// The cipher in this mode; errors refer to it as `whole`.
    fn of(cipher: &str, mode: &str, whole: String) -> Result<Self, CipherError> {
        let (cipher, keys) = match cipher.split_once(':') {
            Some((cipher, keys)) => {
                (cipher, keys.parse().ok().filter(|keys: &u16| keys.is_power_of_two()))
            }
            None => (cipher, Some(1)),
        };
        let algorithm = ALGORITHMS.iter().find(|algorithm| algorithm.name == cipher);
        let (Some(algorithm), Some(keys)) = (algorithm, keys) else {
            return Err(CipherError::DmCryptCipher {
                name: whole,
                known: dm_crypt_ciphers().collect(),
            });
        };
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
            Keying::Null if mode == "ecb" || mode.starts_with("ecb-") => Ok(Chosen::Null),
            Keying::Null => Err(unknown(algorithm, mode, NULL_MODES)),
        };
        Ok(Self { algorithm, keys: usize::from(keys), chosen: chosen? })
    }

    /// Whether the mode is `cbc-lmk`, which supports only 512-byte data units.
    fn is_lmk(&self) -> bool {
        matches!(
            self.chosen,
            Chosen::Narrow { mode: AnyMode::Lmk, .. }
                | Chosen::Wide { mode: Mode::Any(AnyMode::Lmk), .. }
        )
    }

    fn key_bytes(&self) -> Vec<usize> {
        let whole = |&bytes: &usize| match self.chosen {
            Chosen::Narrow { .. }
            | Chosen::Adiantum { .. }
            | Chosen::Null
            | Chosen::Wide { mode: Mode::Any(_) | Mode::Hctr2(_), .. } => bytes,
            Chosen::Wide { mode: Mode::Lrw(_), .. } => bytes + BLOCK,
            Chosen::Wide { mode: Mode::Xts(_) | Mode::Elephant, .. } => 2 * bytes,
        };
        let one = self.algorithm.key_bytes.iter().map(whole);
        let mut all: Vec<_> = one.clone().map(|bytes| self.keys * bytes).collect();
        if self.is_lmk() {
            // The seed is as long as a key. If the total length is divisible by the number of keys, dm-crypt assumes
            // that the key has no seed.
            let seeded = one.map(|bytes| (self.keys + 1) * bytes);
            all.extend(seeded.filter(|sum| !sum.is_multiple_of(self.keys)));
            all.sort_unstable();
            all.dedup();
        }
        all
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
        let feedback = |feedback, name| match Iv::parse(name, algorithm, &unknown)? {
            // Linux refuses `eboiv` in modes that it treats as stream ciphers.
            Iv::Eboiv if feedback != Feedback::Pcbc => Err(unknown()),
            iv => Ok(Self::Feedback(feedback, iv)),
        };
        Ok(match mode.split_once('-') {
            None if mode == "ecb" => Self::Ecb,
            // dm-crypt ignores the generator if the mode does not use IVs.
            Some(("ecb", name)) => Iv::parse(name, algorithm, unknown).map(|_| Self::Ecb)?,
            // The form of specification from the time when dm-crypt supported only CBC.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::essiv::Hash;
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
                Keying::Null => continue,
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
