//! Sets up everything for a run: claims and fills storage, sets up arms.

mod active_range;
mod arms;
mod claim;
mod emulated;
mod existing;
mod fill;
mod lower_cache;
pub(crate) mod pace;
mod partitioned;
mod places;
mod seclusion;
mod set_up;
mod small_files;
mod target;
mod unlock_fit;
pub(crate) mod volumes;
mod why;

use std::path::Path;
use std::time::Duration;

use cryptbench_blockdev::IoMode;
use cryptbench_record::{self as record, Event, Sink as _, budget_option, longer_budget};
use cryptbench_system::{ArmSpec, PreparedArm};

pub(crate) use self::active_range::ActiveRange;
pub(crate) use self::claim::Claimed;
use self::set_up::preparing;
pub(crate) use self::small_files::FilePace;
pub(crate) use self::target::PreparedTarget;
use self::volumes::Unlocker;
use crate::decide::arms::{Arms, recorded_up};
use crate::decide::limits;
use crate::recorder::Recorder;
use crate::{Halt, RunError, resumed};

/// An arm that has been set up.
pub(crate) struct Arm {
    /// The arm as reported by its system after set-up.
    pub(crate) spec: ArmSpec,
    pub(crate) prepared: PreparedArm,
}

/// The arms set up on claimed storage; removed in the order of the fields.
#[derive(Default)]
pub(crate) struct Up {
    /// The volumes, if the work is opening them.
    pub(crate) volumes: Option<Unlocker>,
    /// The systems, if they are under load.
    pub(crate) arms: Vec<Arm>,
    /// Resources of dropped systems that could not be removed, in sentences.
    pub(crate) left_over: Vec<String>,
}

/// Claimed storage with everything that was set up on it until set-up was complete or the run was halted.
pub(crate) struct Prepared<'a> {
    pub(crate) up: Up,
    /// The plan in the form of the record, with the facts that became known while arms were set up; its arms are in
    /// the same order.
    pub(crate) recorded: record::Plan,
    pub(crate) halt: Option<Halt>,
    pub(crate) claimed: Claimed<'a>,
}

impl<'a> Claimed<'a> {
    /// Fills the storage and sets up the arms. If this is halted, everything that exists is kept until it is
    /// removed.
    pub(crate) fn prepare(mut self, recorder: &mut Recorder<'_>) -> Prepared<'a> {
        let mut up = Up::default();
        self.end_within(limits::SET_UP_WITHIN);
        let (recorded, halt) = match self.bring_all_up(&mut up, recorder) {
            Ok(recorded) => (recorded, None),
            Err(Halt::Interrupted) if self.time.is_over() => {
                (self.plan.recorded.clone(), Some(self.too_late().into()))
            }
            Err(halt) => (self.plan.recorded.clone(), Some(halt)),
        };
        Prepared { up, recorded, halt, claimed: self }
    }

    /// Stops the current stage at this share of the budget, except in a resumed run, which has already used its
    /// time.
    pub(crate) fn end_within(&self, share: f64) {
        let budget = Duration::try_from_secs_f64(self.plan.recorded.budget_s * share);
        self.time.end_after(budget.ok().filter(|_| self.plan.earlier.is_none()));
    }

    /// The error of a run whose time was up before anything was measured.
    fn too_late(&self) -> RunError {
        let budget_s = self.plan.recorded.budget_s;
        let what = "setting up takes longer".to_owned();
        let enough = budget_option(longer_budget(3.0 * budget_s, budget_s));
        RunError::NoTime { budget_s, what, enough }
    }

    /// Sets everything up, and returns the plan with the facts that became known.
    fn bring_all_up(
        &mut self,
        up: &mut Up,
        recorder: &mut Recorder<'_>,
    ) -> Result<record::Plan, Halt> {
        let plan = self.plan;
        let mut recorded = plan.recorded.clone();
        match &plan.arms {
            Arms::Systems(arms) => {
                self.look_at_files()?;
                self.fill(recorder)?;
                match &plan.choices {
                    Some(choices) => {
                        let (set, left_out) =
                            self.bring_choices_up(choices.clone(), up, recorder)?;
                        (recorded.set, recorded.left_out) = (Some(set), left_out);
                    }
                    None => match self.bring_up(arms, up, recorder) {
                        Err(Halt::Interrupted) if self.time.is_over() => {
                            let late = self.left_out_late(arms, up, recorder)?;
                            note_late(&mut recorded, late);
                        }
                        other => other?,
                    },
                }
                // Systems that are set up are measured, even if that took long.
                self.end_within(limits::MEASURED_WITHIN);
                // Systems choose unspecified settings, and the kernel reports its drivers once they are in use.
                recorded.arms = recorded_up(&up.specs(), plan.tier)?;
                let directories: Vec<&Path> =
                    up.arms.iter().map(|arm| &*arm.prepared.directory).collect();
                self.look_at_files_of(&directories, &mut recorded, recorder)?;
            }
            Arms::Volumes(arms) => {
                let (arms, left_out) = self.affordable(arms, recorder)?;
                recorded.left_out.extend(left_out);
                let mut begun = 0;
                let made = Unlocker::prepare(
                    &arms,
                    self.plain.work.path(),
                    volumes::UNLOCK_TIME,
                    self.stop,
                    &mut |arm| {
                        begun += 1;
                        recorder.take(&preparing(&arm.id, &arm.label, (begun, arms.len())));
                    },
                )?;
                recorded.arms = made.record_arms()?;
                up.volumes = Some(made);
                self.end_within(limits::MEASURED_WITHIN);
            }
        }
        let why = self.why(&recorded)?;
        let lengths = match plan.earlier.as_deref() {
            Some(earlier) => Some(resumed::lengths(earlier)),
            None => {
                let fitted = limits::fit(plan, self.clock.started.elapsed());
                fitted.note.into_iter().for_each(|note| recorder.tell(note));
                fitted.trial
            }
        };
        if let Some((trial_s, ramp_s)) = lengths {
            (recorded.trial_s, recorded.ramp_s) = (trial_s, ramp_s);
        }
        let note = match plan.storage.is_only_read() {
            true => None,
            false => places::note(&up.specs(), &self.plain, &self.encrypted),
        };
        note.into_iter().for_each(|note| recorder.note(note));
        recorder.take(&Event::Prepared {
            plan: Box::new(recorded.clone()),
            target: Box::new(self.describe_up(up, &recorded)),
            notes: Vec::new(),
        });
        why.into_iter().for_each(|why| recorder.take(&Event::Why(Box::new(why))));
        Ok(recorded)
    }

    /// The target with everything set up on it, in the form of the record.
    fn describe_up(&self, up: &Up, recorded: &record::Plan) -> record::Target {
        let target = self.describe(recorded);
        let volumes = up.volumes.as_ref().is_some_and(|u| u.mode() == IoMode::Direct);
        let engine = record::Engine {
            direct: volumes || target.engine.direct,
            details: (!up.arms.is_empty()).then(|| self.engine.details()),
            ..target.engine
        };
        record::Target { engine, ..target }
    }
}

/// Notes planned systems that there was no time to set up. The measured arms then no longer form a set.
fn note_late(plan: &mut record::Plan, late: Vec<record::LeftOut>) {
    if !late.is_empty() {
        plan.set = None;
        plan.left_out.extend(late);
    }
}

impl Up {
    fn specs(&self) -> Vec<ArmSpec> {
        self.arms.iter().map(|arm| arm.spec.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_came_too_late_is_left_out_beside_those_that_the_machine_lacks() {
        let out = |system: &str| record::LeftOut {
            system: system.to_owned(),
            reason: String::new(),
            remedy: String::new(),
            enough_s: None,
        };
        let set = Some("all".to_owned());
        let mut plan = record::Plan { set, left_out: vec![out("zfs")], ..record::Plan::default() };
        note_late(&mut plan, Vec::new());
        assert_eq!(plan.set.as_deref(), Some("all"), "all came in time");
        note_late(&mut plan, vec![out("gocryptfs")]);
        let names: Vec<&str> = plan.left_out.iter().map(|out| out.system.as_str()).collect();
        assert_eq!((plan.set.as_deref(), &names[..]), (None, &["zfs", "gocryptfs"][..]));
    }
}
