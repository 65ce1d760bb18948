//! `cryptbench run` from start to end, in the guest, with the systems that need device mapper or eCryptfs.
//!
//! The test checks correctness; speeds in user-mode Linux mean nothing, and the record says so.

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

/// eCryptfs does not support direct I/O, so all arms use the page cache.
const SCRIPT: &str = "
./modprobe -a encrypted-keys ecryptfs
mkfs.ext4 -q -F -b 4096 -N 1024 -J size=8 -E lazy_itable_init=0,lazy_journal_init=0 /dev/ubda
mkdir /run/disk
mount /dev/ubda /run/disk
echo kept >/run/disk/own
./cryptbench run /run/disk --systems dm-crypt,truecrypt,ecryptfs,builtin-mounted --data-unit 512 \
    --profile ./tiny.toml --size 16MiB --buffered --verify -o out
cp out/record.json record.json
[ \"$(cat /run/disk/own)\" = kept ]
./cryptbench run /run/disk --study C --max-file 64KiB --size 16MiB --dry-run
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
            assert!(
                trials.iter().all(|(_, t)| t.measured.ios > 0 && t.measured.bytes > 0),
                "{workload} on {arm}"
            );
        }
    }
    // Each arm was closed down to its stored data and opened again.
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
    // Here the systems of study C can be measured: LUKS with the format and cipher used then; eCryptfs keeps its
    // own cipher.
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "LUKS (LUKS1, aes-cbc-essiv:sha256, 256 bits): measured directly, as the system dm-crypt, with aes-256-cbc-essiv",
        "TrueCrypt (AES, RIPEMD-160): measured directly, as the system truecrypt, with aes-256-xts",
        "eCryptfs (AES, 16 bytes of key): measured directly, as the system ecryptfs",
        "format=luks1",
        "LUKS1 (dm-crypt); eCryptfs;",
        "EncFS paranoia; TrueCrypt ciphers",
        "ciphers aes-256-cbc-essiv, aes-128-cbc, aes-256-cbc, aes-256-xts",
    ] {
        assert!(flat.contains(part), "{part} is not in {flat}");
    }
}

/// What the guest needs for the default set.
const OF_CHOICES: &[(&str, &str)] =
    &[("/sbin/mkfs.ext4", "e2fsprogs"), ("/sbin/dmsetup", "dmsetup"), ("/sbin/losetup", "mount")];

/// The default set; a disk with blocks of 4096 bytes; a target on LUKS.
const CHOICES: &str = "
mkfs.ext4 -q -F -b 4096 -N 1024 -J size=8 -E lazy_itable_init=0,lazy_journal_init=0 /dev/ubda
mkdir /run/disk /run/large /run/inner
mount /dev/ubda /run/disk
measure() { ./cryptbench run \"$1\" --profile ./tiny.toml --size 16MiB -o \"$2\" \"${@:3}\"; cp $2/record.json $2.json; }
measure /run/disk default
truncate -s 900M /run/disk/blocks
blocks=$(losetup --find --show --sector-size=4096 /run/disk/blocks)
mkfs.ext4 -q -F -b 4096 -N 1024 -J size=8 -E lazy_itable_init=0,lazy_journal_init=0 $blocks
mount $blocks /run/large
measure /run/large large --system dm-crypt --buffered
umount /run/large
losetup -d $blocks
truncate -s 300M /run/disk/luks
luks=$(losetup --find --show /run/disk/luks)
echo secret | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file - $luks
echo secret | cryptsetup open --type luks2 --key-file - $luks inner
mkfs.ext4 -q -F -b 4096 -N 1024 -J size=8 -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/inner
mount /dev/mapper/inner /run/inner
measure /run/inner inner --builtin-only --buffered
umount /run/inner
cryptsetup close inner
losetup -d $luks
left=$(dmsetup ls | grep -v '^No devices' || true; losetup -a; grep /run/cryptbench /proc/mounts || true)
[ -z \"$left\" ] || { echo \"left behind: $left\"; exit 1; }
";

#[test]
fn the_default_run_takes_luks2_as_cryptsetup_makes_it_and_sees_a_target_that_is_encrypted_already()
{
    let Some(guest) = Guest::new(OF_CHOICES) else { return };
    guest.bring_cryptbench();
    guest.disk("disk", 2600 << 20);
    guest.write("tiny.toml", PROFILE);
    let said = guest.boot(&["disk"], CHOICES);
    eprintln!("{said}");
    let record = |name: &str| -> Record {
        serde_json::from_slice(&guest.read(&format!("{name}.json"))).unwrap()
    };
    let default = record("default");
    let set = default.plan.set.as_deref().unwrap_or_default();
    assert!(set.starts_with("default/dm-crypt+"), "{set}: {:?}", default.plan.left_out);
    let ids: Vec<_> = default.plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(
        ids[..4],
        ["plain", "plain-again", "builtin/aes-256-xts/4096", "dm-crypt/aes-256-xts"]
    );
    assert_eq!(ids.len(), 5);
    // The guest's disk has blocks of 512 bytes, and cryptsetup uses that size.
    assert_eq!(default.plan.arms[3].label, "LUKS2 AES-256-XTS 512 B");
    assert_eq!(default.plan.arms[3].data_unit, Some(512));
    let veracrypt = default.plan.left_out.iter().find(|left| left.system == "veracrypt").unwrap();
    assert!(veracrypt.reason.contains("veracrypt"), "{veracrypt:?}");
    assert!(default.trials_of("read", "dm-crypt/aes-256-xts").len() == 2);
    assert_eq!(default.target.encrypted_by, None);
    let large = record("large");
    let arm = |id: &str| large.plan.arms.iter().find(|arm| arm.id == id);
    let found = arm("dm-crypt/aes-256-xts/sector-size=4096").expect("cryptsetup chose it");
    assert_eq!(found.data_unit, Some(4096));
    let null = "dm-crypt/cipher-null/sector-size=4096";
    assert_eq!(
        (found.null_layer.as_deref(), arm(null).unwrap().data_unit),
        (Some(null), Some(4096))
    );
    assert_eq!(large.trials_of("write", &found.id).len(), 2);
    let inner = record("inner");
    let by = inner.target.encrypted_by.as_ref().expect("it lies on LUKS");
    assert_eq!(by.system, "LUKS2");
    assert!(inner.notes[0].contains("is already encrypted by LUKS2"), "{:?}", inner.notes);
    assert_eq!(inner.plan.set.as_deref(), Some(cryptbench_record::BUILTIN_ONLY));
}

/// An open LUKS2 device, measured together with its underlying device; and what is refused. Hashes show whether
/// anything was written.
const EXISTING: &str = "
refused() { ./cryptbench run --existing \"$@\" --profile ./tiny.toml -o refused 2>&1 && exit 1 || true; }
echo \"none: $(refused)\"
echo secret | cryptsetup -q luksFormat --type luks2 --sector-size 4096 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --key-file - /dev/ubda
echo secret | cryptsetup open --type luks2 --key-file - /dev/ubda safe
mkfs.ext4 -q -F -b 4096 -N 1024 -J size=8 -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/safe
mkdir /run/safe /run/other
mount -o ro,noload /dev/mapper/safe /run/safe
sync
before=$(sha256sum </dev/ubda)
./cryptbench run --existing --profile ./tiny.toml --size 16MiB -o out
cp out/record.json only.json
./cryptbench run --existing /run/safe --profile ./tiny.toml --size 16MiB -o named
cp named/record.json named.json
./cryptbench run --existing /dev/mapper/safe --dry-run
[ \"$(sha256sum </dev/ubda)\" = \"$before\" ] || { echo 'something was written'; exit 1; }
truncate -s 20M /run/file
echo secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 512 --hash sha256 --key-file - /run/file other
echo \"several: $(refused)\"
echo \"elsewhere: $(refused /run/other)\"
cryptsetup close other
umount /run/safe
cryptsetup close safe
left=$(dmsetup ls | grep -v '^No devices' || true; losetup -a; ls -A /run/cryptbench 2>/dev/null || true)
[ -z \"$left\" ] || { echo \"left behind: $left\"; exit 1; }
";

#[test]
fn an_open_luks2_device_is_measured_beside_the_device_below_and_nothing_is_written() {
    let Some(guest) = Guest::new(&OF_CHOICES[..2]) else { return };
    guest.bring_cryptbench();
    guest.disk("disk", 200 << 20);
    guest.write("tiny.toml", PROFILE);
    let said = guest.boot(&["disk"], EXISTING);
    eprintln!("{said}");
    for words in [
        "no dm-crypt device is open",
        "choose one of /dev/mapper/safe (LUKS2), /dev/mapper/other (plain dm-crypt)",
        "and is not on one",
        "1 of 2 workloads of the profile were left out",
    ] {
        assert!(said.contains(words), "no {words:?}");
    }
    for name in ["only.json", "named.json"] {
        let record: Record = serde_json::from_slice(&guest.read(name)).unwrap();
        let paired = record.target.paired.as_ref().unwrap();
        assert_eq!((paired.name.as_str(), paired.kind.as_str()), ("LUKS2 (dm-crypt)", "device"));
        let facts = paired.in_use.as_ref().unwrap();
        assert_eq!((facts.system.as_str(), facts.below.as_str()), ("LUKS2", "ubda"));
        assert_eq!((facts.cipher.as_str(), facts.sector_size), ("aes-xts-plain64", 4096));
        assert_eq!(facts.key_bits, Some(512));
        assert_eq!((facts.offset_bytes, facts.size_bytes), (16 << 20, 184 << 20));
        let works: Vec<_> = record.plan.workloads.iter().map(|w| w.id.as_str()).collect();
        assert_eq!(works, ["read"]);
        for arm in ["plain", "plain-again", "paired"] {
            let trials = record.trials_of("read", arm);
            assert_eq!(trials.len(), 2, "{arm}");
            assert!(trials.iter().all(|(_, t)| t.measured.bytes > 0), "{arm}");
            let written: u64 =
                trials.iter().filter_map(|(_, t)| Some(t.measured.device?.written_bytes)).sum();
            assert_eq!(written, 0, "{arm}");
        }
        assert!(record.evidence.is_empty(), "proof takes writing");
        assert!(record.notes.iter().any(|n| n.contains("opened read-only")));
    }
}
