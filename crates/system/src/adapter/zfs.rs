//! ZFS with native encryption: a pool of its own on a loop device for each arm, with and without encryption.
//!
//! Pools are created by zpool(8), not in the cache file, so they are not imported after a restart. The passphrase
//! reaches the programs through a pipe. The pool's first dataset has no mount point of its own; mount(8) mounts it in a
//! private directory.

use std::path::Path;
use std::time::Duration;

use cryptbench_catalog::{self as catalog, Remedy};
use zeroize::Zeroizing;

use crate::command::Invocation;
use crate::kind::mapped::mapping_name;
use crate::kind::stacked::{Laid, Stacked};
use crate::machine::Machine;
use crate::prepared::{CONTAINER, Shown, WriteBack};
use crate::provision::{secret, zfs_code};
use crate::resource::{ResourceStack, container, loop_device, mount, zfs_pool};
use crate::settings::{self, CIPHER, Choice};
use crate::system::{Kind, Role, Setting, System};
use crate::{
    ArmContext, ArmSpec, Availability, Backing, Content, Features, Random, Selection, SystemError,
};

const CIPHERS: Setting = Setting {
    name: CIPHER,
    about: "property encryption: AES in GCM or CCM, with a MAC for each record",
    values: &["aes-256-gcm", "aes-256-ccm", "aes-128-gcm"],
};

const RECORD_SIZE: Setting = Setting {
    name: "record-size",
    about: "property recordsize: smaller requests read and encrypt a whole record",
    values: &["128KiB", "16KiB", "4KiB"],
};

/// Before OpenZFS 2.3 the ARC caches direct I/O as well, so by default it caches no file data.
const CACHE: Setting = Setting {
    name: "cache",
    about: "property primarycache: what the ARC caches; `all` includes the content of files",
    values: &["metadata", "all"],
};

const MIB: u64 = 1 << 20;

/// Bytes of a small pool that are not available to files: half of the pool, but at most this many
/// (module/zfs/spa_misc.c, `spa_min_slop`).
const SLOP: u64 = 128 * MIB;

/// Creating or importing a pool takes seconds, or minutes on a slow disk.
const LIMIT: Duration = Duration::from_secs(300);

/// OpenZFS, a pool with and without `encryption`.
pub(crate) static ZFS: System = System {
    settings: &[CIPHERS, RECORD_SIZE, CACHE],
    availability,
    arms,
    kernel_tier: |arm, _| zfs_code(arm.cipher?),
    ..System::new(&catalog::ZFS, Kind::Stacked(Stacked::Kernel { create, footprint }))
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if !machine.kernel_has("zfs") {
        return match machine.has_module("zfs") {
            true => Availability::without("the module zfs is not loaded", "modprobe zfs"),
            false => Availability::without(
                "this kernel has no ZFS (not in /proc/filesystems, and no module)",
                Remedy::packages_of(catalog::ZFS.packages)
                    .then(" and this kernel's headers, then modprobe zfs"),
            ),
        };
    }
    if let Some(lacking) = machine.lacks_loop_devices() {
        return lacking;
    }
    match machine.missing(&["zpool", "zfs", "losetup", "mount"]) {
        Some(program) => {
            Availability::without(format!("{program} is not installed"), Remedy::program(program))
        }
        None => Availability::Available(format!("OpenZFS {}", machine.version_of("zfs"))),
    }
}

fn arms(system: &System, selection: &Selection, _: &Features) -> Result<Vec<ArmSpec>, SystemError> {
    let mut arms = Vec::<ArmSpec>::new();
    for choice in settings::choices(system, selection) {
        let plain: Choice =
            choice.iter().filter(|(name, _)| **name != CIPHER).map(|(n, v)| (*n, *v)).collect();
        let mut null = settings::arm(system, "ZFS without encryption", Role::NullLayer, &plain);
        null.id = null.id.replacen(system.name, &format!("{}/null", system.name), 1);
        if !arms.iter().any(|arm| arm.id == null.id) {
            arms.push(null);
        }
        arms.push(ArmSpec {
            cipher: Some(choice[CIPHER]),
            ..settings::arm(system, "ZFS", Role::Encrypted, &choice)
        });
    }
    Ok(arms)
}

/// Bytes of a pool for a scratch file of `len` bytes and `files` bytes of new files. Overwritten data needs space twice
/// until it is written, and a full pool becomes slow.
fn pool_size(len: u64, files: u64) -> u64 {
    let room = len.clamp(64 * MIB, 512 * MIB).max(files + files / 4);
    (len + len / 4 + room + SLOP).next_multiple_of(MIB)
}

fn footprint(len: u64, _free: u64) -> u64 {
    pool_size(len, 0)
}

fn create(
    system: &System,
    arm: &ArmSpec,
    context: &ArmContext<'_>,
    stack: &mut ResourceStack,
) -> Result<Laid, SystemError> {
    let file = context.path_for(arm, CONTAINER);
    let len = pool_size(context.scratch.extent.len, context.room);
    container::create(stack, &file, len, context)?;
    let name = mapping_name(context.run_id);
    let key = arm.cipher.map(|_| secret::line(secret::passphrase().as_bytes()));
    let makes = creation(arm.cipher, &settings::of_arm(system, arm));
    let (mut is_new, pool, at) = (true, name.clone(), file.clone());
    let open = move |stack: &mut ResourceStack| {
        let device = loop_device::create(stack, &at, false)?;
        zfs_pool::create(stack, &pool, &at, || match std::mem::take(&mut is_new) {
            true => {
                let words = makes.iter().map(AsRef::as_ref);
                let words = words.chain([pool.as_ref(), device.as_os_str()]);
                with_key(Invocation::new("zpool").args(words), key.as_ref())
            }
            false => import(&pool, &device, key.as_ref()),
        })?;
        let directory = mount::mount_stacked(stack, "zfs", Path::new(&pool), "rw,nosuid,nodev")?;
        Ok(Shown { directory, device: None, daemons: Vec::new() })
    };
    let content = vec![Content::Path(file.clone())];
    let backing = Backing { content, tree: None, random: Random::Untold, beside: None };
    let write_back: Option<WriteBack> = Some(Box::new(move || zfs_pool::sync(&name)));
    Ok(Laid { backing, stored: Some(file), cached: true, open: Box::new(open), write_back })
}

/// The arguments of zpool(8) to create a pool, up to its name.
fn creation(cipher: Option<&str>, choice: &Choice) -> Vec<String> {
    let mut words: Vec<String> =
        ["create", "-o", "ashift=12", "-o", "cachefile=none", "-m", "legacy"]
            .map(Into::into)
            .into();
    let kib = choice[RECORD_SIZE.name].trim_end_matches("iB");
    let mut properties = vec![
        "compression=off".to_owned(),
        "atime=off".to_owned(),
        format!("recordsize={kib}"),
        format!("primarycache={}", choice[CACHE.name]),
    ];
    if let Some(cipher) = cipher {
        properties.push(format!("encryption={cipher}"));
        properties.extend(["keyformat=passphrase", "keylocation=prompt"].map(Into::into));
    }
    words.extend(properties.into_iter().flat_map(|property| ["-O".to_owned(), property]));
    words
}

/// Imports the pool on `device`, and loads the key of its dataset.
fn import(pool: &str, device: &Path, key: Option<&Zeroizing<Vec<u8>>>) -> Result<(), SystemError> {
    let words = ["import", "-N", "-o", "cachefile=none", "-d"].map(AsRef::as_ref);
    let words = words.into_iter().chain([device.as_os_str(), pool.as_ref()]);
    Invocation::new("zpool").args(words).run(&Machine::this(), LIMIT)?;
    match key {
        Some(_) => with_key(Invocation::new("zfs").args(["load-key", pool]), key),
        None => Ok(()),
    }
}

/// Runs a program that reads the passphrase from its standard input.
fn with_key(program: Invocation, key: Option<&Zeroizing<Vec<u8>>>) -> Result<(), SystemError> {
    let program = match key {
        Some(key) => program.input(key.clone()),
        None => program,
    };
    program.run(&Machine::this(), LIMIT).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_record_size_and_cache_has_its_own_pass_through() {
        let settings =
            [("cipher", &["aes-256-gcm", "aes-256-ccm"][..]), ("record-size", &["128KiB", "4KiB"])];
        let settings = settings.map(|(name, values)| {
            (name.to_owned(), values.iter().map(ToString::to_string).collect())
        });
        let arms =
            ZFS.arms(&Selection { settings: settings.into(), ..Selection::default() }).unwrap();
        let told: Vec<_> = arms.iter().map(|arm| format!("{}: {}", arm.id, arm.label)).collect();
        insta::assert_snapshot!(told.join("\n"), @"
            zfs/null: ZFS without encryption
            zfs/aes-256-gcm: ZFS aes-256-gcm
            zfs/null/record-size=4KiB: ZFS without encryption, record-size 4KiB
            zfs/aes-256-gcm/record-size=4KiB: ZFS aes-256-gcm, record-size 4KiB
            zfs/aes-256-ccm: ZFS aes-256-ccm
            zfs/aes-256-ccm/record-size=4KiB: ZFS aes-256-ccm, record-size 4KiB
            ");
        for arm in arms.iter().filter(|arm| arm.cipher.is_some()) {
            let null = crate::null_layer_of(arm, &arms).unwrap();
            assert_eq!(null.settings["record-size"], arm.settings["record-size"], "{}", arm.id);
        }
    }

    #[test]
    fn a_pool_is_created_with_what_was_chosen_and_no_secret() {
        let choice = Choice::from([
            ("cipher", "aes-256-gcm"),
            ("record-size", "16KiB"),
            ("cache", "metadata"),
        ]);
        let plain = creation(None, &choice).join(" ");
        let encrypted = creation(Some("aes-256-gcm"), &choice).join(" ");
        let rest = encrypted.strip_prefix(&plain).unwrap();
        insta::assert_snapshot!([&plain, rest.trim_start()].join("\n"), @"
            create -o ashift=12 -o cachefile=none -m legacy -O compression=off -O atime=off -O recordsize=16K -O primarycache=metadata
            -O encryption=aes-256-gcm -O keyformat=passphrase -O keylocation=prompt
            ");
    }

    #[test]
    fn a_small_pool_has_space_beyond_what_zfs_keeps() {
        for len in [MIB, 64 * MIB, 1 << 30, 64 << 30] {
            let size = pool_size(len, 10 * MIB);
            assert!(size - SLOP >= len + len / 4 + 10 * MIB && size.is_multiple_of(MIB));
            assert!(footprint(len, 0) <= size);
        }
    }

    #[test]
    fn availability_says_what_is_missing() {
        let lists = tempfile::tempdir().unwrap();
        let file_systems = lists.path().join("filesystems");
        fs::write(&file_systems, "nodev\tsysfs\n\text4\n").unwrap();
        let mut machine = Machine { file_systems, ..Machine::this() };
        machine.modules = lists.path().to_owned();
        let reason = |m: &Machine| match ZFS.availability_on(m) {
            Availability::Unavailable { reason, remedy } => format!("{reason}; {remedy}"),
            Availability::Available(version) => version,
        };
        let mut said = vec![reason(&machine)];
        fs::write(lists.path().join("modules.dep"), "updates/dkms/zfs.ko: updates/dkms/spl.ko\n")
            .unwrap();
        said.push(reason(&machine));
        fs::write(&machine.file_systems, "nodev\tzfs\n").unwrap();
        machine.root = false;
        said.push(reason(&machine));
        insta::assert_snapshot!(said.join("\n"), @"
            this kernel has no ZFS (not in /proc/filesystems, and no module); apt install zfs-dkms zfsutils-linux and this kernel's headers, then modprobe zfs
            the module zfs is not loaded; modprobe zfs
            loop devices and mounts require root; run as root
            ");
        machine.loaded = lists.path().to_owned();
        fs::create_dir(lists.path().join("zfs")).unwrap();
        fs::write(lists.path().join("zfs/version"), "2.1.11-1+deb12u1\n").unwrap();
        assert_eq!(machine.version_of("zfs"), "2.1.11-1+deb12u1");
    }
}
