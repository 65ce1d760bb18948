//! The io_uring engine: registered file, registered buffers, batched submission.

mod drive;
mod probe;
mod session;

use std::sync::atomic::AtomicBool;

use self::drive::{Lanes, drive};
use self::session::Session;
use super::transfer::Transfer;
use crate::LoadError;
use crate::arena::arena_len;
use crate::places::Places;
use crate::window::Sink;

/// Fewest entries of a ring, so that the jobs of low queue depths share one.
const MIN_ENTRIES: u32 = 64;

pub(super) struct Uring {
    session: Option<Session>,
    unregistered_file: Option<String>,
}

impl Uring {
    /// An engine, or why io_uring cannot be used here.
    pub(super) fn probe() -> Result<Self, String> {
        probe::probe()?;
        Ok(Self { session: None, unregistered_file: None })
    }

    pub(super) fn details(&self) -> String {
        let Some(session) = &self.session else {
            return "io_uring, idle".to_owned();
        };
        let registered = |what: &str, denied: &Option<String>| match denied {
            None => format!("registered {what}"),
            Some(why) => format!("unregistered {what} ({why})"),
        };
        format!(
            "{}, {}, {}",
            registered("file", &self.unregistered_file),
            registered("buffers", &session.unregistered),
            session.flags
        )
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
        let bounce = transfer.needs_bounce();
        let len = arena_len(u64::from(block), depth, bounce)?;
        if !self.session.as_ref().is_some_and(|s| s.serves(depth)) {
            // A session with requests in flight is left behind by a hung device: it leaks.
            self.session = None;
            // One more than the depth: the timer.
            let entries = (depth + 1).next_power_of_two().max(MIN_ENTRIES);
            let made = Session::new(entries)
                .map_err(|source| LoadError::Setup { what: "setting up io_uring", source })?;
            self.session = Some(made);
        }
        let session = self.session.as_mut().expect("just made");
        let base = session.arena(len);
        // SAFETY: the arena has `len` bytes, enough for `depth` blocks twice or once, and nothing
        // else refers to it while the lanes live: no request is in flight before `drive`, and
        // the session frees the arena only when none is in flight after it.
        let lanes = unsafe { Lanes::new(base, block as usize, depth as usize, bounce) };
        let fixed_file = register_file(session, transfer);
        self.unregistered_file = fixed_file.as_ref().err().cloned();
        let result = drive(session, &lanes, transfer, places, fixed_file.is_ok(), sink, stop);
        if session.in_flight > 0 {
            self.session = None;
        } else if fixed_file.is_ok() {
            // Unregistering lets go of the file: the caller may unmount it next.
            let _ = session.ring.submitter().unregister_files();
        }
        result
    }
}

fn register_file(session: &Session, transfer: &Transfer) -> Result<(), String> {
    use std::os::fd::AsRawFd;
    session.ring.submitter().register_files(&[transfer.file.as_raw_fd()]).map_err(|e| e.to_string())
}
