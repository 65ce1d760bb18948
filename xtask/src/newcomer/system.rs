//! A new system below a directory, entered with chroot(8). Its mounts are not visible to other processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use crate::packages::mirror;

/// The location of the sources in the system, for every user.
pub const HOME: &str = "/srv/cryptbench";

/// The ordinary user.
const USER: &str = "newcomer";

/// A distribution to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// Debian 12
    Debian12,
    /// Debian 13
    Debian13,
    /// Debian 13 with the differences of an Ubuntu: Ubuntu itself is not on Debian's mirrors
    UbuntuLike,
}

impl Distribution {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debian12 => "Debian 12",
            Self::Debian13 => "Debian 13",
            Self::UbuntuLike => "Debian 13 like an Ubuntu",
        }
    }

    /// Its name in the README.
    pub const fn in_readme(self) -> &'static str {
        match self {
            Self::Debian12 => "Debian 12",
            Self::Debian13 => "Debian 13",
            Self::UbuntuLike => "Ubuntu",
        }
    }

    const fn release(self) -> &'static str {
        match self {
            Self::Debian12 => "bookworm",
            Self::Debian13 | Self::UbuntuLike => "trixie",
        }
    }

    /// The first steps of the set-up. Ubuntu has two busybox packages, and provides only a script that requires
    /// a snap for Chromium.
    const fn set_up(self) -> &'static str {
        match self {
            Self::Debian12 | Self::Debian13 => "true",
            Self::UbuntuLike => {
                "apt-get -q install --no-install-recommends busybox-static mawk sudo
                printf 'Package: chromium\\nPin: release *\\nPin-Priority: -1\\n' >/etc/apt/preferences.d/snap
                printf '#!/bin/sh\\necho >&2 \"Command requires the chromium snap\"; exit 10\\n' \
                    >/usr/bin/chromium-browser
                chmod 755 /usr/bin/chromium-browser"
            }
        }
    }
}

/// The additional software on the system, and its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Furniture {
    /// Only the README's packages; root, in the locale C, without systemd
    Bare,
    /// The usual software of root's machine: a busybox that needs libraries, gawk as well as mawk, systemd's
    /// programs, a locale
    Usual,
    /// An ordinary user without root's rights
    User,
}

impl Furniture {
    const fn set_up(self) -> &'static str {
        match self {
            Self::Bare => "true",
            Self::Usual => {
                "apt-get -q install --no-install-recommends busybox gawk locales man-db sudo systemd udev
                echo 'en_US.UTF-8 UTF-8' >/etc/locale.gen
                locale-gen"
            }
            Self::User => "id newcomer >/dev/null 2>&1 || useradd --create-home newcomer",
        }
    }

    const fn locale(self) -> &'static str {
        match self {
            Self::Usual => "en_US.UTF-8",
            Self::Bare | Self::User => "C",
        }
    }
}

/// Differences between a newcomer's system and a new one: consent to installations, and sudo, which root does
/// not need.
const HABITS: &str = "set -e; sudo() { \"$@\"; }; export DEBIAN_FRONTEND=noninteractive";

/// A directory with a system in it.
pub struct System {
    pub directory: PathBuf,
    /// Whether the system uses this machine's compiler and downloaded crates.
    pub shares: bool,
}

impl System {
    /// Unpacks the system unless it exists already; for Debian's `architecture`, if that is not the
    /// architecture of this machine.
    pub fn unpack(
        &self,
        distribution: Distribution,
        architecture: Option<&str>,
    ) -> anyhow::Result<()> {
        let (system, release) = (&self.directory, distribution.release());
        if system.join("etc/debian_version").exists() {
            return Ok(());
        }
        fs::create_dir_all(system)?;
        let mirror_of_debian = mirror("Debian")?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(architecture.map(|name| format!("--arch={name}")));
        debootstrap.args(["--variant=minbase", release]).arg(system).arg(&mirror_of_debian);
        said_well(debootstrap.stdout(Stdio::null()), "debootstrap")?;
        let sources = system.join("etc/apt/sources.list");
        // Sources for security updates and fixes, as on an installed system.
        let fixes = format!(
            "deb {mirror_of_debian} {release}-updates main\ndeb {} {release}-security main\n",
            mirror("Debian-Security")?
        );
        fs::write(&sources, fs::read_to_string(&sources)? + &fixes)?;
        fs::write(system.join("etc/apt/apt.conf.d/90yes"), "APT::Get::Assume-Yes \"true\";\n")?;
        for file in ["resolv.conf", "hosts"] {
            fs::copy(Path::new("/etc").join(file), system.join("etc").join(file))?;
        }
        self.enter(Furniture::Bare, &format!("apt-get -q update; {}", distribution.set_up()))?;
        Ok(())
    }

    /// Copies this machine's certificate authorities, because nothing else works behind a proxy with its own
    /// certificate.
    pub fn trust(&self) -> anyhow::Result<()> {
        let authorities = "etc/ssl/certs/ca-certificates.crt";
        let here = Path::new("/").join(authorities);
        if here.exists() {
            fs::copy(here, self.directory.join(authorities))?;
        }
        Ok(())
    }

    /// Clones the sources from outside the system, because a git work tree need not contain its history.
    pub fn clone_to(&self, sources: &Path) -> anyhow::Result<()> {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "clone", "--quiet", "."]).arg(sources);
        said_well(&mut git, "git clone")
    }

    /// A copy below `place`, with the same files and permissions.
    pub fn copied(&self, place: &Path) -> anyhow::Result<Self> {
        let copy = place.join("copy");
        let mut cp = Command::new("cp");
        cp.args(["--archive", "--reflink=auto"]).arg(&self.directory).arg(&copy);
        said_well(&mut cp, "cp")?;
        Ok(Self { directory: copy, shares: self.shares })
    }

    /// Installs the typical software, and gives the sources to the user.
    pub fn furnish(&self, furniture: Furniture) -> anyhow::Result<()> {
        self.enter(Furniture::Bare, furniture.set_up())?;
        if furniture == Furniture::User {
            // Shared directories are read-only.
            let others = if self.shares { "/srv/cargo" } else { "-R /srv/cargo /srv/rustup" };
            let script = format!(
                "mkdir -p /srv/cargo /srv/rustup; chown -R {USER}: {HOME}; chown {USER}: {others}"
            );
            self.enter(Furniture::Bare, &script)?;
        }
        Ok(())
    }

    /// Runs `script` in a login shell of that user, and returns the time that it took in seconds.
    pub fn enter(&self, furniture: Furniture, script: &str) -> anyhow::Result<f64> {
        // Makes the root directory a mount point, so that programs in the system find their file system.
        const MOUNTS: &str = r#"
            mount --bind "$1" "$1"
            mount --bind /proc "$1/proc"; mount --bind /sys "$1/sys"; mount --rbind /dev "$1/dev"
            shares() { mkdir -p "$2"; mount --bind "$1" "$2"; mount -o remount,bind,ro "$2"; }
            if [ -n "$4" ]; then shares "$4" "$1/srv/compiler"; shares "$5" "$1/srv/cargo/registry"; fi
            exec chroot $6 "$1" /usr/bin/env -i HOME="$7" TERM=xterm LANG="$3" \
                CARGO_HOME=/srv/cargo RUSTUP_HOME=/srv/rustup ${4:+CARGO_NET_OFFLINE=true} \
                PATH="${4:+/srv/compiler/bin:}/srv/cargo/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
                GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' bash -c "$2""#;
        println!("\n# {script}");
        let [compiler, registry] = match self.shares {
            true => shared()?,
            false => [String::new(), String::new()],
        };
        let (who, home) = match furniture {
            Furniture::User => ("--userspec=newcomer", "/home/newcomer"),
            Furniture::Bare | Furniture::Usual => ("--userspec=root", "/root"),
        };
        let begun = Instant::now();
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "--propagation", "private", "sh", "-ec", MOUNTS, "sh"]);
        shell.arg(&self.directory).arg(format!("{HABITS}; {script}"));
        shell.args([furniture.locale(), &compiler, &registry, who, home]);
        said_well(shell.stdin(Stdio::null()), script)?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// This machine's compiler and the crates that cargo has downloaded.
fn shared() -> anyhow::Result<[String; 2]> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().context("rustc")?;
    let home = std::env::var("CARGO_HOME");
    let home = home.or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))?;
    Ok([String::from_utf8(sysroot.stdout)?.trim().to_owned(), format!("{home}/registry")])
}

fn said_well(command: &mut Command, what: &str) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {what}"))?;
    if !status.success() {
        bail!("{what}: {status}");
    }
    Ok(())
}
