//! nbdkit's LUKS filter: LUKS1 in user space, served through nbdfuse(1) as a file; a loop device makes a disk
//! of it, ext4 lies on that. The null layer is the same path without the filter.

use std::path::Path;

use cryptbench_blockdev::{FileDevice, IoMode};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort};
use cryptbench_text::chain;
use cryptbench_volume::format::luks::{self, CreateOptions, Resources, Version};
use cryptbench_volume::{Credentials, Secret};

use crate::command::{Invocation, remedy, run};
use crate::kind::mapped::{Disk, Mapped, SURFACE, Volume};
use crate::machine::Machine;
use crate::resource::{ResourceStack, daemon, loop_device};
use crate::settings::luks_arms;
use crate::system::{Kind, Setting, System};
use crate::{Availability, SystemError};

const DAEMON: &str = "nbdfuse";

/// Room for the header: LUKS1 has its data at 2 MiB, and whole MiB.
const HEADER: u64 = 4 << 20;

/// The passphrase has 256 random bits: stretching it would take time and make nothing safer.
const ITERATIONS: u32 = 1000;

const CIPHER: Setting = Setting {
    name: "cipher",
    about: "key size of AES in XTS; the filter has no other ciphers",
    values: &["aes-256-xts", "aes-128-xts"],
};

/// LUKS1 by nbdkit.
pub(crate) static NBDKIT_LUKS: System = System {
    settings: &[CIPHER, SURFACE],
    availability,
    arms: |system, selection| {
        Ok(luks_arms(system, selection, "nbdkit", ("null", "without its filter")))
    },
    ..System::new(
        "nbdkit-luks",
        "LUKS1 in user space by nbdkit's filter, behind nbdfuse, a loop device and ext4",
        // Its file plugin goes through the page cache.
        Kind::Mapped(Mapped { cached: true, ..Mapped::new(open, |_, _| HEADER) }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if !machine.has("nbdkit") {
        return Availability::without("there is no program nbdkit", remedy("nbdkit"));
    }
    if !machine.has(DAEMON) {
        return Availability::without("there is no program nbdfuse", "apt install libnbd-bin");
    }
    if let Some(lacking) = machine.lacks_fuse().or_else(|| machine.lacks_disks()) {
        return lacking;
    }
    // `nbdkit 1.32.5`
    let said = run("nbdkit", ["--version"]).unwrap_or_default();
    Availability::Available(said.split(' ').nth(1).unwrap_or("of unknown version").to_owned())
}

/// What cryptsetup calls a cipher in XTS, and the bytes of its two keys: `aes-xts-plain64` and 64.
fn their_cipher(cipher: &str) -> (String, usize) {
    let mut parts = cipher.split('-');
    let name = parts.next().unwrap_or_default();
    let bits: usize = parts.next().and_then(|bits| bits.parse().ok()).unwrap_or(256);
    (format!("{name}-xts-plain64"), 2 * bits / 8)
}

/// Puts the header of a volume over the beginning of `path`, which is filled at random.
fn format(path: &Path, cipher: &str, secret: &[u8], tier: Tier) -> Result<(), SystemError> {
    let device =
        FileDevice::open(path, IoMode::Buffered, false).map_err(SystemError::io("open", path))?;
    let credentials =
        Credentials { passphrase: Secret::new(secret.to_vec()), ..Credentials::default() };
    let failed = |e: &dyn std::error::Error| SystemError::Target {
        path: path.to_owned(),
        problem: format!("no volume can be made in it: {}", chain(e)),
    };
    let (encryption, key_bytes) = their_cipher(cipher);
    let resources = Resources::new(tier, Effort::new(tier, 1));
    let mut options = CreateOptions::new(Version::Luks1, resources).map_err(|e| failed(&e))?;
    options.encryption = &encryption;
    options.key_bytes = key_bytes;
    if let Derivation::Pbkdf2 { iterations, .. } = &mut options.derivation {
        *iterations = ITERATIONS;
    }
    luks::create(&device, &credentials, &options).map_err(|e| failed(&e))
}

/// Serves the container, as a volume if there is a cipher.
fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let (cipher, container) = (volume.arm.cipher, &volume.container.path);
    if let (Some(cipher), true) = (cipher, volume.is_new) {
        format(container, cipher, volume.secret, volume.tier)?;
    }
    let (file, daemon) = daemon::serve_file(stack, DAEMON, |at| {
        let invocation = Invocation::new(DAEMON).args([at]).args(serve(cipher.is_some()));
        // A path may hold what nbdkit takes for a parameter; behind `file=` it does not.
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

/// How nbdfuse starts the server, up to the name of the container. The passphrase comes through the standard
/// input, which is a pipe; a server whose client has gone ends.
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
        let settings = [("surface".to_owned(), vec!["device".to_owned()])].into();
        let ciphers = vec!["aes-256-xts".to_owned(), "aes-128-xts".to_owned()];
        assert_eq!(
            ids(&Selection { settings, ciphers, ..Selection::default() }),
            [
                "nbdkit-luks/null/surface=device",
                "nbdkit-luks/aes-256-xts/surface=device",
                "nbdkit-luks/aes-128-xts/surface=device"
            ]
        );
    }

    #[test]
    fn ciphers_have_their_names_and_keys() {
        assert_eq!(their_cipher("aes-128-xts"), ("aes-xts-plain64".to_owned(), 32));
        assert_eq!(their_cipher("serpent-256-xts"), ("serpent-xts-plain64".to_owned(), 64));
    }

    #[test]
    fn no_secret_is_among_the_words() {
        let words = serve(true).join(" ");
        assert_eq!(words, "[ nbdkit --exit-with-parent --filter=luks file passphrase=+/dev/stdin");
        assert_eq!(serve(false).join(" "), "[ nbdkit --exit-with-parent file");
    }
}
