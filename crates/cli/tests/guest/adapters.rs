//! Systems on top of device mapper, set up by their adapters in the guest: what they write is encrypted, and they
//! leave nothing behind, whatever fails and whenever they are killed.
//!
//! The tests that set systems up run in the guest, started from this same test program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::{Guest, noise};
use crate::sandbox::{nightly, skipped, text};

#[path = "adapters/inside.rs"]
mod inside;

/// Programs that the adapters call in addition to those that every guest has.
const PROGRAMS: &[(&str, &str)] =
    &[("/sbin/mkfs.ext4", "e2fsprogs"), ("/sbin/dmsetup", "dmsetup"), ("/sbin/losetup", "mount")];

const TCPLAY: &str = "/usr/sbin/tcplay";

/// A disk for the containers. After each test, the script counts what is left on it.
const SCRIPT: &str = r#"
mkfs.ext4 -q -F -b 4096 -N 1024 -J size=8 -E lazy_itable_init=0,lazy_journal_init=0 /dev/ubda
mkdir /run/disk
mount /dev/ubda /run/disk
inside() { PLACE=/run/disk ./inside --ignored --exact --nocapture --test-threads=1 "adapters::inside::$1"; }
# Devices, mounts, containers and journals.
nothing_left() {
    local left
    left=$(dmsetup ls | grep -v '^No devices' || true; losetup -a; ls -A /run/disk | grep -v lost+found || true
        grep /run/cryptbench /proc/mounts || true; ls -A /run/cryptbench 2>/dev/null || true
        ls -A /run/.local/state/cryptbench/ledgers 2>/dev/null || true)
    [ -z "$left" ] || { echo "$1: left behind: $left"; return 1; }
}
"#;

/// A guest that contains this program.
fn guest() -> Option<Guest> {
    guest_with_disk(400 << 20)
}

fn guest_with_disk(bytes: u64) -> Option<Guest> {
    let guest = Guest::new(PROGRAMS)?;
    fs::copy(std::env::current_exe().unwrap(), guest.path("inside")).unwrap();
    guest.disk("disk", bytes);
    Some(guest)
}

fn boot(guest: &Guest, script: &str) -> String {
    guest.boot(&["disk"], &format!("{SCRIPT}\n{script}"))
}

/// Settings of a system, with the values of each.
type Settings = &'static [(&'static str, &'static [&'static str])];

/// Sets up each arm that the settings of these lines describe once. Uses a single boot, which takes as long as two
/// arms.
fn each_in(guest: &Guest, lines: &[(&str, Settings)]) {
    let mut script = String::new();
    for (number, (system, settings)) in lines.iter().enumerate() {
        let settings: BTreeMap<_, _> = settings.iter().copied().collect();
        let file = format!("settings-{number}");
        guest.write(&file, serde_json::to_vec(&settings).unwrap());
        script.push_str(&format!(
            "name='{system} {settings:?}'\n\
             SYSTEM={system} SETTINGS={file} CHECKED=/run/checked inside sets_every_arm_up\n\
             nothing_left \"$name\"\n"
        ));
    }
    eprintln!("{}", boot(guest, &script));
}

/// QEMU needs no device mapper, so this runs on this machine, on the disk of the build directory.
#[test]
fn qemu_luks_encrypts() {
    each_here("qemu-luks", ["aes-256-xts", "serpent-256-xts"]);
}

/// Sets up a system on both I/O targets with both ciphers. All combinations are only tested if there is time for
/// them.
fn each_here(system: &str, [first, second]: [&str; 2]) {
    let io_targets = ["file", "device"];
    let settings = |io_targets: &[&str], ciphers: &[&str]| {
        serde_json::json!({ "io-target": io_targets, "cipher": ciphers }).to_string()
    };
    if nightly() {
        return here(system, &settings(&io_targets, &[first, second]));
    }
    here(system, &settings(&io_targets[..1], &[first]));
    here(system, &settings(&io_targets[1..], &[second]));
}

/// Sets up every arm that these settings describe, on this machine.
fn here(system: &str, chosen: &str) {
    let home = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let settings = home.path().join("settings");
    fs::write(&settings, chosen).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "adapters::inside::sets_every_arm_up"])
        .env("HOME", home.path())
        .env_remove("XDG_STATE_HOME")
        .envs([("PLACE", place.path()), ("SETTINGS", &settings), ("SYSTEM", Path::new(system))])
        .output()
        .unwrap();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    eprintln!("{errors}");
    assert!(output.status.success(), "{said}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{said}");
}

/// The same for nbdkit.
#[test]
fn nbdkit_luks_encrypts() {
    each_here("nbdkit-luks", ["aes-256-xts", "aes-128-xts"]);
}

#[test]
fn dm_crypt_and_truecrypt_encrypt_with_every_setting() {
    let Some(guest) = guest() else { return };
    let mut lines: Vec<(&str, Settings)> = vec![
        ("dm-crypt", &[("format", &["luks1", "luks2"])]),
        // The cipher of study C, in a container file on a partition.
        (
            "dm-crypt",
            &[
                ("on", &["container-in-partition"]),
                ("format", &["luks1"]),
                ("cipher", &["aes-256-cbc-essiv"]),
            ],
        ),
        (
            "dm-crypt",
            &[
                ("cipher", &["adiantum"]),
                ("workqueues", &["no-read-write"]),
                ("same-cpu", &["yes"]),
                ("io-target", &["device"]),
            ],
        ),
        ("dm-crypt", &[("format", &["plain"]), ("sector-size", &["4096"])]),
        (
            "dm-crypt",
            &[
                ("integrity", &["crc32c"]),
                ("integrity-journal", &["bitmap"]),
                ("sector-size", &["4096"]),
            ],
        ),
    ];
    if nightly() {
        let ciphers: Settings = &[(
            "cipher",
            &[
                "adiantum",
                "aes-128-xts",
                "aes-256-cbc-essiv",
                "camellia-256-xts",
                "serpent-256-xts",
                "twofish-256-xts",
            ],
        )];
        lines.push(("dm-crypt", ciphers));
        let on: Settings = &[("on", &["partition"]), ("format", &["luks1"])];
        lines.push(("dm-crypt", on));
        lines.push((
            "dm-crypt",
            &[
                ("integrity", &["hmac-sha256", "crc32c", "aead"]),
                ("integrity-journal", &["data", "none"]),
                ("sector-size", &["4096"]),
            ],
        ));
        lines.push((
            "dm-crypt",
            &[("integrity", &["hmac-sha256", "aead"]), ("sector-size", &["512"])],
        ));
        lines.push((
            "dm-crypt",
            &[("format", &["luks2", "luks1", "plain"]), ("sector-size", &["512", "4096"])],
        ));
        lines.push((
            "dm-crypt",
            &[
                ("workqueues", &["no-read", "no-write", "no-read-write"]),
                ("same-cpu", &["yes"]),
                ("io-target", &["device"]),
            ],
        ));
    }
    if Path::new(TCPLAY).exists() {
        lines.push(("truecrypt", &[("cipher", &["aes-256-xts", "serpent-twofish-aes-xts"])]));
        if nightly() {
            lines.push(("truecrypt", &[("cipher", &["twofish-serpent-xts"])]));
        }
    } else {
        skipped(&format!("no {TCPLAY}; apt install tcplay"));
    }
    each_in(&guest, &lines);
}

/// VeraCrypt with its own program, but with the kernel's encryption.
#[test]
fn veracrypt_encrypts_on_the_kernels_crypto() {
    let Some(program) = on_path("veracrypt") else {
        return skipped("veracrypt is not installed, and Debian does not package it");
    };
    // The program requires the size of its container to be free a second time.
    let Some(guest) = guest_with_disk(800 << 20) else { return };
    fs::create_dir(guest.path("programs")).unwrap();
    fs::copy(program, guest.path("programs/veracrypt")).unwrap();
    let ciphers: &[&str] = match nightly() {
        true => &["aes-256-xts", "twofish-serpent-xts", "serpent-twofish-aes-xts"],
        false => &["aes-256-xts", "twofish-serpent-xts"],
    };
    let chosen = serde_json::json!({ "kernel-crypto": ["yes"], "cipher": ciphers });
    guest.write("settings", chosen.to_string());
    let script = "export PATH=$PWD/programs:$PATH\n\
                  SYSTEM=veracrypt SETTINGS=settings inside sets_every_arm_up\n\
                  nothing_left veracrypt\n";
    let said = boot(&guest, script);
    eprintln!("{said}");
    assert!(said.contains("checked veracrypt/aes-256-xts"), "{said}");
}

/// The program of this name in the user's search path.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// A program that fails if its arguments contain a certain word: either instead of doing its work, or after it.
const FAILING: &str = r#"#!/bin/bash
. "${0%/*}/told"
real=/sbin/${0##*/}
[ -x "$real" ] || real=/bin/${0##*/}
case " $* " in
*" $FAIL "*)
    [ "$AFTER" = no ] || "$real" "$@"
    echo "told to fail" >&2
    exit 1 ;;
esac
exec "$real" "$@"
"#;

#[test]
fn nothing_is_left_when_a_program_fails() {
    let Some(guest) = guest() else { return };
    let mut script = "export SYSTEM=dm-crypt SETTINGS=settings\n".to_owned();
    guest.write("settings", r#"{"integrity": ["hmac-sha256"]}"#);
    for (program, word) in [
        ("cryptsetup", "luksFormat"),
        ("cryptsetup", "open"),
        ("losetup", "--find"),
        ("mkfs.ext4", "-q"),
        ("mount", "-o"),
        ("dmsetup", "create"),
    ] {
        let directory = format!("failing-{program}");
        fs::create_dir_all(guest.path(&directory)).unwrap();
        let path = format!("{directory}/{program}");
        guest.write(&path, FAILING);
        fs::set_permissions(guest.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
        for after in ["no", "yes"] {
            // If a program creates something and then reports failure, only for dm-crypt is it known what was
            // created, because cryptbench chooses its names.
            if after == "yes" && matches!(program, "losetup" | "mount") {
                continue;
            }
            // What these programs have created is removed with the container, as is anything incomplete.
            if after == "yes" && matches!(word, "luksFormat" | "-q") && !nightly() {
                continue;
            }
            // Programs get few variables, so a file next to them says what to do.
            script.push_str(&format!(
                "echo 'FAIL={word} AFTER={after}' >{directory}/told\n\
                 PATH=$PWD/{directory}:$PATH PROGRAM={program} inside fails_as_a_whole\n\
                 nothing_left '{program} {word} {after}'\n"
            ));
        }
    }
    boot(&guest, &script);
}

#[test]
fn nothing_is_left_of_a_killed_run_after_cleanup() {
    let Some(guest) = guest() else { return };
    guest.bring_cryptbench();
    guest.write("settings", r#"{"integrity": ["hmac-sha256"]}"#);
    let mut script = "export SYSTEM=dm-crypt SETTINGS=settings PLACE=/run/disk\n".to_owned();
    script.push_str(
        "killed() {
    rm -f /run/ready
    local began=${EPOCHREALTIME/./}
    ./inside --ignored --exact --test-threads=1 adapters::inside::waits_to_be_killed >/dev/null 2>&1 &
    local process=$!
    if [ \"$1\" = ready ]; then
        while [ ! -e /run/ready ]; do kill -0 $process; sleep 0.05; done
        took=$(((${EPOCHREALTIME/./} - began) / 1000))
    else
        sleep \"$(printf '%d.%03d' $((took * $1 / 255000)) $((took * $1 / 255 % 1000)))\"
    fi
    kill -9 $process
    wait $process || true
    ./cryptbench cleanup
    nothing_left \"killed at $1\"
}
killed ready
",
    );
    // Killed at any time until everything is set up.
    for byte in noise(6, if nightly() { 10 } else { 3 }) {
        script.push_str(&format!("killed {byte}\n"));
    }
    let said = boot(&guest, &script);
    eprintln!("{said}");
}
