//! The figure by which a profile's results are known.

cryptbench_catalog::named! {
    /// The figure that people quote for a workload.
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
