//! Program and cipher of an encrypted arm, as distinguished in study D.

use cryptbench_catalog::BETWEEN_DRIVERS;

use crate::{Arm, ArmRole};

impl Arm {
    /// The names of the cipher code in use, one by one.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernel_tier.iter().flat_map(|names| names.split(BETWEEN_DRIVERS))
    }

    /// The program and the cipher of an encrypted arm, such as `truecrypt` and `SERPENT`; `None` if the cipher is
    /// not known. For a location that the user prepared, the cipher is the last word of its name, if that word is a
    /// cipher, as in `BestCrypt Serpent`.
    pub fn program_and_cipher(&self) -> Option<(String, String)> {
        if self.role != ArmRole::Encrypted {
            return None;
        }
        let (program, cipher) = match &self.cipher {
            Some(cipher) => (self.system.as_str(), cipher.as_str()),
            None => {
                let parts = self.label.rsplit_once([' ', '/']);
                parts.filter(|(_, last)| is_cipher(last))?
            }
        };
        Some((program.trim().to_owned(), short(cipher)))
    }
}

/// A cipher's short name; `aes-256-xts`, `AES-256` and `AES` have the same short name.
fn short(cipher: &str) -> String {
    const MODES: [&str; 6] = ["XTS", "CBC", "LRW", "ESSIV", "PLAIN", "BITLOCKER"];
    let names: Vec<String> = cipher
        .split('-')
        .filter(|part| !part.is_empty() && part.chars().all(char::is_alphabetic))
        .map(str::to_uppercase)
        .filter(|part| !MODES.contains(&part.as_str()))
        .collect();
    if names.is_empty() { cipher.to_owned() } else { names.join("-") }
}

fn is_cipher(word: &str) -> bool {
    const NAMES: [&str; 6] = ["aes", "serpent", "twofish", "camellia", "kuznyechik", "blowfish"];
    let word = word.to_lowercase();
    NAMES.iter().any(|name| word.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(system: &str, label: &str, cipher: Option<&str>) -> Arm {
        Arm {
            label: label.to_owned(),
            role: ArmRole::Encrypted,
            system: system.to_owned(),
            cipher: cipher.map(str::to_owned),
            ..Arm::default()
        }
    }

    #[test]
    fn programs_and_ciphers_are_told_from_arms_and_from_names_of_places() {
        let of = |arm: &Arm| arm.program_and_cipher().map(|(p, c)| format!("{p}: {c}"));
        let ours = arm("truecrypt", "TrueCrypt, Serpent", Some("serpent-256-xts"));
        assert_eq!(of(&ours).as_deref(), Some("truecrypt: SERPENT"));
        let cascade = arm("veracrypt", "x", Some("aes-twofish-serpent"));
        assert_eq!(of(&cascade).as_deref(), Some("veracrypt: AES-TWOFISH-SERPENT"));
        for name in ["BestCrypt Serpent", "BestCrypt Serpent-256", "BestCrypt/serpent-256-xts"] {
            assert_eq!(of(&arm("paired", name, None)).as_deref(), Some("BestCrypt: SERPENT"));
        }
        assert_eq!(of(&arm("paired", "ext4 /mnt/enc", None)), None);
        assert_eq!(of(&Arm { role: ArmRole::Plain, ..ours }), None);
    }
}
