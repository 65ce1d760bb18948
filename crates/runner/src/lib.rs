//! From a plan to a record: the schedule of trials, their execution and their accounting.
#![forbid(unsafe_code)]

mod bench;
mod disk_rates;
mod dry_run;
mod error;
mod events;
mod evidence;
mod plan;
mod run;
mod schedule;
mod target;
pub mod unlock;

pub use cryptbench_load::EngineChoice;
pub use disk_rates::{DiskRates, disk_rates};
pub use dry_run::{DryRun, dry_run};
pub use error::RunError;
pub use events::{Event, Observer};
pub use plan::{DEFAULT_BUDGET, PairRequest, Request, TargetRequest, half_width};
pub use run::run;
pub use schedule::{Bench, Course, Outcome, drive, drive_on};
pub use target::{Consent, EmulateRequest, human};

/// Describes this machine; `idle_baseline` (a fraction, 0 to 1) was measured by the caller.
#[must_use]
pub fn machine(idle_baseline: f64) -> cryptbench_record::Machine {
    let machine = cryptbench_os::machine::Machine::this().into();
    cryptbench_record::Machine { idle_baseline, ..machine }
}
