//! Creates small volumes according to the description of the format, without using the parser. Everything is
//! written where libfvde's document says.

use base64ct::{Base64, Encoding as _};
use cryptbench_cipher::{Layout, SectorCipher, Tier, dm_crypt};
use cryptbench_kdf::Effort;
use sha2::{Digest as _, Sha256};

pub const PASSWORD: &str = "grüße an alle";
pub const RECOVERY: &str = "35AJ-AC98-TI1H-N4M3-HDUQ-UQFG";
pub const BLOCK: usize = 4096;
/// Size of a metadata block in bytes.
pub const OBJECT: usize = 8192;
/// First blocks of the copies of the unencrypted metadata, and of the encrypted metadata.
pub const LABELS: [usize; 4] = [1, 5, 9, 13];
pub const ENCRYPTED: [usize; 2] = [17, 49];
/// Number of blocks per copy.
const LABEL_BLOCKS: usize = 4;
const ENCRYPTED_BLOCKS: usize = 32;
/// Total number of blocks.
pub const BLOCKS: usize = 160;
/// The first block that does not belong to the metadata.
pub const FREE: u64 = 96;

const KEY: [u8; 16] = *b"key of metadata!";
pub const PHYSICAL: [u8; 16] = *b"\xfc\x52\xbf\xae\x5a\x1f\x4f\x9b\xb3\xa6\xf3\x33\x03\xa0\xe4\x01";
const GROUP: &str = "D1CC2D07-0A69-4E73-9472-DAB3DAD5E939";
pub const FAMILY: [u8; 16] = *b"\x33\xa7\x6c\xaa\x14\x81\x4b\xc5\x8d\x04\x1a\xc1\x70\x7c\x19\xc0";
const FAMILY_TEXT: &str = "33A76CAA-1481-4BC5-8D04-1AC1707C19C0";
const VOLUME: &str = "E82EC3B4-6FA6-4A43-AA98-ECA628DD3941";
/// The key that passwords wrap, and the key that it wraps.
const KEK: [u8; 16] = [0x4b; 16];
pub const MASTER: [u8; 16] = *b"the volume's key";

/// A user: type, password, iterations.
pub type User = (u32, &'static str, u32);

/// Types of users, as written by macOS.
pub const OF_VOLUME: u32 = 0x1000_0001;
pub const OF_RECOVERY: u32 = 0x1001_0005;

/// How the names and values of the family are stored.
#[derive(Clone, Copy, PartialEq)]
pub enum Stored {
    Plain,
    /// Compressed, in several blocks.
    Compressed,
    /// Wiped, as for a Mac's system volume, whose keys are in a file.
    Wiped,
}

/// The volume to create. Offsets and lengths of segments are in blocks.
#[derive(Clone)]
pub struct Maker {
    pub users: Vec<User>,
    pub stored: Stored,
    /// Logical block, physical block, number of blocks, number of the physical volume.
    pub segments: Vec<(u64, u64, u32, u16)>,
    pub base: Option<u64>,
    pub state: &'static str,
    pub algorithm: &'static str,
    pub physical_volumes: usize,
    pub blocks: u64,
    pub sector: u32,
    /// The key that is wrapped in the context. If it is not that of the data, it belongs to another volume.
    pub wrapped: [u8; 16],
    /// Number of bytes after the last whole cipher block in the file with a system's keys.
    pub file_rest: usize,
}

impl Default for Maker {
    fn default() -> Self {
        Self {
            users: vec![(OF_VOLUME, PASSWORD, 20), (OF_RECOVERY, RECOVERY, 10)],
            stored: Stored::Plain,
            segments: vec![(0, FREE, 32, 0)],
            base: None,
            state: "Complete",
            algorithm: "AES-XTS",
            physical_volumes: 1,
            blocks: 32,
            sector: 512,
            wrapped: MASTER,
            file_rest: 0,
        }
    }
}

impl Maker {
    pub fn plaintext(&self) -> Vec<u8> {
        let len = self.blocks as usize * BLOCK;
        let mut plain: Vec<u8> = (0..len).map(|i| (i / 512 * 7 + i) as u8).collect();
        // The first bytes of HFS+.
        plain[1024..1028].copy_from_slice(b"H+\0\x04");
        plain
    }

    /// The volume, and the file with its keys.
    pub fn make(&self) -> (Vec<u8>, Vec<u8>) {
        let mut image = vec![0; BLOCKS * BLOCK];
        self.write_data(&mut image);
        let objects = self.objects();
        for at in ENCRYPTED {
            let encrypted = encrypted(0, &objects);
            image[at * BLOCK..at * BLOCK + encrypted.len()].copy_from_slice(&encrypted);
        }
        for at in LABELS {
            let label = self.label();
            image[at * BLOCK..at * BLOCK + label.len()].copy_from_slice(&label);
        }
        let header = self.header();
        let last = image.len() - 512;
        image[..512].copy_from_slice(&header);
        image[last..].copy_from_slice(&header);
        (image, self.wipekey())
    }

    pub fn image(&self) -> Vec<u8> {
        self.make().0
    }

    fn write_data(&self, image: &mut [u8]) {
        let plain = self.plaintext();
        let cipher = xts(&volume_key(), 512);
        for (logical, physical, blocks, _) in &self.segments {
            let at = (self.base.unwrap_or(0) + physical) as usize * BLOCK;
            let from = *logical as usize * BLOCK;
            let Some(plain) = plain.get(from..) else { continue };
            let len = (*blocks as usize * BLOCK).min(plain.len());
            let Some(there) = image.get_mut(at..at + len) else { continue };
            there.copy_from_slice(&plain[..len]);
            cipher.encrypt_in_place(from as u64 / 512, there);
        }
    }

    fn header(&self) -> [u8; 512] {
        let mut header = [0; 512];
        put(&mut header, 8, &1_u16.to_le_bytes());
        put(&mut header, 10, &0x10_u16.to_le_bytes());
        put(&mut header, 12, &0x0227_0000_u32.to_le_bytes());
        put(&mut header, 16, &1_u64.to_le_bytes());
        put(&mut header, 48, &self.sector.to_le_bytes());
        put(&mut header, 64, &((BLOCKS * BLOCK) as u64).to_le_bytes());
        put(&mut header, 88, b"CS");
        put(&mut header, 90, &1_u32.to_le_bytes());
        put(&mut header, 94, &4_u16.to_le_bytes());
        put(&mut header, 96, &(BLOCK as u32).to_le_bytes());
        put(&mut header, 100, &((LABEL_BLOCKS * BLOCK) as u32).to_le_bytes());
        for (index, at) in LABELS.iter().enumerate() {
            put(&mut header, 104 + 8 * index, &(*at as u64).to_le_bytes());
        }
        put(&mut header, 168, &16_u32.to_le_bytes());
        put(&mut header, 172, &2_u32.to_le_bytes());
        put(&mut header, 176, &KEY);
        put(&mut header, 304, &PHYSICAL);
        put(&mut header, 320, &uuid(GROUP));
        with_checksum(&mut header);
        header
    }

    fn label(&self) -> Vec<u8> {
        let mut label = vec![0; LABEL_BLOCKS * BLOCK];
        let all: String = (0..self.physical_volumes)
            .map(|index| {
                format!(
                    "<string>{:08X}-5A1F-4F9B-B3A6-F33303A0E401</string>",
                    0xfc52_bfae_u32 ^ index as u32
                )
            })
            .collect();
        let plist = format!(
            "<dict><key>com.apple.corestorage.label.sequence</key><integer size=\"32\">0x3</integer>\
             <key>com.apple.corestorage.lvg.uuid</key><string>{GROUP}</string>\
             <key>com.apple.corestorage.lvg.name</key><string>TestLVG</string>\
             <key>com.apple.corestorage.lvg.physicalVolumes</key><array>{all}</array></dict>"
        );
        let descriptor = OBJECT;
        let text = descriptor + 48;
        let mut data = vec![0; OBJECT - 64];
        put(&mut data, 0, &((LABEL_BLOCKS * BLOCK) as u32).to_le_bytes());
        put(&mut data, 4, &3_u32.to_le_bytes());
        put(&mut data, 156, &(descriptor as u32).to_le_bytes());
        put(&mut data, 160, &(text as u32).to_le_bytes());
        put(&mut data, 164, &(plist.len() as u32).to_le_bytes());
        put(&mut data, 168, &(plist.len() as u32).to_le_bytes());
        put(&mut data, 176, &(BLOCKS as u64).to_le_bytes());
        label[..OBJECT].copy_from_slice(&object(0x11, 6, 0, 0, &data));
        put(&mut label, descriptor + 8, &(ENCRYPTED_BLOCKS as u64).to_le_bytes());
        put(&mut label, descriptor + 32, &(ENCRYPTED[0] as u64).to_le_bytes());
        put(&mut label, descriptor + 40, &(ENCRYPTED[1] as u64).to_le_bytes());
        put(&mut label, text, plist.as_bytes());
        label
    }

    /// The objects, decrypted and in order.
    pub fn objects(&self) -> Vec<[u8; OBJECT]> {
        // Kind, transaction, identifier, contents.
        let mut all: Vec<(u16, u64, u64, Vec<u8>)> = Vec::new();
        let mut families = vec![0; 24];
        families[0] = 1;
        families[8] = FAMILY_ID as u8;
        all.push((0x105, 4, 7, families));
        // An older state, with other offsets.
        all.push((0x305, 3, SEGMENTS_ID, segments(&[(0, 3, self.blocks as u32, 0)])));
        all.push((0x305, 6, SEGMENTS_ID, segments(&self.segments)));
        if let Some(base) = self.base {
            let mut data = vec![0; 24];
            data[0] = 1;
            put(&mut data, 8, &(BLOCKS as u64 - base).to_le_bytes());
            put(&mut data, 16, &base.to_le_bytes());
            all.push((0x505, 6, BASE_ID, data));
        }
        self.family(&mut all);
        let logical = |size: u64| {
            let text = self.logical(size);
            let mut data = vec![0; 128];
            put(&mut data, 0, &FAMILY_ID.to_le_bytes());
            put(&mut data, 8, &SEGMENTS_ID.to_le_bytes());
            put(&mut data, 40, &(if self.base.is_some() { BASE_ID } else { 0 }).to_le_bytes());
            for (at, number) in
                [(56, text.len()), (60, text.len()), (64, 64 + 128), (68, text.len())]
            {
                put(&mut data, at, &(number as u32).to_le_bytes());
            }
            [data, text].concat()
        };
        let size = self.blocks * BLOCK as u64;
        all.push((0x1a, 5, 11, logical(BLOCK as u64)));
        all.push((0x1a, 7, 11, logical(size)));
        let numbered = all.into_iter().enumerate();
        let mut objects: Vec<_> = numbered
            .map(|(number, (kind, transaction, id, data))| {
                object(kind, transaction, id, number, &data)
            })
            .collect();
        if self.stored == Stored::Wiped {
            for object in objects.iter_mut().filter(|object| matches!(object[10], 0x19 | 0x24)) {
                object[..8].copy_from_slice(b"LVFwiped");
                object[64..].fill(0);
            }
        }
        objects
    }

    /// The names and values of the family, in one or several objects.
    fn family(&self, all: &mut Vec<(u16, u64, u64, Vec<u8>)>) {
        let text = format!(
            "<dict ID=\"0\"><key>com.apple.corestorage.lvf.encryption.context</key>{}\
             <key>DefaultEncryptionContext</key><integer size=\"32\" ID=\"90\">0x1</integer>\
             <key>com.apple.corestorage.lvf.uuid</key><string ID=\"91\">{FAMILY_TEXT}</string></dict>\0",
            self.context(true)
        );
        let plain = text.into_bytes();
        let stored = match self.stored {
            Stored::Compressed => miniz_oxide::deflate::compress_to_vec_zlib(&plain, 6),
            _ => plain.clone(),
        };
        let most = 7000;
        let mut parts: Vec<&[u8]> = stored.chunks(most).collect();
        let first = parts.remove(0);
        let mut data = vec![0; 880];
        let next = if parts.is_empty() { 0 } else { FIRST_MORE_ID };
        for (at, id) in [(0, 1), (8, 1), (16, 13), (24, 12), (32, next)] {
            put(&mut data, at, &u64::to_le_bytes(id));
        }
        for (at, number) in [(40, stored.len()), (44, plain.len()), (48, 944), (52, first.len())] {
            put(&mut data, at, &(number as u32).to_le_bytes());
        }
        all.push((0x19, 6, FAMILY_ID, [data, first.to_vec()].concat()));
        for (index, part) in parts.iter().enumerate() {
            let id = FIRST_MORE_ID + index as u64;
            let next = if index + 1 == parts.len() { 0 } else { id + 1 };
            let mut data = next.to_le_bytes().to_vec();
            data.extend((part.len() as u32).to_le_bytes());
            data.extend([0; 4]);
            data.extend_from_slice(part);
            all.push((0x24, 6, id, data));
        }
    }

    fn logical(&self, size: u64) -> Vec<u8> {
        let name = |name: &str| format!("<key>com.apple.corestorage.lv.{name}</key>");
        let mut text = "<dict ID=\"0\">".to_owned();
        for (key, value) in [
            ("groupUUID", GROUP),
            ("familyUUID", FAMILY_TEXT),
            ("contenthint", "Apple_HFS"),
            ("name", "Ünbenannt"),
            ("uuid", VOLUME),
        ] {
            text += &format!("{}<string ID=\"1\">{value}</string>", name(key));
        }
        text +=
            &format!("{}<integer size=\"64\" ID=\"8\">{size:#x}</integer></dict>\0", name("size"));
        text.into_bytes()
    }

    /// The encryption context, in CoreStorage's form or in that of the file.
    fn context(&self, numbered: bool) -> String {
        let id = |number: u32| if numbered { format!(" ID=\"{number}\"") } else { String::new() };
        let mut users = String::new();
        for (index, (kind, password, iterations)) in self.users.iter().enumerate() {
            let sealed =
                Base64::encode_string(&passphrase_wrapped(password, *iterations, index as u8));
            let id = |number: u32| id(100 * (index as u32 + 1) + number);
            // An incompressible picture makes it long.
            let icon: Vec<u8> =
                (0..9000_u32).flat_map(|i| Sha256::digest(i.to_le_bytes())[..1].to_vec()).collect();
            let icon = match self.stored {
                Stored::Compressed => Base64::encode_string(&icon),
                _ => String::new(),
            };
            users += &format!(
                "<dict{}><key>PassphraseWrappedKEKStruct</key><data{}>{sealed}</data>\
                 <key>UserType</key><integer size=\"32\"{}>{kind:#x}</integer>\
                 <key>UserIdent</key><string{}>A27BFBF4-5E71-499E-A50E-0F3C9A93A65E</string>\
                 <key>PassphraseHint</key><string{}>what it is</string><key>UserIcon</key><data{}>{icon}</data></dict>",
                id(0),
                id(1),
                id(2),
                id(3),
                id(4),
                id(5)
            );
        }
        let key = match self.algorithm {
            "None" => String::new(),
            _ => Base64::encode_string(&kek_wrapped(&self.wrapped)),
        };
        format!(
            "<dict{}><key>CryptoUsers</key><array{}>{users}</array>\
             <key>WrappedVolumeKeys</key><array{}>\
             <dict{}><key>BlockAlgorithm</key><string{}>None</string><key>KEKWrappedVolumeKeyStruct</key><data{}></data></dict>\
             <dict{}><key>BlockAlgorithm</key><string{}>{}</string><key>KEKWrappedVolumeKeyStruct</key><data{}>{key}</data></dict>\
             </array><key>ConversionInfo</key><dict{}><key>ConversionStatus</key><string{}>{}</string></dict></dict>",
            id(1),
            id(2),
            id(3),
            id(4),
            id(5),
            id(6),
            id(7),
            id(8),
            self.algorithm,
            id(9),
            id(10),
            id(11),
            self.state
        )
    }

    /// The keys of a system volume, as in the decrypted file.
    pub fn property_list(&self) -> Vec<u8> {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"x\">\n\
             <plist version=\"1.0\">\n{}\n</plist>\n",
            self.context(false)
        )
        .into_bytes()
    }

    /// The same, encrypted as on the partition Recovery HD.
    fn wipekey(&self) -> Vec<u8> {
        const END: &str = "</plist>\n";
        let mut text = self.property_list();
        text.truncate(text.len() - END.len());
        let whole = (text.len() + END.len()).next_multiple_of(16);
        text.resize(whole + self.file_rest - END.len(), b' ');
        text.extend(END.bytes());
        let cipher = |len: usize| xts(&[KEY, [0; 16]].concat(), len);
        cipher(whole).encrypt_in_place(0, &mut text[..whole]);
        if self.file_rest > 0 {
            // IEEE 1619-2018, 5.3.2: the remainder is filled up with the end of the last block and stored in
            // its place.
            let last = text.split_off(whole - 16);
            let (stolen, rest) = last.split_at(16);
            let mut long = vec![0; whole + 16];
            put(&mut long, whole, &[rest, &stolen[rest.len()..]].concat());
            cipher(whole + 16).encrypt_in_place(0, &mut long);
            text.extend(&long[whole..]);
            text.extend(&stolen[..rest.len()]);
        }
        text
    }
}

const FAMILY_ID: u64 = 10;
pub const SEGMENTS_ID: u64 = 8;
const BASE_ID: u64 = 14;
const FIRST_MORE_ID: u64 = 20;

pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn uuid(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|digit| *digit != b'-').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn segments(all: &[(u64, u64, u32, u16)]) -> Vec<u8> {
    let mut data = (all.len() as u64).to_le_bytes().to_vec();
    for (logical, physical, blocks, volume) in all {
        data.extend([0; 8]);
        data.extend(logical.to_le_bytes());
        data.extend(blocks.to_le_bytes());
        data.extend(0x0040_0000_u32.to_le_bytes());
        data.extend([0; 8]);
        data.extend((u64::from(*volume) << 48 | physical).to_le_bytes());
    }
    data
}

/// A block of metadata with its header.
pub fn object(kind: u16, transaction: u64, id: u64, number: usize, data: &[u8]) -> [u8; OBJECT] {
    let mut block = [0; OBJECT];
    put(&mut block, 8, &1_u16.to_le_bytes());
    put(&mut block, 10, &kind.to_le_bytes());
    put(&mut block, 12, &0x0227_0000_u32.to_le_bytes());
    put(&mut block, 16, &transaction.to_le_bytes());
    put(&mut block, 24, &id.to_le_bytes());
    put(&mut block, 32, &(number as u64).to_le_bytes());
    put(&mut block, 40, &id.to_le_bytes());
    put(&mut block, 48, &(OBJECT as u32).to_le_bytes());
    put(&mut block, 64, data);
    with_checksum(&mut block);
    block
}

/// CRC-32C with all ones as the initial value, computed bit by bit and not inverted at the end.
pub fn with_checksum(block: &mut [u8]) {
    put(block, 4, &u32::MAX.to_le_bytes());
    let crc = block[8..].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0x82f6_3b78))
    });
    put(block, 0, &crc.to_le_bytes());
}

/// Blocks encrypted with the key of the metadata, each with its number, starting at `first`.
pub fn encrypted(first: usize, objects: &[[u8; OBJECT]]) -> Vec<u8> {
    let cipher = xts(&[KEY, PHYSICAL].concat(), OBJECT);
    let mut bytes = objects.concat();
    cipher.encrypt_in_place(first as u64, &mut bytes);
    bytes
}

fn xts(key: &[u8], data_unit: usize) -> Box<dyn SectorCipher> {
    dm_crypt("aes", "xts-plain64", key, Layout { data_unit, tweak_step: 1 }, Tier::Soft).unwrap()
}

/// The data key and the tweak key.
pub fn volume_key() -> [u8; 32] {
    let mut key = [0; 32];
    key[..16].copy_from_slice(&MASTER);
    let tweak = Sha256::digest([MASTER, FAMILY].concat());
    key[16..].copy_from_slice(&tweak[..16]);
    key
}

/// RFC 3394, 2.2.1.
fn wrap(kek: &[u8], key: &[u8; 16]) -> Vec<u8> {
    let cipher =
        dm_crypt("aes", "ecb", kek, Layout { data_unit: 16, tweak_step: 1 }, Tier::Soft).unwrap();
    let (mut check, mut halves) = ([0xa6; 8], [key[..8].to_vec(), key[8..].to_vec()]);
    for round in 0..6 {
        for (index, half) in halves.iter_mut().enumerate() {
            let mut block = [&check[..], half].concat();
            cipher.encrypt_in_place(0, &mut block);
            check.copy_from_slice(&block[..8]);
            check[7] ^= (2 * round + index + 1) as u8;
            half.copy_from_slice(&block[8..]);
        }
    }
    [check.to_vec(), halves.concat()].concat()
}

fn passphrase_wrapped(password: &str, iterations: u32, salt: u8) -> Vec<u8> {
    let (salt, mut derived) = ([salt; 16], [0; 16]);
    let prf = cryptbench_kdf::find("sha-256").unwrap();
    let effort = Effort::new(Tier::Soft, 1);
    prf.pbkdf2(password.as_bytes(), &salt, iterations, &mut derived, effort).unwrap();
    let mut sealed = vec![0; 284];
    put(&mut sealed, 0, &3_u32.to_le_bytes());
    put(&mut sealed, 4, &16_u32.to_le_bytes());
    put(&mut sealed, 8, &salt);
    put(&mut sealed, 24, &16_u32.to_le_bytes());
    put(&mut sealed, 28, &24_u32.to_le_bytes());
    put(&mut sealed, 32, &wrap(&derived, &KEK));
    put(&mut sealed, 168, &iterations.to_le_bytes());
    sealed
}

fn kek_wrapped(key: &[u8; 16]) -> Vec<u8> {
    let mut sealed = vec![0; 256];
    put(&mut sealed, 0, &2_u32.to_le_bytes());
    put(&mut sealed, 4, &24_u32.to_le_bytes());
    put(&mut sealed, 8, &wrap(&KEK, key));
    sealed
}
