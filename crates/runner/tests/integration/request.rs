//! The requests of these tests.

use std::path::Path;
use std::time::Duration;

use cryptbench_load::Profile;
use cryptbench_runner::{Consent, EngineChoice, Request, TargetRequest, UnlockSelection};
use cryptbench_system::Selection;

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
    Request {
        target: TargetRequest {
            path: path.to_owned(),
            consent: Consent::default(),
            only_read: false,
            pair: Vec::new(),
            emulate: None,
            size: Some(8 << 20),
            buffered: None,
        },
        profile: Profile::from_toml(PROFILE, "reads").unwrap(),
        selection: Selection::default(),
        unlock: UnlockSelection::default(),
        budget: Some(Duration::from_secs(60)),
        trials: Some(2),
        trial: Some(Duration::from_millis(20)),
        seed: Some(1),
        precision: None,
        max_pairs: 2,
        engine: EngineChoice::Auto,
        slices: true,
        verify: false,
        precondition: 0,
        resume: None,
    }
}
