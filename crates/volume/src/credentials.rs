//! What a user knows and has: passphrase, key files, PIM.

use zeroize::Zeroizing;

/// Bytes that are wiped when dropped and never printed.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes over `bytes`.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What unlocks a volume.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The passphrase; empty where key files alone unlock.
    pub passphrase: Secret,
    /// Contents of the key files, in the order given (VeraCrypt's result does not depend on it; LUKS
    /// takes exactly one, in place of the passphrase). VeraCrypt reads at most the first MiB of each.
    pub keyfiles: Vec<Secret>,
    /// VeraCrypt's personal iterations multiplier; `None` and 0 mean the default cost.
    pub pim: Option<u32>,
}
