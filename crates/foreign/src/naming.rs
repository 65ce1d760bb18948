//! The names of a record's workloads and arms for users.

use cryptbench_record::{Arm, Workload};

/// The caller's names for the parts of one record.
pub trait Naming {
    /// A workload's name, such as `Large reads, one at a time`.
    fn workload(&self, workload: &Workload) -> String;
    /// An arm's name, such as `LUKS2`.
    fn arm(&self, arm: &Arm) -> String;
    /// A text from the record, with names in place of labels.
    fn text(&self, text: &str) -> String;
}
