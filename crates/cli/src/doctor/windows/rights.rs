//! This user's permissions on Windows.

use cryptbench_catalog::Manager;
use cryptbench_os::user::is_root;

use crate::doctor::diagnosis::Finding;

pub fn look(_manager: Option<Manager>) -> Vec<Finding> {
    vec![user(is_root())]
}

fn user(administrator: bool) -> Finding {
    match administrator {
        true => Finding::ok("user", "administrator: Windows reports all details of the disk"),
        false => Finding::ok(
            "user",
            "not administrator: directories can be measured, but Windows does not report BitLocker's method or the filter \
             drivers on the volume",
        )
        .remedy("to see these, run cryptbench doctor as administrator"),
    }
}
