//! The properties of one system, as used by all callers.

use crate::Package;
use crate::systems::SYSTEMS;

/// An encryption system, or something that a run measures together with such a system.
pub struct System {
    /// Name on the command line and in records.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Users' names for the system's arms.
    pub named: Named,
    /// The result for a user.
    pub family: Family,
    /// What encrypts.
    pub encrypts: Encrypts,
    /// Kernel features that the system requires, and the component that requires each.
    pub needs: &'static [(Facility, &'static str)],
    /// Packages that no other system needs.
    pub packages: &'static [Package],
    /// The file system type of the system's mounts in the kernel's list.
    pub mounted_as: Option<&'static str>,
    /// Names of files that identify the system, in or below a volume's directory.
    pub files: &'static [&'static str],
    /// The name prefix of the system's device mapper devices, if these have no UUID.
    pub devices: Option<&'static str>,
    /// Why the system should be avoided, however fast it is.
    pub weakness: Option<Weakness>,
}

/// The names of a system's arms for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// By the label of the arm.
    ByLabel,
    /// By this title.
    Title(&'static str),
    /// By a title with the arm's layout in parentheses: `cryptbench mount (LUKS2)`.
    WithLayout(&'static str),
    /// By the arm's layout with the system in parentheses, as in `LUKS2 (dm-crypt)`. The first of the two layouts given
    /// here is shown without the system; the second is the usual layout.
    ByLayout(&'static str, [&'static str; 2]),
    /// By a title and the value of a setting.
    WithValue(&'static str, &'static str),
    /// By a title, followed by these words if a setting has this value.
    Where(&'static str, &'static str, [&'static str; 2]),
}

/// Whether a system creates one volume or encrypts file by file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// One volume.
    Volume,
    /// Each file for itself.
    Files,
    /// Unknown, for a location prepared by a user.
    Place,
}

/// What encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypts {
    /// Nothing encrypts.
    Nothing,
    /// This program's engine, in the process that measures or behind a mount.
    Own,
    /// The operating system's kernel.
    Kernel,
    /// A program.
    Program,
    /// The drive.
    Drive,
    /// A location prepared by the user.
    Prepared,
}

/// A part of the kernel that is needed by several systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facility {
    /// FUSE: file systems served from user space.
    Fuse,
    /// Loop devices: attaching files as disks, and mounting these.
    LoopDevices,
    /// The kernel's device mapper, on which dm-crypt is built.
    DeviceMapper,
}

impl Facility {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fuse, Self::LoopDevices, Self::DeviceMapper];

    /// What needs it, in words.
    pub fn needed_for(self) -> String {
        let needs = SYSTEMS.iter().flat_map(|system| system.needs);
        let words = needs.filter(|(facility, _)| *facility == self).map(|(_, words)| *words);
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Why a system should be avoided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weakness {
    /// In the answer.
    pub short: &'static str,
    /// With its source.
    pub full: &'static str,
}

/// The system with this name on the command line and in records.
pub fn find(name: &str) -> Option<&'static System> {
    SYSTEMS.iter().copied().find(|system| system.name == name)
}

/// The encrypting component of an arm of the system with this name, if the name is known.
pub fn encrypts(name: &str) -> Option<Encrypts> {
    find(name).map(|system| system.encrypts)
}

impl System {
    /// The usual name of an arm with this layout and these settings; `None` if the arm's label is the usual name.
    pub fn title<'a>(
        &self,
        layout: Option<&str>,
        setting: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<String> {
        Some(match (self.named, layout) {
            (Named::ByLabel, _) => return None,
            (Named::Title(title), _) | (Named::WithLayout(title), None) => title.to_owned(),
            (Named::WithLayout(title), Some(layout)) => format!("{title} ({layout})"),
            (Named::ByLayout(title, _), None) => title.to_owned(),
            (Named::ByLayout(_, [own, _]), Some(layout)) if layout == own => own.to_owned(),
            (Named::ByLayout(title, _), Some(layout)) => format!("{layout} ({title})"),
            (Named::WithValue(title, name), _) => match setting(name) {
                Some(value) => format!("{title} {value}"),
                None => title.to_owned(),
            },
            (Named::Where(title, words, [name, value]), _) => match setting(name) {
                Some(set) if set == value => format!("{title} {words}"),
                _ => title.to_owned(),
            },
        })
    }

    /// The system's name for users where no arm of the system is involved.
    pub fn usual_title(&self) -> String {
        let layout = match self.named {
            Named::ByLayout(_, [_, usual]) => Some(usual),
            _ => None,
        };
        self.title(layout, |_| None).unwrap_or_else(|| self.name.to_owned())
    }

    /// Its name in a list.
    pub fn brand(&self) -> &'static str {
        match self.named {
            Named::ByLabel => self.name,
            Named::Title(title)
            | Named::WithLayout(title)
            | Named::ByLayout(title, _)
            | Named::WithValue(title, _)
            | Named::Where(title, ..) => title,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BUILTIN_MOUNTED, DM_CRYPT, ENCFS, PAIRED, VERACRYPT};

    #[test]
    fn an_arm_is_called_by_what_its_record_tells() {
        let title = |system: &System, layout, value| system.title(layout, |_| value);
        assert_eq!(title(&DM_CRYPT, Some("LUKS1"), None).unwrap(), "LUKS1 (dm-crypt)");
        assert_eq!(title(&DM_CRYPT, Some("plain dm-crypt"), None).unwrap(), "plain dm-crypt");
        assert_eq!(title(&DM_CRYPT, None, None).unwrap(), "dm-crypt");
        let mount = title(&BUILTIN_MOUNTED, Some("VeraCrypt"), None).unwrap();
        assert_eq!(mount, "cryptbench mount (VeraCrypt)");
        assert_eq!(title(&ENCFS, None, Some("paranoia")).unwrap(), "EncFS paranoia");
        assert_eq!(title(&VERACRYPT, None, Some("no")).unwrap(), "VeraCrypt (own process)");
        assert_eq!(title(&VERACRYPT, None, Some("yes")).unwrap(), "VeraCrypt");
        assert_eq!(title(&PAIRED, None, None), None);
        assert_eq!(DM_CRYPT.usual_title(), "LUKS2 (dm-crypt)");
        assert_eq!(ENCFS.usual_title(), "EncFS");
    }

    #[test]
    fn names_and_traces_are_of_one_system_each() {
        fn unique<'a>(all: impl Iterator<Item = &'a str>) {
            let mut all: Vec<_> = all.collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
        unique(SYSTEMS.iter().map(|s| s.name));
        unique(SYSTEMS.iter().filter_map(|s| s.mounted_as));
        unique(SYSTEMS.iter().flat_map(|s| s.files).copied());
        assert!(find("no-such-system").is_none());
    }
}
