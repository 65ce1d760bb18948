//! TrueCrypt's format with the kernel's dm-crypt, mapped with tcplay(8).
//!
//! cryptbench writes the headers itself, bit for bit like TrueCrypt, because tcplay prompts for passphrases and
//! consent on a terminal when it creates a volume. tcplay opens the volumes, as it does for its users.

use std::path::Path;
use std::time::Duration;

use cryptbench_blockdev::{FileDevice, IoMode};
use cryptbench_catalog::{self as catalog, Remedy};
use cryptbench_cipher::Tier;
use cryptbench_kdf::Effort;
use cryptbench_text::chain;
use cryptbench_volume::format::tcrypt::{CreateOptions, Fill, Product, create};
use cryptbench_volume::{Credentials, Secret};

use super::dmcrypt::DM_CRYPT;
use crate::command::Invocation;
use crate::kind::mapped::{Disk, IO_TARGET, Mapped, Volume};
use crate::kind::place::{self, ON};
use crate::kind::program::first_version;
use crate::machine::Machine;
use crate::provision::kernel_crypto;
use crate::provision::secret::line;
use crate::resource::{ResourceStack, mapping};
use crate::settings::volume_arms;
use crate::system::{Kind, Setting, System};
use crate::{Availability, SystemError};

const PROGRAM: &str = "tcplay";

/// tcplay tries all PRFs one after another, including those of VeraCrypt with 200 times as many iterations.
const LIMIT: Duration = Duration::from_secs(300);

/// Size of the headers at both ends in bytes, rounded to whole MiB.
const HEADERS: u64 = 1 << 20;

/// TrueCrypt's ciphers. The ciphers of a cascade are applied from last to first.
const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "cipher or cascade",
    values: &[
        "aes-256-xts",
        "serpent-256-xts",
        "twofish-256-xts",
        "aes-twofish-xts",
        "aes-twofish-serpent-xts",
        "serpent-aes-xts",
        "serpent-twofish-aes-xts",
        "twofish-serpent-xts",
    ],
};

/// TrueCrypt volumes through tcplay.
pub(crate) static TRUECRYPT: System = System {
    settings: &[CIPHERS, IO_TARGET, ON],
    null_layer: Some(&DM_CRYPT),
    availability,
    arms: |system, selection, _| volume_arms(system, selection, "TrueCrypt"),
    kernel_tier: |arm, _| kernel_crypto::of_xts(arm.cipher?),
    ..System::new(&catalog::TRUECRYPT, Kind::Mapped(Mapped::new(open, |_, _| HEADERS)))
};

fn availability(_: &System, machine: &Machine) -> Availability {
    let beside = |remedy: Remedy| {
        remedy.besides("builtin and builtin-mounted measure its ciphers without this program")
    };
    if !machine.has(PROGRAM) {
        let reason = format!("{PROGRAM} is not installed");
        return Availability::without(reason, beside(Remedy::program(PROGRAM)));
    }
    if let Some(Availability::Unavailable { reason, remedy }) = machine.lacks_device_mapper() {
        return Availability::without(reason, beside(remedy));
    }
    let said = Invocation::new(PROGRAM).args(["--version"]).run_both(machine, LIMIT);
    Availability::Available(
        said.ok()
            .and_then(|said| first_version(&said))
            .map_or_else(|| "tcplay".to_owned(), |version| format!("tcplay {version}")),
    )
}

/// Writes the headers of a volume that fills `path`, which already contains random data.
fn format(path: &Path, cipher: &str, secret: &[u8], tier: Tier) -> Result<(), SystemError> {
    let device =
        FileDevice::open(path, IoMode::Buffered, false).map_err(SystemError::io("open", path))?;
    let credentials =
        Credentials { passphrase: Secret::new(secret.to_vec()), ..Credentials::default() };
    let effort = Effort::new(tier, 1);
    let options = CreateOptions {
        product: Product::TrueCrypt,
        cipher,
        prf: "sha-512",
        fill: Fill::Quick,
        ..CreateOptions::new(tier, effort)
    };
    create(&device, &credentials, &options).map_err(|e| SystemError::Target {
        path: path.to_owned(),
        problem: format!("cannot create a volume in it: {}", chain(&e)),
    })
}

/// The mappings that tcplay creates, one for each cipher of a cascade, lowest first: `name.1`, `name.0`, `name`
/// (tcplay, `dm_setup()`).
fn names(name: &str, ciphers: usize) -> Vec<String> {
    (0..ciphers.saturating_sub(1))
        .rev()
        .map(|i| format!("{name}.{i}"))
        .chain([name.to_owned()])
        .collect()
}

fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let (path, cipher) = (&volume.container.path, volume.arm.cipher.unwrap_or_default());
    if volume.is_new {
        format(path, cipher, volume.secret, volume.tier)?;
    }
    let device = place::device(stack, path, None)?;
    let typed = line(volume.secret);
    let device = mapping::create(stack, &names(volume.name, stages(cipher)), || {
        mapping::program(PROGRAM)
            .args([format!("--map={}", volume.name)])
            .args(["--device".as_ref(), device.as_os_str()])
            .input(typed)
            .run(&Machine::this(), LIMIT)
            .map(drop)
    })?;
    Ok(Disk::by_kernel(device))
}

/// Number of ciphers in a cascade.
fn stages(cipher: &str) -> usize {
    let ciphers = ["aes", "serpent", "twofish"];
    cipher.split('-').filter(|part| ciphers.contains(part)).count()
}

#[cfg(test)]
mod tests {
    use cryptbench_volume::{OpenOptions, open};

    use super::*;
    use crate::Selection;

    #[test]
    fn what_is_formatted_is_a_truecrypt_volume_of_the_chosen_cipher() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("container");
        std::fs::write(&path, vec![7; 2 << 20]).unwrap();
        let tier = cryptbench_cipher::tier().unwrap();
        format(&path, "serpent-twofish-aes-xts", b"a secret", tier).unwrap();
        let device = std::sync::Arc::new(FileDevice::open(&path, IoMode::Buffered, true).unwrap());
        let credentials =
            Credentials { passphrase: Secret::new(b"a secret".to_vec()), ..Credentials::default() };
        let options = OpenOptions::new(tier, Effort::new(tier, 1));
        let volume = open(device, &credentials, &options).unwrap();
        let said = format!("{:?}", volume.info());
        assert!(said.contains("\"truecrypt\"") && said.contains("Serpent(Twofish(AES))"), "{said}");
    }

    #[test]
    fn a_cascade_has_a_mapping_for_each_cipher_the_lowest_first() {
        assert_eq!(names("x", stages("aes-256-xts")), ["x"]);
        assert_eq!(names("x", stages("serpent-twofish-aes-xts")), ["x.1", "x.0", "x"]);
        let every =
            [("cipher".to_owned(), CIPHERS.values.iter().map(ToString::to_string).collect())];
        let selection = Selection { settings: every.into(), ..Selection::default() };
        let arms = TRUECRYPT.arms(&selection).unwrap();
        assert_eq!(arms.len(), CIPHERS.values.len());
        assert_eq!(arms[4].label, "TrueCrypt AES(Twofish(Serpent))-XTS");
    }
}
