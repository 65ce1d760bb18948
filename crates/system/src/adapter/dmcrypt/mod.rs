//! dm-crypt, the kernel's own disk encryption, through cryptsetup(8): LUKS2, LUKS1 and plain.
//!
//! A container file on the storage under measurement, a loop device over it, dm-crypt over that, ext4 over
//! that. Requests go to a scratch file in that file system, which makes the arms comparable with the
//! built-in engine as it is mounted; with `I/O target = device` they go to the mapped device itself, behind
//! the end of the file system. The null layers are the same stack with dm-linear, or with dm-crypt and a
//! cipher that changes nothing, in dm-crypt's place.

mod argv;
mod choice;
mod ciphers;

use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use cryptbench_text::chain;

use self::choice::{Choice, SETTINGS, Target};
use crate::command::run;
use crate::kind::mapped::{Disk, Mapped, Volume};
use crate::machine::Machine;
use crate::provision::secret::random_key;
use crate::resource::{ResourceStack, loop_device, mapping};
use crate::system::{Kind, System};
use crate::{Availability, SystemError};

/// Opening is made cheap; what takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Room for the header: 16 MiB in LUKS2, 2 MiB in LUKS1.
const HEADER: u64 = 16 << 20;

/// Kernel encryption through cryptsetup.
pub(crate) static DM_CRYPT: System = System {
    settings: SETTINGS,
    availability,
    arms: choice::arms,
    // The kernel's driver of the cipher, once it has been used since boot.
    kernel_tier: |arm, _| {
        let Target::Crypt(cipher) = Choice::of(arm).target else { return None };
        ciphers::driver(&fs::read_to_string("/proc/crypto").ok()?, cipher.kernel_name)
    },
    ..System::new(
        "dm-crypt",
        "LUKS2, LUKS1 and plain dm-crypt of the kernel, set up by cryptsetup on a loop device",
        Kind::Mapped(Mapped {
            secret: |arm| Ok(random_key(argv::secret_bytes(&Choice::of(arm)))),
            ..Mapped::new(open, |arm, mapped| overhead(&Choice::of(arm), mapped))
        }),
    )
};

fn availability(_: &System, machine: &Machine) -> Availability {
    // The kernel first: no package helps without it.
    machine.lacks_device_mapper().unwrap_or_else(|| {
        if !machine.has("cryptsetup") {
            return Availability::without(
                "there is no program cryptsetup",
                "apt install cryptsetup-bin",
            );
        }
        let said = run("cryptsetup", ["--version"]);
        Availability::Available(said.map_or_else(|e| chain(&e), |said| version(&said)))
    })
}

/// `2.6.1` of `cryptsetup 2.6.1 flags: UDEV BLKID`.
fn version(said: &str) -> String {
    said.split_whitespace().nth(1).unwrap_or(said).to_owned()
}

/// Bytes of the container that are not the mapped device's.
fn overhead(choice: &Choice, mapped: u64) -> u64 {
    let has_header = matches!(choice.target, Target::Crypt(_)) && choice.format != "plain";
    let header = if has_header { HEADER } else { 0 };
    let tags = match choice.integrity {
        "none" => 0,
        // 32 bytes for each sector, a journal of a hundredth (dm-integrity's default) but 64 MiB at most,
        // and a superblock; a sixteenth of that again for padding.
        _ => {
            let tags = mapped / u64::from(choice.sector) * 32;
            tags + (tags + mapped) / 64 + (8 << 20)
        }
    };
    header + tags
}

fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let (choice, name) = (Choice::of(volume.arm), volume.name);
    let device = loop_device::create(stack, &volume.container.path, false)?;
    let cryptsetup = |words| {
        let invocation = mapping::program("cryptsetup").args::<_, OsString>(words);
        invocation.input(volume.secret.clone()).run(&Machine::this(), LIMIT).map(drop)
    };
    if volume.is_new
        && let Some(words) = argv::format(&choice, &device)
    {
        cryptsetup(words)?;
    }
    // dm-integrity lies below dm-crypt, under cryptsetup's name for it.
    let below = (choice.integrity != "none").then(|| format!("{name}_dif"));
    let names: Vec<_> = below.into_iter().chain([name.to_owned()]).collect();
    let device = mapping::create(stack, &names, || match argv::open(&choice, &device, name) {
        Some(words) => cryptsetup(words),
        None => mapping::make_linear(name, &device),
    })?;
    Ok(Disk { unreadable: choice.integrity != "none", ..Disk::by_kernel(device) })
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
        assert!(remedy.contains("modprobe dm_mod"), "{remedy}");
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
