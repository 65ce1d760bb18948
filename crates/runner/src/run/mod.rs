//! One run on real storage, from the request to the record.

mod below;
mod fill;
mod notes;
mod resumed;
mod setup;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{IoMode, Surface};
use cryptbench_export::SERVING;
use cryptbench_load::Engine;
use cryptbench_os::counters::Counters;
use cryptbench_record::{self as record, Line, Record, Scratch as RecordScratch, Target};
use cryptbench_system as system;
use cryptbench_text::chain;
use cryptbench_volume::VolumeError;

use self::below::caches_below;
use self::fill::{fill, precondition, prefill};
use self::notes::{cut_short, few_requests, steady_note};
use self::setup::{Beside, Prepared, stretch, take_down, work_directory};
use crate::bench::Storage;
use crate::evidence::Proof;
use crate::plan::{Arms, PAIRED, refit, resolve, room};
use crate::schedule::drive_on;
use crate::target::{Emulation, Places, Site, Stretch, human};
use crate::unlock::{UNLOCK_TIME, Unlocker};
use crate::{Event, Observer, Request, RunError, evidence, machine};

/// How long the machine is watched while this program sleeps.
const BASELINE: Duration = Duration::from_millis(500);

/// The accountant's number of the place with plain storage.
const PLAIN: usize = 0;

/// Runs `request`. `stop` ends the run within a second.
///
/// Returns the record and, when an error cut the run short after trials were measured, that error:
/// the record is then partial. An error before the first trial is returned alone.
pub fn run(
    request: &Request,
    program_version: &str,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Record, Option<RunError>), RunError> {
    let started = Instant::now();
    let now = jiff::Timestamp::now();
    let run_id = run_id(now);
    let mut resolved = resolve(request)?;
    let earlier = request.resume.as_deref();
    let before = Duration::from_secs_f64(earlier.map_or(0.0, |earlier| earlier.elapsed_s));
    let mut emulation = Emulation::set_up(request, &resolved, &run_id)?;
    let emulated = emulation.as_ref().map(|emulation| emulation.request(request));
    let request = emulated.as_ref().unwrap_or(request);
    let mut places = Places::inspect(request, &run_id)?;
    places.suit(&resolved)?;
    places.name_pair(request, &mut resolved);
    // Made before all that lies in it, and so dropped after it.
    let private = places.seclude(&resolved, &run_id)?;
    let site = &places.plain;
    let room = room(&resolved.workloads);
    let size = match &resolved.arms {
        Arms::Systems(arms) => Some(places.size(request, arms, &resolved.workloads)?),
        Arms::Volumes(_) => None,
    };
    let (mut engine, fallback) = Engine::open(request.engine)?;
    let mut notes = emulation.as_ref().map_or(Vec::new(), |e| e.notes().to_vec());
    let mut accountant = Counters::new(site.device_stat.clone(), &SERVING);
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let machine = machine(accountant.measure_baseline(BASELINE, cpus));
    if let Some(reason) = &fallback {
        notes.push(format!("io_uring is not used ({reason}); requests are carried by threads."));
    }
    if !accountant.device_counts(PLAIN) {
        notes.push(uncounted(site));
    }
    let beside_place = places.encrypted.as_ref().map(|site| {
        let place = accountant.add_device(site.device_stat.clone());
        if !accountant.device_counts(place) {
            notes.push(uncounted(site));
        }
        place
    });
    notes.extend(places.notes(size.as_ref().map_or(0, |(size, _)| *size)));
    notes.extend(request.profile.remarks.iter().cloned());

    let scratch = match size {
        Some((size, reason)) => {
            Some((stretch(size, request, site, &resolved, &run_id, &mut notes)?, reason))
        }
        None => None,
    };
    let mut target = describe(site, scratch.as_ref(), &engine, fallback);
    target.paired = places.record_pair(&resolved);
    target.emulated = emulation.as_ref().map(Emulation::describe);
    observer.event(Event::Planned { plan: &resolved.plan, target: &target });
    for note in &notes {
        observer.event(Event::Note(note));
    }
    let told = notes.len();
    let mut record = Record {
        schema: record::SCHEMA.to_owned(),
        program_version: program_version.to_owned(),
        run_id: earlier.map_or(&run_id, |earlier| &earlier.run_id).clone(),
        started: earlier.map_or_else(
            || now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            |earlier| earlier.started.clone(),
        ),
        elapsed_s: 0.0,
        partial: true,
        plan: resolved.plan.clone(),
        machine,
        target: target.clone(),
        trials: Vec::new(),
        stops: Vec::new(),
        notes: notes.clone(),
        evidence: Vec::new(),
        results: None,
    };
    match earlier {
        None => observer.log(&Line::Start(Box::new(record.clone()))),
        Some(earlier) => {
            resumed::check(earlier, &resolved.plan, &target, program_version)?;
            notes.push(format!(
                "The run was cut short after {:.0} s and {} trials, and resumed later.",
                earlier.elapsed_s,
                earlier.trials.len()
            ));
            observer.log(&Line::Resumed { at_s: earlier.elapsed_s });
        }
    }
    let work = work_directory(site, &run_id, "work")?;
    // Both places are claimed before the first byte is written to either.
    let mut beside = match (&places.encrypted, &scratch) {
        (Some(site), Some((plain, _))) => Some(Beside::take(site, plain, &run_id)?),
        _ => None,
    };
    let (mut contenders, mut unlocker) = (Vec::new(), None);
    let scratch = match (scratch, &resolved.arms) {
        (Some((mut scratch, mut size_reason)), Arms::Systems(arms)) => {
            let size = scratch.len();
            let filled = fill(&mut engine, &mut scratch, &resolved, stop, observer)?;
            if filled < size {
                size_reason = format!(
                    "cut from {}: the disk fills no more in the time there is",
                    human(size)
                );
            }
            target.scratch = RecordScratch { size_bytes: filled, size_reason, extents: None };
            let surface = scratch.surface();
            precondition(&mut engine, &surface, request, &resolved.plan, stop, observer)?;
            target.engine.details = Some(engine.details());
            if let Some(beside) = beside.as_mut().filter(|_| !stop.load(Ordering::Relaxed)) {
                let mut fill = |surface: &Surface| {
                    prefill(&mut engine, surface, resolved.plan.seed, stop, observer)
                };
                beside.fill(filled, &mut fill, &mut notes)?;
                let there = beside.surface();
                precondition(&mut engine, &there, request, &resolved.plan, stop, observer)?;
            }
            let ready = Prepared {
                scratch: &surface,
                work: work.path(),
                site,
                beside: beside.as_ref(),
                kept_in: site.kept_in().filter(|_| caches_below(site)),
                room,
                run_id: &run_id,
            };
            contenders = ready.contenders(arms, &resolved, &mut engine, stop, observer)?;
            for (recorded, arm) in resolved.plan.arms.iter_mut().zip(arms) {
                // The kernel names its drivers once they are in use.
                recorded.kernel_tier = system::find(arm.system)?.kernel_tier(arm, resolved.tier);
            }
            Some(scratch)
        }
        (_, Arms::Volumes(arms)) => {
            let made = Unlocker::prepare(arms, work.path(), UNLOCK_TIME, stop, &mut |arm| {
                observer.event(Event::Preparing { what: &arm.label });
            });
            match made {
                Ok(made) => {
                    resolved.plan.arms = made.record_arms()?;
                    target.engine.direct = made.mode() == IoMode::Direct;
                    unlocker = Some(made);
                }
                // The schedule sees the same flag and ends before its first trial.
                Err(RunError::Volume(VolumeError::Stopped)) => {}
                Err(e) => return Err(e),
            }
            None
        }
        (None, Arms::Systems(_)) => unreachable!("systems have a scratch file"),
    };
    match earlier {
        Some(earlier) => resumed::take_over(earlier, &mut resolved.plan),
        None => notes.extend(refit(&mut resolved, &request.profile, started.elapsed())),
    }
    observer.log(&Line::Prepared {
        plan: Box::new(resolved.plan.clone()),
        target: Box::new(target.clone()),
        notes: notes.clone(),
    });
    for note in &notes[told..] {
        observer.event(Event::Note(note));
    }
    let place_of = |arm: &record::Arm| beside_place.filter(|_| arm.system == PAIRED);
    let mut storage = Storage {
        engine,
        contenders,
        places: resolved.plan.arms.iter().map(|arm| place_of(arm).unwrap_or(PLAIN)).collect(),
        workloads: std::mem::take(&mut resolved.workloads),
        accountant,
        files: BTreeMap::new(),
        unlocker,
        trial: Duration::from_secs_f64(resolved.plan.trial_s),
        ramp: Duration::from_secs_f64(resolved.plan.ramp_s),
        seed: resolved.plan.seed,
        verify: request.verify,
        started,
        before,
        stop,
        generation: 0,
    };
    let trials = earlier.map_or(Vec::new(), |earlier| earlier.trials.clone());
    let mut course = drive_on(&resolved.plan, trials, &mut storage, observer);
    // Files lie in what the contenders are taken down with.
    let Storage { mut contenders, files, unlocker, .. } = storage;
    drop((files, unlocker));
    let proof = match course.error {
        // What failed under load may hang when it is taken down: it is done once.
        Some(_) => Proof::default(),
        None => evidence::gather(&mut contenders, &resolved.plan.arms, stop, observer),
    };
    notes.extend(proof.notes);
    notes.extend(evidence::doubts(&resolved.plan.arms, &proof.evidence));
    let mut left = take_down(contenders, work);
    left.extend(beside.map(Beside::end).unwrap_or_default());
    for note in &left {
        observer.event(Event::Note(note));
    }
    let interrupted = stop.load(Ordering::Relaxed);
    if let Some(error) = &course.error {
        notes.push(format!("The run ended early: {}.", chain(error)));
    }
    let mut left_over = !left.is_empty();
    notes.extend(left);
    if let Some(Err(error)) = scratch.map(Stretch::end) {
        left_over = true;
        notes.push(match &site.existing {
            Some(_) => {
                format!("What was written last may not be on the device: {}.", chain(&error))
            }
            None => format!(
                "The scratch file could not be removed ({}); cryptbench cleanup will try again.",
                chain(&error)
            ),
        });
    }
    for mut private in private {
        if let Err(error) = private.take_down() {
            left_over = true;
            notes.push(format!(
                "The private directory could not be removed ({}); cryptbench cleanup will try again.",
                chain(&error)
            ));
        }
    }
    if let Some(emulation) = &mut emulation {
        target.emulated = Some(emulation.describe());
        if let Err(error) = emulation.take_down() {
            left_over = true;
            notes.push(format!("The emulated device could not be taken down: {}.", chain(&error)));
        }
    }
    if request.precondition > 0 {
        notes.extend(steady_note(&resolved.plan, &course.trials));
    }
    notes.extend(few_requests(&resolved.plan, &course.trials));
    let error = course.error.take();
    if course.trials.is_empty()
        && let Some(error) = error
    {
        return Err(error);
    }
    let partial = interrupted || error.is_some() || cut_short(&resolved.plan, &course.stops);
    let error = error.or(proof.error).or(left_over.then_some(RunError::LeftOver));
    record.elapsed_s = (before + started.elapsed()).as_secs_f64();
    record.partial = partial;
    record.plan = resolved.plan;
    record.target = target;
    record.trials = course.trials;
    record.stops = course.stops;
    record.notes = notes;
    record.evidence = proof.evidence;
    Ok((record, error))
}

/// `20261121-203000-1a2b3c`: sorts by time, and two runs of one second differ.
fn run_id(now: jiff::Timestamp) -> String {
    let random = getrandom::u32().expect("the kernel's random generator answers") & 0xff_ffff;
    format!("{}-{random:06x}", now.strftime("%Y%m%d-%H%M%S"))
}

fn uncounted(site: &Site) -> String {
    format!(
        "The device under {} has no counters ({}): a number from a cache cannot be told here.",
        site.directory.display(),
        site.in_words()
    )
}

fn describe(
    site: &Site,
    scratch: Option<&(Stretch, String)>,
    engine: &Engine,
    fallback_reason: Option<String>,
) -> Target {
    Target {
        directory: site.directory.display().to_string(),
        kind: site.existing.as_ref().map(|_| site.kind().to_owned()),
        backing_file: site.existing.as_ref().and_then(|e| e.backing_file.clone()),
        erased: site.existing.as_ref().map(|e| e.signatures.clone()).unwrap_or_default(),
        filesystem: site.filesystem.clone(),
        mount_options: site.mount_options.clone(),
        source: site.source.clone(),
        device: site.device.clone(),
        scratch: RecordScratch {
            size_bytes: scratch.map_or(0, |(scratch, _)| scratch.len()),
            size_reason: scratch
                .map_or("none: volumes are opened", |(_, reason)| reason.as_str())
                .to_owned(),
            extents: None,
        },
        engine: record::Engine {
            name: engine.name().to_owned(),
            fallback_reason,
            direct: scratch.is_some_and(|(scratch, _)| scratch.mode() == IoMode::Direct),
            details: None,
        },
        paired: None,
        emulated: None,
    }
}
