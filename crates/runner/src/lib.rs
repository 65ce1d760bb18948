//! From a plan to a record: the schedule of trials, their execution and their accounting.
#![forbid(unsafe_code)]

mod accounting;
mod bench;
mod dry_run;
mod environment;
mod error;
mod events;
mod evidence;
mod plan;
mod run;
mod schedule;
pub mod speed;
mod target;
pub mod unlock;

pub use cryptbench_load::EngineChoice;
pub use dry_run::{DryRun, dry_run};
pub use environment::machine;
pub use error::RunError;
pub use events::{Event, Observer};
pub use plan::{DEFAULT_BUDGET, PairRequest, Request, TargetRequest, half_width};
pub use run::run;
pub use schedule::{Bench, Course, Outcome, drive, drive_on};
pub use target::{Consent, EmulateRequest, human};
