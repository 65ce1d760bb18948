//! Every cipher tells of all the memory that holds its keys: an allocator that counts knows what it really took.

use std::alloc::{GlobalAlloc, Layout as Allocation, System};
use std::cell::RefCell;

use cryptbench_cipher::{
    Layout, LegacyCipher, SectorCipher, Tier, dm_crypt, dm_crypt_ciphers, dm_crypt_key_bytes,
    legacy_ciphers,
};

thread_local! {
    /// What this thread has allocated and not given back since it began to count: address and length.
    static LIVE: RefCell<Option<Vec<(usize, usize)>>> = const { RefCell::new(None) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Changes the list, unless it is being changed: what the list itself allocates does not count.
fn note(change: impl FnOnce(&mut Vec<(usize, usize)>)) {
    let _ = LIVE.try_with(|live| {
        if let Ok(mut live) = live.try_borrow_mut()
            && let Some(live) = live.as_mut()
        {
            change(live);
        }
    });
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Allocation) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        let memory = unsafe { System.alloc(layout) };
        note(|live| live.push((memory as usize, layout.size())));
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Allocation) {
        note(|live| live.retain(|(at, _)| *at != memory as usize));
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What `make` leaves allocated.
fn allocated<T>(make: impl FnOnce() -> T) -> (T, Vec<(usize, usize)>) {
    LIVE.set(Some(Vec::with_capacity(1000)));
    let made = make();
    (made, LIVE.take().unwrap_or_default())
}

/// Bytes beside keys that an allocation may have: reference counts, a layout, pointers, a name.
const BESIDE: usize = 128;

fn check(cipher: &dyn SectorCipher, live: &[(usize, usize)], name: &str) {
    let mut told: Vec<(usize, usize)> = Vec::new();
    cipher.visit_keys(&mut |at, len| told.push((at as usize, len)));
    assert!(told.iter().map(|(_, len)| len).sum::<usize>() >= 64, "{name}: {told:?}");
    for (at, len) in live {
        let covered = (*at..at + len)
            .filter(|byte| told.iter().any(|(start, len)| (*start..start + len).contains(byte)));
        let hidden = len - covered.count();
        assert!(hidden <= BESIDE, "{name}: {hidden} of {len} bytes are told of nowhere");
    }
}

/// Of all modes one for each type inside.
const MODES: [&str; 18] = [
    "ecb",
    "cbc-plain",
    "cbc-essiv:sha256",
    "cbc-eboiv",
    "xts-eboiv",
    "lrw-eboiv",
    "cbc-elephant",
    "lrw-benbi",
    "lrw-essiv:sha256",
    "xts-plain",
    "xts-plain64",
    "xts-plain64be",
    "xts-essiv:sha256",
    "cbc-lmk",
    "ctr-plain64",
    "pcbc-essiv:sha256",
    "hctr2-plain64",
    "adiantum-plain64",
];

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn ciphers_tell_of_all_their_keys() {
    let key: Vec<u8> = (0..=255).map(|i| i ^ 0x5a).collect();
    let mut checked = 0;
    let mut run = |name: String, make: &dyn Fn() -> Box<dyn SectorCipher>| {
        // Once before: what is kept for the life of the process is there then.
        drop(make());
        let (cipher, live) = allocated(make);
        check(&*cipher, &live, &name);
        checked += 1;
    };
    for tier in Tier::available() {
        for spec in cryptbench_cipher::ciphers() {
            let key = &key[..spec.key_bytes];
            let make = || spec.with_key(key, Layout::SECTOR_512, tier).unwrap();
            run(format!("{} on {tier}", spec.name), &make);
        }
        for name in dm_crypt_ciphers().chain(["aes:2"]) {
            for mode in MODES {
                let Ok(lengths) = dm_crypt_key_bytes(name, mode) else { continue };
                // `cipher_null` has no key.
                let Some(length) = lengths.last() else { continue };
                let key = &key[..*length];
                let make = || dm_crypt(name, mode, key, Layout::SECTOR_512, tier).unwrap();
                run(format!("{name}-{mode} on {tier}"), &make);
            }
        }
        for spec in legacy_ciphers() {
            let (keys, iv_key) = (&key[..spec.key_bytes], &key[..LegacyCipher::IV_KEY_BYTES]);
            let make = || spec.with_key(keys, iv_key, tier).unwrap();
            run(format!("{} {:?} on {tier}", spec.name, spec.mode), &make);
        }
    }
    assert!(checked > 50, "{checked}");
}
