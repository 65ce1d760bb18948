//! `cryptbench volume create`.

use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{AlignedBuf, BlockDevice, disk_sector};
use cryptbench_catalog::{AES_256_CBC_ESSIV, AES_256_XTS, DM_CRYPT_CIPHERS};
use cryptbench_cipher::tier;
use cryptbench_export::fuse::FuseOptions;
use cryptbench_kdf::pim::{self, VolumeKind};
use cryptbench_kdf::{Derivation, Function};
use cryptbench_os::files::allocate_or_extend;
use cryptbench_system::ServedVolume;
use cryptbench_system::provision::filesystem::{self, FileSystemKind};
use cryptbench_text::shown;
use cryptbench_volume::format::bitlocker::{self, Method, RecoveryPassword};
use cryptbench_volume::format::{luks, tcrypt};
use cryptbench_volume::{Access, Credentials, OpenOptions, Secret, Volume, VolumeError};
use indicatif::ProgressBar;

use super::args::{CreateArgs, FileSystemArg, FormatArg, SecretSource, UnlockArgs};
use super::confined::{self, Given, Task};
use super::partial::Partial;
use super::secrets::{self, Prompt};
use super::{effort, mount, resources, target, weak};
use crate::exit::Refusal;
use crate::{progress, say};

pub fn create(args: &CreateArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let luks = matches!(args.format, FormatArg::Luks1 | FormatArg::Luks2);
    let bitlocker = args.format == FormatArg::Bitlocker;
    if (luks || bitlocker) && args.hidden {
        let which = if luks { "LUKS" } else { "BitLocker" };
        bail!(VolumeError::Invalid(format!("{which} has no hidden volumes")));
    }
    if !bitlocker && args.recovery_password_file.is_some() {
        let reason = "--recovery-password-file needs --format bitlocker";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    if args.fill && !luks && !bitlocker {
        let reason = "--fill is not needed: VeraCrypt and TrueCrypt volumes are filled unless --quick is given";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    if args.hidden {
        return hidden(args, stop);
    }
    let existing = target::to_destroy(&args.volume, args.destroy.as_deref())?;
    if existing.is_some() && args.size.is_some() {
        bail!(VolumeError::Invalid(
            "--size is only for a new file, not for an existing file or device".to_owned()
        ));
    }
    // All errors in the options are reported before the first prompt, and before anything is created.
    let plan = Plan::new(args, stop)?;
    let whose = format!("the new volume {}", shown(&args.volume));
    let recovery = Recovery::new(args, stop)?;
    let source = SecretSource { needless: recovery.is_some(), ..(&args.secret).into() };
    let mut credentials = secrets::read(&source, &whose, luks, Prompt::Twice, stop)?;
    credentials.recovery_password = recovery.as_ref().map(|known| known.password.digits().into());
    plan.warn_of_weak(&credentials);
    // VeraCrypt mounts a disk only if the header specifies the disk's sector size.
    let disk_sector = existing.as_ref().and_then(disk_sector);
    let (file, opened) = match existing {
        Some(open) => (None, target::take(&args.volume, open, Access::ReadWrite, false)?),
        None => {
            let mut file = new_file(args)?;
            let open = file.file().try_clone()?;
            (Some(file), target::take(&args.volume, open, Access::ReadWrite, false)?)
        }
    };
    let bar = progress::of_bytes(0);
    let usable = plan
        .create(&*opened.device, &credentials, recovery.as_ref(), disk_sector, &bar, stop)
        .with_context(|| shown(&args.volume))?;
    drop(bar);
    let existed = file.is_none();
    if args.fill || args.mkfs.is_some() {
        let volume = open_created(args, &credentials, opened.device, usable, stop)?;
        if args.fill {
            fill(&volume, stop).with_context(|| args.volume.display().to_string())?;
        }
        if let Some(kind) = args.mkfs {
            make_file_system(args, volume, kind)?;
        }
    }
    if let Some(recovery) = &recovery {
        recovery.keep()?;
    }
    if let Some(file) = file {
        file.appear(&args.volume)?;
    }
    say::message(&format!("created {}{}", shown(&args.volume), unfilled(args, existed)));
    Ok(ExitCode::SUCCESS)
}

/// A note about the information that a volume reveals if it was not filled.
fn unfilled(args: &CreateArgs, existed: bool) -> String {
    let tcrypt = matches!(args.format, FormatArg::Veracrypt | FormatArg::Truecrypt);
    if args.fill || tcrypt && !args.quick {
        return String::new();
    }
    let old =
        if existed { "earlier data stays readable until it is overwritten, and " } else { "" };
    let remedy = if tcrypt { "leave out --quick" } else { "use --fill" };
    format!(
        "; it is not filled: {old}anyone can see how much of it has been written (to avoid this: {remedy})"
    )
}

/// Fills a new volume with zeros, which are stored encrypted, so that unused space cannot be distinguished from data.
fn fill(volume: &Volume, stop: &AtomicBool) -> Result<(), VolumeError> {
    const PIECE: u64 = 1 << 20;
    let failed = |source| VolumeError::Io { doing: "filling the volume", source };
    let bar = progress::of_bytes(volume.size());
    let mut zeros = AlignedBuf::zeroed(PIECE.min(volume.size()) as usize);
    for at in (0..volume.size()).step_by(PIECE as usize) {
        if stop.load(Ordering::Relaxed) {
            return Err(VolumeError::Stopped);
        }
        let piece = &mut zeros[..PIECE.min(volume.size() - at) as usize];
        // The buffer still contains the ciphertext of the previous piece.
        piece.fill(0);
        volume.write_scratch(at, piece).map_err(failed)?;
        bar.set_position(at + piece.len() as u64);
    }
    volume.flush().map_err(failed)
}

/// The volume to create, checked as far as possible without the device.
enum Plan<'a> {
    Tcrypt { options: Box<tcrypt::CreateOptions<'a>>, sector_size: Option<u32> },
    Luks { options: Box<luks::CreateOptions<'a>>, sector_size: Option<u32> },
    Bitlocker { options: bitlocker::CreateOptions<'a>, sector_size: Option<u32> },
}

impl<'a> Plan<'a> {
    fn new(args: &'a CreateArgs, stop: &'a AtomicBool) -> anyhow::Result<Self> {
        let version = match args.format {
            FormatArg::Veracrypt | FormatArg::Truecrypt => {
                let options = Box::new(tcrypt_options(args, stop)?);
                return Ok(Self::Tcrypt { options, sector_size: args.sector_size });
            }
            FormatArg::Bitlocker => {
                let (options, sector_size) = (bitlocker_options(args, stop)?, args.sector_size);
                return Ok(Self::Bitlocker { options, sector_size });
            }
            FormatArg::Luks1 => luks::Version::Luks1,
            FormatArg::Luks2 => luks::Version::Luks2,
        };
        let mut options = luks::CreateOptions::new(version, resources(stop)?)?;
        (options.encryption, options.key_bytes) = luks_cipher(args.cipher.as_deref())?;
        options.label = &args.label;
        let name = args.prf.as_deref().unwrap_or(match version {
            luks::Version::Luks1 => "sha-256",
            luks::Version::Luks2 => "argon2id",
        });
        options.derivation = calibrated(name, options.key_bytes, args.unlock_time, stop)?;
        if let Derivation::Pbkdf2 { prf, .. } = options.derivation {
            options.hash = luks_hash(prf.name)?;
        }
        if version == luks::Version::Luks1 && args.sector_size.is_some_and(|bytes| bytes != 512) {
            bail!(VolumeError::Invalid(
                "--sector-size: LUKS1 supports only 512-byte sectors".to_owned()
            ));
        }
        Ok(Self::Luks { options: Box::new(options), sector_size: args.sector_size })
    }

    /// Warns how quickly a weak passphrase can be guessed.
    fn warn_of_weak(&self, credentials: &Credentials) {
        // Key files compensate for a weak passphrase.
        if !credentials.keyfiles.is_empty() {
            return;
        }
        let passphrase = credentials.passphrase.bytes();
        match self {
            Self::Luks { options, .. } => {
                weak::warn(passphrase, &options.derivation, options.key_bytes);
            }
            Self::Tcrypt { options, .. } => {
                let kind = match options.product {
                    tcrypt::Product::TrueCrypt => VolumeKind::TrueCrypt { system: false },
                    tcrypt::Product::VeraCrypt => VolumeKind::VeraCrypt { system: false },
                };
                let function = Function::find(options.prf).ok();
                let derivation =
                    function.and_then(|f| pim::derivation(kind, f, credentials.pim).ok());
                if let Some(derivation) = derivation {
                    weak::warn(passphrase, &derivation, 64);
                }
            }
            // The cost of this function is fixed, and this program cannot time it.
            Self::Bitlocker { .. } => {}
        }
    }

    /// Creates the volume. If a file system may use only the start of the volume, returns the number of bytes that it
    /// may use.
    fn create(
        mut self,
        device: &dyn BlockDevice,
        credentials: &Credentials,
        recovery: Option<&Recovery<'_>>,
        disk_sector: Option<u32>,
        bar: &ProgressBar,
        stop: &AtomicBool,
    ) -> Result<Option<u64>, VolumeError> {
        let progress = |done, all| {
            bar.set_length(all);
            bar.set_position(done);
            if stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        match &mut self {
            Self::Tcrypt { options, sector_size } => {
                let mut options: tcrypt::CreateOptions<'_> = **options;
                options.progress = Some(&progress);
                options.sector_size = sector_size.or(disk_sector).unwrap_or(512);
                tcrypt::create(device, credentials, &options).map(|()| None)
            }
            Self::Luks { options, sector_size } => {
                // Large sectors are faster, but are possible only if the volume's size is a multiple of the sector
                // size.
                let large =
                    options.version == luks::Version::Luks2 && device.size().is_multiple_of(4096);
                options.sector_size = sector_size.unwrap_or(if large { 4096 } else { 512 });
                luks::create(device, credentials, options).map(|()| None)
            }
            Self::Bitlocker { options, sector_size } => {
                let disk = disk_sector.unwrap_or(device.sector() as u32);
                let sector = sector_size.unwrap_or(disk);
                let recovery = recovery.map(|known| &known.password);
                let options = bitlocker::CreateOptions { sector, recovery, ..*options };
                bitlocker::create(device, credentials, &options).map(|made| Some(made.usable))
            }
        }
    }
}

fn tcrypt_options<'a>(
    args: &'a CreateArgs,
    stop: &'a AtomicBool,
) -> anyhow::Result<tcrypt::CreateOptions<'a>> {
    let mut options = tcrypt::CreateOptions::new(tier()?, effort(stop)?);
    if args.format == FormatArg::Truecrypt {
        options.product = tcrypt::Product::TrueCrypt;
    }
    if let Some(cipher) = &args.cipher {
        options.cipher = cipher;
    }
    if let Some(prf) = &args.prf {
        options.prf = Function::find(prf)?.name();
    }
    if args.quick {
        options.fill = tcrypt::Fill::Quick;
    }
    Ok(options)
}

fn bitlocker_options<'a>(
    args: &CreateArgs,
    stop: &'a AtomicBool,
) -> anyhow::Result<bitlocker::CreateOptions<'a>> {
    let invalid = |reason: String| bail!(VolumeError::Invalid(reason));
    if args.prf.is_some() {
        return invalid(
            "--prf cannot be used with BitLocker, which has only one key derivation function"
                .to_owned(),
        );
    }
    if !args.label.is_empty() {
        return invalid("--label is only for LUKS2".to_owned());
    }
    let mut options = bitlocker::CreateOptions::new(tier()?, effort(stop)?);
    if let Some(name) = &args.cipher {
        let Some(method) = Method::find(name) else {
            let known: Vec<&str> = Method::all().map(Method::name).collect();
            let known = known.join(", ");
            return invalid(format!("BitLocker has no cipher `{name}` (known: {known})"));
        };
        options.method = method;
    }
    Ok(options)
}

/// The recovery password for a new BitLocker volume.
struct Recovery<'a> {
    password: RecoveryPassword,
    /// The new file for the recovery password; `None` if the password was read from a file.
    keep_in: Option<&'a Path>,
}

impl<'a> Recovery<'a> {
    fn new(args: &'a CreateArgs, stop: &AtomicBool) -> anyhow::Result<Option<Self>> {
        let Some(path) = &args.recovery_password_file else { return Ok(None) };
        if !path.exists() {
            let password = RecoveryPassword::random()?;
            return Ok(Some(Self { password, keep_in: Some(path) }));
        }
        let typed: Secret = secrets::from_file(path, stop)?;
        let password = RecoveryPassword::find(typed.bytes()).with_context(|| shown(path))?;
        Ok(Some(Self { password, keep_in: None }))
    }

    /// Writes a new recovery password to a file that only this user can read.
    fn keep(&self) -> anyhow::Result<()> {
        let Some(path) = self.keep_in else { return Ok(()) };
        let digits = self.password.digits();
        super::dump::new_file(path, |make| {
            let mut file = make()?;
            file.write_all(&digits)?;
            Ok(file.write_all(b"\n")?)
        })?;
        say::message(&format!("saved the recovery password to {}", shown(path)));
        Ok(())
    }
}

/// Cipher and length of the volume key, for a cipher name from the registry or from dm-crypt.
fn luks_cipher(name: Option<&str>) -> anyhow::Result<(&str, usize)> {
    let name = name.unwrap_or(AES_256_XTS.name);
    let known = DM_CRYPT_CIPHERS.into_iter().filter(|cipher| {
        let (algorithm, mode) = cipher.parts();
        cryptbench_cipher::dm_crypt_key_bytes(algorithm, mode).is_ok()
    });
    if let Some(cipher) = known.clone().find(|cipher| cipher.name == name) {
        return Ok((cipher.specification, cipher.key_bytes()));
    }
    // The longest key of a dm-crypt cipher: for `aes-xts-plain64`, that of AES-256.
    let longest = name.split_once('-').and_then(|(cipher, mode)| {
        let lengths = cryptbench_cipher::dm_crypt_key_bytes(cipher, mode).ok()?;
        Some((cipher, mode, lengths.last().copied().unwrap_or(0)))
    });
    let reason = match longest {
        Some((cipher, ..)) if !luks::makes_cipher(cipher) => {
            format!(
                "volumes with `{name}` can be opened, but not created; `aes-xts-plain64` is more secure"
            )
        }
        Some((_, mode, bytes)) if luks::makes_new(mode) => return Ok((name, bytes)),
        Some(_) => {
            format!(
                "volumes with `{name}` can be opened, but not created, because the cipher reveals which sectors have \
                 content in common"
            )
        }
        None => format!(
            "LUKS has no cipher `{name}` (known: {}, and dm-crypt names such as {})",
            known.map(|cipher| cipher.name).collect::<Vec<_>>().join(", "),
            AES_256_CBC_ESSIV.specification
        ),
    };
    bail!(VolumeError::Invalid(reason))
}

/// The hash of a PRF, under its name in LUKS.
fn luks_hash(prf: &str) -> anyhow::Result<&'static str> {
    let named = luks::hash_of(prf);
    named.ok_or_else(|| VolumeError::Invalid(format!("LUKS has no hash `{prf}`")).into())
}

/// A KDF with a cost that makes it take `time` on this machine.
pub fn calibrated(
    name: &str,
    key_bytes: usize,
    time: std::time::Duration,
    stop: &AtomicBool,
) -> anyhow::Result<Derivation> {
    Ok(luks::calibrate(Function::find(name)?, key_bytes, time, effort(stop)?)?)
}

fn hidden(args: &CreateArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let Some(size) = args.size else { bail!("--hidden needs --size") };
    let confinement = args.confinement.clone();
    let unlock = UnlockArgs { volume: args.volume.clone(), confinement, ..UnlockArgs::default() };
    let task = Task::on(&unlock, Access::ReadWrite);
    // The outer volume may be untrusted.
    let work = |given: Given| {
        let options = tcrypt_options(args, stop)?;
        let [outer, credentials] = &given.credentials[..] else {
            bail!("no credentials were received")
        };
        let place = tcrypt::HiddenPlace { size, outer, outer_prf: None };
        tcrypt::create_hidden(&*given.target.device, credentials, &place, &options)
            .with_context(|| shown(&args.volume))?;
        Ok(ExitCode::SUCCESS)
    };
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    tcrypt_options(args, stop)?;
    let Some(volume) = target::to_destroy(&args.volume, args.destroy.as_deref())? else {
        return Err(Refusal::target(&args.volume, "the outer volume does not exist").into());
    };
    let outer: SecretSource = (&args.outer).into();
    let outer = secrets::read(&outer, "the outer volume", false, Prompt::Once, stop)?;
    let whose = "the new hidden volume";
    let credentials = secrets::read(&(&args.secret).into(), whose, false, Prompt::Twice, stop)?;
    let both = vec![outer, credentials.clone()];
    task.run_on(volume.try_clone()?, None, |_| Ok(both), work, stop)?;
    if let Some(kind) = args.mkfs {
        let device = target::device(volume, Access::ReadWrite, false)?;
        let volume = open_created(args, &credentials, Arc::new(device), None, stop)?;
        make_file_system(args, volume, kind)?;
    }
    say::message(&format!("created a hidden volume of {size} bytes in {}", shown(&args.volume)));
    Ok(ExitCode::SUCCESS)
}

/// The first `usable` bytes of the volume that was just created, or the whole volume.
fn open_created(
    args: &CreateArgs,
    credentials: &Credentials,
    device: Arc<dyn BlockDevice>,
    usable: Option<u64>,
    stop: &AtomicBool,
) -> anyhow::Result<Volume> {
    let format = match args.format {
        FormatArg::Veracrypt => tcrypt::Product::VeraCrypt.format(),
        FormatArg::Truecrypt => tcrypt::Product::TrueCrypt.format(),
        FormatArg::Luks1 | FormatArg::Luks2 => "luks",
        FormatArg::Bitlocker => "bitlocker",
    };
    let options = OpenOptions {
        format: Some(format),
        access: Access::ReadWrite,
        hidden: args.hidden,
        prf: args.prf.as_deref().map(Function::find).transpose()?.map(Function::name),
        ..OpenOptions::new(tier()?, effort(stop)?)
    };
    let volume = cryptbench_volume::open(device, credentials, &options)?;
    Ok(match usable {
        Some(usable) => volume.cut(usable)?,
        None => volume,
    })
}

/// Runs the system's mkfs on the volume, which is served until mkfs exits.
fn make_file_system(args: &CreateArgs, volume: Volume, kind: FileSystemArg) -> anyhow::Result<()> {
    let journal = mount::journal(&args.volume)?;
    let mut mounted =
        ServedVolume::serve(Arc::new(volume), None, &FuseOptions::default(), &journal)?;
    let kind = match kind {
        FileSystemArg::Ext4 => FileSystemKind::Ext4,
        FileSystemArg::Xfs => FileSystemKind::Xfs,
        FileSystemArg::Btrfs => FileSystemKind::Btrfs,
        FileSystemArg::Vfat => FileSystemKind::Vfat,
        FileSystemArg::Exfat => FileSystemKind::Exfat,
        FileSystemArg::Ntfs => FileSystemKind::Ntfs,
    };
    filesystem::make(kind, mounted.file())?;
    Ok(mounted.destroy()?)
}

/// A file that gets its name only when the volume in it is complete; otherwise the file is removed.
fn new_file(args: &CreateArgs) -> anyhow::Result<Partial> {
    let path = &args.volume;
    let Some(size) = args.size else {
        let reason = "no such file or device; to create a file, specify its --size";
        return Err(Refusal::target(path, reason).into());
    };
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    let mut partial = Partial::beside(path)?;
    // The space is allocated now, so that later writes to the volume do not fail because the disk is full.
    allocate_or_extend(partial.file(), size).map_err(fail)?;
    Ok(partial)
}
