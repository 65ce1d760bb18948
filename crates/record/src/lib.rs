//! The versioned document of a run: the data that reports, comparisons and exports may read.
//!
//! A record contains the raw trials. Estimates and verdicts are derived from them and stored with
//! them ([`Results`]) only so that readers of the JSON need not recompute them.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod budget;
mod disk;
mod event;
mod evidence;
mod fold;
mod from_os;
mod id;
mod in_ram;
mod io;
pub mod limits;
mod log;
mod place;
mod printable;
mod program;
mod results;
mod run;
mod schema;
mod share;
mod slow_aes;
mod threads;
mod title;
mod trial;
mod why;
mod work;

pub use budget::{budget_option, longer_budget};
pub use disk::{DiskCounts, Disturbed, Uncounted};
pub use event::{Event, Sink};
pub use evidence::{Entropy, Evidence, Names, Randomness, ReadBack, Rest, Reveals, Scan, Sizes};
pub use fold::{Fold, fold, fold_to_resume};
pub use id::{ArmId, WorkloadId};
pub use in_ram::{CipherInRam, DerivationInRam, InRam, PimInRam};
pub use io::{LARGEST, RecordError, parse, read, read_document, title_beside, to_json, write};
pub use log::{LOG, TrialLog, is_being_written, read_log};
pub use place::{KindOfDevice, Limits, PlaceKind};
pub use printable::{printable_document, printable_record};
pub use results::{Addition, Cell, CpuCost, Estimate, Latency, Results, Verdict};
pub use run::{
    Arm, ArmRole, BUILTIN_ONLY, DIRECTORY, Device, EmulatedDevice, EncryptedBy, Engine, InUse,
    LeftOut, Machine, Node, PairedTarget, Plan, Power, Record, Scratch, StopReason, Target,
    Workload, WorkloadStop, compression_option,
};
pub use schema::JSON_SCHEMA;
pub use share::{SHARED, to_share};
pub use slow_aes::SlowAes;
pub use threads::{BusyThread, Threads};
pub use title::{LONGEST_TITLE, TITLE, TitleError, set_title, title};
pub use trial::{
    Accounting, DEVICE_FLUSH, DeviceMoved, FLUSH, Observation, Percentiles, Samples, Slices, Trial,
    complete_blocks, log_ratios, trials_of,
};
pub use why::{CipherSpeed, CurvePoint, MemoryCost, Why};
pub use work::{Operation, Pattern};

pub use cryptbench_catalog::Headline;

/// Version of the document. Readers refuse a newer major version and accept older ones.
pub const SCHEMA: &str = "cryptbench.record/1";
