//! The function of dm-crypt on a device.

/// The function of dm-crypt on a device (Linux, Documentation/admin-guide/device-mapper/dm-crypt.rst).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptTable {
    /// Bytes of the open device.
    pub bytes: u64,
    /// Cipher and mode by their names in the kernel, such as `aes-xts-plain64`.
    pub cipher: String,
    /// Bits of the key, both halves of XTS counted; `None` without one.
    pub key_bits: Option<u32>,
    /// Bytes that are encrypted under one tweak.
    pub sector_size: u32,
    /// The device below, as the kernel numbers it: `8:1`.
    pub below: String,
    /// Offset of the payload on that device, in bytes.
    pub offset: u64,
    /// Whether authentication tags are stored between the sectors below.
    pub has_integrity: bool,
}
