//! Root mounts a volume on a directory whose owner keeps replacing it with a link to one of root's directories.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{SOMEBODY, mounts};
use crate::sandbox::waiting::wait_until;
use crate::sandbox::{Sandbox, skipped, text};

/// Tells this test process that it is the attacker, and in which directory.
const ATTACK: &str = "CRYPTBENCH_TEST_ATTACK";

/// Seconds for which a mount is attacked; for manual tests, a minute or more.
const SECONDS: &str = "CRYPTBENCH_TEST_ATTACK_SECONDS";

/// Tells the attacker to start only after the volume is served: between the check of the mount point and the mount.
const WAITS: &str = "CRYPTBENCH_TEST_ATTACK_WAITS";

/// Exchanges `mnt` and `link` repeatedly until it is killed.
fn swap_for_ever(place: &Path) -> ! {
    while std::env::var_os(WAITS).is_some() && !mounts().contains("fuse.cryptbench") {}
    loop {
        let _ =
            renameat_with(CWD, place.join("mnt"), CWD, place.join("link"), RenameFlags::EXCHANGE);
        std::thread::sleep(Duration::from_micros(500));
    }
}

struct Attacker(Child);

impl Attacker {
    /// At the start, `mnt` is a real directory.
    fn start(place: &Path, waits: bool) -> Self {
        let (mnt, link) = (place.join("mnt"), place.join("link"));
        if mnt.is_symlink() {
            renameat_with(CWD, mnt, CWD, link, RenameFlags::EXCHANGE).unwrap();
        }
        let child = Command::new(std::env::current_exe().unwrap())
            .envs(waits.then_some((WAITS, "1")))
            .args([
                "--exact",
                "hostile_volume::swapped::a_mount_lands_where_it_was_meant",
                "--nocapture",
            ])
            .env(ATTACK, place)
            .uid(SOMEBODY)
            .gid(SOMEBODY)
            .current_dir("/")
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The directory with root's files, in which nothing may be mounted.
fn roots(sandbox: &Sandbox) -> PathBuf {
    sandbox.out().join("roots")
}

fn unmount_all(below: &Path) {
    let below = below.display().to_string();
    for line in mounts().lines().rev() {
        let place = line.split(' ').nth(4).unwrap_or_default();
        if place.starts_with(&below) {
            let _ = Command::new("umount").arg(place).status();
        }
    }
}

#[test]
fn a_mount_lands_where_it_was_meant() {
    if let Some(place) = std::env::var_os(ATTACK) {
        swap_for_ever(Path::new(&place));
    }
    let Some(sandbox) = made("ext4", "8MiB") else { return };
    let (target, roots) = (sandbox.target(), roots(&sandbox));
    fs::create_dir(&roots).unwrap();
    symlink(&roots, target.join("place/link")).unwrap();

    let seconds = std::env::var(SECONDS).ok().and_then(|s| s.parse().ok());
    let until = seconds.map(|s| Instant::now() + Duration::from_secs(s));
    let (mut mounted, mut refused) = (0, 0);
    for seed in cryptbench_prove::seeds(12) {
        let attacker = Attacker::start(&target.join("place"), seed % 4 != 0);
        // The attacker is running before the volume is served.
        std::thread::sleep(Duration::from_millis(if seed % 4 == 0 { 0 } else { 20 }));
        let raw: &[&str] = if seed % 3 == 0 { &["--raw"] } else { &[] };
        let done = sandbox.run(&[&MOUNT[..], raw].concat());
        if cryptbench_prove::is_broken("links") {
            let links = ["mnt", "link"].map(|name| target.join("place").join(name));
            let link = links.iter().find(|path| path.is_symlink()).unwrap_or(&links[0]);
            let _ = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(link).status();
        }
        let now = mounts();
        let taken = now.contains(&roots.display().to_string());
        // Unmounts before the checks, so that a failed test leaves no mount behind.
        drop(attacker);
        let subject = target.join("v").display().to_string();
        let _ = sandbox.run(&["volume", "umount", &subject]);
        wait_until("it is unmounted", || {
            let journals = sandbox.left_behind();
            !journals.iter().any(|path| path.extension().is_some_and(|e| e == "jsonl"))
        });
        unmount_all(&target);
        unmount_all(&roots);
        assert!(!taken, "seed {seed}: mounted over a directory of root's: {}", text(&done.stderr));
        match done.status.code() {
            Some(0) => mounted += 1,
            Some(3) => refused += 1,
            code => panic!("seed {seed}: {code:?}, {}", text(&done.stderr)),
        }
        if until.is_some_and(|until| Instant::now() > until) {
            break;
        }
    }
    eprintln!("{mounted} mounted where they were meant, {refused} refused");
    cryptbench_prove::count(mounted + refused, "attacks: mounts on a directory that was swapped");
}

#[test]
fn a_link_of_somebodys_is_not_followed() {
    let Some(sandbox) = made("ext4", "8MiB") else { return };
    let (target, roots) = (sandbox.target(), roots(&sandbox));
    fs::create_dir(&roots).unwrap();
    fs::remove_dir(target.join("place/mnt")).unwrap();
    symlink(&roots, target.join("place/mnt")).unwrap();
    let done = sandbox.run(&[&MOUNT[..], &["--raw"]].concat());
    let said = text(&done.stderr);
    unmount_all(&roots);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("symbolic link"), "{said}");
}

const MOUNT: [&str; 8] =
    ["volume", "mount", "v", "place/mnt", "--transport", "device", "--passphrase-file", "secret"];

/// A volume of another user with this file system, and a directory of that user as mount point; `None` if they
/// cannot be created.
fn made(kind: &str, size: &str) -> Option<Sandbox> {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        skipped("mounting for somebody needs root and /dev/fuse");
        return None;
    }
    let sandbox = Sandbox::new();
    let target = sandbox.target();
    for open in [target.parent().unwrap(), &target, &sandbox.out()] {
        fs::set_permissions(open, Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir_all(target.join("place/mnt")).unwrap();
    fs::write(target.join("secret"), "secret").unwrap();
    let create = ["volume", "create", "v", "--format", "luks1", "--passphrase-file", "secret"];
    let more = ["--size", size, "--unlock-time", "1ms", "--mkfs", kind];
    let made = sandbox.run(&[&create[..], &more].concat());
    let said = text(&made.stderr);
    if said.contains("it is not installed") {
        skipped(&said);
        return None;
    }
    assert!(made.status.success(), "{said}");
    for name in ["v", "place", "place/mnt"] {
        chown(target.join(name), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    Some(sandbox)
}

fn mounted(kind: &str, size: &str) -> Option<Sandbox> {
    let sandbox = made(kind, size)?;
    let done = sandbox.run(&MOUNT);
    assert!(done.status.success(), "{}", text(&done.stderr));
    Some(sandbox)
}

fn is_gone(sandbox: &Sandbox) {
    let place = sandbox.target().display().to_string();
    wait_until("nothing is left", || {
        let journals = sandbox.left_behind();
        !mounts().contains(&place)
            && !journals.iter().any(|path| path.extension().is_some_and(|e| e == "jsonl"))
    });
}

/// Files on btrfs have a different device number from the mount.
#[test]
fn a_volume_with_btrfs_stays_mounted_until_it_is_unmounted() {
    let Some(sandbox) = mounted("btrfs", "160MiB") else { return };
    let target = sandbox.target();
    std::thread::sleep(Duration::from_millis(500));
    let written = fs::write(target.join("place/mnt/file"), "there");
    let done = sandbox.run(&["volume", "umount", "place/mnt"]);
    unmount_all(&target);
    written.unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    is_gone(&sandbox);
}

#[test]
fn a_directory_that_is_renamed_under_a_mount_does_not_keep_it() {
    let Some(sandbox) = made("ext4", "8MiB") else { return };
    let place = sandbox.target().join("place");
    // In a namespace created before the mount, nothing is mounted there, and the owner can rename it.
    let mut owner = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--propagation", "private"])
        .args([
            "sh",
            "-c",
            "echo there && read -r go && mv mnt moved && ln -s / mnt && echo done; cat",
        ])
        .current_dir(&place)
        .uid(SOMEBODY)
        .gid(SOMEBODY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) =
        (owner.stdin.take().unwrap(), BufReader::new(owner.stdout.take().unwrap()));
    let mut said = String::new();
    from.read_line(&mut said).unwrap();
    if said != "there\n" {
        owner.wait().unwrap();
        return skipped("namespaces of users cannot be had");
    }
    let mounted = sandbox.run(&MOUNT);
    to.write_all(b"go\n").unwrap();
    from.read_line(&mut said).unwrap();
    let was_renamed = place.join("moved").exists() && place.join("mnt").is_symlink();
    let subject = sandbox.target().join("v").display().to_string();
    let done = sandbox.run(&["volume", "umount", &subject]);
    unmount_all(&sandbox.target());
    drop(to);
    owner.wait().unwrap();
    assert!(mounted.status.success(), "{}", text(&mounted.stderr));
    assert!(was_renamed, "{said}");
    assert!(done.status.success(), "{}", text(&done.stderr));
    is_gone(&sandbox);
}

#[test]
fn what_a_killed_keeper_left_is_found_where_it_is_by_now() {
    let Some(sandbox) = mounted("ext4", "8MiB") else { return };
    let target = sandbox.target();
    let journals = sandbox.left_behind();
    let journal = journals.iter().find(|path| path.extension().is_some_and(|e| e == "jsonl"));
    let journal = fs::read_to_string(journal.expect("a journal")).unwrap();
    let owner: serde_json::Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    let keeper = owner["owner"]["process"].to_string();
    fs::rename(target.join("place"), target.join("elsewhere")).unwrap();
    assert!(Command::new("kill").args(["-KILL", &keeper]).status().unwrap().success());
    wait_until("it is cleaned up", || {
        sandbox.run(&["cleanup"]);
        !mounts().contains(&target.display().to_string())
    });
    is_gone(&sandbox);
}
