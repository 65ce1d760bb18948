//! Users by their numbers.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{geteuid, getuid};

use crate::user::Asker;

pub(crate) fn effective() -> u32 {
    geteuid().as_raw()
}

pub(crate) fn effective_group() -> u32 {
    rustix::process::getegid().as_raw()
}

pub(crate) fn real() -> u32 {
    getuid().as_raw()
}

pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

pub(crate) fn asker() -> Option<Asker> {
    let number = |variable: &str| env::var(variable).ok()?.parse::<u32>().ok();
    if !is_root() {
        return None;
    }
    let (user, group) = (number("SUDO_UID").filter(|user| *user != 0)?, number("SUDO_GID")?);
    let users = fs::read("/etc/passwd").unwrap_or_default();
    Some(Asker { user, group, home: home(&users, user) })
}

/// A user's home directory according to the given lines of passwd(5).
fn home(users: &[u8], user: u32) -> Option<PathBuf> {
    let wanted = user.to_string();
    users.split(|&b| b == b'\n').find_map(|line| {
        let mut fields = line.split(|&b| b == b':');
        (fields.nth(2)? == wanted.as_bytes()).then_some(())?;
        let home = PathBuf::from(OsStr::from_bytes(fields.nth(2)?));
        home.is_absolute().then_some(home)
    })
}

/// The standard library drops all groups, then sets the group and the user (setgroups(2), setgid(2), setuid(2)). The
/// saved IDs are replaced as well, so this cannot be undone.
pub(crate) fn run_as<'a>(command: &'a mut Command, asker: &Asker) -> &'a mut Command {
    command.gid(asker.group).uid(asker.user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_found_by_the_users_number() {
        let users = b"root:x:0:0:root:/root:/bin/sh\nodd\nu:x:1000:1000:U,,:/home/\xff:/bin/sh\nn:x:10:1::rel:\n";
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        assert_eq!(home(users, 1000), Some(path(b"/home/\xff")));
        assert_eq!(home(users, 0), Some(path(b"/root")));
        assert_eq!((home(users, 10), home(users, 7)), (None, None));
    }

    #[test]
    fn what_runs_as_another_has_the_rights_of_nobody_else() {
        if !is_root() {
            eprintln!("SKIPPED: becoming another user needs root");
            return;
        }
        let asker = Asker { user: 12_345, group: 23_456, home: Some("/nowhere".into()) };
        let mut cat = Command::new("/bin/cat");
        let said =
            crate::user::run_as(cat.arg("/proc/self/status").arg("/proc/self/environ"), &asker)
                .output();
        let said = String::from_utf8(said.unwrap().stdout).unwrap();
        let field = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(field("Uid:"), ["12345"; 4]);
        assert_eq!(field("Gid:"), ["23456"; 4]);
        assert!(field("Groups:").is_empty(), "{said}");
        assert_eq!(field("CapEff:"), ["0000000000000000"]);
        assert!(said.ends_with("HOME=/nowhere\0") && !said.contains("PATH="), "{said}");
    }
}
