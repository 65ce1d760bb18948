//! The io_uring engine: registered file, registered buffers, batched submission.

mod arena;
mod drive;
mod lanes;
mod probe;
mod session;

use std::sync::atomic::AtomicBool;

use self::drive::drive;
use self::lanes::Lanes;
use self::session::Session;
use super::transfer::Transfer;
use crate::LoadError;
use crate::memory::buffers_len;
use crate::places::Places;
use crate::window::Sink;

/// Fewest entries of a ring, so that the jobs of low queue depths share one.
const MIN_ENTRIES: u32 = 64;

pub(super) struct Uring {
    session: Option<Session>,
    /// How the latest job was carried.
    how: String,
}

impl Uring {
    /// An engine, or why io_uring cannot be used here.
    pub(super) fn probe() -> Result<Self, String> {
        probe::probe()?;
        Ok(Self { session: None, how: "no job yet".to_owned() })
    }

    pub(super) fn details(&self) -> String {
        self.how.clone()
    }

    /// Runs the requests; returns whether the stop flag ended it.
    pub(super) fn drive<P: Places, S: Sink>(
        &mut self,
        transfer: &Transfer,
        places: P,
        block: u32,
        depth: u32,
        sink: &mut S,
        stop: &AtomicBool,
    ) -> Result<bool, LoadError> {
        let len = buffers_len(u64::from(block), depth, transfer.operation)?;
        // Taken out, so that a panic of the inline layer drops it: what a panic or a hung device
        // leaves in flight leaks, and the next job gets a new session.
        let mut session = match self.session.take() {
            Some(session) if session.serves(depth) => session,
            // One more entry than the depth: the timer.
            _ => Session::new((depth + 1).next_power_of_two().max(MIN_ENTRIES))
                .map_err(|source| LoadError::Setup { what: "setting up io_uring", source })?,
        };
        let base = session.arena(len);
        let bounce = transfer.needs_bounce();
        // SAFETY: the arena has `len` bytes: `depth` blocks, and as many again for writes. Nothing
        // else refers to it while the lanes live: no request is in flight before `drive`, and
        // the session frees the arena only when none is in flight after it.
        let lanes = unsafe { Lanes::new(base, block as usize, depth as usize, bounce) };
        let fixed_file = register_file(&session, transfer);
        let result = drive(&mut session, &lanes, transfer, places, fixed_file.is_ok(), sink, stop);
        self.how = describe(&session, &fixed_file);
        if session.in_flight == 0 {
            // Unregistering lets go of the file: the caller may unmount it next.
            if fixed_file.is_ok() {
                let _ = session.ring.submitter().unregister_files();
            }
            self.session = Some(session);
        }
        result
    }
}

fn describe(session: &Session, file: &Result<(), String>) -> String {
    let registered = |what: &str, denied: Option<&String>| match denied {
        None => format!("registered {what}"),
        Some(why) => format!("unregistered {what} ({why})"),
    };
    format!(
        "{}, {} on {}, {}",
        registered("file", file.as_ref().err()),
        registered("buffers", session.unregistered.as_ref()),
        session.pages(),
        session.flags
    )
}

fn register_file(session: &Session, transfer: &Transfer) -> Result<(), String> {
    use std::os::fd::AsRawFd;
    session.ring.submitter().register_files(&[transfer.file.as_raw_fd()]).map_err(|e| e.to_string())
}
