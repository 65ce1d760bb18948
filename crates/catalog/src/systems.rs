//! The systems, one entry each.

use crate::package::{AUR, Package, debians, everywhere};
use crate::system::{Encrypts, Facility, Family, Named, System, Weakness};

/// All systems, in the order of tables.
pub static SYSTEMS: &[&System] = &[
    &PLAIN,
    &BUILTIN,
    &BUILTIN_MOUNTED,
    &BUILTIN_RAW,
    &DM_CRYPT,
    &QEMU_LUKS,
    &NBDKIT_LUKS,
    &VERACRYPT,
    &TRUECRYPT,
    &BINDFS,
    &DELAY,
    &SERIAL,
    &SERIAL_MOUNTED,
    &PIECES,
    &PIECES_MOUNTED,
    &GOCRYPTFS,
    &ENCFS,
    &CRYFS,
    &SECUREFS,
    &RCLONE,
    &FSCRYPT,
    &ECRYPTFS,
    &BITLOCKER,
    &FILEVAULT,
    &ZFS,
    &BCACHEFS,
    &OPAL,
    &PAIRED,
];

/// A system that creates one volume, and has no further known properties.
const fn volume(name: &'static str, about: &'static str, encrypts: Encrypts) -> System {
    System {
        name,
        about,
        named: Named::ByLabel,
        family: Family::Volume,
        encrypts,
        needs: &[],
        packages: &[],
        mounted_as: None,
        files: &[],
        devices: None,
        weakness: None,
    }
}

/// A program that presents a directory of encrypted files as a directory of plaintext files.
const fn directory(name: &'static str, title: &'static str, about: &'static str) -> System {
    System {
        named: Named::Title(title),
        family: Family::Files,
        ..volume(name, about, Encrypts::Program)
    }
}

/// No encryption.
pub static PLAIN: System = volume(
    "plain",
    "no encryption: the baseline of every comparison, measured twice to show the noise",
    Encrypts::Nothing,
);

/// This program's engine.
pub static BUILTIN: System = volume(
    "builtin",
    "ciphers in this process with the sector layouts of VeraCrypt (512 B) and LUKS2 (4096 B)",
    Encrypts::Own,
);

/// The engine behind a mount.
pub static BUILTIN_MOUNTED: System = System {
    named: Named::WithLayout("cryptbench mount"),
    needs: &[(Facility::Fuse, "builtin-mounted")],
    ..volume(
        "builtin-mounted",
        "the same behind FUSE and a loop device, or as a ublk device, with ext4, as in `cryptbench volume mount`",
        Encrypts::Own,
    )
};

/// The engine behind a mount without a file system.
pub static BUILTIN_RAW: System = System {
    named: Named::WithLayout("cryptbench raw mount"),
    needs: &[(Facility::Fuse, "builtin-raw")],
    ..volume(
        "builtin-raw",
        "the same behind FUSE only, as in `cryptbench volume mount --raw`: needs no root",
        Encrypts::Own,
    )
};

/// LUKS and plain dm-crypt.
pub static DM_CRYPT: System = System {
    named: Named::ByLayout("dm-crypt", ["plain dm-crypt", "LUKS2"]),
    needs: &[(Facility::DeviceMapper, "dm-crypt")],
    packages: &[
        Package {
            debian: "cryptsetup-bin",
            programs: &["cryptsetup", "integritysetup"],
            ..everywhere("cryptsetup")
        },
        Package { debian: "dmsetup", ..everywhere("device-mapper") },
    ],
    ..volume(
        "dm-crypt",
        "the kernel's LUKS2, LUKS1 and plain dm-crypt, set up by cryptsetup on a loop device",
        Encrypts::Kernel,
    )
};

/// LUKS1 by QEMU.
pub static QEMU_LUKS: System = System {
    named: Named::Title("QEMU (LUKS1)"),
    needs: &[(Facility::Fuse, "QEMU's LUKS")],
    packages: &[
        Package {
            debian: "qemu-system-common",
            fedora: Some("/usr/bin/qemu-storage-daemon"),
            arch: None,
            suse: Some("/usr/bin/qemu-storage-daemon"),
            alpine: Some("cmd:qemu-storage-daemon"),
            elsewhere: "`pacman -F qemu-storage-daemon` finds the package",
            programs: &["qemu-storage-daemon"],
            looked_up: true,
        },
        Package { debian: "qemu-utils", programs: &["qemu-img"], ..everywhere("qemu-img") },
    ],
    ..volume(
        "qemu-luks",
        "LUKS1 in user space by qemu-storage-daemon, behind FUSE, a loop device and ext4",
        Encrypts::Program,
    )
};

/// LUKS1 by nbdkit.
pub static NBDKIT_LUKS: System = System {
    named: Named::Title("nbdkit (LUKS1)"),
    needs: &[(Facility::Fuse, "nbdkit's LUKS")],
    packages: &[
        // Alpine builds libnbd without FUSE.
        Package {
            debian: "libnbd-bin",
            arch: None,
            alpine: None,
            elsewhere: "on Arch, install libnbd from the AUR; elsewhere, build it from source",
            programs: &["nbdfuse"],
            ..everywhere("nbdfuse")
        },
        Package { arch: None, alpine: None, elsewhere: AUR, ..everywhere("nbdkit") },
    ],
    ..volume(
        "nbdkit-luks",
        "LUKS1 in user space by nbdkit's filter, behind nbdfuse, a loop device and ext4",
        Encrypts::Program,
    )
};

/// VeraCrypt's own program; no distribution packages it.
pub static VERACRYPT: System = System {
    named: Named::Where("VeraCrypt", "(own process)", ["kernel-crypto", "no"]),
    needs: &[(Facility::Fuse, "VeraCrypt"), (Facility::DeviceMapper, "VeraCrypt on the kernel")],
    mounted_as: Some("fuse.veracrypt"),
    devices: Some("veracrypt"),
    ..volume(
        "veracrypt",
        "VeraCrypt's own program, on the kernel's dm-crypt or in user space (nokernelcrypto)",
        Encrypts::Kernel,
    )
};

/// TrueCrypt's volumes.
pub static TRUECRYPT: System = System {
    named: Named::Title("TrueCrypt"),
    needs: &[(Facility::DeviceMapper, "TrueCrypt")],
    packages: &[Package { fedora: None, suse: None, alpine: None, ..everywhere("tcplay") }],
    devices: Some("truecrypt"),
    ..volume("truecrypt", "TrueCrypt volumes by tcplay on the kernel's dm-crypt", Encrypts::Kernel)
};

/// The pass-through for programs that store encrypted files in a directory.
pub static BINDFS: System = System {
    encrypts: Encrypts::Nothing,
    needs: &[(Facility::Fuse, "bindfs")],
    packages: &[Package { arch: None, elsewhere: AUR, ..everywhere("bindfs") }],
    mounted_as: Some("fuse.bindfs"),
    ..directory(
        "bindfs",
        "FUSE pass-through (bindfs)",
        "a directory through FUSE without encryption: the pass-through of gocryptfs, EncFS, CryFS and securefs",
    )
};

/// A known cost.
pub static DELAY: System = System {
    family: Family::Place,
    ..volume(
        "delay",
        "no encryption: a known delay per request and per byte, to test whether a run finds it",
        Encrypts::Nothing,
    )
};

/// A driver that handles one request at a time.
pub static SERIAL: System = System {
    family: Family::Place,
    ..volume(
        "serial",
        "no encryption: processes one request at a time, as single-threaded drivers do",
        Encrypts::Nothing,
    )
};

/// The same serial driver, behind a mount.
pub static SERIAL_MOUNTED: System = System {
    needs: &[(Facility::Fuse, "serial-mounted")],
    family: Family::Place,
    ..volume("serial-mounted", "the same behind FUSE: needs no root", Encrypts::Nothing)
};

/// A driver that splits requests into pieces.
pub static PIECES: System = System {
    family: Family::Place,
    ..volume(
        "pieces",
        "no encryption: splits requests into pieces, one after another, as drivers with small buffers do",
        Encrypts::Nothing,
    )
};

/// The same splitting driver, behind a mount.
pub static PIECES_MOUNTED: System = System {
    needs: &[(Facility::Fuse, "pieces-mounted")],
    family: Family::Place,
    ..volume("pieces-mounted", "the same behind FUSE: needs no root", Encrypts::Nothing)
};

/// gocryptfs(1).
pub static GOCRYPTFS: System = System {
    needs: &[(Facility::Fuse, "gocryptfs")],
    packages: &[everywhere("gocryptfs")],
    mounted_as: Some("fuse.gocryptfs"),
    files: &["gocryptfs.conf", "gocryptfs.diriv"],
    ..directory(
        "gocryptfs",
        "gocryptfs",
        "an encrypted directory, each file in authenticated blocks of 4 KiB",
    )
};

/// encfs(1).
pub static ENCFS: System = System {
    named: Named::WithValue("EncFS", "preset"),
    needs: &[(Facility::Fuse, "EncFS")],
    packages: &[Package { fedora: Some("fuse-encfs"), ..everywhere("encfs") }],
    mounted_as: Some("fuse.encfs"),
    files: &[".encfs6.xml"],
    weakness: Some(Weakness {
        short: "EncFS: insecure if someone sees two versions of the files (audit, 2014).",
        full: "EncFS: an audit (Taylor Hornby, 2014) found that it is not safe if someone can see two versions of the \
        files, and that anyone who can write to them can disable its integrity checks; the number, sizes, times \
        and directory tree of the files are visible.",
    }),
    ..directory("encfs", "EncFS", "an encrypted directory, each file in blocks of 1 KiB")
};

/// cryfs(1).
pub static CRYFS: System = System {
    needs: &[(Facility::Fuse, "CryFS")],
    packages: &[everywhere("cryfs")],
    mounted_as: Some("fuse.cryfs"),
    files: &["cryfs.config"],
    ..directory(
        "cryfs",
        "CryFS",
        "an encrypted directory of equal-sized blocks, which hides file sizes and the directory tree",
    )
};

/// securefs(1).
pub static SECUREFS: System = System {
    needs: &[(Facility::Fuse, "securefs")],
    packages: &[Package {
        fedora: None,
        arch: None,
        suse: None,
        alpine: None,
        elsewhere: AUR,
        ..everywhere("securefs")
    }],
    mounted_as: Some("fuse.securefs"),
    // In each of its formats.
    files: &[".securefs.json", ".securefs.pb", ".config.pb"],
    ..directory(
        "securefs",
        "securefs",
        "an encrypted directory, each file in authenticated blocks, in securefs' lite format",
    )
};

/// rclone(1) with its "crypt" remote over a local directory.
pub static RCLONE: System = System {
    needs: &[(Facility::Fuse, "rclone")],
    packages: &[everywhere("rclone")],
    mounted_as: Some("fuse.rclone"),
    ..directory(
        "rclone",
        "rclone crypt",
        "an encrypted directory, each file in authenticated blocks of 64 KiB, behind a cache of plaintext",
    )
};

/// The kernel's encryption of directories.
pub static FSCRYPT: System = System {
    encrypts: Encrypts::Kernel,
    ..directory(
        "fscrypt",
        "fscrypt",
        "a directory that the kernel's file system encrypts, on a separate ext4 or on the target",
    )
};

/// The kernel's stacked file system.
pub static ECRYPTFS: System = System {
    encrypts: Encrypts::Kernel,
    packages: &[Package { programs: &["ecryptfs-add-passphrase"], ..everywhere("ecryptfs-utils") }],
    mounted_as: Some("ecryptfs"),
    weakness: Some(Weakness {
        short: "eCryptfs: decrypts altered data without an error, and is barely maintained in the kernel.",
        full: "eCryptfs: the number, sizes, times and directory tree of the files are visible, and altered data is \
        decrypted without an error; the kernel's MAINTAINERS file lists it with the status Odd Fixes.",
    }),
    ..directory("ecryptfs", "eCryptfs", "an encrypted directory, stacked on another by the kernel")
};

/// Windows' own, by cryptsetup or dislocker(1).
pub static BITLOCKER: System = System {
    named: Named::Title("BitLocker"),
    needs: &[(Facility::DeviceMapper, "BitLocker")],
    packages: &[Package {
        fedora: Some("fuse-dislocker"),
        arch: None,
        suse: Some("/usr/bin/dislocker-fuse"),
        elsewhere: AUR,
        ..everywhere("dislocker")
    }],
    mounted_as: Some("fuse.dislocker"),
    ..volume(
        "bitlocker",
        "your own BitLocker volume, opened by cryptsetup or dislocker",
        Encrypts::Kernel,
    )
};

/// The disk encryption of macOS before APFS.
pub static FILEVAULT: System = System {
    needs: &[(Facility::DeviceMapper, "FileVault 2")],
    ..volume(
        "filevault2",
        "your own FileVault 2 (CoreStorage) volume, opened by cryptsetup",
        Encrypts::Kernel,
    )
};

/// OpenZFS, datasets with `encryption=on`.
pub static ZFS: System = System {
    packages: &[debians("zfs-dkms", &[]), debians("zfsutils-linux", &["zpool", "zfs"])],
    ..volume("zfs", "OpenZFS with native encryption of datasets", Encrypts::Kernel)
};

/// bcachefs, formatted with `--encrypted`; Debian 12 and 13 have no package with its programs.
pub static BCACHEFS: System =
    volume("bcachefs", "bcachefs with its own encryption (ChaCha20-Poly1305)", Encrypts::Kernel);

/// A drive's own encryption.
pub static OPAL: System = volume(
    "opal",
    "a self-encrypting drive: as fast as plain storage, because it always encrypts, with its own key",
    Encrypts::Drive,
);

/// A location that the user has encrypted by any means.
pub static PAIRED: System = System {
    family: Family::Place,
    ..volume(
        "paired",
        "anything else: a location that you have encrypted in any way, compared with a plain one",
        Encrypts::Prepared,
    )
};
