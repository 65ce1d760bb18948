//! Keeps inherited descriptors from the programs that this process starts.

use std::io;

/// Marks `first` and all higher descriptors, so that execve(2) closes them.
pub(in crate::linux) fn close_on_exec(first: u32) -> io::Result<()> {
    // SAFETY: three integers, no pointer. The call changes flags of descriptors, and does not close any descriptor.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 {
        return Ok(());
    }
    // This is needed before Linux 5.11, and if a filter forbids the call.
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<libc::c_int>().ok());
        if let Some(number) = number.filter(|number| number.cast_unsigned() >= first) {
            // SAFETY: integers only. A descriptor that was closed in the meantime is an error.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}
