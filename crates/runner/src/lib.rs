//! From a plan to a record: the schedule of trials, their execution and their accounting.

mod accounting;
mod environment;
mod error;
mod events;
mod measure;
mod plan;
mod run;
mod schedule;
pub mod speed;
mod target;

pub use cryptbench_load::EngineChoice;
pub use error::RunError;
pub use events::{Event, Observer};
pub use plan::{Request, TargetRequest};
pub use run::run;
pub use schedule::{Bench, Course, Outcome, drive};
