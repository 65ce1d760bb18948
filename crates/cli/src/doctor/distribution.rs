//! Which distribution this is, and how to install packages on it.

use std::fs;

use cryptbench_os::machine::Machine;

/// Distributions that share a package manager and, mostly, names of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Debian,
    Fedora,
    Arch,
    Suse,
    Alpine,
}

impl Family {
    /// Installs packages, as root.
    pub fn installer(self) -> &'static str {
        match self {
            Self::Debian => "apt install",
            Self::Fedora => "dnf install",
            Self::Arch => "pacman -S",
            Self::Suse => "zypper install",
            Self::Alpine => "apk add",
        }
    }
}

/// What os-release(5) says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    pub name: String,
    /// `None` if neither ID nor ID_LIKE is known here.
    pub family: Option<Family>,
}

impl Distribution {
    pub fn this() -> Self {
        let read = |path| fs::read_to_string(path).ok();
        // The second path is the fallback that os-release(5) names.
        let text = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"));
        // Windows has no such file.
        text.map_or_else(|| Self { name: Machine::this().os, family: None }, |text| Self::of(&text))
    }

    /// Reads the text of an os-release file: ID first, then ID_LIKE in its order.
    fn of(text: &str) -> Self {
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let value = line.strip_prefix(name)?.strip_prefix('=')?.trim();
                Some(value.trim_matches(|c| c == '"' || c == '\'').to_owned())
            })
        };
        let id = field("ID").unwrap_or_default();
        let like = field("ID_LIKE").unwrap_or_default();
        let family = std::iter::once(id.as_str()).chain(like.split_whitespace()).find_map(family);
        let name = field("PRETTY_NAME").or_else(|| field("NAME")).filter(|n| !n.is_empty());
        Self { name: name.unwrap_or_else(|| "an unknown distribution".to_owned()), family }
    }
}

fn family(id: &str) -> Option<Family> {
    Some(match id {
        "debian" | "ubuntu" => Family::Debian,
        "fedora" | "rhel" | "centos" => Family::Fedora,
        "arch" | "archlinux" => Family::Arch,
        "suse" | "opensuse" | "sles" => Family::Suse,
        "alpine" => Family::Alpine,
        id if id.starts_with("opensuse-") => Family::Suse,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Family> {
        Distribution::of(text).family
    }

    #[test]
    fn id_decides_and_else_what_it_is_like() {
        assert_eq!(of("ID=debian\n"), Some(Family::Debian));
        assert_eq!(of("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), Some(Family::Debian));
        assert_eq!(of("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"), Some(Family::Fedora));
        assert_eq!(of("ID=manjaro\nID_LIKE=arch\n"), Some(Family::Arch));
        assert_eq!(of("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\""), Some(Family::Suse));
        assert_eq!(of("ID=alpine\n"), Some(Family::Alpine));
        assert_eq!(of("ID=nixos\n"), None);
        assert_eq!(of("VERSION_ID=12\nBUILD_ID=debian\n"), None, "other fields end in ID too");
        assert_eq!(of(""), None);
    }

    #[test]
    fn it_is_called_as_it_calls_itself() {
        let name = |text| Distribution::of(text).name;
        assert_eq!(name("NAME=X\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"), "Debian GNU/Linux 12");
        assert_eq!(name("ID=x\nNAME='X'\n"), "X");
        assert_eq!(name("garbage"), "an unknown distribution");
    }
}
