//! `EncryptedRoot.plist.wipekey`: the encryption context of a Mac's system volume, in a separate file.

use cryptbench_cipher::{CipherError, Layout, Tier, dm_crypt};

use super::context::Context;
use super::header::Header;
use super::plist::Plist;
use super::{CIPHER, KEY};
use crate::VolumeError;

/// Bytes of a cipher block.
const BLOCK: usize = 16;

/// The context in the file, encrypted as on the partition or already decrypted.
///
/// # Errors
/// [`VolumeError::Invalid`] if it does not belong to this volume.
pub(super) fn context(file: &[u8], header: &Header, tier: Tier) -> Result<Context, VolumeError> {
    let invalid = |why: String| {
        let what =
            "the key file is neither a volume key nor this volume's EncryptedRoot.plist.wipekey";
        VolumeError::Invalid(format!("{what}: {why}"))
    };
    if file.trim_ascii_start().starts_with(b"<") {
        return Ok(Context::of(&Plist::parse(file).map_err(invalid)?));
    }
    let mut plain = file.to_vec();
    if plain.len() < BLOCK || decrypt(&mut plain, &header.key, tier).is_err() {
        return Err(invalid(format!("it has {} bytes", file.len())));
    }
    Ok(Context::of(&Plist::parse(&plain).map_err(invalid)?))
}

/// Decrypts AES-XTS as a single data unit with tweak 0 and a tweak key of zeros. The final partial block uses
/// ciphertext stealing (IEEE 1619-2018, 5.4.2).
fn decrypt(data: &mut [u8], key: &[u8; KEY], tier: Tier) -> Result<(), CipherError> {
    let key = [*key, [0; KEY]].concat();
    let unit = |data: &mut [u8]| {
        let layout = Layout { data_unit: data.len(), tweak_step: 1 };
        dm_crypt(CIPHER.0, CIPHER.1, &key, layout, tier).map(|c| c.decrypt_in_place(0, data))
    };
    let rest = data.len() % BLOCK;
    if rest == 0 {
        return unit(data);
    }
    let last = data.len() - rest - BLOCK;
    // The last whole block uses the next tweak.
    let mut long = vec![0; last + 2 * BLOCK];
    long[last + BLOCK..].copy_from_slice(&data[last..last + BLOCK]);
    unit(&mut long)?;
    let end = &long[last + BLOCK..];
    let mut before = data[..last + BLOCK].to_vec();
    before[last..last + rest].copy_from_slice(&data[last + BLOCK..]);
    before[last + rest..].copy_from_slice(&end[rest..]);
    unit(&mut before)?;
    data[..last + BLOCK].copy_from_slice(&before);
    data[last + BLOCK..].copy_from_slice(&end[..rest]);
    Ok(())
}
