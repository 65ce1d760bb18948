//! Volumes that are created and opened here. The module `tools` tests them with other programs.

use std::io::ErrorKind;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::bitlocker::{Method, create, info};
use cryptbench_volume::{Access, Credentials, OpenOptions, Secret, VolumeError, open};

use super::volumes::{
    KIB, PASSWORD, RECOVERY, SIZE, contents, create_options, open_bytes, open_writable,
    recovery_password, volume,
};
use super::{options, passphrase, recovery};

#[test]
fn every_method_and_sector_makes_a_round_trip() {
    let recovery_password = recovery_password();
    for (method, sector) in Method::all().zip([512, 4096, 512, 4096, 512, 4096]) {
        let device = Arc::new(MemoryDevice::new(vec![0xa5; SIZE]));
        let mut options = create_options(method, sector);
        options.recovery = Some(&recovery_password);
        let made = create(&*device, &passphrase(PASSWORD), &options).unwrap();
        let info = info(&*device).unwrap();
        assert_eq!((info.method, info.sector), (Some(method), Some(u64::from(sector))));
        assert_eq!((info.obstacle, info.open_to_all), (None, false));
        let opens: Vec<_> = info.protectors.iter().map(|p| p.opens_with.clone()).collect();
        assert_eq!(opens, ["password", "recovery password"]);

        let volume = open_writable(&device, &passphrase(PASSWORD)).unwrap();
        assert_eq!(volume.info().cipher, method.dm_crypt());
        assert_eq!(volume.size(), SIZE as u64);
        let start: Vec<u8> = contents(&volume)[..1024 * KIB].to_vec();
        assert!(start.iter().all(|&byte| byte == 0), "nothing old is found at the start");
        let usable = made.usable as usize;
        let data: Vec<u8> = (0..usable).map(|i| (i / 512 * 7 + i) as u8).collect();
        volume.write_at(0, &data).unwrap();
        volume.flush().unwrap();
        drop(volume);
        let stored = device.contents();
        assert!(!stored.windows(64).any(|piece| piece == &data[9000..9064]), "{method}");
        let again = open_bytes(&stored, &recovery(RECOVERY)).unwrap();
        let read = contents(&again);
        assert!(read[..usable] == data, "{method} {sector}");
        // The metadata follows; it reads as zeros.
        assert!(read[usable..usable + 192 * KIB].iter().all(|&byte| byte == 0));
    }
}

#[test]
fn it_is_recognised_and_wrong_credentials_open_nothing() {
    let bytes = volume();
    let kind = detect(&MemoryDevice::new(bytes.clone())).unwrap().kind;
    assert_eq!(kind, Kind::BitLocker { to_go: false });
    for wrong in [passphrase("grüße an Alle"), recovery(RECOVERY), Credentials::default()] {
        let refused = open_bytes(&bytes, &wrong).unwrap_err();
        assert!(matches!(refused, VolumeError::NoKeyFits(_)), "{refused}");
    }
}

#[test]
fn a_recovery_password_alone_protects_a_volume() {
    let recovery_password = recovery_password();
    let device = MemoryDevice::new(vec![0; SIZE]);
    let mut options = create_options(Method::Xts256, 512);
    options.recovery = Some(&recovery_password);
    create(&device, &Credentials::default(), &options).unwrap();
    assert!(open_bytes(&device.contents(), &recovery(RECOVERY)).is_ok());
}

#[test]
fn what_cannot_be_created_is_refused_before_anything_is_written() {
    let plain = create_options(Method::Xts128, 512);
    let not_text = Secret::new(b"\xff\xfe1234567".to_vec());
    let keyfiles = vec![Secret::new(vec![1])];
    for (credentials, says) in [
        (passphrase("short"), "8 to 256"),
        (passphrase(&"x".repeat(257)), "8 to 256"),
        (Credentials::default(), "8 to 256"),
        (Credentials { passphrase: not_text, ..Credentials::default() }, "UTF-8"),
        (Credentials { keyfiles, ..passphrase(PASSWORD) }, "key files"),
        (Credentials { pim: Some(1), ..passphrase(PASSWORD) }, "PIM"),
    ] {
        let device = MemoryDevice::new(vec![7; SIZE]);
        let refused = create(&device, &credentials, &plain).unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
        assert!(device.contents().iter().all(|&byte| byte == 7));
    }
    for (size, sector, says) in [(1024 * KIB, 512, "at least"), (SIZE, 1024, "1024-byte sectors")] {
        let device = MemoryDevice::new(vec![7; size]);
        let options = create_options(Method::Xts128, sector);
        let refused = create(&device, &passphrase(PASSWORD), &options).unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
        assert!(device.contents().iter().all(|&byte| byte == 7));
    }
}

#[test]
fn credentials_that_bitlocker_does_not_have_are_told() {
    let bytes = volume();
    for (credentials, says) in [
        (Credentials { pim: Some(1), ..passphrase(PASSWORD) }, "PIM"),
        (Credentials { keyfiles: vec![Secret::default()], ..passphrase(PASSWORD) }, "key files"),
        (recovery("471207-278498"), "fewer digits"),
        (super::startup(vec![0; 156]), "startup key"),
    ] {
        let refused = open_bytes(&bytes, &credentials).unwrap_err();
        assert!(matches!(refused, VolumeError::Invalid(_)), "{refused}");
        assert!(refused.to_string().contains(says), "{refused}");
    }
}

#[test]
fn metadata_take_no_writes_and_a_cut_volume_ends_before_them() {
    let device = Arc::new(MemoryDevice::new(volume()));
    let usable = info(&*device).unwrap().copies[0].0;
    let volume = open_writable(&device, &passphrase(PASSWORD)).unwrap();
    let refused = volume.write_at(usable - 512, &[1; 1024]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    assert_eq!(device.contents(), self::volume());
    assert!(volume.discard(0, 4096).is_err());
    assert!(volume.io_target().is_none());
    let cut = volume.cut(usable).unwrap();
    assert_eq!((cut.size(), cut.info().size), (usable, usable));
    cut.write_at(usable - 512, &[1; 512]).unwrap();
    assert!(cut.write_at(usable, &[1; 512]).is_err());
    assert!(cut.cut(usable + 512).is_err());
}

#[test]
fn until_the_boot_sector_is_written_there_is_no_volume() {
    let mut bytes = volume();
    bytes[..512].fill(0);
    let device = Arc::new(MemoryDevice::new(bytes));
    let refused = info(&*device).unwrap_err();
    assert!(matches!(refused, VolumeError::NotThisFormat { .. }), "{refused}");
    // Unless the format is specified.
    let options = OpenOptions { format: Some("bitlocker"), access: Access::ReadWrite, ..options() };
    let opened = open(Arc::clone(&device) as _, &passphrase(PASSWORD), &options).unwrap();
    assert!(opened.is_read_only());
    // Not at its offset.
    let volume = volume();
    for bytes in [volume[8192..].to_vec(), [&[0; 4096], &volume[..]].concat()] {
        let refused = open(Arc::new(MemoryDevice::new(bytes)), &passphrase(PASSWORD), &options);
        let refused = refused.unwrap_err();
        assert!(matches!(refused, VolumeError::CannotOpen { .. }), "{refused}");
        assert!(refused.to_string().contains("--offset"), "{refused}");
    }
    let mut bytes = device.contents();
    bytes.iter_mut().for_each(|byte| *byte &= 0x7f);
    let refused = open(Arc::new(MemoryDevice::new(bytes)), &passphrase(PASSWORD), &options);
    assert!(matches!(refused, Err(VolumeError::NotThisFormat { .. })));
}
