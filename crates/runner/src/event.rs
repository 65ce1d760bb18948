//! What a run tells while it goes on.

use std::time::Duration;

use cryptbench_record::{Line, Plan, Target};

/// Something that happened, for whoever shows progress.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The plan and the target are known; nothing was written yet but the empty scratch file.
    Planned {
        /// What will be measured.
        plan: &'a Plan,
        /// On what.
        target: &'a Target,
    },
    /// The scratch file is being filled.
    Filling {
        /// Bytes written.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// An arm is being set up.
    Preparing {
        /// How people call it.
        what: &'a str,
    },
    /// An arm's data is looked at: whether it comes back, and whether it is encrypted.
    Checking {
        /// How people call it.
        what: &'a str,
    },
    /// A trial begins.
    Trial {
        /// How people call the workload.
        workload: &'a str,
        /// How people call the arm.
        arm: &'a str,
        /// Block number from 0; `None` for a discarded trial.
        block: Option<u32>,
        /// Time used so far and time allowed.
        elapsed: Duration,
        /// The budget.
        budget: Duration,
        /// Trials that were run, and how many there will be, where that is known beforehand.
        trials: (u32, Option<u32>),
    },
    /// A workload has a new estimate: what an arm keeps of plain speed. After each block each arm has its own, in plan
    /// order.
    Estimate {
        /// How people call the workload.
        workload: &'a str,
        /// How people call the arm.
        arm: &'a str,
        /// Ratio to plain.
        kept: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
    },
    /// Something a reader must know, in a sentence.
    Note(&'a str),
}

/// Receives the events of a run.
pub trait Observer {
    /// Called for each event, from the thread that measures, outside measured time.
    fn event(&mut self, event: Event<'_>);

    /// Called for each line of the run's log, from the same thread, outside measured time.
    fn log(&mut self, _line: &Line) {}
}

impl<F: FnMut(Event<'_>)> Observer for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
