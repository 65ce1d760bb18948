//! VeraCrypt with its own program: the kernel's dm-crypt or, with `nokernelcrypto`, its own process encrypts
//! and serves through FUSE.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use zeroize::Zeroizing;

use cryptbench_catalog::{self as catalog, Remedy};

use crate::command::{Invocation, run};
use crate::kind::mapped::{Disk, FILE_SYSTEM, IO_TARGET, Mapped, Volume, check_file_system, free};
use crate::kind::place::{ON, is_device};
use crate::machine::Machine;
use crate::provision::kernel_crypto;
use crate::provision::secret::{line, passphrase};
use crate::resource::{ResourceStack, daemon, veracrypt_volume};
use crate::settings::{Choice, choices, volume_arm};
use crate::system::{ArmSpec, Kind, Setting, System};
use crate::{Availability, Features, Selection, SystemError};

const NAME: &str = catalog::VERACRYPT.name;

/// Creating a volume fills it with random data, which takes a long time on a slow disk.
const LIMIT: Duration = Duration::from_secs(3600);

/// The setting that determines whether the kernel or the program encrypts.
const WHO: &str = "kernel-crypto";

const SETTINGS: &[Setting] = &[
    Setting {
        name: "cipher",
        about: "cipher or cascade",
        values: &[
            "aes-256-xts",
            "serpent-256-xts",
            "twofish-256-xts",
            "camellia-256-xts",
            "kuznyechik-xts",
            "aes-twofish-xts",
            "aes-twofish-serpent-xts",
            "camellia-kuznyechik-xts",
            "camellia-serpent-xts",
            "kuznyechik-aes-xts",
            "kuznyechik-serpent-camellia-xts",
            "kuznyechik-twofish-xts",
            "serpent-aes-xts",
            "serpent-twofish-aes-xts",
            "twofish-serpent-xts",
        ],
    },
    Setting {
        name: WHO,
        about: "whether the kernel or VeraCrypt's own process encrypts; auto: the kernel, if it has device mapper",
        values: &["auto", "yes", "no"],
    },
    Setting {
        name: "prf",
        about: "PRF that derives the header key; affects only the unlock time",
        values: &["sha-512", "sha-256", "blake2s-256", "whirlpool", "streebog-512"],
    },
    Setting {
        name: "pim",
        about: "sets the PRF's iterations: 15,000 + 1000 x PIM; VeraCrypt's default PIM is 485",
        values: &["1", "10", "100", "485", "1000", "9999"],
    },
    FILE_SYSTEM,
    IO_TARGET,
    ON,
];

/// VeraCrypt's command line.
pub(crate) static VERACRYPT: System = System {
    settings: SETTINGS,
    availability,
    arms,
    // VeraCrypt's own process does not report its cipher kernel.
    kernel_tier: |arm, _| {
        arm.cipher.filter(|_| arm.is_set(WHO, "yes")).and_then(kernel_crypto::of_xts)
    },
    ..System::new(
        &catalog::VERACRYPT,
        Kind::Mapped(Mapped {
            secret: |_| Ok(line(passphrase().as_bytes())),
            // The program's loop device does not use direct I/O, and the program's own process uses the page cache.
            cached: true,
            turned_out: |arm, disk| turned_out(arm, &disk.device),
            // Two header groups of 128 KiB each.
            ..Mapped::new(open, |_, _| 1 << 20)
        }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if !machine.has(NAME) {
        return Availability::without(
            "veracrypt is not installed, and Debian does not package it",
            "install the console package from veracrypt.io; builtin and builtin-mounted measure its \
             format without it",
        );
    }
    // In both modes, the program's process serves the volume through FUSE, with a loop device on top.
    if let Some(lacking) = machine.lacks_fuse().or_else(|| machine.lacks_disks()) {
        return lacking;
    }
    // Prints `VeraCrypt 1.26.20`.
    let said = run(NAME, ["--text", "--version"]).unwrap_or_default();
    let version = said.split(' ').nth(1).unwrap_or("of unknown version");
    Availability::Available(match machine.lacks_device_mapper() {
        None => version.to_owned(),
        Some(_) => format!("{version}, in its own process (no device mapper)"),
    })
}

/// The value of [`WHO`] that results from these values, `yes` or `no`. If they are impossible: why, and which
/// values are possible.
fn who(
    values: &Choice,
    lacking: Option<&(String, Remedy)>,
) -> Result<&'static str, (String, Remedy)> {
    // According to `MountVolumeNative` in CoreLinux.cpp, no kernel has the cipher, and the program does not
    // try.
    let own_alone = values["cipher"].contains("kuznyechik");
    match (values[WHO], lacking) {
        ("no", _) => Ok("no"),
        ("auto", lacking) => Ok(if own_alone || lacking.is_some() { "no" } else { "yes" }),
        (_, None) if !own_alone => Ok("yes"),
        (_, Some((reason, remedy))) => {
            let own = ", or use kernel-crypto=no (VeraCrypt's own process)";
            Err((reason.clone(), remedy.clone().then(own)))
        }
        _ => Err((
            "the kernel has no Kuznyechik, so only VeraCrypt's own process can encrypt with it"
                .to_owned(),
            "use kernel-crypto=no or auto".into(),
        )),
    }
}

/// The arms of a selection. Impossible choices are omitted if there are possible ones.
fn arms(
    system: &System,
    selection: &Selection,
    features: &Features,
) -> Result<Vec<ArmSpec>, SystemError> {
    let (mut arms, mut refused) = (Vec::<ArmSpec>::new(), None);
    for mut values in choices(system, selection) {
        check_file_system(NAME, &values, features)?;
        match who(&values, features.lacks_device_mapper.as_ref()) {
            Ok(who) => values.insert(WHO, who),
            Err(why) => {
                refused = refused.or(Some(why));
                continue;
            }
        };
        let arm = arm(system, &values)?;
        if !arms.iter().any(|a| a.id == arm.id) {
            arms.push(arm);
        }
    }
    match (arms.is_empty(), refused) {
        (true, Some((reason, remedy))) => {
            let name = format!("{NAME} with {WHO}=yes");
            Err(SystemError::Unavailable { name, reason, remedy })
        }
        _ => Ok(arms),
    }
}

/// The arm for a choice in which `auto` was replaced with `yes` or `no`.
fn arm(system: &System, values: &Choice) -> Result<ArmSpec, SystemError> {
    let mut more = String::new();
    if values["prf"] != "sha-512" {
        let prf = cryptbench_kdf::find(values["prf"]);
        more += &prf
            .map_or_else(|_| format!(", {}", values["prf"]), |prf| format!(", HMAC-{}", prf.label));
    }
    if values["pim"] != "1" {
        more.push_str(&format!(", PIM {}", values["pim"]));
    }
    if values[WHO] == "no" {
        more.push_str(", own process");
    }
    if values[FILE_SYSTEM.name] == "ntfs" {
        more.push_str(", NTFS");
    }
    // Identifiers state only the other case, because the kernel usually encrypts.
    let mut named = values.clone();
    if values[WHO] == "yes" {
        named.insert(WHO, "auto");
    }
    let arm = volume_arm(system, &named, catalog::VERACRYPT_LAYOUT, &more)?;
    Ok(ArmSpec { settings: crate::settings::in_words(values), ..arm })
}

/// The actual arm, if the program encrypts elsewhere than requested. The device shows this: it is
/// `/dev/mapper/...` if the kernel encrypts, otherwise a loop device over the program's process.
fn turned_out(arm: &ArmSpec, device: &Path) -> Option<ArmSpec> {
    let own = if device.starts_with("/dev/mapper") { "yes" } else { "no" };
    if arm.is_set(WHO, own) {
        return None;
    }
    let mut values = crate::settings::of_arm(&VERACRYPT, arm);
    values.insert(WHO, own);
    self::arm(&VERACRYPT, &values).ok()
}

fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let (path, secret, machine) = (&volume.container.path, volume.secret, Machine::this());
    let says = |words| says(words, secret.clone());
    if volume.is_new {
        let created = says(create(volume.arm, volume.container.len, path));
        daemon::run_to_its_end_within(stack, NAME, &created, path, &machine, LIMIT)
            .map_err(|error| or_no_room(error, path, volume.container.len))?;
    }
    let shown = veracrypt_volume::create(stack, path, || {
        says(mount(volume.arm, path)).run(&machine, LIMIT).map(drop)
    })?;
    Ok(Disk { file: shown.file, daemons: shown.daemons, ..Disk::by_kernel(shown.device) })
}

/// Explains "Incorrect volume size": VeraCrypt 1.26.20 (`TextUserInterface::CreateVolume`) counts the space of
/// the overwritten file twice.
fn or_no_room(error: SystemError, path: &Path, len: u64) -> SystemError {
    let free = path.parent().and_then(|directory| free(directory).ok());
    match free.filter(|free| *free < len && !is_device(path)) {
        Some(free) => SystemError::Target {
            path: path.to_owned(),
            problem: format!(
                "to create a volume of {} MiB, VeraCrypt needs as much free space again, but only {} MiB is free: use \
                a smaller --size",
                len >> 20,
                free >> 20
            ),
        },
        None => error,
    }
}

/// The program with the arguments `words`; it reads the passphrase from its standard input.
fn says(words: Vec<OsString>, secret: Zeroizing<Vec<u8>>) -> Invocation {
    veracrypt_volume::program().args(words).input(secret)
}

/// The value of a setting of an arm, or the default if the arm does not specify it.
fn value<'a>(arm: &'a ArmSpec, setting: &str) -> &'a str {
    let known = || SETTINGS.iter().find(|s| s.name == setting).map_or("", |s| s.values[0]);
    arm.settings.get(setting).map_or_else(known, String::as_str)
}

/// Arguments that create a volume. The passphrase has 256 random bits and does not need a slow key derivation,
/// so the smallest PIM is the default.
fn create(arm: &ArmSpec, size: u64, container: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["--text", "--non-interactive", "--stdin", "--create", "--volume-type=normal"]
            .map(Into::into)
            .into();
    // If the container is a device, the program uses the whole device.
    if !is_device(container) {
        words.push(format!("--size={size}").into());
    }
    words.push(format!("--encryption={}", their_name(arm.cipher.unwrap_or_default())).into());
    words.extend(derivation(arm));
    words.extend(["--filesystem=none", "--keyfiles=", "--force"].map(Into::into));
    words.push("--random-source=/dev/urandom".into());
    words.push(container.into());
    words
}

/// Arguments that open a volume without mounting its file system.
fn mount(arm: &ArmSpec, container: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["--text", "--non-interactive", "--stdin", "--filesystem=none"].map(Into::into).into();
    words.extend(derivation(arm));
    words.extend(["--keyfiles=", "--protect-hidden=no"].map(Into::into));
    if arm.is_set(WHO, "no") {
        words.push("--mount-options=nokernelcrypto".into());
    }
    words.push(container.into());
    words
}

/// The PRF and the PIM. With a specified PRF, the program need not try all PRFs.
fn derivation(arm: &ArmSpec) -> [OsString; 2] {
    let prf = match value(arm, "prf") {
        "sha-256" => "SHA-256",
        "blake2s-256" => "BLAKE2s-256",
        "whirlpool" => "Whirlpool",
        "streebog-512" => "Streebog",
        _ => "SHA-512",
    };
    [format!("--hash={prf}").into(), format!("--pim={}", value(arm, "pim")).into()]
}

/// VeraCrypt's name of a cipher: `AES`, or `AES-Twofish-Serpent` for a cascade.
fn their_name(cipher: &str) -> String {
    let parts = cipher.trim_end_matches("-xts").trim_end_matches("-256").split('-');
    let capital = |part: &str| match part {
        "aes" => "AES".to_owned(),
        other => other[..1].to_uppercase() + &other[1..],
    };
    parts.map(capital).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: Vec<OsString>) -> String {
        words.into_iter().map(|w| w.into_string().unwrap()).collect::<Vec<_>>().join(" ")
    }

    fn select(settings: &[(&str, &[&str])]) -> Selection {
        let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
        Selection {
            settings: settings.iter().map(|(n, v)| ((*n).to_owned(), owned(v))).collect(),
            ..Selection::default()
        }
    }

    fn lacks(lacks: bool) -> Features {
        let why = ("no device mapper".to_owned(), "modprobe dm_mod".into());
        Features { lacks_device_mapper: lacks.then_some(why), ..Features::default() }
    }

    fn one(settings: &[(&str, &[&str])], lacking: bool) -> ArmSpec {
        let arms = arms(&VERACRYPT, &select(settings), &lacks(lacking)).unwrap();
        assert_eq!(arms.len(), 1, "{arms:?}");
        arms.into_iter().next().unwrap()
    }

    #[test]
    fn volumes_are_made_and_opened_with_exactly_these_words() {
        let cascade = one(&[("cipher", &["serpent-twofish-aes-xts"])], false);
        assert_eq!(
            said(create(&cascade, 1048576, Path::new("/d/c"))),
            "--text --non-interactive --stdin --create --volume-type=normal --size=1048576 \
             --encryption=Serpent-Twofish-AES --hash=SHA-512 --pim=1 --filesystem=none --keyfiles= --force \
             --random-source=/dev/urandom /d/c"
        );
        let common = "--text --non-interactive --stdin --filesystem=none --hash=SHA-512 --pim=1 \
                      --keyfiles= --protect-hidden=no";
        assert_eq!(said(mount(&cascade, Path::new("/d/c"))), format!("{common} /d/c"));
        let own = one(&[(WHO, &["no"]), ("prf", &["streebog-512"]), ("pim", &["485"])], false);
        let expected = common.replace("SHA-512 --pim=1", "Streebog --pim=485");
        assert_eq!(
            said(mount(&own, Path::new("/d/c"))),
            format!("{expected} --mount-options=nokernelcrypto /d/c")
        );
    }

    #[test]
    fn who_encrypts_is_decided_before_anything_is_made_and_told() {
        let plain = "veracrypt/aes-256-xts";
        let by_kernel = one(&[], false);
        assert_eq!((by_kernel.id.as_str(), &*by_kernel.settings[WHO]), (plain, "yes"));
        let by_itself = one(&[], true);
        assert_eq!(by_itself.id, "veracrypt/aes-256-xts/kernel-crypto=no");
        assert_eq!(by_itself.label, "VeraCrypt AES-256-XTS, own process");
        assert_eq!(by_itself.settings[WHO], "no");
        // The same, whether it was requested or detected.
        assert_eq!(one(&[(WHO, &["no"])], false), by_itself);
        assert_eq!(one(&[(WHO, &["auto", "no"])], true), by_itself);
        assert_eq!(one(&[(WHO, &["auto", "yes", "no"])], true), by_itself, "swept");
        assert_eq!(one(&[("cipher", &["kuznyechik-aes-xts"])], false).settings[WHO], "no");
        assert_eq!(
            arms(&VERACRYPT, &select(&[(WHO, &["yes", "no"])]), &lacks(false)).unwrap().len(),
            2
        );
        let refused = [
            (&[(WHO, &["yes"][..])][..], true),
            (&[(WHO, &["yes"]), ("cipher", &["kuznyechik-xts"])], false),
        ]
        .map(|(settings, lacking)| {
            arms(&VERACRYPT, &select(settings), &lacks(lacking)).unwrap_err().to_string()
        });
        insta::assert_snapshot!(refused.join("\n"), @"
            veracrypt with kernel-crypto=yes is not available here: no device mapper; modprobe dm_mod, or use kernel-crypto=no (VeraCrypt's own process)
            veracrypt with kernel-crypto=yes is not available here: the kernel has no Kuznyechik, so only VeraCrypt's own process can encrypt with it; use kernel-crypto=no or auto
            ");
    }

    #[test]
    fn the_device_tells_who_encrypts() {
        let (kernel, own) = (one(&[], false), one(&[], true));
        assert_eq!(turned_out(&kernel, Path::new("/dev/mapper/veracrypt1")), None);
        assert_eq!(turned_out(&own, Path::new("/dev/loop3")), None);
        assert_eq!(turned_out(&kernel, Path::new("/dev/loop3")), Some(own));
    }

    /// Uses the real program, which must not prompt without a terminal.
    #[test]
    fn a_container_below_the_minimum_is_refused_and_nothing_is_asked() {
        if !Machine::this().has(NAME) {
            eprintln!("SKIPPED: veracrypt is not installed");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("container");
        let arm = one(&[(WHO, &["no"])], true);
        let secret = || line(passphrase().as_bytes());
        let creates = |size| {
            let limit = Duration::from_secs(60);
            says(create(&arm, size, &path), secret()).run(&Machine::this(), limit)
        };
        // Four 64 KiB headers, and nine 4096-byte sectors (Tcdefs.h, Volumes.h: TC_MIN_VOLUME_SIZE).
        let error = creates(4 * 65536 + 8 * 4096).unwrap_err().to_string();
        assert!(error.contains("Incorrect volume size"), "{error}");
        creates(4 * 65536 + 9 * 4096).unwrap();
        let opens = says(mount(&arm, &path), secret()).run(&Machine::this(), LIMIT).unwrap_err();
        assert!(opens.to_string().starts_with("veracrypt: "), "another passphrase: {opens}");
    }

    #[test]
    fn ciphers_have_their_names_and_ours() {
        for (ours, theirs) in [
            ("aes-256-xts", "AES"),
            ("kuznyechik-xts", "Kuznyechik"),
            ("camellia-256-xts", "Camellia"),
            ("aes-twofish-xts", "AES-Twofish"),
            ("kuznyechik-serpent-camellia-xts", "Kuznyechik-Serpent-Camellia"),
        ] {
            assert_eq!(their_name(ours), theirs);
        }
        let arms =
            arms(&VERACRYPT, &select(&[("cipher", SETTINGS[0].values)]), &lacks(false)).unwrap();
        assert_eq!(arms.len(), 15);
    }
}
