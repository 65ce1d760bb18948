//! Setting the contenders of a run up, and taking them down.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use cryptbench_blockdev::{IoMode, Surface};
use cryptbench_load::Engine;
use cryptbench_system::provision::runtime_directory;
use cryptbench_system::resource::{Journal, WorkDirectory};
use cryptbench_system::{self as system, ArmContext, ArmSpec, PreparedArm, SystemError, Target};
use cryptbench_text::chain;

use super::below::{Below, caches_below, look_below, serving};
use super::notes::buffered_note;
use crate::plan::Resolved;
use crate::target::{Site, Stretch};
use crate::{Event, Observer, Request, RunError};

/// The stretch that requests go to, not yet filled.
pub(super) fn stretch(
    size: u64,
    request: &Request,
    site: &Site,
    resolved: &Resolved,
    journal: &Journal,
    notes: &mut Vec<String>,
) -> Result<Stretch, RunError> {
    let buffered = request.target.buffered.unwrap_or(request.profile.buffered);
    let stretch = Stretch::on(site, size, buffered, journal)?;
    if stretch.mode() == IoMode::Buffered {
        let file_system = match site.filesystem.as_str() {
            "" => "it",
            name => name,
        };
        notes.push(buffered_note(request, file_system, resolved));
    }
    Ok(stretch)
}

/// A directory for new files on the target; where the target has none, elsewhere, and it stays empty.
pub(super) fn work_directory(
    site: &Site,
    run_id: &str,
    what: &str,
    journal: &Journal,
) -> Result<WorkDirectory, RunError> {
    // In a mount of our own it goes with that, and cleanup is not to wait for it to come back.
    let name = match site.is_our_own() {
        true => "work".to_owned(),
        false => format!("cryptbench-{run_id}.work"),
    };
    let parent = match &site.existing {
        None => site.inside.clone(),
        Some(_) => runtime_directory().unwrap_or_else(std::env::temp_dir),
    };
    // Both places of a pair may have none.
    let name = if site.existing.is_some() { format!("{name}.{what}") } else { name };
    Ok(WorkDirectory::create(&parent.join(name), journal)?)
}

/// The encrypted place of a pair.
pub(super) struct Beside<'a> {
    site: &'a Site,
    stretch: Stretch,
    work: WorkDirectory,
    /// Where the place keeps what it stores, if that was found.
    stored: Option<PathBuf>,
    /// Whether direct writes end in a page cache below it.
    cached: bool,
    /// Processes that serve it, as far as the kernel tells.
    daemons: Vec<u32>,
}

impl<'a> Beside<'a> {
    /// Takes as much as the plain place has, in the same mode; nothing is written yet.
    pub(super) fn take(
        site: &'a Site,
        plain: &Stretch,
        run_id: &str,
        journal: &Journal,
    ) -> Result<Self, RunError> {
        let buffered = plain.mode() == IoMode::Buffered;
        let stretch = Stretch::on(site, plain.len(), buffered, journal)?;
        if stretch.mode() != plain.mode() {
            return Err(no_direct_io(&site.directory.display().to_string()));
        }
        let work = work_directory(site, run_id, "paired-work", journal)?;
        let cached = caches_below(site);
        Ok(Self { site, stretch, work, stored: None, cached, daemons: serving(site) })
    }

    /// Fills `len` bytes of it, which are then all that is used.
    pub(super) fn fill(
        &mut self,
        len: u64,
        fill: &mut dyn FnMut(&Surface) -> Result<(), RunError>,
        notes: &mut Vec<String>,
    ) -> Result<(), RunError> {
        let (site, began) = (self.site, SystemTime::now());
        if len < self.stretch.len() {
            self.stretch.shrink(len)?;
        }
        fill(&self.stretch.surface())?;
        self.stored = match look_below(site, began, len) {
            Below::Stored(path) => Some(path),
            Below::Nothing => None,
            Below::Hidden(why) => {
                notes.push(format!(
                    "What {} keeps in memory below its mount cannot be dropped ({why}): what is read there may not come \
                     from a disk, and the table says so where the device's counters show it.",
                    site.directory.display()
                ));
                None
            }
        };
        Ok(())
    }

    pub(super) fn surface(&self) -> Surface {
        self.stretch.surface()
    }

    /// Removes what was made there, and says what could not be.
    pub(super) fn end(self) -> Vec<String> {
        let Self { site, stretch, work, .. } = self;
        let remain = |what: &str, e: SystemError| {
            let place = site.directory.display();
            format!(
                "{what} in {place} could not be taken down ({}); cryptbench cleanup will try again.",
                chain(&e)
            )
        };
        let mut notes = Vec::new();
        notes.extend(work.remove().err().map(|e| remain("The directory for new files", e)));
        notes.extend(stretch.end().err().map(|e| remain("The scratch file", e)));
        notes
    }
}

/// What contenders are set up on.
pub(super) struct Prepared<'a> {
    pub(super) scratch: &'a Surface,
    pub(super) work: &'a Path,
    pub(super) site: &'a Site,
    pub(super) beside: Option<&'a Beside<'a>>,
    /// The file that all of `site` lies in, where that is written to through the page cache.
    pub(super) kept_in: Option<PathBuf>,
    pub(super) room: u64,
    pub(super) run_id: &'a str,
    pub(super) journal: &'a Journal,
}

impl Prepared<'_> {
    /// One contender per arm; if one fails, those before it are taken down.
    pub(super) fn contenders(
        &self,
        arms: &[ArmSpec],
        resolved: &Resolved,
        engine: &mut Engine,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Vec<PreparedArm>, RunError> {
        let mut all = Vec::new();
        for arm in arms {
            if stop.load(Ordering::Relaxed) {
                // The schedule sees the same flag and ends before its first trial.
                break;
            }
            observer.event(Event::Preparing { what: &arm.label });
            match self.contender(arm, resolved, engine, stop, observer) {
                Ok(contender) if contender.surface.mode != self.scratch.mode => {
                    return Err(no_direct_io(&arm.label));
                }
                Ok(contender) => all.push(contender),
                // An error of what was cut short is none of the system's.
                Err(SystemError::Fill(_) | SystemError::Stopped)
                    if stop.load(Ordering::Relaxed) =>
                {
                    break;
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(all)
    }

    fn contender(
        &self,
        arm: &ArmSpec,
        resolved: &Resolved,
        engine: &mut Engine,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<PreparedArm, SystemError> {
        let mut fill = |surface: &Surface| {
            let total = surface.extent.len;
            engine
                .prefill(surface, resolved.plan.seed, stop, &mut |done| {
                    observer.event(Event::Filling { done, total });
                })
                .map_err(|e| SystemError::Fill(Box::new(e)))
        };
        let mut context = ArmContext {
            journal: self.journal,
            scratch: self.scratch,
            directory: &self.site.inside,
            work: self.work,
            room: self.room,
            run_id: self.run_id,
            tier: resolved.tier,
            fill: &mut fill,
            stop,
        };
        let system = system::find(arm.system)?;
        let beside = self.beside.filter(|_| arm.target == Target::Encrypted);
        let Some(beside) = beside else {
            let mut contender = system.prepare(arm, &mut context)?;
            // What lies on this place is kept in the page cache below it too, whoever put it there.
            if let Some(file) = &self.kept_in {
                contender.cached_below = true;
                contender.stored.get_or_insert_with(|| file.clone());
            }
            return Ok(contender);
        };
        let surface = beside.surface();
        context.scratch = &surface;
        context.directory = &beside.site.inside;
        context.work = beside.work.path();
        let mut contender = system.prepare(arm, &mut context)?;
        contender.stored.clone_from(&beside.stored);
        contender.cached_below = beside.cached;
        contender.daemons.clone_from(&beside.daemons);
        Ok(contender)
    }
}

fn no_direct_io(what: &str) -> RunError {
    RunError::Request(format!(
        "{what} has no direct I/O, and plain storage here has: its page cache would be measured beside a disk; give \
         --buffered, which takes the page cache for all"
    ))
}

/// Takes everything down, in the reverse of the order in which it was set up, and says what could not be.
pub(super) fn take_down(contenders: Vec<PreparedArm>, work: WorkDirectory) -> Vec<String> {
    let remain = |what: &str, e: SystemError| {
        format!(
            "{what} could not be taken down ({}); cryptbench cleanup will try again.",
            chain(&e)
        )
    };
    let mut notes: Vec<String> = contenders
        .into_iter()
        .rev()
        .filter_map(|c| c.destroy().err())
        .map(|e| remain("A system", e))
        .collect();
    notes.extend(work.remove().err().map(|e| remain("The directory for new files", e)));
    notes
}
