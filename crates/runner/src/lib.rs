//! From a request to a record: plan, prepare, measure, verify, finish.
#![forbid(unsafe_code)]

mod accounting;
mod environment;
mod error;
mod event;
mod finish;
mod halt;
mod measure;
mod plan;
mod prepare;
mod recorder;
mod run;
pub mod speed;
mod verify;

pub use cryptbench_load::EngineChoice;
pub use environment::machine;
pub use error::RunError;
pub use event::{Event, Observer};
pub use halt::Halt;
pub use measure::schedule::{Bench, Course, Observation, drive, drive_on};
pub use plan::forecast::{DryRun, dry_run};
pub use plan::limits::{DEFAULT_BUDGET, half_width};
pub use plan::storage::{Consent, human};
pub use plan::volumes::UnlockSelection;
pub use plan::{EmulateRequest, PairRequest, Request, TargetRequest};
pub use run::run;
