//! The system calls that a confined process may make. A call that is missing here fails with `EPERM`.
//!
//! If a transport of `export` needs another call, add a line here. `strace -f` on the process that serves a volume
//! shows refused calls.

/// The condition for a call. Arguments are numbered from 0, and their lower 32 bits are compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Only {
    Always,
    /// The argument is one of these values.
    Values(u8, &'static [u64]),
    /// The argument is the PID of this process.
    OfThisProcess(u8),
    /// The argument has all of these bits.
    With(u8, u64),
    /// The argument has none of these bits.
    Without(u8, u64),
}

use Only::{Always, OfThisProcess, Values, With, Without};

/// Creates a new thread of this process, not a new process.
const THREAD: u64 = (libc::CLONE_THREAD | libc::CLONE_VM) as u64;

/// `PR_SET_VMA` of linux/prctl.h, with which the C library names regions of its memory.
const SET_VMA: u64 = 0x5356_4d41;

const EXECUTABLE: u64 = libc::PROT_EXEC as u64;

pub(super) const CALLS: &[(i64, Only)] = &[
    // Open files: the volume, the connection to the kernel, pipes and sockets. No file is opened by path.
    (libc::SYS_read, Always),
    (libc::SYS_readv, Always),
    (libc::SYS_pread64, Always),
    (libc::SYS_preadv, Always),
    (libc::SYS_preadv2, Always),
    (libc::SYS_write, Always),
    (libc::SYS_writev, Always),
    (libc::SYS_pwrite64, Always),
    (libc::SYS_pwritev, Always),
    (libc::SYS_pwritev2, Always),
    (libc::SYS_lseek, Always),
    (libc::SYS_fsync, Always),
    (libc::SYS_fdatasync, Always),
    (libc::SYS_fallocate, Always),
    (libc::SYS_fstat, Always),
    (libc::SYS_close, Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_dup2, Always),
    (libc::SYS_dup3, Always),
    (
        libc::SYS_fcntl,
        Values(
            1,
            &[
                libc::F_GETFD as u64,
                libc::F_GETFL as u64,
                libc::F_SETFL as u64,
                libc::F_DUPFD_CLOEXEC as u64,
            ],
        ),
    ),
    (libc::SYS_sendmsg, Always),
    (libc::SYS_recvmsg, Always),
    // Waiting.
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, Always),
    (libc::SYS_ppoll, Always),
    (libc::SYS_epoll_create1, Always),
    (libc::SYS_epoll_ctl, Always),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_epoll_wait, Always),
    (libc::SYS_epoll_pwait, Always),
    (libc::SYS_eventfd2, Always),
    (libc::SYS_nanosleep, Always),
    (libc::SYS_clock_nanosleep, Always),
    (libc::SYS_clock_gettime, Always),
    (libc::SYS_restart_syscall, Always),
    // Memory, none of it executable.
    (libc::SYS_mmap, Without(2, EXECUTABLE)),
    (libc::SYS_mprotect, Without(2, EXECUTABLE)),
    (libc::SYS_munmap, Always),
    (libc::SYS_mremap, Always),
    (libc::SYS_madvise, Always),
    (libc::SYS_brk, Always),
    (libc::SYS_mlock, Always),
    (libc::SYS_mlock2, Always),
    (libc::SYS_munlock, Always),
    (libc::SYS_mlockall, Always),
    (libc::SYS_getrandom, Always),
    // Threads of its own.
    (libc::SYS_clone, With(0, THREAD)),
    (libc::SYS_clone3, Always), // Another filter makes it fail as unknown.
    (libc::SYS_futex, Always),
    (libc::SYS_set_robust_list, Always),
    (libc::SYS_rseq, Always),
    (libc::SYS_sched_yield, Always),
    (libc::SYS_sched_getaffinity, Always),
    (libc::SYS_gettid, Always),
    (
        libc::SYS_prctl,
        Values(0, &[libc::PR_SET_NAME as u64, SET_VMA, libc::PR_SET_NO_NEW_PRIVS as u64]),
    ),
    (libc::SYS_exit, Always),
    // The process itself: signals and exit.
    (libc::SYS_getpid, Always),
    (libc::SYS_getuid, Always),
    (libc::SYS_geteuid, Always),
    (libc::SYS_getgid, Always),
    (libc::SYS_getegid, Always),
    (libc::SYS_rt_sigaction, Always),
    (libc::SYS_rt_sigprocmask, Always),
    (libc::SYS_rt_sigreturn, Always),
    (libc::SYS_sigaltstack, Always),
    (libc::SYS_tgkill, OfThisProcess(0)),
    (libc::SYS_exit_group, Always),
];

/// Incoming connections.
pub(super) const FOR_SOCKETS: &[(i64, Only)] = &[
    (libc::SYS_accept4, Always),
    (libc::SYS_recvfrom, Always),
    (libc::SYS_sendto, Always),
    (libc::SYS_shutdown, Always),
    (libc::SYS_setsockopt, Always),
    (libc::SYS_getsockopt, Always),
];

/// Use of io_uring rings that already exist.
pub(super) const FOR_RINGS: &[(i64, Only)] = &[
    (libc::SYS_fstatfs, Always), // Whether the volume is in memory.
    (libc::SYS_io_uring_enter, Always),
    (
        libc::SYS_io_uring_register,
        Values(1, &[REGISTER_BUFFERS, REGISTER_FILES, REGISTER_ENABLE_RINGS, REGISTER_RING_FDS]),
    ),
];

/// Of linux/io_uring.h.
const REGISTER_BUFFERS: u64 = 0;
const REGISTER_FILES: u64 = 2;
const REGISTER_ENABLE_RINGS: u64 = 12;
const REGISTER_RING_FDS: u64 = 20;
