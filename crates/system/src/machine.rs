//! The facilities of this machine that systems need: programs, FUSE, privileges. Tests can replace them.
#![expect(clippy::disallowed_methods, reason = "files of /proc and /lib/modules")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_catalog::Remedy;
use cryptbench_export::ublk::Control;
use cryptbench_os::process::{program_in, search_path};
use cryptbench_text::shown;

use crate::Availability;
use crate::resource::mapping;

/// A server program derives its key before it mounts its file system. On a busy machine with two cores, CryFS needs
/// half a minute for the key.
const READY_WITHIN: Duration = Duration::from_secs(300);

/// Why NTFS cannot be created and mounted on this machine, and the remedy, if any.
pub fn lacks_ntfs() -> Option<(String, Remedy)> {
    Machine::this().lacks_ntfs()
}

/// The search path for programs, and the facilities of the kernel.
#[derive(Clone)]
pub(crate) struct Machine {
    /// Directories with programs, all of them absolute.
    pub(crate) path: OsString,
    /// The FUSE device.
    pub(crate) fuse: PathBuf,
    /// The node of ublk's driver.
    pub(crate) ublk: PathBuf,
    /// The list of the kernel's file systems (proc_filesystems(5)).
    pub(crate) file_systems: PathBuf,
    /// The directory of the running kernel's modules.
    pub(crate) modules: PathBuf,
    /// The directory of dm-crypt's parameters.
    pub(crate) dm_crypt: PathBuf,
    /// The directory of the modules in use.
    pub(crate) loaded: PathBuf,
    /// Whether this process runs as root.
    pub(crate) root: bool,
    /// Maximum time for a program to mount its file system.
    pub(crate) ready_within: Duration,
    /// A program that always has this shorter limit.
    pub(crate) hurried: Option<(&'static str, Duration)>,
    /// The directory for private mount points, if not the usual directory.
    pub(crate) mount_points: Option<PathBuf>,
    /// Whether containers are filled before use. Tests of other features skip the filling to save time.
    pub(crate) fills: bool,
}

#[cfg(test)]
thread_local! {
    static INSTEAD: std::cell::RefCell<Option<Machine>> = const { std::cell::RefCell::new(None) };
}

impl Machine {
    /// This machine; in a test, the simulated one (see `pretend`).
    pub(crate) fn this() -> Self {
        #[cfg(test)]
        if let Some(machine) = INSTEAD.with_borrow(Clone::clone) {
            return machine;
        }
        Self {
            path: search_path(),
            fuse: "/dev/fuse".into(),
            ublk: Control::NODE.into(),
            file_systems: "/proc/filesystems".into(),
            modules: Path::new("/lib/modules")
                .join(rustix::system::uname().release().to_string_lossy().as_ref()),
            dm_crypt: "/sys/module/dm_crypt/parameters".into(),
            loaded: "/sys/module".into(),
            root: rustix::process::geteuid().is_root(),
            ready_within: READY_WITHIN,
            hurried: None,
            mount_points: None,
            fills: true,
        }
    }

    /// Replaces [`this`](Self::this) for the current thread.
    #[cfg(test)]
    pub(crate) fn pretend(machine: Option<Self>) {
        INSTEAD.set(machine);
    }

    /// Time limit for `program`, whose usual limit is `usual`.
    pub(crate) fn limit(&self, program: &str, usual: Duration) -> Duration {
        match self.hurried {
            Some((hurried, limit)) if hurried == program => limit.min(usual),
            _ => usual,
        }
    }

    /// The first of `programs` that is not in the search path.
    pub(crate) fn missing<'a>(&self, programs: &[&'a str]) -> Option<&'a str> {
        programs.iter().copied().find(|program| !self.has(program))
    }

    /// Whether `program` is in the search path.
    pub(crate) fn has(&self, program: &str) -> bool {
        self.program(program).is_some()
    }

    /// The file of `program` in the search path.
    pub(crate) fn program(&self, program: &str) -> Option<PathBuf> {
        program_in(&self.path, program)
    }

    /// The reason why a program cannot serve a FUSE file system here, if any.
    pub(crate) fn lacks_fuse(&self) -> Option<Availability> {
        if !self.fuse.exists() {
            return Some(Availability::without(
                format!("{} does not exist", shown(&self.fuse)),
                "load the fuse module (modprobe fuse)",
            ));
        }
        let wanted = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
        if rustix::fs::access(&self.fuse, wanted).is_err() {
            return Some(Availability::without(
                format!("this user may not open {}", shown(&self.fuse)),
                "run as root, or add the user to the device's group",
            ));
        }
        // Root can mount; other users need a setuid program.
        (!self.root && !self.has("fusermount") && !self.has("fusermount3")).then(|| {
            Availability::without(
                "mounting requires root or fusermount3, which is not installed",
                Remedy::program("fusermount3").after("run as root, or "),
            )
        })
    }

    /// Whether the kernel supports that file system at present, built in or as a loaded module.
    pub(crate) fn kernel_has(&self, file_system: &str) -> bool {
        fs::read_to_string(&self.file_systems).is_ok_and(|list| {
            list.lines().any(|line| line.split_whitespace().next_back() == Some(file_system))
        })
    }

    /// Whether that module is available to the kernel; for file systems, mount(2) loads it.
    pub(crate) fn has_module(&self, name: &str) -> bool {
        let file = format!("/{name}.ko");
        fs::read_to_string(self.modules.join("modules.dep")).is_ok_and(|list| {
            list.lines().filter_map(|line| line.split(':').next()).any(|path| path.contains(&file))
        })
    }

    /// The version of a loaded module, empty if the module does not report a version.
    pub(crate) fn version_of(&self, module: &str) -> String {
        let version = fs::read_to_string(self.loaded.join(module).join("version"));
        version.unwrap_or_default().trim().to_owned()
    }

    /// Why NTFS cannot be created and mounted here, and the remedy, if any.
    pub(crate) fn lacks_ntfs(&self) -> Option<(String, Remedy)> {
        let by_kernel = self.kernel_has("ntfs3") || self.has_module("ntfs3");
        let by_program = self.has("mount.ntfs") && self.fuse.exists();
        if !self.has("mkfs.ntfs") {
            let reason = "mkfs.ntfs is not installed".to_owned();
            return Some((reason, Remedy::program("mkfs.ntfs")));
        }
        (!by_kernel && !by_program).then(|| {
            let reason = "neither the kernel (ntfs3) nor ntfs-3g can mount NTFS here";
            (reason.to_owned(), Remedy::program("mkfs.ntfs").then(", and load the fuse module"))
        })
    }

    /// The directory of dm-crypt's parameters.
    pub(crate) fn dm_crypt(&self) -> PathBuf {
        self.dm_crypt.clone()
    }

    /// The parameters that the kernel's dm-crypt has.
    pub(crate) fn dm_crypt_parameters(&self) -> Vec<String> {
        let names = fs::read_dir(&self.dm_crypt).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Whether dm-inlinecrypt is loaded, can be loaded, or is built into the kernel.
    pub(crate) fn has_inline_crypto(&self) -> bool {
        let built_in = fs::read_to_string(self.modules.join("modules.builtin"));
        self.loaded.join("dm_inlinecrypt").exists()
            || self.has_module("dm-inlinecrypt")
            || built_in.is_ok_and(|list| list.contains("/dm-inlinecrypt.ko"))
    }

    /// The reason why no ublk device can be created, if any. Creating a device loads the driver.
    pub(crate) fn lacks_ublk(&self) -> Option<(String, Remedy)> {
        if !self.root {
            return Some(("ublk devices require root".to_owned(), "run as root".into()));
        }
        let is_there = self.ublk.exists() || self.has_module("ublk_drv");
        (!is_there).then(|| {
            let reason =
                format!("this kernel has no ublk: no {} and no module ublk_drv", shown(&self.ublk));
            let remedy = "run Linux 6.5 or later with CONFIG_BLK_DEV_UBLK, or use transport=auto";
            (reason, remedy.into())
        })
    }

    /// The reason why FUSE does not support io_uring, if any.
    pub(crate) fn lacks_fuse_uring(&self) -> Option<(String, Remedy)> {
        let switch = self.loaded.join("fuse/parameters/enable_uring");
        (!switch.exists()).then(|| {
            let reason = format!("this kernel has no FUSE over io_uring: no {}", shown(&switch));
            let remedy = "run Linux 6.14 or later with CONFIG_FUSE_IO_URING, or use transport=auto";
            (reason, remedy.into())
        })
    }

    /// The reason why loop devices cannot be used, if any.
    pub(crate) fn lacks_loop_devices(&self) -> Option<Availability> {
        if !self.root {
            return Some(Availability::without(
                "loop devices and mounts require root",
                "run as root",
            ));
        }
        (!Path::new("/dev/loop-control").exists()).then(|| {
            Availability::without(
                "/dev/loop-control does not exist",
                "load the loop module (modprobe loop)",
            )
        })
    }

    /// The reason why a disk cannot be set up through a loop device, if any.
    pub(crate) fn lacks_disks(&self) -> Option<Availability> {
        if let Some(program) = self.missing(&["losetup", "mount", "mkfs.ext4"]) {
            return Some(Availability::without(
                format!("{program} is not installed"),
                Remedy::program(program),
            ));
        }
        if !Path::new("/dev/loop-control").exists() {
            let remedy = "load the loop module (modprobe loop)";
            return Some(Availability::without("/dev/loop-control does not exist", remedy));
        }
        (!self.root)
            .then(|| Availability::without("loop devices and mounts require root", "run as root"))
    }

    /// The reason why a disk cannot be set up through device mapper, if any.
    pub(crate) fn lacks_device_mapper(&self) -> Option<Availability> {
        if !mapping::in_kernel() {
            let control = match Path::new("/dev/mapper/control").exists() {
                true => "/dev/mapper/control has no driver",
                false => "/dev/mapper/control does not exist",
            };
            return Some(Availability::without(
                format!(
                    "this kernel has no device mapper ({control}, and /proc/misc does not list it)"
                ),
                "modprobe dm_mod; if that module does not exist, run a kernel with CONFIG_BLK_DEV_DM and \
                 CONFIG_DM_CRYPT",
            ));
        }
        if self.missing(&["dmsetup"]).is_some() {
            let remedy = Remedy::program("dmsetup");
            return Some(Availability::without("dmsetup is not installed", remedy));
        }
        self.lacks_disks()
    }
}
