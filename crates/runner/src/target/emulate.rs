//! A modelled device as the target of a run: served through FUSE, as root with a loop device and ext4 on it.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{AlignedBuf, BlockDevice};
use cryptbench_devices::sweep::{Load, seconds_per_request};
use cryptbench_devices::{Backing, EmulatedDevice, Model, Operation, Surface};
use cryptbench_export::fuse::FuseOptions;
use cryptbench_record as record;
use cryptbench_system::ServedVolume;
use cryptbench_system::SystemError;
use cryptbench_system::provision::filesystem;
use cryptbench_system::resource::Journal;
use rustix::fs::OFlags;

use super::places::containers;
use super::{MIB, human};
use crate::plan::{Arms, Resolved, least_scratch, room};
use crate::{Consent, Request, RunError, TargetRequest};

/// A device that is not there, and what is to hold its bytes.
#[derive(Clone, Debug)]
pub struct EmulateRequest {
    /// The device.
    pub model: Model,
    /// A directory for its bytes; `None` is memory.
    pub backing: Option<PathBuf>,
}

/// The scratch file where nobody asks for a size.
const USUAL: u64 = 256 * MIB;

/// What ext4 takes for itself beside a sixteenth.
const FILE_SYSTEM: u64 = 96 * MIB;

/// Requests by which the way to the device is measured, and their size.
const PROBES: usize = 300;
const PROBE: usize = 4096;

/// Large requests by which its rate is measured.
const LARGE_PROBES: u64 = 24;

/// Sizes that an emulated run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Bytes of the scratch file.
    pub(crate) scratch: u64,
    /// Bytes of the device.
    pub(crate) device: u64,
}

/// A device that is being served. Dropping it takes it down.
pub(crate) struct Emulation {
    served: ServedVolume,
    device: Arc<EmulatedDevice<Backing>>,
    target: TargetRequest,
    described: record::EmulatedDevice,
    notes: Vec<String>,
}

/// Whether the device gets a file system: that takes root.
fn with_file_system() -> bool {
    rustix::process::geteuid().is_root()
}

/// How large the device must be for a run.
///
/// # Errors
/// [`RunError::Request`] if it does not fit into what may be taken.
pub(crate) fn sizes(request: &Request, resolved: &Resolved) -> Result<Room, RunError> {
    let Some(emulate) = &request.target.emulate else { unreachable!("asked for by the caller") };
    let arms = match &resolved.arms {
        Arms::Systems(arms) => arms.as_slice(),
        Arms::Volumes(_) => &[],
    };
    let asked = request.target.size.or(request.profile.size);
    let least = least_scratch(&resolved.workloads).next_multiple_of(MIB);
    let scratch = asked.unwrap_or(USUAL.max(least)) / MIB * MIB;
    let each = scratch + room(&resolved.workloads);
    let mut device = each;
    if with_file_system() {
        // What systems make depends on what is free, and that on the device.
        for _ in 0..8 {
            let need = each + containers(arms, each, device);
            device = (need / 19 * 20 + need / 16 + FILE_SYSTEM).next_multiple_of(MIB).max(device);
        }
    }
    let room = Room { scratch, device: device.next_multiple_of(MIB) };
    let (there, of) = match &emulate.backing {
        None => (memory_available() / 2, "half of the free memory is".to_owned()),
        Some(directory) => {
            let space = rustix::fs::statvfs(directory).map_err(|e| RunError::Target {
                path: directory.clone(),
                problem: e.to_string(),
            })?;
            let free = space.f_bavail * space.f_frsize / 20 * 19;
            (free, format!("{} has", directory.display()))
        }
    };
    if room.device > there.min(emulate.model.capacity_bytes) {
        let remedy = match &emulate.backing {
            None => "name a directory with --emulate-backing, or ask for less with --size",
            Some(_) => "ask for less with --size",
        };
        return Err(RunError::Request(format!(
            "the emulated {} needs {}, and {of} {}: {remedy}",
            emulate.model.name,
            human(room.device),
            human(there.min(emulate.model.capacity_bytes))
        )));
    }
    Ok(room)
}

/// What holds the bytes, in words.
pub(crate) fn backing_in_words(emulate: &EmulateRequest) -> String {
    match &emulate.backing {
        None => "memory".to_owned(),
        Some(directory) => format!("a file in {}", directory.display()),
    }
}

impl Emulation {
    /// Serves the device that `request` asks for, if it asks for one.
    ///
    /// # Errors
    /// Any [`RunError`]; nothing is left.
    pub(crate) fn set_up(
        request: &Request,
        resolved: &Resolved,
        journal: &Journal,
    ) -> Result<Option<Self>, RunError> {
        let Some(emulate) = &request.target.emulate else { return Ok(None) };
        let model = &emulate.model;
        let room = sizes(request, resolved)?;
        let failed =
            |source| RunError::Storage { act: "make room for the emulated device", source };
        let backing = match &emulate.backing {
            None => Backing::memory(room.device),
            Some(directory) => Backing::file_in(directory, room.device),
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
        let mut target = TargetRequest { emulate: None, ..request.target.clone() };
        target.size = Some(room.scratch);
        let probed = if with_file_system() {
            let disk = served.attach_loop(false)?;
            let probed = probe(&disk, room.device)?;
            filesystem::make_settled(&disk)?;
            // A name of its own for the scratch file: one that a run chooses is looked for in other mounts, too.
            target.path = served.mount_in_own_directory(&disk)?.join("device.scratch");
            probed
        } else {
            target.path = served.file().to_owned();
            target.consent = Consent { destroy: vec![served.file().to_owned()], erase: Vec::new() };
            probe(served.file(), room.device)?
        };
        device.set_transport(probed.round_trip);
        device.set_delayed(true);
        let described = record::EmulatedDevice {
            model: model.name.clone(),
            about: model.about.clone(),
            parameters: model.hash(),
            backing: backing_in_words(emulate),
            size_bytes: room.device,
            whole_surface: model.surface == Surface::Whole,
            transport_us: probed.round_trip.as_secs_f64() * 1e6,
            transport_mib_s: probed.mib_s,
            late_share: None,
            late_us: None,
        };
        let notes = notes(model, &probed, &described);
        Ok(Some(Self { served, device, target, described, notes }))
    }

    /// The request with the served device in place of what it asked for.
    pub(crate) fn request(&self, request: &Request) -> Request {
        Request { target: self.target.clone(), ..request.clone() }
    }

    /// What a reader must know of it, in sentences.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What a record says of it, with how it kept its times so far.
    pub(crate) fn describe(&self) -> record::EmulatedDevice {
        let kept = self.device.kept();
        let share = |part: f64| (kept.requests > 0).then(|| part / kept.requests as f64);
        record::EmulatedDevice {
            late_share: share(kept.late as f64),
            late_us: (kept.late > 0).then(|| kept.late_by.as_secs_f64() * 1e6 / kept.late as f64),
            ..self.described.clone()
        }
    }

    /// Takes it down, without waiting for what the file system still writes back.
    ///
    /// # Errors
    /// What the system refused; it can be tried again.
    pub(crate) fn take_down(&mut self) -> Result<(), SystemError> {
        self.device.set_delayed(false);
        self.served.destroy()
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // The file system is unmounted by what follows: no need to wait like a disk for that.
        self.device.set_delayed(false);
    }
}

/// The name of the served file: that of the model, as far as it is one.
fn model_file(name: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    format!("emulated-{}", name.chars().filter(fits).take(40).collect::<String>())
}

/// What the way to the device takes by itself.
struct Probed {
    /// Median of reads of 4 KiB, one at a time.
    round_trip: Duration,
    /// Rate of reads of 1 MiB, one at a time.
    mib_s: f64,
}

/// Reads the device while it does not wait.
fn probe(path: &Path, size: u64) -> Result<Probed, RunError> {
    let failed =
        |source| RunError::Storage { act: "measure the way to the emulated device", source };
    let direct = OFlags::DIRECT.bits().cast_signed();
    let file = File::options().read(true).custom_flags(direct).open(path).map_err(failed)?;
    let mut buf = AlignedBuf::zeroed(PROBE);
    let places = size / PROBE as u64;
    let mut times = Vec::with_capacity(PROBES);
    for i in 0..PROBES as u64 {
        let place = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % places;
        let began = Instant::now();
        file.read_exact_at(&mut buf, place * PROBE as u64).map_err(failed)?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let mut large = AlignedBuf::zeroed(MIB as usize);
    let began = Instant::now();
    for i in 0..LARGE_PROBES {
        file.read_exact_at(&mut large, i * MIB % (size / MIB * MIB)).map_err(failed)?;
    }
    let mib_s = LARGE_PROBES as f64 / began.elapsed().as_secs_f64();
    Ok(Probed { round_trip: times[PROBES / 2], mib_s })
}

/// Says where the machine cannot be as fast as the model.
fn notes(model: &Model, probed: &Probed, described: &record::EmulatedDevice) -> Vec<String> {
    let mut notes = vec![format!(
        "EMULATED: the disk is the model {} (parameters {}) over {}, {}; it is no hardware. Its emulator runs in \
         this process, and its CPU time is among what is shown.",
        described.model,
        described.parameters,
        described.backing,
        if described.whole_surface {
            "drawn together from rim to rim"
        } else {
            "from its start on"
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
            "EMULATED: a random read of 4 KiB takes {:.0} µs in the model and {:.0} µs on the way to it alone: small \
             requests are slower here than on such a device.",
            small * 1e6,
            trip * 1e6
        ));
    }
    if probed.mib_s < rate {
        notes.push(format!(
            "EMULATED: the model reads {rate:.0} MiB/s and the way to it carries {:.0} MiB/s one request at a time: \
             large requests are slower here than on such a device.",
            probed.mib_s
        ));
    }
    notes
}

/// Bytes of memory that can be taken without swapping (proc(5), MemAvailable).
fn memory_available() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .map_or(0, |k| k << 10)
}
