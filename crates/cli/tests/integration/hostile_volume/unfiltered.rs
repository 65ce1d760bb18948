//! A library preloaded into the program. It hides the kernel's support for system call filters.
//!
//! The test compiles this file separately, as a C library without a crate.

use std::ffi::{c_int, c_long};

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn dlsym(from: usize, name: *const u8) -> usize;
}

#[cfg(target_arch = "x86_64")]
const SECCOMP: c_long = 317;
#[cfg(target_arch = "aarch64")]
const SECCOMP: c_long = 277;

const SET_SECCOMP: c_int = 22;
const INVALID: c_int = 22;

/// `RTLD_NEXT`.
const NEXT: usize = usize::MAX;

type Six = [c_long; 6];

fn unknown() {
    // SAFETY: the C library's location of `errno`.
    unsafe { *__errno_location() = INVALID };
}

/// # Safety
///
/// Those of syscall(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == SECCOMP {
        unknown();
        return -1;
    }
    type Call =
        unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;
    let [a, b, c, d, e, f]: Six = [a, b, c, d, e, f];
    // SAFETY: the C library's function, with the caller's arguments.
    unsafe {
        let next: Call = std::mem::transmute(dlsym(NEXT, c"syscall".as_ptr().cast()));
        next(number, a, b, c, d, e, f)
    }
}

/// # Safety
///
/// Those of prctl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(what: c_int, a: c_long, b: c_long, c: c_long, d: c_long) -> c_int {
    if what == SET_SECCOMP {
        unknown();
        return -1;
    }
    type Call = unsafe extern "C" fn(c_int, c_long, c_long, c_long, c_long) -> c_int;
    // SAFETY: the C library's function, with the caller's arguments.
    unsafe {
        let next: Call = std::mem::transmute(dlsym(NEXT, c"prctl".as_ptr().cast()));
        next(what, a, b, c, d)
    }
}
