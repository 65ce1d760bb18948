//! The course of a simulated run: its trials, and why each workload ended.

use cryptbench_record::{Event, Plan, Trial, WorkloadStop};
use cryptbench_runner::{Bench, Halt, drive};

pub struct Course {
    /// All trials in order.
    pub trials: Vec<Trial>,
    pub stops: Vec<WorkloadStop>,
    pub halt: Option<Halt>,
}

impl Course {
    /// Drives `bench` through `plan` after the `earlier` trials.
    pub fn of(plan: &Plan, earlier: &[Trial], bench: &mut dyn Bench) -> Self {
        let (mut trials, mut stops) = (earlier.to_vec(), Vec::new());
        let mut sink = |event: &Event| match event {
            Event::Measured(trial) => trials.push((**trial).clone()),
            Event::Stops { stops: told } => stops.clone_from(told),
            _ => {}
        };
        let halt = drive(plan, earlier, bench, &mut sink).err();
        Self { trials, stops, halt }
    }
}
