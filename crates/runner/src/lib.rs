//! From a request to a record: plan, prepare, measure, verify, finish.
#![forbid(unsafe_code)]

mod disk_rates;
mod error;
mod event;
mod finish;
mod halt;
mod measure;
mod plan;
mod prepare;
mod recorder;
mod resumed;
mod run;
mod verify;

pub use cryptbench_load::EngineChoice;
pub use disk_rates::{DiskRates, disk_rates};
pub use error::RunError;
pub use event::{Event, Observer};
pub use halt::Halt;
pub use measure::Turns;
pub use measure::schedule::{Bench, Course, Observation, drive, drive_on};
pub use plan::forecast::{DryRun, dry_run};
pub use plan::limits::{DEFAULT_BUDGET, DEFAULT_PRECISION, half_width};
pub use plan::storage::{Consent, InUse, human, only_reads};
pub use plan::volumes::UnlockSelection;
pub use plan::{EmulateRequest, PairRequest, Request, TargetRequest};
pub use run::run;

/// Describes this machine. The caller has measured `idle_baseline`, a fraction from 0 to 1.
#[must_use]
pub fn machine(idle_baseline: f64) -> cryptbench_record::Machine {
    let machine = cryptbench_os::machine::Machine::this().into();
    cryptbench_record::Machine { idle_baseline, ..machine }
}
