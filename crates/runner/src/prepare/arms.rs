//! Sets up the arms.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_record::{self as record, Event, Sink as _, budget_option, longer_budget};
use cryptbench_system::{ArmSpec, PreparedArm, Role, SystemError};
use cryptbench_text::chain;

use super::set_up::{SetUp, Site, preparing};
use super::target::no_direct_io;
use super::{Arm, Claimed, Up};
use crate::decide::arms::makes_a_disk;
use crate::decide::choices::{Choices, SET_UP_EACH, set_up_left};
use crate::decide::fit::least_for_any;
use crate::decide::limits::{FIRST_PLANNED, MEASURED_WITHIN, OTHERS_UP_WITHIN, SET_UP_PLANNED};
use crate::decide::sizes::file_space;
use crate::finish::take_down;
use crate::recorder::Recorder;
use crate::time::within;
use crate::{Halt, RunError};

/// Maximum ratio of a system's set-up time to the expected time.
const SLACK: f64 = 3.0;

impl<'a> Claimed<'a> {
    /// Sets up `arms`, several in parallel if they belong to several systems with separate storage.
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
        // Systems that are set up need time to be measured.
        let others_s = self.plan.recorded.budget_s * OTHERS_UP_WITHIN;
        let others = Duration::try_from_secs_f64(others_s).ok();
        let is_up = |arm: &ArmSpec| {
            if let (Role::Encrypted, true, Some(others)) = (arm.role, makes_a_disk(arm), others) {
                self.time.end_sooner(others);
            }
        };
        let (made, failed) = self.set_up().together(arms, self.stop, &is_up, recorder);
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

    /// Sets up the systems that the program chose. If the set-up of a system fails or takes too long, the next
    /// system replaces it. Returns the name of the set, and all systems that are not in it.
    ///
    /// # Errors
    /// [`Halt`] in the set-up of plain storage and AES-256 alone; arms that are already set up stay until the run
    /// is finished.
    pub(super) fn bring_choices_up(
        &mut self,
        mut choices: Choices,
        up: &mut Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<(String, Vec<record::LeftOut>), Halt> {
        let mut waiting = choices.taken().to_vec();
        let mut systems = Vec::new();
        while !waiting.is_empty() {
            let candidate = waiting.remove(0);
            let name = candidate.system;
            let place = systems.len() + 1;
            let made = match self.time_for(&candidate.arms, systems.is_empty()) {
                Ok(limit) => {
                    self.bring_candidate_up(&candidate.arms, (place, limit), up, recorder)?
                }
                Err(late) => Err(late),
            };
            match made {
                Ok(made) => systems.extend(made),
                Err(out) => {
                    recorder.tell(format!("{name} was left out: {}.", out.reason));
                    waiting.extend(choices.replace(name, out).cloned());
                }
            }
        }
        let floor = self.bring_up(&choices.floor()?, up, recorder);
        up.arms.extend(systems);
        floor.map(|()| choices.recorded())
    }

    /// Time limit for setting up the arms of a system. The `first` system may use more than its share, so that at least
    /// one system is measured.
    fn time_for(&self, arms: &[ArmSpec], is_first: bool) -> Result<Duration, record::LeftOut> {
        let plan = self.plan;
        let len = self.plain.io_target().extent.len;
        let predicted = self.system_s(arms, len);
        let left = set_up_left(plan.recorded.budget_s, is_first, self.clock.elapsed());
        match Duration::try_from_secs_f64(predicted).is_ok_and(|predicted| predicted <= left) {
            true => Ok(left.min(SET_UP_EACH.max(Duration::from_secs_f64(SLACK * predicted)))),
            false => Err(self.late(arms)),
        }
    }

    /// A system for whose set-up there was no time, with the budget that would suffice.
    fn late(&self, arms: &[ArmSpec]) -> record::LeftOut {
        let plan = self.plan;
        let least = least_for_any(&plan.workloads);
        let takes = self.system_s(arms, least);
        let spent = self.clock.elapsed().as_secs_f64().min(plan.recorded.budget_s);
        let share = SET_UP_PLANNED.max(FIRST_PLANNED / 2.0);
        let enough_s = longer_budget((spent + takes) / share, plan.recorded.budget_s);
        let system = arms.first().map_or("", |arm| arm.system);
        let option = budget_option(enough_s);
        record::LeftOut {
            system: system.to_owned(),
            reason: format!("there was no time to set it up; {option} is enough"),
            remedy: format!("allow more time: cryptbench run --system {system} {option}"),
            enough_s: Some(enough_s),
        }
    }

    /// Those of `arms` that were not set up, because their time was up.
    ///
    /// # Errors
    /// [`RunError::NoTime`] if nothing is left to be compared.
    pub(super) fn left_out_late(
        &self,
        arms: &[ArmSpec],
        up: &Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<Vec<record::LeftOut>, Halt> {
        let is_up = |arm: &ArmSpec| up.arms.iter().any(|made| made.spec.id == arm.id);
        let missing: Vec<ArmSpec> = arms.iter().filter(|arm| !is_up(arm)).cloned().collect();
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let out = self.late(&missing);
        if !up.arms.iter().any(|arm| arm.spec.role == Role::Encrypted) {
            let budget_s = self.plan.recorded.budget_s;
            let what = format!("setting up {} takes longer", missing[0].label);
            let enough = budget_option(out.enough_s.unwrap_or(budget_s));
            return Err(RunError::NoTime { budget_s, what, enough }.into());
        }
        let mut names: Vec<_> = missing.iter().map(|arm| arm.system).collect();
        names.dedup();
        let out: Vec<_> = names
            .into_iter()
            .map(|name| record::LeftOut { system: name.to_owned(), ..out.clone() })
            .collect();
        for out in &out {
            recorder.tell(format!("{} was left out: {}.", out.system, out.reason));
        }
        Ok(out)
    }

    /// Sets up all arms of a system within `limit`. If this fails, sets up none of them, and returns the reason and
    /// the remedy.
    ///
    /// # Errors
    /// [`Halt::Interrupted`] if the run should stop.
    fn bring_candidate_up(
        &mut self,
        arms: &[ArmSpec],
        (place, limit): (usize, Duration),
        up: &mut Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<Result<Vec<Arm>, record::LeftOut>, Halt> {
        let (began, stop) = (Instant::now(), self.stop);
        let is_another_up = place > 1;
        let mut made = Vec::new();
        for arm in arms {
            let left = limit.saturating_sub(began.elapsed());
            let place = (place + made.len(), self.plan.recorded.arms.len());
            let up_until = |stop: &_| self.bring_one_up(arm, place, stop, recorder);
            match within(left, stop, up_until) {
                Ok(one) => made.push(one),
                Err(halt) => {
                    up.left_over.extend(take_down(made));
                    if is_another_up && self.time.is_over() {
                        // The other system is measured without this system.
                        self.end_within(MEASURED_WITHIN);
                    }
                    self.go_on()?;
                    return Ok(Err(match halt {
                        Halt::Interrupted => self.late(arms),
                        Halt::Failed(error) => record::LeftOut {
                            system: arm.system.to_owned(),
                            reason: chain(&error),
                            remedy: format!("see cryptbench run --system {}", arm.system),
                            enough_s: None,
                        },
                    }));
                }
            }
        }
        Ok(Ok(made))
    }

    /// Sets up an arm, unless `stop` is set first.
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

    /// The resulting arm, marked with the properties of its target.
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
            room: file_space(&self.workloads),
            plain: Site::of(&self.plain),
            encrypted: self.encrypted.iter().map(Site::of).collect(),
        }
    }
}

/// Why set-up did not finish. The error of an interrupted set-up is not the system's fault.
fn halted(error: SystemError, stop: &AtomicBool) -> Halt {
    let of_stop = matches!(error, SystemError::Fill(_) | SystemError::Stopped);
    match of_stop && stop.load(Ordering::Relaxed) {
        true => Halt::Interrupted,
        false => RunError::from(error).into(),
    }
}
