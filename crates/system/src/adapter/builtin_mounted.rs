//! The built-in engine, mounted like `cryptbench volume mount`: a container, served as a ublk device or through
//! FUSE and a loop device, and ext4 on that device.
//!
//! No header is written, because the measurement covers only an open volume. The null layer is the same path
//! without a cipher.

use std::path::Path;
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent, FileDevice, IoMode};
use cryptbench_catalog as catalog;
use cryptbench_cipher::Tier;
use cryptbench_volume::{Access, Mapping, Volume, VolumeInfo};
use serde::{Deserialize, Serialize};

use super::builtin::{Keyed, kernel_of, keyed_by_name, offered, random_key};
use crate::kind::mapped::{FILE_SYSTEM, Mapped, check_file_system};
use crate::kind::place::ON;
use crate::kind::served::Served;
use crate::machine::Machine;
use crate::resource::container::Container;
use crate::settings::{choices, identifier, in_words};
use crate::system::{Kind, System};
use crate::transport::{self, TRANSPORT, Transport};
use crate::{ArmSpec, Availability, Features, Selection, SystemError, served_volume};

/// Ciphers in this process behind a separate file system.
pub(crate) static BUILTIN_MOUNTED: System = System {
    has_our_ciphers: true,
    settings: &[FILE_SYSTEM, ON, TRANSPORT],
    availability,
    arms,
    kernel_tier: kernel_of,
    ..System::new(
        &catalog::BUILTIN_MOUNTED,
        Kind::Mapped(Mapped {
            overhead: |_, _| 0,
            spare: |_| 0,
            secret: random_key,
            cached: false,
            parameters: |_| Vec::new(),
            turned_out: |arm, disk| disk.served?.turned_out(arm),
            open: |volume, stack| {
                let plain = Headerless::of(volume.arm, volume.container);
                served_volume::as_disk(stack, &plain, volume, Transport::of(volume.arm))
            },
        }),
    )
};

/// The arms for each chosen location and file system, each with its null layer.
fn arms(
    system: &System,
    selection: &Selection,
    features: &Features,
) -> Result<Vec<ArmSpec>, SystemError> {
    let mut arms = Vec::new();
    // Identifiers contain the settings only if the user specified a setting.
    let is_asked = system.settings.iter().any(|s| selection.settings.contains_key(s.name));
    for values in choices(system, selection) {
        check_file_system(system.name, &values, features)?;
        transport::check(system.name, &values, features)?;
        let mut these = offered(system, "mounted ", selection)?;
        for arm in these.iter_mut().filter(|_| is_asked) {
            arm.id = identifier(system, &values).replacen(system.name, &arm.id, 1);
            if values[FILE_SYSTEM.name] != FILE_SYSTEM.values[0] {
                arm.label.push_str(", NTFS");
            }
            if values[ON.name] != ON.values[0] {
                arm.label.push_str(&format!(", on a {}", values[ON.name]));
            }
            arm.settings = in_words(&values);
            arm.label.push_str(Transport::of(arm).in_label());
        }
        arms.extend(these);
    }
    Ok(arms)
}

fn availability(_: &System, machine: &Machine) -> Availability {
    if !machine.root {
        return Availability::without("loop devices and mounts require root", "run as root");
    }
    for (node, remedy) in [
        ("/dev/fuse", "load the fuse module (modprobe fuse)"),
        ("/dev/loop-control", "load the loop module (modprobe loop)"),
    ] {
        if !Path::new(node).exists() {
            return Availability::without(format!("{node} does not exist"), remedy);
        }
    }
    match machine.missing(&["losetup", "mount", "mkfs.ext4"]) {
        Some(program) => Availability::without(
            format!("{program} is not installed"),
            "install the packages mount, util-linux and e2fsprogs",
        ),
        None => Availability::Available(env!("CARGO_PKG_VERSION").to_owned()),
    }
}

/// The mounted built-in engine as a file without a file system. It needs neither root nor a loop device.
pub(crate) static BUILTIN_RAW: System = System {
    has_our_ciphers: true,
    // As root, `builtin-mounted` is used instead, because it includes the file system that users have.
    in_all: false,
    availability: |_, machine| {
        let version = || Availability::Available(env!("CARGO_PKG_VERSION").to_owned());
        machine.lacks_fuse().unwrap_or_else(version)
    },
    arms: |system, selection, _| offered(system, "raw mount ", selection),
    kernel_tier: kernel_of,
    ..System::new(
        &catalog::BUILTIN_RAW,
        Kind::Served(Served { secret: random_key, open: plaintext }),
    )
};

/// The plaintext device of a container without a header.
fn plaintext(
    arm: &ArmSpec,
    key: &[u8],
    container: &Container,
    tier: Tier,
) -> Result<Arc<dyn BlockDevice>, SystemError> {
    let path = &container.path;
    let device =
        FileDevice::open(path, container.mode, false).map_err(SystemError::io("open", path))?;
    Headerless::of(arm, container).over(device, key, tier)
}

/// How a container without a header is encrypted, and how it is read and written.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Headerless {
    cipher: Option<String>,
    data_unit: Option<u32>,
    len: u64,
    direct: bool,
}

impl Headerless {
    fn of(arm: &ArmSpec, container: &Container) -> Self {
        Self {
            cipher: arm.cipher.map(str::to_owned),
            data_unit: arm.data_unit,
            len: container.len,
            direct: container.mode == IoMode::Direct,
        }
    }

    pub(crate) fn mode(&self) -> IoMode {
        if self.direct { IoMode::Direct } else { IoMode::Buffered }
    }

    /// Its plaintext.
    pub(crate) fn over(
        &self,
        device: FileDevice,
        key: &[u8],
        tier: Tier,
    ) -> Result<Arc<dyn BlockDevice>, SystemError> {
        let cipher = self.cipher.as_deref();
        let Keyed { cipher: keyed, first_tweak, tweak_step } =
            keyed_by_name(cipher, self.data_unit, key, tier)?;
        let info = VolumeInfo {
            format: "none",
            cipher: cipher.unwrap_or("none").to_owned(),
            kernel: keyed.tier(),
            key_bytes: 0,
            derivation: "none".to_owned(),
            data_unit: keyed.data_unit(),
            size: self.len,
            data_offset: 0,
            details: Vec::new(),
        };
        let mapping = Mapping {
            data: Extent { offset: 0, len: self.len },
            cipher: keyed,
            first_tweak,
            tweak_step,
            protected: None,
        };
        Ok(Arc::new(Volume::new(Arc::new(device), mapping, Access::ReadWrite, info)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_says_where_it_lies_if_that_is_not_usual() {
        let on = ["container", "partition"].map(str::to_owned).into();
        let selection = Selection {
            data_units: vec![512],
            settings: [(ON.name.to_owned(), on)].into(),
            ..Selection::default()
        };
        let arms = BUILTIN_MOUNTED.arms(&selection).unwrap();
        let ids: Vec<_> = arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "builtin-mounted/null",
                "builtin-mounted/aes-256-xts/512",
                "builtin-mounted/null/on=partition",
                "builtin-mounted/aes-256-xts/512/on=partition",
            ]
        );
        assert!(arms[3].label.ends_with(", on a partition"));
        assert_eq!(
            (&*arms[1].settings["on"], &*arms[3].settings["on"]),
            ("container", "partition")
        );
        let usual = BUILTIN_MOUNTED.arms(&Selection::default()).unwrap();
        assert!(usual.iter().all(|arm| arm.settings.is_empty()), "nobody asked");
        let null = crate::null_layer_of(&arms[3], &arms).unwrap();
        assert_eq!(null.id, ids[2], "the same path");
    }

    #[test]
    fn a_way_that_was_chosen_is_named_and_one_that_the_kernel_lacks_is_refused() {
        let set = ["ublk", "fuse"].map(str::to_owned).into();
        let settings = [(TRANSPORT.name.to_owned(), set)].into();
        let selection = Selection { data_units: vec![512], settings, ..Selection::default() };
        let found = arms(&BUILTIN_MOUNTED, &selection, &Features::default()).unwrap();
        let ids: Vec<_> = found.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "builtin-mounted/null/transport=ublk",
                "builtin-mounted/aes-256-xts/512/transport=ublk",
                "builtin-mounted/null/transport=fuse",
                "builtin-mounted/aes-256-xts/512/transport=fuse",
            ]
        );
        assert!(found[3].label.ends_with(", /dev/fuse"), "{}", found[3].label);
        assert_eq!(Transport::of(&found[1]), Transport::Ublk);
        assert_eq!(Transport::Ublk.turned_out(&found[1]), None, "as it was asked to be");
        let turned =
            Transport::Uring.turned_out(&ArmSpec { settings: [].into(), ..found[1].clone() });
        assert_eq!(turned.unwrap().settings[TRANSPORT.name], "io-uring");
        let machine = Machine {
            root: true,
            ublk: "/nowhere/ublk-control".into(),
            modules: "/nowhere".into(),
            ..Machine::this()
        };
        let refused = arms(&BUILTIN_MOUNTED, &selection, &Features::of(&machine));
        insta::assert_snapshot!(refused.unwrap_err(), @"builtin-mounted with transport=ublk is not available here: this kernel has no ublk: no /nowhere/ublk-control and no module ublk_drv; run Linux 6.5 or later with CONFIG_BLK_DEV_UBLK, or use transport=auto");
    }
}
