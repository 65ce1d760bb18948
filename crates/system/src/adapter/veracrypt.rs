//! VeraCrypt by its own program: on the kernel's dm-crypt, or in user space through FUSE (`nokernelcrypto`).

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::command::run;
use crate::kind::mapped::{Disk, Mapped, SURFACE, Volume};
use crate::machine::Machine;
use crate::provision::secret::{line, passphrase};
use crate::resource::{ResourceStack, mapping, veracrypt_volume};
use crate::settings::volume_arms;
use crate::system::{Kind, Setting, System};
use crate::{Availability, SystemError};

const NAME: &str = "veracrypt";

/// Creating fills the volume with random data, which takes as long as the disk takes.
const LIMIT: Duration = Duration::from_secs(3600);

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
            "serpent-aes-xts",
            "serpent-twofish-aes-xts",
            "twofish-serpent-xts",
        ],
    },
    Setting {
        name: "kernel-crypto",
        about: "whether the kernel encrypts, where it has the cipher, or VeraCrypt's own process",
        values: &["yes", "no"],
    },
    SURFACE,
];

/// VeraCrypt's command line.
pub(crate) static VERACRYPT: System = System {
    settings: SETTINGS,
    availability,
    arms: |system, selection| {
        volume_arms(system, selection, "VeraCrypt", |values| match values["kernel-crypto"] {
            "no" => ", own process",
            _ => "",
        })
    },
    ..System::new(
        NAME,
        "VeraCrypt's own program, on the kernel's dm-crypt or in user space (nokernelcrypto)",
        Kind::Mapped(Mapped {
            secret: |_| Ok(line(passphrase().as_bytes())),
            // The program's own loop device has no direct I/O, and its own process writes through the page cache.
            cached: true,
            // Two header groups of 128 KiB.
            ..Mapped::new(open, |_, _| 1 << 20)
        }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if !machine.has(NAME) {
        return Availability::without(
            "there is no program veracrypt, and Debian has no package of it",
            "install the console package from veracrypt.io; builtin and builtin-mounted measure its \
             format without it",
        );
    }
    // Without device mapper it can still encrypt by itself, which a run would have to ask for.
    if let Some(lacking) = machine.lacks_device_mapper().or_else(|| machine.lacks_fuse()) {
        return lacking;
    }
    // `VeraCrypt 1.26.20`
    let said = run(NAME, ["--text", "--version"]).unwrap_or_default();
    Availability::Available(said.split(' ').nth(1).unwrap_or("of unknown version").to_owned())
}

fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let (path, secret) = (&volume.container.path, volume.secret);
    if volume.is_new {
        let cipher = volume.arm.cipher.unwrap_or_default();
        say(create(cipher, volume.container.len, path), secret.clone())?;
    }
    let own = volume.arm.is_set("kernel-crypto", "no");
    let shown = veracrypt_volume::create(stack, path, || say(mount(own, path), secret.clone()))?;
    Ok(Disk { file: shown.file, daemons: shown.daemons, ..Disk::by_kernel(shown.device) })
}

/// Lets the program do what `words` say.
fn say(words: Vec<OsString>, secret: Zeroizing<Vec<u8>>) -> Result<(), SystemError> {
    mapping::program(NAME).args(words).input(secret).run(&Machine::this(), LIMIT).map(drop)
}

/// Words that create a volume. The passphrase has 256 random bits, which needs no stretching: the least PIM.
fn create(cipher: &str, size: u64, container: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["--text", "--non-interactive", "--stdin", "--create", "--volume-type=normal"]
            .map(Into::into)
            .into();
    words.push(format!("--size={size}").into());
    words.push(format!("--encryption={}", their_name(cipher)).into());
    words.extend(
        ["--hash=SHA-512", "--filesystem=none", "--pim=1", "--keyfiles=", "--force"]
            .map(Into::into),
    );
    words.push("--random-source=/dev/urandom".into());
    words.push(container.into());
    words
}

/// Words that open it without mounting a file system.
fn mount(own: bool, container: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["--text", "--non-interactive", "--stdin", "--filesystem=none", "--hash=SHA-512"]
            .map(Into::into)
            .into();
    words.extend(["--pim=1", "--keyfiles=", "--protect-hidden=no"].map(Into::into));
    if own {
        words.push("--mount-options=nokernelcrypto".into());
    }
    words.push(container.into());
    words
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
    use crate::Selection;

    fn said(words: Vec<OsString>) -> String {
        words.into_iter().map(|w| w.into_string().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn volumes_are_made_and_opened_with_exactly_these_words() {
        assert_eq!(
            said(create("serpent-twofish-aes-xts", 1048576, Path::new("/d/c"))),
            "--text --non-interactive --stdin --create --volume-type=normal --size=1048576 \
             --encryption=Serpent-Twofish-AES --hash=SHA-512 --filesystem=none --pim=1 --keyfiles= --force \
             --random-source=/dev/urandom /d/c"
        );
        let common = "--text --non-interactive --stdin --filesystem=none --hash=SHA-512 --pim=1 \
                      --keyfiles= --protect-hidden=no";
        assert_eq!(said(mount(false, Path::new("/d/c"))), format!("{common} /d/c"));
        assert_eq!(
            said(mount(true, Path::new("/d/c"))),
            format!("{common} --mount-options=nokernelcrypto /d/c")
        );
    }

    #[test]
    fn ciphers_have_their_names_and_ours() {
        for (ours, theirs) in [
            ("aes-256-xts", "AES"),
            ("kuznyechik-xts", "Kuznyechik"),
            ("camellia-256-xts", "Camellia"),
            ("aes-twofish-xts", "AES-Twofish"),
        ] {
            assert_eq!(their_name(ours), theirs);
        }
        let every =
            [("cipher".to_owned(), SETTINGS[0].values.iter().map(ToString::to_string).collect())];
        let arms = VERACRYPT.arms(&Selection { settings: every.into(), ..Selection::default() });
        assert_eq!(arms.unwrap().len(), SETTINGS[0].values.len());
    }
}
