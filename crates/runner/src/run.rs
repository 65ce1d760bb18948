//! A run, from the request to the record: look, decide, claim, prepare, measure, verify, finish.

use std::sync::atomic::AtomicBool;
use std::thread;

use cryptbench_record::{Record, Sink};

use crate::decide::decide;
use crate::dry_run::wear_of;
use crate::look::look;
use crate::prepare::Claimed;
use crate::recorder::Recorder;
use crate::time::RunTime;
use crate::{Request, RunError};

/// Runs `request`. `stop` ends the run within a second.
///
/// Returns the record. If an error cut the run short after trials were measured, or occurred after them, the error is
/// returned as well; the record is still kept.
///
/// # Errors
/// [`RunError`] if nothing was measured.
pub fn run(
    request: &Request,
    program_version: &str,
    stop: &AtomicBool,
    sink: &mut dyn Sink,
) -> Result<(Record, Option<RunError>), RunError> {
    let time = RunTime::begin(stop);
    thread::scope(|scope| {
        let _watched = time.watch(scope);
        let facts = look(request);
        let mut plan = decide(request, &facts)?;
        let much = wear_of(&plan, request);
        plan.remarks.splice(0..0, much);
        let claimed = Claimed::claim(&plan, &time)?;
        let mut recorder = Recorder::begin(&plan, &claimed, program_version, sink)?;
        let prepared = claimed.prepare(&mut recorder);
        let measured = prepared.measure(&mut recorder);
        let verified = measured.verify(&mut recorder);
        let finished = verified.finish(&mut recorder);
        recorder.end(finished)
    })
}
