//! Packages by their names in each distribution, and the programs in them.
//!
//! Debian's names were looked up with apt-cache (12), Alpine's in aports; names in Fedora, Arch and openSUSE in public
//! package lists and install scripts from 2026. If no source was found, Fedora and openSUSE install packages by the
//! path of a program (`dnf install /usr/bin/qemu-storage-daemon` finds the package that contains it). On Arch, users
//! are advised to search, because pacman refuses a whole command that contains an unknown name.

use crate::systems::SYSTEMS;

/// The package managers; distributions with the same manager mostly share package names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// Debian's and Ubuntu's.
    Apt,
    /// Fedora's.
    Dnf,
    /// Arch's.
    Pacman,
    /// openSUSE's.
    Zypper,
    /// Alpine's.
    Apk,
}

impl Manager {
    /// Installs packages, as root.
    pub fn installs(self) -> &'static str {
        match self {
            Self::Apt => "apt install",
            Self::Dnf => "dnf install",
            Self::Pacman => "pacman -S",
            Self::Zypper => "zypper install",
            Self::Apk => "apk add",
        }
    }
}

/// A package by its names; `None` if its name in a distribution is not known.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Debian's name.
    pub debian: &'static str,
    pub(crate) fedora: Option<&'static str>,
    pub(crate) arch: Option<&'static str>,
    pub(crate) suse: Option<&'static str>,
    pub(crate) alpine: Option<&'static str>,
    /// Other sources, as text that follows "no known package for X:".
    pub elsewhere: &'static str,
    /// Programs in the package whose names differ from the package's name in Debian.
    pub(crate) programs: &'static [&'static str],
    /// Whether the package's names in other distributions were looked up.
    pub looked_up: bool,
}

const SOURCE: &str = "build it from source";
pub(crate) const AUR: &str = "on Arch, install it from the AUR; elsewhere, build it from source";

/// A package with one name in all distributions.
pub(crate) const fn everywhere(name: &'static str) -> Package {
    let all = Some(name);
    Package {
        debian: name,
        fedora: all,
        arch: all,
        suse: all,
        alpine: all,
        elsewhere: SOURCE,
        programs: &[],
        looked_up: true,
    }
}

/// A package for which only Debian's name is known.
pub(crate) const fn debians(debian: &'static str, programs: &'static [&'static str]) -> Package {
    Package { programs, looked_up: false, ..everywhere(debian) }
}

/// Packages that several systems need, or that are needed only by a workload.
static SHARED: &[Package] = &[
    Package { suse: Some("btrfsprogs"), programs: &["mkfs.btrfs"], ..everywhere("btrfs-progs") },
    Package { programs: &["mkfs.vfat"], ..everywhere("dosfstools") },
    Package { programs: &["mkfs.ext4"], ..everywhere("e2fsprogs") },
    Package { programs: &["mkfs.exfat"], ..everywhere("exfatprogs") },
    Package { programs: &["fusermount", "fusermount3"], ..everywhere("fuse3") },
    Package { programs: &["keyctl"], ..everywhere("keyutils") },
    Package { debian: "mount", programs: &["losetup", "umount"], ..everywhere("util-linux") },
    Package {
        alpine: Some("xfsprogs-extra"),
        programs: &["mkfs.xfs", "xfs_io"],
        ..everywhere("xfsprogs")
    },
    debians("ntfs-3g", &["mkfs.ntfs"]),
    debians("util-linux", &["wipefs", "blockdev"]),
];

/// All known packages.
pub fn packages() -> impl Iterator<Item = &'static Package> {
    SHARED.iter().chain(SYSTEMS.iter().flat_map(|system| system.packages))
}

/// The package that has `program`.
pub fn with_program(program: &str) -> Option<&'static Package> {
    let mut named = packages().filter(|p| p.debian == program);
    packages().find(|p| p.programs.contains(&program)).or_else(|| named.next())
}

impl Package {
    /// The package's name for a package manager.
    pub fn name(&self, manager: Manager) -> Option<&'static str> {
        match manager {
            Manager::Apt => Some(self.debian),
            Manager::Dnf => self.fedora,
            Manager::Pacman => self.arch,
            Manager::Zypper => self.suse,
            Manager::Apk => self.alpine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_once_and_so_are_their_programs() {
        let mut names: Vec<_> = packages().map(|p| p.debian).collect();
        let mut programs: Vec<_> = packages().flat_map(|p| p.programs).collect();
        let count = (names.len(), programs.len());
        names.sort_unstable();
        names.dedup();
        programs.sort_unstable();
        programs.dedup();
        assert_eq!((names.len(), programs.len()), count);
    }
}
