//! The volumes: small, one for each arm, made by this program as it makes them for its users.

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
use crate::plan::volumes::{LUKS_KEY, UnlockArm, UnlockFormat, UnlockKind};

/// Time for which the cost of a new LUKS key is chosen: cryptsetup's default (`--iter-time`).
pub const UNLOCK_TIME: Duration = Duration::from_secs(2);

/// Bytes of data that a volume has at least, beside its headers.
const DATA: u64 = 1 << 20;

/// What opens every volume here, and what opens none. They hold nothing.
const RIGHT: &[u8] = b"correct horse battery staple";
const WRONG: &[u8] = b"correct horse battery staple?";

/// What may be used of the machine: all of it, as `volume mount` does.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) cipher: Tier,
    kdf: Tier,
    threads: usize,
}

impl Machine {
    fn new() -> Result<Self, RunError> {
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
    /// Makes a volume for each of `arms` in `directory`, which the caller has made for this and removes
    /// with all that is in it, should this process be killed. They take about 40 MiB.
    ///
    /// Keys of LUKS get the cost that takes `unlock_time` here, which is measured ([`UNLOCK_TIME`] as
    /// cryptsetup does; what it comes to is in [`record_arms`](Self::record_arms)). VeraCrypt's and
    /// TrueCrypt's costs are ruled by their format. `about` is told of each arm before its volume is made,
    /// which can take seconds.
    ///
    /// # Errors
    /// [`RunError::Storage`] for the files; [`RunError::Volume`], which is
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
            // From here on `Drop` removes the file, whatever fails.
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

    /// What the record says of the arms, what their keys cost included.
    ///
    /// # Errors
    /// [`RunError::Volume`] if the cipher cannot be had.
    pub fn record_arms(&self) -> Result<Vec<Arm>, RunError> {
        let Machine { cipher, .. } = self.machine;
        let effort = self.machine.effort();
        self.prepared.iter().map(|p| p.arm.record_with(p.derivation, cipher, effort)).collect()
    }

    /// Whether volumes are opened past the page cache; otherwise it is dropped before each.
    #[must_use]
    pub fn mode(&self) -> IoMode {
        self.mode
    }

    /// Makes volume `number` in its empty file.
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
                // LUKS1 has one hash for all, and LUKS writes hashes without hyphens.
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

    /// The cost of a LUKS key; the same for all volumes with one function, as they are of one machine.
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
            // What stays behind goes with the caller's directory.
            let _ = fs::remove_file(&prepared.path);
        }
    }
}

/// What is given to the opener.
pub(crate) fn credentials(right: bool, pim: Option<u32>) -> Credentials {
    let passphrase = Secret::new(if right { RIGHT } else { WRONG }.to_vec());
    Credentials { passphrase, keyfiles: Vec::new(), pim }
}

pub(crate) fn storage(act: &'static str) -> impl FnOnce(std::io::Error) -> RunError {
    move |source| RunError::Storage { act, source }
}
