//! Shows on a terminal that the confined process is still working, if this takes longer than a second.

use std::fs::File;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::progress;

/// Shorter work needs no sign of progress.
const SHORT: Duration = Duration::from_secs(1);

/// Longer than any process runs.
const NEVER: Duration = Duration::from_secs(1 << 30);

/// A wait for the confined process.
pub(super) struct Patience {
    since: Instant,
    /// The file that grows during the work, and its maximum size in bytes.
    grows: Option<(File, u64)>,
    bar: Option<ProgressBar>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { since: Instant::now(), grows: None, bar: None }
    }
}

impl Patience {
    /// For work that prints its own progress.
    pub(super) fn unending() -> Self {
        Self { since: Instant::now() + NEVER, ..Self::default() }
    }

    /// For work that fills a file up to about `most` bytes.
    pub(super) fn until(file: &File, most: u64) -> Self {
        let regular = file.metadata().is_ok_and(|found| found.is_file());
        let grows = file.try_clone().ok().filter(|_| regular).map(|file| (file, most));
        Self { since: Instant::now(), grows, bar: None }
    }

    /// Shows the progress of the work, if the work has taken long enough.
    pub(super) fn look(&mut self) {
        if self.since.elapsed() < SHORT {
            return;
        }
        let grows = self.grows.as_ref();
        let bar = self.bar.get_or_insert_with(|| bar(grows.map(|(_, most)| *most)));
        let done = grows.and_then(|(file, _)| file.metadata().ok()).map(|found| found.len());
        match done {
            Some(done @ 1..) => bar.set_position(done),
            _ => bar.tick(),
        }
    }
}

fn bar(most: Option<u64>) -> ProgressBar {
    match most {
        Some(most) => progress::of_bytes(most),
        None => progress::bar(0, "{spinner} working, {elapsed} so far (Ctrl-C cancels)", 8),
    }
}
