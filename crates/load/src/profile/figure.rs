//! The figure and the presentation in which people know the results of a profile.

/// The figure that people quote for a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Headline {
    /// Bytes per second.
    Bandwidth,
    /// Requests per second.
    Iops,
    /// Mean time of a request (HD Tune's access time).
    Latency,
    /// Files per second.
    Files,
    /// Seconds that the whole trial took.
    Seconds,
}

impl Headline {
    /// Every headline.
    pub(crate) const ALL: &[Self] =
        &[Self::Bandwidth, Self::Iops, Self::Latency, Self::Files, Self::Seconds];

    /// `bandwidth`, `iops`, `latency`, `files` or `seconds`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Iops => "iops",
            Self::Latency => "latency",
            Self::Files => "files",
            Self::Seconds => "seconds",
        }
    }
}

/// The form in which users know the results of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Presentation {
    /// One row per workload.
    #[default]
    Table,
    /// Two-sided bars per block size, plain beside encrypted (ATTO).
    Bars,
    /// Speed over the I/O target with access times as dots (HD Tune).
    Curve,
    /// A grid of test by read and write (CrystalDiskMark, Anvil).
    Grid,
    /// Percent difference per file size and record size, one map per operation (iozone).
    Heatmap,
    /// Mean, standard deviation and speed per copy (dd).
    Copies,
    /// Files per second by action (small files).
    Files,
    /// Seconds to open a volume (mount).
    Unlock,
    /// One row per workload, CPU time first (server).
    Server,
}

impl Presentation {
    /// Every presentation.
    pub(crate) const ALL: &[Self] = &[
        Self::Table,
        Self::Bars,
        Self::Curve,
        Self::Grid,
        Self::Heatmap,
        Self::Copies,
        Self::Files,
        Self::Unlock,
        Self::Server,
    ];

    /// `table`, `bars`, `curve`, `grid`, `heatmap`, `copies`, `files`, `unlock` or `server`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Bars => "bars",
            Self::Curve => "curve",
            Self::Grid => "grid",
            Self::Heatmap => "heatmap",
            Self::Copies => "copies",
            Self::Files => "files",
            Self::Unlock => "unlock",
            Self::Server => "server",
        }
    }
}

/// How a published study condensed its trials. Shown beside our estimate; never part of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// Arithmetic mean of all trials.
    Mean,
    /// Mean without the largest and the smallest trial time.
    TrimmedMean,
    /// The best trial.
    Best,
    /// Mean over cells of the difference in percent of the larger value.
    CellwisePercent,
}

impl Estimator {
    /// Every estimator.
    pub(crate) const ALL: &[Self] =
        &[Self::Mean, Self::TrimmedMean, Self::Best, Self::CellwisePercent];

    /// `mean`, `trimmed-mean`, `best` or `cellwise-percent`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::TrimmedMean => "trimmed-mean",
            Self::Best => "best",
            Self::CellwisePercent => "cellwise-percent",
        }
    }
}
