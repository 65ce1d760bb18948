//! Bringing the arms up.

use std::sync::atomic::Ordering;

use cryptbench_blockdev::IoTarget;
use cryptbench_system::{self as system, ArmContext, ArmSpec, PreparedArm, SystemError, Target};

use super::Session;
use super::target::no_direct_io;
use crate::recorder::Recorder;
use crate::{Event, Halt, Observer as _};

impl Session<'_> {
    /// Brings `arms` up, one after the other.
    ///
    /// # Errors
    /// [`Halt`]; those before stay up until the run is finished.
    pub(super) fn bring_up(
        &mut self,
        arms: &[ArmSpec],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Halt> {
        let mode = self.plain.io_target().mode;
        for arm in arms {
            self.go_on()?;
            recorder.event(Event::Preparing { what: &arm.label });
            let made = self.bring_one_up(arm, recorder).map_err(|error| {
                // An error of what was cut short is none of the system's.
                let of_stop = matches!(error, SystemError::Fill(_) | SystemError::Stopped);
                match of_stop && self.stop.load(Ordering::Relaxed) {
                    true => Halt::Interrupted,
                    false => error.into(),
                }
            })?;
            if made.io_target.mode != mode {
                return Err(no_direct_io(&arm.label).into());
            }
            self.arms.push(made);
        }
        for (recorded, arm) in self.recorded.arms.iter_mut().zip(arms) {
            // The kernel names its drivers once they are in use.
            recorded.kernel_tier = system::find(arm.system)?.kernel_tier(arm, self.plan.tier);
        }
        Ok(())
    }

    fn bring_one_up(
        &mut self,
        arm: &ArmSpec,
        recorder: &mut Recorder<'_>,
    ) -> Result<PreparedArm, SystemError> {
        let (engine, stop, seed) = (&mut self.engine, self.stop, self.recorded.seed);
        let mut fill = |io_target: &IoTarget| {
            let total = io_target.extent.len;
            engine
                .prefill(io_target, seed, stop, &mut |done| {
                    recorder.event(Event::Filling { done, total });
                })
                .map_err(|e| SystemError::Fill(Box::new(e)))
        };
        let target = match &self.encrypted {
            Some(encrypted) if arm.target == Target::Encrypted => encrypted,
            _ => &self.plain,
        };
        let mut context = ArmContext {
            journal: &self.journal,
            scratch: &target.io_target(),
            directory: &target.inside,
            work: target.work.path(),
            room: self.plan.file_space(),
            run_id: &self.plan.run_id,
            tier: self.plan.tier,
            fill: &mut fill,
            stop,
        };
        let mut made = system::find(arm.system)?.prepare(arm, &mut context)?;
        target.share(&mut made);
        Ok(made)
    }
}
