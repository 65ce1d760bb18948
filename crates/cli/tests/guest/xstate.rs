//! A library preloaded into user-mode Linux so that it runs on CPUs with large registers.
//!
//! Before version 6.13, user-mode Linux keeps the extended registers of its processes in a buffer of fixed size,
//! which has no room for AMX's tiles. On CPUs that have these, the host's kernel rejects the short buffer with
//! EFAULT, and the guest panics when its first process starts: "ptrace set fp regs failed, errno = 14". This
//! `ptrace` adds the tiles to the buffer unchanged; no guest uses them.
//!
//! The test harness compiles this file separately, as a C library without a crate.

use std::ffi::{c_int, c_long, c_void};
use std::ptr::copy_nonoverlapping;

const PTRACE: c_long = 101;
/// The requests that return a word: PEEKTEXT, PEEKDATA and PEEKUSER.
const PEEKS: std::ops::RangeInclusive<c_long> = 1..=3;
const GETREGSET: c_long = 0x4204;
const SETREGSET: c_long = 0x4205;
const X86_XSTATE: usize = 0x202;
const BAD_ADDRESS: c_int = 14;

/// More than the registers of any CPU need: 10752 bytes with AMX.
const ROOM: usize = 64 << 10;

/// Not on the stack, because some callers have a stack of one page. Only the guest's single kernel thread uses it.
static mut WHOLE: [u8; ROOM] = [0; ROOM];

#[repr(C)]
struct Vector {
    base: *mut u8,
    len: usize,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
}

/// Replaces the function of the C library; it completes short sets of extended registers.
///
/// # Safety
///
/// Those of ptrace(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(
    request: c_long,
    process: c_int,
    address: usize,
    data: *mut c_void,
) -> c_long {
    if PEEKS.contains(&request) {
        let mut word: c_long = 0;
        // SAFETY: the kernel writes the word there.
        let result = unsafe { syscall(PTRACE, request, process, address, &raw mut word) };
        return if result < 0 { result } else { word };
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { syscall(PTRACE, request, process, address, data) };
    // SAFETY: the C library's location of `errno`.
    let refused = result == -1 && unsafe { *__errno_location() } == BAD_ADDRESS;
    if !refused || request != SETREGSET || address != X86_XSTATE {
        return result;
    }
    let mut vector = Vector { base: (&raw mut WHOLE).cast(), len: ROOM };
    let all = &raw mut vector;
    // SAFETY: the caller's `data` is a vector for this request, and the buffer is large enough for all registers.
    unsafe {
        if syscall(PTRACE, GETREGSET, process, X86_XSTATE, all) != 0 {
            return -1;
        }
        let short = &*data.cast::<Vector>();
        copy_nonoverlapping(short.base, (*all).base, short.len.min((*all).len));
        syscall(PTRACE, SETREGSET, process, X86_XSTATE, all)
    }
}
