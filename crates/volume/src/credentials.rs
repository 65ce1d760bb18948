//! What a user knows and has: passphrase, key files, PIM.

use cryptbench_blockdev::LockedBytes;
use zeroize::Zeroize as _;

/// Bytes that are kept from swap, wiped when dropped and never printed.
#[derive(Clone, Default)]
pub struct Secret(LockedBytes);

impl Secret {
    /// Takes over `bytes`, which are wiped where they lie.
    #[must_use]
    pub fn new(mut bytes: Vec<u8>) -> Self {
        let secret = Self(LockedBytes::copy_of(&bytes));
        bytes.zeroize();
        secret
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<LockedBytes> for Secret {
    fn from(bytes: LockedBytes) -> Self {
        Self(bytes)
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
