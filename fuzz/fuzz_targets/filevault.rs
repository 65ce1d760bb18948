//! CoreStorage's metadata with valid checksums: header, unencrypted block, and encrypted objects.
#![no_main]

use std::sync::Arc;

use cryptbench_blockdev::MemoryDevice;
use cryptbench_cipher::{Layout, Tier, dm_crypt};
use cryptbench_volume::format::filevault::{FORMAT, derivations, info};
use cryptbench_volume::{Credentials, OpenOptions, Secret, open};
use libfuzzer_sys::fuzz_target;

const BLOCK: usize = 4096;
/// Size of a metadata block in bytes.
const OBJECT: usize = 8192;
/// Offsets of the unencrypted and the encrypted metadata.
const LABEL: usize = BLOCK;
const OBJECTS: usize = 8 * BLOCK;
/// Maximum number of objects.
const MOST: usize = 8;

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else { return };
    let mut bytes = vec![0; OBJECTS + MOST * OBJECT + 16 * BLOCK];
    put(&mut bytes, 8, &[1, 0, 0x10, 0]);
    put(&mut bytes, 88, b"CS\x01\0\0\0\x01\0");
    for (at, number) in [(48, 512_u32), (96, BLOCK as u32), (100, 4 * BLOCK as u32), (104, 1)] {
        put(&mut bytes, at, &number.to_le_bytes());
    }
    put(&mut bytes, 168, &[16, 0, 0, 0, 2, 0, 0, 0]);
    put(&mut bytes[LABEL..], 8, &[1, 0, 0x11, 0]);
    for (at, number) in [(64 + 156, OBJECT as u32), (OBJECT + 8, 4 * MOST as u32), (OBJECT + 32, 8)]
    {
        put(&mut bytes[LABEL..], at, &number.to_le_bytes());
    }
    let rest = match kind & 3 {
        0 => part(data, &mut bytes[12..512]),
        1 => part(data, &mut bytes[LABEL + 12..LABEL + 3 * BLOCK]),
        _ => data,
    };
    with_checksum(&mut bytes[..512]);
    with_checksum(&mut bytes[LABEL..LABEL + OBJECT]);
    let layout = Layout { data_unit: OBJECT, tweak_step: 1 };
    let key = [&bytes[176..192], &bytes[304..320]].concat();
    let cipher =
        dm_crypt("aes", "xts-plain64", &key, layout, Tier::Soft).expect("a key of 32 bytes");
    let mut rest = rest;
    for number in 0..MOST {
        // Kind, transaction and identifier of an object, and the length of the data that follows.
        let Some((&[low, high, transaction, id, len, more], data)) = rest.split_first_chunk()
        else {
            break;
        };
        let at = OBJECTS + number * OBJECT;
        let object = &mut bytes[at..at + OBJECT];
        put(object, 8, &[1, 0, low, high]);
        object[16] = transaction;
        object[24] = id;
        let len = usize::from(u16::from_le_bytes([len, more])).min(data.len()).min(OBJECT - 64);
        object[64..64 + len].copy_from_slice(&data[..len]);
        rest = &data[len..];
        with_checksum(object);
        cipher.encrypt_in_place(number as u64, object);
    }
    let device = MemoryDevice::new(bytes.clone());
    let _ = info(&device);
    if derivations(&device).iter().flatten().any(|(derivation, _)| derivation.work() > 1000) {
        return;
    }
    let mut options = OpenOptions::new(Tier::Soft, cryptbench_kdf::Effort::new(Tier::Soft, 1));
    // Otherwise data that is no longer recognised as FileVault would be tried as VeraCrypt, which takes
    // seconds.
    options.format = Some(FORMAT);
    for keyfiles in [Vec::new(), vec![Secret::new(rest.to_vec())], vec![Secret::new(vec![1; 16])]] {
        let credentials = Credentials { keyfiles, ..Credentials::default() };
        let _ = open(Arc::new(MemoryDevice::new(bytes.clone())), &credentials, &options);
    }
});

/// XORs the start of `data` into `to`, and returns the rest of `data`.
fn part<'a>(data: &'a [u8], to: &mut [u8]) -> &'a [u8] {
    let len = data.len().min(to.len());
    to[..len].iter_mut().zip(data).for_each(|(byte, other)| *byte ^= other);
    &data[len..]
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Writes the checksum of a block: CRC-32C with all ones as the initial value, not inverted at the end.
fn with_checksum(block: &mut [u8]) {
    put(block, 4, &u32::MAX.to_le_bytes());
    let crc = block[8..].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0x82f6_3b78))
    });
    put(block, 0, &crc.to_le_bytes());
}
