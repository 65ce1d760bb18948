//! eCryptfs: a stacked file system of the kernel, each file encrypted in extents of 4096 bytes.
//!
//! The program ecryptfs-add-passphrase reads the passphrase from its standard input and puts what it is stretched
//! to into the user's keyring; the mount names it by its signature alone.

use std::fs;

use cryptbench_cipher::Tier;
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use crate::command::{Invocation, remedy};
use crate::machine::Machine;
use crate::provision::layers::{Layers, Shown};
use crate::provision::secret;
use crate::settings::{self, Choice};
use crate::{
    ArmSpec, Attachment, Availability, Backing, Contender, Content, Ground, Random, Role,
    Selection, Setting, System, SystemError,
};

/// The kernel's stacked file system.
pub(crate) struct Ecryptfs;

const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "what encrypts the content of files: AES with a key of 16 or 32 bytes",
    values: &["aes-128-cbc", "aes-256-cbc"],
};

const NAMES: Setting = Setting {
    name: "names",
    about: "whether names of files are encrypted",
    values: &["plain", "encrypted"],
};

/// The salt of passphrases where the user gives none, and how often they are hashed (eCryptfs,
/// `ECRYPTFS_DEFAULT_SALT_HEX` and `ECRYPTFS_DEFAULT_NUM_HASH_ITERATIONS`).
const SALT: [u8; 8] = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
const ITERATIONS: u32 = 65536;

impl Ecryptfs {
    fn availability_on(machine: &Machine) -> Availability {
        if !machine.kernel_has("ecryptfs") && !machine.has_module("ecryptfs") {
            return Availability::without(
                format!(
                    "this kernel has no eCryptfs (none in {}, and no module)",
                    machine.file_systems.display()
                ),
                "modprobe ecryptfs, or a kernel with CONFIG_ECRYPT_FS",
            );
        }
        if !machine.root {
            return Availability::without("mounting it takes root", "run as root");
        }
        match machine.missing(&["ecryptfs-add-passphrase", "keyctl", "mount"]) {
            Some(program) => {
                Availability::without(format!("there is no program {program}"), remedy(program))
            }
            None => Availability::Available(format!(
                "of Linux {}",
                rustix::system::uname().release().to_string_lossy()
            )),
        }
    }
}

impl System for Ecryptfs {
    fn name(&self) -> &'static str {
        "ecryptfs"
    }

    fn about(&self) -> &'static str {
        "an encrypted directory, stacked on another by the kernel"
    }

    fn availability(&self) -> Availability {
        Self::availability_on(&Machine::this())
    }

    fn settings(&self) -> &'static [Setting] {
        const { &[CIPHERS, NAMES] }
    }

    fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        let arm = |choice: &Choice| ArmSpec {
            id: settings::identifier(self, choice),
            label: settings::label(self, "eCryptfs", choice),
            role: Role::Encrypted,
            system: "ecryptfs",
            cipher: Some(choice["cipher"]),
            data_unit: None,
            layout: None,
            settings: settings::in_words(choice),
        };
        Ok(settings::choices(self, selection).iter().map(arm).collect())
    }

    // Blocks with their tags, padded.
    fn footprint(&self, len: u64, _free: u64) -> u64 {
        len + len / 8
    }

    fn attachment(&self) -> Attachment {
        Attachment::Mounted
    }

    fn provision(&self, arm: &ArmSpec, ground: &mut Ground<'_>) -> Result<Contender, SystemError> {
        let choice = settings::of_arm(self, arm);
        let mut layers = Layers::new(ground.run_id, &arm.id)?;
        let lower = layers.store(ground.directory)?.join("ciphertext");
        fs::create_dir(&lower).map_err(SystemError::io("create", &lower))?;
        let passphrase = secret::passphrase();
        let signature = signature(&passphrase);
        let adds = Invocation::new("ecryptfs-add-passphrase")
            .args(["-"])
            .input(Zeroizing::new(passphrase.as_bytes().to_vec()));
        let (below, options) = (lower.clone(), options(&choice, &signature));
        let show = move |layers: &mut Layers| {
            layers.user_key(&signature, &adds, &Machine::this())?;
            let directory = layers.mount_stacked("ecryptfs", &below, &options)?;
            Ok(Shown { directory, daemons: Vec::new() })
        };
        layers.data_at_rest();
        let Shown { directory, .. } = show(&mut layers)?;
        layers.shown_again_by(show);
        let surface = layers.scratch(&directory, ground)?;
        let backing = Backing {
            content: vec![Content::Path(lower.clone())],
            tree: Some(lower.clone()),
            random: Random::Mostly,
        };
        let mut contender = Contender::on_stand(surface, directory, Box::new(layers)).over(backing);
        contender.stored = Some(lower);
        contender.cached_below = true;
        Ok(contender)
    }

    fn kernel_tier(&self, _arm: &ArmSpec, _tier: Tier) -> Option<String> {
        None
    }
}

/// The kernel's mount options (Linux, `fs/ecryptfs/main.c`).
fn options(choice: &Choice, signature: &str) -> String {
    let bytes = if choice["cipher"] == "aes-256-cbc" { 32 } else { 16 };
    let mut options = format!(
        "ecryptfs_sig={signature},ecryptfs_cipher=aes,ecryptfs_key_bytes={bytes},ecryptfs_unlink_sigs"
    );
    if choice["names"] == "encrypted" {
        options.push_str(",ecryptfs_fnek_sig=");
        options.push_str(signature);
    }
    options
}

/// What names a passphrase in the keyring: the first 8 bytes of the hash of what it is stretched to, in hexadecimal
/// digits (ecryptfs-utils, `generate_passphrase_sig`).
fn signature(passphrase: &str) -> String {
    let mut key: Zeroizing<[u8; 64]> =
        Zeroizing::new(Sha512::new().chain_update(SALT).chain_update(passphrase).finalize().into());
    for _ in 1..ITERATIONS {
        *key = Sha512::digest(*key).into();
    }
    Sha512::digest(*key)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ecryptfs-add-passphrase of ecryptfs-utils 111 prints it for this passphrase.
    #[test]
    fn a_passphrase_is_named_as_the_program_names_it() {
        assert_eq!(signature("secret phrase"), "8cc52ac324e5c4e3");
    }

    #[test]
    fn options_say_what_was_chosen_and_no_secret() {
        let choice = |cipher, names| Choice::from([("cipher", cipher), ("names", names)]);
        assert_eq!(
            options(&choice("aes-128-cbc", "plain"), "0123"),
            "ecryptfs_sig=0123,ecryptfs_cipher=aes,ecryptfs_key_bytes=16,ecryptfs_unlink_sigs"
        );
        let full = options(&choice("aes-256-cbc", "encrypted"), "0123");
        assert!(full.contains("key_bytes=32") && full.ends_with("ecryptfs_fnek_sig=0123"));
    }

    #[test]
    fn availability_says_what_is_missing() {
        let lists = tempfile::tempdir().unwrap();
        let file_systems = lists.path().join("filesystems");
        fs::write(&file_systems, "nodev\tsysfs\n\text4\n").unwrap();
        let mut machine = Machine { file_systems, ..Machine::this() };
        machine.modules = lists.path().to_owned();
        let reason = |m: &Machine| match Ecryptfs::availability_on(m) {
            Availability::Unavailable { reason, remedy } => format!("{reason}; {remedy}"),
            Availability::Available(version) => version,
        };
        assert!(reason(&machine).contains("CONFIG_ECRYPT_FS"), "{}", reason(&machine));
        fs::write(lists.path().join("modules.dep"), "kernel/fs/ecryptfs/ecryptfs.ko: \n").unwrap();
        machine.root = false;
        assert!(reason(&machine).contains("takes root"));
        machine.root = true;
        machine.path = lists.path().into();
        assert!(reason(&machine).contains("apt install ecryptfs-utils"));
    }
}
