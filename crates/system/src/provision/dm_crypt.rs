//! The parameters of dm-crypt on a device.

/// The parameters of dm-crypt on a device (Linux, Documentation/admin-guide/device-mapper/dm-crypt.rst).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptTable {
    /// Size of the open device in bytes.
    pub bytes: u64,
    /// Cipher and mode in the kernel's notation, such as `aes-xts-plain64`.
    pub cipher: String,
    /// Length of the key in bits, including both halves for XTS; `None` without a key.
    pub key_bits: Option<u32>,
    /// Number of bytes that are encrypted with one tweak.
    pub sector_size: u32,
    /// The number of the underlying device in the kernel: `8:1`.
    pub below: String,
    /// Offset of the payload on that device, in bytes.
    pub offset: u64,
    /// Whether authentication tags are stored between the sectors of the underlying device.
    pub has_integrity: bool,
}
