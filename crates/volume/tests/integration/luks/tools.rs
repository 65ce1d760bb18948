//! Tests with cryptsetup and QEMU, in both directions and including the plaintext.
//!
//! Both work with regular files, without device mapper and root. cryptsetup uses the kernel's ciphers through
//! AF_ALG (`reencrypt --encrypt` and `--decrypt` read and write the plaintext), QEMU uses its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_kdf::Argon2Kind;
use cryptbench_volume::format::luks::{
    CreateOptions, KeyOptions, Removal, Version, add_key, backup_header, change_key, create, info,
    open_with, remove_key, repair, restore_header,
};
use cryptbench_volume::{Credentials, VolumeError};

use crate::luks::volumes::{
    MIB, argon2, cheap, contents, key_options, passphrase, pattern, pbkdf2, resources, writable,
};
use crate::{CRYPTSETUP, there};

const QEMU_IMG: &str = "/usr/bin/qemu-img";

/// A folder with an image, and the passphrases as files.
struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new(image_bytes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for text in ["first", "second", "third"] {
            std::fs::write(dir.path().join(text), text).unwrap();
        }
        let image = std::fs::File::create(dir.path().join("image")).unwrap();
        image.set_len(image_bytes).unwrap();
        Self { dir }
    }

    /// Like [`Lab::new`], if cryptsetup can format a file.
    fn with_cryptsetup(image_bytes: u64) -> Option<Self> {
        if !there(CRYPTSETUP) {
            return None;
        }
        let lab = Self::new(20 * MIB);
        if let Err(error) = lab.format("--type luks2 --pbkdf pbkdf2") {
            eprintln!("SKIPPED: cryptsetup cannot format a file here: {error}");
            return None;
        }
        Some(Self::new(image_bytes))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn device(&self) -> Arc<FileDevice> {
        Arc::new(FileDevice::open(&self.path("image"), IoMode::Buffered, false).unwrap())
    }

    /// Runs a program in the folder; arguments are separated by spaces.
    fn run(&self, program: &str, arguments: &str) -> Result<String, String> {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .args(arguments.split_whitespace());
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("{arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
    }

    fn cryptsetup(&self, arguments: &str) -> Result<String, String> {
        self.run(CRYPTSETUP, &format!("--batch-mode --disable-locks {arguments}"))
    }

    fn format(&self, options: &str) -> Result<String, String> {
        let cost = if options.contains("argon2") {
            "--pbkdf-memory 256 --pbkdf-force-iterations 4 --pbkdf-parallel 2"
        } else {
            "--pbkdf-force-iterations 1000"
        };
        self.cryptsetup(&format!("luksFormat {options} {cost} --key-file first image"))
    }

    /// Whether cryptsetup accepts the passphrase.
    fn cryptsetup_opens(&self, key: &str) -> bool {
        self.cryptsetup(&format!("open --test-passphrase --key-file {key} image")).is_ok()
    }

    fn opens(&self, key: &str) -> bool {
        match open_with(self.device(), &passphrase(key), &writable()) {
            Ok(_) => true,
            Err(VolumeError::NoKeyFits(_)) => false,
            Err(error) => panic!("{key}: {error}"),
        }
    }
}

#[test]
fn volumes_of_cryptsetup_open_here() {
    let Some(lab) = Lab::with_cryptsetup(20 * MIB) else { return };
    for options in [
        "--type luks1",
        "--type luks1 --hash sha1 --cipher serpent-xts-plain64 --key-size 512",
        "--type luks1 --hash sha512 --cipher aes-cbc-essiv:sha256 --key-size 256",
        "--type luks1 --hash ripemd160 --cipher twofish-xts-plain64 --key-size 256",
        "--type luks2 --pbkdf argon2id",
        "--type luks2 --pbkdf argon2i --sector-size 512 --label name",
        "--type luks2 --pbkdf pbkdf2 --hash sha512 --cipher camellia-xts-plain64 --key-size 512",
        "--type luks2 --pbkdf pbkdf2 --hash whirlpool --luks2-metadata-size 64k --luks2-keyslots-size 1M",
        "--type luks2 --pbkdf pbkdf2 --keyslot-cipher aes-cbc-essiv:sha256 --keyslot-key-size 256",
        "--type luks2 --pbkdf pbkdf2 --offset 36000 --uuid 01234567-89ab-4def-8123-456789abcdef",
    ] {
        // What this kernel or this cryptsetup does not support is not tested.
        if let Err(error) = lab.format(options) {
            eprintln!("SKIPPED: {options}: {error}");
            continue;
        }
        assert!(lab.opens("first"), "{options}");
        assert!(!lab.opens("second"), "{options}");
        let add =
            "luksAddKey --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file first image second";
        lab.cryptsetup(add).unwrap();
        assert!(lab.opens("second"), "{options}");
        lab.cryptsetup("luksRemoveKey image first").unwrap();
        assert!(!lab.opens("first") && lab.opens("second"), "{options}");
        cryptbench_prove::count(1, "volumes of cryptsetup here, through its changes of keys");
    }
}

/// Key sizes in bits, a cipher, and its modes with and without an IV.
const CIPHERS: [(&str, &[u32]); 9] = [
    ("aes", &[128, 192, 256]),
    ("camellia", &[128, 256]),
    ("serpent", &[256]),
    ("twofish", &[256]),
    ("cast6", &[128, 192, 256]),
    ("cast5", &[128]),
    ("blowfish", &[256]),
    ("des3_ede", &[192]),
    ("xchacha12,aes", &[256]),
];
const CHAINS: [&str; 8] = ["xts", "cbc", "lrw", "ctr", "cfb", "ofb", "pcbc", "adiantum"];
const GENERATORS: [&str; 9] = [
    "plain",
    "plain64",
    "plain64be",
    "benbi",
    "null",
    "plain64:sha256",
    "essiv:sha256",
    "essiv:sha3-256",
    "essiv:blake2s-256",
];
const HASHES: [&str; 30] = [
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-224",
    "sha512-256",
    "sha-256",
    "sha2-256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "blake2b-160",
    "blake2b-256",
    "blake2b-384",
    "blake2b-512",
    "blake2b512",
    "blake2s-128",
    "blake2s-160",
    "blake2s-224",
    "blake2s-256",
    "blake2s256",
    "sm3",
    "md5",
    "ripemd160",
    "rmd160",
    "whirlpool",
    "stribog256",
    "stribog512",
];

/// LUKS1 encrypts keyslots like data: in 4000 stripes, all of which are needed for the key.
#[test]
fn whatever_cryptsetup_formats_opens_here() {
    let Some(lab) = Lab::with_cryptsetup(4 * MIB) else { return };
    let mut opened = Vec::new();
    let mut format = |specification: &str, bits: u32, hash: &str| {
        let options =
            format!("--type luks1 --cipher {specification} --key-size {bits} --hash {hash}");
        // What this kernel or this cryptsetup does not support is not tested.
        if lab.format(&options).is_ok() {
            assert!(lab.opens("first"), "{options}");
            opened.push(options);
        }
    };
    for (cipher, sizes) in CIPHERS {
        for bits in sizes {
            for chain in CHAINS {
                let bits = match chain {
                    "xts" => 2 * bits,
                    "lrw" => 128 + bits,
                    _ => *bits,
                };
                for generator in GENERATORS {
                    format(&format!("{cipher}-{chain}-{generator}"), bits, "sha256");
                }
            }
            format(&format!("{cipher}-ecb"), *bits, "sha256");
        }
    }
    for hash in HASHES {
        format("aes-xts-plain64", 256, hash);
    }
    assert!(opened.len() > 40, "{}", opened.len());
    cryptbench_prove::count(opened.len() as u64, "ciphers, modes and hashes of cryptsetup's LUKS1");
}

#[test]
fn volumes_of_ours_open_in_cryptsetup_through_every_change() {
    let Some(lab) = Lab::with_cryptsetup(20 * MIB) else { return };
    let (first, second, third) = (passphrase("first"), passphrase("second"), passphrase("third"));
    let all = [
        cheap(Version::Luks1),
        CreateOptions {
            encryption: "aes-cbc-essiv:sha256",
            key_bytes: 32,
            hash: "sha1",
            derivation: pbkdf2("sha-1", 1000),
            ..cheap(Version::Luks1)
        },
        CreateOptions { data_offset: None, label: "a label", ..cheap(Version::Luks2) },
        CreateOptions {
            key_bytes: 32,
            sector_size: 4096,
            hash: "sha512",
            derivation: argon2(Argon2Kind::Id),
            metadata_size: 128 << 10,
            ..cheap(Version::Luks2)
        },
    ];
    for options in all {
        let what = format!("{} {}", options.version, options.encryption);
        create(&*lab.device(), &first, &options).unwrap();
        lab.cryptsetup("open --test-passphrase --key-file first image").unwrap();
        assert!(!lab.cryptsetup_opens("second"), "{what}");
        let said = info(&*lab.device()).unwrap();
        let dump = lab.cryptsetup("luksDump image").unwrap();
        assert!(dump.contains(&said.uuid) && dump.contains(options.label), "{what}: {dump}");

        // Keys created by each of the two, added and removed by the other.
        let prf = if options.hash == "sha1" { "sha-1" } else { "sha-256" };
        let key_options = KeyOptions { derivation: pbkdf2(prf, 1000), ..key_options() };
        add_key(&*lab.device(), &first, &second, &key_options).unwrap();
        assert!(lab.cryptsetup_opens("second") && lab.cryptsetup_opens("first"), "{what}");
        let add =
            "luksAddKey --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file second image third";
        lab.cryptsetup(add).unwrap();
        assert!(lab.opens("third"), "{what}");
        remove_key(&*lab.device(), Removal::Credentials(&second, None), false, &resources())
            .unwrap();
        assert!(!lab.cryptsetup_opens("second") && lab.cryptsetup_opens("third"), "{what}");
        change_key(&*lab.device(), &third, &second, &key_options).unwrap();
        assert!(!lab.cryptsetup_opens("third") && lab.cryptsetup_opens("second"), "{what}");

        // Header backups created by each of the two, restored by the other.
        let mut saved = Vec::new();
        backup_header(&*lab.device(), &mut saved).unwrap();
        std::fs::write(lab.path("ours"), &saved).unwrap();
        let _ = std::fs::remove_file(lab.path("theirs"));
        lab.cryptsetup("luksHeaderBackup --header-backup-file theirs image").unwrap();
        assert!(std::fs::read(lab.path("theirs")).unwrap() == saved, "{what}");
        lab.device().write_at(0, &vec![0; 1 << 20]).unwrap();
        lab.cryptsetup("luksHeaderRestore --header-backup-file ours image").unwrap();
        assert!(lab.cryptsetup_opens("second"), "{what}");
        lab.device().write_at(0, &vec![0; 1 << 20]).unwrap();
        let theirs = FileDevice::open(&lab.path("theirs"), IoMode::Buffered, true).unwrap();
        restore_header(&*lab.device(), &theirs, false).unwrap();
        assert!(lab.cryptsetup_opens("second") && lab.opens("second"), "{what}");
        cryptbench_prove::count(1, "volumes of ours in cryptsetup, through every change by both");
    }
}

#[test]
fn plaintext_that_cryptsetup_encrypted_and_decrypted_is_the_same() {
    let Some(lab) = Lab::with_cryptsetup(40 * MIB) else { return };
    let plain = pattern(4 << 20);
    for options in [
        "--cipher aes-xts-plain64 --key-size 512 --sector-size 4096",
        "--cipher serpent-xts-plain64 --key-size 512 --sector-size 512",
        "--cipher twofish-xts-plain64 --key-size 256 --sector-size 4096",
        "--cipher camellia-xts-plain64 --key-size 512 --sector-size 512",
        "--cipher aes-cbc-essiv:sha256 --key-size 256 --sector-size 2048",
        "--cipher aes-xts-benbi --key-size 256 --sector-size 4096",
        "--cipher aes-cbc-null --key-size 256 --sector-size 4096",
        "--cipher aes-xts-plain64be --key-size 512 --sector-size 512",
        "--cipher aes-ctr-plain64 --key-size 256 --sector-size 4096",
        "--cipher aes-cbc-essiv:blake2s-256 --key-size 256 --sector-size 512 --hash sha3-256",
    ] {
        let mut image = plain.clone();
        image.resize(36 << 20, 0);
        std::fs::write(lab.path("image"), image).unwrap();
        let encrypt = format!(
            "reencrypt --encrypt --type luks2 --reduce-device-size 32M --pbkdf pbkdf2 \
             --pbkdf-force-iterations 1000 --key-file first {options} image"
        );
        if let Err(error) = lab.cryptsetup(&encrypt) {
            eprintln!("SKIPPED: {options}: {error}");
            continue;
        }
        let volume = open_with(lab.device(), &passphrase("first"), &writable()).unwrap();
        assert!(contents(&volume)[..plain.len()] == plain, "{options}");

        // cryptsetup decrypts what is written here.
        volume.write_at(MIB, &plain[..65536]).unwrap();
        drop(volume);
        let _ = std::fs::remove_file(lab.path("header"));
        let decrypt =
            "reencrypt --decrypt --force-offline-reencrypt --key-file first --header header image";
        if let Err(error) = lab.cryptsetup(decrypt) {
            eprintln!("SKIPPED: decrypting: {error}");
            continue;
        }
        let decrypted = std::fs::read(lab.path("image")).unwrap();
        assert!(decrypted[..1 << 20] == plain[..1 << 20], "{options}");
        assert!(decrypted[1 << 20..][..65536] == plain[..65536], "{options}");
        cryptbench_prove::count(
            1,
            "volumes that cryptsetup encrypted, written here, decrypted by it",
        );
    }
}

#[test]
fn our_data_is_what_cryptsetup_decrypts() {
    let Some(lab) = Lab::with_cryptsetup(40 * MIB) else { return };
    let plain = pattern(4 << 20);
    for (encryption, sector_size) in [("aes-xts-plain64", 4096), ("serpent-xts-plain64", 512)] {
        let options =
            CreateOptions { encryption, sector_size, data_offset: None, ..cheap(Version::Luks2) };
        create(&*lab.device(), &passphrase("first"), &options).unwrap();
        let volume = open_with(lab.device(), &passphrase("first"), &writable()).unwrap();
        volume.write_at(0, &plain).unwrap();
        drop(volume);
        let _ = std::fs::remove_file(lab.path("header"));
        let decrypt =
            "reencrypt --decrypt --force-offline-reencrypt --key-file first --header header image";
        if let Err(error) = lab.cryptsetup(decrypt) {
            eprintln!("SKIPPED: decrypting: {error}");
            return;
        }
        let decrypted = std::fs::read(lab.path("image")).unwrap();
        assert!(decrypted[..plain.len()] == plain, "{encryption}");
        cryptbench_prove::count(1, "volumes of ours that cryptsetup decrypted");
        std::fs::File::options()
            .write(true)
            .open(lab.path("image"))
            .unwrap()
            .set_len(40 * MIB)
            .unwrap();
    }
}

#[test]
fn a_reencryption_that_cryptsetup_has_begun_is_refused() {
    let Some(lab) = Lab::with_cryptsetup(40 * MIB) else { return };
    let init = "reencrypt --encrypt --init-only --type luks2 --reduce-device-size 32M --pbkdf pbkdf2 \
                --pbkdf-force-iterations 1000 --key-file first image";
    if let Err(error) = lab.cryptsetup(init) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let refused = open_with(lab.device(), &passphrase("first"), &writable()).map(drop);
    let Err(VolumeError::CannotOpen { why, .. }) = refused else { panic!("{refused:?}") };
    assert!(why.contains("re-encryption"), "{why}");
    let before = std::fs::read(lab.path("image")).unwrap();
    let add = add_key(&*lab.device(), &passphrase("first"), &passphrase("x"), &key_options());
    assert!(matches!(add, Err(VolumeError::CannotOpen { .. })));
    let remove = remove_key(&*lab.device(), Removal::Keyslot(0), true, &resources());
    assert!(matches!(remove, Err(VolumeError::CannotOpen { .. })));
    assert!(std::fs::read(lab.path("image")).unwrap() == before);
    assert!(info(&*lab.device()).unwrap().obstacle.is_some());
}

#[test]
fn cryptsetup_agrees_after_a_repair() {
    let Some(lab) = Lab::with_cryptsetup(20 * MIB) else { return };
    lab.format("--type luks2 --pbkdf pbkdf2").unwrap();
    lab.device().write_at(0, &[0; 512]).unwrap();
    assert!(lab.opens("first"));
    // cryptsetup computes the checksum of each copy that resembles one.
    let checksums = || {
        let debug = lab.cryptsetup("luksDump --debug image").unwrap();
        debug.matches("(in-memory)").count()
    };
    let before = checksums();
    assert!(repair(&*lab.device(), false).unwrap());
    assert_eq!((before, checksums()), (1, 2));
    assert!(lab.cryptsetup_opens("first"));
}

#[test]
fn qemu_reads_what_we_write_and_the_other_way_round() {
    if !there(QEMU_IMG) {
        return;
    }
    let lab = Lab::new(5 * MIB);
    let plain = pattern(1 << 20);
    std::fs::write(lab.path("plain"), &plain).unwrap();
    let secret = "--object secret,id=key,file=first";
    for (options, cipher) in [
        // Only a few, because QEMU measures for seconds how many iterations to use.
        ("cipher-alg=aes-128,cipher-mode=xts,ivgen-alg=plain64", "aes-xts-plain64"),
        ("cipher-alg=serpent-256,cipher-mode=xts,ivgen-alg=plain", "serpent-xts-plain"),
        (
            "cipher-alg=twofish-256,cipher-mode=cbc,ivgen-alg=essiv,ivgen-hash-alg=sha256",
            "twofish-cbc-essiv:sha256",
        ),
    ] {
        let create = format!(
            "convert -f raw -O luks {secret} -o key-secret=key,{options},hash-alg=sha256,iter-time=10 plain image"
        );
        if let Err(error) = lab.run(QEMU_IMG, &create) {
            eprintln!("SKIPPED: {options}: {error}");
            continue;
        }
        let volume = open_with(lab.device(), &passphrase("first"), &writable()).unwrap();
        assert_eq!(volume.info().cipher, cipher);
        assert!(contents(&volume)[..plain.len()] == plain, "{options}");

        std::fs::File::options()
            .write(true)
            .open(lab.path("image"))
            .unwrap()
            .set_len(5 * MIB)
            .unwrap();
        let key_bytes = volume.info().key_bytes;
        drop(volume);
        let ours = CreateOptions { encryption: cipher, key_bytes, ..cheap(Version::Luks1) };
        let first: Credentials = passphrase("first");
        create_with(&lab, &ours, &first, &plain[..MIB as usize]);
        let read = format!(
            "convert {secret} --image-opts driver=luks,key-secret=key,file.filename=image -O raw decrypted"
        );
        lab.run(QEMU_IMG, &read).unwrap();
        assert!(std::fs::read(lab.path("decrypted")).unwrap()[..plain.len()] == plain, "{options}");
        cryptbench_prove::count(2, "volumes between qemu-img and us, one each way");
    }
}

fn create_with(lab: &Lab, options: &CreateOptions<'_>, key: &Credentials, plain: &[u8]) {
    create(&*lab.device(), key, options).unwrap();
    let volume = open_with(lab.device(), key, &writable()).unwrap();
    volume.write_at(0, plain).unwrap();
}
