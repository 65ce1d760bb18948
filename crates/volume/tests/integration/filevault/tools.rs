//! Tests with libfvde and cryptsetup: they can also open what our maker writes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::maker::{FREE, Maker, OF_RECOVERY, OF_VOLUME, PASSWORD, RECOVERY, Stored, volume_key};
use crate::{CRYPTSETUP, there};

/// Prints the SHA-256 of the data that libfvde decrypts.
const SCRIPT: &str = "
import hashlib, pyfvde, sys
how, secret, plist = sys.argv[2:5]
volume = pyfvde.volume()
if plist: volume.read_encrypted_root_plist(plist)
file = open(sys.argv[1], 'rb')
volume.open_file_object(file)
volume.open_physical_volume_files_as_file_objects([file])
logical = volume.get_volume_group().get_logical_volume(0)
if how == 'recovery': logical.set_recovery_password(secret)
else: logical.set_password(secret)
assert logical.unlock()
print(hashlib.sha256(logical.read_buffer_at_offset(logical.get_size(), 0)).hexdigest())
";

/// pyfvde does not support other characters.
const ASCII: &str = "a plain password";

fn written(dir: &Path, maker: &Maker) -> (PathBuf, PathBuf) {
    let (image, file) = maker.make();
    let (at, plist) = (dir.join("image"), dir.join("plist"));
    std::fs::write(&at, image).unwrap();
    std::fs::write(&plist, file).unwrap();
    (at, plist)
}

#[test]
fn libfvde_decrypts_the_same() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) = cryptbench_prove::python("libfvde-python", "pyfvde", place) else {
        eprintln!("SKIPPED: no Python with pyfvde, and pip cannot install it");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let users = vec![(OF_VOLUME, ASCII, 20), (OF_RECOVERY, RECOVERY, 10)];
    let plain = Maker { users, ..Maker::default() };
    let scattered = vec![(0, FREE + 2, 10, 0), (10, FREE + 40, 6, 0), (16, FREE + 14, 16, 0)];
    for (name, maker) in [
        ("plain", plain.clone()),
        ("compressed", Maker { stored: Stored::Compressed, ..plain.clone() }),
        ("with_base", Maker { base: Some(FREE), segments: vec![(0, 4, 32, 0)], ..plain.clone() }),
        ("segments", Maker { segments: scattered, ..plain.clone() }),
        ("system", Maker { stored: Stored::Wiped, ..plain.clone() }),
        ("system_with_rest", Maker { stored: Stored::Wiped, file_rest: 9, ..plain }),
    ] {
        let (image, plist) = written(dir.path(), &maker);
        let expected = Sha256::digest(maker.plaintext());
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        for (how, secret) in [("password", ASCII), ("recovery", RECOVERY)] {
            let mut command = Command::new(&python);
            command.args(["-c", SCRIPT]).arg(&image).args([how, secret]);
            let output = match name {
                "system" | "system_with_rest" => command.arg(&plist),
                _ => command.arg(""),
            }
            .output()
            .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}, {how}: {said}");
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{name}, {how}");
        }
        cryptbench_prove::count(1, "volumes of FileVault 2 of our maker that libfvde decrypted");
    }
}

fn cryptsetup(image: &Path, arguments: &[&str], input: &str) -> Result<String, String> {
    let file = image.with_extension("input");
    std::fs::write(&file, input).unwrap();
    let input = std::fs::File::open(&file).unwrap();
    let mut command = Command::new(CRYPTSETUP);
    command.arg("--disable-locks").args(arguments).arg(image).stdin(Stdio::from(input));
    let output = command.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(said(&output.stdout)),
        false => Err(said(&output.stdout) + &said(&output.stderr)),
    }
}

#[test]
fn cryptsetup_reads_the_metadata_and_opens_the_key() {
    if !there(CRYPTSETUP) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // libfvde supports only one user, and metadata in a single object.
    let users = Maker::default().users[..1].to_vec();
    let (image, _) = written(dir.path(), &Maker { users, ..Maker::default() });
    let dump = match cryptsetup(&image, &["fvault2Dump"], "") {
        Err(error) if error.contains("Unknown") => {
            eprintln!("SKIPPED: this cryptsetup does not know FileVault 2");
            return;
        }
        dump => dump.unwrap(),
    };
    for line in [
        "Physical volume UUID: \tfc52bfae-5a1f-4f9b-b3a6-f33303a0e401",
        "Family UUID:          \t33a76caa-1481-4bc5-8d04-1ac1707c19c0",
        &format!("Logical volume offset:\t{} [bytes]", FREE * 4096),
        "Logical volume size:  \t131072 [bytes]",
        "PBKDF2 iterations:    \t20",
    ] {
        assert!(dump.contains(line), "no {line:?} in {dump}");
    }
    let key = cryptsetup(&image, &["fvault2Dump", "--dump-volume-key", "-q"], PASSWORD).unwrap();
    let key: String = key.split("Volume key:").nth(1).unwrap().split_whitespace().collect();
    let expected: String = volume_key().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(key, expected);
    cryptsetup(&image, &["fvault2Dump", "--dump-volume-key", "-q"], "another").unwrap_err();
    cryptbench_prove::count(1, "volumes of FileVault 2 of our maker whose key cryptsetup opened");
}
