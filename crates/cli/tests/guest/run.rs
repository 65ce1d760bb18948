//! `cryptbench run` end to end over the systems that need a device mapper or eCryptfs, in the guest.
//!
//! What is correct is tested; how fast anything is in user-mode Linux says nothing, and the record says so.

use cryptbench_record::{ArmRole, Record};

use crate::machine::Guest;

const PROGRAMS: &[(&str, &str)] = &[
    ("/sbin/mkfs.ext4", "e2fsprogs"),
    ("/sbin/dmsetup", "dmsetup"),
    ("/sbin/losetup", "mount"),
    ("/usr/sbin/tcplay", "tcplay"),
    ("/usr/bin/ecryptfs-add-passphrase", "ecryptfs-utils"),
    ("/usr/bin/keyctl", "keyutils"),
];

const PROFILE: &str = r#"
name = "tiny"
description = "One workload each way."
trials = 2
trial_s = 0.1

[[workload]]
id = "write"
label = "random write"
operation = "write"
pattern = "random"
block_size = "64KiB"
queue_depth = 2
headline = "iops"

[[workload]]
id = "read"
label = "random read"
operation = "read"
pattern = "random"
block_size = "64KiB"
queue_depth = 2
headline = "iops"
"#;

/// eCryptfs has no direct I/O, so all go through the page cache.
const SCRIPT: &str = "
./modprobe -a encrypted-keys ecryptfs
mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/ubda
mkdir /run/disk
mount /dev/ubda /run/disk
echo kept >/run/disk/own
./cryptbench run /run/disk --systems dm-crypt,truecrypt,ecryptfs,builtin-mounted --data-unit 512 \
    --profile ./tiny.toml --size 16MiB --buffered --verify -o out
cp out/record.json record.json
[ \"$(cat /run/disk/own)\" = kept ]
left=$(dmsetup ls | grep -v '^No devices' || true; losetup -a; ls -A /run/disk | grep -v -e lost+found -e own || true
    grep /run/cryptbench /proc/mounts || true; keyctl show @u | grep -i ecryptfs || true)
[ -z \"$left\" ] || { echo \"left behind: $left\"; exit 1; }
";

#[test]
fn a_run_measures_dm_crypt_truecrypt_and_ecryptfs_and_leaves_nothing() {
    let Some(guest) = Guest::new(PROGRAMS) else { return };
    guest.bring_cryptbench();
    guest.disk("disk", 2600 << 20);
    guest.write("tiny.toml", PROFILE);
    let said = guest.boot(&["disk"], SCRIPT);
    eprintln!("{said}");
    let record: Record = serde_json::from_slice(&guest.read("record.json")).unwrap();
    for arm in [
        "plain",
        "dm-crypt/linear",
        "dm-crypt/cipher-null",
        "dm-crypt/aes-256-xts",
        "truecrypt/aes-256-xts",
        "ecryptfs/aes-128-cbc",
        "builtin-mounted/aes-256-xts/512",
    ] {
        for workload in ["write", "read"] {
            let trials = record.trials_of(workload, arm);
            assert_eq!(trials.len(), 2, "{workload} on {arm}");
            assert!(trials.iter().all(|(_, t)| t.ios > 0 && t.bytes > 0), "{workload} on {arm}");
        }
    }
    // Each was taken down to its data at rest and brought up again.
    for arm in &record.plan.arms[1..] {
        let found = record.evidence.iter().find(|e| e.arm == arm.id).expect("looked at");
        assert!(found.is_verified(), "{found:?}");
        let encrypted = arm.role == ArmRole::Encrypted;
        assert_eq!(found.shows_plaintext(), Some(!encrypted), "{}: {found:?}", arm.id);
        eprintln!("{}: {found:?}", arm.id);
    }
    let truecrypt = record.plan.arms.iter().find(|a| a.system == "truecrypt").unwrap();
    assert!(truecrypt.null_layer.as_deref().is_some_and(|id| id.starts_with("dm-crypt/")));
    let machine = record.machine.virtualisation.unwrap_or_default();
    assert!(machine.contains("user-mode Linux"), "{machine}");
    assert!(said.contains("EMULATED"), "{said}");
}
