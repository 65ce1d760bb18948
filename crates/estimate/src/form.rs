//! Which picture a profile's users know.

use cryptbench_record::Record;

/// A picture, as [`Plan::presentation`](cryptbench_record::Plan) names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// None but the table of all figures.
    Table,
    /// ATTO's.
    Bars,
    /// HD Tune's.
    Curve,
    /// CrystalDiskMark's and Anvil's.
    Grid,
    /// iozone's.
    Heatmap,
    /// dd's.
    Copies,
    /// Of small files.
    Files,
    /// Of opening volumes.
    Unlock,
    /// The table, CPU time first.
    Server,
}

impl Form {
    /// The form that a record asks for; a table if this version does not know it.
    pub fn of(record: &Record) -> Self {
        match record.plan.presentation.as_deref() {
            Some("bars") => Self::Bars,
            Some("curve") => Self::Curve,
            Some("grid") => Self::Grid,
            Some("heatmap") => Self::Heatmap,
            Some("copies") => Self::Copies,
            Some("files") => Self::Files,
            Some("unlock") => Self::Unlock,
            Some("server") => Self::Server,
            _ => Self::Table,
        }
    }
}
