//! Claims the storage of a run before the first byte is written to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::IoMode;
use cryptbench_export::SERVING;
use cryptbench_load::{Engine, WorkloadSpec};
use cryptbench_os::counters::{CountedBy, Counters, DeviceCounts};
use cryptbench_os::machine::throttled;
use cryptbench_record::{self as record, DiskCounts, PlaceKind, Uncounted};
use cryptbench_system::resource::{Journal, Reserve};
use cryptbench_system::{ArmSpec, Target as Place};
use cryptbench_text::shown;

use super::emulated::Emulation;
use super::pace::Pace;
use super::{ActiveRange, FilePace, PreparedTarget, places};
use crate::decide::Plan;
use crate::decide::storage::{Buffered, Present, Storage, Target};
use crate::look::InUse;
use crate::time::RunTime;
use crate::{Halt, RunError, machine};

/// How long to observe the machine while this program sleeps.
const BASELINE: Duration = Duration::from_millis(500);

/// Claimed storage; nothing is written to it except empty files. Dropping it removes everything that still exists,
/// in the order of the fields.
pub(crate) struct Claimed<'a> {
    pub(crate) plan: &'a Plan,
    /// Stops the current stage: at the user's request, or because its time is up.
    pub(crate) stop: &'a AtomicBool,
    pub(crate) time: &'a RunTime<'a>,
    pub(crate) clock: Clock,
    /// The speed of the storage, measured once some data has been written.
    pub(crate) pace: Pace,
    /// The plan's workloads, with as many small files as there is time for, and how long those take.
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) file_pace: FilePace,
    pub(crate) machine: record::Machine,
    /// Notes on the storage for readers, in sentences.
    pub(crate) notes: Vec<String>,
    pub(crate) engine: Engine,
    /// Why io_uring is not used, if it is not.
    fallback: Option<String>,
    pub(crate) counters: Counters,
    /// Containers of arms that are not set up yet.
    pub(crate) reserve: Arc<Reserve>,
    /// The targets that the user encrypted.
    pub(crate) encrypted: Vec<PreparedTarget>,
    /// Set if the two targets are a device in use and its underlying device.
    in_use: Option<InUse>,
    pub(crate) plain: PreparedTarget,
    pub(crate) emulation: Option<Emulation>,
    /// Time for which a CPU limit has throttled this process's control groups.
    pub(crate) throttled: Option<Duration>,
    /// Everything that is set up is recorded here first.
    pub(super) journal: Journal,
}

/// The run time.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub(super) started: Instant,
    /// The run time of an earlier part.
    before: Duration,
}

impl Clock {
    /// Time since the start of the run, without the time between its parts.
    pub(crate) fn elapsed(self) -> Duration {
        self.before + self.started.elapsed()
    }
}

impl<'a> Claimed<'a> {
    /// Claims the storage of `plan`; writes nothing except empty files.
    ///
    /// # Errors
    /// Any [`RunError`]; nothing is left behind.
    pub(crate) fn claim(plan: &'a Plan, time: &'a RunTime<'a>) -> Result<Self, RunError> {
        let throttled = throttled();
        let journal = Journal::create(&plan.run_id)?;
        let (emulation, present) = match &plan.storage {
            Storage::Present(present) => (None, (**present).clone()),
            Storage::Emulated(storage) => {
                let (emulation, present) = Emulation::serve(storage, plan, &journal)?;
                (Some(emulation), present)
            }
        };
        let Present { targets, range } = present;
        let (in_use, partitions) = (targets.in_use.clone(), targets.partitions.clone());
        let size = range.as_ref().map_or(0, |range| range.size);
        let mut notes = emulation.as_ref().map_or(Vec::new(), |e| e.notes().to_vec());
        notes.extend(targets.notes(size));
        let (engine, fallback) = Engine::open(plan.engine)?;
        if let Some(reason) = &fallback {
            let reason = format!("io_uring is not used ({reason}); threads issue the requests.");
            notes.push(reason);
        }
        let own = emulation.as_ref().map(Emulation::counts);
        let of = |target: &Target| own.clone().or(target.counters().map(CountedBy::System));
        let mut counters = Counters::new(of(&targets.plain), &SERVING);
        for target in &targets.encrypted {
            counters.add_device(of(target));
        }
        let (machine, idle) = idle(&mut counters, targets.encrypted.len());
        // Claims all targets before the first byte is written to any.
        let mut plain = PreparedTarget::claim(
            targets.plain,
            (range.clone(), &partitions),
            plan,
            0,
            &[],
            &journal,
        )?;
        let mut encrypted: Vec<PreparedTarget> = Vec::new();
        for (number, target) in targets.encrypted.into_iter().enumerate() {
            let counted_by = number + 1;
            let before: Vec<_> = std::iter::once(&plain).chain(&encrypted).collect();
            let claimed = PreparedTarget::claim(
                target,
                (range.clone(), &[]),
                plan,
                counted_by,
                &before,
                &journal,
            )?;
            claimed.check_mode(&plain)?;
            encrypted.push(claimed);
        }
        let reserve = places::allocate(plan, size, &plain, &encrypted, &journal)?;
        places::give_partitions(plan, &mut plain, &reserve);
        for target in std::iter::once(&mut plain).chain(&mut encrypted) {
            target.idle_disk = idle[target.counted_by];
            if !counters.device_counts(target.counted_by) {
                target.uncounted = Some(target.target.uncounted().unwrap_or(Uncounted::Off));
                notes.push(target.uncounted());
            }
        }
        notes.extend(plan.remarks.iter().cloned());
        notes.extend(buffered_note(plan, &plain));
        let before = plan.earlier.as_ref().map_or(0.0, |earlier| earlier.elapsed_s);
        Ok(Self {
            plan,
            stop: time.flag(),
            time,
            throttled,
            clock: Clock { started: time.started, before: Duration::from_secs_f64(before) },
            pace: Pace::default(),
            workloads: plan.workloads.clone(),
            file_pace: FilePace::default(),
            machine,
            notes,
            engine,
            fallback,
            counters,
            reserve: Arc::new(reserve),
            encrypted,
            in_use,
            plain,
            emulation,
            journal,
        })
    }

    /// # Errors
    /// [`Halt::Interrupted`] once the run should end.
    pub(super) fn go_on(&self) -> Result<(), Halt> {
        if self.stop.load(Ordering::Relaxed) { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// The target in the form of the record, before anything is set up. Its arms have the names in `recorded`.
    pub(crate) fn describe(&self, recorded: &record::Plan) -> record::Target {
        let PreparedTarget { target, range, .. } = &self.plain;
        let mut paired = self
            .encrypted
            .iter()
            .enumerate()
            .filter_map(|(number, target)| self.describe_place(number, target, recorded));
        record::Target {
            directory: shown(&target.path),
            kind: (!target.is_directory()).then(|| target.kind().to_owned()),
            backing_file: target.existing.as_ref().and_then(|e| e.backing_file.clone()),
            erased: target.existing.as_ref().map(|e| e.signatures.clone()).unwrap_or_default(),
            filesystem: target.ground.filesystem.clone(),
            mount_options: target.ground.mount_options.clone(),
            source: target.ground.source.clone(),
            place: self.place(),
            device: target.device().cloned(),
            self_encrypting: target
                .ground
                .self_encrypting
                .clone()
                .filter(|_| self.emulation.is_none()),
            device_kind: target.ground.device_kind.clone().filter(|_| self.emulation.is_none()),
            idle_disk: self.plain.idle_disk,
            uncounted: self.plain.uncounted,
            encrypted_by: target.ground.encrypted_by.clone(),
            scratch: record::Scratch {
                size_bytes: range.as_ref().map_or(0, ActiveRange::len),
                size_reason: self.plain.size_reason.clone(),
                extents: None,
            },
            engine: record::Engine {
                name: self.engine.name().to_owned(),
                fallback_reason: self.fallback.clone(),
                direct: range.as_ref().is_some_and(|r| r.mode() == IoMode::Direct),
                details: None,
            },
            paired: paired.next(),
            also_paired: paired.collect(),
            only_read: self.plan.storage.is_only_read(),
            emulated: self.emulation.as_ref().map(Emulation::describe),
        }
    }

    /// Special properties of the plain target.
    fn place(&self) -> Vec<PlaceKind> {
        let mut kinds = self.plain.target.ground.kinds.clone();
        let mode = self.plain.range.as_ref().map(ActiveRange::mode);
        if mode == Some(IoMode::Buffered) && self.plan.buffered == Buffered::No {
            kinds.push(PlaceKind::NoDirectIo);
        }
        kinds
    }

    /// The target of an arm; volumes are on the plain target.
    pub(crate) fn target_of(&self, arm: Option<&ArmSpec>) -> &PreparedTarget {
        match arm.map(|arm| arm.target) {
            Some(Place::Encrypted(number)) => &self.encrypted[number],
            Some(Place::Plain) | None => &self.plain,
        }
    }

    /// Encrypted target `number` in the form of the record.
    fn describe_place(
        &self,
        number: usize,
        prepared: &PreparedTarget,
        recorded: &record::Plan,
    ) -> Option<record::PairedTarget> {
        let target = &prepared.target;
        let of_place = |arm: &&ArmSpec| arm.target == Place::Encrypted(number);
        let id = &self.plan.arms.systems().iter().find(of_place)?.id;
        let arm = recorded.arms.iter().find(|arm| arm.id == *id)?;
        let existing = target.existing.as_ref();
        Some(record::PairedTarget {
            name: arm.label.clone(),
            arm: arm.id.clone(),
            directory: shown(&target.path),
            kind: target.kind().to_owned(),
            filesystem: target.ground.filesystem.clone(),
            mount_options: target.ground.mount_options.clone(),
            source: target.ground.source.clone(),
            device: target.device().cloned(),
            on_another_disk: target.is_on_another_disk_than(&self.plain.target),
            idle_disk: prepared.idle_disk,
            uncounted: prepared.uncounted,
            backing_file: existing.and_then(|e| e.backing_file.clone()),
            erased: existing.map(|e| e.signatures.clone()).unwrap_or_default(),
            in_use: self.in_use.as_ref().map(|in_use| in_use.facts.clone()),
        })
    }
}

/// The machine and the devices 0 to `last`, with their activity while this program sleeps.
fn idle(counters: &mut Counters, last: usize) -> (record::Machine, Vec<Option<DiskCounts>>) {
    let counted = |counters: &Counters| -> Vec<_> {
        (0..=last).map(|device| counters.counted(device)).collect()
    };
    let before = counted(counters);
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let machine = machine(counters.measure_baseline(BASELINE, cpus));
    let both = before.into_iter().zip(counted(counters));
    let idle = |(a, b): (Option<DeviceCounts>, Option<DeviceCounts>)| {
        Some(DiskCounts::of(&b?.since(&a?), 0, 0))
    };
    (machine, both.map(idle).collect())
}

/// A note for readers if requests go through the page cache.
fn buffered_note(plan: &Plan, plain: &PreparedTarget) -> Option<String> {
    plain.range.as_ref().filter(|range| range.mode() == IoMode::Buffered)?;
    let why = match plan.buffered {
        Buffered::Asked => "as requested".to_owned(),
        Buffered::Profile => "as the profile specifies".to_owned(),
        Buffered::No => {
            let file_system = match plain.target.ground.filesystem.as_str() {
                "" => "it",
                name => name,
            };
            format!("because {file_system} does not support direct I/O here")
        }
    };
    let inline = plan.recorded.arms.iter().any(|a| a.attachment.as_deref() == Some("inline"));
    let below = match inline {
        true => {
            " Inline systems are above the cache, so it holds ciphertext, and every read is decrypted."
        }
        false => "",
    };
    Some(format!(
        "Requests go through the page cache, {why}. Written data is flushed after each trial, but the figures \
         include both the cache and the disk.{below}"
    ))
}
