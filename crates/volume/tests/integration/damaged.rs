//! Headers that were damaged at random by someone who can correct their checksums. They must be processed in
//! bounded time and memory, and a volume that opens nevertheless must be readable or report why not.

use std::sync::Arc;
use std::time::Duration;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_kdf::Derivation;
use cryptbench_prove::{Random, Watch, damage, damage_text, seeds};
use cryptbench_volume::format::bitlocker::RecoveryPassword;
use cryptbench_volume::format::ecryptfs::{Keys, link_target, plain_name};
use cryptbench_volume::format::filevault;
use cryptbench_volume::format::luks::{
    CreateOptions, Limits, LuksOptions, Version, info, open_with,
};
use cryptbench_volume::{
    Access, Credentials, OpenOptions, Part, Secret, Volume, VolumeError, detect, open, partitions,
};
use sha2::{Digest as _, Sha256};

use crate::detect::PLACES;
use crate::filevault as mac;
use crate::filevault::maker::{
    BLOCK, ENCRYPTED, FREE, LABELS, Maker, OBJECT, Stored, encrypted, with_checksum,
};
use crate::luks::volumes::{cheap, passphrase, resources, volume};
use crate::{bitlocker, ecryptfs, freeotfe, tcrypt};

/// An input that takes longer is assumed to hang.
const LIMIT: Duration = Duration::from_secs(20);

/// Limits for the cost of a header: far below the defaults, so that many can be processed.
fn options() -> LuksOptions<'static> {
    let mut resources = resources();
    resources.limits =
        Limits { pbkdf2_iterations: 20_000, argon2_memory_kib: 1024, argon2_work: 4096 };
    if cryptbench_prove::is_broken("limits") {
        resources.limits = Limits {
            pbkdf2_iterations: u64::MAX,
            argon2_memory_kib: u32::MAX,
            argon2_work: u64::MAX,
        };
    }
    LuksOptions { access: Access::ReadOnly, keyslot: None, secondary: false, resources }
}

/// Reads the start, the middle and the end of a volume that opened.
fn read(opened: Result<Volume, VolumeError>) -> bool {
    let Ok(volume) = opened else { return false };
    let sector = volume.sector() as u64;
    let mut bytes = vec![0; volume.sector()];
    for at in [0, volume.size() / 2, volume.size().saturating_sub(1)] {
        let _ = volume.read_at(at / sector * sector, &mut bytes);
    }
    true
}

/// Processes a damaged LUKS header in every possible way.
fn judge(device: &Arc<MemoryDevice>) -> bool {
    let _ = detect::detect(&**device).map(|found| found.kind.to_string());
    let _ = info(&**device);
    read(open_with(Arc::clone(device) as Arc<dyn BlockDevice>, &passphrase("first"), &options()))
}

/// Only the header is written to the device each time. Its key is short, because the keyslot contains a
/// multiple of it.
fn luks(what: &'static str, version: Version, change: impl Fn(&mut [u8], &mut Random)) {
    let device = volume(&CreateOptions { key_bytes: 32, ..cheap(version) });
    let mut header = vec![0; 2 * COPY];
    device.read_at(0, &mut header).unwrap();
    let watch = Watch::new(what, LIMIT);
    for seed in seeds(60) {
        let mut bytes = header.clone();
        change(&mut bytes, &mut Random::new(seed));
        device.write_at(0, &bytes).unwrap();
        watch.judge(seed, || judge(&device));
        cryptbench_prove::count(1, what);
    }
}

#[test]
fn luks1_headers() {
    luks("inputs: LUKS1 headers", Version::Luks1, |bytes, random| {
        // After the magic and the version.
        damage(&mut bytes[8..592], random);
    });
}

const COPY: usize = 16 << 10;

/// Corrects the checksums of both copies.
fn with_checksums(bytes: &mut [u8]) {
    for copy in [0, COPY] {
        bytes[copy + 448..copy + 512].fill(0);
        let digest = Sha256::digest(&bytes[copy..copy + COPY]);
        bytes[copy + 448..copy + 480].copy_from_slice(&digest);
    }
}

#[test]
fn luks2_binary_headers() {
    luks("inputs: LUKS2 binary headers", Version::Luks2, |bytes, random| {
        let seed = random.number();
        for copy in [0, COPY] {
            damage(&mut bytes[copy + 8..copy + 512], &mut Random::new(seed));
        }
        if !random.once_in(4) {
            with_checksums(bytes);
        }
    });
}

#[test]
fn luks2_metadata() {
    luks("inputs: LUKS2 metadata", Version::Luks2, |bytes, random| {
        let area = &bytes[4096..COPY];
        let len = area.iter().position(|byte| *byte == 0).unwrap();
        let mut json = damage_text(&area[..len], random);
        if cryptbench_prove::is_broken("limits") {
            let text = String::from_utf8(area[..len].to_vec()).unwrap();
            json = text.replace("\"iterations\":1000", "\"iterations\":4294967295").into_bytes();
        }
        json.resize(COPY - 4096, 0);
        for copy in [0, COPY] {
            bytes[copy + 4096..copy + COPY].copy_from_slice(&json);
        }
        with_checksums(bytes);
    });
}

#[test]
fn veracrypt_headers_that_are_damaged_before_they_are_encrypted() {
    let watch = Watch::new("veracrypt headers", LIMIT);
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        let mut plain = tcrypt::malformed::lying(|_| {});
        let end = if random.once_in(3) { plain.len() } else { 192 };
        damage(&mut plain[4..end], &mut random);
        if !random.once_in(3) {
            // CRC-32 of the keys is at 8, that of the fields at 188.
            let keys = bitlocker::volumes::crc32(&plain[192..448]);
            plain[8..12].copy_from_slice(&keys.to_be_bytes());
            let fields = bitlocker::volumes::crc32(&plain[..188]);
            plain[188..192].copy_from_slice(&fields.to_be_bytes());
        }
        let hidden = random.once_in(4);
        watch.judge(seed, || {
            let device = tcrypt::malformed::host(if hidden { 65536 } else { 0 }, plain);
            let options = OpenOptions { hidden, ..tcrypt::malformed::sha512() };
            read(tcrypt::open(device, &tcrypt::credentials("p", None), &options))
        });
        cryptbench_prove::count(1, "inputs: VeraCrypt and TrueCrypt headers");
    }
}

/// Mostly by someone who has the key, because otherwise nothing after the sealed digest is read. The key is
/// supplied directly, because stretching a password takes a noticeable part of a second.
#[test]
fn bitlocker_metadata() {
    let (whole, master) = bitlocker::volumes::suspended();
    let device = Arc::new(MemoryDevice::new(whole.clone()));
    let watch = Watch::new("bitlocker metadata", LIMIT);
    let mut bytes = whole.clone();
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        bytes.copy_from_slice(&whole);
        let (seed_of_all, seals) = (random.number(), !random.once_in(4));
        bitlocker::volumes::edit(&mut bytes, |copy| {
            let len = bitlocker::volumes::block_len(copy);
            damage(&mut copy[12..len], &mut Random::new(seed_of_all));
            if seals {
                bitlocker::volumes::seal(copy, &master);
            }
        });
        // Changed last, because the offsets of the copies are read from it.
        if random.once_in(4) {
            damage(&mut bytes[..512], &mut random);
        }
        device.write_at(0, &bytes).unwrap();
        watch.judge(seed, || {
            let _ = detect::detect(&*device).map(|found| found.kind.to_string());
            let _ = cryptbench_volume::format::bitlocker::info(&*device);
            let device: Arc<dyn BlockDevice> = Arc::clone(&device) as _;
            read(open(device, &Credentials::default(), &bitlocker::options()))
        });
        cryptbench_prove::count(1, "inputs: BitLocker metadata");
    }
}

/// A FileVault image, its decrypted objects, and the file with its keys.
type Mac = (Vec<u8>, Vec<[u8; OBJECT]>, Vec<u8>);

fn macs() -> Vec<Mac> {
    let plain = Maker::default();
    let segments = vec![(0, 2, 10, 0), (10, 40, 6, 0), (16, 14, 16, 0)];
    let all = [
        Maker { stored: Stored::Compressed, ..plain.clone() },
        Maker { base: Some(FREE), segments, ..plain.clone() },
        Maker { stored: Stored::Wiped, ..plain },
    ];
    let mac = |maker: &Maker| {
        let (image, file) = maker.make();
        (image, maker.objects(), file)
    };
    all.iter().map(mac).collect()
}

/// Damages the header, a block of the unencrypted metadata or an object, and usually corrects the checksum.
fn damage_mac((image, objects, _): &Mac, random: &mut Random) -> Vec<u8> {
    let mut bytes = image.clone();
    let right = !random.once_in(8);
    match random.below(6) {
        0 => {
            damage(&mut bytes[12..512], random);
            if right {
                with_checksum(&mut bytes[..512]);
            }
        }
        1 => {
            let seed = random.number();
            for at in LABELS.map(|at| at * BLOCK) {
                damage(&mut bytes[at + 8..at + 9000], &mut Random::new(seed));
                if right {
                    with_checksum(&mut bytes[at..at + OBJECT]);
                }
            }
        }
        _ => {
            let chosen = random.below(objects.len());
            let object = &mut objects[chosen].clone();
            // Most of a block consists of zeros.
            let end = object.iter().rposition(|byte| *byte != 0).map_or(64, |last| last + 2);
            damage(&mut object[8..end.min(OBJECT)], random);
            if right {
                with_checksum(object);
            }
            let encrypted = encrypted(chosen, &[*object]);
            for at in ENCRYPTED {
                bytes[at * BLOCK + chosen * OBJECT..][..OBJECT].copy_from_slice(&encrypted);
            }
        }
    }
    bytes
}

#[test]
fn filevault_metadata() {
    let macs = macs();
    let size = macs[0].0.len();
    let device = Arc::new(MemoryDevice::new(vec![0; size]));
    let password = mac::passphrase(mac::maker::PASSWORD);
    let watch = Watch::new("inputs: FileVault metadata", LIMIT);
    for seed in seeds(120) {
        let mut random = Random::new(seed);
        let mac = &macs[seed as usize % macs.len()];
        let bytes = damage_mac(mac, &mut random);
        let mut file = mac.2.clone();
        if random.once_in(3) {
            damage(&mut file, &mut random);
        }
        device.write_at(0, &bytes).unwrap();
        // A password of the volume, or the file and a wrong password.
        let with_file = random.once_in(2).then(|| Credentials {
            keyfiles: vec![Secret::new(file)],
            ..mac::passphrase("another")
        });
        watch.judge(seed, || {
            let _ = detect::detect(&*device).map(|found| found.kind.to_string());
            let _ = filevault::info(&*device);
            let dear = |(derivation, _): &(Derivation, usize)| derivation.work() > 10_000;
            if filevault::derivations(&*device).iter().flatten().any(dear) {
                return false;
            }
            // The format is specified, because a volume without its signature would be tried as VeraCrypt.
            let options = OpenOptions { format: Some("filevault2"), ..mac::options() };
            let device: Arc<dyn BlockDevice> = Arc::clone(&device) as _;
            read(open(device, with_file.as_ref().unwrap_or(&password), &options))
        });
        cryptbench_prove::count(1, "inputs: FileVault metadata");
    }
}

/// Only the property lists, in plaintext as in the decrypted file with a system's keys.
#[test]
fn filevault_property_lists() {
    let image = Maker { stored: Stored::Wiped, ..Maker::default() }.image();
    let plist = Maker::default().property_list();
    let watch = Watch::new("inputs: FileVault property lists", LIMIT);
    let device: Arc<dyn BlockDevice> = Arc::new(MemoryDevice::new(image));
    for seed in seeds(500) {
        let text = damage_text(&plist, &mut Random::new(seed));
        watch.judge(seed, || {
            let credentials =
                Credentials { keyfiles: vec![Secret::new(text)], ..Credentials::default() };
            read(open(Arc::clone(&device), &credentials, &mac::options()))
        });
        cryptbench_prove::count(1, "inputs: FileVault property lists");
    }
}

/// A disk with an MBR, logical partitions, and a GPT at its usual offset.
fn partitioned() -> Vec<u8> {
    let mut disk = vec![0; 64 << 10];
    let entry = |kind: u8, first: u32, sectors: u32| {
        let mut entry = [0; 16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&first.to_le_bytes());
        entry[12..].copy_from_slice(&sectors.to_le_bytes());
        entry
    };
    for (sector, all) in [
        (0, [entry(0x83, 40, 20), entry(0x05, 60, 60)]),
        (60, [entry(0x83, 2, 8), entry(0x05, 20, 30)]),
        (80, [entry(0x83, 2, 8), entry(0, 0, 0)]),
    ] {
        let at = sector * 512 + 446;
        disk[at..at + 32].copy_from_slice(all.as_flattened());
        disk[at + 64..at + 66].copy_from_slice(&[0x55, 0xaa]);
    }
    disk[512..520].copy_from_slice(b"EFI PART");
    disk[512 + 72] = 2;
    disk[512 + 80] = 128;
    disk[512 + 84] = 128;
    disk[1024] = 1;
    disk[1024 + 32] = 40;
    disk[1024 + 40] = 60;
    disk
}

/// Apple's map with three partitions.
fn apple_map() -> [u8; 2048] {
    let mut map = [0; 2048];
    map[..4].copy_from_slice(b"ER\x02\0");
    for (number, (start, blocks)) in (1..).zip([(1_u32, 3_u32), (8, 40), (60, 40)]) {
        let entry = &mut map[512 * number..][..16];
        entry[..4].copy_from_slice(b"PM\0\0");
        entry[4..8].copy_from_slice(&3_u32.to_be_bytes());
        entry[8..12].copy_from_slice(&start.to_be_bytes());
        entry[12..].copy_from_slice(&blocks.to_be_bytes());
    }
    map
}

/// The MBR entry that represents a GPT.
fn protective() -> [u8; 16] {
    let mut entry = [0xff; 16];
    entry[4] = 0xee;
    entry[8..12].copy_from_slice(&1_u32.to_le_bytes());
    entry
}

#[test]
fn partition_tables() {
    let whole = partitioned();
    let watch = Watch::new("inputs: partition tables", LIMIT);
    for seed in seeds(2000) {
        let (mut bytes, mut random) = (whole.clone(), Random::new(seed));
        // Every second disk lacks the GPT's signature, so that the other table is read.
        let what = if seed % 2 == 0 {
            bytes[512] = 0;
            damage(&mut bytes[..512], &mut random);
            damage(&mut bytes[60 * 512..81 * 512], &mut random);
            "inputs: MBR partition tables"
        } else {
            bytes[446 + 32..][..16].copy_from_slice(&protective());
            damage(&mut bytes[520..2048], &mut random);
            "inputs: GPT partition tables"
        };
        watch.judge(seed, || has_partitions(bytes));
        cryptbench_prove::count(1, what);
    }
}

#[test]
fn apple_partition_maps() {
    let mut whole = vec![0; 64 << 10];
    whole[..2048].copy_from_slice(&apple_map());
    let watch = Watch::new("inputs: Apple's partition maps", LIMIT);
    for seed in seeds(2000) {
        let (mut bytes, mut random) = (whole.clone(), Random::new(seed));
        // Most keep the signatures, without which nothing is read.
        for entry in 0..4 {
            let from = 512 * entry + if random.once_in(8) { 0 } else { 2 };
            damage(&mut bytes[from..512 * entry + 64], &mut random);
        }
        watch.judge(seed, || has_partitions(bytes));
        cryptbench_prove::count(1, "inputs: Apple's partition maps");
    }
}

/// Examines every partition.
fn has_partitions(bytes: Vec<u8>) -> bool {
    let device: Arc<dyn BlockDevice> = Arc::new(MemoryDevice::new(bytes));
    let found = partitions(&*device).unwrap();
    for partition in &found {
        let extent = partition.extent;
        assert!(extent.offset + extent.len <= device.size(), "{partition:?}");
        let _ = Part::new(Arc::clone(&device), extent.offset, Some(extent.len))
            .map(|part| detect::detect(&part).map(|found| found.kind.to_string()));
    }
    !found.is_empty()
}

/// Known contents, including disk images of other programs: their magics, and the numbers that are read
/// together with them.
#[test]
fn contents_by_their_magics() {
    let watch = Watch::new("inputs: contents by their magics", LIMIT);
    for seed in seeds(500) {
        let mut random = Random::new(seed);
        let mut bytes = vec![0; 512 * (2 + random.below(192))];
        if random.once_in(2) {
            random.fill(&mut bytes);
        }
        for _ in 0..1 + random.below(3) {
            let (_, place, magic) = *random.one_of(&PLACES);
            // A location beyond the end is moved to an arbitrary one.
            let at = place.rem_euclid(bytes.len() as i64) as usize;
            let at = at.min(bytes.len() - magic.len());
            bytes[at..at + magic.len()].copy_from_slice(magic);
            if !random.once_in(4) {
                let end = bytes.len().min(at + 128);
                damage(&mut bytes[at.saturating_sub(64)..end], &mut random);
            }
        }
        let device = MemoryDevice::new(bytes);
        watch.judge(seed, || {
            let found = detect::detect(&device).unwrap().kind;
            let said = (found.to_string(), found.obstacle().map(|error| error.to_string()));
            assert!(!said.0.is_empty());
            detect::signatures(&device).len()
        });
        cryptbench_prove::count(1, "inputs: contents by their magics");
    }
}

#[test]
fn texts_with_recovery_passwords() {
    let text = "Identifier:\r\n 0123ABCD\r\nKey:\r\n 471207-278498-422125-177177-561902-537405-468006-693451\r\n";
    let whole: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let watch = Watch::new("inputs: recovery texts", LIMIT);
    for seed in seeds(2000) {
        let (mut bytes, mut random) = (whole.clone(), Random::new(seed));
        damage(&mut bytes, &mut random);
        watch.judge(seed, || RecoveryPassword::find(&bytes).is_ok());
        cryptbench_prove::count(1, "inputs: recovery texts");
    }
}

#[test]
fn freeotfe_blocks() {
    let watch = Watch::new("inputs: FreeOTFE blocks", LIMIT);
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        let mode = *random.one_of(&["xts-plain64", "cbc-null"]);
        let mut details = freeotfe::details(mode);
        // The used part is at the start.
        let end = if random.once_in(4) { details.len() } else { 100 };
        damage(&mut details[..end], &mut random);
        let mut block = freeotfe::block(mode, &details);
        if random.once_in(8) {
            damage(&mut block, &mut random);
        }
        let bytes = if random.once_in(4) { random.below(512 + 64 * 512) } else { 512 + 64 * 512 };
        watch.judge(seed, || read(freeotfe::opened_block(&block, bytes as u64)));
        cryptbench_prove::count(1, "inputs: FreeOTFE blocks");
    }
}

#[test]
fn ecryptfs_files() {
    let whole = [ecryptfs::ONE, &ecryptfs::ONE[8192..]].concat();
    let mut keys = ecryptfs::keys(ecryptfs::PASSPHRASE);
    let watch = Watch::new("inputs: eCryptfs files", LIMIT);
    for seed in seeds(2000) {
        let (mut bytes, mut random) = (whole.clone(), Random::new(seed));
        // Usually after the size and the marker.
        let start = if random.once_in(4) { 0 } else { 16 };
        damage(&mut bytes[start..120], &mut random);
        if random.once_in(4) {
            bytes.truncate((random.number() % 16384) as usize);
        }
        watch.judge(seed, || ecryptfs::opened(&bytes, &mut keys).is_ok());
        cryptbench_prove::count(1, "inputs: eCryptfs files");
    }
}

#[test]
fn ecryptfs_names() {
    let mut keys = ecryptfs::keys(ecryptfs::PASSPHRASE);
    let watch = Watch::new("inputs: eCryptfs names", LIMIT);
    for seed in seeds(2000) {
        let (mut name, mut random) = (ecryptfs::NAME.to_vec(), Random::new(seed));
        damage(&mut name[24..], &mut random);
        if random.once_in(4) {
            name.truncate((random.number() % 100) as usize);
        }
        watch.judge(seed, || {
            let _ = link_target(&name, &mut keys);
            let plain = plain_name(&name, &mut keys);
            assert!(plain.as_ref().is_ok_and(|name| !name.contains(&b'/')) || plain.is_err());
            plain.is_ok()
        });
        cryptbench_prove::count(1, "inputs: eCryptfs names");
    }
}

#[test]
fn ecryptfs_wrapped_passphrases() {
    let tier = cryptbench_cipher::tier().unwrap();
    let opens = |wrapped: Vec<u8>| {
        let credentials = Credentials {
            keyfiles: vec![Secret::new(wrapped)],
            passphrase: Secret::new(ecryptfs::LOGIN.to_vec()),
            ..Credentials::default()
        };
        Keys::of(&credentials, tier).is_ok()
    };
    assert!(opens(ecryptfs::WRAPPED.to_vec()));
    let watch = Watch::new("inputs: eCryptfs wrapped passphrases", LIMIT);
    for seed in seeds(500) {
        let mut random = Random::new(seed);
        let mut wrapped = ecryptfs::WRAPPED.to_vec();
        damage(&mut wrapped, &mut random);
        // Deriving a key takes a while, so most have an invalid signature or length.
        match random.below(64) {
            0 => {}
            1..32 => wrapped[10 + random.below(16)] = b'g',
            _ => wrapped.resize(random.below(8) * 16 + random.below(16), b'a'),
        }
        watch.judge(seed, || opens(wrapped));
        cryptbench_prove::count(1, "inputs: eCryptfs wrapped passphrases");
    }
}
