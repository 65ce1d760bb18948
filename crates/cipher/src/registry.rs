//! The tables of ciphers: one line per algorithm, and one per cipher or cascade.

use crate::algorithm::{adiantum, aes, camellia, kuznyechik, serpent, twofish};
use crate::cascade::Cascade;
use crate::cpu::Tier;
use crate::dm_crypt::dm_crypt;
use crate::error::CipherError;
use crate::kernel::UnitKernel;
use crate::sector::{Layout, SectorCipher, Sectors};

/// Keys an algorithm for XTS: data key, tweak key, highest tier to use.
pub(crate) type KeyXts = fn(&[u8], &[u8], Tier) -> Box<dyn UnitKernel>;

/// Keys a cipher whose block is the whole data unit: key, highest tier to use.
pub(crate) type KeyWide = fn(&[u8], Tier) -> Box<dyn UnitKernel>;

/// An algorithm with a key length, and the functions that key it for each mode.
struct Algorithm {
    /// Bytes of one key.
    key_bytes: usize,
    xts: KeyXts,
}

static AES_128: Algorithm = Algorithm { key_bytes: 16, xts: aes::xts };
static AES_256: Algorithm = Algorithm { key_bytes: 32, xts: aes::xts };
static CAMELLIA_256: Algorithm = Algorithm { key_bytes: 32, xts: camellia::xts };
static KUZNYECHIK: Algorithm = Algorithm { key_bytes: 32, xts: kuznyechik::xts };
static SERPENT_256: Algorithm = Algorithm { key_bytes: 32, xts: serpent::xts };
static TWOFISH_256: Algorithm = Algorithm { key_bytes: 32, xts: twofish::xts };

/// A cipher in the registry: one or more algorithms in a mode, or a cipher whose block is the data unit.
pub struct CipherInfo {
    /// Name on the command line and in records, such as `aes-256-xts`.
    pub name: &'static str,
    /// Name for users, such as `AES-256-XTS`.
    pub label: &'static str,
    /// Length of the whole key in bytes. In XTS the data keys of all stages come first, in encryption order, then
    /// their tweak keys in the same order (as in VeraCrypt's key area or, for one stage, in IEEE 1619).
    pub key_bytes: usize,
    keying: Keying,
}

/// How a cipher in the registry uses its key.
enum Keying {
    /// XTS, with stages in encryption order: a single stage, or a cascade.
    Xts(&'static [&'static Algorithm]),
    /// A block as long as the data unit.
    Wide(KeyWide),
    /// For [`history`]: a cipher and a mode in dm-crypt's notation.
    History(&'static str, &'static str),
}

static CIPHERS: &[CipherInfo] = &[
    CipherInfo::xts("aes-128-xts", "AES-128-XTS", &[&AES_128]),
    CipherInfo::xts("aes-256-xts", "AES-256-XTS", &[&AES_256]),
    // Named after the system dm-crypt.
    CipherInfo {
        name: "adiantum-12",
        label: "Adiantum-XChaCha12",
        key_bytes: adiantum::KEY_BYTES,
        keying: Keying::Wide(adiantum::wide),
    },
    CipherInfo::xts("camellia-256-xts", "Camellia-256-XTS", &[&CAMELLIA_256]),
    CipherInfo::xts("kuznyechik-xts", "Kuznyechik-XTS", &[&KUZNYECHIK]),
    CipherInfo::xts("serpent-256-xts", "Serpent-256-XTS", &[&SERPENT_256]),
    CipherInfo::xts("twofish-256-xts", "Twofish-256-XTS", &[&TWOFISH_256]),
    // VeraCrypt's cascades. In VeraCrypt's names, the cipher that is applied last comes first: AES(Twofish) encrypts
    // with Twofish, then with AES. Stages are listed in encryption order.
    CipherInfo::xts("aes-twofish-xts", "AES(Twofish)-XTS", &[&TWOFISH_256, &AES_256]),
    CipherInfo::xts(
        "aes-twofish-serpent-xts",
        "AES(Twofish(Serpent))-XTS",
        &[&SERPENT_256, &TWOFISH_256, &AES_256],
    ),
    CipherInfo::xts(
        "camellia-kuznyechik-xts",
        "Camellia(Kuznyechik)-XTS",
        &[&KUZNYECHIK, &CAMELLIA_256],
    ),
    CipherInfo::xts(
        "camellia-serpent-xts",
        "Camellia(Serpent)-XTS",
        &[&SERPENT_256, &CAMELLIA_256],
    ),
    CipherInfo::xts("kuznyechik-aes-xts", "Kuznyechik(AES)-XTS", &[&AES_256, &KUZNYECHIK]),
    CipherInfo::xts(
        "kuznyechik-serpent-camellia-xts",
        "Kuznyechik(Serpent(Camellia))-XTS",
        &[&CAMELLIA_256, &SERPENT_256, &KUZNYECHIK],
    ),
    CipherInfo::xts(
        "kuznyechik-twofish-xts",
        "Kuznyechik(Twofish)-XTS",
        &[&TWOFISH_256, &KUZNYECHIK],
    ),
    CipherInfo::xts("serpent-aes-xts", "Serpent(AES)-XTS", &[&AES_256, &SERPENT_256]),
    CipherInfo::xts(
        "serpent-twofish-aes-xts",
        "Serpent(Twofish(AES))-XTS",
        &[&AES_256, &TWOFISH_256, &SERPENT_256],
    ),
    CipherInfo::xts("twofish-serpent-xts", "Twofish(Serpent)-XTS", &[&SERPENT_256, &TWOFISH_256]),
];

/// Ciphers of programs that were measured in published studies, such as TrueCrypt 4 and BestCrypt. This program does
/// not create volumes with these ciphers.
static HISTORY: &[CipherInfo] = &[
    CipherInfo::history("aes-192-xts", "AES-192-XTS (history)", 48, ("aes", "xts-plain64")),
    CipherInfo::history(
        "blowfish-448-cbc",
        "Blowfish-448-CBC (history)",
        56,
        ("blowfish", "cbc-plain64"),
    ),
    CipherInfo::history("cast5-128-cbc", "CAST5-128-CBC (history)", 16, ("cast5", "cbc-plain64")),
    CipherInfo::history("3des-168-cbc", "3DES-168-CBC (history)", 24, ("des3_ede", "cbc-plain64")),
];

/// Ciphers that were used in the past, and can only be measured.
pub fn history() -> &'static [CipherInfo] {
    HISTORY
}

/// The cipher with this name, which may be a cipher in [`history`].
///
/// # Errors
/// As for [`find`].
pub fn find_to_measure(name: &str) -> Result<&'static CipherInfo, CipherError> {
    HISTORY.iter().find(|info| info.name == name).map_or_else(|| find(name), Ok)
}

/// Every cipher and cascade, in display order.
pub fn ciphers() -> &'static [CipherInfo] {
    CIPHERS
}

/// The cipher with this name, which is case-sensitive.
///
/// # Errors
/// [`CipherError::Unknown`], which lists the known names.
pub fn find(name: &str) -> Result<&'static CipherInfo, CipherError> {
    ciphers().iter().find(|info| info.name == name).ok_or_else(|| CipherError::Unknown {
        name: name.to_owned(),
        known: ciphers().iter().map(|info| info.name).collect(),
    })
}

impl CipherInfo {
    const fn xts(
        name: &'static str,
        label: &'static str,
        stages: &'static [&'static Algorithm],
    ) -> Self {
        let mut key_bytes = 0;
        let mut stage = 0;
        while stage < stages.len() {
            key_bytes += 2 * stages[stage].key_bytes;
            stage += 1;
        }
        Self { name, label, key_bytes, keying: Keying::Xts(stages) }
    }

    const fn history(
        name: &'static str,
        label: &'static str,
        key_bytes: usize,
        (cipher, mode): (&'static str, &'static str),
    ) -> Self {
        Self { name, label, key_bytes, keying: Keying::History(cipher, mode) }
    }

    /// Number of ciphers that encrypt one after another: more than one in a cascade.
    pub fn stages(&self) -> usize {
        match self.keying {
            Keying::Xts(stages) => stages.len(),
            Keying::Wide(_) | Keying::History(..) => 1,
        }
    }

    /// Whether the cipher's block is the whole data unit, as with Adiantum. Such a cipher has only one key, instead of
    /// one key for data and one for tweaks.
    pub fn is_wide(&self) -> bool {
        matches!(self.keying, Keying::Wide(_))
    }

    /// The cipher with `key`, and with the best kernel that the CPU supports and `tier` allows.
    ///
    /// XTS keys with equal halves are accepted: whether to reject them depends on the volume format, not on the
    /// cipher.
    ///
    /// # Errors
    /// [`CipherError::KeyLength`], [`CipherError::DataUnit`], [`CipherError::TweakStep`].
    pub fn with_key(
        &self,
        key: &[u8],
        layout: Layout,
        tier: Tier,
    ) -> Result<Box<dyn SectorCipher>, CipherError> {
        let layout = layout.checked()?;
        if key.len() != self.key_bytes {
            return Err(CipherError::KeyLength {
                cipher: self.name,
                expected: self.key_bytes,
                actual: key.len(),
            });
        }
        let kernel = match self.keying {
            Keying::Xts(algorithms) => xts(algorithms, key, tier),
            Keying::Wide(keyed) => keyed(key, tier),
            Keying::History(cipher, mode) => return dm_crypt(cipher, mode, key, layout, tier),
        };
        Ok(Box::new(Sectors::new(layout, kernel)))
    }
}

/// The stages of a cipher in XTS mode, with a key of the correct length.
fn xts(algorithms: &[&Algorithm], key: &[u8], tier: Tier) -> Box<dyn UnitKernel> {
    let (mut data_keys, mut tweak_keys) = key.split_at(key.len() / 2);
    let mut stages = Vec::with_capacity(algorithms.len());
    for algorithm in algorithms {
        let (data_key, tweak_key);
        (data_key, data_keys) = data_keys.split_at(algorithm.key_bytes);
        (tweak_key, tweak_keys) = tweak_keys.split_at(algorithm.key_bytes);
        stages.push((algorithm.xts)(data_key, tweak_key, tier));
    }
    match stages.pop() {
        Some(only) if stages.is_empty() => only,
        last => {
            stages.extend(last);
            Box::new(Cascade::new(stages))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cascade_is_its_stages_one_after_another() {
        static STAGES: [&Algorithm; 2] = [&AES_256, &AES_128];
        let both = CipherInfo::xts("test", "test", &STAGES);
        assert_eq!(both.key_bytes, 96);
        let key: Vec<u8> = (0..96).collect();
        // Data keys in encryption order, then tweak keys in encryption order.
        let first = [&key[..32], &key[48..80]].concat();
        let second = [&key[32..48], &key[80..]].concat();
        for data_unit in [512, 4096, 16384] {
            let layout = Layout { data_unit, tweak_step: 3 };
            let plain: Vec<u8> = (0..5 * 16384).map(|i| (i * 7 / 3) as u8).collect();
            let tier = Tier::Soft;
            let mut expected = plain.clone();
            let first = CIPHERS[1].with_key(&first, layout, tier).unwrap();
            first.encrypt_in_place(9, &mut expected);
            let second = CIPHERS[0].with_key(&second, layout, tier).unwrap();
            second.encrypt_in_place(9, &mut expected);

            let cascade = both.with_key(&key, layout, tier).unwrap();
            let mut apart = vec![0; plain.len()];
            cascade.encrypt(9, &plain, &mut apart);
            assert_eq!(apart, expected);
            cascade.decrypt_in_place(9, &mut apart);
            assert_eq!(apart, plain);
        }
    }

    #[test]
    fn history_is_measured_and_not_offered() {
        for info in history() {
            assert!(find(info.name).is_err(), "{}", info.name);
            let key: Vec<u8> = (0..info.key_bytes as u8).collect();
            for data_unit in [512, 4096] {
                let layout = Layout { data_unit, tweak_step: data_unit as u64 / 512 };
                let cipher = find_to_measure(info.name).unwrap();
                let cipher = cipher.with_key(&key, layout, Tier::Soft).unwrap();
                let mut data = vec![7; 8192];
                cipher.encrypt_in_place(3, &mut data);
                assert_ne!(data, [7; 8192]);
                cipher.decrypt_in_place(3, &mut data);
                assert_eq!(data, [7; 8192], "{}", info.name);
            }
        }
        assert!(find_to_measure("aes-256-xts").is_ok() && find_to_measure("rot13").is_err());
    }
}
