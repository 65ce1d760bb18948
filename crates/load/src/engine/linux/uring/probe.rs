//! Checks that io_uring really works here.

use std::io;

use io_uring::{Probe, opcode};

use super::session::Session;

/// Sets up a ring, checks that it supports the required operations, and sends a no-op through it.
///
/// # Errors
/// The reason why io_uring cannot be used, in words.
pub(super) fn probe() -> Result<(), String> {
    let mut session = Session::new(4, false).map_err(|e| setup_refused(&e))?;
    let ring = &mut *session.ring;
    let mut known = Probe::new();
    ring.submitter()
        .register_probe(&mut known)
        .map_err(|e| format!("cannot query the operations of io_uring: {e}"))?;
    let needed = [
        ("read", opcode::Read::CODE),
        ("write", opcode::Write::CODE),
        ("read into registered buffers", opcode::ReadFixed::CODE),
        ("write from registered buffers", opcode::WriteFixed::CODE),
        ("timeout", opcode::Timeout::CODE),
        ("fsync", opcode::Fsync::CODE),
    ];
    for (name, code) in needed {
        if !known.is_supported(code) {
            return Err(format!("the kernel's io_uring lacks the operation '{name}'"));
        }
    }
    let nop = opcode::Nop::new().build().user_data(42);
    // SAFETY: a no-op does not refer to memory.
    unsafe { ring.submission().push(&nop) }.map_err(|e| e.to_string())?;
    ring.submit_and_wait(1).map_err(|e| format!("io_uring accepts no requests: {e}"))?;
    match ring.completion().next() {
        Some(done) if done.user_data() == 42 && done.result() == 0 => Ok(()),
        Some(done) => Err(format!("io_uring refused a no-op ({})", done.result())),
        None => Err("io_uring returned without a completion".into()),
    }
}

fn setup_refused(e: &io::Error) -> String {
    match e.raw_os_error() {
        Some(libc::EPERM) => {
            "io_uring is denied (kernel.io_uring_disabled, or a seccomp filter, as containers \
             have)"
                .to_owned()
        }
        Some(libc::EACCES) => {
            "io_uring is denied (by a security module, such as SELinux)".to_owned()
        }
        // Podman's filter answers so.
        Some(libc::ENOSYS) => {
            "this kernel has no io_uring, or a seccomp filter hides it, as containers have"
                .to_owned()
        }
        Some(libc::ENOMEM) => {
            "no memory for a ring; the limit on locked memory (ulimit -l) may be too low".to_owned()
        }
        _ => format!("setting up io_uring failed: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_denies_it_is_told_in_whole_sentences() {
        let said = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::ENOMEM, libc::EMFILE]
            .map(|code| setup_refused(&io::Error::from_raw_os_error(code)));
        insta::assert_snapshot!(said.join("\n"), @"
            io_uring is denied (kernel.io_uring_disabled, or a seccomp filter, as containers have)
            io_uring is denied (by a security module, such as SELinux)
            this kernel has no io_uring, or a seccomp filter hides it, as containers have
            no memory for a ring; the limit on locked memory (ulimit -l) may be too low
            setting up io_uring failed: Too many open files (os error 24)
            ");
    }
}
