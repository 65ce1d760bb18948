//! Memory for secrets: locked against swapping if the system allows it, excluded from core dumps,
//! and wiped.
//!
//! An unprivileged user may lock only a little memory (64 KiB on older systems). Short secrets therefore share pages,
//! and long secrets get separate pages.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use zeroize::Zeroize as _;

use crate::system;

/// Size of a slot in a shared page, in bytes.
const PLACE: usize = 512;
/// Size of a shared page, in bytes. On systems with larger pages the rest of the page is unused.
const SHARED: usize = 4096;
/// Slots in a shared page.
const PLACES: u32 = (SHARED / PLACE) as u32;

/// Pages with slots for short secrets. The pages remain allocated until the process exits.
static PAGES: Mutex<Vec<Page>> = Mutex::new(Vec::new());

/// Whether locking has failed for any secret.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Whether the system refused to lock a secret in memory: the limit on locked memory (`ulimit -l`)
/// is too low.
pub fn locking_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Locks the pages at `start` in memory for as long as they are mapped, including other data on these pages.
pub fn lock_in_place(start: *const u8, len: usize) {
    if len > 0 && !system::lock(start, len) {
        FAILED.store(true, Ordering::Relaxed);
    }
}

/// A page that is shared by short secrets.
struct Page {
    start: NonNull<u8>,
    /// One bit for each slot; set if the slot is in use.
    taken: u32,
}

// SAFETY: the page is plain memory of this process, and only a thread that holds the list's lock assigns its slots.
unsafe impl Send for Page {}

/// Bytes that are kept out of swap and core dumps, and wiped when dropped.
#[derive(Default)]
pub struct LockedBytes {
    len: usize,
    home: Home,
}

/// The location of the bytes.
#[derive(Clone, Copy, Default)]
enum Home {
    /// Nowhere: there are no bytes.
    #[default]
    None,
    /// The bytes are in a slot of a shared page.
    Place(NonNull<u8>),
    /// The bytes are in a mapping of this size.
    Mapping(NonNull<u8>, usize),
}

impl LockedBytes {
    /// Allocates `len` zeros. The memory is usable even if it cannot be locked; [`locking_failed`] reports this
    /// failure.
    pub fn zeroed(len: usize) -> Self {
        Self::with(len, true)
    }

    /// Like [`zeroed`](Self::zeroed), for large secrets that exist only briefly: a failure to lock such secrets is not
    /// reported.
    pub fn brief(len: usize) -> Self {
        Self::with(len, false)
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut copy = Self::zeroed(bytes.len());
        copy.copy_from_slice(bytes);
        copy
    }

    /// Changes the length: truncates, or appends zeros.
    pub fn resize(&mut self, len: usize) {
        if len <= self.len {
            self[len..].zeroize();
            self.len = len;
            return;
        }
        let mut longer = Self::zeroed(len);
        longer[..self.len].copy_from_slice(self);
        *self = longer;
    }

    fn with(len: usize, tell: bool) -> Self {
        let home = match len {
            0 => Home::None,
            1..=PLACE => Home::Place(take_place()),
            _ => {
                let whole = len.next_multiple_of(SHARED);
                Home::Mapping(map(whole, tell), whole)
            }
        };
        Self { len, home }
    }

    fn start(&self) -> NonNull<u8> {
        match self.home {
            Home::None => NonNull::dangling(),
            Home::Place(start) | Home::Mapping(start, _) => start,
        }
    }
}

/// Maps zeroed pages and locks them if possible.
fn map(len: usize, tell: bool) -> NonNull<u8> {
    // Handled like any failed allocation.
    let start = system::pages(len).unwrap_or_else(|| {
        std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; SHARED]>())
    });
    if !system::lock(start.as_ptr(), len) && tell {
        FAILED.store(true, Ordering::Relaxed);
    }
    system::keep_to_this_process(start, len);
    start
}

fn take_place() -> NonNull<u8> {
    let mut pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let free = pages.iter().position(|page| page.taken.count_ones() < PLACES);
    let index = free.unwrap_or_else(|| {
        pages.push(Page { start: map(SHARED, true), taken: 0 });
        pages.len() - 1
    });
    let page = &mut pages[index];
    let place = page.taken.trailing_ones();
    page.taken |= 1 << place;
    // SAFETY: the page contains that slot.
    unsafe { page.start.add(place as usize * PLACE) }
}

fn give_back(place: NonNull<u8>) {
    let mut pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    for page in pages.iter_mut() {
        let offset = place.addr().get().wrapping_sub(page.start.addr().get());
        if offset < SHARED {
            page.taken &= !(1 << (offset / PLACE));
        }
    }
}

impl Deref for LockedBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory has `len` initialised bytes that belong only to this value.
        unsafe { std::slice::from_raw_parts(self.start().as_ptr(), self.len) }
    }
}

impl DerefMut for LockedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start().as_ptr(), self.len) }
    }
}

impl Drop for LockedBytes {
    fn drop(&mut self) {
        self.zeroize();
        match self.home {
            Home::None => {}
            Home::Place(place) => give_back(place),
            Home::Mapping(start, whole) => {
                // SAFETY: `with` got these bytes from `pages`, and only `self` owns them.
                unsafe { system::give_back(start, whole) };
            }
        }
    }
}

impl Clone for LockedBytes {
    fn clone(&self) -> Self {
        Self::copy_of(self)
    }
}

impl fmt::Debug for LockedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LockedBytes(..)")
    }
}

// SAFETY: uniquely owned plain memory.
unsafe impl Send for LockedBytes {}
// SAFETY: shared access only reads.
unsafe impl Sync for LockedBytes {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_zero_their_own_and_kept() {
        let lengths = [0, 1, 511, 512, 513, 4096, 4097, 100_000];
        let mut all: Vec<_> = lengths.repeat(5).into_iter().map(LockedBytes::zeroed).collect();
        for (number, bytes) in all.iter_mut().enumerate() {
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(number as u8 + 1);
        }
        for (number, bytes) in all.iter().enumerate() {
            assert_eq!(bytes.len(), lengths[number % lengths.len()]);
            assert!(bytes.iter().all(|byte| *byte == number as u8 + 1));
        }
        drop(all);
        // Returned memory is wiped.
        let again: Vec<_> = (0..40).map(|_| LockedBytes::zeroed(PLACE)).collect();
        assert!(again.iter().flat_map(|bytes| bytes.iter()).all(|byte| *byte == 0));
    }

    #[test]
    fn bytes_grow_and_shrink() {
        let mut bytes = LockedBytes::copy_of(b"secret");
        bytes.resize(3);
        bytes.resize(5);
        assert_eq!(bytes[..], *b"sec\0\0");
        bytes.resize(5000);
        assert_eq!((&bytes[..4], bytes.len()), (&b"sec\0"[..], 5000));
        assert_eq!(bytes.clone()[..], bytes[..]);
        assert_eq!(format!("{bytes:?}"), "LockedBytes(..)");
    }

    /// KiB of this process that are locked.
    fn locked_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
    }

    #[test]
    fn secrets_are_locked() {
        let short = LockedBytes::zeroed(32);
        let long = LockedBytes::zeroed(20_000);
        let boxed = Box::new([7u8; 10_000]);
        lock_in_place(boxed.as_ptr(), boxed.len());
        if locking_failed() {
            eprintln!("SKIPPED: no memory can be locked here");
            return;
        }
        // Windows counts no locked pages for the process.
        if cfg!(windows) {
            return;
        }
        // Five pages and one, and at least two of the box.
        assert!(locked_kib() >= 4 * (5 + 1 + 2), "{}", locked_kib());
        drop((short, long, boxed));
    }
}
