//! Names of packages by distribution, and the one command that installs what is missing.
//!
//! Remedies of the system registry name Debian's packages. Debian's names were looked up with apt-cache (12), Alpine's
//! in aports; those of Fedora, Arch and openSUSE in public package lists and install scripts of 2026. Where no source
//! was found, Fedora and openSUSE install by the path of a program (`dnf install /usr/bin/qemu-storage-daemon` finds
//! whichever package has it), and users of Arch are told to search: one unknown name makes pacman refuse the whole command.

use super::diagnosis::Install;
use super::distribution::{Distribution, Family};

/// A package by its names; `None` where a distribution has no known one.
struct Package {
    debian: &'static str,
    fedora: Option<&'static str>,
    arch: Option<&'static str>,
    suse: Option<&'static str>,
    alpine: Option<&'static str>,
    /// Where else to get it, to follow "no package of X is known here:".
    elsewhere: &'static str,
}

const SOURCE: &str = "build it from its source";
const AUR: &str = "the AUR has it for Arch; elsewhere build it from its source";

const fn everywhere(name: &'static str) -> Package {
    let all = Some(name);
    Package { debian: name, fedora: all, arch: all, suse: all, alpine: all, elsewhere: SOURCE }
}

const PACKAGES: &[Package] = &[
    Package { arch: None, elsewhere: AUR, ..everywhere("bindfs") },
    Package { suse: Some("btrfsprogs"), ..everywhere("btrfs-progs") },
    everywhere("cryfs"),
    Package { debian: "cryptsetup-bin", ..everywhere("cryptsetup") },
    Package {
        fedora: Some("fuse-dislocker"),
        arch: None,
        suse: Some("/usr/bin/dislocker-fuse"),
        elsewhere: AUR,
        ..everywhere("dislocker")
    },
    Package { debian: "dmsetup", ..everywhere("device-mapper") },
    everywhere("dosfstools"),
    everywhere("e2fsprogs"),
    everywhere("ecryptfs-utils"),
    Package { fedora: Some("fuse-encfs"), ..everywhere("encfs") },
    everywhere("exfatprogs"),
    everywhere("fuse3"),
    everywhere("gocryptfs"),
    everywhere("keyutils"),
    // Alpine builds libnbd without FUSE.
    Package {
        debian: "libnbd-bin",
        arch: None,
        alpine: None,
        elsewhere: "the AUR has it for Arch, as libnbd; elsewhere build it from its source",
        ..everywhere("nbdfuse")
    },
    Package { debian: "mount", ..everywhere("util-linux") },
    Package { arch: None, alpine: None, elsewhere: AUR, ..everywhere("nbdkit") },
    Package {
        debian: "qemu-system-common",
        fedora: Some("/usr/bin/qemu-storage-daemon"),
        arch: None,
        suse: Some("/usr/bin/qemu-storage-daemon"),
        alpine: Some("cmd:qemu-storage-daemon"),
        elsewhere: "`pacman -F qemu-storage-daemon` says which package has it",
    },
    Package { debian: "qemu-utils", ..everywhere("qemu-img") },
    Package {
        fedora: None,
        arch: None,
        suse: None,
        alpine: None,
        elsewhere: AUR,
        ..everywhere("securefs")
    },
    Package { fedora: None, suse: None, alpine: None, ..everywhere("tcplay") },
    Package { alpine: Some("xfsprogs-extra"), ..everywhere("xfsprogs") },
];

impl Package {
    fn name(&self, family: Family) -> Option<&'static str> {
        match family {
            Family::Debian => Some(self.debian),
            Family::Fedora => self.fedora,
            Family::Arch => self.arch,
            Family::Suse => self.suse,
            Family::Alpine => self.alpine,
        }
    }
}

fn find(debian: &str) -> Option<&'static Package> {
    PACKAGES.iter().find(|p| p.debian == debian)
}

/// How Debian's packages are asked for in remedies.
const ASKED: &str = "apt install ";

/// Debian's names of the packages that a remedy asks for, if they are known here.
pub fn asked_for(remedy: &str) -> Vec<&'static str> {
    let Some((_, rest)) = remedy.split_once(ASKED) else { return Vec::new() };
    let words = rest.split_whitespace().map(|w| (w.trim_end_matches([';', ',', '.', ')']), w));
    let mut found = Vec::new();
    for (name, word) in words {
        let Some(package) = find(name) else { break };
        found.push(package.debian);
        if name != word {
            break;
        }
    }
    found
}

/// A remedy in the words of this distribution. Packages that are not in the table keep Debian's names, and are called
/// so.
pub fn localised(remedy: &str, family: Option<Family>) -> String {
    if family == Some(Family::Debian) {
        return remedy.to_owned();
    }
    let asked = asked_for(remedy);
    if asked.is_empty() {
        return remedy.replacen(ASKED, "install what Debian calls ", 1);
    }
    let debian = format!("{ASKED}{}", asked.join(" "));
    let here = match family {
        None => format!("install what Debian calls {}", asked.join(" ")),
        Some(family) => asked
            .iter()
            .map(|name| match find(name).map(|p| (p, p.name(family))) {
                Some((_, Some(name))) => format!("{} {name}", family.installer()),
                Some((p, None)) => format!("no package of {name} is known here: {}", p.elsewhere),
                None => format!("install {name}"),
            })
            .collect::<Vec<_>>()
            .join("; "),
    };
    remedy.replacen(&debian, &here, 1)
}

/// One command for all of `packages`, which are Debian's names.
pub fn install(packages: &[&str], distribution: &Distribution) -> Install {
    let Some(family) = distribution.family else {
        let names = packages.iter().map(|p| format!("{p} (Debian's name)"));
        return Install { names_known: false, command: None, without_package: names.collect() };
    };
    let (mut here, mut not) = (Vec::new(), Vec::new());
    for name in packages {
        match find(name).map(|p| (p, p.name(family))) {
            Some((_, Some(here_named))) => here.push(here_named),
            Some((package, None)) => not.push(format!("{name}: {}", package.elsewhere)),
            None => not.push((*name).to_owned()),
        }
    }
    let root = cryptbench_os::user::is_root();
    let command =
        format!("{}{} {}", if root { "" } else { "sudo " }, family.installer(), here.join(" "));
    let command = (!here.is_empty()).then_some(command);
    Install { names_known: true, command, without_package: not }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Family; 5] =
        [Family::Debian, Family::Fedora, Family::Arch, Family::Suse, Family::Alpine];

    #[test]
    fn what_a_remedy_asks_for_is_found() {
        assert_eq!(asked_for("apt install gocryptfs"), ["gocryptfs"]);
        assert_eq!(
            asked_for("modprobe dm_mod; or apt install dislocker, which needs only FUSE"),
            ["dislocker"]
        );
        assert_eq!(asked_for("run as root, or apt install fuse3"), ["fuse3"]);
        assert_eq!(asked_for("apt install bindfs encfs; then do"), ["bindfs", "encfs"]);
        assert!(asked_for("apt install nothing-that-we-know").is_empty());
        assert!(asked_for("modprobe fuse").is_empty());
    }

    #[test]
    fn remedies_are_told_in_the_words_of_the_distribution() {
        let told = |family| localised("run as root, or apt install encfs", family);
        assert_eq!(told(Some(Family::Debian)), "run as root, or apt install encfs");
        assert_eq!(told(Some(Family::Fedora)), "run as root, or dnf install fuse-encfs");
        assert_eq!(told(Some(Family::Alpine)), "run as root, or apk add encfs");
        assert_eq!(told(None), "run as root, or install what Debian calls encfs");
        let none = localised("apt install securefs", Some(Family::Suse));
        assert!(none.starts_with("no package of securefs is known here"), "{none}");
        let unknown = "apt install zfs-dkms, then modprobe zfs";
        assert_eq!(localised(unknown, Some(Family::Debian)), unknown);
        for family in [Some(Family::Fedora), None] {
            let told = localised(unknown, family);
            assert_eq!(told, "install what Debian calls zfs-dkms, then modprobe zfs");
        }
        for family in ALL.into_iter().skip(1) {
            for package in PACKAGES {
                let told = localised(&format!("apt install {}", package.debian), Some(family));
                assert!(!told.contains("apt install"), "{told}");
            }
        }
    }

    #[test]
    fn one_command_installs_what_there_is() {
        let on = |family| {
            let distribution = Distribution { name: "X".to_owned(), family };
            install(&["gocryptfs", "securefs", "qemu-system-common"], &distribution)
        };
        let debian = on(Some(Family::Debian));
        let command = debian.command.unwrap();
        assert!(command.ends_with("apt install gocryptfs securefs qemu-system-common"));
        let fedora = on(Some(Family::Fedora));
        assert!(
            fedora.command.unwrap().ends_with("dnf install gocryptfs /usr/bin/qemu-storage-daemon")
        );
        assert_eq!(fedora.without_package.len(), 1);
        assert_eq!(on(None).command, None);
        let nothing =
            install(&[], &Distribution { name: String::new(), family: ALL.into_iter().next() });
        assert_eq!(nothing.command, None);
    }

    #[test]
    fn names_of_debian_are_named_once() {
        let mut names: Vec<_> = PACKAGES.iter().map(|p| p.debian).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PACKAGES.len());
    }

    /// The Debian package recommends or suggests what doctor would ask for, except what every Debian has.
    #[test]
    fn the_debian_package_names_them_too() {
        let manifest = include_str!("../../Cargo.toml");
        let mut named: Vec<&str> = ["recommends = \"", "suggests = \""]
            .into_iter()
            .flat_map(|key| {
                manifest.split_once(key).unwrap().1.split('"').next().unwrap().split(", ")
            })
            .collect();
        named.extend(["e2fsprogs", "mount"]);
        named.sort_unstable();
        let mut known: Vec<_> = PACKAGES.iter().map(|p| p.debian).collect();
        known.sort_unstable();
        assert_eq!(named, known);
    }
}
