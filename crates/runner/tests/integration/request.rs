//! The requests of these tests.

use std::path::Path;
use std::time::Duration;

use cryptbench_load::Profile;
use cryptbench_runner::Request;

const PROFILE: &str = r#"
name = "reads"
description = "Reads."

[[workload]]
id = "read"
label = "read"
operation = "read"
pattern = "random"
block_size = "64KiB"
queue_depth = 1
headline = "iops"
"#;

/// A few reads of 64 KiB in a scratch file of 8 MiB in the directory `path`.
pub fn request(path: &Path) -> Request {
    let mut request = Request::of(path, Profile::from_toml(PROFILE, "reads").unwrap());
    request.target.size = Some(8 << 20);
    Request {
        budget: Some(Duration::from_secs(60)),
        trials: Some(2),
        trial: Some(Duration::from_millis(20)),
        seed: Some(1),
        max_pairs: 2,
        ..request
    }
}
