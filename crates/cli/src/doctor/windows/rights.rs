//! This user's permissions on Windows.

use cryptbench_catalog::Manager;
use cryptbench_os::user::is_root;

use crate::doctor::diagnosis::Finding;

pub fn look(_manager: Option<Manager>) -> Vec<Finding> {
    vec![user(is_root())]
}

fn user(administrator: bool) -> Finding {
    match administrator {
        true => Finding::ok("user", "an administrator: Windows tells what it knows of the disk"),
        false => Finding::ok(
            "user",
            "no administrator: directories are measured; BitLocker's method and the filter drivers on the volume, Windows \
             does not tell",
        )
        .remedy("start cryptbench doctor as administrator, for those"),
    }
}
