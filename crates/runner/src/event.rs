//! Events of a run.

use std::time::Duration;

use cryptbench_record::{Line, Plan, Target};

/// An event, for progress displays.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The plan and the target are known; nothing has been written except the empty scratch file.
    Planned {
        /// What will be measured.
        plan: &'a Plan,
        /// Where it will be measured.
        target: &'a Target,
    },
    /// The scratch file is being filled.
    Filling {
        /// Bytes written so far.
        done: u64,
        /// Total bytes.
        total: u64,
    },
    /// An arm is being set up.
    Preparing {
        /// Label of the arm.
        what: &'a str,
        /// Its number from 1 in the order in which arms are begun, and how many there are.
        place: (usize, usize),
    },
    /// An arm's data is being checked: whether it comes back, and whether it is encrypted.
    Checking {
        /// Label of the arm.
        what: &'a str,
    },
    /// A trial begins.
    Trial {
        /// Label of the workload.
        workload: &'a str,
        /// Label of the arm.
        arm: &'a str,
        /// Block number from 0; `None` for a discarded trial.
        block: Option<u32>,
        /// Time used so far.
        elapsed: Duration,
        /// The budget.
        budget: Duration,
        /// Trials completed, and their total number if it is known in advance.
        trials: (u32, Option<u32>),
    },
    /// A workload has a new estimate of the share of plain speed that an arm keeps. After each
    /// block there is one event per arm, in plan order.
    Estimate {
        /// Label of the workload.
        workload: &'a str,
        /// Label of the arm.
        arm: &'a str,
        /// Ratio to plain.
        kept: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
    },
    /// Something that a reader must know, as a sentence.
    Note(&'a str),
}

/// Receives the events of a run.
pub trait Observer {
    /// Called for each event, by the measuring thread, outside measured time.
    fn event(&mut self, event: Event<'_>);

    /// Called for each line of the run's log, by the same thread, outside measured time.
    fn log(&mut self, _line: &Line) {}
}

impl<F: FnMut(Event<'_>)> Observer for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
