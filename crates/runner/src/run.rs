//! One run on real storage, from the request to the record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{IoMode, Surface};
use cryptbench_load::{Engine, LoadError};
use cryptbench_record::{self as record, Record, Scratch as RecordScratch, Target};
use cryptbench_system::provision::{Ledger, Scratch};
use cryptbench_system::{self as system};

use crate::accounting::Accountant;
use crate::measure::Storage;
use crate::plan::{Resolved, resolve};
use crate::target::{Site, human};
use crate::{Event, Observer, Request, RunError, drive, environment};

/// How long the machine is watched while this program sleeps.
const BASELINE: Duration = Duration::from_millis(500);

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
    let resolved = resolve(request)?;
    let site = Site::inspect(&request.target.path, &run_id)?;
    let largest = resolved.workloads.iter().map(|w| w.block_size).max().unwrap_or(0);
    let (size, mut size_reason) = site.size(request.target.size, largest)?;
    let (mut engine, fallback) = Engine::open(request.engine)?;
    let mut notes = Vec::new();

    let mut accountant = Accountant::new(site.device_stat.clone());
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let machine = environment::machine(accountant.measure_baseline(BASELINE, cpus));

    let mut scratch = Scratch::create(&site.scratch, size, Ledger::create(&run_id)?)?;
    if request.target.buffered {
        scratch.go_buffered()?;
    }
    if scratch.mode() == IoMode::Buffered {
        notes.push(buffered_note(request.target.buffered, &site.filesystem));
    }
    if let Some(reason) = &fallback {
        notes.push(format!("io_uring is not used ({reason}); requests are carried by threads."));
    }
    if site.device_stat.is_none() {
        notes.push(format!(
            "The device under {} has no counters ({} on {}): a number from a cache cannot be told here.",
            site.directory.display(),
            site.filesystem,
            site.source
        ));
    }
    let mut target = describe(&site, &scratch, &engine, fallback, &size_reason);
    observer.event(Event::Planned { plan: &resolved.plan, target: &target });
    for note in &notes {
        observer.event(Event::Note(note));
    }

    let filled = fill(&mut engine, &mut scratch, &resolved, stop, observer)?;
    if filled < size {
        size_reason =
            format!("cut from {}: the disk fills no more in the time there is", human(size));
        target.scratch = RecordScratch { size_bytes: filled, size_reason, extents: None };
    }
    let surfaces = resolved
        .arms
        .iter()
        .map(|arm| system::find(arm.system)?.surface(arm, &scratch.surface(), resolved.tier))
        .collect::<Result<Vec<Surface>, _>>()?;
    let mut storage = Storage {
        engine,
        surfaces,
        workloads: resolved.workloads,
        accountant,
        trial: Duration::from_secs_f64(resolved.plan.trial_s),
        started,
        stop,
        generation: 0,
    };
    let mut course = drive(&resolved.plan, &mut storage, observer);
    drop(storage);
    let interrupted = stop.load(Ordering::Relaxed);
    if let Some(error) = &course.error {
        notes.push(format!("The run ended early: {error}."));
    }
    if let Err(error) = scratch.remove() {
        notes.push(format!(
            "The scratch file could not be removed ({error}); cryptbench cleanup will try again."
        ));
    }
    let error = course.error.take();
    if course.trials.is_empty()
        && let Some(error) = error
    {
        return Err(error);
    }
    let record = Record {
        schema: record::SCHEMA.to_owned(),
        program_version: program_version.to_owned(),
        run_id,
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_s: started.elapsed().as_secs_f64(),
        partial: interrupted || error.is_some(),
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

/// `20261121-203000-1a2b3c`: sorts by time, and two runs of one second differ.
fn run_id(now: jiff::Timestamp) -> String {
    let random = getrandom::u32().expect("the kernel's random generator answers") & 0xff_ffff;
    format!("{}-{random:06x}", now.strftime("%Y%m%d-%H%M%S"))
}

fn buffered_note(asked: bool, filesystem: &str) -> String {
    let why = if asked {
        "as asked".to_owned()
    } else {
        format!("because {filesystem} has no direct I/O here")
    };
    format!(
        "Requests pass the page cache, {why}; it is dropped before each trial and written back after \
         it, but the figures are those of the cache and the disk together."
    )
}

fn describe(
    site: &Site,
    scratch: &Scratch,
    engine: &Engine,
    fallback_reason: Option<String>,
    size_reason: &str,
) -> Target {
    Target {
        directory: site.directory.display().to_string(),
        filesystem: site.filesystem.clone(),
        mount_options: site.mount_options.clone(),
        source: site.source.clone(),
        device: site.device.clone(),
        scratch: RecordScratch {
            size_bytes: scratch.len(),
            size_reason: size_reason.to_owned(),
            extents: None,
        },
        engine: record::Engine {
            name: engine.name().to_owned(),
            fallback_reason,
            direct: scratch.mode() == IoMode::Direct,
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
    let surface = scratch.surface();
    while done < total {
        if Instant::now() >= deadline && done >= LEAST_FILLED {
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
