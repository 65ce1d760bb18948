//! fscrypt: the kernel's own directory encryption in ext4, f2fs and other file systems.
//!
//! Policies are set with xfs_io(8): it supports every such file system and, unlike the program fscrypt(8), does
//! not keep state. The key reaches the kernel through a pipe (Linux, Documentation/filesystems/fscrypt.rst).
#![expect(clippy::disallowed_methods, reason = "files of a run, for now")]

use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cryptbench_catalog::{self as catalog, Remedy};
use cryptbench_text::chain;
use zeroize::Zeroizing;

use crate::command::run;
use crate::kind::mapped;
use crate::kind::stacked::{Laid, Stacked};
use crate::machine::Machine;
use crate::prepared::{Reopen, Shown};
use crate::provision::kernel_crypto::{self, Accepts};
use crate::provision::{filesystem, mountinfo, secret};
use crate::resource::{ResourceStack, WorkTree, container, key, loop_device, mount};
use crate::settings::{self, Choice};
use crate::system::{Kind, Role, Setting, System};
use crate::{
    ArmContext, ArmSpec, Availability, Backing, Content, Features, Random, Selected, Selection,
    SystemError,
};

const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "cipher for file contents; which ciphers are available depends on the kernel",
    values: &["aes-256-xts", "aes-128-cbc", "adiantum"],
};

const NAMES: Setting = Setting {
    name: "names",
    about: "cipher for file names; HCTR2 requires aes-256-xts",
    values: &["usual", "aes-256-hctr2"],
};

const ON: Setting = Setting {
    name: "on",
    about: "a separate ext4 file system on a loop device, or the target's own file system",
    values: &["container", "target"],
};

/// Size of a container beyond the scratch file in bytes: for ext4's own structures (journal, inode tables) and
/// for the files of workloads. The minimum applies to small scratch files.
const ROOM: RangeInclusive<u64> = (64 << 20)..=(512 << 20);

/// Size of a master key in bytes: the kernel's maximum.
const KEY: usize = 64;

/// The files in which the kernel reports that its ext4 and f2fs support encryption.
const FEATURES: [&str; 2] =
    ["/sys/fs/ext4/features/encryption", "/sys/fs/f2fs/features/encryption"];

/// Encryption modes for contents and names, as arguments for xfs_io(8) (fscrypt.rst, "Encryption modes and
/// usage": 10 is AES-256-HCTR2). `None` if the kernel does not support the combination.
fn modes(choice: &Choice) -> Option<(&'static str, &'static str)> {
    match (choice["cipher"], choice["names"]) {
        ("aes-256-xts", "aes-256-hctr2") => Some(("AES-256-XTS", "10")),
        (_, "aes-256-hctr2") => None,
        ("aes-128-cbc", _) => Some(("AES-128-CBC", "AES-128-CTS")),
        ("adiantum", _) => Some(("Adiantum", "Adiantum")),
        _ => Some(("AES-256-XTS", "AES-256-CTS")),
    }
}

/// The kernel's driver for file contents: the one logged at its first use, or otherwise the one that it would
/// use (fs/crypto/keysetup.c, `fscrypt_modes`).
fn driver(cipher: &str) -> Option<String> {
    let (mode, name) = match cipher {
        "aes-128-cbc" => ("AES-128-CBC-ESSIV", "essiv(cbc(aes),sha256)"),
        "adiantum" => ("Adiantum", "adiantum(xchacha12,aes)"),
        _ => ("AES-256-XTS", "xts(aes)"),
    };
    kernel_crypto::logged_by_fscrypt(mode)
        .or_else(|| kernel_crypto::in_use(&[name], Accepts::Synchronous))
}

/// Directories with an fscrypt policy.
pub(crate) static FSCRYPT: System = System {
    settings: &[CIPHERS, NAMES, ON],
    availability,
    arms,
    kernel_tier: |arm, _| driver(arm.cipher?),
    ..System::new(
        &catalog::FSCRYPT,
        Kind::Stacked(Stacked::Kernel { create, footprint: mapped::footprint }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if !FEATURES.iter().any(|feature| Path::new(feature).exists()) {
        return Availability::without(
            "neither this kernel's ext4 nor its f2fs supports encryption",
            "run a kernel with CONFIG_FS_ENCRYPTION",
        );
    }
    if let Some(lacking) = machine.lacks_loop_devices() {
        return lacking;
    }
    match machine.missing(&["xfs_io", "mkfs.ext4", "losetup", "mount"]) {
        Some(program) => {
            Availability::without(format!("{program} is not installed"), Remedy::program(program))
        }
        None => Availability::Available(format!(
            "of Linux {}",
            rustix::system::uname().release().to_string_lossy()
        )),
    }
}

fn arms(system: &System, selection: &Selection, _: &Features) -> Result<Vec<ArmSpec>, SystemError> {
    let choices: Vec<_> = settings::choices(system, selection)
        .into_iter()
        .filter(|choice| modes(choice).is_some())
        .collect();
    if choices.is_empty() {
        return Err(SystemError::NothingSelected {
            of: Selected::System,
            what: "names=aes-256-hctr2 with a cipher other than aes-256-xts".to_owned(),
            hint: "choose cipher=aes-256-xts".to_owned(),
        });
    }
    // On the target itself, the null layer is plain storage.
    let container = choices.iter().find(|choice| choice["on"] == "container");
    let null = container.map(|container| ArmSpec {
        settings: settings::in_words(container),
        ..system.arm("fscrypt/null", "ext4 in a container, not encrypted", Role::NullLayer)
    });
    let arm = |choice: &Choice| ArmSpec {
        cipher: Some(choice["cipher"]),
        ..settings::arm(system, "fscrypt", Role::Encrypted, choice)
    };
    Ok(null.into_iter().chain(choices.iter().map(arm)).collect())
}

fn create(
    system: &System,
    arm: &ArmSpec,
    context: &ArmContext<'_>,
    stack: &mut ResourceStack,
) -> Result<Laid, SystemError> {
    let choice = settings::of_arm(system, arm);
    let mut stored = None;
    if choice["on"] == "container" {
        let len = context.scratch.extent.len;
        let room = len.clamp(*ROOM.start(), *ROOM.end()).max(context.room + context.room / 16);
        let len = (len + len / 16 + room).next_multiple_of(1 << 20);
        let file = context.path_for(arm, "container");
        container::create(stack, &file, len, context)?;
        context.go_on()?;
        stored = Some(file);
    }
    let content = stored.iter().cloned().map(Content::Path).collect();
    let (open, tree): (Reopen, _) = match (arm.cipher, stored.clone()) {
        (None, Some(file)) => {
            let mut is_new = true;
            let open = move |stack: &mut ResourceStack| {
                let root = mount_container(stack, &file, std::mem::take(&mut is_new))?;
                Ok(shown(&root.join(FILES)))
            };
            (Box::new(open), None)
        }
        (_, stored) => {
            let root = match stored {
                Some(file) => mount_container(stack, &file, true)?,
                None => {
                    let what = WorkTree { path: context.path_for(arm, "store") };
                    stack.create(what.clone(), || what.make())?;
                    make_directory(&what.path)?;
                    what.path
                }
            };
            // Without the key, the file system of the container or of the target remains visible.
            let (directory, secret) = (root.join(FILES), secret::random_key(KEY));
            let (tree, mut is_new) = (directory.clone(), true);
            let open = move |stack: &mut ResourceStack| {
                match std::mem::take(&mut is_new) {
                    true => encrypt(stack, &root, &directory, &choice, &secret)?,
                    false => drop(key::add_to_file_system(stack, &root, secret.clone())?),
                }
                Ok(shown(&directory))
            };
            (Box::new(open), Some(tree))
        }
    };
    let backing = Backing { content, tree, random: Random::Untold, beside: None };
    // The kernel encrypts in the page cache even with direct I/O. Without encryption, direct I/O bypasses the
    // cache.
    Ok(Laid { backing, stored, cached: arm.cipher.is_some(), open, write_back: None })
}

/// The directory for files in the arm's own file system.
const FILES: &str = "files";

fn shown(directory: &Path) -> Shown {
    Shown { directory: directory.to_owned(), device: None, daemons: Vec::new() }
}

fn make_directory(root: &Path) -> Result<(), SystemError> {
    let directory = root.join(FILES);
    fs::create_dir(&directory).map_err(SystemError::io("create", &directory))
}

/// Mounts the ext4 file system of a container, and creates it if the container is new.
fn mount_container(
    stack: &mut ResourceStack,
    file: &Path,
    is_new: bool,
) -> Result<PathBuf, SystemError> {
    let device = loop_device::create(stack, file, false)?;
    if is_new {
        filesystem::make_settled_with(Some("encrypt"), &device)?;
    }
    let root = mount::mount(stack, &device, Some(file))?;
    if is_new {
        make_directory(&root)?;
    }
    Ok(root)
}

/// Sets a policy with a key on an empty directory.
fn encrypt(
    stack: &mut ResourceStack,
    root: &Path,
    directory: &Path,
    choice: &Choice,
    secret: &Zeroizing<Vec<u8>>,
) -> Result<(), SystemError> {
    let identifier = key::add_to_file_system(stack, root, secret.clone())
        .map_err(|e| if chain(&e).contains("not supported") { no_feature(root) } else { e })?;
    let (content, names) = modes(choice).expect("arms are made from modes that go together");
    // Flags 3: pads names to multiples of 32 bytes, as fscrypt(8) does.
    let policy = format!("set_encpolicy -v 2 -c {content} -n {names} -f 3 {identifier}");
    run("xfs_io", ["-c".as_ref(), policy.as_ref(), directory.as_os_str()])?;
    // The kernel loads its ciphers when the first file is created.
    let probe = directory.join("probe");
    match File::create_new(&probe) {
        Ok(_) => fs::remove_file(&probe).map_err(SystemError::io("remove", &probe)),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NOPKG.raw_os_error()) => {
            Err(SystemError::Unavailable {
                name: format!("fscrypt with {content} for contents and mode {names} for names"),
                reason: "this kernel lacks a cipher for it (see the kernel log)".to_owned(),
                remedy: "modprobe essiv, adiantum or hctr2, or choose cipher=aes-256-xts".into(),
            })
        }
        Err(e) => Err(SystemError::io("create", &probe)(e)),
    }
}

/// The error for a file system that supports encryption but does not have it enabled.
fn no_feature(path: &Path) -> SystemError {
    let device = fs::metadata(path).map(|m| m.dev()).ok();
    let mounts = mountinfo::mounts().unwrap_or_default();
    let entry = mounts.into_iter().rfind(|entry| Some(entry.device) == device);
    let (kind, source) =
        entry.map_or_else(Default::default, |entry| (entry.file_system, entry.source));
    let remedy = match kind.as_str() {
        "ext4" => format!("enable it with tune2fs -O encrypt {source}"),
        "f2fs" => "create it with mkfs.f2fs -O encrypt".to_owned(),
        "" => "use one that supports it (ext4, f2fs)".to_owned(),
        _ => format!("if {kind} does not support it, use ext4 or f2fs"),
    };
    SystemError::Target {
        path: PathBuf::from(path),
        problem: format!(
            "encryption is not enabled on its file system; {remedy}, or choose on=container"
        ),
    }
}
