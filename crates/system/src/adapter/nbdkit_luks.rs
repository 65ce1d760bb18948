//! nbdkit's LUKS filter: LUKS1 in user space, served through nbdfuse(1) as a file, with a loop device and ext4 on top.
//! The null layer is the same path without the filter.

use std::path::Path;

use cryptbench_blockdev::{FileDevice, IoMode};
use cryptbench_catalog::{self as catalog, AES_128_XTS, AES_256_XTS, Cipher, Remedy};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort};
use cryptbench_text::chain;
use cryptbench_volume::format::luks::{self, CreateOptions, Resources, Version};
use cryptbench_volume::{Credentials, Secret};

use crate::command::{Invocation, run};
use crate::kind::mapped::{Disk, IO_TARGET, Mapped, Volume};
use crate::machine::Machine;
use crate::resource::{ResourceStack, daemon, loop_device};
use crate::settings::luks_arms;
use crate::system::{Kind, Setting, System};
use crate::{Availability, SystemError};

const DAEMON: &str = "nbdfuse";

/// Space for the header in bytes: LUKS1 data starts at 2 MiB, rounded to whole MiB.
const HEADER: u64 = 4 << 20;

/// The passphrase has 256 random bits, so a slow key derivation would take time without adding security.
const ITERATIONS: u32 = 1000;

const CIPHERS: [&Cipher; 2] = [&AES_256_XTS, &AES_128_XTS];

const CIPHER: Setting = Setting {
    name: "cipher",
    about: "AES-XTS key size; the filter supports no other cipher",
    values: &[CIPHERS[0].name, CIPHERS[1].name],
};

/// LUKS1 by nbdkit.
pub(crate) static NBDKIT_LUKS: System = System {
    settings: &[CIPHER, IO_TARGET],
    availability,
    arms: |system, selection, _| {
        Ok(luks_arms(system, selection, "nbdkit", ("null", "without its filter")))
    },
    ..System::new(
        &catalog::NBDKIT_LUKS,
        // nbdkit's file plugin uses the page cache.
        Kind::Mapped(Mapped { cached: true, ..Mapped::new(open, |_, _| HEADER) }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if !machine.has("nbdkit") {
        return Availability::without("nbdkit is not installed", Remedy::program("nbdkit"));
    }
    if !machine.has(DAEMON) {
        return Availability::without("nbdfuse is not installed", Remedy::program(DAEMON));
    }
    if let Some(lacking) = machine.lacks_fuse().or_else(|| machine.lacks_disks()) {
        return lacking;
    }
    // Prints `nbdkit 1.32.5`.
    let said = run("nbdkit", ["--version"]).unwrap_or_default();
    Availability::Available(said.split(' ').nth(1).unwrap_or("of unknown version").to_owned())
}

/// Writes the header of a volume to the start of `path`, a file filled with random data.
fn format(path: &Path, cipher: &Cipher, secret: &[u8], tier: Tier) -> Result<(), SystemError> {
    let device =
        FileDevice::open(path, IoMode::Buffered, false).map_err(SystemError::io("open", path))?;
    let credentials =
        Credentials { passphrase: Secret::new(secret.to_vec()), ..Credentials::default() };
    let failed = |e: &dyn std::error::Error| SystemError::Target {
        path: path.to_owned(),
        problem: format!("cannot create a volume in it: {}", chain(e)),
    };
    let resources = Resources::new(tier, Effort::new(tier, 1));
    let mut options = CreateOptions::new(Version::Luks1, resources).map_err(|e| failed(&e))?;
    options.encryption = cipher.specification;
    options.key_bytes = cipher.key_bytes();
    if let Derivation::Pbkdf2 { iterations, .. } = &mut options.derivation {
        *iterations = ITERATIONS;
    }
    luks::create(&device, &credentials, &options).map_err(|e| failed(&e))
}

/// Serves the container, decrypted if there is a cipher.
fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let (cipher, container) = (volume.arm.cipher, &volume.container.path);
    if let (Some(cipher), true) = (cipher, volume.is_new) {
        let cipher = CIPHERS.into_iter().find(|c| c.name == cipher).unwrap_or(CIPHERS[0]);
        format(container, cipher, volume.secret, volume.tier)?;
    }
    let (file, daemon) = daemon::serve_file(stack, DAEMON, |at| {
        let invocation = Invocation::new(DAEMON).args([at]).args(serve(cipher.is_some()));
        // nbdkit can mistake a path for a parameter, but not after `file=`.
        let mut named = std::ffi::OsString::from("file=");
        named.push(container);
        let invocation = invocation.args([named]).args(["]"]);
        match cipher {
            Some(_) => invocation.input(volume.secret.clone()),
            None => invocation,
        }
    })?;
    let device = loop_device::create(stack, &file, false)?;
    Ok(Disk { file: Some(file), daemons: vec![daemon], ..Disk::by_kernel(device) })
}

/// The arguments with which nbdfuse starts the server, without the container's name at the end. The passphrase
/// comes through standard input, which is a pipe. The server exits when its client has exited.
fn serve(luks: bool) -> Vec<&'static str> {
    let mut words = vec!["[", "nbdkit", "--exit-with-parent"];
    if luks {
        words.push("--filter=luks");
    }
    words.push("file");
    if luks {
        words.push("passphrase=+/dev/stdin");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;

    #[test]
    fn arms_are_a_null_layer_and_each_cipher() {
        let ids = |selection: &Selection| -> Vec<_> {
            NBDKIT_LUKS.arms(selection).unwrap().into_iter().map(|a| a.id).collect()
        };
        assert_eq!(ids(&Selection::default()), ["nbdkit-luks/null", "nbdkit-luks/aes-256-xts"]);
        let settings = [("io-target".to_owned(), vec!["device".to_owned()])].into();
        let ciphers = vec!["aes-256-xts".to_owned(), "aes-128-xts".to_owned()];
        assert_eq!(
            ids(&Selection { settings, ciphers, ..Selection::default() }),
            [
                "nbdkit-luks/null/io-target=device",
                "nbdkit-luks/aes-256-xts/io-target=device",
                "nbdkit-luks/aes-128-xts/io-target=device"
            ]
        );
    }

    #[test]
    fn no_secret_is_among_the_words() {
        let words = serve(true).join(" ");
        assert_eq!(words, "[ nbdkit --exit-with-parent --filter=luks file passphrase=+/dev/stdin");
        assert_eq!(serve(false).join(" "), "[ nbdkit --exit-with-parent file");
    }
}
