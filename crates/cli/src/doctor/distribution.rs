//! Identifies the distribution and the command that installs packages on it.
#![expect(clippy::disallowed_methods, reason = "/etc/os-release")]

use std::fs;

use cryptbench_catalog::Manager;
use cryptbench_os::machine::Machine;

/// The content of os-release(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    pub name: String,
    /// `None` if neither ID nor ID_LIKE is known to this program.
    pub manager: Option<Manager>,
}

impl Distribution {
    pub fn this() -> Self {
        let read = |path| fs::read_to_string(path).ok();
        // The second path is the fallback that os-release(5) specifies.
        let text = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"));
        // Windows has no such file.
        text.map_or_else(
            || Self { name: Machine::this().os, manager: None },
            |text| Self::of(&text),
        )
    }

    /// Reads the text of an os-release file: first ID, then the entries of ID_LIKE in their order.
    fn of(text: &str) -> Self {
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let value = line.strip_prefix(name)?.strip_prefix('=')?.trim();
                Some(value.trim_matches(|c| c == '"' || c == '\'').to_owned())
            })
        };
        let id = field("ID").unwrap_or_default();
        let like = field("ID_LIKE").unwrap_or_default();
        let manager =
            std::iter::once(id.as_str()).chain(like.split_whitespace()).find_map(manager_of);
        let name = field("PRETTY_NAME").or_else(|| field("NAME")).filter(|n| !n.is_empty());
        Self { name: name.unwrap_or_else(|| "an unknown distribution".to_owned()), manager }
    }
}

fn manager_of(id: &str) -> Option<Manager> {
    Some(match id {
        "debian" | "ubuntu" => Manager::Apt,
        "fedora" | "rhel" | "centos" => Manager::Dnf,
        "arch" | "archlinux" => Manager::Pacman,
        "suse" | "opensuse" | "sles" => Manager::Zypper,
        "alpine" => Manager::Apk,
        id if id.starts_with("opensuse-") => Manager::Zypper,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Manager> {
        Distribution::of(text).manager
    }

    #[test]
    fn id_decides_and_else_what_it_is_like() {
        assert_eq!(of("ID=debian\n"), Some(Manager::Apt));
        assert_eq!(of("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), Some(Manager::Apt));
        assert_eq!(of("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"), Some(Manager::Dnf));
        assert_eq!(of("ID=manjaro\nID_LIKE=arch\n"), Some(Manager::Pacman));
        assert_eq!(
            of("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\""),
            Some(Manager::Zypper)
        );
        assert_eq!(of("ID=alpine\n"), Some(Manager::Apk));
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
