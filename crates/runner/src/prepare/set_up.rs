//! Sets up arms, one at a time or several systems in parallel.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cryptbench_blockdev::IoTarget;
use cryptbench_load::{Engine, LoadError};
use cryptbench_record::{Event, Sink as _};
use cryptbench_system::resource::{Journal, Reserve};
use cryptbench_system::{self as system, ArmContext, ArmSpec, PreparedArm, SystemError, Target};

use super::PreparedTarget;
use crate::decide::Plan;
use crate::decide::arms::makes_a_disk;
use crate::recorder::Recorder;

/// Interval at which the stop flag is polled while other threads set up systems.
const STOP_POLL: Duration = Duration::from_millis(20);

/// Maximum number of systems set up in parallel: more would wait for the same disk.
const AT_ONCE: usize = 4;

/// Everything that the set-up of arms needs.
pub(super) struct SetUp<'a> {
    pub(super) plan: &'a Plan,
    pub(super) journal: Journal,
    pub(super) reserve: Arc<Reserve>,
    pub(super) seed: u64,
    /// Bytes that new files of workloads occupy.
    pub(super) room: u64,
    pub(super) plain: Site,
    pub(super) encrypted: Vec<Site>,
}

/// The parts of a target that systems use.
pub(super) struct Site {
    scratch: IoTarget,
    inside: PathBuf,
    work: PathBuf,
}

impl Site {
    pub(super) fn of(target: &PreparedTarget) -> Self {
        Self {
            scratch: target.io_target(),
            inside: target.inside.clone(),
            work: target.work.path().to_owned(),
        }
    }
}

/// Messages of the threads that set up systems.
enum Told {
    Begun(usize),
    /// This many bytes of an arm's own storage are filled.
    Filled(usize, u64),
    Made(usize, Box<Result<PreparedArm, SystemError>>),
}

impl SetUp<'_> {
    /// Sets up `arm`, unless `stop` is set first; `filled` is called with the number of filled bytes of its own
    /// storage.
    ///
    /// # Errors
    /// Any [`SystemError`]; nothing is left behind.
    pub(super) fn one(
        &self,
        arm: &ArmSpec,
        engine: &mut Engine,
        stop: &AtomicBool,
        filled: &mut dyn FnMut(u64),
    ) -> Result<PreparedArm, SystemError> {
        let mut fill = |io_target: &IoTarget| {
            let done = engine.prefill(io_target, self.seed, stop, &mut *filled);
            done.map_err(|e| SystemError::Fill(Box::new(e)))
        };
        let site = match arm.target {
            Target::Encrypted(number) => &self.encrypted[number],
            Target::Plain => &self.plain,
        };
        let mut context = ArmContext {
            journal: &self.journal,
            scratch: &site.scratch,
            directory: &site.inside,
            work: &site.work,
            reserve: &self.reserve,
            room: self.room,
            run_id: &self.plan.run_id,
            tier: self.plan.tier,
            fill: &mut fill,
            stop,
        };
        system::find(arm.system)?.prepare(arm, &mut context)
    }

    /// Sets up all `arms`, several systems in parallel: many use only one CPU and wait for their own requests. The
    /// arms of a system are set up one after the other, because simultaneous calls of the same program may
    /// conflict.
    ///
    /// Calls `up` for each arm that has been set up. Returns these arms in the order of `arms`, and the first
    /// error, if there was one. After an error, or once `stop` is set, no further arms are started.
    pub(super) fn together(
        &self,
        arms: &[ArmSpec],
        stop: &AtomicBool,
        up: &dyn Fn(&ArmSpec),
        recorder: &mut Recorder<'_>,
    ) -> (Vec<Option<PreparedArm>>, Option<SystemError>) {
        let systems = Mutex::new(systems(arms));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let ended = AtomicBool::new(false);
        let (tell, told) = channel();
        let mut made: Vec<Option<PreparedArm>> = arms.iter().map(|_| None).collect();
        let mut filled = vec![0; arms.len()];
        let total =
            self.plain.scratch.extent.len * arms.iter().filter(|a| makes_a_disk(a)).count() as u64;
        let (mut begun, mut failed) = (0, None);
        thread::scope(|scope| {
            for _ in 0..cores.min(AT_ONCE) {
                let (tell, systems, ended) = (tell.clone(), &systems, &ended);
                scope.spawn(move || self.work(arms, systems, ended, &tell));
            }
            drop(tell);
            loop {
                match told.recv_timeout(STOP_POLL) {
                    Ok(Told::Begun(arm)) => {
                        begun += 1;
                        let arm = &arms[arm];
                        recorder.take(&preparing(&arm.id, &arm.label, (begun, arms.len())));
                    }
                    Ok(Told::Filled(arm, done)) => {
                        filled[arm] = done;
                        recorder.take(&Event::Filling { done: filled.iter().sum(), total });
                    }
                    Ok(Told::Made(arm, result)) => match *result {
                        Ok(one) => {
                            up(&arms[arm]);
                            made[arm] = Some(one);
                        }
                        Err(error) => {
                            failed.get_or_insert(error);
                            ended.store(true, Ordering::Relaxed);
                        }
                    },
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if stop.load(Ordering::Relaxed) {
                    ended.store(true, Ordering::Relaxed);
                    failed.get_or_insert(SystemError::Stopped);
                }
            }
        });
        (made, failed)
    }

    /// Sets up one system after the other until none remain.
    fn work(
        &self,
        arms: &[ArmSpec],
        systems: &Mutex<VecDeque<Range<usize>>>,
        ended: &AtomicBool,
        tell: &Sender<Told>,
    ) {
        // The receiver exists until all threads have finished.
        let say = |what| drop(tell.send(what));
        loop {
            let next = systems.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(system) = next else { return };
            for arm in system {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                say(Told::Begun(arm));
                let engine = Engine::open(self.plan.engine)
                    .map_err(|e: LoadError| SystemError::Fill(Box::new(e)));
                let result = engine.and_then(|(mut engine, _)| {
                    let mut filled = |done| say(Told::Filled(arm, done));
                    self.one(&arms[arm], &mut engine, ended, &mut filled)
                });
                say(Told::Made(arm, Box::new(result)));
            }
        }
    }
}

/// The event for the start of an arm's set-up; the arm is number `number` of `of`.
pub(super) fn preparing(id: &str, label: &str, (number, of): (usize, usize)) -> Event {
    Event::Preparing { arm: id.into(), what: label.to_owned(), number, of }
}

/// The arms of each system, as indices in `arms`.
fn systems(arms: &[ArmSpec]) -> VecDeque<Range<usize>> {
    let mut found = VecDeque::<Range<usize>>::new();
    for (place, arm) in arms.iter().enumerate() {
        match found.back_mut().filter(|range| arms[range.start].system == arm.system) {
            Some(range) => range.end = place + 1,
            None => found.push_back(place..place + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use cryptbench_system::{Abilities, Selection};

    use super::*;

    #[test]
    fn the_arms_of_a_system_stay_together_in_their_order() {
        let selection = Selection {
            systems: vec!["builtin".to_owned(), "delay".to_owned()],
            ..Selection::default()
        };
        let arms = system::arms(&selection, &Abilities::look_for(&selection)).unwrap();
        let found: Vec<_> = systems(&arms).into_iter().collect();
        assert_eq!(found[..2], [0..2, 2..5]);
        assert_eq!(found.last().map(|last| last.end), Some(arms.len()));
        assert!(systems(&[]).is_empty());
    }
}
