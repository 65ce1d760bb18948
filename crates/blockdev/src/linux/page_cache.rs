//! Pages of a file in the page cache (cachestat(2), Linux 6.5).

use std::fs::File;
use std::ops::Range;

/// The system call's number is 451 on all architectures except Alpha and MIPS (Linux,
/// scripts/syscall.tbl).
#[cfg(not(any(target_arch = "mips", target_arch = "mips64", target_arch = "mips32r6")))]
pub(crate) fn cached_pages(file: &File, range: Range<u64>) -> Option<u64> {
    use std::os::fd::AsRawFd;

    const CACHESTAT: libc::c_long = 451;

    /// `struct cachestat_range` (Linux, include/uapi/linux/mman.h); a length of 0 means the whole
    /// file.
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
    // SAFETY: the kernel only reads `asked` and writes `found`. Both structures have the layout of the kernel's ABI and
    // outlive the call; the descriptor is open while `file` is borrowed.
    let result = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const asked, &raw mut found, flags)
    };
    (result == 0).then_some(found.cached)
}

#[cfg(any(target_arch = "mips", target_arch = "mips64", target_arch = "mips32r6"))]
pub(crate) fn cached_pages(_: &File, _: Range<u64>) -> Option<u64> {
    None
}
