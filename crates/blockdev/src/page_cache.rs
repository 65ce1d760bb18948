//! How much of a file lies in the page cache (cachestat(2), Linux 6.5).

use std::fs::File;
use std::ops::Range;

/// Share of the bytes `range` of `file` that lie in the page cache, 0 to 1, counted in whole pages.
///
/// Looking leaves the cache as it is. `None` where the kernel does not tell: before Linux 6.5, on
/// other systems, under a seccomp filter that does not know the call, of a file that this process neither
/// owns nor may write, of huge pages; and for an empty range.
pub fn cached_share(file: &File, range: Range<u64>) -> Option<f64> {
    if range.is_empty() {
        return None;
    }
    let page = rustix::param::page_size() as u64;
    let pages = (range.end - 1) / page - range.start / page + 1;
    Some(cached_pages(file, range)? as f64 / pages as f64)
}

/// Its number is 451 everywhere but on Alpha and MIPS (Linux, scripts/syscall.tbl).
#[cfg(all(
    target_os = "linux",
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "mips32r6"))
))]
fn cached_pages(file: &File, range: Range<u64>) -> Option<u64> {
    use std::os::fd::AsRawFd;

    const CACHESTAT: libc::c_long = 451;

    /// `struct cachestat_range` (Linux, include/uapi/linux/mman.h); a length of 0 would mean all.
    #[repr(C)]
    struct CachestatRange {
        offset: u64,
        len: u64,
    }

    /// `struct cachestat`, in pages.
    #[repr(C)]
    #[derive(Default)]
    struct Cachestat {
        cached: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }

    let asked = CachestatRange { offset: range.start, len: range.end - range.start };
    let mut found = Cachestat::default();
    let flags: libc::c_uint = 0;
    // SAFETY: the kernel reads `asked` and writes `found`, both laid out as its ABI says and alive during
    // the call, and nothing else; the descriptor is open as long as `file` is borrowed.
    let result = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const asked, &raw mut found, flags)
    };
    (result == 0).then_some(found.cached)
}

#[cfg(not(all(
    target_os = "linux",
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "mips32r6"))
)))]
fn cached_pages(_: &File, _: Range<u64>) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::fs::{Advice, fadvise};

    use super::*;

    const HALF: u64 = 512 << 10;

    #[test]
    fn what_was_written_is_cached_until_it_is_dropped() {
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
        const TMPFS: u64 = 0x0102_1994;
        if rustix::fs::fstatfs(&file).unwrap().f_type as u64 == TMPFS {
            eprintln!("SKIPPED: what lies on tmpfs cannot be dropped from memory");
            return;
        }
        file.sync_data().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        assert_eq!(share(0..HALF), Some(0.0));
    }
}
