//! TrueCrypt's format on the kernel's dm-crypt, mapped by tcplay(8).
//!
//! The headers are written by this program, bit for bit as TrueCrypt's: tcplay asks for passphrases and for consent
//! as it creates, on a terminal, and what it creates is the same. Opening is tcplay's, as users have it.

use std::path::Path;
use std::time::Duration;

use cryptbench_blockdev::{FileDevice, IoMode};
use cryptbench_cipher::Tier;
use cryptbench_kdf::Effort;
use cryptbench_text::chain;
use cryptbench_volume::format::tcrypt::{CreateOptions, Fill, Product, create};
use cryptbench_volume::{Credentials, Secret};
use zeroize::Zeroizing;

use crate::command::{Invocation, remedy};
use crate::machine::Machine;
use crate::provision::dm;
use crate::provision::secret::{line, passphrase};
use crate::provision::stack::Stack;
use crate::provision::stand::{self, Container, Mapped, Place};
use crate::settings::{choices, identifier, of_arm};
use crate::{
    ArmSpec, Attachment, Availability, Contender, Ground, Role, Selection, Setting, System,
    SystemError,
};

/// TrueCrypt volumes through tcplay.
pub(crate) struct TrueCrypt;

const NAME: &str = "truecrypt";
const PROGRAM: &str = "tcplay";

/// It tries one PRF after the other, those of VeraCrypt with 200 times the iterations among them.
const LIMIT: Duration = Duration::from_secs(300);

/// Headers at both ends, and whole MiB.
const HEADERS: u64 = 1 << 20;

/// TrueCrypt's ciphers; those of a cascade are applied from the last to the first.
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

impl System for TrueCrypt {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "TrueCrypt volumes by tcplay on the kernel's dm-crypt"
    }

    fn availability(&self) -> Availability {
        let machine = Machine::this();
        if !machine.has(PROGRAM) {
            return Availability::without(
                format!("there is no program {PROGRAM}"),
                format!(
                    "{}; builtin and builtin-mounted measure its ciphers without it",
                    remedy(PROGRAM)
                ),
            );
        }
        if let Some(Availability::Unavailable { reason, remedy }) =
            stand::lacks_device_mapper(&machine)
        {
            return Availability::without(
                reason,
                format!("{remedy}; builtin and builtin-mounted measure its ciphers without it"),
            );
        }
        let said = Invocation::new(PROGRAM).args(["--version"]).run_both(&machine, LIMIT);
        Availability::Available(
            said.ok()
                .and_then(|said| crate::stacked::first_version(&said))
                .map_or_else(|| "tcplay".to_owned(), |version| format!("tcplay {version}")),
        )
    }

    fn settings(&self) -> &'static [Setting] {
        const { &[CIPHERS, stand::SURFACE] }
    }

    fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        let arm = |values: crate::settings::Choice| {
            let info = cryptbench_cipher::find(values["cipher"])?;
            let device = if values["surface"] == "device" { ", device" } else { "" };
            Ok(ArmSpec {
                id: identifier(self, &values),
                label: format!("TrueCrypt {}{device}", info.label),
                role: Role::Encrypted,
                system: NAME,
                cipher: Some(info.name),
                data_unit: Some(512),
                layout: Some("TrueCrypt"),
                settings: crate::settings::in_words(&values),
            })
        };
        choices(self, selection).into_iter().map(arm).collect()
    }

    fn attachment(&self) -> Attachment {
        Attachment::Mounted
    }

    fn null_layer(&self) -> &'static str {
        "dm-crypt"
    }

    fn provision(&self, arm: &ArmSpec, ground: &mut Ground<'_>) -> Result<Contender, SystemError> {
        let choice = of_arm(self, arm);
        let place = if choice["surface"] == "device" { Place::Device } else { Place::File };
        let cipher = choice["cipher"];
        let name = stand::mapping_name(ground.run_id);
        let (secret, tier) = (passphrase(), ground.tier);
        let typed = line(&secret);
        stand::set_up(
            arm,
            ground,
            place,
            |_| HEADERS,
            move |stack, path, container| {
                if container == Container::New {
                    format(path, cipher, &secret, tier)?;
                }
                map(stack, path, cipher, &name, &typed)
            },
        )
    }

    fn kernel_tier(&self, _arm: &ArmSpec, _tier: Tier) -> Option<String> {
        None
    }
}

/// Writes the headers of a volume of all of `path`, which is filled at random.
fn format(path: &Path, cipher: &str, secret: &str, tier: Tier) -> Result<(), SystemError> {
    let device =
        FileDevice::open(path, IoMode::Buffered, false).map_err(SystemError::io("open", path))?;
    let credentials = Credentials {
        passphrase: Secret::new(secret.as_bytes().to_vec()),
        keyfiles: Vec::new(),
        pim: None,
    };
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
        problem: format!("no volume can be made in it: {}", chain(&e)),
    })
}

/// One mapping for each cipher of a cascade, as tcplay names them from the lowest up: `name.1`, `name.0`, `name`
/// (tcplay, `dm_setup()`).
fn names(name: &str, ciphers: usize) -> Vec<String> {
    (0..ciphers.saturating_sub(1))
        .rev()
        .map(|i| format!("{name}.{i}"))
        .chain([name.to_owned()])
        .collect()
}

fn map(
    stack: &mut Stack,
    path: &Path,
    cipher: &str,
    name: &str,
    typed: &Zeroizing<Vec<u8>>,
) -> Result<Mapped, SystemError> {
    let device = stack.loop_device(path, false)?;
    let names = names(name, stages(cipher));
    let device = stack.map(&names, || {
        dm::program(PROGRAM)
            .args([format!("--map={name}")])
            .args(["--device".as_ref(), device.as_os_str()])
            .input(typed.clone())
            .run(&Machine::this(), LIMIT)
            .map(drop)
    })?;
    Ok(Mapped::by_kernel(device))
}

/// Ciphers of a cascade.
fn stages(cipher: &str) -> usize {
    let ciphers = ["aes", "serpent", "twofish"];
    cipher.split('-').filter(|part| ciphers.contains(part)).count()
}

#[cfg(test)]
mod tests {
    use cryptbench_volume::{OpenOptions, open};

    use super::*;

    #[test]
    fn what_is_formatted_is_a_truecrypt_volume_of_the_chosen_cipher() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("container");
        std::fs::write(&path, vec![7; 2 << 20]).unwrap();
        let tier = cryptbench_cipher::tier().unwrap();
        format(&path, "serpent-twofish-aes-xts", "a secret", tier).unwrap();
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
        let arms = TrueCrypt.arms(&selection).unwrap();
        assert_eq!(arms.len(), CIPHERS.values.len());
        assert_eq!(arms[4].label, "TrueCrypt AES(Twofish(Serpent))-XTS");
    }
}
