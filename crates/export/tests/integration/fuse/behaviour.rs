//! Errors, concurrency, and how servers end.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode, MemoryDevice};
use cryptbench_export::ExportError;
use cryptbench_export::fuse::{FuseOptions, Transport, is_stale_mount, mount, remove_stale_mount};

use crate::fuse::devices::{Broken, Failing, Shift, Shifted, file_device};
use crate::fuse::{is_mounted, try_mount, unmount};

const BOTH: [Transport; 2] = [Transport::Device, Transport::Uring];

fn open(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
fn writes_to_parts_of_one_sector_all_last() {
    for transport in BOTH {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = tempfile::tempdir().unwrap();
        let below = file_device(directory.path(), 2 << 20);
        let shift = Arc::new(Shift { unit: 4096 });
        let device = Arc::new(Shifted { below, shift, start: 0, len: 2 << 20 });
        let options = FuseOptions { transport, threads: 6, ..FuseOptions::default() };
        let Some(server) = try_mount(device, point.path(), &options) else { continue };
        let path = server.file();
        // Each thread owns every eighth run of 100 bytes; sectors and stripes are shared by all. A ninth
        // writes whole sectors elsewhere in the same stripe.
        std::thread::scope(|scope| {
            for t in 0..8u64 {
                let file = open(&path);
                scope.spawn(move || {
                    for turn in 1..=20u8 {
                        for i in 0..8u64 {
                            let at = (1 << 20) - 3200 + (i * 8 + t) * 100;
                            file.write_all_at(&[t as u8 * 20 + turn; 100], at).unwrap();
                        }
                    }
                });
            }
            let file = open(&path);
            scope.spawn(move || {
                for turn in 0..100 {
                    file.write_all_at(&[turn; 8192], 64 << 10).unwrap();
                }
            });
        });
        let mut seen = vec![0; 6400];
        open(&path).read_exact_at(&mut seen, (1 << 20) - 3200).unwrap();
        for (i, run) in seen.chunks(100).enumerate() {
            let last = (i % 8) as u8 * 20 + 20;
            assert!(run.iter().all(|&b| b == last), "run {i} by {transport:?}");
        }
        unmount(&server);
    }
}

#[test]
fn errors_of_the_device_reach_the_program() {
    let point = tempfile::tempdir().unwrap();
    let device = Arc::new(Failing { bad_flush: 1, ..Failing::new(1 << 20, 512 << 10, 61) });
    let counted = Arc::clone(&device);
    let Some(server) = try_mount(device, point.path(), &FuseOptions::default()) else { return };
    let file = open(&server.file());
    let mut buf = [0; 4096];
    file.write_all_at(&buf, 0).unwrap();
    // 61 is ENODATA, what a disk says of a sector that it cannot read.
    let raw = |result: io::Result<()>| result.unwrap_err().raw_os_error();
    assert_eq!(raw(file.read_exact_at(&mut buf, 512 << 10)), Some(61));
    assert_eq!(raw(file.write_all_at(&buf, 600 << 10)), Some(61));
    assert_eq!(raw(file.write_all_at(&buf[..1], (512 << 10) + 7)), Some(61));
    file.sync_all().unwrap();
    assert_eq!(counted.flushes.load(Ordering::SeqCst), 1, "fsync reached the device");
    assert_eq!(raw(file.sync_data()), Some(61));
    // The end of the device: 28 is ENOSPC.
    assert_eq!(raw(file.write_all_at(&buf, 1 << 20)), Some(28));
    assert_eq!(file.read_at(&mut buf, 1 << 20).unwrap(), 0);
    assert_eq!(server.stats().errors, 4);
    file.write_all_at(&buf, 0).unwrap();
    drop(file);
    unmount(&server);
}

#[test]
fn the_mount_holds_one_file_of_the_owner() {
    let point = tempfile::tempdir().unwrap();
    let device = Arc::new(MemoryDevice::new(vec![5; 8192]));
    let options = FuseOptions {
        file_name: "plain text".to_owned(),
        read_only: true,
        ..FuseOptions::default()
    };
    let Some(server) = try_mount(device, point.path(), &options) else { return };
    let names: Vec<_> =
        std::fs::read_dir(point.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["plain text"]);
    let path = point.path().join("plain text");
    assert_eq!(server.file(), path);
    let metadata = path.metadata().unwrap();
    assert_eq!((metadata.len(), metadata.permissions().mode() & 0o7777), (8192, 0o400));
    assert!(File::options().write(true).open(&path).is_err());
    assert!(File::create(point.path().join("other")).is_err());
    assert!(std::fs::remove_file(&path).is_err());
    assert!(std::fs::metadata(point.path().join("other")).is_err());
    // Reading through the page cache of a mapping is left to the kernel, and works.
    assert_eq!(std::fs::read(&path).unwrap(), [5; 8192]);
    drop(server);
    assert!(!is_mounted(point.path()));
}

#[test]
fn truncation_leaves_a_disk_as_it_is() {
    let point = tempfile::tempdir().unwrap();
    let device = Arc::new(MemoryDevice::new(vec![5; 8192]));
    let Some(server) = try_mount(device, point.path(), &FuseOptions::default()) else { return };
    std::fs::write(server.file(), b"over").unwrap();
    let after = std::fs::read(server.file()).unwrap();
    assert_eq!((after.len(), &after[..6]), (8192, &b"over\x05\x05"[..]));
    unmount(&server);
}

#[test]
fn a_mount_in_use_is_kept_until_it_is_told_to_stop() {
    for transport in BOTH {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = tempfile::tempdir().unwrap();
        let device = file_device(directory.path(), 1 << 20);
        let options = FuseOptions { transport, ..FuseOptions::default() };
        let Some(server) = try_mount(device, point.path(), &options) else { continue };
        let file = open(&server.file());
        assert!(matches!(server.unmount(), Err(ExportError::Busy { .. })));
        file.write_all_at(&[1; 512], 0).unwrap();
        server.stop();
        assert!(!is_mounted(point.path()));
        assert!(file.read_exact_at(&mut [0; 512], 0).is_err());
        assert!(!is_stale_mount(point.path()));
    }
}

#[test]
fn unmounting_from_outside_ends_the_server() {
    for transport in BOTH {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = tempfile::tempdir().unwrap();
        let device = file_device(directory.path(), 1 << 20);
        let options = FuseOptions { transport, ..FuseOptions::default() };
        let Some(server) = try_mount(device, point.path(), &options) else { continue };
        // A thread for long requests waits for the next one meanwhile.
        open(&server.file()).read_exact_at(&mut vec![0; 512 << 10], 0).unwrap();
        let status = Command::new("umount").arg(point.path()).status().unwrap();
        if !status.success() {
            eprintln!("SKIPPED: umount needs root");
            continue;
        }
        server.wait();
        // A second mount at the same place is not the first server's to remove.
        let other = Arc::new(MemoryDevice::new(vec![0; 4096]));
        let second = mount(other, point.path(), &FuseOptions::default()).unwrap();
        drop(server);
        assert!(is_mounted(point.path()));
        unmount(&second);
    }
}

#[test]
fn a_server_leaves_the_mount_alone_that_took_the_place_of_its_own() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: umount needs root");
        return;
    }
    for (round, transport) in BOTH.repeat(8).iter().enumerate() {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = tempfile::tempdir().unwrap();
        let device = file_device(directory.path(), 1 << 20);
        let options = FuseOptions { transport: *transport, ..FuseOptions::default() };
        let Some(first) = try_mount(device, point.path(), &options) else { continue };
        rustix::mount::unmount(point.path(), rustix::mount::UnmountFlags::empty()).unwrap();
        let other = Arc::new(MemoryDevice::new(vec![5; 4096]));
        let second = mount(other, point.path(), &FuseOptions::default()).unwrap();
        // At any moment of the first one's end.
        match round % 3 {
            0 => first.stop(),
            1 => drop(first),
            _ => drop(first.unmount()),
        }
        assert!(is_mounted(point.path()), "{transport:?}");
        assert_eq!(std::fs::read(second.file()).unwrap(), [5; 4096]);
        unmount(&second);
    }
}

/// Sets a flag when it is dropped.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_device_that_panics_hangs_nobody() {
    for (transport, in_transform) in
        [(Transport::Device, false), (Transport::Uring, false), (Transport::Uring, true)]
    {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = tempfile::tempdir().unwrap();
        let below = file_device(directory.path(), 1 << 20);
        let shift = Arc::new(Shift { unit: 4096 });
        let inner = Shifted { below, shift, start: 0, len: 1 << 20 };
        let device = Arc::new(Broken { inner, bad_from: 64 << 10, in_transform });
        let options = FuseOptions { transport, threads: 4, ..FuseOptions::default() };
        let Some(server) = try_mount(device, point.path(), &options) else { continue };
        let path = server.file();
        let file = open(&path);
        file.write_all_at(&[7; 4096], 4096).unwrap();
        // Others that share its stripe, and wait for it if it is never given back.
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Even where an assertion below fails: the writers would go on for ever.
            let _end = Sets(&ended);
            for t in 0..4u64 {
                let (file, ended) = (open(&path), &ended);
                scope.spawn(move || {
                    let whole = t % 2 == 0;
                    let data = vec![t as u8; if whole { 4096 } else { 100 }];
                    while !ended.load(Ordering::Relaxed) {
                        if file.write_all_at(&data, 8192 + t * 4096).is_err() {
                            break; // The server has ended.
                        }
                    }
                });
            }
            // In the middle of it, a write of whole sectors and one of a part of one.
            let whole = file.write_all_at(&[1; 4096], 128 << 10);
            let part = file.write_all_at(&[1; 100], (256 << 10) + 5);
            let long = file.read_exact_at(&mut vec![0; 256 << 10], 512 << 10);
            assert!(long.is_err());
            // A ring's own lane answers for its panics; a thread that panics ends the server.
            if transport == Transport::Uring && !in_transform {
                assert_eq!(part.unwrap_err().raw_os_error(), Some(5));
                // It takes the lane only where it meets another's hold.
                assert!(whole.is_ok() || whole.unwrap_err().raw_os_error() == Some(5));
                file.write_all_at(&[9; 4096], 4096).unwrap();
            } else {
                assert!(whole.is_err() && part.is_err());
            }
        });
        server.stop();
        assert!(!is_mounted(point.path()));
    }
}

#[test]
fn a_server_that_was_killed_leaves_a_mount_that_can_be_removed() {
    for transport in ["device", "uring"] {
        let point = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "fuse::behaviour::child_that_serves", "--ignored", "--nocapture"])
            .env("CRYPTBENCH_TEST_MOUNT", point.path())
            .env("CRYPTBENCH_TEST_TRANSPORT", transport)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"SERVING\n") && !seen.ends_with(b"SKIPPED\n") {
            let mut byte = [0];
            assert_eq!(output.read(&mut byte).unwrap(), 1, "the child ended early");
            seen.push(byte[0]);
        }
        if seen.ends_with(b"SERVING\n") {
            // A thread for long requests waits for the next one meanwhile.
            let file = File::open(point.path().join("volume")).unwrap();
            file.read_exact_at(&mut vec![0; 512 << 10], 0).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if seen.ends_with(b"SKIPPED\n") {
            eprintln!("SKIPPED: the child could not mount by {transport}");
            continue;
        }
        assert!(is_mounted(point.path()));
        assert!(is_stale_mount(point.path()), "{:?}", rustix::fs::statfs(point.path()).err());
        assert!(remove_stale_mount(point.path()).unwrap());
        assert!(!is_mounted(point.path()));
        assert!(!remove_stale_mount(point.path()).unwrap());
    }
}

/// A line for the parent, past the capture of tests' output.
fn say(line: &str) {
    let mut out = io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// Not a test: what the one above kills.
#[test]
#[ignore = "the child of another test"]
fn child_that_serves() {
    let Some(point) = std::env::var_os("CRYPTBENCH_TEST_MOUNT") else { return };
    let transport = match std::env::var("CRYPTBENCH_TEST_TRANSPORT").as_deref() {
        Ok("uring") => Transport::Uring,
        _ => Transport::Device,
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("backing");
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    let device = Arc::new(FileDevice::open(&path, IoMode::Buffered, false).unwrap());
    // The killed child cannot remove it.
    drop(directory);
    let options = FuseOptions { transport, ..FuseOptions::default() };
    let Some(server) = try_mount(device, Path::new(&point), &options) else {
        say("SKIPPED");
        return;
    };
    say("SERVING");
    let _ = io::stdin().read(&mut [0]);
    server.stop();
}

#[test]
fn an_ordinary_user_mounts_through_fusermount3() {
    if !rustix::process::geteuid().is_root() {
        return; // Then every other test has gone this way.
    }
    let uses = [("setpriv", "to become an ordinary user"), ("fusermount3", "to mount as one")];
    for (program, why) in uses {
        if Command::new(program).arg("--version").output().is_err() {
            eprintln!("SKIPPED: no {program} {why}");
            return;
        }
    }
    // The test's binary and the mount point must be within that user's reach.
    let reach = tempfile::tempdir_in("/tmp").unwrap();
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(reach.path(), all.clone()).unwrap();
    let binary = reach.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    let out = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["--exact", "fuse::behaviour::child_of_an_ordinary_user", "--ignored", "--nocapture"])
        .env("CRYPTBENCH_TEST_REACH", reach.path())
        .output()
        .unwrap();
    eprintln!("{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
}

/// Not a test: what the one above runs.
#[test]
#[ignore = "the child of another test"]
fn child_of_an_ordinary_user() {
    let Some(reach) = std::env::var_os("CRYPTBENCH_TEST_REACH") else { return };
    let point = tempfile::tempdir_in(reach).unwrap();
    let device: Arc<dyn BlockDevice> = Arc::new(MemoryDevice::new(vec![0; 1 << 20]));
    let Some(server) = try_mount(device, point.path(), &FuseOptions::default()) else { return };
    let file = open(&server.file());
    file.write_all_at(&[9; 1000], 100).unwrap();
    let mut back = [0; 1200];
    file.read_exact_at(&mut back, 0).unwrap();
    assert!(back[100..1100] == [9; 1000] && back[..100] == [0; 100]);
    assert!(matches!(server.unmount(), Err(ExportError::Busy { .. })));
    drop(file);
    unmount(&server);
    assert!(!is_mounted(point.path()));
}

#[test]
fn a_fork_with_an_open_file_outlives_the_server() {
    for transport in BOTH {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = tempfile::tempdir().unwrap();
        let device = file_device(directory.path(), 1 << 20);
        let options = FuseOptions { transport, ..FuseOptions::default() };
        let Some(server) = try_mount(device, point.path(), &options) else { continue };
        let file = open(&server.file());
        file.write_all_at(&[1; 512], 0).unwrap();
        // The child has the file as its standard input, and closes it when nobody serves any more.
        let mut child = Command::new("sh")
            .args(["-c", "echo; read -r line; exec 0<&-"])
            .stdin(Stdio::from(file))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        server.stop();
        // Its exit code does not matter; that it can exit does.
        child.wait().unwrap();
        assert!(!is_mounted(point.path()));
    }
}

#[test]
fn a_write_that_has_to_be_stable_is_flushed_before_it_returns() {
    use std::os::unix::fs::OpenOptionsExt as _;
    for transport in BOTH {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let point = tempfile::tempdir().unwrap();
        let device = file_device(directory.path(), 1 << 20);
        let options = FuseOptions { transport, ..FuseOptions::default() };
        let Some(server) = try_mount(device, point.path(), &options) else { continue };
        let mut written = 0;
        for (flag, flushes) in [(rustix::fs::OFlags::empty(), 0), (rustix::fs::OFlags::DSYNC, 1)] {
            let flag = flag.bits() as i32;
            let file = File::options().write(true).custom_flags(flag).open(server.file()).unwrap();
            file.write_all_at(&[7; 4096], 4096).unwrap();
            written += 1;
            let stats = server.stats();
            assert_eq!((stats.writes, stats.flushes), (written, flushes), "{transport:?}");
        }
        unmount(&server);
    }
}
