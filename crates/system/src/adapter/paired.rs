//! Encrypted storage that the user prepared with any program: an encrypted location and a plain one, each
//! measured as it is.
//!
//! BestCrypt, FreeOTFE, a self-encrypting drive, a phone's storage over a cable: cryptbench needs only a path.

use std::collections::BTreeMap;

use cryptbench_catalog as catalog;

use crate::provision::zfs_driver;
use crate::system::{Attachment, Kind, Role, System, Target};
use crate::{ArmSpec, Availability};

/// The encrypted locations among those that the user specified.
pub(crate) static PAIRED: System = System {
    availability: |_, _| {
        Availability::without(
            "locations that you prepared are measured only if you specify them",
            "cryptbench run --pair PLAIN ENCRYPTED... (all directories or all devices)",
        )
    },
    // Only ZFS reports its encryption; the settings describe the location.
    kernel_tier: |arm, _| {
        let of = |name: &str| arm.settings.get(name).map(String::as_str);
        of("source").filter(|_| of("filesystem") == Some("zfs")).and_then(zfs_driver)
    },
    ..System::new(&catalog::PAIRED, Kind::InPlace(Attachment::Mounted))
};

/// The arm for encrypted location `number` at `path`, labelled `name`. `id` distinguishes it from other
/// locations of the run; `None` if there are no others.
pub fn paired_arm(number: usize, id: Option<&str>, name: &str, path: &str) -> ArmSpec {
    let id = id.map_or_else(|| PAIRED.name.to_owned(), |id| format!("{}/{id}", PAIRED.name));
    ArmSpec {
        target: Target::Encrypted(number),
        settings: BTreeMap::from([("path", path.to_owned())]),
        ..PAIRED.arm(id, name, Role::Encrypted)
    }
}
