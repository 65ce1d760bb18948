//! Tests volumes of every format with a correct and a wrong passphrase.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cryptbench_blockdev::FileDevice;
use cryptbench_load::UnlockWork;
use cryptbench_record::ArmRole;
use cryptbench_volume::VolumeError;
use cryptbench_volume::detect::{Kind, detect};

use super::*;
use crate::decide::Tiers;
use crate::decide::volumes::{UnlockArm, UnlockSelection, arms};

fn select(formats: &[&str], prfs: &[&str], pims: &[u32]) -> UnlockSelection {
    UnlockSelection {
        formats: formats.iter().map(ToString::to_string).collect(),
        prfs: prfs.iter().map(ToString::to_string).collect(),
        pims: pims.to_vec(),
    }
}

fn ids(selection: &UnlockSelection) -> Vec<String> {
    arms(selection).unwrap().into_iter().map(|arm| arm.id).collect()
}

/// Prepares the cheapest volumes.
fn prepare(arms: &[UnlockArm], directory: &Path) -> Unlocker {
    let stop = AtomicBool::new(false);
    Unlocker::prepare(arms, directory, Duration::from_millis(1), &stop, &mut |_| {}).unwrap()
}

const WORKS: [UnlockWork; 4] = [
    UnlockWork { right: true, prf_known: true },
    UnlockWork { right: true, prf_known: false },
    UnlockWork { right: false, prf_known: true },
    UnlockWork { right: false, prf_known: false },
];

#[test]
fn by_default_every_format_has_the_prfs_that_its_users_have() {
    assert_eq!(
        ids(&UnlockSelection::default()),
        [
            "plain",
            "plain-again",
            "builtin/veracrypt/sha-512",
            "builtin/veracrypt/sha-256",
            "builtin/veracrypt/blake2s-256",
            "builtin/veracrypt/whirlpool",
            "builtin/veracrypt/streebog-512",
            "builtin/veracrypt/argon2id",
            "builtin/truecrypt/sha-512",
            "builtin/truecrypt/whirlpool",
            "builtin/truecrypt/ripemd-160",
            "builtin/luks1/sha-256",
            "builtin/luks2/argon2id",
            "builtin/luks2/sha-256",
        ]
    );
}

#[test]
fn a_pim_is_veracrypts_alone() {
    let all = ids(&select(&["veracrypt", "luks2"], &["SHA512"], &[0, 1, 485, 1]));
    let expected = ["", "/pim-1", "/pim-485"].map(|pim| format!("builtin/veracrypt/sha-512{pim}"));
    assert_eq!(all[2..5], expected);
    assert_eq!(all[5..], ["builtin/luks2/sha-512"]);
    let labels: Vec<_> = arms(&select(&["veracrypt"], &["sha-512"], &[0, 7])).unwrap();
    let labels: Vec<_> = labels.iter().map(|arm| arm.label.as_str()).collect();
    assert_eq!(labels[2..], ["VeraCrypt SHA-512", "VeraCrypt SHA-512 PIM 7"]);
}

#[test]
fn what_cannot_be_chosen_is_told() {
    for impossible in [
        select(&["zip"], &[], &[]),
        select(&[], &["md5"], &[]),
        select(&["truecrypt"], &["argon2id"], &[]),
        select(&["luks1"], &[], &[3]),
        select(&["veracrypt"], &["sha-512"], &[u32::MAX]),
    ] {
        assert!(arms(&impossible).is_err(), "{impossible:?}");
    }
}

#[test]
fn the_record_says_what_a_key_costs() {
    let directory = tempfile::tempdir().unwrap();
    let mut chosen = arms(&select(&["veracrypt"], &["sha-256", "argon2id"], &[1])).unwrap();
    chosen.extend(arms(&select(&["luks2"], &["sha-256"], &[])).unwrap().split_off(2));
    let tiers = Tiers {
        ciphers: cryptbench_cipher::tier().unwrap(),
        derivations: cryptbench_kdf::tier().unwrap(),
    };
    let before = chosen[4].record(tiers).unwrap();
    assert!(!before.settings.contains_key("iterations"), "it has not been chosen yet");
    let recorded = prepare(&chosen, directory.path()).record_arms().unwrap();
    assert_eq!((recorded[0].role, recorded[0].system.as_str()), (ArmRole::Plain, "plain"));
    let of = |arm: usize, name: &str| recorded[arm].settings.get(name).map(String::as_str);
    // 15,000 + 1000 x PIM iterations; Argon2id of PIM 1: 64 MiB, 3 passes.
    assert_eq!(of(2, "iterations"), Some("16000"));
    assert_eq!((of(2, "prf"), of(2, "pim")), (Some("sha-256"), Some("1")));
    assert_eq!((of(3, "memory"), of(3, "passes")), (Some("65536 KiB"), Some("3")));
    assert!(of(4, "iterations").is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n >= 1000)));
    assert_eq!((of(4, "pim"), recorded[4].layout.as_deref()), (None, Some("LUKS2")));
}

#[test]
fn every_volume_opens_with_the_right_passphrase_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut chosen = arms(&select(&["veracrypt"], &["sha-512", "argon2id"], &[1])).unwrap();
    for rest in [
        select(&["truecrypt"], &["ripemd-160", "whirlpool"], &[]),
        select(&["luks1"], &["sha-1"], &[]),
        select(&["luks2"], &[], &[]),
    ] {
        chosen.extend(arms(&rest).unwrap().split_off(2));
    }
    let unlocker = prepare(&chosen, directory.path());
    let kind = |number: usize| {
        let path = directory.path().join(format!("{number}.volume"));
        detect(&FileDevice::open(&path, unlocker.mode(), true).unwrap()).unwrap().kind
    };
    assert!(matches!(kind(chosen.len() - 1), Kind::Luks { .. }));
    let stop = AtomicBool::new(false);
    for (number, arm) in chosen.iter().enumerate() {
        for work in WORKS {
            let time = unlocker.unlock(number, &work, &stop).unwrap().unwrap();
            assert_eq!(time.total, time.derivation + time.rest, "{} {work:?}", arm.id);
            let derives = matches!(arm.kind, UnlockKind::Volume { .. });
            assert_eq!(!time.derivation.is_zero(), derives, "{} {work:?}: {time:?}", arm.id);
            assert!(!time.rest.is_zero(), "{} {work:?}: {time:?}", arm.id);
        }
    }
    drop(unlocker);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "volumes are removed");
}

#[test]
fn a_signal_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let chosen = arms(&select(&["veracrypt"], &["sha-512"], &[1])).unwrap();
    let unlocker = prepare(&chosen, directory.path());
    let stop = AtomicBool::new(true);
    assert_eq!(unlocker.unlock(2, &WORKS[0], &stop).unwrap(), None);
    drop(unlocker);
    let time = Duration::from_millis(1);
    let stopped = Unlocker::prepare(&chosen, directory.path(), time, &stop, &mut |_| {});
    assert!(matches!(stopped, Err(RunError::Volume(VolumeError::Stopped))));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    stop.store(false, Ordering::Relaxed);
    // A missing volume is an error, not a time.
    let unlocker = prepare(&chosen, directory.path());
    std::fs::remove_file(directory.path().join("2.volume")).unwrap();
    assert!(matches!(unlocker.unlock(2, &WORKS[0], &stop), Err(RunError::Storage { .. })));
}
