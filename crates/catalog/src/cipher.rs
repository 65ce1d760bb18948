//! The ciphers that several systems or formats share, with their names in each system or format.

/// Separator in records between the names of an arm's drivers.
pub const BETWEEN_DRIVERS: &str = " + ";

/// The sector layout of VeraCrypt's volumes, by its name in records.
pub const VERACRYPT_LAYOUT: &str = "VeraCrypt";

/// A cipher with its mode and key size.
#[derive(Debug, PartialEq, Eq)]
pub struct Cipher {
    /// Name on the command line and in records; the built-in engine uses the same name if it supports the cipher.
    pub name: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// Cipher, mode and IV generator in dm-crypt's notation, which is also cryptsetup's `--cipher` argument.
    pub specification: &'static str,
    /// Size of the whole key in bits; XTS uses two keys.
    pub key_bits: u32,
    /// cryptsetup's `--integrity` argument if the cipher authenticates. Only LUKS2 with `integrity = aead` has space
    /// for the tags.
    pub authenticates: Option<&'static str>,
    /// Its name in `/proc/crypto`.
    pub kernel_name: &'static str,
}

const fn disk(
    name: &'static str,
    label: &'static str,
    specification: &'static str,
    key_bits: u32,
    kernel_name: &'static str,
) -> Cipher {
    Cipher { name, label, specification, key_bits, authenticates: None, kernel_name }
}

const fn aes_xts(name: &'static str, label: &'static str, key_bits: u32) -> Cipher {
    disk(name, label, "aes-xts-plain64", key_bits, "xts(aes)")
}

/// Supported by every format.
pub static AES_256_XTS: Cipher = aes_xts("aes-256-xts", "AES-256-XTS", 512);
/// With half the key.
pub static AES_128_XTS: Cipher = aes_xts("aes-128-xts", "AES-128-XTS", 256);
/// LUKS1's default until 2013 (cryptsetup 1.6.0, release notes).
pub static AES_256_CBC_ESSIV: Cipher =
    disk("aes-256-cbc-essiv", "AES-256-CBC-ESSIV", "aes-cbc-essiv:sha256", 256, "cbc(aes)");
/// Used by TrueCrypt 4.1 to 4.3 and by old LUKS volumes; the last 16 bytes of the key are for the tweaks.
pub static AES_256_LRW: Cipher =
    disk("aes-256-lrw", "AES-256-LRW", "aes-lrw-benbi", 384, "lrw(aes)");
/// BitLocker's before XTS.
pub static AES_128_CBC: Cipher =
    disk("aes-128-cbc", "AES-128-CBC", "aes-cbc-eboiv", 128, "cbc(aes)");
/// BitLocker's before XTS.
pub static AES_256_CBC: Cipher =
    disk("aes-256-cbc", "AES-256-CBC", "aes-cbc-eboiv", 256, "cbc(aes)");
/// BitLocker's first cipher; the diffuser uses a separate key.
pub static AES_128_CBC_ELEPHANT: Cipher =
    disk("aes-128-cbc-elephant", "AES-128-CBC-Elephant", "aes-cbc-elephant", 256, "cbc(aes)");
/// BitLocker's first 256-bit cipher; the diffuser uses a separate key.
pub static AES_256_CBC_ELEPHANT: Cipher =
    disk("aes-256-cbc-elephant", "AES-256-CBC-Elephant", "aes-cbc-elephant", 512, "cbc(aes)");

static CAMELLIA: Cipher =
    disk("camellia-256-xts", "Camellia-256-XTS", "camellia-xts-plain64", 512, "xts(camellia)");
static SERPENT: Cipher =
    disk("serpent-256-xts", "Serpent-256-XTS", "serpent-xts-plain64", 512, "xts(serpent)");
static TWOFISH: Cipher =
    disk("twofish-256-xts", "Twofish-256-XTS", "twofish-xts-plain64", 512, "xts(twofish)");
static ADIANTUM: Cipher = disk(
    "adiantum",
    "Adiantum-XChaCha20",
    "xchacha20,aes-adiantum-plain64",
    256,
    "adiantum(xchacha20,aes)",
);
static ADIANTUM_12: Cipher = disk(
    "adiantum-12",
    "Adiantum-XChaCha12",
    "xchacha12,aes-adiantum-plain64",
    256,
    "adiantum(xchacha12,aes)",
);
static AES_GCM: Cipher = Cipher {
    authenticates: Some("aead"),
    ..disk("aes-256-gcm", "AES-256-GCM", "aes-gcm-random", 256, "gcm(aes)")
};
static AEGIS: Cipher = Cipher {
    authenticates: Some("aead"),
    ..disk("aegis-128", "AEGIS-128", "aegis128-random", 128, "aegis128")
};
static CHACHA: Cipher = Cipher {
    authenticates: Some("poly1305"),
    ..disk(
        "chacha20-poly1305",
        "ChaCha20-Poly1305",
        "chacha20-random",
        256,
        "rfc7539(chacha20,poly1305)",
    )
};

/// The kernel's disk ciphers. By default, dm-crypt is measured with the first cipher or, with `integrity = aead`, with
/// the first cipher that authenticates.
///
/// Specifications and key sizes: cryptsetup(8), section "Authenticated disk encryption", and the kernel's
/// `Documentation/admin-guide/device-mapper/dm-crypt.rst`.
pub static DM_CRYPT_CIPHERS: [&Cipher; 11] = [
    &AES_256_XTS,
    &AES_128_XTS,
    &CAMELLIA,
    &SERPENT,
    &TWOFISH,
    &AES_256_CBC_ESSIV,
    &ADIANTUM,
    &ADIANTUM_12,
    &AES_GCM,
    &AEGIS,
    &CHACHA,
];

/// The names of [`DM_CRYPT_CIPHERS`].
pub const DM_CRYPT_NAMES: &[&str] = &names();

const fn names() -> [&'static str; DM_CRYPT_CIPHERS.len()] {
    let mut names = [""; DM_CRYPT_CIPHERS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = DM_CRYPT_CIPHERS[at].name;
        at += 1;
    }
    names
}

impl Cipher {
    /// The dm-crypt cipher with this name.
    pub fn of_dm_crypt(name: &str) -> Option<&'static Self> {
        DM_CRYPT_CIPHERS.into_iter().find(|cipher| cipher.name == name)
    }

    /// Size of the whole key in bytes.
    pub const fn key_bytes(&self) -> usize {
        self.key_bits as usize / 8
    }

    /// The cipher in the specification, and the mode with IV generator: `aes` and `xts-plain64`.
    pub fn parts(&self) -> (&'static str, &'static str) {
        self.specification.split_once('-').unwrap_or((self.specification, ""))
    }
}

/// A cipher's usual name, without the mode that all disks use: `aes-256-xts` is `AES-256`, `SERPENT` is `Serpent`.
#[must_use]
pub fn cipher_title(name: &str) -> String {
    let name = name.to_lowercase();
    let name = name.strip_suffix("-xts").unwrap_or(&name);
    let formats = [("bitlocker-", "BitLocker "), ("filevault-", "FileVault ")];
    let of_format = |(prefix, format)| Some((format, name.strip_prefix(prefix)?));
    let (format, name) = formats.into_iter().find_map(of_format).unwrap_or(("", name));
    let words = name.split('-').map(|word| match word {
        "aes" | "gcm" | "cbc" | "ctr" | "essiv" | "siv" | "eme" | "lrw" => word.to_uppercase(),
        "xchacha20" => "XChaCha20".to_owned(),
        "chacha20" => "ChaCha20".to_owned(),
        word => {
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters).collect()
        }
    });
    format!("{format}{}", words.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cipher_of_dm_crypt_is_found_by_its_name() {
        for cipher in DM_CRYPT_CIPHERS {
            assert_eq!(Cipher::of_dm_crypt(cipher.name), Some(cipher), "names are unique");
        }
        assert_eq!(AES_256_CBC_ESSIV.parts(), ("aes", "cbc-essiv:sha256"));
        assert_eq!((AES_256_LRW.key_bytes(), DM_CRYPT_NAMES[0]), (48, "aes-256-xts"));
    }

    #[test]
    fn a_cipher_is_called_the_same_however_it_is_written() {
        let titles = ["aes-256-xts", "AES-256", "AES-TWOFISH-SERPENT", "bitlocker-aes-128-cbc"];
        let titles = titles.map(cipher_title);
        assert_eq!(titles, ["AES-256", "AES-256", "AES-Twofish-Serpent", "BitLocker AES-128-CBC"]);
    }
}
