//! eCryptfs: a stacked kernel file system that encrypts each file in 4096-byte extents.
//!
//! The program ecryptfs-add-passphrase reads the passphrase from its standard input and adds the key derived
//! from it to the user's keyring. The mount refers to the key only by its signature.

use std::fs;

use zeroize::Zeroizing;

use cryptbench_catalog::{self as catalog, Remedy};
use cryptbench_text::shown;
use cryptbench_volume::format::ecryptfs::signature_of;

use crate::command::Invocation;
use crate::kind::stacked::{self, Laid, Stacked};
use crate::machine::Machine;
use crate::prepared::Shown;
use crate::provision::kernel_crypto::{self, Accepts};
use crate::provision::secret;
use crate::resource::{ResourceStack, WorkTree, key, mount};
use crate::settings::{self, Choice};
use crate::system::{Kind, Role, Setting, System};
use crate::{ArmContext, ArmSpec, Availability, Backing, Content, Random, SystemError};

const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "cipher for file contents: AES with a 16- or 32-byte key",
    values: &["aes-128-cbc", "aes-256-cbc"],
};

const NAMES: Setting = Setting {
    name: "names",
    about: "whether file names are encrypted",
    values: &["plain", "encrypted"],
};

/// The kernel's stacked file system.
pub(crate) static ECRYPTFS: System = System {
    settings: &[CIPHERS, NAMES],
    availability,
    arms: |system, selection, _| {
        let arm = |choice: &Choice| ArmSpec {
            cipher: Some(choice["cipher"]),
            ..settings::arm(system, "eCryptfs", Role::Encrypted, choice)
        };
        Ok(settings::choices(system, selection).iter().map(arm).collect())
    },
    kernel_tier: |arm, _| {
        arm.cipher.and_then(|_| kernel_crypto::in_use(&["cbc(aes)"], Accepts::Any))
    },
    ..System::new(
        &catalog::ECRYPTFS,
        Kind::Stacked(Stacked::Kernel { create, footprint: stacked::in_a_directory }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if !machine.kernel_has("ecryptfs") && !machine.has_module("ecryptfs") {
        return Availability::without(
            format!(
                "this kernel has no eCryptfs (not in {}, and no module)",
                shown(&machine.file_systems)
            ),
            "modprobe ecryptfs, or run a kernel with CONFIG_ECRYPT_FS",
        );
    }
    if !machine.root {
        return Availability::without("mounting it requires root", "run as root");
    }
    match machine.missing(&["ecryptfs-add-passphrase", "keyctl", "mount"]) {
        Some(program) => {
            Availability::without(format!("{program} is not installed"), Remedy::program(program))
        }
        None => Availability::Available(format!(
            "of Linux {}",
            rustix::system::uname().release().to_string_lossy()
        )),
    }
}

fn create(
    system: &System,
    arm: &ArmSpec,
    context: &ArmContext<'_>,
    stack: &mut ResourceStack,
) -> Result<Laid, SystemError> {
    let what = WorkTree { path: context.path_for(arm, "store") };
    stack.create(what.clone(), || what.make())?;
    let lower = what.path.join("ciphertext");
    fs::create_dir(&lower).map_err(SystemError::io("create", &lower))?;
    let passphrase = secret::passphrase();
    let signature = signature_of(passphrase.as_bytes())?.to_string();
    let adds = Invocation::new("ecryptfs-add-passphrase")
        .args(["-"])
        .input(Zeroizing::new(passphrase.as_bytes().to_vec()));
    let (below, options) = (lower.clone(), options(&settings::of_arm(system, arm), &signature));
    let open = move |stack: &mut ResourceStack| {
        key::add_to_user(stack, &signature, &adds, &Machine::this())?;
        let directory = mount::mount_stacked(stack, "ecryptfs", &below, &options)?;
        Ok(Shown { directory, device: None, daemons: Vec::new() })
    };
    let backing = Backing {
        content: vec![Content::Path(lower.clone())],
        tree: Some(lower.clone()),
        random: Random::Mostly,
        beside: None,
    };
    Ok(Laid { backing, stored: Some(lower), cached: true, open: Box::new(open), write_back: None })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_what_was_chosen_and_no_secret() {
        let choice = |cipher, names| Choice::from([("cipher", cipher), ("names", names)]);
        assert_eq!(
            options(&choice("aes-128-cbc", "plain"), "0123"),
            "ecryptfs_sig=0123,ecryptfs_cipher=aes,ecryptfs_key_bytes=16,ecryptfs_unlink_sigs"
        );
        assert_eq!(
            options(&choice("aes-256-cbc", "encrypted"), "0123"),
            "ecryptfs_sig=0123,ecryptfs_cipher=aes,ecryptfs_key_bytes=32,ecryptfs_unlink_sigs,ecryptfs_fnek_sig=0123"
        );
    }

    #[test]
    fn availability_says_what_is_missing() {
        let lists = tempfile::tempdir().unwrap();
        let file_systems = lists.path().join("filesystems");
        fs::write(&file_systems, "nodev\tsysfs\n\text4\n").unwrap();
        let mut machine = Machine { file_systems, ..Machine::this() };
        machine.modules = lists.path().to_owned();
        let reason = |m: &Machine| match ECRYPTFS.availability_on(m) {
            Availability::Unavailable { reason, remedy } => format!("{reason}; {remedy}"),
            Availability::Available(version) => version,
        };
        let mut said = vec![reason(&machine)];
        fs::write(lists.path().join("modules.dep"), "kernel/fs/ecryptfs/ecryptfs.ko: \n").unwrap();
        machine.root = false;
        said.push(reason(&machine));
        machine.root = true;
        machine.path = lists.path().into();
        said.push(reason(&machine));
        let said = said.join("\n").replace(&lists.path().display().to_string(), "DIR");
        insta::assert_snapshot!(said, @"
            this kernel has no eCryptfs (not in DIR/filesystems, and no module); modprobe ecryptfs, or run a kernel with CONFIG_ECRYPT_FS
            mounting it requires root; run as root
            ecryptfs-add-passphrase is not installed; apt install ecryptfs-utils
            ");
    }
}
