//! The command that installs everything that is missing.

use cryptbench_catalog::Package;

use super::diagnosis::Install;
use super::distribution::Distribution;

/// One command for all of `packages`.
pub fn install(packages: &[&Package], distribution: &Distribution) -> Install {
    let Some(manager) = distribution.manager else {
        let names = packages.iter().map(|p| format!("{} (Debian's name)", p.debian));
        return Install { names_known: false, command: None, without_package: names.collect() };
    };
    let (mut here, mut not) = (Vec::new(), Vec::new());
    for package in packages {
        match package.name(manager) {
            Some(name) => here.push(name),
            None => not.push(format!("{}: {}", package.debian, package.elsewhere)),
        }
    }
    let root = cryptbench_os::user::is_root();
    let command =
        format!("{}{} {}", if root { "" } else { "sudo " }, manager.installs(), here.join(" "));
    let command = (!here.is_empty()).then_some(command);
    Install { names_known: true, command, without_package: not }
}

#[cfg(test)]
mod tests {
    use cryptbench_catalog::Manager;
    use cryptbench_catalog::package::{packages, with_program};

    use super::*;

    #[test]
    fn one_command_installs_what_there_is() {
        let on = |manager| {
            let programs = ["gocryptfs", "securefs", "qemu-storage-daemon"];
            let packages = programs.map(|program| with_program(program).unwrap());
            install(&packages, &Distribution { name: "X".to_owned(), manager })
        };
        let debian = on(Some(Manager::Apt));
        let command = debian.command.unwrap();
        assert!(command.ends_with("apt install gocryptfs securefs qemu-system-common"));
        let fedora = on(Some(Manager::Dnf));
        assert!(
            fedora.command.unwrap().ends_with("dnf install gocryptfs /usr/bin/qemu-storage-daemon")
        );
        assert_eq!(fedora.without_package.len(), 1);
        assert_eq!(on(None).command, None);
        let manager = Some(Manager::Apt);
        let nothing = install(&[], &Distribution { name: String::new(), manager });
        assert_eq!(nothing.command, None);
    }

    /// The Debian package recommends or suggests everything that doctor would request, except what every Debian
    /// has.
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
        let mut known: Vec<_> = packages().filter(|p| p.looked_up).map(|p| p.debian).collect();
        known.sort_unstable();
        assert_eq!(named, known);
    }
}
