//! Volumes mounted as ublk disks, and runs that measure one: what was written is there, and nothing is left of a
//! disk after it is unmounted or after its server or keeper is killed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::distribution::Distribution;
use crate::sandbox::{nightly, skipped, text};

const SCRIPT: &str = r#"
printf secret >/secret
step() { echo "step: $*"; }
fails() { if "$@"; then echo "this must fail: $*"; false; fi; }
comes() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -lt 600 ] || { echo "not: $1"; false; }; sleep 0.1; done; }
volume() { cryptbench volume "$@"; }
open() { volume mount $1 $2 --passphrase-file /secret ${3:-}; }
is_gone() { ! grep -q ublk /proc/mounts && ! ls /dev | grep -q ublk[bc] && [ -z "$(server)$(keeper)" ]; }
server() { COLUMNS=200 ps -o pid,args | awk '/ confined / && !/awk/ { print $1 }'; }
keeper() { COLUMNS=200 ps -o pid,args | awk '/ volume keep / && !/ confined / && !/awk/ { print $1 }'; }

step two volumes at once
open /dev/vda /mnt
open /dev/vdb /mnt2 "--transport ublk"
grep '^/dev/ublkb0 /mnt ext4 rw,nosuid,nodev' /proc/mounts
grep '^/dev/ublkb1 /mnt2 ' /proc/mounts
grep 'write back' /sys/block/ublkb0/queue/write_cache
dd if=/dev/urandom of=/mnt/random bs=256k count=24 conv=fsync
for i in 1 2 3 4; do dd if=/mnt/random of=/mnt2/part$i bs=4k skip=$((i * 100)) count=100 & done
wait
sum=$(sha256sum </mnt/random)
echo 3 >/proc/sys/vm/drop_caches
[ "$(sha256sum </mnt/random)" = "$sum" ]
dd if=/mnt/random of=/run/copy bs=4k iflag=direct
[ "$(sha256sum </run/copy)" = "$sum" ]
volume umount /mnt
[ -e /dev/ublkb1 ]
fails [ -e /dev/ublkb0 ]
for i in 1 2 3 4; do
    dd if=/mnt2/part$i of=/run/part bs=4k iflag=direct
    dd if=/run/copy bs=4k skip=$((i * 100)) count=100 >/run/expected
    cmp /run/expected /run/part
done
volume umount /mnt2
comes is_gone

step read-only
open /dev/vda /mnt --read-only
grep '^/dev/ublkb0 /mnt ext4 ro' /proc/mounts
[ $(cat /sys/block/ublkb0/ro) = 1 ]
fails touch /mnt/new
[ "$(sha256sum </mnt/random)" = "$sum" ]


step in use
sleep 1000 </mnt/random &
busy=$!
fails volume umount /mnt
[ "$(sha256sum </mnt/random)" = "$sum" ]
kill $busy
wait $busy || true
volume umount /mnt
comes is_gone

step a killed server
open /dev/vda /mnt
kill -9 $(server)
comes is_gone

step a killed keeper
open /dev/vda /mnt
echo before >/mnt/before
sync
kill -9 $(keeper)
comes '[ -z "$(server)" ]'
open /dev/vda /mnt
grep before /mnt/before

step a signal
echo after >/mnt/after
kill $(keeper)
comes is_gone
[ -z "$(ls /run/cryptbench)" ]

step no disk for a file
fails open /dev/vda /mnt "--transport ublk --raw" 2>/run/said
grep 'combined with --raw' /run/said
echo "sum: $sum"
"#;

#[test]
fn a_volume_is_a_disk_of_ublk() {
    let Some(guest) = Distribution::new() else { return };
    for program in ["/sbin/mkfs.ext4", "/sbin/debugfs"] {
        if !Path::new(program).exists() {
            return skipped(&format!("no {program}; apt install e2fsprogs"));
        }
    }
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        return skipped("mounting needs root and /dev/fuse");
    }
    fs::write(guest.path("secret"), "secret").unwrap();
    let volume = |words: &str| {
        let args: Vec<_> = ["volume"].into_iter().chain(words.split_whitespace()).collect();
        let done = guest.sandbox.command(&args).output().unwrap();
        assert!(done.status.success(), "{words}: {}", text(&done.stderr));
        done.stdout
    };
    for (name, format) in [("a", "luks1"), ("b", "luks2 --sector-size 4096")] {
        volume(&format!(
            "create {name} --format {format} --size 48MiB --unlock-time 1ms --mkfs ext4 --passphrase-file secret"
        ));
    }
    let said = guest.boot(&["a", "b"], SCRIPT);
    // The volume contains what the guest wrote through its disk.
    fs::write(guest.path("plain"), volume("dump a - --passphrase-file secret")).unwrap();
    let file = |name: &str| {
        let (cat, plain) = (format!("cat {name}"), guest.path("plain"));
        let done = Command::new("/sbin/debugfs").args(["-R", &cat]).arg(plain).output();
        done.unwrap().stdout
    };
    assert_eq!(file("after"), b"after\n");
    let sum = said.lines().find_map(|line| line.trim().strip_prefix("sum: ")).unwrap();
    fs::write(guest.path("random"), file("random")).unwrap();
    let ours = Command::new("sha256sum").arg(guest.path("random")).output().unwrap();
    assert_eq!(text(&ours.stdout).split(' ').next(), sum.split(' ').next());
}

/// One run whose own mount is a ublk disk, one with another kind of mount, and one that is killed at several
/// moments.
const RUN: &str = r#"
step() { echo "step: $*"; }
comes() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -lt 1200 ] || { echo "not: $1"; false; }; sleep 0.1; done; }
server() { COLUMNS=200 ps -o pid,args | awk '/ serve-disk/ && !/awk/ { print $1 }'; }
left() {
    grep -e ublk -e /run/cryptbench /proc/mounts || true
    ls /dev | grep 'ublk[bc][0-9]' || true
    ls -A /mnt | grep -v lost+found || true
    losetup -a
    server
}
is_clean() { [ -z "$(left)" ] || { echo "left: $(left)"; false; }; }
run="run /mnt --system builtin-mounted --data-unit 512 --size 16MiB --quiet"
ways() { grep -o '"transport": *"[a-z-]*"' $1/record.json | sort | uniq -c | tr -s ' \n' ' '; }
profile() {
    cat <<END
name = "tiny"
description = "One workload each way."
trials = $1
trial_s = 0.2

[[workload]]
id = "write"
label = "random write"
operation = "write"
pattern = "random"
block_size = "16KiB"
queue_depth = 8
headline = "iops"

[[workload]]
id = "read"
label = "random read"
operation = "read"
pattern = "random"
block_size = "16KiB"
queue_depth = 8
headline = "iops"
END
}
profile 2 >/run/short.toml
profile 40 >/run/long.toml
mount -t ext4 /dev/vda /mnt

step the first that the kernel has
cryptbench $run --profile /run/short.toml --verify -o /run/first
echo "first: $(ways /run/first)"
is_clean

step another
cryptbench $run --profile /run/short.toml --set transport=fuse -o /run/second
echo "second: $(ways /run/second)"
is_clean

step one that the kernel lacks
if cryptbench $run --profile /run/short.toml --set transport=io-uring -o /run/third 2>/run/said; then false; fi
cat /run/said
is_clean

for after in AFTER; do
    step killed after $after s
    cryptbench $run --profile /run/long.toml -o /run/killed-$after &
    killed=$!
    comes "grep -q '^/dev/ublkb' /proc/mounts"
    sleep $after
    kill -9 $killed
    # A process that waits for ever cannot be waited for.
    comes '[ ! -e /proc/'$killed' ] || grep -q "^State:.Z" /proc/'$killed'/status'
    wait $killed || true
    comes '[ -z "$(server)" ]'
    cryptbench cleanup
    is_clean
done

step a killed server
cryptbench $run --profile /run/long.toml -o /run/orphaned 2>/run/said &
orphaned=$!
comes "grep -q '^/dev/ublkb' /proc/mounts"
sleep 1
kill -9 $(server)
comes '[ ! -e /proc/'$orphaned' ] || grep -q "^State:.Z" /proc/'$orphaned'/status'
if wait $orphaned; then false; fi
cat /run/said
cryptbench cleanup
is_clean
"#;

#[test]
fn a_run_has_its_mount_as_a_disk_and_leaves_none_when_it_is_killed() {
    let Some(guest) = Distribution::new() else { return };
    let [mkfs, losetup] = ["/sbin/mkfs.ext4", "/sbin/losetup"];
    for (program, package) in [(mkfs, "e2fsprogs"), (losetup, "mount")] {
        if !Path::new(program).exists() {
            return skipped(&format!("no {program}; apt install {package}"));
        }
    }
    fs::File::create_new(guest.path("disk")).unwrap().set_len(512 << 20).unwrap();
    let made = Command::new(mkfs).args(["-q", "-F"]).arg(guest.path("disk")).status().unwrap();
    assert!(made.success());
    let after = if nightly() { "0 0.3 0.6 1 2 3 6" } else { "0.3 2" };
    let said = guest.boot_with(
        &[("mkfs.ext4", Path::new(mkfs)), ("losetup", Path::new(losetup))],
        &["disk"],
        &RUN.replace("AFTER", after),
    );
    let ways = |which: &str| said.lines().find_map(|line| line.strip_prefix(which)).unwrap().trim();
    // One for the cipher and one for the pass-through.
    assert_eq!(ways("first: "), r#"2 "transport": "ublk""#);
    assert_eq!(ways("second: "), r#"2 "transport": "fuse""#);
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("this kernel has no FUSE over io_uring"), "{said}");
}
