//! The arguments of `cryptbench volume`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use crate::units::{bytes, duration};

#[derive(Debug, Subcommand)]
pub enum VolumeCommand {
    /// Create a VeraCrypt, TrueCrypt, LUKS1, LUKS2 or BitLocker volume in a file or on a device
    ///
    /// VeraCrypt and TrueCrypt volumes are filled with random data; LUKS and BitLocker volumes are filled only
    /// with --fill. In a volume that is not filled, earlier data stays readable, and anyone can see how much of the
    /// volume is used.
    Create(CreateArgs),
    /// Identify a file, device or directory, and show what its header reveals without a key
    Info(InfoArgs),
    /// Decrypt a whole volume to a file or standard output, or an eCryptfs directory to a new directory
    Dump(DumpArgs),
    /// Mount a volume: its file system if you are root, otherwise its plaintext as a single file
    Mount(MountArgs),
    /// Serve a mounted volume in the background; used by `mount`, which sends the secrets on standard input
    #[command(hide = true)]
    Keep(MountArgs),
    /// Unmount a volume
    #[command(visible_alias = "unmount")]
    Umount(UmountArgs),
    /// Add, change or remove the credentials of a volume
    Key(KeyArgs),
    /// Back up the header of a volume; without its header, a volume cannot be opened
    HeaderBackup(HeaderBackupArgs),
    /// Restore a header from a backup, or a damaged header from its copy in the volume
    HeaderRestore(HeaderRestoreArgs),
    /// Serve the plaintext of a volume over NBD on a Unix socket
    Export(ExportArgs),
}

/// Arguments for a passphrase, key files and a PIM; each set of credentials has its own prefix.
macro_rules! secret_arguments {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $whose:literal, $pim:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, ClapArgs)]
        #[group(skip)]
        pub struct $name {
            #[arg(
                id = concat!($prefix, "passphrase-fd"),
                long = concat!($prefix, "passphrase-fd"),
                value_name = "FD",
                conflicts_with = concat!($prefix, "passphrase-file"),
                help = concat!("Read ", $whose, " passphrase from this file descriptor until end of file")
            )]
            pub passphrase_fd: Option<u32>,
            #[arg(
                id = concat!($prefix, "passphrase-file"),
                long = concat!($prefix, "passphrase-file"),
                value_name = "FILE",
                help = concat!("Read ", $whose, " passphrase from this file; one trailing newline is removed")
            )]
            pub passphrase_file: Option<PathBuf>,
            #[arg(
                id = concat!($prefix, "keyfile"),
                long = concat!($prefix, "keyfile"),
                value_name = "FILE",
                help = concat!(
                    "Key file for ", $whose, " credentials (repeatable); VeraCrypt, TrueCrypt: also a directory whose \
                     files are all used; FileVault: the volume key, or a Mac's EncryptedRoot.plist.wipekey"
                )
            )]
            pub keyfile: Vec<PathBuf>,
            #[arg(
                id = concat!($prefix, "keyfile-offset"),
                long = concat!($prefix, "keyfile-offset"),
                value_name = "BYTES",
                value_parser = bytes,
                requires = concat!($prefix, "keyfile"),
                help = concat!("LUKS: skip this many bytes at the start of ", $whose, " key file")
            )]
            pub keyfile_offset: Option<u64>,
            #[arg(
                id = concat!($prefix, "keyfile-size"),
                long = concat!($prefix, "keyfile-size"),
                value_name = "BYTES",
                value_parser = bytes,
                requires = concat!($prefix, "keyfile"),
                help = concat!("LUKS: use only this many bytes of ", $whose, " key file")
            )]
            pub keyfile_size: Option<u64>,
            #[arg(
                id = concat!($prefix, "pim"),
                long = concat!($prefix, "pim"),
                value_name = "N",
                help = concat!("VeraCrypt: PIM for ", $whose, " credentials", $pim)
            )]
            pub pim: Option<u32>,
        }

        impl From<&$name> for SecretSource {
            fn from(args: &$name) -> Self {
                Self {
                    passphrase_fd: args.passphrase_fd,
                    passphrase_file: args.passphrase_file.clone(),
                    keyfiles: args.keyfile.clone(),
                    keyfile_offset: args.keyfile_offset,
                    keyfile_size: args.keyfile_size,
                    pim: args.pim,
                    ..Self::default()
                }
            }
        }
    };
}

/// Where credentials come from.
#[derive(Clone, Debug, Default)]
pub struct SecretSource {
    pub passphrase_fd: Option<u32>,
    pub passphrase_file: Option<PathBuf>,
    pub keyfiles: Vec<PathBuf>,
    pub keyfile_offset: Option<u64>,
    pub keyfile_size: Option<u64>,
    pub pim: Option<u32>,
    pub recovery_password_file: Option<PathBuf>,
    pub startup_key: Option<PathBuf>,
    /// No credentials are needed.
    pub needless: bool,
    /// The whole key file is used, not only its first MiB.
    pub whole: bool,
}

secret_arguments!(
    /// Credentials of the volume.
    SecretArgs,
    "",
    "the volume's",
    ""
);
secret_arguments!(
    /// New credentials of the volume.
    NewSecretArgs,
    "new-",
    "the new",
    " [default: unchanged; 0: the default cost]"
);
secret_arguments!(
    /// Credentials of the outer volume, in which a hidden one is created.
    OuterSecretArgs,
    "outer-",
    "the outer volume's",
    ""
);
secret_arguments!(
    /// Credentials of the hidden volume that is protected, or whose header is also backed up.
    HiddenSecretArgs,
    "hidden-",
    "the hidden volume's",
    ""
);

/// Options that specify the volume and how to open it.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct UnlockArgs {
    /// File or device that contains the volume; `info` and `dump` also accept an eCryptfs lower directory
    pub volume: PathBuf,
    #[command(flatten)]
    pub secret: SecretArgs,
    /// LUKS: file or device with the detached header. With --system and a partition: its disk or, if that is not
    /// available, a copy of the disk's sector 62
    #[arg(long, value_name = "FILE")]
    pub header: Option<PathBuf>,
    /// Number of the partition that contains the volume, on a disk or in a disk image
    #[arg(long, value_name = "N", conflicts_with = "offset")]
    pub partition: Option<u32>,
    /// Offset of the volume in the file or device, in bytes
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub offset: Option<u64>,
    /// LUKS: try only this keyslot, even if its priority is `ignore`
    #[arg(long, value_name = "N")]
    pub key_slot: Option<u32>,
    /// BitLocker, FileVault: read the recovery password from this file, such as the text file that Windows saves
    #[arg(long, value_name = "FILE")]
    pub recovery_password_file: Option<PathBuf>,
    /// BitLocker: startup key, a file with a name that ends in .BEK
    #[arg(long, value_name = "FILE")]
    pub startup_key: Option<PathBuf>,
    /// The format, if it cannot be detected: luks, bitlocker, filevault2, veracrypt, truecrypt or freeotfe [default: the
    /// first three are recognised by their headers; otherwise VeraCrypt and TrueCrypt are tried]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// VeraCrypt, TrueCrypt: the PRF, or argon2id [default: all are tried, which takes longer]
    #[arg(long, value_name = "NAME")]
    pub prf: Option<String>,
    /// VeraCrypt, TrueCrypt: use the hidden volume
    #[arg(long)]
    pub hidden: bool,
    /// VeraCrypt, TrueCrypt: the volume is a disk with system encryption or, with --header, one of its partitions
    #[arg(long)]
    pub system: bool,
    /// Use the backup header at the end of a VeraCrypt or TrueCrypt volume, or the secondary header of LUKS2
    #[arg(long)]
    pub backup_header: bool,
    #[command(flatten)]
    pub confinement: ConfinementArgs,
}

/// Confinement of the process that reads the header.
#[derive(Clone, Debug, Default, ClapArgs)]
#[group(skip)]
pub struct ConfinementArgs {
    /// Continue even if the process that reads the header cannot be confined; only for volumes from people you trust
    #[arg(long)]
    pub unconfined: bool,
}

impl From<&UnlockArgs> for SecretSource {
    fn from(args: &UnlockArgs) -> Self {
        Self {
            recovery_password_file: args.recovery_password_file.clone(),
            startup_key: args.startup_key.clone(),
            ..(&args.secret).into()
        }
    }
}

/// Formats that can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Opens in VeraCrypt on Linux, Windows and macOS
    Veracrypt,
    /// Format of TrueCrypt 7, for old computers
    Truecrypt,
    /// Opens on any Linux from the last 15 years
    Luks1,
    /// Current format of Linux
    Luks2,
    /// Format of Windows; cryptsetup and dislocker can also open it
    Bitlocker,
}

/// File systems that can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileSystemArg {
    Ext4,
    Xfs,
    Btrfs,
    Vfat,
    Exfat,
    Ntfs,
}

#[derive(Debug, ClapArgs)]
pub struct CreateArgs {
    /// New file, or a device (repeat its path with --destroy)
    pub volume: PathBuf,
    /// Size of the new file, headers included
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub size: Option<u64>,
    /// The format
    #[arg(long, value_enum, default_value_t = FormatArg::Veracrypt)]
    pub format: FormatArg,
    #[command(flatten)]
    pub secret: SecretArgs,
    /// BitLocker: file with a recovery password, which unlocks the volume in addition to the passphrase, or instead of it
    /// if none is given. If the file does not exist, it is created with a new password
    #[arg(long, value_name = "FILE")]
    pub recovery_password_file: Option<PathBuf>,
    /// The cipher: a name from `cryptbench ciphers --list` (LUKS: also a dm-crypt name; BitLocker: also aes-128-cbc and
    /// aes-256-cbc, with or without -elephant) [default: AES-256-XTS; BitLocker: AES-128-XTS]
    #[arg(long, value_name = "NAME", value_parser = crate::units::cipher)]
    pub cipher: Option<String>,
    /// The PRF, or argon2id [default: sha-512; LUKS1: sha-256; LUKS2: argon2id]
    #[arg(long, value_name = "NAME")]
    pub prf: Option<String>,
    /// LUKS: time that unlocking should take on this machine
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub unlock_time: Duration,
    /// LUKS2, BitLocker, VeraCrypt, TrueCrypt: sector size [default: for LUKS2 4096 if the size and the device allow
    /// it; otherwise the sector size of the disk, or 512 in a file]
    #[arg(long, value_name = "BYTES")]
    pub sector_size: Option<u32>,
    /// LUKS2: label of the volume
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub label: String,
    /// VeraCrypt, TrueCrypt: do not fill the volume with random data. Earlier data stays readable, and anyone can see how
    /// much of the volume is used
    #[arg(long)]
    pub quick: bool,
    /// LUKS, BitLocker: fill the volume with encrypted zeros. Otherwise earlier data stays readable, and anyone can see how
    /// much of the volume is used
    #[arg(long, conflicts_with = "quick")]
    pub fill: bool,
    /// Create a hidden volume of --size bytes at the end of this VeraCrypt or TrueCrypt volume; repeat the volume's path
    /// with --destroy, because data there is lost
    #[arg(long, requires_all = ["size", "destroy"], conflicts_with = "quick")]
    pub hidden: bool,
    #[command(flatten)]
    pub outer: OuterSecretArgs,
    /// Create a file system in the volume
    #[arg(long, value_enum, value_name = "NAME")]
    pub mkfs: Option<FileSystemArg>,
    /// Destroy all data on this device or in this file, which must be the same as VOLUME
    #[arg(long, value_name = "VOLUME")]
    pub destroy: Option<PathBuf>,
    #[command(flatten)]
    pub confinement: ConfinementArgs,
}

#[derive(Debug, ClapArgs)]
pub struct InfoArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// eCryptfs: file with the wrapped mount passphrase, such as `.ecryptfs/wrapped-passphrase`; the passphrase to
    /// specify is then the login passphrase
    #[arg(long, value_name = "FILE")]
    pub wrapped_passphrase: Option<PathBuf>,
    /// Also open the volume, and show details that require the key
    #[arg(long)]
    pub open: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct DumpArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// eCryptfs: file with the wrapped mount passphrase, such as `.ecryptfs/wrapped-passphrase`; the passphrase to
    /// specify is then the login passphrase
    #[arg(long, value_name = "FILE")]
    pub wrapped_passphrase: Option<PathBuf>,
    /// New file for the plaintext, or - for standard output; for an eCryptfs directory, a new directory
    #[arg(required_unless_present = "list")]
    pub output: Option<PathBuf>,
    /// eCryptfs: only print names and sizes
    #[arg(long, conflicts_with_all = ["output", "resume"])]
    pub list: bool,
    /// If interrupted, keep the partial output as OUTPUT.partial; repeat the command to continue
    #[arg(long)]
    pub resume: bool,
}

#[derive(Debug, ClapArgs)]
pub struct MountArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// Empty directory to use as mount point
    pub mountpoint: PathBuf,
    /// Do not write to the volume
    #[arg(long, short)]
    pub read_only: bool,
    /// Show the plaintext as the file `volume` in the mount point, without mounting its file system; this is always the
    /// case for users other than root
    #[arg(long)]
    pub raw: bool,
    /// Options for mount(8), such as uid=1000 for FAT. Set-user-ID programs and device nodes on the volume do not work
    /// (nosuid, nodev); use `suid` and `dev` to allow them on your own volumes
    #[arg(long, short, value_name = "LIST")]
    pub options: Option<String>,
    /// VeraCrypt, TrueCrypt: refuse writes that would damage the hidden volume; specify its credentials with the
    /// --hidden- options
    #[arg(long, conflicts_with_all = ["hidden", "read_only"])]
    pub protect_hidden: bool,
    #[command(flatten)]
    pub protected: HiddenSecretArgs,
    /// Let other users access the mount
    #[arg(long)]
    pub allow_other: bool,
    /// How the kernel passes requests to the server process
    #[arg(long, value_enum, default_value = "auto")]
    pub transport: Transport,
    /// Stay in the foreground until a signal arrives or the volume is unmounted
    #[arg(long)]
    pub foreground: bool,
}

/// How requests reach the server process.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Transport {
    /// The first of ublk, io_uring and /dev/fuse that the kernel supports
    Auto,
    /// A ublk block device (Linux 6.5 with ublk_drv; needs root), or an error
    Ublk,
    /// FUSE over io_uring (Linux 6.14), or an error
    #[value(name = "io-uring")]
    Uring,
    /// Threads that read /dev/fuse
    Device,
}

impl From<Transport> for cryptbench_export::fuse::Transport {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Auto | Transport::Ublk => Self::Auto,
            Transport::Uring => Self::Uring,
            Transport::Device => Self::Device,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct UmountArgs {
    /// The mount point, or the volume
    pub what: PathBuf,
    /// Kill a server process that does not respond; data that it has not written is lost
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct KeyArgs {
    #[command(subcommand)]
    pub command: KeyCommand,
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// LUKS: add a passphrase or key file that unlocks the volume
    Add(ChangeKeyArgs),
    /// Replace the credentials that unlock the volume
    Change(ChangeKeyArgs),
    /// LUKS: remove a passphrase or key file, or a keyslot by its number
    Remove(RemoveKeyArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ChangeKeyArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    #[command(flatten)]
    pub new: NewSecretArgs,
    /// The new PRF, or argon2id [default: unchanged; LUKS2: argon2id]
    #[arg(long, value_name = "NAME")]
    pub new_prf: Option<String>,
    /// LUKS: time that unlocking should take on this machine
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub unlock_time: Duration,
    /// LUKS: keyslot for the new key [default: the first free one; for `change` with LUKS2, that of the old key]
    #[arg(long, value_name = "N", alias = "keyslot")]
    pub new_key_slot: Option<u32>,
    /// LUKS, for `change`: overwrite the old key if there is no room for both. An interruption can then destroy both,
    /// so back up the header first
    #[arg(long)]
    pub in_place: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RemoveKeyArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// Remove this keyslot; its passphrase is not needed
    #[arg(long, value_name = "N", conflicts_with = "key_slot")]
    pub keyslot: Option<u32>,
    /// Remove even the last keyslot: nobody can open the volume afterwards
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct HeaderBackupArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// New file for the header backup
    pub output: PathBuf,
    /// VeraCrypt, TrueCrypt: also back up the hidden volume's header
    #[arg(long)]
    pub with_hidden: bool,
    #[command(flatten)]
    pub hidden_secret: HiddenSecretArgs,
}

#[derive(Debug, ClapArgs)]
pub struct HeaderRestoreArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// Header backup [default: the backup header in the volume]
    pub backup: Option<PathBuf>,
    /// Overwrite existing data even if nothing shows that the header belongs to this volume
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// Unix socket to listen on; it is created with access for this user only
    #[arg(long, value_name = "SOCKET")]
    pub nbd: PathBuf,
    /// Do not write to the volume
    #[arg(long, short)]
    pub read_only: bool,
    /// Pass discards (TRIM) down to the underlying storage. Anyone who can read that storage then sees which parts of the
    /// volume are unused
    #[arg(long)]
    pub discard: bool,
}
