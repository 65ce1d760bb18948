//! A run, from the request to the record: look, decide, prepare, measure, verify, finish.

use std::sync::atomic::AtomicBool;

use cryptbench_record::Record;

use crate::decide::decide;
use crate::look::look;
use crate::prepare::Session;
use crate::recorder::Recorder;
use crate::{Observer, Request, RunError};

/// Runs `request`. `stop` ends the run within a second.
///
/// Returns the record. If an error cut the run short after trials were measured, or occurred after
/// them, it is returned as well; the record is still kept.
///
/// # Errors
/// [`RunError`] if nothing was measured.
pub fn run(
    request: &Request,
    program_version: &str,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Record, Option<RunError>), RunError> {
    let plan = decide(request, &look(request))?;
    let mut session = Session::open(&plan, stop)?;
    let mut recorder = Recorder::begin(&plan, &session, program_version, observer)?;
    let halt = session.prepare(&mut recorder).and_then(|()| session.measure(&mut recorder)).err();
    let found = match halt {
        // Proof takes writing.
        None if plan.storage.is_only_read() => None,
        None => session.verify(&mut recorder),
        // Storage that failed under load may hang when it is closed, so it is only taken down.
        Some(_) => None,
    };
    let left_over = session.finish(halt.as_ref(), &mut recorder);
    recorder.end(halt, found, left_over)
}
