//! A library preloaded into the program. The first time that a confined process flushes its data, the library tries
//! everything that this process must not be able to do, and writes down the kernel's answers.
//!
//! The test compiles this file separately, as a C library without a crate.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

#[cfg(target_arch = "x86_64")]
const FDATASYNC: c_long = 75;
#[cfg(target_arch = "aarch64")]
const FDATASYNC: c_long = 83;
/// The same on every architecture.
const IO_URING_SETUP: c_long = 425;

const GET_SECCOMP: c_int = 21;
const UNIX: c_int = 1;
const STREAM: c_int = 1;
const TRACEME: c_int = 0;
const EXECUTABLE: c_int = 4;
const PRIVATE_AND_ANONYMOUS: c_int = 0x22;
const NEW_AND_APPENDED_TO: c_int = 0o100 | 0o2001;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn write(file: c_int, bytes: *const c_void, len: usize) -> isize;
    fn close(file: c_int) -> c_int;
    fn prctl(what: c_int, ...) -> c_int;
    fn fork() -> c_int;
    fn _exit(code: c_int) -> !;
    fn waitpid(process: c_int, status: *mut c_int, flags: c_int) -> c_int;
    fn execve(path: *const c_char, args: *const *const c_char, env: *const *const c_char) -> c_int;
    fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn connect(socket: c_int, address: *const c_void, len: c_uint) -> c_int;
    fn ptrace(request: c_int, ...) -> c_long;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn getppid() -> c_int;
    fn setuid(user: c_uint) -> c_int;
    fn mkdir(path: *const c_char, mode: c_uint) -> c_int;
    fn mmap(at: *mut c_void, len: usize, may: c_int, how: c_int, file: c_int, from: c_long)
    -> *mut c_void;
}

/// The file for the answers. It is opened when the program starts, because nothing can be opened later.
static ANSWERS: AtomicI32 = AtomicI32::new(-1);
/// Whether to try in an unconfined process, in which everything must succeed.
static ANYWHERE: AtomicBool = AtomicBool::new(false);

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;

extern "C" fn at_start() {
    // SAFETY: names that end in a zero; the environment does not change meanwhile.
    unsafe {
        let path = getenv(c"CRYPTBENCH_TEST_ANSWERS".as_ptr());
        if !path.is_null() {
            ANSWERS.store(open(path, NEW_AND_APPENDED_TO, 0o600 as c_int), Ordering::SeqCst);
        }
        let anywhere = !getenv(c"CRYPTBENCH_TEST_ANYWHERE".as_ptr()).is_null();
        ANYWHERE.store(anywhere, Ordering::SeqCst);
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = at_end;

/// A process that never flushed anything tries at its end.
extern "C" fn at_end() {
    // SAFETY: this only queries a number.
    let confined = unsafe { prctl(GET_SECCOMP, 0, 0, 0, 0) } != 0;
    if confined && !ONCE.swap(true, Ordering::SeqCst) {
        try_all();
    }
}

static ONCE: AtomicBool = AtomicBool::new(false);

/// Replaces the function of the C library: tries everything on the first call.
///
/// # Safety
///
/// Those of fdatasync(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: this only queries a number. Without a filter the answer is 0; with one there may be an error.
    let confined = unsafe { prctl(GET_SECCOMP, 0, 0, 0, 0) } != 0;
    if (confined || ANYWHERE.load(Ordering::SeqCst)) && !ONCE.swap(true, Ordering::SeqCst) {
        try_all();
    }
    // SAFETY: the caller's own argument.
    unsafe { syscall(FDATASYNC, file) as c_int }
}

fn try_all() {
    // SAFETY: the arguments are those that the manual pages require, and a child process exits immediately.
    unsafe {
        answer("open", open(c"/etc/passwd".as_ptr(), 0).into());
        answer("mkdir", mkdir(c"/tmp/cryptbench-must-not-be".as_ptr(), 0o700).into());
        let child = fork();
        if child == 0 {
            _exit(0);
        }
        answer("fork", child.into());
        if child > 0 {
            waitpid(child, std::ptr::null_mut(), 0);
        }
        let nothing = [std::ptr::null()];
        // A missing file results in error 2, unless executing is refused first.
        answer("exec", execve(c"/nowhere".as_ptr(), nothing.as_ptr(), nothing.as_ptr()).into());
        let stream = socket(UNIX, STREAM, 0);
        answer("socket", stream.into());
        // On a file that is not a socket, the error would be 88.
        let address = [1_u8, 0, b'/', b'x', 0];
        answer("connect", connect(2, address.as_ptr().cast(), 5).into());
        answer("ptrace", ptrace(TRACEME, 0, 0, 0));
        answer("kill", kill(getppid(), 0).into());
        answer("setuid", setuid(0).into());
        let code = mmap(std::ptr::null_mut(), 4096, EXECUTABLE, PRIVATE_AND_ANONYMOUS, -1, 0);
        answer("executable memory", if code as isize == -1 { -1 } else { 0 });
        let ring = [0_u8; 256];
        answer("io_uring", syscall(IO_URING_SETUP, 1 as c_uint, ring.as_ptr()));
    }
    close_answers();
}

/// Writes down the call and its error number, 0 if it succeeded.
fn answer(call: &str, result: c_long) {
    // SAFETY: the C library's location of `errno`.
    let error = if result < 0 { unsafe { *__errno_location() } } else { 0 };
    let line = CString::new(format!("{call}: {error}\n")).unwrap_or_default();
    put(&line);
}

fn put(line: &CStr) {
    // SAFETY: the bytes are there.
    unsafe { write(ANSWERS.load(Ordering::SeqCst), line.as_ptr().cast(), line.count_bytes()) };
}

fn close_answers() {
    put(c"done\n");
    // SAFETY: nothing else uses the descriptor.
    unsafe { close(ANSWERS.swap(-1, Ordering::SeqCst)) };
}
