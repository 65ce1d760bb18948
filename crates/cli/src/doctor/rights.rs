//! What this user and this kernel allow: root, FUSE, loop devices, device mapper.

use cryptbench_os::user::is_root;
use cryptbench_system::{Availability, Facility};

use super::diagnosis::Finding;
use super::distribution::Family;
use super::packages::localised;

pub fn look(family: Option<Family>) -> Vec<Finding> {
    let mut findings = vec![user(is_root())];
    findings.extend(Facility::ALL.map(|facility| of(facility, family)));
    findings
}

fn user(root: bool) -> Finding {
    if root {
        return Finding::ok("user", "root: every system can be set up");
    }
    Finding::ok(
        "user",
        "not root: builtin and directories through FUSE are measured; loop devices, mounts and the \
         kernel's encryption are not, nor is a whole device",
    )
    .remedy("sudo cryptbench run, for those")
}

fn of(facility: Facility, family: Option<Family>) -> Finding {
    let (name, what_for) = match facility {
        Facility::Fuse => (
            "FUSE",
            "gocryptfs, EncFS, CryFS, securefs, bindfs, builtin-mounted, VeraCrypt, QEMU's and nbdkit's LUKS",
        ),
        Facility::LoopDevices => ("loop devices", "containers with a file system of their own"),
        Facility::DeviceMapper => (
            "device mapper",
            "dm-crypt, TrueCrypt, VeraCrypt on the kernel, BitLocker, FileVault 2",
        ),
    };
    match facility.availability() {
        Availability::Available(words) => Finding::ok(name, words),
        Availability::Unavailable { reason, remedy } => {
            Finding::lacking(name, format!("{reason}; needed for {what_for}"))
                .remedy(localised(&remedy, family))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::user;

    #[test]
    fn what_root_changes_is_said() {
        assert!(user(true).remedy.is_none());
        assert!(user(false).says.contains("not root") && user(false).remedy.is_some());
    }
}
