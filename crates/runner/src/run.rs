//! One run on real storage, from the request to the record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{IoMode, Surface};
use cryptbench_load::{Engine, LoadError, Pattern, Precondition};
use cryptbench_record::{self as record, Record, Scratch as RecordScratch, Target};
use cryptbench_stats::steady_state;
use cryptbench_system::provision::{Ledger, Scratch, WorkDirectory};
use cryptbench_system::{self as system, ArmSpec, Contender, Ground, SystemError};
use cryptbench_volume::VolumeError;

use crate::accounting::Accountant;
use crate::bench::Storage;
use crate::plan::{Arms, Resolved, least_scratch, resolve, room};
use crate::target::{Site, human};
use crate::unlock::{UNLOCK_TIME, Unlocker};
use crate::{Event, Observer, Request, RunError, drive, environment};

/// How long the machine is watched while this program sleeps.
const BASELINE: Duration = Duration::from_millis(500);

/// Bytes of a request of preconditioning (SNIA PTS, workload-independent preconditioning).
const PRECONDITION_BLOCK: u64 = 128 << 10;

/// Share of the budget that filling the scratch file may take; a slower disk gets a smaller file.
const FILL_SHARE: f64 = 0.15;

/// The smallest part of a scratch file that is still worth measuring on.
const LEAST_FILLED: u64 = 64 << 20;

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
    let site = Site::inspect(&request.target.path, &run_id)?;
    let room = room(&resolved.workloads);
    let size = match &resolved.arms {
        Arms::Systems(arms) => {
            let (size, reason) = site.scratch_size(request, &resolved.workloads)?;
            site.holds(size + room, containers(arms, size + room)?)?;
            Some((size, reason))
        }
        Arms::Volumes(_) => None,
    };
    let (mut engine, fallback) = Engine::open(request.engine)?;
    let mut notes = Vec::new();
    let mut accountant = Accountant::new(site.device_stat.clone());
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let machine = environment::machine(accountant.measure_baseline(BASELINE, cpus));
    if let Some(reason) = &fallback {
        notes.push(format!("io_uring is not used ({reason}); requests are carried by threads."));
    }
    if !accountant.device_counts() {
        notes.push(format!(
            "The device under {} has no counters ({} on {}): a number from a cache cannot be told here.",
            site.directory.display(),
            site.filesystem,
            site.source
        ));
    }
    notes.extend(request.profile.remarks.iter().cloned());

    let scratch = match size {
        Some((size, reason)) => {
            Some((scratch(size, request, &site, &resolved, &run_id, &mut notes)?, reason))
        }
        None => None,
    };
    let mut target = describe(&site, scratch.as_ref(), &engine, fallback);
    observer.event(Event::Planned { plan: &resolved.plan, target: &target });
    for note in &notes {
        observer.event(Event::Note(note));
    }
    let work = WorkDirectory::create(
        &site.directory.join(format!("cryptbench-{run_id}.work")),
        Ledger::create(&format!("{run_id}-work"))?,
    )?;
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
            precondition(&mut engine, &scratch, request, &resolved.plan, stop, observer)?;
            target.engine.details = Some(engine.details());
            let surface = scratch.surface();
            let ready = Prepared {
                scratch: &surface,
                work: work.path(),
                site: &site,
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
    let mut storage = Storage {
        engine,
        contenders,
        workloads: std::mem::take(&mut resolved.workloads),
        accountant,
        files: BTreeMap::new(),
        unlocker,
        trial: Duration::from_secs_f64(resolved.plan.trial_s),
        ramp: Duration::from_secs_f64(resolved.plan.ramp_s),
        seed: resolved.plan.seed,
        verify: request.verify,
        started,
        stop,
        generation: 0,
    };
    let mut course = drive(&resolved.plan, &mut storage, observer);
    // Files lie in what the contenders are taken down with.
    let Storage { contenders, files, unlocker, .. } = storage;
    drop((files, unlocker));
    let left = take_down(contenders, work);
    for note in &left {
        observer.event(Event::Note(note));
    }
    let interrupted = stop.load(Ordering::Relaxed);
    if let Some(error) = &course.error {
        notes.push(format!("The run ended early: {error}."));
    }
    let mut left_over = !left.is_empty();
    notes.extend(left);
    if let Some(Err(error)) = scratch.map(Scratch::remove) {
        left_over = true;
        notes.push(format!(
            "The scratch file could not be removed ({error}); cryptbench cleanup will try again."
        ));
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
    let error = error.or(left_over.then_some(RunError::LeftOver));
    let record = Record {
        schema: record::SCHEMA.to_owned(),
        program_version: program_version.to_owned(),
        run_id,
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_s: started.elapsed().as_secs_f64(),
        partial,
        plan: resolved.plan,
        machine,
        target,
        trials: course.trials,
        stops: course.stops,
        notes,
        results: None,
    };
    Ok((record, error))
}

/// Writes the scratch file again in a random order, as often as the user asked.
fn precondition(
    engine: &mut Engine,
    scratch: &Scratch,
    request: &Request,
    plan: &record::Plan,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if request.precondition == 0 || stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let total = scratch.len() * u64::from(request.precondition);
    let how = Precondition {
        pattern: Pattern::Permutation,
        passes: request.precondition,
        block_size: PRECONDITION_BLOCK,
        seed: plan.seed,
    };
    let mut tell = |done| observer.event(Event::Filling { done, total });
    match engine.precondition(&scratch.surface(), &how, stop, &mut tell) {
        // The schedule sees the same flag and ends before its first trial.
        Err(LoadError::Interrupted) => Ok(()),
        other => Ok(other?),
    }
}

/// Which workloads ended in a steady state, as the SNIA performance test specification has it: over the last
/// five rounds plain storage moved by at most 20 % of its mean, and its trend by at most 10 %.
fn steady_note(plan: &record::Plan, trials: &[record::Trial]) -> Option<String> {
    let plain = plan.arms.first()?;
    let steady = |w: &&record::Workload| {
        let rates: Vec<f64> = record::trials_of(trials, &w.id, &plain.id)
            .iter()
            .map(|(_, trial)| trial.iops())
            .collect();
        steady_state(&rates).is_some()
    };
    let reached = plan.workloads.iter().filter(steady).count();
    Some(format!(
        "{reached} of {} workloads reached a steady state on plain storage (SNIA PTS: over five rounds an \
         excursion of at most 20 % and a slope of at most 10 % of the mean).",
        plan.workloads.len()
    ))
}

/// Bytes of the containers of mounted systems, each for `len` bytes of files.
fn containers(arms: &[ArmSpec], len: u64) -> Result<u64, RunError> {
    // As adapters choose them: a sixteenth and half a GiB for the file system's own.
    let each = len + len / 16 + (512 << 20);
    let mut sum = 0;
    for arm in arms {
        if system::find(arm.system)?.attachment() == system::Attachment::Mounted {
            sum += each;
        }
    }
    Ok(sum)
}

/// What contenders are set up on.
struct Prepared<'a> {
    scratch: &'a Surface,
    work: &'a Path,
    site: &'a Site,
    room: u64,
    run_id: &'a str,
}

impl Prepared<'_> {
    /// One contender per arm; if one fails, those before it are taken down.
    fn contenders(
        &self,
        arms: &[ArmSpec],
        resolved: &Resolved,
        engine: &mut Engine,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Contender>, RunError> {
        let mut all = Vec::new();
        for arm in arms {
            if stop.load(Ordering::Relaxed) {
                // The schedule sees the same flag and ends before its first trial.
                break;
            }
            let mut fill = |surface: &Surface| {
                let total = surface.extent.len;
                engine
                    .prefill(surface, resolved.plan.seed, stop, &mut |done| {
                        observer.event(Event::Filling { done, total });
                    })
                    .map_err(|e| SystemError::Fill(Box::new(e)))
            };
            let mut ground = Ground {
                scratch: self.scratch,
                directory: &self.site.directory,
                work: self.work,
                room: self.room,
                run_id: self.run_id,
                tier: resolved.tier,
                fill: &mut fill,
            };
            match system::find(arm.system)?.provision(arm, &mut ground) {
                Ok(contender) if contender.surface.mode != self.scratch.mode => {
                    return Err(RunError::Request(format!(
                        "{} has no direct I/O, and plain storage here has: its page cache would be measured \
                         beside a disk; give --buffered, which takes the page cache for all",
                        arm.label
                    )));
                }
                Ok(contender) => all.push(contender),
                Err(SystemError::Fill(_)) if stop.load(Ordering::Relaxed) => break,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(all)
    }
}

/// Takes everything down, in the reverse of the order in which it was set up, and says what could not be.
fn take_down(contenders: Vec<Contender>, work: WorkDirectory) -> Vec<String> {
    let remain = |what: &str, e: SystemError| {
        format!("{what} could not be taken down ({e}); cryptbench cleanup will try again.")
    };
    let mut notes: Vec<String> = contenders
        .into_iter()
        .rev()
        .filter_map(|c| c.take_down().err())
        .map(|e| remain("A system", e))
        .collect();
    notes.extend(work.remove().err().map(|e| remain("The directory for new files", e)));
    notes
}

/// `20261121-203000-1a2b3c`: sorts by time, and two runs of one second differ.
fn run_id(now: jiff::Timestamp) -> String {
    let random = getrandom::u32().expect("the kernel's random generator answers") & 0xff_ffff;
    format!("{}-{random:06x}", now.strftime("%Y%m%d-%H%M%S"))
}

fn buffered_note(request: &Request, filesystem: &str, resolved: &Resolved) -> String {
    let why = match (request.target.buffered, request.profile.buffered) {
        (Some(true), _) => "as asked".to_owned(),
        (None, true) => "as the profile has it".to_owned(),
        _ => format!("because {filesystem} has no direct I/O here"),
    };
    let inline = resolved.plan.arms.iter().any(|a| a.attachment.as_deref() == Some("inline"));
    let below = match inline {
        true => {
            " An inline system lies above it: the cache holds ciphertext, and every read decrypts."
        }
        false => "",
    };
    format!(
        "Requests pass the page cache, {why}; what was written is written back after each trial, but the \
         figures are those of the cache and the disk together.{below}"
    )
}

/// The scratch file, not yet filled.
fn scratch(
    size: u64,
    request: &Request,
    site: &Site,
    resolved: &Resolved,
    run_id: &str,
    notes: &mut Vec<String>,
) -> Result<Scratch, RunError> {
    let mut scratch = Scratch::create(&site.scratch, size, Ledger::create(run_id)?)?;
    let buffered = request.target.buffered.unwrap_or(request.profile.buffered);
    if buffered {
        scratch.go_buffered()?;
    }
    if scratch.mode() == IoMode::Buffered {
        notes.push(buffered_note(request, &site.filesystem, resolved));
    }
    Ok(scratch)
}

/// Whether a workload has fewer trials than the plan says it must have.
fn cut_short(plan: &record::Plan, stops: &[record::WorkloadStop]) -> bool {
    let least = if plan.fixed_trials().is_some() { plan.max_pairs } else { 1 };
    stops.iter().any(|stop| stop.pairs < least)
}

/// Requests in flight at the edges of the measured time make its rate uncertain by about as many requests:
/// said where that is more than an eighth of a trial.
fn few_requests(plan: &record::Plan, trials: &[record::Trial]) -> Option<String> {
    let few: Vec<_> = plan
        .workloads
        .iter()
        .filter(|w| w.is_timed())
        .filter(|w| {
            let least = 8 * u64::from(w.in_flight());
            trials.iter().any(|t| t.workload == w.id && t.block.is_some() && t.ios < least)
        })
        .collect();
    let first = few.first()?;
    let example = if few.len() == 1 { "" } else { "such as " };
    Some(format!(
        "{} of {} workloads ({example}{}) have trials of fewer than 8 requests for each one in flight: \
         their rates hang on where a trial begins and ends; give a longer --trial.",
        few.len(),
        plan.workloads.len(),
        first.label
    ))
}

fn describe(
    site: &Site,
    scratch: Option<&(Scratch, String)>,
    engine: &Engine,
    fallback_reason: Option<String>,
) -> Target {
    Target {
        directory: site.directory.display().to_string(),
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
    }
}

/// Fills the scratch file; a disk too slow for its size gets a smaller one.
///
/// Returns the bytes that are filled, which is the file's size afterwards.
fn fill(
    engine: &mut Engine,
    scratch: &mut Scratch,
    resolved: &Resolved,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<u64, RunError> {
    let total = scratch.len();
    let deadline = Instant::now() + Duration::from_secs_f64(resolved.plan.budget_s * FILL_SHARE);
    // In steps, so that a slow disk can end between two of them.
    let mut done = 0;
    let least = LEAST_FILLED.max(least_scratch(&resolved.workloads));
    let surface = scratch.surface();
    while done < total {
        if Instant::now() >= deadline && done >= least {
            scratch.shrink(done)?;
            break;
        }
        let end = (done + LEAST_FILLED).min(total);
        let seed = resolved.plan.seed;
        match engine.prefill_part(&surface, done..end, seed, stop, &mut |bytes| {
            observer.event(Event::Filling { done: done + bytes, total });
        }) {
            // The schedule sees the same flag and ends before its first trial.
            Err(LoadError::Interrupted) => break,
            other => other?,
        }
        done = end;
    }
    Ok(scratch.len())
}
