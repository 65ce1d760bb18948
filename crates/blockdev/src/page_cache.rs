//! The share of a file that is in the page cache.

use std::fs::File;
use std::ops::Range;

use crate::system;

/// The share, 0 to 1, of `range` of `file` that is in the page cache, counted in whole pages.
///
/// The query does not change the cache. `None` if the kernel does not report the share: before Linux 6.5, on other
/// systems, under a seccomp filter that does not permit the call, for a file that this process neither owns nor may
/// write, and for huge pages. Also `None` for an empty range.
pub fn cached_share(file: &File, range: Range<u64>) -> Option<f64> {
    if range.is_empty() {
        return None;
    }
    let page = system::page_size() as u64;
    let pages = (range.end - 1) / page - range.start / page + 1;
    Some(system::cached_pages(file, range)? as f64 / pages as f64)
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_written_is_cached_until_it_is_dropped() {
        use std::io::Write as _;

        use rustix::fs::{Advice, fadvise};

        use super::cached_share;

        const HALF: u64 = 512 << 10;
        const TMPFS: u64 = 0x0102_1994;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; HALF as usize]).unwrap();
        file.set_len(2 * HALF).unwrap();
        let share = |range| cached_share(&file, range);
        if share(0..HALF).is_none() {
            eprintln!("SKIPPED: this kernel has no cachestat(2)");
            return;
        }
        assert_eq!(share(0..HALF), Some(1.0));
        assert_eq!(share(HALF..2 * HALF), Some(0.0));
        assert_eq!(share(0..2 * HALF), Some(0.5));
        // Single bytes on both sides of the end of a page.
        assert_eq!(share(HALF - 1..HALF + 1), Some(0.5));
        assert_eq!(share(HALF..HALF), None);
        if rustix::fs::fstatfs(&file).unwrap().f_type as u64 == TMPFS {
            eprintln!("SKIPPED: files on tmpfs cannot be dropped from memory");
            return;
        }
        file.sync_data().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        assert_eq!(share(0..HALF), Some(0.0));
    }
}
