//! Everything that a run is set up with: storage claimed and filled, arms brought up.

mod active_range;
mod arms;
mod emulated;
mod fill;
mod lower_cache;
mod seclusion;
mod target;
pub(crate) mod volumes;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::IoMode;
use cryptbench_export::SERVING;
use cryptbench_load::{Engine, FileSet};
use cryptbench_os::counters::Counters;
use cryptbench_record as record;
use cryptbench_system::resource::Journal;
use cryptbench_system::{PreparedArm, Target};

use self::active_range::ActiveRange;
use self::emulated::Emulation;
pub(crate) use self::target::PreparedTarget;
use self::volumes::Unlocker;
use crate::plan::arms::Arms;
use crate::plan::storage::{Buffered, Present, Storage};
use crate::plan::{Plan, limits};
use crate::recorder::Recorder;
use crate::{Event, Halt, Observer as _, RunError, machine, resumed};

/// How long the machine is watched while this program sleeps.
const BASELINE: Duration = Duration::from_millis(500);

/// A run under way: what it holds. What is still up when it is dropped is taken down, from the first field to the last.
pub(crate) struct Session<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) clock: Clock,
    pub(crate) machine: record::Machine,
    /// What a reader must know of the storage, in sentences.
    pub(crate) notes: Vec<String>,
    /// The plan as a record has it, with what turned out as arms were brought up.
    pub(crate) recorded: record::Plan,
    pub(crate) engine: Engine,
    /// Why io_uring is not used, if it is not.
    fallback: Option<String>,
    pub(crate) counters: Counters,
    /// Number of the latest job, which is in the verify header of what it writes.
    pub(crate) generation: u64,
    /// The sets of small files of each arm, as far as they were needed.
    pub(crate) files: BTreeMap<usize, FileSet>,
    /// The volumes, where opening them is the work.
    pub(crate) unlocker: Option<Unlocker>,
    /// One for each arm of the plan, where systems are under a load.
    pub(crate) arms: Vec<PreparedArm>,
    /// The second target of a pair.
    pub(crate) encrypted: Option<PreparedTarget>,
    pub(crate) plain: PreparedTarget,
    pub(crate) emulation: Option<Emulation>,
    /// What everything that is set up is written down in first.
    journal: Journal,
}

/// The time of a run.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    started: Instant,
    /// What an earlier part of the run took.
    before: Duration,
}

impl Clock {
    /// Since the start of the run, without the time between two parts of it.
    pub(crate) fn elapsed(self) -> Duration {
        self.before + self.started.elapsed()
    }
}

impl<'a> Session<'a> {
    /// Claims the storage of `plan`; nothing is written yet but empty files.
    ///
    /// # Errors
    /// Any [`RunError`]; nothing is left.
    pub(crate) fn open(plan: &'a Plan, stop: &'a AtomicBool) -> Result<Self, RunError> {
        let started = Instant::now();
        let journal = Journal::create(&plan.run_id)?;
        let (emulation, present) = match &plan.storage {
            Storage::Present(present) => (None, (**present).clone()),
            Storage::Emulated(storage) => {
                let (emulation, present) = Emulation::serve(storage, plan, &journal)?;
                (Some(emulation), present)
            }
        };
        let Present { targets, range } = present;
        let mut notes = emulation.as_ref().map_or(Vec::new(), |e| e.notes().to_vec());
        let (engine, fallback) = Engine::open(plan.engine)?;
        if let Some(reason) = &fallback {
            let reason =
                format!("io_uring is not used ({reason}); requests are carried by threads.");
            notes.push(reason);
        }
        let mut counters = Counters::new(targets.plain.device_stat.clone(), &SERVING);
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let machine = machine(counters.measure_baseline(BASELINE, cpus));
        let size = range.as_ref().map_or(0, |range| range.size);
        let target_notes = targets.notes(size);
        // Both targets are claimed before the first byte is written to either.
        let plain = PreparedTarget::claim(targets.plain, range.clone(), plan, "work", 0, &journal)?;
        let encrypted = match targets.encrypted {
            Some(target) => {
                let counted_by = counters.add_device(target.device_stat.clone());
                let encrypted = PreparedTarget::claim(
                    target,
                    range,
                    plan,
                    "paired-work",
                    counted_by,
                    &journal,
                )?;
                encrypted.check_mode(&plain)?;
                Some(encrypted)
            }
            None => None,
        };
        for target in [Some(&plain), encrypted.as_ref()].into_iter().flatten() {
            if !counters.device_counts(target.counted_by) {
                notes.push(target.uncounted());
            }
        }
        notes.extend(target_notes);
        notes.extend(plan.remarks.iter().cloned());
        notes.extend(buffered_note(plan, &plain));
        let before = plan.earlier.as_ref().map_or(0.0, |earlier| earlier.elapsed_s);
        Ok(Self {
            plan,
            stop,
            clock: Clock { started, before: Duration::from_secs_f64(before) },
            machine,
            notes,
            recorded: plan.recorded.clone(),
            engine,
            fallback,
            counters,
            generation: 0,
            files: BTreeMap::new(),
            unlocker: None,
            arms: Vec::new(),
            encrypted,
            plain,
            emulation,
            journal,
        })
    }

    /// Fills the storage and brings the arms up.
    ///
    /// # Errors
    /// [`Halt`]; what is up already is taken down by [`finish`](Self::finish).
    pub(crate) fn prepare(&mut self, recorder: &mut Recorder<'_>) -> Result<(), Halt> {
        match &self.plan.arms {
            Arms::Systems(arms) => {
                self.fill(recorder)?;
                self.bring_up(arms, recorder)?;
            }
            Arms::Volumes(arms) => {
                let made = Unlocker::prepare(
                    arms,
                    self.plain.work.path(),
                    volumes::UNLOCK_TIME,
                    self.stop,
                    &mut |arm| recorder.event(Event::Preparing { what: &arm.label }),
                )?;
                self.recorded.arms = made.record_arms()?;
                self.unlocker = Some(made);
            }
        }
        let lengths = match self.plan.earlier.as_deref() {
            Some(earlier) => Some(resumed::lengths(earlier)),
            None => {
                let fitted = limits::fit(self.plan, self.clock.started.elapsed());
                fitted.note.into_iter().for_each(|note| recorder.tell(note));
                fitted.trial
            }
        };
        if let Some((trial_s, ramp_s)) = lengths {
            (self.recorded.trial_s, self.recorded.ramp_s) = (trial_s, ramp_s);
        }
        recorder.prepared(&self.recorded, self.describe());
        Ok(())
    }

    /// # Errors
    /// [`Halt::Interrupted`] once the run is to end.
    pub(crate) fn go_on(&self) -> Result<(), Halt> {
        if self.stop.load(Ordering::Relaxed) { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// The target as a record has it, with what is known by now.
    pub(crate) fn describe(&self) -> record::Target {
        let PreparedTarget { target, range, .. } = &self.plain;
        let volumes = self.unlocker.as_ref().is_some_and(|u| u.mode() == IoMode::Direct);
        record::Target {
            directory: target.path.display().to_string(),
            kind: target.existing.as_ref().map(|_| target.kind().to_owned()),
            backing_file: target.existing.as_ref().and_then(|e| e.backing_file.clone()),
            erased: target.existing.as_ref().map(|e| e.signatures.clone()).unwrap_or_default(),
            filesystem: target.filesystem.clone(),
            mount_options: target.mount_options.clone(),
            source: target.source.clone(),
            device: target.device.clone(),
            scratch: record::Scratch {
                size_bytes: range.as_ref().map_or(0, ActiveRange::len),
                size_reason: self.plain.size_reason.clone(),
                extents: None,
            },
            engine: record::Engine {
                name: self.engine.name().to_owned(),
                fallback_reason: self.fallback.clone(),
                direct: volumes || range.as_ref().is_some_and(|r| r.mode() == IoMode::Direct),
                details: (!self.arms.is_empty()).then(|| self.engine.details()),
            },
            paired: self.describe_pair(),
            emulated: self.emulation.as_ref().map(Emulation::describe),
        }
    }

    fn describe_pair(&self) -> Option<record::PairedTarget> {
        let target = &self.encrypted.as_ref()?.target;
        let at = self.plan.arms.systems().iter().position(|arm| arm.target == Target::Encrypted)?;
        let arm = &self.recorded.arms[at];
        let existing = target.existing.as_ref();
        Some(record::PairedTarget {
            name: arm.label.clone(),
            arm: arm.id.clone(),
            directory: target.path.display().to_string(),
            kind: target.kind().to_owned(),
            filesystem: target.filesystem.clone(),
            mount_options: target.mount_options.clone(),
            source: target.source.clone(),
            device: target.device.clone(),
            backing_file: existing.and_then(|e| e.backing_file.clone()),
            erased: existing.map(|e| e.signatures.clone()).unwrap_or_default(),
        })
    }
}

/// What a reader must know where requests pass the page cache.
fn buffered_note(plan: &Plan, plain: &PreparedTarget) -> Option<String> {
    plain.range.as_ref().filter(|range| range.mode() == IoMode::Buffered)?;
    let why = match plan.buffered {
        Buffered::Asked => "as asked".to_owned(),
        Buffered::Profile => "as the profile has it".to_owned(),
        Buffered::No => {
            let file_system = match plain.target.filesystem.as_str() {
                "" => "it",
                name => name,
            };
            format!("because {file_system} has no direct I/O here")
        }
    };
    let inline = plan.recorded.arms.iter().any(|a| a.attachment.as_deref() == Some("inline"));
    let below = match inline {
        true => {
            " An inline system lies above it: the cache holds ciphertext, and every read decrypts."
        }
        false => "",
    };
    Some(format!(
        "Requests pass the page cache, {why}; what was written is written back after each trial, but the \
         figures are those of the cache and the disk together.{below}"
    ))
}
