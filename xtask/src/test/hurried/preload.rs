//! A library preloaded into programs whose key derivation takes seconds on purpose, which reduces that to milliseconds.
//!
//! The harness compiles this file by itself, as a C library without a crate.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// Factor by which a thread's clock runs faster for programs that count iterations against it.
const FASTER: c_long = 500;

/// Linux's number for the clock that measures a thread's own CPU time.
const THREAD_TIME: c_int = 3;

/// glibc's handle for the next library in the search order.
const ANYWHERE: *mut c_void = std::ptr::null_mut();

const PAGE: usize = 4096;

/// mprotect(2)'s flags.
const READ: c_int = 1;
const WRITE: c_int = 2;

#[repr(C)]
struct Time {
    seconds: c_long,
    /// Nanoseconds or microseconds.
    parts: c_long,
}

#[repr(C)]
pub struct Usage {
    user: Time,
    system: Time,
    others: [c_long; 14],
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
    fn mprotect(from: *mut c_void, len: usize, flags: c_int) -> c_int;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// qemu-img counts the iterations of PBKDF2 that a thread can do in half a second
/// (`qcrypto_pbkdf2_count_iters()`). Whatever is requested, this returns the time of the calling thread,
/// multiplied by [`FASTER`].
///
/// # Safety
///
/// As for getrusage(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrusage(_: c_int, usage: *mut Usage) -> c_int {
    let mut time = Time { seconds: 0, parts: 0 };
    // SAFETY: the kernel writes the time to this variable.
    if unsafe { clock_gettime(THREAD_TIME, &raw mut time) } != 0 {
        return -1;
    }
    let micros = (time.seconds * 1_000_000 + time.parts / 1000) * FASTER;
    let user = Time { seconds: micros / 1_000_000, parts: micros % 1_000_000 };
    let none = Time { seconds: 0, parts: 0 };
    // SAFETY: the caller provides this memory for the result.
    unsafe { usage.write(Usage { user, system: none, others: [0; 14] }) };
    0
}

/// CryFS's scrypt settings: a gigabyte for ten seconds, or almost nothing for its own tests.
const USUAL: &CStr = c"_ZN8cpputils6SCrypt15DefaultSettingsE";
const OF_TESTS: &CStr = c"_ZN8cpputils6SCrypt12TestSettingsE";

/// Length of a salt, N, r and p (scrypt(7)).
type Settings = [u64; 4];

/// Runs before `main` of the program.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE: extern "C" fn() = hurry_cryfs;

/// Replaces CryFS's settings in memory with the settings of its tests. Other programs do not have these settings.
extern "C" fn hurry_cryfs() {
    // SAFETY: these are the program's own constants, which no code has read yet; their pages also belong to the
    // program.
    unsafe {
        let usual = dlsym(ANYWHERE, USUAL.as_ptr()).cast::<Settings>();
        let of_tests = dlsym(ANYWHERE, OF_TESTS.as_ptr()).cast::<Settings>();
        if usual.is_null() || of_tests.is_null() {
            return;
        }
        let begins = usual as usize / PAGE * PAGE;
        let len = usual as usize + size_of::<Settings>() - begins;
        if mprotect(begins as *mut c_void, len, READ | WRITE) == 0 {
            usual.write(of_tests.read());
        }
    }
}
