//! Small volumes for the tests.

use std::sync::{Arc, OnceLock};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_cipher::AesCcm;
use cryptbench_volume::format::bitlocker::{CreateOptions, Method, RecoveryPassword, create};
use cryptbench_volume::{Access, Credentials, OpenOptions, Volume, VolumeError, open};
use sha2::{Digest as _, Sha256};

use super::{options, passphrase};

pub const PASSWORD: &str = "grüße an alle";
pub const RECOVERY: &str = "471207-278498-422125-177177-561902-537405-468006-693451";
pub const KIB: usize = 1 << 10;
/// Size of a small volume in bytes.
pub const SIZE: usize = 2048 * KIB;

pub fn recovery_password() -> RecoveryPassword {
    RecoveryPassword::parse(RECOVERY.as_bytes()).unwrap()
}

pub fn create_options(method: Method, sector: u32) -> CreateOptions<'static> {
    let OpenOptions { tier, effort, .. } = options();
    CreateOptions { method, sector, ..CreateOptions::new(tier, effort) }
}

/// An AES-XTS volume that only a password opens. Creating one takes a while, so it is created once.
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

/// CRC-32 as in the metadata, computed bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xedb8_8320))
    })
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Offsets of the metadata copies, according to the boot sector.
pub fn copies(bytes: &[u8]) -> [usize; 3] {
    std::array::from_fn(|index| u64_at(bytes, 176 + 8 * index) as usize)
}

/// Length of the block in a copy of the metadata.
pub fn block_len(copy: &[u8]) -> usize {
    16 * usize::from(u16::from_le_bytes([copy[8], copy[9]]))
}

/// Changes all copies of the metadata and corrects their checksums, as anyone without the key could.
pub fn edit(bytes: &mut [u8], change: impl Fn(&mut [u8])) {
    for at in copies(bytes) {
        let copy = &mut bytes[at..at + 64 * KIB];
        let len = block_len(copy);
        change(copy);
        let crc = crc32(&copy[..len]);
        copy[len + 4..len + 8].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The entries in `bytes`, starting at `at`: offset, role and kind, and length.
fn entries(bytes: &[u8], mut at: usize) -> Vec<(usize, [u16; 2], usize)> {
    let number = |at: usize| {
        bytes.get(at..at + 2).map_or(0, |two| u16::from(two[0]) | u16::from(two[1]) << 8)
    };
    let mut all = Vec::new();
    while number(at) > 0 {
        let len = usize::from(number(at));
        all.push((at, [number(at + 2), number(at + 4)], len));
        at += len;
    }
    all
}

/// The sealed content of the entry that begins here, unsealed with `key`.
fn unsealed(entry: &[u8], key: &[u8]) -> Vec<u8> {
    let (nonce, tag) = (entry[8..20].try_into().unwrap(), entry[20..36].try_into().unwrap());
    let mut plain = entry[36..].to_vec();
    assert!(AesCcm::new(key, options().tier).unwrap().open(nonce, tag, &mut plain));
    plain[12..].to_vec()
}

/// [`volume`] with its protection suspended, so that it opens without a password, and its master key.
pub fn suspended() -> (Vec<u8>, Vec<u8>) {
    let mut bytes = volume();
    let copy = &bytes[copies(&bytes)[0]..][..64 * KIB];
    let block = &copy[..block_len(copy)];
    let protector = entries(block, 112).into_iter().find(|(_, what, _)| *what == [2, 8]).unwrap();
    let (at, _, len) = protector;
    let properties = entries(&block[..at + len], at + 8 + 28);
    let of_kind = |kind: u16| *properties.iter().find(|(_, what, _)| what[1] == kind).unwrap();
    let (stretched, _, room) = of_kind(3);
    let (sealed, _, sealed_len) = of_kind(5);
    let utf16: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let hash = Sha256::digest(Sha256::digest(utf16)).into();
    let salt = block[stretched + 12..stretched + 28].try_into().unwrap();
    let key = cryptbench_kdf::bitlocker(&hash, salt, options().effort).unwrap();
    let master = unsealed(&block[sealed..sealed + sealed_len], &*key);
    edit(&mut bytes, |copy| {
        copy[at + 8 + 26..at + 8 + 28].fill(0);
        // The key instead of the salt, and a text in the remaining space.
        let numbers = |numbers: [u16; 4]| numbers.map(u16::to_le_bytes).concat();
        let clear = [numbers([44, 0, 1, 1]), vec![0; 4], key.to_vec()].concat();
        copy[stretched..stretched + 44].copy_from_slice(&clear);
        let rest = numbers([room as u16 - 44, 0, 2, 1]);
        copy[stretched + 44..stretched + 52].copy_from_slice(&rest);
        seal(copy, &master);
    });
    (bytes, master)
}

/// Corrects the sealed digest of a copy of the metadata.
pub fn seal(copy: &mut [u8], master: &[u8]) {
    let at = block_len(copy) + 8;
    let mut plain =
        [[44, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0].to_vec(), Sha256::digest(&copy[..at - 8]).to_vec()]
            .concat();
    let nonce = copy[at + 8..at + 20].try_into().unwrap();
    let tag = AesCcm::new(master, options().tier).unwrap().seal(&nonce, &mut plain);
    copy[at + 20..at + 36].copy_from_slice(&tag);
    copy[at + 36..at + 80].copy_from_slice(&plain);
}

#[test]
fn what_is_sealed_by_the_tests_opens() {
    let (mut bytes, master) = suspended();
    let nothing = Credentials::default();
    assert_eq!(
        contents(&open_bytes(&bytes, &nothing).unwrap()),
        contents(&open_bytes(&volume(), &passphrase(PASSWORD)).unwrap())
    );
    // The name in the description, which only the digest protects.
    edit(&mut bytes, |copy| copy[120] ^= 1);
    assert!(open_bytes(&bytes, &nothing).is_err());
    edit(&mut bytes, |copy| seal(copy, &master));
    open_bytes(&bytes, &nothing).unwrap();
}
