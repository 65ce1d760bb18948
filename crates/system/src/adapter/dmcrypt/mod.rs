//! dm-crypt, the kernel's own disk encryption, set up with cryptsetup(8): LUKS2, LUKS1 and plain.
//!
//! The stack consists of a container file on the measured storage, a loop device, dm-crypt and ext4. Requests
//! go to a scratch file in that file system, which makes the arms comparable with the mounted built-in engine.
//! With `I/O target = device` they go to the mapped device itself, after the end of the file system. The null
//! layers are the same stack with dm-linear instead of dm-crypt, or with a dm-crypt cipher that does not change
//! the data.

mod argv;
mod choice;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_catalog::{self as catalog, Remedy};
use cryptbench_os::Details;
use cryptbench_os::storage::{self, Tree};
use cryptbench_text::chain;

use self::choice::{Choice, PARAMETERS, SETTINGS, Target};
use crate::command::run;
use crate::kind::mapped::{Disk, Mapped, Volume};
use crate::kind::place;
use crate::machine::Machine;
use crate::provision::kernel_crypto::{self, Accepts};
use crate::provision::secret::random_key;
use crate::resource::{ResourceStack, mapping};
use crate::system::{Kind, System};
use crate::{Availability, SystemError};

/// Unlocking is configured to be cheap; a longer time means that cryptsetup hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Checksums are written once for the whole device, which takes a long time on a slow disk.
const WRITES_ALL: Duration = Duration::from_secs(3600);

/// Space for the header in bytes; LUKS2 needs 16 MiB, LUKS1 needs 2 MiB.
const HEADER: u64 = 16 << 20;

/// Kernel encryption through cryptsetup.
pub(crate) static DM_CRYPT: System = System {
    settings: SETTINGS,
    availability,
    arms: choice::arms,
    // The kernel's driver for the cipher, which is known only if the cipher has been used since boot.
    kernel_tier: |arm, _| {
        let Target::Crypt(cipher) = Choice::of(arm).target else { return None };
        // It is unknown whether the device or the block layer's fallback encrypts.
        if Choice::of(arm).inline {
            return None;
        }
        kernel_crypto::in_use(&[cipher.kernel_name], Accepts::Any)
    },
    ..System::new(
        &catalog::DM_CRYPT,
        Kind::Mapped(Mapped {
            secret: |arm| Ok(random_key(argv::secret_bytes(&Choice::of(arm)))),
            parameters: |arm| {
                let directory = Machine::this().dm_crypt;
                let sizes = PARAMETERS.into_iter().zip(Choice::of(arm).sizes);
                let set = sizes.filter(|(_, size)| *size != "default");
                set.map(|((_, file), size)| (directory.join(file), size.to_owned())).collect()
            },
            turned_out: |arm, disk| {
                let sector = attribute(&disk.device, "logical_block_size")?;
                choice::with_sector(&DM_CRYPT, arm, sector)
            },
            ..Mapped::new(open, |arm, mapped| overhead(&Choice::of(arm), mapped))
        }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    // The kernel is checked first, because installing a package does not help without kernel support.
    machine.lacks_device_mapper().unwrap_or_else(|| {
        // integritysetup is in the same package as cryptsetup.
        if !machine.has("cryptsetup") {
            let remedy = Remedy::program("cryptsetup");
            return Availability::without("cryptsetup is not installed", remedy);
        }
        let said = run("cryptsetup", ["--version"]);
        Availability::Available(said.map_or_else(|e| chain(&e), |said| version(&said)))
    })
}

/// Extracts `2.6.1` from `cryptsetup 2.6.1 flags: UDEV BLKID`.
fn version(said: &str) -> String {
    said.split_whitespace().nth(1).unwrap_or(said).to_owned()
}

/// Size of the container beyond that of the mapped device, in bytes.
fn overhead(choice: &Choice, mapped: u64) -> u64 {
    let has_header = matches!(choice.target, Target::Crypt(_)) && choice.format != "plain";
    let header = if has_header { HEADER } else { 0 };
    let tags = match choice.integrity {
        "none" => 0,
        // 32 bytes per sector, a journal of 1 % (dm-integrity's default) but at most 64 MiB, and a superblock;
        // then another sixteenth of that sum for padding.
        _ => {
            let tags = mapped / u64::from(choice.sector.unwrap_or(512)) * 32;
            tags + (tags + mapped) / 64 + (8 << 20)
        }
    };
    header + tags
}

fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let (mut choice, name) = (Choice::of(volume.arm), volume.name);
    let path = &volume.container.path;
    // If cryptsetup chooses the sector size, it uses the block size of the device. The device must therefore
    // have the same block size as the disk.
    let blocks = match (choice.sector, choice.target) {
        (None, Target::Crypt(_) | Target::CipherNull) => disk_blocks(path),
        _ => None,
    };
    let device = place::device(stack, path, blocks)?;
    if let (None, Target::CipherNull) = (choice.sector, choice.target) {
        // A null layer uses the sector size that cryptsetup would choose for the cipher (cryptsetup(8),
        // --sector-size).
        choice.sector = attribute(&device, "physical_block_size");
    }
    let cryptsetup = |words| {
        let invocation = mapping::program("cryptsetup").args::<_, OsString>(words);
        invocation.input(volume.secret.clone()).run(&Machine::this(), LIMIT).map(drop)
    };
    let device = match choice.integrity {
        "crc32c" => checksums(volume, &choice, &device, stack)?,
        _ => device,
    };
    if volume.is_new
        && let Some(words) = argv::format(&choice, &device)
    {
        cryptsetup(words)?;
    }
    // dm-integrity is the device under dm-crypt; cryptsetup chooses its name.
    let has_tags = !matches!(choice.integrity, "none" | "crc32c");
    let below = has_tags.then(|| format!("{name}_dif"));
    let names: Vec<_> = below.into_iter().chain([name.to_owned()]).collect();
    let device = mapping::create(stack, &names, || match argv::open(&choice, &device, name) {
        Some(words) => cryptsetup(words),
        None if choice.inline => {
            let sectors = mapping::sectors(&device)?;
            mapping::make(name, argv::inline_table(&choice, volume.secret, (&device, sectors)))
        }
        None => mapping::make_linear(name, &device),
    })?;
    Ok(Disk { unreadable: choice.integrity != "none", ..Disk::by_kernel(device) })
}

/// The dm-integrity device with checksums on `device`; LUKS2 is set up on it.
fn checksums(
    volume: &Volume<'_>,
    choice: &Choice,
    device: &Path,
    stack: &mut ResourceStack,
) -> Result<PathBuf, SystemError> {
    let integritysetup = |words| {
        let invocation = mapping::program("integritysetup").args::<_, OsString>(words);
        invocation.run(&Machine::this(), WRITES_ALL).map(drop)
    };
    if volume.is_new {
        integritysetup(argv::format_checksums(choice, device))?;
    }
    let name = format!("{}_int", volume.name);
    mapping::create(stack, std::slice::from_ref(&name), || {
        integritysetup(argv::open_checksums(choice, device, &name))
    })
}

/// A numeric attribute of a block device's request queue (`queue/NAME` in sysfs).
fn attribute(device: &Path, name: &str) -> Option<u32> {
    let number = Details::of(&fs::metadata(device).ok()?).device;
    Tree::this().of_number(number)?.disk().attribute(&format!("queue/{name}"))?.parse().ok()
}

/// Physical block size in bytes of the disk that contains `file`, if it is larger than 512.
fn disk_blocks(file: &Path) -> Option<u32> {
    let number = Details::of(&fs::metadata(file).ok()?).file_system;
    let mount = storage::mount_of(number, file)?;
    let disk = Tree::this().of_mount(number, &mount.source)?.disk();
    let bytes: u32 = disk.attribute("queue/physical_block_size")?.parse().ok()?;
    // Loop devices support block sizes up to the page size, and LUKS2 supports sectors up to 4096 bytes.
    (bytes > 512 && bytes.is_power_of_two()).then_some(bytes.min(4096))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;

    #[test]
    fn versions_are_read_from_what_cryptsetup_says() {
        assert_eq!(version("cryptsetup 2.6.1 flags: UDEV BLKID KEYRING"), "2.6.1");
        assert_eq!(version("?"), "?");
    }

    #[test]
    fn absence_of_device_mapper_is_told_with_its_remedy() {
        if mapping::in_kernel() {
            eprintln!("SKIPPED: this kernel has device mapper");
            return;
        }
        let Some(Availability::Unavailable { reason, remedy }) =
            Machine::this().lacks_device_mapper()
        else {
            panic!("available without device mapper")
        };
        assert!(reason.contains("no device mapper"), "{reason}");
        assert!(reason.contains("/dev/mapper/control"), "{reason}");
        assert!(remedy.to_string().contains("modprobe dm_mod"), "{remedy}");
        assert!(matches!(DM_CRYPT.availability(), Availability::Unavailable { .. }));
    }

    #[test]
    fn tags_and_headers_have_room() {
        let arms = DM_CRYPT.arms(&Selection::default()).unwrap();
        let luks = Choice::of(&arms[2]);
        let mapped = 100 << 20;
        assert_eq!(overhead(&luks, mapped), HEADER);
        assert_eq!(overhead(&Choice::of(&arms[0]), mapped), 0);
        let with_tags = overhead(&Choice { integrity: "hmac-sha256", ..luks }, mapped);
        assert!(with_tags > HEADER + mapped / 16, "{with_tags}");
    }
}
