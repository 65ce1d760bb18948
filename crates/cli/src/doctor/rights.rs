//! The permissions of this user and the facilities of this kernel: root, FUSE, loop devices, device mapper.

use cryptbench_catalog::{Facility, Manager};
use cryptbench_os::user::is_root;
use cryptbench_system::Availability;

use super::diagnosis::Finding;

pub fn look(manager: Option<Manager>) -> Vec<Finding> {
    let mut findings = vec![user(is_root())];
    findings.extend(Facility::ALL.map(|facility| of(facility, manager)));
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

fn of(facility: Facility, manager: Option<Manager>) -> Finding {
    let (name, what_for) = match facility {
        Facility::Fuse => ("FUSE", facility.needed_for()),
        Facility::LoopDevices => {
            ("loop devices", "containers with a file system of their own".to_owned())
        }
        Facility::DeviceMapper => ("device mapper", facility.needed_for()),
    };
    match cryptbench_system::facility(facility) {
        Availability::Available(words) => Finding::ok(name, words),
        Availability::Unavailable { reason, remedy } => {
            Finding::lacking(name, format!("{reason}; needed for {what_for}"))
                .remedy(remedy.told(manager))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_root_changes_is_said() {
        assert!(user(true).remedy.is_none());
        let Finding { says, remedy, .. } = user(false);
        insta::assert_snapshot!(format!("{says}; {}", remedy.unwrap()), @"not root: builtin and directories through FUSE are measured; loop devices, mounts and the kernel's encryption are not, nor is a whole device; sudo cryptbench run, for those");
    }
}
