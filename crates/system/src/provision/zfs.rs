//! What ZFS says of its own encryption, which the kernel's list of mounts does not.

use std::time::Duration;

use crate::command::Invocation;
use crate::machine::Machine;

/// The program answers from memory; what takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);

/// The cipher that `dataset` is encrypted with (zfsprops(7), `encryption`); `None` where it is not, or its program does not
/// tell.
#[must_use]
pub fn zfs_encryption(dataset: &str) -> Option<String> {
    let asked = Invocation::new("zfs").args(["get", "-H", "-o", "value", "encryption", dataset]);
    let said = asked.run(&Machine::this(), LIMIT).ok()?;
    let value = said.trim();
    (!matches!(value, "" | "off" | "-")).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_dataset_is_encrypted_if_its_program_names_a_cipher() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("zfs");
        let words = "#!/bin/sh\n[ \"$*\" = \"get -H -o value encryption $WANTED\" ] || exit 1\n";
        let said = |dataset: &str, value: &str| {
            let text = words.replace("$WANTED", dataset) + &format!("echo '{value}'\n");
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
            Machine::pretend(Some(Machine { path: place.path().into(), ..Machine::this() }));
            let found = zfs_encryption("tank/home");
            Machine::pretend(None);
            found
        };
        assert_eq!(said("tank/home", "aes-256-gcm").as_deref(), Some("aes-256-gcm"));
        assert_eq!((said("tank/home", "off"), said("tank/home", "-")), (None, None));
        assert_eq!(said("tank/other", "aes-256-gcm"), None, "the program failed");
    }
}
