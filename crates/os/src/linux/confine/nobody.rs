//! A user ID that no user has.

use std::os::unix::fs::MetadataExt as _;
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// User IDs that no user has, according to systemd's table (systemd.io/UIDS-GIDS): unassigned IDs and, for containers
/// with 65,536 users, the IDs for dynamic users.
const FREE: [(u32, u32); 2] = [(1_879_048_192, 2_147_483_647), (61_184, 65_519)];

/// `nogroup`, which owns nothing.
const NOGROUP: u32 = 65_534;

/// Maximum number of attempts per range.
const TRIES: u32 = 16;

/// Changes the user of this process's only thread. Returns whether the change was possible.
pub(super) fn become_nobody() -> io::Result<bool> {
    let taken = taken()?;
    for (first, last) in FREE {
        for _ in 0..TRIES {
            let random = getrandom::u32().map_err(|e| io::Error::other(e.to_string()))?;
            let number = first + random % (last - first + 1);
            if taken.contains(&number) {
                continue;
            }
            match become_user(number) {
                Ok(()) => return Ok(true),
                // The user namespace does not contain this number.
                Err(Errno::INVAL) => break,
                Err(_) => return Ok(false),
            }
        }
    }
    Ok(false)
}

fn become_user(number: u32) -> Result<(), Errno> {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(NOGROUP));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

/// The users of all processes, and all users listed in passwd(5).
fn taken() -> io::Result<Vec<u32>> {
    let processes = fs::read_dir("/proc")?.flatten();
    let mut taken: Vec<u32> =
        processes.filter_map(|entry| Some(entry.metadata().ok()?.uid())).collect();
    let users = fs::read("/etc/passwd").unwrap_or_default();
    let number = |line: &[u8]| {
        let field = line.split(|&b| b == b':').nth(2)?;
        std::str::from_utf8(field).ok()?.parse::<u32>().ok()
    };
    taken.extend(users.split(|&b| b == b'\n').filter_map(number));
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_something_or_is_listed_is_somebody() {
        let taken = taken().unwrap();
        assert!(taken.contains(&rustix::process::geteuid().as_raw()));
        assert!(taken.contains(&0), "the first line of passwd(5)");
    }
}
