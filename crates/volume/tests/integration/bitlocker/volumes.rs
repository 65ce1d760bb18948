//! Small volumes for the tests.

use std::sync::{Arc, OnceLock};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_volume::format::bitlocker::{CreateOptions, Method, RecoveryPassword, create};
use cryptbench_volume::{Access, Credentials, OpenOptions, Volume, VolumeError, open};

use super::{options, passphrase};

pub const PASSWORD: &str = "grüße an alle";
pub const RECOVERY: &str = "471207-278498-422125-177177-561902-537405-468006-693451";
pub const KIB: usize = 1 << 10;
/// Bytes of a small volume.
pub const SIZE: usize = 2048 * KIB;

pub fn recovery_password() -> RecoveryPassword {
    RecoveryPassword::parse(RECOVERY.as_bytes()).unwrap()
}

pub fn create_options(method: Method, sector: u32) -> CreateOptions<'static> {
    let OpenOptions { tier, effort, .. } = options();
    CreateOptions { method, sector, ..CreateOptions::new(tier, effort) }
}

/// A volume of AES-XTS that the password alone opens. Making one takes a while, so it is made once.
pub fn volume() -> Vec<u8> {
    static VOLUME: OnceLock<Vec<u8>> = OnceLock::new();
    let make = || {
        let device = MemoryDevice::new(vec![0x5a; SIZE]);
        create(&device, &passphrase(PASSWORD), &create_options(Method::Xts128, 512)).unwrap();
        device.contents()
    };
    VOLUME.get_or_init(make).clone()
}

pub fn open_bytes(bytes: &[u8], credentials: &Credentials) -> Result<Volume, VolumeError> {
    open(Arc::new(MemoryDevice::new(bytes.to_vec())), credentials, &options())
}

pub fn open_writable(
    device: &Arc<MemoryDevice>,
    credentials: &Credentials,
) -> Result<Volume, VolumeError> {
    let options = OpenOptions { access: Access::ReadWrite, ..options() };
    open(Arc::clone(device) as Arc<dyn BlockDevice>, credentials, &options)
}

pub fn contents(volume: &Volume) -> Vec<u8> {
    let mut data = vec![0; volume.size() as usize];
    volume.read_at(0, &mut data).unwrap();
    data
}

/// CRC-32 as the metadata have it, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xedb8_8320))
    })
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// First bytes of the copies of the metadata, by the boot sector.
pub fn copies(bytes: &[u8]) -> [usize; 3] {
    std::array::from_fn(|index| u64_at(bytes, 176 + 8 * index) as usize)
}

/// Length of the block in a copy of the metadata.
pub fn block_len(copy: &[u8]) -> usize {
    16 * usize::from(u16::from_le_bytes([copy[8], copy[9]]))
}

/// Changes all copies of the metadata and makes their checksums right, as somebody without the key
/// could.
pub fn edit(bytes: &mut [u8], change: impl Fn(&mut [u8])) {
    for at in copies(bytes) {
        let copy = &mut bytes[at..at + 64 * KIB];
        let len = block_len(copy);
        change(copy);
        let crc = crc32(&copy[..len]);
        copy[len + 4..len + 8].copy_from_slice(&crc.to_le_bytes());
    }
}
