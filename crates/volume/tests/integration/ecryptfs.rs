//! Names and files in eCryptfs lower directories.

use std::sync::atomic::AtomicBool;

use cryptbench_cipher::{Layout, dm_crypt, tier};
use cryptbench_volume::format::ecryptfs::{
    Header, Keys, START, copy, link_target, plain_name, signature, signature_of,
};
use cryptbench_volume::{Credentials, Secret, VolumeError};
use sha2::{Digest as _, Sha512};

/// A lower file that the kernel wrote, which contains an x, with [`PASSPHRASE`].
pub const ONE: &[u8] = include_bytes!("../fixtures/ecryptfs/one");
pub const PASSPHRASE: &[u8] = b"mount pass";
/// Its name.
pub const NAME: &[u8] =
    b"ECRYPTFS_FNEK_ENCRYPTED.FWbP.Jdrect.s-R3NquSj2AiMMgobyinZ3Lk8xhyd86Mr-HL.jHrndYSuU--";

/// The output of `printf 'mount pass\nlogin pass' | ecryptfs-wrap-passphrase FILE -` of ecryptfs-utils 111.
pub const WRAPPED: &[u8] = b":\x02\xe6\xb2m\xbb+H\xc7\xa7\
    2e8a3d7dbe0b30b4\x98\x87\x2b\x10\x85\x7a\xbe\xe2\x18\xb5\x4e\x36\x8b\xbf\x26\xeb";
pub const LOGIN: &[u8] = b"login pass";

const SALT_OF_NAMES: [u8; 8] = *b"99887766";

pub fn keys(passphrase: &[u8]) -> Keys {
    let passphrase = Secret::new(passphrase.to_vec());
    let credentials = Credentials { passphrase, ..Credentials::default() };
    Keys::of(&credentials, tier().unwrap()).unwrap()
}

/// The missing parts of a lower file, and its content.
pub fn opened(lower: &[u8], keys: &mut Keys) -> Result<(Option<String>, Vec<u8>), VolumeError> {
    let header = Header::parse(&lower[..lower.len().min(START)])?;
    let mut content = Vec::new();
    let read = |at: u64, part: &mut [u8]| {
        let at = usize::try_from(at).unwrap();
        part.copy_from_slice(&lower[at..at + part.len()]);
        Ok(())
    };
    let write = |part: &[u8]| {
        content.extend_from_slice(part);
        Ok(())
    };
    let stop = AtomicBool::new(false);
    let problem = copy(&header, keys, lower.len() as u64, read, write, &stop)?;
    Ok((problem, content))
}

/// A name encrypted with AES-128 as the kernel would, for names that the kernel would never write.
fn encrypted(name: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8] = b"-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut key: [u8; 64] =
        Sha512::new().chain_update(SALT_OF_NAMES).chain_update(PASSPHRASE).finalize().into();
    for _ in 1..65536 {
        key = Sha512::digest(key).into();
    }
    let md5 = |of: &[u8]| {
        let mut hash = [0; 16];
        cryptbench_kdf::find("md5").unwrap().hash(&[of], &mut hash);
        hash
    };
    let before = [md5(&key), md5(&md5(&key))].concat();
    let mut plain: Vec<u8> =
        before.iter().map(|byte| if *byte == 0 { 0x42 } else { *byte }).collect();
    plain.truncate(16 + (15 - name.len() % 16));
    plain.push(0);
    plain.extend_from_slice(name);
    let len = plain.len();
    plain.resize(512, 0);
    let layout = Layout::SECTOR_512;
    let ecb = dm_crypt("aes", "ecb", &key[..16], layout, tier().unwrap()).unwrap();
    ecb.encrypt_in_place(0, &mut plain);
    let signature = Sha512::digest(key)[..8].to_vec();
    let packet = [&[70, 9 + len as u8], &signature[..], &[7], &plain[..len]].concat();
    let mut letters = b"ECRYPTFS_FNEK_ENCRYPTED.".to_vec();
    for three in packet.chunks(3) {
        let mut padded = three.to_vec();
        padded.resize(3, 0);
        let bits = padded.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        letters.extend([18, 12, 6, 0].map(|shift| LETTERS[(bits >> shift & 63) as usize]));
    }
    letters
}

#[test]
fn a_name_and_a_file_of_the_kernel() {
    let mut keys = keys(PASSPHRASE);
    let header = Header::parse(&ONE[..START]).unwrap();
    assert_eq!((header.size, header.data, header.whole()), (1, 8192, 12288));
    assert_eq!(header.encryption(), (7, 16, signature_of(PASSPHRASE).unwrap()));
    assert_eq!(opened(ONE, &mut keys).unwrap(), (None, b"x".to_vec()));
    assert_eq!(plain_name(NAME, &mut keys).unwrap(), b"one");
    let all = keys.signatures();
    assert_eq!(all, [signature_of(PASSPHRASE).unwrap(), signature(NAME).unwrap().unwrap()]);
    assert_eq!(signature(b"one").unwrap(), None);
    assert_eq!(plain_name(b"one", &mut keys).unwrap(), b"one");
    assert_eq!(encrypted(b"one"), NAME.to_vec());
}

#[test]
fn another_passphrase_opens_nothing() {
    let mut keys = keys(b"mount Pass");
    for error in [opened(ONE, &mut keys).unwrap_err(), plain_name(NAME, &mut keys).unwrap_err()] {
        assert!(matches!(error, VolumeError::NoKeyFits(_)), "{error}");
    }
}

#[test]
fn a_name_never_leads_elsewhere() {
    let mut keys = keys(PASSPHRASE);
    assert_eq!(plain_name(&encrypted(b"...x"), &mut keys).unwrap(), b"...x");
    for bad in [&b".."[..], b".", b"../x", b"/etc", b"a/b", b"", b"a\0b"] {
        let error = plain_name(&encrypted(bad), &mut keys).unwrap_err();
        assert!(matches!(error, VolumeError::Damaged { .. }), "{bad:?}: {error}");
    }
    assert_eq!(link_target(&encrypted(b"../x"), &mut keys).unwrap(), b"../x");
    for bad in [&b".."[..], b".", b""] {
        assert!(plain_name(bad, &mut keys).is_err(), "{bad:?}");
    }
}

#[test]
fn a_damaged_name_is_no_other_name() {
    let mut keys = keys(PASSPHRASE);
    let whole = encrypted(b"a name with more than one block");
    for at in 24..whole.len() - 24 {
        let mut damaged = whole.clone();
        damaged[at] = if damaged[at] == b'b' { b'c' } else { b'b' };
        // Later blocks do not contain anything that shows the change.
        if at < 24 + 34 {
            assert!(plain_name(&damaged, &mut keys).is_err(), "{at}");
        }
        assert!(plain_name(&whole[..at], &mut keys).is_err() || at == 24, "{at}");
    }
}

#[test]
fn what_is_missing_is_told() {
    let mut keys = keys(PASSPHRASE);
    for cut in (0..8192).step_by(61).chain([8191]) {
        let result = opened(&ONE[..cut], &mut keys);
        assert!(result.is_err() || result.is_ok_and(|(problem, _)| problem.is_some()), "{cut}");
    }
    let (problem, content) = opened(&ONE[..12287], &mut keys).unwrap();
    assert_eq!(content.len(), 0);
    assert_eq!(problem.unwrap(), "it is truncated: 0 of 1 bytes are present");
    // A file with three extents, the second of which the kernel never wrote.
    let mut long = [ONE, &ONE[8192..], &ONE[8192..]].concat();
    long[..8].copy_from_slice(&10000_u64.to_be_bytes());
    long[12288..16384].fill(0);
    let (problem, content) = opened(&long, &mut keys).unwrap();
    assert_eq!((content.len(), content[0]), (10000, b'x'));
    assert!(content[4096..8192].iter().all(|byte| *byte == 0));
    let told = "1 of its 3 extents were never written and were replaced with zeros";
    assert_eq!(problem.unwrap(), told);
}

#[test]
fn what_cannot_be_read_loses_only_itself() {
    let mut keys = keys(PASSPHRASE);
    let mut long = ONE.to_vec();
    (1..5000).for_each(|_| long.extend_from_slice(&ONE[8192..]));
    long[..8].copy_from_slice(&(5000 * 4096_u64).to_be_bytes());
    let header = Header::parse(&long[..START]).unwrap();
    // Offsets of extents, and the messages about them.
    for (bad, expected, told) in [
        (
            &[3, 70][..],
            5000,
            "2 of its 5000 extents were unreadable and were replaced with zeros: bad",
        ),
        (&[0], 5000, "1 of its 5000 extents were unreadable and were replaced with zeros: bad"),
        (&[], 5000, ""),
    ] {
        let mut out = Vec::new();
        let read = |at: u64, part: &mut [u8]| {
            let (first, last) = ((at - 8192) / 4096, (at - 8192 + part.len() as u64 - 1) / 4096);
            if bad.iter().any(|bad| (first..=last).contains(bad)) {
                return Err(std::io::Error::other("bad"));
            }
            part.copy_from_slice(&long[at as usize..][..part.len()]);
            Ok(())
        };
        let write = |part: &[u8]| {
            out.extend_from_slice(part);
            Ok(())
        };
        let stop = AtomicBool::new(false);
        let problem = copy(&header, &mut keys, long.len() as u64, read, write, &stop).unwrap();
        assert_eq!(problem.unwrap_or_default(), told);
        assert_eq!(out.len(), expected * 4096);
        for (number, extent) in (0..).zip(out.chunks(4096)) {
            assert_eq!(extent.iter().all(|byte| *byte == 0), bad.contains(&number), "{number}");
        }
    }
    // If the disk is gone, the result is not a file of zeros.
    let mut out = 0;
    let gone = |at: u64, _: &mut [u8]| match at {
        0..8192 => Ok(()),
        _ => Err(std::io::Error::other("gone")),
    };
    let write = |part: &[u8]| {
        out += part.len();
        Ok(())
    };
    let stop = AtomicBool::new(false);
    let problem = copy(&header, &mut keys, long.len() as u64, gone, write, &stop).unwrap();
    let problem = problem.unwrap();
    assert!(problem.contains("bytes were omitted") && problem.contains("gone"), "{problem}");
    assert!(out < 1024 * 4096, "{out}");
}

#[test]
fn what_is_no_lower_file_is_told_from_what_is_damaged() {
    let mut other = ONE.to_vec();
    other[8] ^= 1;
    assert!(matches!(Header::parse(&other), Err(VolumeError::NotThisFormat { .. })));
    assert!(matches!(Header::parse(b"short"), Err(VolumeError::NotThisFormat { .. })));
    assert!(matches!(Header::parse(b""), Err(VolumeError::Damaged { .. })));
    for (at, byte) in [(16, 4), (19, 8), (25, 1), (26, 0), (0, 0x80), (22, 1), (44, 9)] {
        let mut damaged = ONE[..START].to_vec();
        damaged[at] = byte;
        let _ = Header::parse(&damaged).map(|header| header.is_opened_by(&mut keys(PASSPHRASE)));
        if at != 44 {
            assert!(Header::parse(&damaged).is_err(), "{at}");
        }
    }
}
