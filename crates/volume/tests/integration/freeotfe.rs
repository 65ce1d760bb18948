//! Volumes of LibreCrypt.

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_cipher::tier;
use cryptbench_kdf::Effort;
use cryptbench_volume::{Credentials, OpenOptions, Secret, Volume, VolumeError, open};

/// The start of a volume that LibreCrypt made, its passphrase, bytes of data, and what opens it.
pub const ALL: [(&[u8], &[u8], u64, &str); 2] = [
    (include_bytes!("../fixtures/freeotfe/a.start"), b"password", 1 << 20, "aes-xts-plain64"),
    // In Windows' code page.
    (
        include_bytes!("../fixtures/freeotfe/c.start"),
        b"!\"\xa3$%^&*()",
        1 << 20,
        "des3_ede-cbc-plain",
    ),
];

/// The volume with zeros for all but its start.
pub fn opened(start: &[u8], bytes: u64, passphrase: &[u8]) -> Result<Volume, VolumeError> {
    let mut whole = start.to_vec();
    whole.resize(usize::try_from(bytes).unwrap(), 0);
    let passphrase = Secret::new(passphrase.to_vec());
    let credentials = Credentials { passphrase, ..Credentials::default() };
    let effort = Effort::new(tier().unwrap(), 1);
    let options =
        OpenOptions { format: Some("freeotfe"), ..OpenOptions::new(tier().unwrap(), effort) };
    open(Arc::new(MemoryDevice::new(whole)), &credentials, &options)
}

#[test]
fn volumes_of_librecrypt_open_to_their_boot_sector() {
    for (start, passphrase, bytes, cipher) in ALL {
        let volume = opened(start, 512 + bytes, passphrase).unwrap();
        assert_eq!(volume.info().cipher, cipher);
        assert_eq!((volume.size(), volume.is_read_only()), (bytes, true), "{cipher}");
        let mut sector = [0; 512];
        volume.read_at(0, &mut sector).unwrap();
        assert_eq!(sector[3..11], *b"MSDOS5.0", "{cipher}");
        assert_eq!(sector[510..], [0x55, 0xaa], "{cipher}");
    }
}

#[test]
fn nothing_else_opens_it() {
    let (start, passphrase, bytes, _) = ALL[0];
    let wrong = opened(start, 512 + bytes, b"Password").map(drop).unwrap_err();
    assert!(matches!(wrong, VolumeError::NoKeyFits(_)), "{wrong}");
    let mut damaged = start.to_vec();
    damaged[100] ^= 1;
    let wrong = opened(&damaged, 512 + bytes, passphrase).map(drop).unwrap_err();
    assert!(matches!(wrong, VolumeError::NoKeyFits(_)), "{wrong}");
    let cut = opened(start, 4096, passphrase).unwrap();
    assert_eq!((cut.size(), cut.info().warnings().count()), (3584, 1));
}

#[test]
fn it_is_never_written() {
    let (start, passphrase, bytes, _) = ALL[1];
    let volume = opened(start, 512 + bytes, passphrase).unwrap();
    assert!(volume.write_at(0, &[0; 512]).is_err());
}
