//! What single threads did during a trial: one that has a processor to itself limits the speed, however idle the others are.

use serde::{Deserialize, Serialize};

/// The busiest threads of a trial, over the same span as its account of CPU time; not scaled to its measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Threads {
    /// Seconds of the span.
    pub span_s: f64,
    /// Requests that the load issued in it.
    pub asked: u64,
    /// The busiest of the threads that issue the load, in which inline layers work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<BusyThread>,
    /// The busiest of the system's own threads: of its helper programs, or serving it in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helper: Option<BusyThread>,
    /// The busiest kernel thread, whose name says what a worker works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<BusyThread>,
    /// How often the system's own threads left a processor to wait: each time they are woken again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// How often they left it because it was another task's turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
}

/// A thread and its CPU time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BusyThread {
    /// Its name.
    pub name: String,
    /// CPU seconds.
    pub cpu_s: f64,
}

impl Threads {
    /// The share of one processor that a thread used, 0 to 1.
    #[must_use]
    pub fn share(&self, thread: &BusyThread) -> Option<f64> {
        (self.span_s > 0.0).then(|| thread.cpu_s / self.span_s)
    }

    /// Voluntary and involuntary switches of the system's threads for each request.
    #[must_use]
    pub fn switches_per_request(&self) -> Option<(f64, f64)> {
        let per = |n: Option<u64>| n.map(|n| n as f64 / self.asked as f64);
        (self.asked > 0).then_some(())?;
        per(self.voluntary_switches).zip(per(self.involuntary_switches))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_one_processor_and_switches_of_a_request() {
        let thread = BusyThread { name: "gocryptfs".to_owned(), cpu_s: 0.45 };
        let threads = Threads {
            span_s: 0.5,
            asked: 100,
            voluntary_switches: Some(300),
            involuntary_switches: Some(5),
            ..Threads::default()
        };
        assert!((threads.share(&thread).unwrap() - 0.9).abs() < 1e-12);
        assert_eq!(threads.switches_per_request(), Some((3.0, 0.05)));
        assert_eq!(Threads { asked: 0, ..threads.clone() }.switches_per_request(), None);
        assert_eq!(Threads::default().share(&thread), None);
    }
}
