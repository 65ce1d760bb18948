//! The kernel's disk ciphers, with their names in cryptsetup(8) and in the kernel's crypto API.

/// A cipher of dm-crypt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KernelCipher {
    /// Name on the command line and in records; the built-in engine's name if it has the same
    /// cipher.
    pub(super) name: &'static str,
    /// Name for people.
    pub(super) label: &'static str,
    /// Argument of `--cipher`: cipher, mode and IV generator.
    pub(super) specification: &'static str,
    /// Size of the whole key in bits; XTS has two keys.
    pub(super) key_bits: u32,
    /// Argument of `--integrity` if the cipher authenticates by itself. Only LUKS2 with `integrity
    /// = aead` has space for the tags.
    pub(super) authenticates: Option<&'static str>,
    /// Its name in `/proc/crypto`.
    pub(super) kernel_name: &'static str,
}

const fn disk(
    name: &'static str,
    label: &'static str,
    specification: &'static str,
    key_bits: u32,
    kernel_name: &'static str,
) -> KernelCipher {
    KernelCipher { name, label, specification, key_bits, authenticates: None, kernel_name }
}

const fn aead(
    name: &'static str,
    label: &'static str,
    specification: &'static str,
    key_bits: u32,
    (integrity, kernel_name): (&'static str, &'static str),
) -> KernelCipher {
    KernelCipher {
        name,
        label,
        specification,
        key_bits,
        authenticates: Some(integrity),
        kernel_name,
    }
}

/// Without a choice, the first cipher is measured, and with `integrity = aead` the first that
/// authenticates.
///
/// Specifications and key sizes: cryptsetup(8), section "Authenticated disk encryption", and the kernel's
/// `Documentation/admin-guide/device-mapper/dm-crypt.rst`.
pub(super) static CIPHERS: &[KernelCipher] = &[
    disk("aes-256-xts", "AES-256-XTS", "aes-xts-plain64", 512, "xts(aes)"),
    disk("aes-128-xts", "AES-128-XTS", "aes-xts-plain64", 256, "xts(aes)"),
    disk("camellia-256-xts", "Camellia-256-XTS", "camellia-xts-plain64", 512, "xts(camellia)"),
    disk("serpent-256-xts", "Serpent-256-XTS", "serpent-xts-plain64", 512, "xts(serpent)"),
    disk("twofish-256-xts", "Twofish-256-XTS", "twofish-xts-plain64", 512, "xts(twofish)"),
    disk("aes-256-cbc-essiv", "AES-256-CBC-ESSIV", "aes-cbc-essiv:sha256", 256, "cbc(aes)"),
    disk(
        "adiantum",
        "Adiantum-XChaCha20",
        "xchacha20,aes-adiantum-plain64",
        256,
        "adiantum(xchacha20,aes)",
    ),
    disk(
        "adiantum-12",
        "Adiantum-XChaCha12",
        "xchacha12,aes-adiantum-plain64",
        256,
        "adiantum(xchacha12,aes)",
    ),
    aead("aes-256-gcm", "AES-256-GCM", "aes-gcm-random", 256, ("aead", "gcm(aes)")),
    aead("aegis-128", "AEGIS-128", "aegis128-random", 128, ("aead", "aegis128")),
    aead(
        "chacha20-poly1305",
        "ChaCha20-Poly1305",
        "chacha20-random",
        256,
        ("poly1305", "rfc7539(chacha20,poly1305)"),
    ),
];

/// The cipher with that name.
pub(super) fn find(name: &str) -> Option<&'static KernelCipher> {
    CIPHERS.iter().find(|cipher| cipher.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_shared_ones_have_the_built_in_engines_key_size() {
        for (i, cipher) in CIPHERS.iter().enumerate() {
            assert!(CIPHERS[..i].iter().all(|c| c.name != cipher.name), "{}", cipher.name);
            if let Ok(ours) = cryptbench_cipher::find(cipher.name) {
                assert_eq!(ours.key_bytes as u32 * 8, cipher.key_bits, "{}", cipher.name);
                assert_eq!(ours.label, cipher.label);
            }
        }
        assert!(
            ["aes-256-xts", "serpent-256-xts", "twofish-256-xts", "camellia-256-xts"]
                .iter()
                .all(|name| cryptbench_cipher::find(name).is_ok() && find(name).is_some())
        );
    }
}
