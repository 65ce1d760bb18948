//! The volumes: small, one for each arm, created in the same way as for users.
#![expect(
    clippy::disallowed_methods,
    reason = "targets that it claims, checked once they are open; containers of a run, for now"
)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort, Function};
use cryptbench_os::files;
use cryptbench_record::Arm;
use cryptbench_volume::format::luks::{self, Resources, Version};
use cryptbench_volume::format::tcrypt::{self, Product};
use cryptbench_volume::{Credentials, Secret, VolumeError};

use crate::RunError;
use crate::decide::volumes::{LUKS_KEY, UnlockArm, UnlockFormat, UnlockKind};

/// Time that determines the cost of a new LUKS key: cryptsetup's default (`--iter-time`).
pub const UNLOCK_TIME: Duration = Duration::from_secs(2);

/// Minimum size of a volume's data area in bytes, without its headers.
const DATA: u64 = 1 << 20;

/// The passphrase of every volume, and a passphrase that opens none. Neither protects anything.
const RIGHT: &[u8] = b"correct horse battery staple";
const WRONG: &[u8] = b"correct horse battery staple?";

/// The resources of the machine to use: all of them, as for `volume mount`.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) cipher: Tier,
    kdf: Tier,
    threads: usize,
}

impl Machine {
    pub(crate) fn new() -> Result<Self, RunError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { cipher: cryptbench_cipher::tier()?, kdf: cryptbench_kdf::tier()?, threads })
    }

    pub(crate) fn effort(self) -> Effort<'static> {
        Effort::new(self.kdf, self.threads)
    }
}

/// A volume, or the plain file.
pub(crate) struct Prepared {
    pub(crate) arm: UnlockArm,
    pub(crate) path: PathBuf,
    derivation: Option<Derivation>,
}

/// The volumes of a run. Dropping it removes them.
pub struct Unlocker {
    pub(crate) prepared: Vec<Prepared>,
    pub(crate) machine: Machine,
    pub(crate) mode: IoMode,
}

impl Unlocker {
    /// Creates a volume for each of `arms` in `directory`. The caller has created that directory for this purpose
    /// and removes it with its contents if this process is killed. The volumes occupy about 40 MiB.
    ///
    /// Measures which cost of a LUKS key takes `unlock_time` on this machine, and uses that cost ([`UNLOCK_TIME`]
    /// as in cryptsetup; [`record_arms`](Self::record_arms) includes the result). The formats of VeraCrypt and
    /// TrueCrypt define their costs. Calls `about` for each arm before its volume is created, which can take
    /// seconds.
    ///
    /// # Errors
    /// [`RunError::Storage`] for the files; [`RunError::Volume`], in particular
    /// [`VolumeError::Stopped`] after `stop` was set; [`RunError::Cpu`].
    pub fn prepare(
        arms: &[UnlockArm],
        directory: &Path,
        unlock_time: Duration,
        stop: &AtomicBool,
        about: &mut dyn FnMut(&UnlockArm),
    ) -> Result<Self, RunError> {
        let mut unlocker =
            Self { prepared: Vec::new(), machine: Machine::new()?, mode: IoMode::Direct };
        for (number, arm) in arms.iter().enumerate() {
            about(arm);
            let path = directory.join(format!("{number}.volume"));
            let file = files::create_own(&path, false).map_err(storage("create a volume"))?;
            // From here on, `Drop` removes the file after any failure.
            let prepared = Prepared { arm: arm.clone(), path, derivation: None };
            unlocker.prepared.push(prepared);
            unlocker.fill(number, &file, unlock_time, stop)?;
            file.sync_all().map_err(storage("flush a volume"))?;
        }
        if let Some(first) = unlocker.prepared.first()
            && FileDevice::open(&first.path, IoMode::Direct, true).is_err()
        {
            unlocker.mode = IoMode::Buffered;
        }
        Ok(unlocker)
    }

    /// The arms in the form of the record, including the costs of their keys.
    ///
    /// # Errors
    /// [`RunError::Volume`] if the cipher is not available.
    pub fn record_arms(&self) -> Result<Vec<Arm>, RunError> {
        let Machine { cipher, .. } = self.machine;
        let effort = self.machine.effort();
        self.prepared.iter().map(|p| p.arm.record_with(p.derivation, cipher, effort)).collect()
    }

    /// Whether volumes are opened with direct I/O; otherwise the page cache is dropped before each opening.
    pub fn mode(&self) -> IoMode {
        self.mode
    }

    /// Creates volume `number` in its empty file.
    fn fill(
        &mut self,
        number: usize,
        file: &File,
        unlock_time: Duration,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        let (effort, tier) = (self.machine.effort().stopped_by(stop), self.machine.cipher);
        let Prepared { arm, path, .. } = &self.prepared[number];
        let UnlockKind::Volume { format, function, pim } = arm.kind else {
            let mut noise = vec![0; DATA as usize];
            getrandom::fill(&mut noise).map_err(VolumeError::Random)?;
            return fs::write(path, noise).map_err(storage("fill the plain file"));
        };
        let ruled = arm.ruled_derivation()?;
        let derivation = match ruled {
            Some(derivation) => derivation,
            None => self.luks_cost(function, unlock_time, effort)?,
        };
        let bytes = match format {
            UnlockFormat::VeraCrypt | UnlockFormat::TrueCrypt => DATA,
            UnlockFormat::Luks1 => (2 << 20) + DATA,
            UnlockFormat::Luks2 => (16 << 20) + DATA,
        };
        file.set_len(bytes).map_err(storage("extend a volume"))?;
        let device = FileDevice::open(path, IoMode::Buffered, false);
        let device: &dyn BlockDevice = &device.map_err(storage("open a volume"))?;
        let credentials = credentials(true, pim);
        let product = match format {
            UnlockFormat::VeraCrypt => Product::VeraCrypt,
            UnlockFormat::TrueCrypt => Product::TrueCrypt,
            UnlockFormat::Luks1 | UnlockFormat::Luks2 => {
                let version =
                    if format == UnlockFormat::Luks1 { Version::Luks1 } else { Version::Luks2 };
                let mut options = luks::CreateOptions::new(version, Resources::new(tier, effort))?;
                options.derivation = derivation;
                // LUKS1 uses a single hash for everything, and LUKS writes names of hashes without
                // hyphens.
                let hash = function.name().replace('-', "");
                if let Derivation::Pbkdf2 { .. } = derivation {
                    options.hash = &hash;
                }
                luks::create(device, &credentials, &options)?;
                self.prepared[number].derivation = Some(derivation);
                return Ok(());
            }
        };
        let options = tcrypt::CreateOptions {
            product,
            prf: function.name(),
            ..tcrypt::CreateOptions::new(tier, effort)
        };
        tcrypt::create(device, &credentials, &options)?;
        self.prepared[number].derivation = Some(derivation);
        Ok(())
    }

    /// The cost of a LUKS key; the same for all volumes with the same function, because they are on
    /// the same machine.
    fn luks_cost(
        &self,
        function: Function,
        unlock_time: Duration,
        effort: Effort<'_>,
    ) -> Result<Derivation, RunError> {
        let known = self.prepared.iter().find_map(|other| match other.arm.kind {
            UnlockKind::Volume { format: UnlockFormat::Luks1 | UnlockFormat::Luks2, .. } => {
                other.derivation.filter(|derivation| derivation.name() == function.name())
            }
            _ => None,
        });
        match known {
            Some(derivation) => Ok(derivation),
            None => {
                let chosen = luks::calibrate(function, LUKS_KEY, unlock_time, effort);
                Ok(chosen.map_err(VolumeError::from)?)
            }
        }
    }
}

impl Drop for Unlocker {
    fn drop(&mut self) {
        for prepared in &self.prepared {
            // Remaining files are removed with the caller's directory.
            let _ = fs::remove_file(&prepared.path);
        }
    }
}

/// The credentials for the opener.
pub(crate) fn credentials(right: bool, pim: Option<u32>) -> Credentials {
    let passphrase = Secret::new(if right { RIGHT } else { WRONG }.to_vec());
    Credentials { passphrase, pim, ..Credentials::default() }
}

pub(crate) fn storage(act: &'static str) -> impl FnOnce(std::io::Error) -> RunError {
    move |source| RunError::Storage { act, source }
}
