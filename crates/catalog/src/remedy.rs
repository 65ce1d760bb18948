//! Remedies if a system cannot run: words, and packages to install, whose names depend on the distribution.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::package::{Manager, Package, with_program};

/// A user's remedy for a missing requirement. Stored with Debian's package names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Remedy(Vec<Part>);

/// A part of the sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Say(Cow<'static, str>),
    Install(Vec<&'static Package>),
    /// What follows is another sentence.
    Next,
}

impl Remedy {
    /// Installs the package with `program`.
    pub fn program(program: &str) -> Self {
        match with_program(program) {
            Some(package) => Self(vec![Part::Install(vec![package])]),
            None => format!("install {program}").into(),
        }
    }

    /// Installs packages.
    pub fn packages_of(packages: &'static [Package]) -> Self {
        Self(vec![Part::Install(packages.iter().collect())])
    }

    /// This one after `words`.
    pub fn after(self, words: impl Into<Self>) -> Self {
        words.into().then(self)
    }

    /// This one and others.
    pub fn then(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// This remedy followed by another remedy, separated by a semicolon.
    pub fn besides(mut self, other: impl Into<Self>) -> Self {
        self.0.push(Part::Next);
        self.then(other)
    }

    /// The remedy without `known`, if it starts with `known`; otherwise the whole remedy.
    pub fn beyond(&self, known: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(&known.0[..]).unwrap_or(&self.0);
        (!rest.is_empty()).then(|| Self(rest.to_vec()))
    }

    /// The required packages that are known in several distributions.
    pub fn packages(&self) -> impl Iterator<Item = &'static Package> {
        let asked = self.0.iter().flat_map(|part| match part {
            Part::Say(_) | Part::Next => &[][..],
            Part::Install(packages) => packages,
        });
        asked.copied().filter(|package| package.looked_up)
    }

    /// The remedy with a distribution's package names, or with Debian's if `manager` is unknown.
    pub fn told(&self, manager: Option<Manager>) -> String {
        let told = self.0.iter().enumerate().map(|(place, part)| match part {
            Part::Say(words) => words.clone(),
            Part::Install(packages) => install(packages, manager).into(),
            Part::Next => Cow::Borrowed(if place == 0 { "" } else { "; " }),
        });
        told.collect()
    }
}

/// Packages whose names in the distribution are unknown keep Debian's names, and these are marked as such.
fn install(packages: &[&Package], manager: Option<Manager>) -> String {
    let debians = || packages.iter().map(|p| p.debian).collect::<Vec<_>>().join(" ");
    match manager {
        Some(Manager::Apt) => format!("{} {}", Manager::Apt.installs(), debians()),
        Some(manager) if packages.iter().all(|p| p.looked_up) => {
            let each = packages.iter().map(|package| match package.name(manager) {
                Some(name) => format!("{} {name}", manager.installs()),
                None => {
                    format!("no known package for {}: {}", package.debian, package.elsewhere)
                }
            });
            each.collect::<Vec<_>>().join("; ")
        }
        _ => format!("install what Debian calls {}", debians()),
    }
}

/// With Debian's names.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(Some(Manager::Apt)))
    }
}

impl From<&'static str> for Remedy {
    fn from(words: &'static str) -> Self {
        Self(vec![Part::Say(words.into())])
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self(vec![Part::Say(words.into())])
    }
}

impl From<Remedy> for String {
    fn from(remedy: Remedy) -> Self {
        remedy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::packages;
    use crate::{QEMU_LUKS, ZFS};

    fn asked(remedy: &Remedy) -> Vec<&'static str> {
        remedy.packages().map(|p| p.debian).collect()
    }

    #[test]
    fn a_remedy_knows_its_packages_and_those_with_its_programs() {
        assert_eq!(asked(&Remedy::program("gocryptfs")), ["gocryptfs"]);
        assert_eq!(asked(&Remedy::program("fusermount3").after("run as root, or ")), ["fuse3"]);
        let mapper = Remedy::from("modprobe dm_mod");
        let both = mapper.clone().besides(Remedy::program("dislocker").after("or "));
        assert_eq!(asked(&both), ["dislocker"]);
        let words = "or apt install dislocker";
        assert_eq!(both.to_string(), format!("modprobe dm_mod; {words}"));
        assert_eq!(both.beyond(&mapper).unwrap().to_string(), words);
        assert_eq!((mapper.beyond(&mapper), mapper.beyond(&both)), (None, Some(mapper.clone())));
        let qemu = Remedy::packages_of(QEMU_LUKS.packages);
        assert_eq!(asked(&qemu), ["qemu-system-common", "qemu-utils"]);
        assert!(asked(&Remedy::packages_of(ZFS.packages)).is_empty(), "known in Debian alone");
        assert!(asked(&Remedy::program("no-such-program")).is_empty());
        assert!(asked(&Remedy::from("modprobe fuse")).is_empty());
    }

    #[test]
    fn remedies_are_told_in_the_words_of_the_distribution() {
        let told = |manager| Remedy::program("encfs").after("run as root, or ").told(manager);
        assert_eq!(told(Some(Manager::Apt)), "run as root, or apt install encfs");
        assert_eq!(told(Some(Manager::Dnf)), "run as root, or dnf install fuse-encfs");
        assert_eq!(told(Some(Manager::Apk)), "run as root, or apk add encfs");
        assert_eq!(told(None), "run as root, or install what Debian calls encfs");
        let none = Remedy::program("securefs").told(Some(Manager::Zypper));
        assert!(none.starts_with("no known package for securefs"), "{none}");
        let debians = Remedy::packages_of(ZFS.packages).then(", then modprobe zfs");
        let words = "apt install zfs-dkms zfsutils-linux, then modprobe zfs";
        assert_eq!(debians.to_string(), words);
        for manager in [Some(Manager::Dnf), None] {
            let said = debians.told(manager);
            assert_eq!(said, words.replace("apt install", "install what Debian calls"));
        }
        for manager in [Manager::Dnf, Manager::Pacman, Manager::Zypper, Manager::Apk] {
            for package in packages() {
                let told = install(&[package], Some(manager));
                assert!(!told.contains("apt install"), "{told}");
            }
        }
    }
}
