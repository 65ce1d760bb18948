//! Tests with dislocker and cryptsetup.
//!
//! dislocker decrypts in its own process. cryptsetup needs device mapper to show the plaintext, but not to
//! print metadata and to check credentials.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_volume::format::bitlocker::{Method, create};
use cryptbench_volume::{Access, OpenOptions, open};

use super::volumes::{RECOVERY, contents, create_options, recovery_password};
use super::{options, passphrase, recovery};
use crate::{CRYPTSETUP, there};

const DISLOCKER_FILE: &str = "/usr/bin/dislocker-file";
const DISLOCKER_FUSE: &str = "/usr/bin/dislocker-fuse";

/// The programs' locale may not support more characters than these.
const PASSWORD: &str = "a plain password";

/// A folder with a 4 MiB image that was created here, and a pattern in its usable part.
struct Lab {
    dir: tempfile::TempDir,
    usable: u64,
}

impl Lab {
    fn new(method: Method, sector: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
        let device = FileDevice::open(&image, IoMode::Buffered, false).unwrap();
        let recovery_password = recovery_password();
        let mut options = create_options(method, sector);
        options.recovery = Some(&recovery_password);
        let usable = create(&device, &passphrase(PASSWORD), &options).unwrap().usable;
        let lab = Self { dir, usable };
        let options = OpenOptions { access: Access::ReadWrite, ..self::options() };
        let volume = open(Arc::new(device), &passphrase(PASSWORD), &options).unwrap();
        let mut data: Vec<u8> = (0..usable as usize).map(|i| (i / 512 * 7 + i) as u8).collect();
        // The bytes by which programs recognise a file system.
        data[..11].copy_from_slice(b"\xeb\x52\x90NTFS    ");
        data[11..13].copy_from_slice(&(sector as u16).to_le_bytes());
        volume.write_at(0, &data).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn plaintext(&self) -> Vec<u8> {
        let device = FileDevice::open(&self.path("image"), IoMode::Buffered, true).unwrap();
        contents(&open(Arc::new(device), &recovery(RECOVERY), &options()).unwrap())
    }

    /// Runs a program in the folder with something on its standard input.
    fn run(&self, program: &str, arguments: &[&str], input: &str) -> Result<String, String> {
        std::fs::write(self.path("input"), input).unwrap();
        let input = std::fs::File::open(self.path("input")).unwrap();
        let output = Command::new(program)
            .current_dir(self.dir.path())
            .args(arguments)
            .stdin(Stdio::from(input))
            .output()
            .map_err(|error| error.to_string())?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(said(&output.stdout));
        }
        Err(format!("{arguments:?}: {}{}", said(&output.stdout), said(&output.stderr)))
    }
}

#[test]
fn dislocker_decrypts_what_is_created_here() {
    if !there(DISLOCKER_FILE) {
        return;
    }
    for (method, sector) in Method::all().zip([512, 512, 4096, 512, 512, 4096]) {
        let lab = Lab::new(method, sector);
        let plain = lab.plaintext();
        for credential in [format!("-u{PASSWORD}"), format!("-p{RECOVERY}")] {
            let arguments = ["-r", "-V", "image", &credential, "--", "decrypted"];
            lab.run(DISLOCKER_FILE, &arguments, "")
                .unwrap_or_else(|error| panic!("{method} {sector}: {error}"));
            let theirs = std::fs::read(lab.path("decrypted")).unwrap();
            assert_eq!(theirs.len(), plain.len(), "{method} {sector}");
            assert!(theirs == plain, "{method} {sector}");
            cryptbench_prove::count(1, "volumes of BitLocker of ours that dislocker decrypted");
            std::fs::remove_file(lab.path("decrypted")).unwrap();
        }
    }
}

/// The process that serves dislocker's mount; unmounts it and waits for the process.
struct Mounted<'a>(&'a Lab);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fusermount3").arg("-u").arg(self.0.path("mnt")).status();
        let _ = Command::new("umount").arg(self.0.path("mnt")).stderr(Stdio::null()).status();
    }
}

#[test]
fn what_dislocker_writes_is_read_here() {
    if !there(DISLOCKER_FUSE) {
        return;
    }
    for method in [Method::Xts128, Method::Elephant256] {
        let lab = Lab::new(method, 512);
        std::fs::create_dir(lab.path("mnt")).unwrap();
        let password = format!("-u{PASSWORD}");
        let arguments = ["-V", "image", &password, "--", "mnt"];
        if let Err(error) = lab.run(DISLOCKER_FUSE, &arguments, "") {
            eprintln!("SKIPPED: dislocker cannot mount here: {}", error.trim());
            return;
        }
        let mounted = Mounted(&lab);
        let file = lab.path("mnt/dislocker-file");
        let until = Instant::now() + Duration::from_secs(5);
        while !file.exists() {
            assert!(Instant::now() < until, "dislocker shows no file");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut expected = lab.plaintext();
        {
            use std::os::unix::fs::FileExt as _;
            let file = std::fs::File::options().write(true).open(&file).unwrap();
            // In the first sectors, which are relocated, and far behind them.
            for (at, byte) in [(4096, 0x11), (1 << 20, 0x22), (lab.usable - 4096, 0x33)] {
                file.write_all_at(&[byte; 4096], at).unwrap();
                expected[at as usize..][..4096].fill(byte);
            }
            file.sync_all().unwrap();
        }
        drop(mounted);
        let until = Instant::now() + Duration::from_secs(5);
        // The process that served the mount exits a moment after the unmount.
        while lab.plaintext() != expected {
            assert!(Instant::now() < until, "{method}: other data than were written");
            std::thread::sleep(Duration::from_millis(50));
        }
        cryptbench_prove::count(1, "volumes of BitLocker that dislocker wrote, read here");
    }
}

#[test]
fn cryptsetup_reads_the_metadata_and_takes_the_credentials() {
    if !there(CRYPTSETUP) {
        return;
    }
    for (method, sector) in
        [(Method::Xts256, 512), (Method::Elephant128, 512), (Method::Cbc256, 4096)]
    {
        let lab = Lab::new(method, sector);
        let dump = lab.run(CRYPTSETUP, &["--disable-locks", "bitlkDump", "image"], "").unwrap();
        let (cipher, mode) = method.dm_crypt().split_once('-').unwrap();
        for line in [
            format!("Cipher name:  \t{cipher}"),
            format!("Cipher mode:  \t{mode}"),
            format!("Sector size:  \t{sector} [bytes]"),
            format!("Volume size:  \t{} [bytes]", 4 << 20),
            "VMK protected with passphrase".to_owned(),
            "VMK protected with recovery passphrase".to_owned(),
        ] {
            assert!(dump.contains(&line), "no {line:?} in {dump}");
        }
        for (secret, opens) in [(PASSWORD, true), (RECOVERY, true), ("another password", false)] {
            let arguments =
                ["--disable-locks", "open", "--type", "bitlk", "--test-passphrase", "image"];
            let tried = lab.run(CRYPTSETUP, &arguments, secret);
            match (tried, opens) {
                (Ok(_), true) | (Err(_), false) => {}
                (Err(error), true) if error.contains("device-mapper") => {
                    eprintln!("SKIPPED: cryptsetup cannot try a password here: {}", error.trim());
                }
                (tried, _) => panic!("{method} {sector} {opens}: {tried:?}"),
            }
        }
    }
}
