//! The numbers of the documentation on PIMs, one by one.

use std::time::Duration;

use cryptbench_kdf::pim::*;
use cryptbench_kdf::{Argon2Kind, Derivation, Function, KdfError, find};

const HIGHEST: u32 = 2_147_468;
const HIGHEST_SYSTEM: u32 = 65_535;

const VERACRYPT: VolumeKind = VolumeKind::VeraCrypt { system: false };
const VERACRYPT_SYSTEM: VolumeKind = VolumeKind::VeraCrypt { system: true };
const TRUECRYPT: VolumeKind = VolumeKind::TrueCrypt { system: false };
const TRUECRYPT_SYSTEM: VolumeKind = VolumeKind::TrueCrypt { system: true };

fn iterations(volume: VolumeKind, prf: &str, pim: Option<u32>) -> Option<u32> {
    match derivation(volume, Function::Pbkdf2(find(prf).unwrap()), pim) {
        Ok(Derivation::Pbkdf2 { iterations, .. }) => Some(iterations),
        Ok(Derivation::Argon2 { .. }) => panic!("asked for PBKDF2"),
        Err(KdfError::NotThere { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn veracrypt_has_one_rule_for_volumes_that_do_not_boot() {
    for prf in ["sha-512", "sha-256", "blake2s-256", "whirlpool", "streebog-512"] {
        assert_eq!(iterations(VERACRYPT, prf, None), Some(500_000));
        assert_eq!(iterations(VERACRYPT, prf, Some(0)), Some(500_000));
        assert_eq!(iterations(VERACRYPT, prf, Some(1)), Some(16_000));
        assert_eq!(iterations(VERACRYPT, prf, Some(485)), Some(500_000));
        assert_eq!(iterations(VERACRYPT, prf, Some(2_147_468)), Some(2_147_483_000));
    }
    assert_eq!(iterations(VERACRYPT, "ripemd-160", None), Some(655_331));
    assert_eq!(iterations(VERACRYPT, "ripemd-160", Some(1)), Some(16_000));
    assert_eq!(iterations(VERACRYPT, "sha-1", None), None);
}

#[test]
fn veracrypt_boots_cheaper_with_all_but_two_prfs() {
    for prf in ["sha-512", "whirlpool"] {
        assert_eq!(iterations(VERACRYPT_SYSTEM, prf, None), Some(500_000));
        assert_eq!(iterations(VERACRYPT_SYSTEM, prf, Some(98)), Some(113_000));
    }
    for prf in ["sha-256", "blake2s-256", "streebog-512"] {
        assert_eq!(iterations(VERACRYPT_SYSTEM, prf, None), Some(200_000));
        assert_eq!(iterations(VERACRYPT_SYSTEM, prf, Some(98)), Some(200_704));
    }
    assert_eq!(iterations(VERACRYPT_SYSTEM, "ripemd-160", None), Some(327_661));
    assert_eq!(iterations(VERACRYPT_SYSTEM, "ripemd-160", Some(1)), Some(2048));
}

#[test]
fn truecrypt_has_fixed_numbers_and_no_pim() {
    assert_eq!(iterations(TRUECRYPT, "ripemd-160", None), Some(2000));
    assert_eq!(iterations(TRUECRYPT_SYSTEM, "ripemd-160", None), Some(1000));
    assert_eq!(iterations(TRUECRYPT, "sha-512", None), Some(1000));
    assert_eq!(iterations(TRUECRYPT, "whirlpool", None), Some(1000));
    assert_eq!(iterations(TRUECRYPT, "sha-1", None), Some(2000));
    for prf in ["sha-256", "blake2s-256", "streebog-512"] {
        assert_eq!(iterations(TRUECRYPT, prf, None), None);
    }
    let sha512 = Function::Pbkdf2(find("sha-512").unwrap());
    assert!(matches!(
        derivation(TRUECRYPT, sha512, Some(1)),
        Err(KdfError::Pim { highest: 0, .. })
    ));
}

#[test]
fn argon2id_follows_the_table() {
    let cost = |pim| match derivation(VERACRYPT, Function::Argon2id, pim) {
        Ok(Derivation::Argon2 { kind: Argon2Kind::Id, params }) => {
            assert_eq!(params.lanes, 1);
            (params.memory_kib / 1024, params.passes)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(cost(None), (416, 6));
    assert_eq!(cost(Some(1)), (64, 3));
    assert_eq!(cost(Some(2)), (96, 3));
    assert_eq!(cost(Some(4)), (160, 4));
    assert_eq!(cost(Some(12)), (416, 6));
    assert_eq!(cost(Some(31)), (1024, 13));
    assert_eq!(cost(Some(32)), (1024, 14));
    assert_eq!(cost(Some(1000)), (1024, 982));
}

#[test]
fn a_pim_that_is_too_high_is_an_error_for_every_function() {
    // Six PRFs each; Argon2id is not for system volumes.
    for (volume, highest, count) in [(VERACRYPT, HIGHEST, 7), (VERACRYPT_SYSTEM, HIGHEST_SYSTEM, 6)]
    {
        assert_eq!(derivations(volume, Some(highest)).unwrap().len(), count);
        let error = derivations(volume, Some(highest + 1)).unwrap_err();
        assert!(matches!(error, KdfError::Pim { .. }), "{error}");
    }
    let names: Vec<&str> =
        derivations(TRUECRYPT, None).unwrap().iter().map(Derivation::name).collect();
    assert_eq!(names, ["sha-512", "whirlpool", "ripemd-160", "sha-1"]);
}

#[test]
fn system_volumes_have_no_argon2id() {
    for volume in [VERACRYPT_SYSTEM, TRUECRYPT, TRUECRYPT_SYSTEM] {
        let refused = derivation(volume, Function::Argon2id, None);
        assert!(matches!(refused, Err(KdfError::NotThere { .. })), "{volume:?}");
    }
}

#[test]
fn the_default_pim_costs_what_none_does_or_a_little_more() {
    for volume in [VERACRYPT, VERACRYPT_SYSTEM] {
        for function in Function::all() {
            let Some(pim) = volume.default_pim(function) else { continue };
            let Ok(without) = derivation(volume, function, None) else { continue };
            let with = derivation(volume, function, Some(pim)).unwrap();
            match function.name() {
                // Its default is older than the PIM, and higher.
                "ripemd-160" => assert!(with.work() < without.work()),
                // 98 x 2048 is 200,704.
                _ => assert!((0..=704).contains(&(with.work() - without.work())), "{function:?}"),
            }
        }
    }
}

#[test]
fn what_new_volumes_can_have() {
    let new = |volume: VolumeKind| -> Vec<&str> {
        Function::all().filter(|&f| volume.makes_new(f)).map(Function::name).collect()
    };
    let five = ["sha-512", "sha-256", "blake2s-256", "whirlpool", "streebog-512"];
    assert_eq!(new(VERACRYPT_SYSTEM), five);
    assert_eq!(new(VERACRYPT), [&five[..], &["argon2id"]].concat());
    assert_eq!(new(TRUECRYPT), ["sha-512", "whirlpool", "ripemd-160"]);
}

/// The formula against the sum over every case, with three passphrases.
#[test]
fn unknown_pims_take_the_work_of_a_search_from_the_cheapest_on() {
    const PASSPHRASES: u32 = 3;
    for volume in [VERACRYPT, VERACRYPT_SYSTEM] {
        for known in derivations(volume, None).unwrap() {
            let function = Function::find(known.name()).unwrap();
            for highest in [1, 2, 40] {
                let mut total = 0.0;
                let mut spent = 0.0;
                for pim in 1..=highest {
                    let work = derivation(volume, function, Some(pim)).unwrap().work() as f64;
                    for _ in 0..PASSPHRASES {
                        // Found half-way through its own derivation: what the mean over a large number
                        // of passphrases comes to.
                        total += spent + work / 2.0;
                        spent += work;
                    }
                }
                let mean = total / f64::from(PASSPHRASES * highest) / f64::from(PASSPHRASES);
                let found = mean_work_of_unknown(volume, function, highest).unwrap();
                assert!((found / mean - 1.0).abs() < 1e-12, "{found} {mean}");
            }
            let one = mean_work_of_unknown(volume, function, 1).unwrap();
            let work = derivation(volume, function, Some(1)).unwrap().work();
            assert_eq!(one, work as f64 / 2.0, "one PIM is a known PIM");
        }
    }
    let sha512 = Function::find("sha-512").unwrap();
    for (volume, highest) in [(VERACRYPT, 0), (VERACRYPT, HIGHEST + 1), (TRUECRYPT, 1)] {
        let refused = mean_work_of_unknown(volume, sha512, highest);
        assert!(matches!(refused, Err(KdfError::Pim { .. })), "{refused:?}");
    }
}

#[test]
fn the_largest_pim_just_fits() {
    for volume in [VERACRYPT, VERACRYPT_SYSTEM] {
        for known in derivations(volume, None).unwrap() {
            let function = match known {
                Derivation::Pbkdf2 { prf, .. } => Function::Pbkdf2(prf),
                Derivation::Argon2 { .. } => Function::Argon2id,
            };
            let work = |pim| derivation(volume, function, Some(pim)).unwrap().work();
            for pim in [1, 30, 31, 32, 485, 60_000] {
                let limit = Duration::from_secs(work(pim));
                assert_eq!(largest_pim_within(volume, function, 1.0, limit), Ok(Some(pim)));
            }
            assert_eq!(largest_pim_within(volume, function, 1.0, Duration::ZERO), Ok(None));
            let highest = volume.highest_pim();
            assert_eq!(
                largest_pim_within(volume, function, 0.0, Duration::ZERO),
                Ok(Some(highest))
            );
        }
    }
    let sha512 = Function::Pbkdf2(find("sha-512").unwrap());
    assert_eq!(largest_pim_within(TRUECRYPT, sha512, 0.0, Duration::MAX), Ok(None));
}
