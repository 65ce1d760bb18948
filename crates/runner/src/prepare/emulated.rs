//! An emulated device as the target of a run: served through FUSE and, for root, with a loop device and ext4 on top.
#![expect(
    clippy::disallowed_methods,
    reason = "targets that it claims, checked once they are open"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{AlignedBuf, BlockDevice};
use cryptbench_devices::sweep::{Load, seconds_per_request};
use cryptbench_devices::{Backing, EmulatedDevice, Model, Operation, Surface};
use cryptbench_export::fuse::FuseOptions;
use cryptbench_os::counters::CountedBy;
use cryptbench_os::files::{Opening, read_exact_at};
use cryptbench_record as record;
use cryptbench_system::provision::filesystem;
use cryptbench_system::resource::Journal;
use cryptbench_system::{ServedVolume, SystemError};

use crate::RunError;
use crate::decide::Plan;
use crate::decide::arms::Arms;
use crate::decide::storage::{EmulatedStorage, Present, Target, Targets};
use crate::look::{Place, consented};
use crate::request::Consent;

const MIB: u64 = 1 << 20;

/// Number and size of the requests that measure the path to the device.
const PROBES: usize = 300;
const PROBE: usize = 4096;

/// Number of large requests that measure the rate of that path.
const LARGE_PROBES: u64 = 24;

/// A device that is being served. Dropping it removes it.
pub(crate) struct Emulation {
    served: ServedVolume,
    device: Arc<EmulatedDevice<Backing>>,
    described: record::EmulatedDevice,
    notes: Vec<String>,
}

impl Emulation {
    /// Serves the device of `storage`, and inspects the resulting target.
    ///
    /// # Errors
    /// Any [`RunError`]; nothing is left behind.
    pub(crate) fn serve(
        storage: &EmulatedStorage,
        plan: &Plan,
        journal: &Journal,
    ) -> Result<(Self, Present), RunError> {
        let EmulatedStorage { emulate, size, has_file_system, range } = storage;
        let model = &emulate.model;
        let failed =
            |source| RunError::Storage { act: "reserve space for the emulated device", source };
        let backing = match &emulate.backing {
            None => Backing::memory(*size),
            Some(directory) => Backing::file_in(directory, *size),
        }
        .map_err(failed)?;
        let device = Arc::new(EmulatedDevice::new(backing, model));
        let options = FuseOptions {
            file_name: model_file(&model.name),
            threads: (model.interface.queue_depth as usize).clamp(4, 32),
            ..FuseOptions::default()
        };
        let shown: Arc<dyn BlockDevice> = device.clone();
        let mut served = ServedVolume::serve(shown, None, &options, journal)?;
        let mut consent = Consent::default();
        let (path, probed) = if *has_file_system {
            let disk = served.attach(false)?;
            let probed = probe(&disk, *size)?;
            filesystem::make_settled(&disk)?;
            // A fixed name for the scratch file, because cleanup also looks for generated names in other
            // mounts.
            (served.mount_in_own_directory(&disk)?.join("device.scratch"), probed)
        } else {
            consent.destroy.push(served.file().to_owned());
            (served.file().to_owned(), probe(served.file(), *size)?)
        };
        device.set_transport(probed.round_trip);
        device.set_delayed(true);
        let described = record::EmulatedDevice {
            model: model.name.clone(),
            about: model.about.clone(),
            parameters: model.hash(),
            backing: storage.backing_in_words(),
            size_bytes: *size,
            whole_surface: model.surface == Surface::Whole,
            transport_us: probed.round_trip.as_secs_f64() * 1e6,
            transport_mib_s: probed.mib_s,
            late_share: None,
            late_us: None,
        };
        let notes = notes(model, &probed, &described);
        let emulation = Self { served, device, described, notes };
        // The device did not exist when the run was planned. It is examined now, and accepted like any other
        // target.
        let place = Place::look(&path);
        let plain = Target::admit(&place, &plan.run_id, &consent, &consented(&consent.destroy))?;
        let targets =
            Targets { plain, encrypted: Vec::new(), in_use: None, partitions: Vec::new() };
        let range = matches!(plan.arms, Arms::Systems(_)).then(|| range.clone());
        Ok((emulation, Present { targets, range }))
    }

    /// Notes on it for readers, in sentences.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Its own counters.
    pub(crate) fn counts(&self) -> CountedBy {
        let device = Arc::clone(&self.device);
        CountedBy::Itself(Arc::new(move || device.counts()))
    }

    /// The device's description for a record, including how closely it followed the model's times.
    pub(crate) fn describe(&self) -> record::EmulatedDevice {
        let kept = self.device.kept();
        let share = |part: f64| (kept.requests > 0).then(|| part / kept.requests as f64);
        record::EmulatedDevice {
            late_share: share(kept.late as f64),
            late_us: (kept.late > 0).then(|| kept.late_by.as_secs_f64() * 1e6 / kept.late as f64),
            ..self.described.clone()
        }
    }

    /// Removes the device, without delays for data that the file system still writes back.
    ///
    /// # Errors
    /// If the device cannot be removed; this can be tried again.
    pub(crate) fn take_down(&mut self) -> Result<(), SystemError> {
        self.device.set_delayed(false);
        self.served.destroy()
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // The file system will now be unmounted: no need for the delays of a disk.
        self.device.set_delayed(false);
    }
}

/// The name of the served file: the model's name without unsuitable characters.
fn model_file(name: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    format!("emulated-{}", name.chars().filter(fits).take(40).collect::<String>())
}

/// The cost of the path to the emulated device.
struct Probed {
    /// Median of reads of 4 KiB at queue depth 1.
    round_trip: Duration,
    /// Rate of reads of 1 MiB at queue depth 1.
    mib_s: f64,
}

/// Reads the device while its delays are disabled.
fn probe(path: &Path, size: u64) -> Result<Probed, RunError> {
    let failed =
        |source| RunError::Storage { act: "measure the path to the emulated device", source };
    let file = Opening::to_read().direct(true).open(path).map_err(failed)?;
    let mut buf = AlignedBuf::zeroed(PROBE);
    let places = size / PROBE as u64;
    let mut times = Vec::with_capacity(PROBES);
    for i in 0..PROBES as u64 {
        let place = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % places;
        let began = Instant::now();
        read_exact_at(&file, &mut buf, place * PROBE as u64).map_err(failed)?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let mut large = AlignedBuf::zeroed(MIB as usize);
    let began = Instant::now();
    for i in 0..LARGE_PROBES {
        read_exact_at(&file, &mut large, i * MIB % (size / MIB * MIB)).map_err(failed)?;
    }
    let mib_s = LARGE_PROBES as f64 / began.elapsed().as_secs_f64();
    Ok(Probed { round_trip: times[PROBES / 2], mib_s })
}

/// Notes in which respects the machine is slower than the model.
fn notes(model: &Model, probed: &Probed, described: &record::EmulatedDevice) -> Vec<String> {
    let mut notes = vec![format!(
        "EMULATED: the disk is the model {} (parameters {}) stored in {}, {}; it is not hardware. Its emulator runs \
         in this process, and its CPU time is included in the figures.",
        described.model,
        described.parameters,
        described.backing,
        if described.whole_surface {
            "which represents its whole surface"
        } else {
            "which represents only its start"
        },
    )];
    let trip = probed.round_trip.as_secs_f64();
    let load = Load {
        operation: Operation::Read,
        random: true,
        bytes: PROBE as u64,
        queue_depth: 1,
        file_bytes: described.size_bytes.min(1 << 30),
        think_s: 0.0,
    };
    let small = seconds_per_request(model, &load);
    let large = Load { random: false, bytes: MIB, ..load };
    let rate = 1.0 / seconds_per_request(model, &large);
    if trip > small {
        notes.push(format!(
            "EMULATED: a random 4 KiB read takes {:.0} µs in the model, but {:.0} µs just on the path to it: small \
             requests are slower here than on the modelled device.",
            small * 1e6,
            trip * 1e6
        ));
    }
    if probed.mib_s < rate {
        notes.push(format!(
            "EMULATED: the model reads {rate:.0} MiB/s, but the path to it transfers only {:.0} MiB/s at queue depth \
             1: large requests are slower here than on the modelled device.",
            probed.mib_s
        ));
    }
    notes
}
