//! `cryptbench volume create`.

use std::io;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use cryptbench_blockdev::BlockDevice;
use cryptbench_cipher::tier;
use cryptbench_export::fuse::FuseOptions;
use cryptbench_kdf::{Derivation, Function};
use cryptbench_os::files::allocate_or_extend;
use cryptbench_system::ServedVolume;
use cryptbench_system::provision::filesystem::{self, FileSystemKind};
use cryptbench_volume::format::{luks, tcrypt};
use cryptbench_volume::{Access, Credentials, OpenOptions, VolumeError};

use super::args::{CreateArgs, FileSystemArg, FormatArg, SecretSource};
use super::partial::Partial;
use super::secrets::{self, Prompt};
use super::{effort, mount, resources, target};
use crate::exit::Refusal;
use crate::say;

pub fn create(args: &CreateArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let luks = matches!(args.format, FormatArg::Luks1 | FormatArg::Luks2);
    if luks && args.hidden {
        bail!(VolumeError::Invalid("LUKS has no hidden volumes".to_owned()));
    }
    if args.hidden {
        return hidden(args, stop);
    }
    let existing = target::to_destroy(&args.volume, args.destroy.as_deref())?;
    if existing.is_some() && args.size.is_some() {
        bail!(VolumeError::Invalid("--size is for a new file; a device has its own".to_owned()));
    }
    // Whatever can be wrong with the options is found before anything is asked for or made.
    let plan = Plan::new(args, stop)?;
    let whose = format!("the new volume {}", args.volume.display());
    let credentials = secrets::read(&(&args.secret).into(), &whose, luks, Prompt::Twice, stop)?;
    let (file, opened) = match existing {
        Some(opened) => (None, opened),
        None => {
            let mut file = new_file(args)?;
            let open = file.file().try_clone()?;
            (Some(file), target::take(&args.volume, open, Access::ReadWrite, false)?)
        }
    };
    let bar = Bar::new();
    plan.create(&*opened.device, &credentials, &bar, stop)
        .with_context(|| args.volume.display().to_string())?;
    drop(bar);
    if let Some(kind) = args.mkfs {
        make_file_system(args, &credentials, opened.device, kind, stop)?;
    }
    if let Some(file) = file {
        file.appear(&args.volume)?;
    }
    say::message(&format!("created {}", args.volume.display()));
    Ok(ExitCode::SUCCESS)
}

/// What is to be created, checked as far as it can be without the device.
enum Plan<'a> {
    Tcrypt(Box<tcrypt::CreateOptions<'a>>),
    Luks { options: Box<luks::CreateOptions<'a>>, sector_size: Option<u32> },
}

impl<'a> Plan<'a> {
    fn new(args: &'a CreateArgs, stop: &'a AtomicBool) -> anyhow::Result<Self> {
        let version = match args.format {
            FormatArg::Veracrypt | FormatArg::Truecrypt => {
                return Ok(Self::Tcrypt(Box::new(tcrypt_options(args, stop)?)));
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
            bail!(VolumeError::Invalid("LUKS1 has sectors of 512 bytes only".to_owned()));
        }
        Ok(Self::Luks { options: Box::new(options), sector_size: args.sector_size })
    }

    fn create(
        mut self,
        device: &dyn BlockDevice,
        credentials: &Credentials,
        bar: &Bar,
        stop: &AtomicBool,
    ) -> Result<(), VolumeError> {
        let progress = |done, all| {
            bar.show(done, all);
            if stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        match &mut self {
            Self::Tcrypt(options) => {
                let mut options: tcrypt::CreateOptions<'_> = **options;
                options.progress = Some(&progress);
                tcrypt::create(device, credentials, &options)
            }
            Self::Luks { options, sector_size } => {
                // Large sectors are the faster ones, where the volume is a whole number of them.
                let large =
                    options.version == luks::Version::Luks2 && device.size().is_multiple_of(4096);
                options.sector_size = sector_size.unwrap_or(if large { 4096 } else { 512 });
                luks::create(device, credentials, options)
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
    if args.sector_size.is_some() {
        bail!(VolumeError::Invalid("--sector-size is for LUKS2".to_owned()));
    }
    if args.quick {
        options.fill = tcrypt::Fill::Quick;
    }
    Ok(options)
}

/// Cipher and bytes of the volume key, from the registry's name or dm-crypt's.
fn luks_cipher(name: Option<&str>) -> anyhow::Result<(&str, usize)> {
    let name = name.unwrap_or("aes-256-xts");
    Ok(match name {
        "aes-128-xts" => ("aes-xts-plain64", 32),
        "aes-256-xts" => ("aes-xts-plain64", 64),
        "serpent-256-xts" => ("serpent-xts-plain64", 64),
        "twofish-256-xts" => ("twofish-xts-plain64", 64),
        "camellia-256-xts" => ("camellia-xts-plain64", 64),
        _ if name.contains("-xts-") => (name, 64),
        _ if name.contains("-cbc-") => (name, 32),
        _ => bail!(VolumeError::Invalid(format!(
            "LUKS has no cipher `{name}`; it has aes-256-xts, aes-128-xts, serpent-256-xts, \
             twofish-256-xts, camellia-256-xts, and names of dm-crypt such as aes-cbc-essiv:sha256"
        ))),
    })
}

/// LUKS writes hashes without hyphens.
fn luks_hash(prf: &str) -> anyhow::Result<&'static str> {
    Ok(match prf {
        "sha-1" => "sha1",
        "sha-256" => "sha256",
        "sha-512" => "sha512",
        "ripemd-160" => "ripemd160",
        "whirlpool" => "whirlpool",
        other => bail!(VolumeError::Invalid(format!("LUKS has no hash `{other}`"))),
    })
}

/// A function at the cost that takes `time` here.
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
    let options = tcrypt_options(args, stop)?;
    let Some(opened) = target::to_destroy(&args.volume, args.destroy.as_deref())? else {
        return Err(Refusal::target(&args.volume, "there is no outer volume").into());
    };
    let outer: SecretSource = (&args.outer).into();
    let outer = secrets::read(&outer, "the outer volume", false, Prompt::Once, stop)?;
    let whose = "the new hidden volume";
    let credentials = secrets::read(&(&args.secret).into(), whose, false, Prompt::Twice, stop)?;
    let place = tcrypt::HiddenPlace { size, outer: &outer, outer_prf: None };
    tcrypt::create_hidden(&*opened.device, &credentials, &place, &options)
        .with_context(|| args.volume.display().to_string())?;
    if let Some(kind) = args.mkfs {
        make_file_system(args, &credentials, opened.device, kind, stop)?;
    }
    say::message(&format!("created a hidden volume of {size} bytes in {}", args.volume.display()));
    Ok(ExitCode::SUCCESS)
}

/// Through the real mkfs, on the volume served for as long as that takes.
fn make_file_system(
    args: &CreateArgs,
    credentials: &Credentials,
    device: Arc<dyn BlockDevice>,
    kind: FileSystemArg,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let format = match args.format {
        FormatArg::Veracrypt => "veracrypt",
        FormatArg::Truecrypt => "truecrypt",
        FormatArg::Luks1 | FormatArg::Luks2 => "luks",
    };
    let options = OpenOptions {
        format: Some(format),
        access: Access::ReadWrite,
        hidden: args.hidden,
        prf: args.prf.as_deref().map(Function::find).transpose()?.map(Function::name),
        ..OpenOptions::new(tier()?, effort(stop)?)
    };
    let volume = cryptbench_volume::open(device, credentials, &options)?;
    let journal = mount::journal(&args.volume)?;
    let mut mounted =
        ServedVolume::serve(Arc::new(volume), None, &FuseOptions::default(), &journal)?;
    let kind = match kind {
        FileSystemArg::Ext4 => FileSystemKind::Ext4,
        FileSystemArg::Xfs => FileSystemKind::Xfs,
        FileSystemArg::Btrfs => FileSystemKind::Btrfs,
        FileSystemArg::Vfat => FileSystemKind::Vfat,
        FileSystemArg::Exfat => FileSystemKind::Exfat,
    };
    filesystem::make(kind, mounted.file())?;
    Ok(mounted.destroy()?)
}

/// A file that takes its name only when the volume in it is whole, and goes again if that never comes.
fn new_file(args: &CreateArgs) -> anyhow::Result<Partial> {
    let path = &args.volume;
    let Some(size) = args.size else {
        let reason = "there is no such file or device; for a new file give its --size";
        return Err(Refusal::target(path, reason).into());
    };
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    let mut partial = Partial::beside(path)?;
    // Now, so that the disk is not full in the middle of a write to the volume.
    allocate_or_extend(partial.file(), size).map_err(fail)?;
    Ok(partial)
}

/// How far the filling is; on a terminal only.
struct Bar(indicatif::ProgressBar);

impl Bar {
    fn new() -> Self {
        let style = indicatif::ProgressStyle::with_template(
            "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        );
        let bar = indicatif::ProgressBar::new(0);
        Self(style.map(|style| bar.clone().with_style(style)).unwrap_or(bar))
    }

    fn show(&self, done: u64, all: u64) {
        self.0.set_length(all);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
