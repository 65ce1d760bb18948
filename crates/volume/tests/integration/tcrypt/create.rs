//! Volumes that this crate creates: they are opened again, changed, hidden in one another, backed up, and
//! interrupted.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cryptbench_blockdev::{BlockDevice, MemoryDevice, check_request};
use cryptbench_volume::format::tcrypt::{
    CreateOptions, Fill, HeaderOptions, HeaderSource, HiddenPlace, Product, backup_headers,
    change_credentials, create, create_hidden, restore_headers, schemes,
};
use cryptbench_volume::{Access, Credentials, OpenOptions, VolumeError};

use super::{cheap, credentials, effort, header, memory, open, options, plaintext, sha512};

const KIB: u64 = 1024;
const SIZE: usize = 320 * 1024;

fn new() -> CreateOptions<'static> {
    CreateOptions::new(cryptbench_cipher::tier().unwrap(), effort())
}

fn quick() -> CreateOptions<'static> {
    CreateOptions { fill: Fill::Quick, ..new() }
}

fn writable() -> OpenOptions<'static> {
    OpenOptions { access: Access::ReadWrite, ..sha512() }
}

/// Bytes that are different everywhere.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i / 512 * 7 + i) as u8).collect()
}

/// Creates a volume, opens it, writes data, opens it again and reads the data.
fn round_trip(credentials: &Credentials, create_options: &CreateOptions<'_>) {
    let what = format!("{} with {}", create_options.cipher, create_options.prf);
    let device = memory(SIZE);
    create(&*device, credentials, create_options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let format = Some(create_options.product.format());
    let prf = Some(create_options.prf);
    let options = OpenOptions { format, prf, access: Access::ReadWrite, ..options() };
    let volume = open(device.clone(), credentials, &options).unwrap();
    assert_eq!(volume.size(), SIZE as u64 - 256 * KIB, "{what}");
    assert_eq!(volume.info().data_offset, 128 * KIB, "{what}");
    let data = pattern(volume.size() as usize);
    volume.write_at(0, &data).unwrap();
    let backup = OpenOptions { backup_header: true, ..options };
    let volume = open(device.clone(), credentials, &backup).unwrap();
    assert!(plaintext(&volume) == data, "{what}");
    assert!(device.contents()[128 * 1024..][..512] != data[..512], "{what}");
}

#[test]
fn every_cipher_of_veracrypt() {
    assert_eq!(schemes().len(), 15);
    for scheme in schemes() {
        round_trip(&cheap("p"), &CreateOptions { cipher: scheme.cipher, ..quick() });
    }
}

#[test]
fn every_derivation_of_veracrypt() {
    for prf in ["sha-512", "sha-256", "blake2s-256", "whirlpool", "streebog-512", "argon2id"] {
        round_trip(&cheap("p"), &CreateOptions { prf, cipher: "AES(Twofish(Serpent))", ..quick() });
    }
}

#[test]
fn every_cipher_and_derivation_of_truecrypt() {
    let truecrypt = CreateOptions { product: Product::TrueCrypt, ..quick() };
    for scheme in schemes() {
        for prf in ["ripemd-160", "sha-512", "whirlpool"] {
            let options = CreateOptions { cipher: scheme.cipher, prf, ..truecrypt };
            if scheme.in_truecrypt {
                round_trip(&credentials("p", None), &options);
            } else {
                let device = memory(SIZE);
                let refused = create(&*device, &credentials("p", None), &options).unwrap_err();
                assert!(matches!(refused, VolumeError::Invalid(_)), "{refused}");
                assert!(device.contents().iter().all(|&byte| byte == 0));
            }
        }
    }
}

#[test]
fn key_files_and_long_passphrases_open_what_they_created() {
    let mut with_files = cheap("p");
    with_files.keyfiles =
        [&b"one"[..], &[9; 5000]].map(|file| cryptbench_volume::Secret::new(file.to_vec())).into();
    round_trip(&with_files, &quick());
    let mut only_files = with_files.clone();
    only_files.passphrase = cryptbench_volume::Secret::default();
    round_trip(&only_files, &quick());
    round_trip(&cheap(&"x".repeat(128)), &quick());
    let device = memory(SIZE);
    for (product, credentials) in [
        (Product::VeraCrypt, cheap(&"x".repeat(129))),
        (Product::TrueCrypt, credentials(&"x".repeat(65), None)),
        (Product::TrueCrypt, cheap("x")),
    ] {
        create(&*device, &credentials, &CreateOptions { product, ..quick() }).unwrap_err();
    }
    assert!(device.contents().iter().all(|&byte| byte == 0));
}

#[test]
fn a_full_format_leaves_nothing_that_can_be_told_from_noise() {
    let device = memory(SIZE);
    let steps = AtomicUsize::new(0);
    let progress = |done: u64, total: u64| {
        assert!(done <= total && total == SIZE as u64);
        steps.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    create(&*device, &cheap("p"), &CreateOptions { progress: Some(&progress), ..new() }).unwrap();
    assert!(steps.into_inner() > 0);
    let bytes = device.contents();
    // No two 16-byte blocks of noise are equal, and every byte value occurs about equally often.
    let mut blocks: Vec<_> = bytes.chunks(16).collect();
    blocks.sort_unstable();
    assert!(blocks.windows(2).all(|pair| pair[0] != pair[1]));
    let mut counts = [0_f64; 256];
    bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1.0);
    let mean = SIZE as f64 / 256.0;
    let chi2: f64 = counts.iter().map(|count| (count - mean).powi(2) / mean).sum();
    // 255 degrees of freedom: a value this far off occurs once in 10^9 runs.
    assert!((140.0..420.0).contains(&chi2), "{chi2}");
    // Two volumes with the same passphrase have nothing in common.
    let other = memory(SIZE);
    create(&*other, &cheap("p"), &new()).unwrap();
    assert!(bytes.chunks(16).zip(other.contents().chunks(16)).all(|(a, b)| a != b));
}

#[test]
fn a_quick_format_leaves_the_data_area() {
    let device = Arc::new(MemoryDevice::new(pattern(SIZE)));
    create(&*device, &cheap("p"), &quick()).unwrap();
    let data = 128 * 1024..SIZE - 128 * 1024;
    assert!(device.contents()[data.clone()] == pattern(SIZE)[data]);
}

#[test]
fn what_cannot_be_created_is_refused_untouched() {
    let device = memory(SIZE);
    for options in [
        CreateOptions { cipher: "aes-128-xts", ..new() },
        CreateOptions { prf: "ripemd-160", ..new() },
        CreateOptions { prf: "sha-1", ..new() },
        CreateOptions { prf: "sha-1", product: Product::TrueCrypt, ..new() },
        CreateOptions { prf: "md5", ..new() },
        CreateOptions { sector_size: 520, ..new() },
        CreateOptions { sector_size: 8192, ..new() },
    ] {
        create(&*device, &cheap("p"), &options).unwrap_err();
    }
    create(&*device, &cheap(""), &new()).unwrap_err();
    assert!(device.contents().iter().all(|&byte| byte == 0));
    let small = memory(256 * 1024);
    let refused = create(&*small, &cheap("p"), &new()).unwrap_err();
    assert!(matches!(refused, VolumeError::Invalid(_)), "{refused}");
}

#[test]
fn large_sectors_are_presented() {
    let device = memory(SIZE + 512);
    create(&*device, &cheap("p"), &CreateOptions { sector_size: 4096, ..quick() }).unwrap();
    let volume = open(device, &cheap("p"), &sha512()).unwrap();
    assert_eq!((volume.sector(), volume.size()), (4096, SIZE as u64 - 256 * KIB));
    assert_eq!(volume.info().data_unit, 512);
    assert!(volume.read_at(512, &mut [0; 512]).is_err());
}

/// A device with 4096-byte sectors, such as a disk with direct I/O.
struct Coarse(Arc<MemoryDevice>);

impl BlockDevice for Coarse {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn sector(&self) -> usize {
        4096
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        check_request(self, offset, buf.len())?;
        self.0.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        check_request(self, offset, data.len())?;
        self.0.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_device_of_large_sectors_works_and_gives_the_same_bytes() {
    let below = memory(SIZE);
    let device = Arc::new(Coarse(below.clone()));
    create(&*device, &cheap("outer"), &new()).unwrap();
    let outer = cheap("outer");
    let place = HiddenPlace { size: 32 * KIB, outer: &outer, outer_prf: Some("sha-512") };
    create_hidden(&*device, &cheap("hidden"), &place, &new()).unwrap();
    let odd = HiddenPlace { size: 32 * KIB + 512, ..place };
    create_hidden(&*device, &cheap("other"), &odd, &new()).unwrap_err();
    change_credentials(&*device, &outer, &cheap("new"), None, &header()).unwrap();
    let volume = open(device.clone(), &cheap("new"), &writable()).unwrap();
    assert_eq!(volume.sector(), 4096);
    assert!(volume.write_at(512, &[0; 512]).is_err());
    let data = pattern(8192);
    volume.write_at(4096, &data).unwrap();
    let fine = open(below.clone(), &cheap("new"), &sha512()).unwrap();
    assert_eq!(fine.sector(), 512);
    assert!(plaintext(&fine)[4096..][..8192] == data);
    let hidden = OpenOptions { hidden: true, ..sha512() };
    open(device, &cheap("hidden"), &hidden).unwrap();
}

#[test]
fn data_off_the_sectors_of_the_device_is_refused() {
    let device = memory(SIZE + 512);
    create(&*device, &cheap("p"), &quick()).unwrap();
    // The last 512 bytes of the data area are not a whole sector.
    let device = Arc::new(Coarse(device));
    let error = open(device, &cheap("p"), &sha512()).unwrap_err();
    assert!(matches!(error, VolumeError::Unsupported { .. }), "{error}");
}

/// An outer volume with SHA-512 that contains a hidden one with BLAKE2s.
fn nested() -> (Arc<MemoryDevice>, CreateOptions<'static>) {
    let device = memory(SIZE);
    let hidden = CreateOptions { prf: "blake2s-256", cipher: "serpent-256-xts", ..new() };
    create(&*device, &cheap("outer"), &new()).unwrap();
    let outer = cheap("outer");
    let place = HiddenPlace { size: 32 * KIB, outer: &outer, outer_prf: Some("sha-512") };
    create_hidden(&*device, &cheap("hidden"), &place, &hidden).unwrap();
    (device, hidden)
}

#[test]
fn a_hidden_volume_lives_at_the_end_of_the_outer_one() {
    let (device, hidden) = nested();
    let options = OpenOptions { hidden: true, prf: Some(hidden.prf), ..writable() };
    let volume = open(device.clone(), &cheap("hidden"), &options).unwrap();
    assert_eq!(volume.size(), 28 * KIB);
    assert_eq!(volume.info().data_offset, SIZE as u64 - (128 + 32) * KIB);
    let data = pattern(28 * 1024);
    volume.write_at(0, &data).unwrap();
    let backup = OpenOptions { backup_header: true, ..options };
    assert!(plaintext(&open(device.clone(), &cheap("hidden"), &backup).unwrap()) == data);
    // The outer volume opens as before, and neither passphrase opens the other volume.
    open(device.clone(), &cheap("outer"), &sha512()).unwrap();
    open(device.clone(), &cheap("outer"), &OpenOptions { hidden: true, ..sha512() }).unwrap_err();
    open(device, &cheap("hidden"), &OpenOptions { prf: Some(hidden.prf), ..sha512() }).unwrap_err();
}

#[test]
fn protection_stops_the_first_write_into_the_hidden_volume() {
    let (device, hidden) = nested();
    let inner = cheap("hidden");
    let options = OpenOptions { protect_hidden: Some(&inner), ..writable() };
    let outer = open(device.clone(), &cheap("outer"), &options).unwrap();
    let start = 32 * KIB;
    let read_hidden = || {
        let options = OpenOptions { hidden: true, prf: Some(hidden.prf), ..options };
        let options = OpenOptions { protect_hidden: None, ..options };
        plaintext(&open(device.clone(), &inner, &options).unwrap())
    };
    let before = read_hidden();
    outer.write_at(start - 512, &[1; 512]).unwrap();
    outer.write_at(start + 28 * KIB, &[1; 512]).unwrap();
    outer.write_at(start, &[]).unwrap();
    assert!(!outer.hit_protection());
    let refused = outer.write_at(start - 512, &[2; 1024]).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    assert!(outer.hit_protection() && outer.is_read_only());
    // From then on, nothing is written anywhere.
    outer.write_at(0, &[3; 512]).unwrap_err();
    outer.discard(0, 512).unwrap_err();
    let mut sector = [0; 512];
    outer.read_at(start - 512, &mut sector).unwrap();
    assert_eq!(sector, [1; 512]);
    assert!(read_hidden() == before);
    // With a wrong hidden passphrase, the outer volume does not open without protection.
    let wrong = cheap("hiddem");
    let options = OpenOptions { protect_hidden: Some(&wrong), ..writable() };
    let error = open(device, &cheap("outer"), &options).unwrap_err();
    assert!(error.to_string().contains("hidden"), "{error}");
}

#[test]
fn a_hidden_volume_that_does_not_fit_or_cannot_be_reached_is_refused() {
    let device = memory(SIZE);
    create(&*device, &cheap("outer"), &quick()).unwrap();
    let before = device.contents();
    let outer = cheap("outer");
    let place = |size| HiddenPlace { size, outer: &outer, outer_prf: Some("sha-512") };
    for size in [0, 4096, 4097, 5000, 64 * KIB, 65 * KIB, SIZE as u64, u64::MAX, u64::MAX - 511] {
        create_hidden(&*device, &cheap("hidden"), &place(size), &new()).unwrap_err();
    }
    create_hidden(&*device, &cheap("outer"), &place(32 * KIB), &new()).unwrap_err();
    let wrong = cheap("wrong");
    let nowhere = HiddenPlace { outer: &wrong, ..place(32 * KIB) };
    let error = create_hidden(&*device, &cheap("hidden"), &nowhere, &new()).unwrap_err();
    assert!(matches!(error, VolumeError::NoKeyFits(_)), "{error}");
    assert!(device.contents() == before);
}

#[test]
fn changed_credentials_open_the_same_data_through_both_headers() {
    let (device, hidden) = nested();
    let before = plaintext(&open(device.clone(), &cheap("outer"), &sha512()).unwrap());
    let new = credentials("new", Some(2));
    change_credentials(&*device, &cheap("outer"), &new, Some("whirlpool"), &header()).unwrap();
    for backup_header in [false, true] {
        let old = OpenOptions { backup_header, ..sha512() };
        open(device.clone(), &cheap("outer"), &old).unwrap_err();
        let options = OpenOptions { prf: Some("whirlpool"), ..old };
        assert!(plaintext(&open(device.clone(), &new, &options).unwrap()) == before);
    }
    // The hidden volume's header, which keeps its PRF.
    let of_hidden = HeaderOptions { hidden: true, prf: Some(hidden.prf), ..header() };
    change_credentials(&*device, &cheap("hidden"), &cheap("deep"), None, &of_hidden).unwrap();
    for backup_header in [false, true] {
        let options =
            OpenOptions { hidden: true, prf: Some(hidden.prf), backup_header, ..sha512() };
        open(device.clone(), &cheap("deep"), &options).unwrap();
        open(device.clone(), &cheap("hidden"), &options).unwrap_err();
    }
    let nothing = cheap("");
    change_credentials(&*device, &new, &nothing, None, &header()).unwrap_err();
}

#[test]
fn headers_come_back_from_a_file_and_from_within() {
    let (device, hidden) = nested();
    let data = plaintext(&open(device.clone(), &cheap("outer"), &sha512()).unwrap());
    let header = HeaderOptions { prf: None, ..header() };
    let file = backup_headers(&*device, &cheap("outer"), Some(&cheap("hidden")), &header).unwrap();
    assert_eq!(file.len(), 128 * 1024);
    let bytes = device.contents();
    assert!(file[..64] != bytes[..64], "the salt has to be a new one");
    // All four headers are missing.
    for offset in [0, 64, 192, 256].map(|kib: u64| kib * KIB) {
        let offset = if offset < 128 * KIB { offset } else { SIZE as u64 - 320 * KIB + offset };
        device.write_at(offset, &[0; 512]).unwrap();
    }
    open(device.clone(), &cheap("outer"), &sha512()).unwrap_err();
    let source = HeaderSource::File(&file);
    restore_headers(&*device, source, &cheap("outer"), &header).unwrap();
    restore_headers(&*device, source, &cheap("hidden"), &header).unwrap();
    for backup_header in [false, true] {
        let options = OpenOptions { backup_header, ..sha512() };
        assert!(plaintext(&open(device.clone(), &cheap("outer"), &options).unwrap()) == data);
        let options = OpenOptions { hidden: true, prf: Some(hidden.prf), ..options };
        open(device.clone(), &cheap("hidden"), &options).unwrap();
    }
    // Only the primary headers, from within the volume.
    device.write_at(0, &[0; 512]).unwrap();
    device.write_at(64 * KIB, &[0; 512]).unwrap();
    let source = HeaderSource::Embedded;
    restore_headers(&*device, source, &cheap("outer"), &header).unwrap();
    let of_hidden = HeaderOptions { hidden: true, ..header };
    restore_headers(&*device, source, &cheap("hidden"), &of_hidden).unwrap();
    assert!(plaintext(&open(device.clone(), &cheap("outer"), &sha512()).unwrap()) == data);
    let options = OpenOptions { hidden: true, prf: Some(hidden.prf), ..sha512() };
    open(device.clone(), &cheap("hidden"), &options).unwrap();
    // A file that is not a backup, or that of another volume.
    let before = device.contents();
    for wrong in [&file[..1000], &[]] {
        restore_headers(&*device, HeaderSource::File(wrong), &cheap("outer"), &header).unwrap_err();
    }
    let small = memory(SIZE - 4096);
    let source = HeaderSource::File(&file);
    let error = restore_headers(&*small, source, &cheap("outer"), &header).unwrap_err();
    assert!(error.to_string().contains("the last 4096 of"), "{error}");
    assert!(device.contents() == before);
}

/// A device whose power fails after a number of writes; it records what was flushed before that.
struct Failing {
    below: Arc<MemoryDevice>,
    writes_left: AtomicUsize,
}

impl BlockDevice for Failing {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.below.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let left = self.writes_left.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(1) else {
            // The sector that is being written is lost.
            self.below.write_at(offset, &vec![0xEE; data.len()])?;
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        self.writes_left.store(left, Ordering::Relaxed);
        self.below.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.below.flush()
    }
}

#[test]
fn a_torn_change_always_leaves_a_header() {
    let pristine = memory(SIZE);
    create(&*pristine, &cheap("old"), &quick()).unwrap();
    let mut interrupted = 0;
    for writes in 0.. {
        let below = Arc::new(MemoryDevice::new(pristine.contents()));
        let failing = Failing { below: below.clone(), writes_left: AtomicUsize::new(writes) };
        let changed = change_credentials(&failing, &cheap("old"), &cheap("new"), None, &header());
        if changed.is_ok() {
            break;
        }
        interrupted += 1;
        let opens = |passphrase, backup_header| {
            let options = OpenOptions { backup_header, ..sha512() };
            open(below.clone(), &cheap(passphrase), &options).is_ok()
        };
        assert!(opens("old", false) || opens("new", true), "after {writes} writes");
    }
    assert_eq!(interrupted, 2);
}

#[test]
fn an_interrupted_creation_leaves_no_old_volume_and_no_half_one() {
    let device = memory(SIZE);
    create(&*device, &cheap("old"), &quick()).unwrap();
    let stop =
        |done: u64, _| if done > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let stopped = CreateOptions { progress: Some(&stop), ..new() };
    let error = create(&*device, &cheap("new"), &stopped).unwrap_err();
    assert!(matches!(error, VolumeError::Stopped), "{error}");
    for passphrase in ["old", "new"] {
        open(device.clone(), &cheap(passphrase), &sha512()).unwrap_err();
    }
    // The backup header is written before the primary one.
    let below = memory(SIZE);
    let failing = Failing { below: below.clone(), writes_left: AtomicUsize::new(3) };
    create(&failing, &cheap("new"), &quick()).unwrap_err();
    open(below.clone(), &cheap("new"), &sha512()).unwrap_err();
    open(below, &cheap("new"), &OpenOptions { backup_header: true, ..sha512() }).unwrap();
}
