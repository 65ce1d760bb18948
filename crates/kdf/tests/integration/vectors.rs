//! Published and independently computed vectors, on every tier.

use std::sync::atomic::AtomicBool;

use cryptbench_kdf::{
    Argon2Kind, Argon2Params, Derivation, Effort, KdfError, ScryptParams, Tier, argon2, find,
    first_fit, others, prfs, scrypt,
};

fn hex(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn check_pbkdf2(prf: &str, password: &[u8], salt: &[u8], iterations: u32, expected: &str) {
    let expected = hex(expected);
    for tier in Tier::available() {
        let mut key = vec![0; expected.len()];
        find(prf)
            .unwrap()
            .pbkdf2(password, salt, iterations, &mut key, Effort::new(tier, 1))
            .unwrap();
        assert_eq!(key, expected, "{prf} on {tier}, {iterations} iterations");
    }
}

/// Lines of PRF, iterations, password, salt, key.
fn check_file(lines: &str, at_least: usize) {
    // miri takes a minute for a thousand iterations.
    let most = if cfg!(miri) { 20 } else { u32::MAX };
    let mut count = 0;
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        let [prf, iterations, password, salt, key] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        count += 1;
        let iterations = iterations.parse().unwrap();
        if iterations <= most {
            check_pbkdf2(prf, &hex(password), &hex(salt), iterations, key);
        }
    }
    assert!(count >= at_least, "{count} vectors");
}

#[test]
fn libgcrypt_agrees() {
    let lines = include_str!("../vectors/libgcrypt.txt");
    check_file(lines, 56 + 4 * others().len());
    for prf in prfs().iter().chain(others()) {
        assert!(lines.contains(&format!("\n{} ", prf.name)) || lines.starts_with(prf.name));
    }
}

#[test]
fn wycheproof_pbkdf2() {
    check_file(include_str!("../vectors/wycheproof.txt"), 150);
}

/// RFC 9337, appendix A, without the one of 16,777,216 iterations.
#[test]
fn rfc_9337_streebog_512() {
    let check = |password: &[u8], salt: &[u8], iterations, expected: &str| {
        check_pbkdf2("streebog-512", password, salt, iterations, expected);
    };
    check(
        b"password",
        b"salt",
        1,
        "64770af7f748c3b1c9ac831dbcfd85c26111b30a8a657ddc3056b80ca73e040d\
         2854fd36811f6d825cc4ab66ec0a68a490a9e5cf5156b3a2b7eecddbf9a16b47",
    );
    check(
        b"password",
        b"salt",
        2,
        "5a585bafdfbb6e8830d6d68aa3b43ac00d2e4aebce01c9b31c2caed56f0236d4\
         d34b2b8fbd2c4e89d54d46f50e47d45bbac301571743119e8d3c42ba66d348de",
    );
    if cfg!(miri) {
        return;
    }
    check(
        b"password",
        b"salt",
        4096,
        "e52deb9a2d2aaff4e2ac9d47a41f34c20376591c67807f0477e32549dc341bc7\
         867c09841b6d58e29d0347c996301d55df0d34e47cf68f4e3c2cdaf1d9ab86c3",
    );
    check(
        b"passwordPASSWORDpassword",
        b"saltSALTsaltSALTsaltSALTsaltSALTsalt",
        4096,
        "b2d8f1245fc4d29274802057e4b54e0a0753aa22fc53760b301cf008679e58fe\
         4bee9addcae99ba2b0b20f431a9c5e50f395c89387d0945aedeca6eb4015dfc2\
         bd2421ee9bb71183ba882ceebfef259f33f9e27dc6178cb89dc37428cf9cc52a\
         2baa2d3a",
    );
    check(
        b"pass\0word",
        b"sa\0lt",
        4096,
        "50df062885b69801a3c10248eb0a27ab6e522ffeb20c991c660f001475d73a4e\
         167f782c18e97e92976d9c1d970831ea78ccb879f67068cdac1910740844e830",
    );
}

/// RFC 6070, without the one of 16,777,216 iterations.
#[test]
fn rfc_6070_sha_1() {
    let password = b"password";
    check_pbkdf2("sha-1", password, b"salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6");
    check_pbkdf2("sha-1", password, b"salt", 2, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957");
    if cfg!(miri) {
        return;
    }
    check_pbkdf2("sha-1", password, b"salt", 4096, "4b007901b765489abead49d926f721d065a429c1");
    check_pbkdf2(
        "sha-1",
        b"passwordPASSWORDpassword",
        b"saltSALTsaltSALTsaltSALTsaltSALTsalt",
        4096,
        "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
    );
    check_pbkdf2("sha-1", b"pass\0word", b"sa\0lt", 4096, "56fa6aa75548099dcc37d7f03425e0c3");
}

/// RFC 7914, section 11.
#[test]
fn rfc_7914_pbkdf2_sha_256() {
    check_pbkdf2(
        "sha-256",
        b"passwd",
        b"salt",
        1,
        "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
         49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
    );
    if cfg!(miri) {
        return;
    }
    check_pbkdf2(
        "sha-256",
        b"Password",
        b"NaCl",
        80_000,
        "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56\
         a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d",
    );
}

/// RFC 7914, section 12, but the one of a GiB.
#[test]
fn rfc_7914_scrypt() {
    let cases = [
        (
            "",
            "",
            4,
            1,
            1,
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442\
             fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906",
        ),
        (
            "password",
            "NaCl",
            10,
            8,
            16,
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162\
             2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640",
        ),
        (
            "pleaseletmein",
            "SodiumChloride",
            14,
            8,
            1,
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2\
             d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887",
        ),
    ];
    for (password, salt, log_n, r, p, expected) in cases {
        if cfg!(miri) && log_n > 4 {
            continue;
        }
        let mut key = [0; 64];
        let effort = Effort::new(Tier::Soft, 1);
        let params = ScryptParams { log_n, r, p };
        scrypt(password.as_bytes(), salt.as_bytes(), params, &mut key, effort).unwrap();
        assert_eq!(key[..], hex(expected));
    }
}

/// Vectors without secret and associated data, which header keys do not have (RFC 9106's own have them):
/// those of the reference implementation's test.c, version 0x13, each with 2^memory KiB, and two of 4
/// lanes computed by libargon2.
#[test]
#[cfg_attr(miri, ignore = "megabytes of memory")]
fn argon2_of_the_reference_implementation() {
    let cases = [
        (
            Argon2Kind::I,
            16,
            2,
            1,
            "c1628832147d9720c5bd1cfd61367078729f6dfb6f8fea9ff98158e0d7816ed0",
        ),
        (
            Argon2Kind::I,
            8,
            2,
            1,
            "89e9029f4637b295beb027056a7336c414fadd43f6b208645281cb214a56452f",
        ),
        (
            Argon2Kind::I,
            8,
            2,
            2,
            "4ff5ce2769a1d7f4c8a491df09d41a9fbe90e5eb02155a13e4c01e20cd4eab61",
        ),
        (
            Argon2Kind::Id,
            16,
            2,
            1,
            "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7",
        ),
        (
            Argon2Kind::Id,
            8,
            2,
            1,
            "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe",
        ),
        (
            Argon2Kind::Id,
            8,
            2,
            2,
            "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037",
        ),
    ];
    for (kind, memory, passes, lanes, expected) in cases {
        for threads in [1, 3] {
            let params = Argon2Params { memory_kib: 1 << memory, passes, lanes };
            let mut key = [0; 32];
            let effort = Effort::new(Tier::Soft, threads);
            argon2(kind, b"password", b"somesalt", params, &mut key, effort).unwrap();
            assert_eq!(key[..], hex(expected), "{kind} 2^{memory} KiB, {lanes} lanes");
        }
    }
}

#[test]
fn what_cannot_be_derived_is_an_error() {
    let effort = Effort::new(Tier::Soft, 1);
    let sha512 = find("sha-512").unwrap();
    let mut key = [7; 3];
    assert_eq!(sha512.pbkdf2(b"", b"", 0, &mut key, effort), Err(KdfError::NoIterations));
    let stop = AtomicBool::new(true);
    let stopped = effort.stopped_by(&stop);
    assert_eq!(sha512.pbkdf2(b"", b"", 1, &mut key, stopped), Err(KdfError::Stopped));
    let params = Argon2Params { memory_kib: 64, passes: 1, lanes: 1 };
    let argon2 = |params, salt: &[u8], key: &mut [u8], effort| {
        argon2(Argon2Kind::Id, b"", salt, params, key, effort)
    };
    assert_eq!(argon2(params, &[0; 8], &mut [0; 4], stopped), Err(KdfError::Stopped));
    for (params, salt, length) in [
        (Argon2Params { passes: 0, ..params }, 8, 4),
        (Argon2Params { lanes: 0, ..params }, 8, 4),
        (Argon2Params { memory_kib: 7, ..params }, 8, 4),
        (params, 7, 4),
        (params, 8, 3),
        (params, 8, 0),
    ] {
        let error = argon2(params, &vec![0; salt], &mut vec![0; length], effort).unwrap_err();
        assert!(
            matches!(error, KdfError::Parameters { .. }),
            "{params:?} {salt} {length}: {error}"
        );
    }
    for (log_n, r, p, length) in [
        (0, 8, 1, 32),
        (64, 8, 1, 32),
        (255, 8, 1, 32),
        (63, 8, 1, 32),
        (4, 0, 1, 32),
        (4, 8, 0, 32),
        (4, 1 << 16, 1 << 16, 32),
        (4, u32::MAX, u32::MAX, 32),
        (4, 8, 1, 0),
    ] {
        let params = ScryptParams { log_n, r, p };
        let result = scrypt(b"", b"", params, &mut vec![0; length], effort);
        assert!(
            matches!(result, Err(KdfError::Parameters { .. })),
            "{params:?} {length}: {result:?}"
        );
    }
    let huge = ScryptParams { log_n: 50, r: 8, p: 1 };
    assert!(matches!(scrypt(b"", b"", huge, &mut key, effort), Err(KdfError::Memory { .. })));
    assert_eq!(key, [7; 3]);
    assert!(find("SHA-512").unwrap_err().to_string().contains("sha-512, sha-256"));
}

#[test]
fn empty_inputs_are_inputs() {
    for prf in prfs() {
        for tier in Tier::available() {
            prf.pbkdf2(b"", b"", 1, &mut [], Effort::new(tier, 0)).unwrap();
        }
    }
    // As Python's hashlib gives it.
    check_pbkdf2(
        "sha-256",
        b"",
        b"",
        1,
        "f7ce0b653d2d72a4108cf5abe912ffdd777616dbbb27a70e8204f3ae2d0f6fad",
    );
}

#[test]
fn a_stop_ends_a_derivation_that_would_take_minutes() {
    let effort = Effort::new(Tier::Soft, 2);
    for prf in prfs() {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                let mut key = [0; 192];
                prf.pbkdf2(b"password", b"salt", u32::MAX, &mut key, effort.stopped_by(&stop))
            });
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(work.join().unwrap(), Err(KdfError::Stopped));
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of memory")]
fn the_right_function_is_found_among_all() {
    let params = Argon2Params { memory_kib: 1024, passes: 1, lanes: 1 };
    let mut all: Vec<Derivation> =
        prfs().iter().map(|prf| Derivation::Pbkdf2 { prf, iterations: 1100 }).collect();
    all.push(Derivation::Argon2 { kind: Argon2Kind::Id, params });
    all.push(Derivation::Argon2 { kind: Argon2Kind::I, params });
    let salt = [9; 64];
    for threads in [1, 2, 3, 20] {
        let effort = Effort::new(Tier::Avx512, threads);
        for (right, derivation) in all.iter().enumerate() {
            let mut expected = [0; 192];
            derivation.derive(b"password", &salt, &mut expected, effort).unwrap();
            let fit = |index, key: &[u8]| (*key == expected).then_some(index);
            assert_eq!(
                first_fit(b"password", &salt, || vec![0; 192], &all, effort, fit),
                Ok(Some(right))
            );
        }
        let none = first_fit(b"password", &salt, || vec![0; 192], &all, effort, |_, _| None::<()>);
        assert_eq!(none, Ok(None));
        // An error is told only where nothing fits.
        let short =
            first_fit(b"password", &salt[..7], || vec![0; 192], &all, effort, |_, _| None::<()>);
        assert!(matches!(short, Err(KdfError::Parameters { .. })));
        let fit = first_fit(
            b"password",
            &salt[..7],
            || vec![0; 192],
            &all,
            effort,
            |index, _| (index == 4).then_some(()),
        );
        assert_eq!(fit, Ok(Some(())));
        let stop = AtomicBool::new(true);
        let stopped = effort.stopped_by(&stop);
        let none = first_fit(b"password", &salt, || vec![0; 192], &all, stopped, |_, _| Some(()));
        assert_eq!(none, Err(KdfError::Stopped));
    }
    assert_eq!(
        first_fit(b"", b"", || vec![0; 1], &[], Effort::new(Tier::Soft, 2), |_, _| Some(())),
        Ok(None)
    );
}
