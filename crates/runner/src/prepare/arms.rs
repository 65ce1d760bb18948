//! Sets up the arms.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use cryptbench_record::{self as record, Event, Sink as _};
use cryptbench_system::{ArmSpec, PreparedArm, SystemError};
use cryptbench_text::chain;

use super::set_up::{SetUp, Site, preparing};
use super::target::no_direct_io;
use super::{Arm, Claimed, Up};
use crate::decide::arms::makes_a_disk;
use crate::decide::choices::{Choices, set_up_within};
use crate::finish::take_down;
use crate::recorder::Recorder;
use crate::{Halt, RunError};

/// How often it is seen whether the run is to end while a system is set up that may not take long.
const STOP_POLL: Duration = Duration::from_millis(20);

impl<'a> Claimed<'a> {
    /// Sets up `arms`, several at once if they belong to several systems with storage of their own.
    ///
    /// # Errors
    /// [`Halt`]; arms that are already set up stay until the run is finished.
    pub(super) fn bring_up(
        &mut self,
        arms: &[ArmSpec],
        up: &mut Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Halt> {
        let mut own: Vec<_> = arms.iter().filter(|a| makes_a_disk(a)).map(|a| a.system).collect();
        own.dedup();
        if own.len() > 1 {
            return self.bring_up_together(arms, up, recorder);
        }
        for (number, arm) in arms.iter().enumerate() {
            let place = (number + 1, arms.len());
            up.arms.push(self.bring_one_up(arm, place, self.stop, recorder)?);
        }
        Ok(())
    }

    fn bring_up_together(
        &mut self,
        arms: &[ArmSpec],
        up: &mut Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Halt> {
        let (made, failed) = self.set_up().together(arms, self.stop, recorder);
        let mode = self.plain.io_target().mode;
        let mut other_mode = None;
        for (arm, made) in arms.iter().zip(made).filter_map(|(arm, made)| Some((arm, made?))) {
            if made.io_target.mode != mode {
                other_mode.get_or_insert_with(|| no_direct_io(&arm.label));
            }
            up.arms.push(self.on_target(arm, made));
        }
        match failed {
            Some(error) => Err(halted(error, self.stop)),
            None => other_mode.map_or(Ok(()), |error| Err(error.into())),
        }
    }

    /// Brings up what the program chose. A system that cannot be set up, or not in time, gives its place to the next. Returns
    /// the name of the set, and all that is not in it.
    ///
    /// # Errors
    /// [`Halt`], of plain storage and AES-256 alone; those before stay up until the run is finished.
    pub(super) fn bring_choices_up(
        &mut self,
        mut choices: Choices,
        up: &mut Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<(String, Vec<record::LeftOut>), Halt> {
        let (all, each) = set_up_within(self.plan.recorded.budget_s);
        let mut waiting = choices.taken().to_vec();
        let mut systems = Vec::new();
        while !waiting.is_empty() {
            let candidate = waiting.remove(0);
            let left = all.saturating_sub(self.clock.elapsed()).min(each);
            let place = systems.len() + 1;
            match self.bring_candidate_up(&candidate.arms, (place, left), up, recorder)? {
                Ok(made) => systems.extend(made),
                Err((reason, remedy)) => {
                    let name = candidate.system;
                    recorder.tell(format!("{name} is left out: {reason}."));
                    waiting.extend(choices.replace(name, reason, remedy).cloned());
                }
            }
        }
        let floor = self.bring_up(&choices.floor()?, up, recorder);
        up.arms.extend(systems);
        floor.map(|()| choices.recorded())
    }

    /// Brings up all arms of a system within `limit`, or none: then why, and what would mend that.
    ///
    /// # Errors
    /// [`Halt::Interrupted`] if the run is to end.
    fn bring_candidate_up(
        &mut self,
        arms: &[ArmSpec],
        (place, limit): (usize, Duration),
        up: &mut Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<Result<Vec<Arm>, (String, String)>, Halt> {
        let slow = |system: &str| {
            let reason = match limit.is_zero() {
                true => "the time for setting systems up had passed".to_owned(),
                false => format!("it was not set up within {:.1} s", limit.as_secs_f64()),
            };
            (reason, format!("give it more time: cryptbench run --system {system}"))
        };
        let (began, stop) = (Instant::now(), self.stop);
        let mut made = Vec::new();
        for arm in arms {
            let left = limit.saturating_sub(began.elapsed());
            let result = match left.is_zero() {
                true => Err(slow(arm.system)),
                false => {
                    let place = (place + made.len(), self.plan.recorded.arms.len());
                    let up = |stop: &_| self.bring_one_up(arm, place, stop, recorder);
                    within(left, stop, up).map_err(|halt| match halt {
                        Halt::Interrupted => slow(arm.system),
                        Halt::Failed(error) => {
                            (chain(&error), format!("see cryptbench run --system {}", arm.system))
                        }
                    })
                }
            };
            match result {
                Ok(one) => made.push(one),
                Err(why) => {
                    up.left_over.extend(take_down(made));
                    self.go_on()?;
                    return Ok(Err(why));
                }
            }
        }
        Ok(Ok(made))
    }

    /// Brings an arm up until `stop` is set.
    fn bring_one_up(
        &mut self,
        arm: &ArmSpec,
        place: (usize, usize),
        stop: &AtomicBool,
        recorder: &mut Recorder<'_>,
    ) -> Result<Arm, Halt> {
        self.go_on()?;
        recorder.take(&preparing(&arm.id, &arm.label, place));
        let (set_up, total) = (self.set_up(), self.plain.io_target().extent.len);
        let mut filled = |done| recorder.take(&Event::Filling { done, total });
        let made = set_up.one(arm, &mut self.engine, stop, &mut filled);
        let made = made.map_err(|error| halted(error, stop))?;
        if made.io_target.mode != self.plain.io_target().mode {
            return Err(no_direct_io(&arm.label).into());
        }
        Ok(self.on_target(arm, made))
    }

    /// The arm as it turned out, with what its target lets it share.
    fn on_target(&self, arm: &ArmSpec, mut made: PreparedArm) -> Arm {
        self.target_of(Some(arm)).share(&mut made);
        Arm { spec: made.turned_out.take().unwrap_or_else(|| arm.clone()), prepared: made }
    }

    fn set_up(&self) -> SetUp<'a> {
        SetUp {
            plan: self.plan,
            journal: self.journal.clone(),
            reserve: Arc::clone(&self.reserve),
            seed: self.plan.recorded.seed,
            plain: Site::of(&self.plain),
            encrypted: self.encrypted.iter().map(Site::of).collect(),
        }
    }
}

/// Why setting up did not come to its end. An error of what was cut short is none of the system's.
fn halted(error: SystemError, stop: &AtomicBool) -> Halt {
    let of_stop = matches!(error, SystemError::Fill(_) | SystemError::Stopped);
    match of_stop && stop.load(Ordering::Relaxed) {
        true => Halt::Interrupted,
        false => RunError::from(error).into(),
    }
}

/// Does something that ends when the flag that it is given is set: after `limit`, or once `stop` is set.
fn within<T>(limit: Duration, stop: &AtomicBool, act: impl FnOnce(&AtomicBool) -> T) -> T {
    let ended = AtomicBool::new(false);
    let deadline = Instant::now() + limit;
    thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        let ended = &ended;
        scope.spawn(move || {
            while is_done.recv_timeout(STOP_POLL) == Err(RecvTimeoutError::Timeout) {
                if stop.load(Ordering::Relaxed) || Instant::now() >= deadline {
                    ended.store(true, Ordering::Relaxed);
                }
            }
        });
        let result = act(ended);
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_stopped(stop: &AtomicBool) -> bool {
        let began = Instant::now();
        while !stop.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(1));
        }
        stop.load(Ordering::Relaxed)
    }

    #[test]
    fn what_takes_too_long_is_ended_and_so_it_is_with_the_run() {
        let run = AtomicBool::new(false);
        assert!(within(Duration::from_millis(50), &run, until_stopped));
        assert!(!run.load(Ordering::Relaxed), "the run goes on");
        assert!(!within(Duration::from_secs(60), &run, |stop| stop.load(Ordering::Relaxed)));
        run.store(true, Ordering::Relaxed);
        assert!(within(Duration::from_secs(60), &run, until_stopped));
    }
}
