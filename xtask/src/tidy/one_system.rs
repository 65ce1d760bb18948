//! Checks that system-specific code is only in the listed files, and that only one file per crate checks for
//! which system it is built.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::sources::{of_the_program, without_tests};
use crate::cross::PORTABLE;

/// Names that exist only on some systems.
const OF_ONE_SYSTEM: &[&str] = &[
    "rustix",
    "libc::",
    "io_uring::",
    "std::os::",
    "os::unix",
    "os::windows",
    "windows_sys",
    "signal::unix",
    "\"/proc",
    "\"proc/",
    "\"/sys/",
    "\"/sys\"",
    "\"sys/",
    "\"/dev/",
];

/// The ways in which a crate can check for which system it is built.
const ASKS: [&str; 4] = ["target_os", "cfg(windows", "cfg_attr(windows", "cfg(unix"];

/// Files for system-specific code, each with a reason. An unused entry is also a fault.
const HOMES: &[(&str, &str)] = &[
    ("crates/os/src/linux", "what it is for"),
    ("crates/os/src/windows", "what it is for"),
    ("crates/blockdev/src/linux", "what it is for"),
    ("crates/blockdev/src/windows.rs", "what it is for"),
    ("crates/cli/src/doctor/linux", "what it is for"),
    ("crates/export/src", "FUSE, and NBD on a unix socket, are the system's own"),
    ("crates/load/src/engine/linux", "what it is for"),
    ("crates/load/src/engine/windows", "what it is for"),
    ("crates/runner/src/look/in_use.rs", "dm-crypt is Linux's own"),
    ("crates/prove/src/watch.rs", "how much memory a test has taken: it depends on nothing"),
    ("crates/kdf/src/memory.rs", "the limits of its cgroups: it depends on cpu alone"),
    ("crates/system/src", "what is set up is the system's own: mappings, mounts, keys"),
];

/// Files that may check for which system they are built, each with a reason.
const ASKING: &[(&str, &str)] = &[
    ("crates/blockdev/src/lib.rs", "chooses between linux and windows"),
    ("crates/os/src/lib.rs", "chooses between linux and windows"),
    ("crates/load/src/engine/mod.rs", "chooses between linux and windows"),
    ("crates/load/src/engine/transfer.rs", "a field that only a second handle needs"),
    ("crates/export/src/lib.rs", "Windows serves nothing"),
    ("crates/system/src/lib.rs", "Windows sets no system up"),
    ("crates/cli/src/doctor.rs", "chooses between linux and windows"),
];

/// Checks the sources of all crates.
pub fn check(files: &[PathBuf], faults: &mut Vec<String>) -> io::Result<()> {
    let mut needed = BTreeSet::new();
    for (file, text) in of_the_program(Path::new(""), files)? {
        faults.extend(look(&file, &text, &mut needed));
    }
    let idle = HOMES.iter().filter(|(place, _)| !needed.contains(place));
    faults.extend(idle.map(|(place, _)| {
        format!("xtask/src/tidy/one_system.rs: {place} no longer needs an exception")
    }));
    let portable = |place: &str| PORTABLE.iter().find(|name| place == format!("crates/{name}/src"));
    faults.extend(HOMES.iter().filter_map(|(place, _)| portable(place)).map(|name| {
        format!("xtask/src/tidy/one_system.rs: {name} is a portable crate (xtask/src/cross.rs)")
    }));
    Ok(())
}

/// The faults in a file outside its tests. Exceptions that are used are added to `needed`.
fn look(file: &Path, text: &str, needed: &mut BTreeSet<&'static str>) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in without_tests(text) {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        let at = || format!("{}:{number}", file.display());
        if ASKS.iter().any(|asks| code.contains(asks))
            && !ASKING.iter().any(|(place, _)| file.starts_with(place))
        {
            faults.push(format!(
                "{}: few files may ask for the system (ARCHITECTURE.md, invariant 6)",
                at()
            ));
        }
        let Some(found) = OF_ONE_SYSTEM.iter().find(|name| code.contains(*name)) else { continue };
        match HOMES.iter().find(|(place, _)| file.starts_with(place)) {
            Some((place, _)) => {
                needed.insert(place);
            }
            None => faults.push(format!(
                "{}: {found}: system-specific code belongs in os/src/linux or os/src/windows (ARCHITECTURE.md, invariant 6)",
                at()
            )),
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(place: &str, code: &str) -> usize {
        let text = format!("//! Opens.\n{code}\n");
        look(Path::new(place), &text, &mut BTreeSet::new()).len()
    }

    #[test]
    fn what_is_of_one_system_is_found_outside_of_its_homes() {
        for name in OF_ONE_SYSTEM {
            let code = format!("use {name}x;");
            assert_eq!(faults("crates/view/src/lib.rs", &code), 1, "{name}");
            assert_eq!(faults("crates/os/src/linux/mod.rs", &code), 0, "{name}");
            assert_eq!(faults("crates/os/src/storage.rs", &code), 1, "{name}");
        }
    }

    #[test]
    fn which_system_it_is_is_asked_in_one_file() {
        let code = "#[cfg(target_os = \"linux\")]";
        assert_eq!(faults("crates/os/src/lib.rs", code), 0);
        assert_eq!(faults("crates/os/src/linux/mod.rs", code), 1);
        assert_eq!(faults("crates/runner/src/lib.rs", code), 1);
    }

    #[test]
    fn comments_and_tests_are_let_alone() {
        assert_eq!(faults("crates/view/src/lib.rs", "// As rustix does it."), 0);
        let tests = "#[cfg(test)]\nmod tests {\n    use std::os::unix::fs::symlink;\n}";
        assert_eq!(faults("crates/view/src/lib.rs", tests), 0);
    }
}
