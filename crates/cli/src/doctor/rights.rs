//! The permissions of this user and the facilities of this kernel: root, FUSE, loop devices, device mapper.

use cryptbench_catalog::{Facility, Manager};
use cryptbench_os::user::is_root;
use cryptbench_system::Availability;

use super::diagnosis::{Finding, Lack};

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
        "not root: only builtin and FUSE directories can be measured; loop devices, mounts, kernel encryption \
         and whole devices need root",
    )
    .remedy("to measure these: sudo cryptbench run")
}

fn of(facility: Facility, manager: Option<Manager>) -> Finding {
    let (name, what_for) = match facility {
        Facility::Fuse => ("FUSE", facility.needed_for()),
        Facility::LoopDevices => {
            ("loop devices", "containers with their own file system".to_owned())
        }
        Facility::DeviceMapper => ("device mapper", facility.needed_for()),
    };
    match cryptbench_system::facility(facility) {
        Availability::Available(words) => Finding::ok(name, words),
        Availability::Unavailable { reason, remedy } => {
            let says = format!("{reason}; needed for {what_for}");
            Finding::without(name, says, Lack { reason, remedy, manager })
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
        insta::assert_snapshot!(format!("{says}; {}", remedy.unwrap()), @"not root: only builtin and FUSE directories can be measured; loop devices, mounts, kernel encryption and whole devices need root; to measure these: sudo cryptbench run");
    }
}
