//! One trial: opens a volume and reads its first block, or waits until a wrong passphrase is refused.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{AlignedBuf, BlockDevice, FileDevice, IoMode};
use cryptbench_kdf::Stopwatch;
use cryptbench_load::UnlockWork;
use cryptbench_volume::{OpenOptions, VolumeError, open};

use crate::RunError;
use crate::decide::volumes::{UnlockFormat, UnlockKind};
use crate::prepare::volumes::{Unlocker, credentials, storage};

/// Size of the first block in bytes.
const BLOCK: usize = 4096;

/// Duration of unlocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnlockTime {
    /// From the passphrase to the first block read, or to the refusal.
    pub total: Duration,
    /// The part of that time spent on key derivations: all derivations that were tried, on any number of threads. For
    /// LUKS it includes the PBKDF2 derivation that verifies the volume key.
    pub derivation: Duration,
    /// The remaining time: opening the file, reading headers, trying ciphers, merging LUKS's key
    /// material, reading the block.
    pub rest: Duration,
}

impl Unlocker {
    /// Opens the volume of arm `number` and reads its first 4 KiB; with a wrong passphrase, waits for the
    /// refusal. `None` if `stop` was set in the meantime.
    ///
    /// The opener always knows the format. LUKS headers specify their PRF, so [`UnlockWork::prf_known`] has no
    /// effect for LUKS. The settings of the work have no effect on a plain file, of which only the first block is
    /// read.
    ///
    /// # Errors
    /// [`RunError::Storage`], [`RunError::Volume`]; also if a correct passphrase is refused or a
    /// wrong one accepted.
    pub fn unlock(
        &self,
        arm: usize,
        work: &UnlockWork,
        stop: &AtomicBool,
    ) -> Result<Option<UnlockTime>, RunError> {
        let prepared = &self.prepared[arm];
        if self.mode == IoMode::Buffered {
            let file = File::open(&prepared.path).map_err(storage("open a volume"))?;
            // Advice only: if the kernel ignores it, the device's counters show it.
            cryptbench_os::files::forget(&file);
        }
        let stopwatch = Stopwatch::new();
        let effort = self.machine.effort().stopped_by(stop).timed_by(&stopwatch);
        let mut block = AlignedBuf::zeroed(BLOCK);
        let (credentials, options) = match prepared.arm.kind {
            UnlockKind::Plain => (None, OpenOptions::new(self.machine.cipher, effort)),
            UnlockKind::Volume { format, function, pim } => {
                let luks = matches!(format, UnlockFormat::Luks1 | UnlockFormat::Luks2);
                let prf = (work.prf_known && !luks).then(|| function.name());
                let options = OpenOptions {
                    format: Some(format.as_str()),
                    prf,
                    ..OpenOptions::new(self.machine.cipher, effort)
                };
                (Some(credentials(work.right, pim)), options)
            }
        };
        let started = Instant::now();
        let file = FileDevice::open(&prepared.path, self.mode, true);
        let file = file.map_err(storage("open a volume"))?;
        let read = |device: &dyn BlockDevice, block: &mut AlignedBuf| {
            device.read_at(0, block).map_err(storage("read the first block"))
        };
        // Anything opened is closed after the clock has stopped.
        let opened = match credentials {
            None => {
                read(&file, &mut block)?;
                None
            }
            Some(credentials) => match open(Arc::new(file), &credentials, &options) {
                Ok(volume) => {
                    read(&volume, &mut block)?;
                    Some(Ok(volume))
                }
                Err(error) => Some(Err(error)),
            },
        };
        let total = started.elapsed();
        let derivation = stopwatch.elapsed();
        match opened {
            Some(Err(VolumeError::Stopped)) => return Ok(None),
            Some(Err(VolumeError::NoKeyFits(_))) if !work.right => {}
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(_)) if !work.right => {
                let source = std::io::Error::other("it opened the volume");
                return Err(storage("verify that a wrong passphrase is rejected")(source));
            }
            None | Some(Ok(_)) => {}
        }
        Ok(Some(UnlockTime { total, derivation, rest: total.saturating_sub(derivation) }))
    }
}

#[cfg(test)]
mod tests;
