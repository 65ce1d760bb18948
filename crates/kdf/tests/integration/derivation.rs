//! Functions by their names, and what a stopwatch counts of derivations.
//!
//! Here rather than beside the code: the kernels are most of what there is to compile, and unit tests that reach none of
//! them leave them out.

use std::time::{Duration, Instant};

use cryptbench_kdf::{
    Argon2Kind, Argon2Params, Derivation, Effort, Function, KdfError, Stopwatch, find, first_fit,
    tier,
};

#[test]
fn names_are_found_as_people_write_them() {
    let found = |name| Function::find(name).map(Function::name);
    for function in Function::all() {
        assert_eq!(found(function.name()), Ok(function.name()));
    }
    assert_eq!(found("SHA512"), Ok("sha-512"));
    assert_eq!(found("streebog"), Ok("streebog-512"));
    assert_eq!(found("Argon2"), Ok("argon2id"));
    // Exact although longer names begin so, too.
    assert_eq!(found("sha1"), Ok("sha-1"));
    for name in ["", "sha", "s", "md4", "argon2i d"] {
        assert!(
            matches!(found(name), Err(KdfError::Unknown { known, .. }) if known.contains(&"argon2id")),
            "{name}"
        );
    }
}

#[test]
fn every_derivation_is_counted_and_nothing_else() -> Result<(), KdfError> {
    let prf = find("sha-256")?;
    let pbkdf2 = Derivation::Pbkdf2 { prf, iterations: 20_000 };
    let params = Argon2Params { memory_kib: 4096, passes: 2, lanes: 1 };
    let argon2 = Derivation::Argon2 { kind: Argon2Kind::Id, params };
    for (derivations, threads) in [(vec![pbkdf2], 1), (vec![argon2], 1), (vec![pbkdf2; 5], 3)] {
        let watch = Stopwatch::new();
        let effort = Effort::new(tier().expect("a tier"), threads).timed_by(&watch);
        let started = Instant::now();
        let none = first_fit(
            b"password",
            &[7; 64],
            || vec![0; 64],
            &derivations,
            effort,
            |_, _| None::<()>,
        )?;
        let passed = started.elapsed();
        assert_eq!(none, None);
        let counted = watch.elapsed();
        assert!(!counted.is_zero() && counted <= passed, "{counted:?} of {passed:?}");
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(watch.elapsed(), counted, "nothing runs");
    }
    Ok(())
}
