//! The arguments of `cryptbench volume`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use crate::units::{bytes, duration};

#[derive(Debug, Subcommand)]
pub enum VolumeCommand {
    /// Create a VeraCrypt, TrueCrypt, LUKS1, LUKS2 or BitLocker volume in a file or on a device
    ///
    /// VeraCrypt and TrueCrypt volumes are filled with random data, LUKS and BitLocker volumes only with
    /// --fill. What is not filled keeps earlier data readable, and shows how much of it is used.
    Create(CreateArgs),
    /// Show what a file, device or directory is, and what its header says without a key
    Info(InfoArgs),
    /// Write the whole plaintext of a volume to a file or standard output, or of an eCryptfs directory to a directory
    Dump(DumpArgs),
    /// Mount a volume: its file system as root, its plaintext as one file otherwise
    Mount(MountArgs),
    /// Keep a mounted volume in the background, for `mount`, which sends the secrets on standard input
    #[command(hide = true)]
    Keep(MountArgs),
    /// Unmount a volume
    #[command(visible_alias = "unmount")]
    Umount(UmountArgs),
    /// Add, remove or change what unlocks a volume
    Key(KeyArgs),
    /// Save the header of a volume, without which nothing opens it
    HeaderBackup(HeaderBackupArgs),
    /// Put a saved header back, or VeraCrypt's and TrueCrypt's own backup within the volume
    HeaderRestore(HeaderRestoreArgs),
    /// Serve the plaintext of a volume over NBD on a unix socket
    Export(ExportArgs),
}

/// Arguments that say where a passphrase, key files and a PIM come from; each set has its own prefix.
macro_rules! secret_arguments {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $whose:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, ClapArgs)]
        #[group(skip)]
        pub struct $name {
            #[arg(
                id = concat!($prefix, "passphrase-fd"),
                long = concat!($prefix, "passphrase-fd"),
                value_name = "FD",
                conflicts_with = concat!($prefix, "passphrase-file"),
                help = concat!("Read ", $whose, " passphrase from this file descriptor, to its end")
            )]
            pub passphrase_fd: Option<u32>,
            #[arg(
                id = concat!($prefix, "passphrase-file"),
                long = concat!($prefix, "passphrase-file"),
                value_name = "FILE",
                help = concat!("Read ", $whose, " passphrase from this file; one newline at its end is dropped")
            )]
            pub passphrase_file: Option<PathBuf>,
            #[arg(
                id = concat!($prefix, "keyfile"),
                long = concat!($prefix, "keyfile"),
                value_name = "FILE",
                help = concat!(
                    "A key file of ", $whose, " credentials (repeatable); for VeraCrypt and TrueCrypt also a directory, whose \
                     files all count; for FileVault the volume key, or a Mac's EncryptedRoot.plist.wipekey"
                )
            )]
            pub keyfile: Vec<PathBuf>,
            #[arg(
                id = concat!($prefix, "keyfile-offset"),
                long = concat!($prefix, "keyfile-offset"),
                value_name = "BYTES",
                value_parser = bytes,
                requires = concat!($prefix, "keyfile"),
                help = concat!("LUKS: skip these bytes at the start of ", $whose, " key file")
            )]
            pub keyfile_offset: Option<u64>,
            #[arg(
                id = concat!($prefix, "keyfile-size"),
                long = concat!($prefix, "keyfile-size"),
                value_name = "BYTES",
                value_parser = bytes,
                requires = concat!($prefix, "keyfile"),
                help = concat!("LUKS: use only these bytes of ", $whose, " key file")
            )]
            pub keyfile_size: Option<u64>,
            #[arg(
                id = concat!($prefix, "pim"),
                long = concat!($prefix, "pim"),
                value_name = "N",
                help = concat!("VeraCrypt: PIM of ", $whose, " credentials")
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
    /// The volume opens without credentials.
    pub needless: bool,
    /// All of a key file counts, not only its start.
    pub whole: bool,
}

secret_arguments!(
    /// What unlocks the volume.
    SecretArgs,
    "",
    "the volume's"
);
secret_arguments!(
    /// What unlocks it from now on.
    NewSecretArgs,
    "new-",
    "the new"
);
secret_arguments!(
    /// What unlocks the outer volume, in which a hidden one is created.
    OuterSecretArgs,
    "outer-",
    "the outer volume's"
);
secret_arguments!(
    /// What unlocks the hidden volume that must not be written to, or that is saved too.
    HiddenSecretArgs,
    "hidden-",
    "the hidden volume's"
);

/// Which volume, and how to open it.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct UnlockArgs {
    /// File or device that holds the volume; for `info` and `dump` also a lower directory of eCryptfs
    pub volume: PathBuf,
    #[command(flatten)]
    pub secret: SecretArgs,
    /// LUKS: the header is in this file or on this device instead of before the data; with --system: the disk, or a copy of its
    /// sector 62, to open a partition that was copied alone
    #[arg(long, value_name = "FILE")]
    pub header: Option<PathBuf>,
    /// The volume is this partition of the disk or disk image
    #[arg(long, value_name = "N", conflicts_with = "offset")]
    pub partition: Option<u32>,
    /// The volume begins at this byte of the file or device
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub offset: Option<u64>,
    /// LUKS: try only this keyslot, also one with the priority `ignore`
    #[arg(long, value_name = "N")]
    pub key_slot: Option<u32>,
    /// BitLocker, FileVault: read the recovery password from this file, which may be the text that Windows saves
    #[arg(long, value_name = "FILE")]
    pub recovery_password_file: Option<PathBuf>,
    /// BitLocker: the startup key, a file whose name ends in .BEK
    #[arg(long, value_name = "FILE")]
    pub startup_key: Option<PathBuf>,
    /// The format, where detection cannot decide: luks, bitlocker, filevault2, veracrypt, truecrypt or freeotfe [default:
    /// the first three by their headers, otherwise VeraCrypt or TrueCrypt, whichever opens]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// VeraCrypt, TrueCrypt: the PRF, or argon2id; without it all are tried, which takes longer
    #[arg(long, value_name = "NAME")]
    pub prf: Option<String>,
    /// VeraCrypt, TrueCrypt: the hidden volume
    #[arg(long)]
    pub hidden: bool,
    /// VeraCrypt, TrueCrypt: an encrypted system's whole disk, or with --header one of its partitions
    #[arg(long)]
    pub system: bool,
    /// Use the backup header: VeraCrypt's and TrueCrypt's at the end, LUKS2's second one
    #[arg(long)]
    pub backup_header: bool,
    #[command(flatten)]
    pub confinement: ConfinementArgs,
}

/// How far the process that reads the header is confined.
#[derive(Clone, Debug, Default, ClapArgs)]
#[group(skip)]
pub struct ConfinementArgs {
    /// Go on where the process that reads the header cannot be confined: only for volumes of people whom you trust
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
    /// TrueCrypt 7's, for old machines
    Truecrypt,
    /// Opens on any Linux of the last 15 years
    Luks1,
    /// Linux's current one
    Luks2,
    /// Windows' own; cryptsetup and dislocker open it too
    Bitlocker,
}

/// File systems that can be made.
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
    /// A new file, or a device (then --destroy names it again)
    pub volume: PathBuf,
    /// Size of the new file, headers included
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub size: Option<u64>,
    /// The format
    #[arg(long, value_enum, default_value_t = FormatArg::Veracrypt)]
    pub format: FormatArg,
    #[command(flatten)]
    pub secret: SecretArgs,
    /// BitLocker: a recovery password that opens the volume, beside the passphrase or alone if none is
    /// given; it is read from this file, or made and written to it if there is no such file
    #[arg(long, value_name = "FILE")]
    pub recovery_password_file: Option<PathBuf>,
    /// The cipher: a name of `cryptbench ciphers --list`, for LUKS as dm-crypt writes it, or for BitLocker
    /// also aes-128-cbc, aes-256-cbc, and these with -elephant [default: AES-256-XTS; BitLocker:
    /// AES-128-XTS]
    #[arg(long, value_name = "NAME", value_parser = crate::units::cipher)]
    pub cipher: Option<String>,
    /// The PRF, or argon2id [default: sha-512; LUKS1: sha-256; LUKS2: argon2id]
    #[arg(long, value_name = "NAME")]
    pub prf: Option<String>,
    /// LUKS: time that unlocking should take on this machine
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub unlock_time: Duration,
    /// LUKS2, BitLocker, VeraCrypt, TrueCrypt: bytes of a sector [default: LUKS2 4096 where size and device allow, otherwise the
    /// disk's, or 512 in a file]
    #[arg(long, value_name = "BYTES")]
    pub sector_size: Option<u32>,
    /// LUKS2: a name
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub label: String,
    /// VeraCrypt, TrueCrypt: do not fill the volume with random data; earlier data there stays
    /// readable, and anyone can see how much of the volume is used
    #[arg(long)]
    pub quick: bool,
    /// LUKS, BitLocker: fill the volume with encrypted zeros, as VeraCrypt does by default; without it
    /// earlier data there stays readable, and anyone can see how much of the volume is used
    #[arg(long, conflicts_with = "quick")]
    pub fill: bool,
    /// Create a hidden volume of --size bytes at the end of this VeraCrypt or TrueCrypt volume; --destroy
    /// must name the volume again, because data there is lost
    #[arg(long, requires_all = ["size", "destroy"], conflicts_with = "quick")]
    pub hidden: bool,
    #[command(flatten)]
    pub outer: OuterSecretArgs,
    /// Make a file system on it
    #[arg(long, value_enum, value_name = "NAME")]
    pub mkfs: Option<FileSystemArg>,
    /// Destroy everything on this device or in this file, which must be the volume named before
    #[arg(long, value_name = "VOLUME")]
    pub destroy: Option<PathBuf>,
    #[command(flatten)]
    pub confinement: ConfinementArgs,
}

#[derive(Debug, ClapArgs)]
pub struct InfoArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// eCryptfs: the passphrase is that of the login, and this file has the mount's, as `.ecryptfs/wrapped-passphrase` does
    #[arg(long, value_name = "FILE")]
    pub wrapped_passphrase: Option<PathBuf>,
    /// Open it too, and show what only the key reveals
    #[arg(long)]
    pub open: bool,
    /// Print an object instead of lines
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct DumpArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// eCryptfs: the passphrase is that of the login, and this file has the mount's, as `.ecryptfs/wrapped-passphrase` does
    #[arg(long, value_name = "FILE")]
    pub wrapped_passphrase: Option<PathBuf>,
    /// A new file for the plaintext, or - for standard output; a new directory for that of a directory
    #[arg(required_unless_present = "list")]
    pub output: Option<PathBuf>,
    /// eCryptfs: print names and sizes instead
    #[arg(long, conflicts_with_all = ["output", "resume"])]
    pub list: bool,
    /// Keep what an interruption leaves, as OUTPUT.partial, and go on with it when the command is repeated
    #[arg(long)]
    pub resume: bool,
}

#[derive(Debug, ClapArgs)]
pub struct MountArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// An empty directory
    pub mountpoint: PathBuf,
    /// Write nothing
    #[arg(long, short)]
    pub read_only: bool,
    /// The plaintext as the file `volume` in the mount point, without a file system; for ordinary users it
    /// is always like this
    #[arg(long)]
    pub raw: bool,
    /// Options for mount(8), such as uid=1000 for FAT. Set-user-ID programs and device nodes on the volume do not work
    /// (nosuid, nodev): `suid` and `dev` allow them, on a volume of your own
    #[arg(long, short, value_name = "LIST")]
    pub options: Option<String>,
    /// VeraCrypt, TrueCrypt: refuse writes that would damage the hidden volume, whose credentials the
    /// --hidden- options give
    #[arg(long, conflicts_with_all = ["hidden", "read_only"])]
    pub protect_hidden: bool,
    #[command(flatten)]
    pub protected: HiddenSecretArgs,
    /// Let other users reach the mount
    #[arg(long)]
    pub allow_other: bool,
    /// How the kernel passes requests to the serving process
    #[arg(long, value_enum, default_value = "auto")]
    pub transport: Transport,
    /// Stay in the foreground, until a signal comes or the volume is unmounted
    #[arg(long)]
    pub foreground: bool,
}

/// How requests arrive.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Transport {
    /// ublk, io_uring or /dev/fuse: the first one that the kernel has
    Auto,
    /// A disk of the kernel (Linux 6.5 with ublk_drv; needs root), or an error
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
    /// End a process that serves the volume and does not answer; what it has not written is lost
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
    /// LUKS: let another passphrase or key file unlock the volume too
    Add(ChangeKeyArgs),
    /// Replace what unlocks the volume
    Change(ChangeKeyArgs),
    /// LUKS: remove what unlocks the volume, or a keyslot by its number
    Remove(RemoveKeyArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ChangeKeyArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    #[command(flatten)]
    pub new: NewSecretArgs,
    /// The new PRF, or argon2id [default: as before; LUKS2: argon2id]
    #[arg(long, value_name = "NAME")]
    pub new_prf: Option<String>,
    /// LUKS: time that unlocking is to take on this machine
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub unlock_time: Duration,
    /// LUKS: the keyslot of the new key [default: the first free one; for LUKS2's `change` that of the old key]
    #[arg(long, value_name = "N", alias = "keyslot")]
    pub new_key_slot: Option<u32>,
    /// LUKS, for `change`: write over the old key where there is no room beside it. An interruption can then lose both, so save
    /// the header before
    #[arg(long)]
    pub in_place: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RemoveKeyArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// Remove this keyslot, without its passphrase
    #[arg(long, value_name = "N", conflicts_with = "key_slot")]
    pub keyslot: Option<u32>,
    /// Remove the last one too: nobody can ever open the volume again
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct HeaderBackupArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// A new file for the header
    pub output: PathBuf,
    /// VeraCrypt, TrueCrypt: save the hidden volume's header too
    #[arg(long)]
    pub with_hidden: bool,
    #[command(flatten)]
    pub hidden_secret: HiddenSecretArgs,
}

#[derive(Debug, ClapArgs)]
pub struct HeaderRestoreArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// The saved header [default: the backup within the volume]
    pub backup: Option<PathBuf>,
    /// Write over anything, even over what nothing shows to be the volume of this header
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    #[command(flatten)]
    pub unlock: UnlockArgs,
    /// The unix socket to serve on; it is created, for this user only
    #[arg(long, value_name = "SOCKET")]
    pub nbd: PathBuf,
    /// Write nothing
    #[arg(long, short)]
    pub read_only: bool,
    /// Pass TRIM on to the storage below: this shows anyone who sees the storage which parts of the
    /// volume are free
    #[arg(long)]
    pub discard: bool,
}
