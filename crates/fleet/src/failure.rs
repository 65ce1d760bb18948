//! The report of a machine that could not measure.

use cryptbench_record::{Machine, Node};
use cryptbench_text::printable;
use serde::{Deserialize, Serialize};

/// Version of the document.
pub const FAILURE: &str = "cryptbench.fleet-failure/1";

/// Why a machine of the fleet has no record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// [`FAILURE`].
    pub schema: String,
    /// Version of the program that reported the failure.
    pub program_version: String,
    /// The machine, and its task.
    pub node: Node,
    /// The error with its causes, in one sentence.
    pub why: String,
    /// The exit code of the program.
    pub exit_code: u8,
    /// The machine, as described by its operating system.
    pub machine: Machine,
}

impl Failure {
    /// Parses the document; its strings are made safe to show.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut failure: Self = serde_json::from_str(text).ok()?;
        for shown in [&mut failure.why, &mut failure.node.name] {
            *shown = printable(shown).into_owned();
        }
        Some(failure)
    }
}
