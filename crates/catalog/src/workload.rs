//! The keywords for work in profiles, in records and in results from other programs.

crate::named! {
    /// The order of a workload's requests, or what the workload does instead of requests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Pattern {
        /// Block after block.
        Sequential = "sequential",
        /// Any block.
        Random = "random",
        /// Any block, but some blocks more often than others.
        Zipf = "zipf",
        /// Every block once in a random order.
        Permutation = "permutation",
        /// From the last block to the first.
        Backward = "backward",
        /// Every n-th block.
        Strided = "strided",
        /// One block again and again.
        Same = "same",
        /// Runs of blocks at evenly spread offsets.
        Sampled = "sampled",
        /// Actions on small files.
        Files = "files",
        /// Opening a volume.
        Unlock = "unlock",
    }
}

crate::named! {
    /// The figure that is usually quoted for a workload.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Headline {
        /// Bytes per second.
        Bandwidth = "bandwidth",
        /// Requests per second.
        Iops = "iops",
        /// Mean time of a request (HD Tune's access time).
        Latency = "latency",
        /// Files per second.
        Files = "files",
        /// Seconds that the whole trial took.
        Seconds = "seconds",
    }
}

crate::named! {
    /// The familiar form of a profile's results.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Presentation {
        /// One row per workload.
        #[default]
        Table = "table",
        /// Two-sided bars per block size, with plain next to encrypted (ATTO).
        Bars = "bars",
        /// Speed over the I/O target with access times as dots (HD Tune).
        Curve = "curve",
        /// A grid of tests with columns for reads and writes (CrystalDiskMark, Anvil).
        Grid = "grid",
        /// Percentage difference by file size and record size, with one map per operation (iozone).
        Heatmap = "heatmap",
        /// Mean, standard deviation and speed per copy (dd).
        Copies = "copies",
        /// Files per second by action (small files).
        Files = "files",
        /// Seconds to open a volume (mount).
        Unlock = "unlock",
        /// One row per workload, CPU time first (server).
        Server = "server",
    }
}

crate::named! {
    /// The estimator of a published study. Its figure is shown next to this program's estimate, and is never part of a
    /// verdict.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Estimator {
        /// Arithmetic mean of all trials.
        Mean = "mean",
        /// Mean without the largest and the smallest trial time.
        TrimmedMean = "trimmed-mean",
        /// The best trial.
        Best = "best",
        /// The difference as a percentage of the larger value, averaged over the cells.
        CellwisePercent = "cellwise-percent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_known_by_its_word() {
        for pattern in Pattern::ALL {
            assert_eq!(Pattern::of(pattern.as_str()), Some(*pattern));
        }
        assert_eq!(Pattern::of("of a later version"), None);
    }
}
