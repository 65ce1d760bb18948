//! Devices that fail under a mounted volume: programs that use it get errors, it can be unmounted, and nothing is
//! left behind.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_export::fuse::{FuseOptions, Server, mount};
use cryptbench_prove::Random;

use crate::sandbox::{Sandbox, disk, skipped, text};

const SIZE: usize = 20 << 20;

/// What is wrong with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Fault {
    Nothing,
    Reading,
    Writing,
    Flushing,
    Full,
    Gone,
    Hanging,
}

/// Memory that fails on request. With `error` broken it reports success for every failure.
struct Faulty {
    memory: MemoryDevice,
    fault: AtomicU8,
    hangs: Mutex<bool>,
    goes_on: Condvar,
}

impl Faulty {
    fn set(&self, fault: Fault) {
        self.fault.store(fault as u8, Ordering::SeqCst);
        *self.hangs.lock().unwrap() = fault == Fault::Hanging;
        self.goes_on.notify_all();
    }

    fn check(&self, fails: &[(Fault, i32)]) -> io::Result<()> {
        let mut hangs = self.hangs.lock().unwrap();
        while *hangs {
            hangs = self.goes_on.wait(hangs).unwrap();
        }
        let now = self.fault.load(Ordering::SeqCst);
        match fails.iter().find(|(fault, _)| *fault as u8 == now) {
            Some(_) if cryptbench_prove::is_broken("error") => Ok(()),
            Some((_, error)) => Err(io::Error::from_raw_os_error(*error)),
            None => Ok(()),
        }
    }
}

const EIO: i32 = 5;
const ENODEV: i32 = 19;
const ENOSPC: i32 = 28;

impl BlockDevice for Faulty {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.check(&[(Fault::Reading, EIO), (Fault::Gone, ENODEV)])?;
        self.memory.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check(&[(Fault::Writing, EIO), (Fault::Full, ENOSPC), (Fault::Gone, ENODEV)])?;
        self.memory.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.check(&[(Fault::Flushing, EIO), (Fault::Gone, ENODEV)])
    }
}

/// A volume on a device that can fail, and its mount point.
struct Bench {
    sandbox: Sandbox,
    device: Arc<Faulty>,
    server: Server,
    _point: tempfile::TempDir,
}

impl Bench {
    /// If nothing can be mounted, prints that the test is skipped and returns `None`.
    fn new(format: &str) -> Option<Self> {
        let device = Arc::new(Faulty {
            memory: MemoryDevice::new(vec![0; SIZE]),
            fault: AtomicU8::new(0),
            hangs: Mutex::new(false),
            goes_on: Condvar::new(),
        });
        let point = tempfile::tempdir().unwrap();
        let served = Arc::clone(&device) as Arc<dyn BlockDevice>;
        let server = match mount(served, point.path(), &FuseOptions::default()) {
            Ok(server) => server,
            Err(e) => {
                skipped(&e.to_string());
                return None;
            }
        };
        let bench = Self { sandbox: Sandbox::new(), device, server, _point: point };
        fs::write(bench.path("pass"), "secret").unwrap();
        fs::create_dir(bench.path("mnt")).unwrap();
        let (volume, size) = (bench.path("v"), format!("{SIZE}"));
        let mut args = vec!["create", "v", "--size", &size, "--format", format];
        args.extend(["--passphrase-file", "pass"]);
        args.extend(match format {
            "veracrypt" => ["--pim", "1"],
            _ => ["--unlock-time", "1ms"],
        });
        bench.ok(&args);
        // Moves the volume to the device.
        let made = fs::read(&volume).unwrap();
        bench.device.memory.write_at(0, &made).unwrap();
        fs::remove_file(&volume).unwrap();
        std::os::unix::fs::symlink(bench.server.file(), &volume).unwrap();
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    fn volume(&self, args: &[&str]) -> Output {
        self.sandbox.run(&[&["volume"], args].concat())
    }

    fn ok(&self, args: &[&str]) -> Output {
        let output = self.volume(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        output
    }

    fn file(&self) -> String {
        self.server.file().display().to_string()
    }

    fn mount(&self, format: &str) -> File {
        let file = self.file();
        let mut args = vec!["mount", &file, "mnt", "--raw", "--passphrase-file", "pass"];
        if format == "veracrypt" {
            args.extend(["--pim", "1", "--prf", "sha-512"]);
        }
        self.ok(&args);
        let name = fs::read_dir(self.path("mnt")).unwrap().next().unwrap().unwrap().path();
        File::options().read(true).write(true).open(name).unwrap()
    }

    /// Unmounts and checks that nothing is left: no mount, no journal, no server.
    fn leaves_nothing(&self) {
        self.ok(&["umount", "mnt"]);
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.path("mnt").to_str().unwrap()), "still mounted");
        let left: Vec<_> = self
            .sandbox
            .left_behind()
            .into_iter()
            .filter(|path| !["v", "pass", "mnt"].iter().any(|own| path.ends_with(own)))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.device.set(Fault::Nothing);
        let _ = self.volume(&["umount", "mnt"]);
    }
}

/// What a program that uses the volume gets when it writes, flushes and reads.
fn work(file: &File, random: &mut Random) -> Vec<io::Result<()>> {
    let mut data = vec![0; 4096 * (1 + random.below(20))];
    random.fill(&mut data);
    let at = 4096 * random.below(100) as u64;
    let written = file.write_all_at(&data, at);
    let flushed = file.sync_all();
    // Another part, which is not cached yet.
    let elsewhere = (1 << 20) + 4096 * random.below(400) as u64;
    let read = file.read_exact_at(&mut data[..4096], elsewhere);
    vec![written, flushed, read]
}

fn words(results: &[io::Result<()>]) -> String {
    let words = ["write", "fsync", "read"].iter().zip(results).map(|(what, result)| match result {
        Ok(()) => format!("{what} ok"),
        Err(e) => {
            let said = e.to_string();
            format!("{what} “{}”", said.split(" (os").next().unwrap_or_default())
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn who_works_in_a_volume_is_told_of_the_devices_errors() {
    let faults = [Fault::Reading, Fault::Writing, Fault::Flushing, Fault::Full, Fault::Gone];
    for seed in cryptbench_prove::seeds(1) {
        let mut random = Random::new(seed);
        let format = *random.one_of(&["veracrypt", "luks1", "luks2"]);
        for fault in faults {
            // A new device each time, because a device is no longer trusted after a failed flush.
            let Some(bench) = Bench::new(format) else { return };
            let when = format!("{format}, seed {seed}, {fault:?}");
            let file = bench.mount(format);
            let well = work(&file, &mut random);
            assert!(well.iter().all(Result::is_ok), "{when}: {well:?}");
            bench.device.set(fault);
            let told = work(&file, &mut random);
            let (changed, read) = told.split_at(2);
            let is_told = match fault {
                Fault::Reading => read[0].is_err(),
                _ => changed.iter().any(Result::is_err),
            };
            assert!(is_told, "{when}: nothing was told: {told:?}");
            bench.device.set(Fault::Nothing);
            drop(file);
            bench.leaves_nothing();
            let said = words(&told);
            cryptbench_prove::count(
                1,
                &format!("faults: {fault:?} below a mount: {said}; nothing left"),
            );
        }
    }
}

#[test]
fn a_device_that_fails_while_it_is_opened_is_an_error_with_a_code() {
    for seed in cryptbench_prove::seeds(1) {
        let mut random = Random::new(seed);
        let format = *random.one_of(&["veracrypt", "luks1", "luks2"]);
        let Some(bench) = Bench::new(format) else { return };
        let file = bench.file();
        for fault in [Fault::Reading, Fault::Gone] {
            bench.device.set(fault);
            for args in [
                &["info", &file][..],
                &["dump", &file, "out", "--passphrase-file", "pass"],
                &["mount", &file, "mnt", "--raw", "--passphrase-file", "pass"],
            ] {
                let when = format!("{format}, seed {seed}, {fault:?}, {args:?}");
                let output = bench.volume(args);
                let said = text(&output.stderr);
                let code = output.status.code();
                // `info` prints why it cannot read a part, and continues.
                let told = match args[0] {
                    "info" => code == Some(0) && text(&output.stdout).contains("unreadable"),
                    _ => matches!(code, Some(3..=5)) && said.matches(": ").count() > 1,
                };
                assert!(told && !said.contains("panicked"), "{when}: {code:?}: {said}");
                assert!(!bench.path("out").exists(), "{when}: a file is left");
                let what = args[0];
                cryptbench_prove::count(
                    1,
                    &format!("faults: {fault:?} at `volume {what}`: exit code {}", code.unwrap()),
                );
            }
            bench.device.set(Fault::Nothing);
        }
    }
}

#[test]
fn a_device_that_hangs_holds_nobody_who_unmounts_and_goes_on_afterwards() {
    for seed in cryptbench_prove::seeds(1) {
        let mut random = Random::new(seed);
        let format = *random.one_of(&["veracrypt", "luks2"]);
        let Some(bench) = Bench::new(format) else { return };
        let file = bench.mount(format);
        bench.device.set(Fault::Hanging);
        let writer = std::thread::spawn(move || {
            let done = work(&file, &mut random);
            (file, done)
        });
        std::thread::sleep(Duration::from_millis(300));
        let begun = Instant::now();
        let output = bench.volume(&["umount", "mnt"]);
        let (took, said) = (begun.elapsed(), text(&output.stderr));
        bench.device.set(Fault::Nothing);
        let (file, done) = writer.join().unwrap();
        assert_eq!(output.status.code(), Some(6), "seed {seed}: {said}");
        assert!(took < Duration::from_secs(30), "seed {seed}: {took:?}");
        assert!(done.iter().all(Result::is_ok), "seed {seed}: {done:?}");
        drop(file);
        bench.leaves_nothing();
        cryptbench_prove::count(
            1,
            "faults: Hanging below a mount: umount said “in use”, and all went on; nothing left",
        );
    }
}

/// A container that another program truncates while it is mounted, and a container on a full disk.
#[test]
fn containers_that_end_early_or_find_the_disk_full() {
    for seed in cryptbench_prove::seeds(1) {
        let mut random = Random::new(seed);
        for full in [true, false] {
            let Some(bench) = Bench::new("luks1") else { return };
            let small = bench.path("small");
            let Some(_disk) = disk::Mount::new(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"], &small)
            else {
                return;
            };
            // A sparse copy: the disk has space for the header and little more.
            let container = small.join("c");
            let name = container.display().to_string();
            fs::write(bench.path("v2"), bench.device.memory.contents()).unwrap();
            assert!(disk::did(
                "cp",
                &["--sparse=always", bench.path("v2").to_str().unwrap(), &name]
            ));
            bench.ok(&["mount", &name, "mnt", "--raw", "--passphrase-file", "pass"]);
            let inside = fs::read_dir(bench.path("mnt")).unwrap().next().unwrap().unwrap().path();
            let mut file = File::options().read(true).write(true).open(inside).unwrap();
            if full {
                let data = vec![7; 3 << 20];
                let written = file.write_all_at(&data, 0).and_then(|()| file.sync_all());
                let error = written.expect_err("there is no room").raw_os_error();
                assert!(matches!(error, Some(ENOSPC | EIO)), "seed {seed}: {error:?}");
            } else {
                let at = random.below(1 << 20) as u64;
                File::options().write(true).open(&container).unwrap().set_len(17 << 20).unwrap();
                let mut all = Vec::new();
                assert!(file.read_to_end(&mut all).is_err(), "seed {seed}: read {}", all.len());
                let mut byte = [0];
                let beyond = file.read_exact_at(&mut byte, (16 << 20) + at);
                assert!(beyond.is_err(), "seed {seed}: behind the end");
            }
            drop(file);
            bench.ok(&["umount", "mnt"]);
            let what = if full { "a full disk below a container" } else { "a container cut short" };
            cryptbench_prove::count(
                1,
                &format!("faults: {what}: the program in it was told; nothing left"),
            );
        }
    }
}

#[test]
fn a_sound_device_is_no_error() {
    let Some(bench) = Bench::new("luks1") else { return };
    let file = bench.mount("luks1");
    assert!(work(&file, &mut Random::new(1)).iter().all(Result::is_ok));
    assert!(Path::new(&bench.file()).exists());
    drop(file);
    bench.leaves_nothing();
}
