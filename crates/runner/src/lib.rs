//! From a request to a record: look, decide, prepare, measure, verify, finish.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod decide;
mod disk_rates;
mod dry_run;
mod error;
mod finish;
mod halt;
mod look;
mod measure;
mod prepare;
mod recorder;
mod refusal;
mod request;
mod resumed;
mod run;
mod time;
mod verify;
mod wear;

pub use cryptbench_load::EngineChoice;
pub use decide::limits::{DEFAULT_BUDGET, DEFAULT_PRECISION, half_width};
pub use decide::storage::only_reads;
pub use decide::volumes::UnlockSelection;
pub use disk_rates::{DiskRates, disk_rates};
pub use dry_run::{DryRun, dry_run, dry_run_on};
pub use error::RunError;
pub use halt::Halt;
pub use look::{Facts, InUse, look, look_with};
pub use measure::Turns;
pub use measure::schedule::{Bench, drive};
pub use request::{Consent, EmulateRequest, PairRequest, Request, TargetRequest};
pub use run::run;
pub use wear::wear;

/// Describes this machine. The caller has measured `idle_baseline`, a fraction from 0 to 1.
pub fn machine(idle_baseline: f64) -> cryptbench_record::Machine {
    let machine = cryptbench_os::machine::Machine::this().into();
    cryptbench_record::Machine { idle_baseline, ..machine }
}
