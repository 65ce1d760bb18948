//! Pages of memory: huge ones, and such as are neither swapped out nor dumped.

use std::ops::Range;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};

use crate::AlignedBuf;

const READ_AND_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// So many zeroed bytes, at least 1, in new pages.
pub(crate) fn pages(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping, at an address of the kernel's choice, touches nothing that exists.
    let start =
        unsafe { mmap_anonymous(std::ptr::null_mut(), len, READ_AND_WRITE, MapFlags::PRIVATE) };
    NonNull::new(start.ok()?.cast())
}

/// So many zeroed bytes, a multiple of [`AlignedBuf::HUGE_PAGE`] and aligned to it, on huge pages if the kernel grants them.
pub(crate) fn huge_pages(whole: usize) -> Option<NonNull<u8>> {
    let reserved = whole.checked_add(AlignedBuf::HUGE_PAGE)?;
    let start = pages(reserved)?.as_ptr();
    let before = start.align_offset(AlignedBuf::HUGE_PAGE);
    let ptr = start.wrapping_add(before.min(reserved));
    // SAFETY: both ends of the mapping just made, outside the `whole` bytes from `ptr`; nothing refers
    // to them. A failure leaves address space reserved and no memory.
    unsafe {
        if before > 0 {
            let _ = munmap(start.cast(), before);
        }
        let after = reserved - before - whole;
        if after > 0 {
            let _ = munmap(ptr.wrapping_add(whole).cast(), after);
        }
    }
    // SAFETY: the range is this mapping, and the advice changes no content. Refused, pages are small.
    let _ = unsafe { madvise(ptr.cast(), whole, Advice::LinuxHugepage) };
    // Zero already; this brings the pages in, in order and now, so that no request has to.
    // SAFETY: `whole` bytes from `ptr` are mapped for writing and not yet shared.
    unsafe { ptr.write_bytes(0, whole) };
    NonNull::new(ptr)
}

/// Gives back what [`pages`] or [`huge_pages`] made.
///
/// # Safety
/// One of them made these `len` bytes, nobody gave them back, and nobody uses them any more.
pub(crate) unsafe fn give_back(start: NonNull<u8>, len: usize) {
    // SAFETY: as the caller says.
    let _ = unsafe { munmap(start.as_ptr().cast(), len) };
}

/// Keeps pages from swap for as long as they are mapped; whether it could be done.
pub(crate) fn lock(start: *const u8, len: usize) -> bool {
    // SAFETY: locking changes no memory, and the kernel refuses what is not mapped.
    unsafe { mlock(start.cast_mut().cast(), len) }.is_ok()
}

/// Leaves what [`pages`] made out of core dumps and of child processes, where the kernel can.
pub(crate) fn keep_to_this_process(start: NonNull<u8>, len: usize) {
    for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork] {
        // SAFETY: the range is a mapping of its own. A child process lacks it: only one that runs another program is made.
        let _ = unsafe { madvise(start.as_ptr().cast(), len, advice) };
    }
}

/// Bytes on huge pages of all mappings that have a part of these addresses (`/proc/self/smaps`).
pub(crate) fn on_huge_pages(addresses: Range<usize>) -> usize {
    let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else { return 0 };
    let mut inside = false;
    let mut kib: usize = 0;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        let range = first.split_once('-').and_then(|(low, high)| {
            let parse = |s| usize::from_str_radix(s, 16).ok();
            Some((parse(low)?, parse(high)?))
        });
        match (range, words.next()) {
            (Some((low, high)), _) => inside = low < addresses.end && addresses.start < high,
            (None, Some(value)) if inside && first == "AnonHugePages:" => {
                kib += value.parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    kib << 10
}

/// Bytes.
pub(crate) fn page_size() -> usize {
    rustix::param::page_size()
}
