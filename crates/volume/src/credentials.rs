//! A user's credentials: passphrase, key files, PIM, recovery password and startup key.

use cryptbench_blockdev::LockedBytes;
use zeroize::Zeroize as _;

/// Secret bytes that are kept out of swap, wiped when dropped, and never printed.
#[derive(Clone, Default)]
pub struct Secret(LockedBytes);

impl Secret {
    /// Moves `bytes` into locked memory and wipes the original.
    pub fn new(mut bytes: Vec<u8>) -> Self {
        let secret = Self(LockedBytes::copy_of(&bytes));
        bytes.zeroize();
        secret
    }

    /// The bytes.
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

/// The secrets that unlock a volume.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The passphrase; empty if key files are sufficient to unlock the volume.
    pub passphrase: Secret,
    /// Contents of the key files, in the given order. The order does not affect VeraCrypt's result, and
    /// VeraCrypt reads at most the first MiB of each. LUKS uses exactly one key file, instead of the
    /// passphrase. FileVault's key file contains the volume key, or the keys that the passphrase decrypts.
    pub keyfiles: Vec<Secret>,
    /// VeraCrypt's personal iterations multiplier; `None` and 0 mean the default cost.
    pub pim: Option<u32>,
    /// The recovery password: for BitLocker 48 digits in groups of six, for FileVault 24 letters and digits in
    /// groups of four.
    pub recovery_password: Option<Secret>,
    /// BitLocker: contents of a startup key file (`.BEK`).
    pub startup_key: Option<Secret>,
}
