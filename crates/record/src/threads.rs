//! The activity of individual threads during a trial: a thread that saturates its CPU limits the speed even if the
//! other threads are idle.

use serde::{Deserialize, Serialize};

/// The busiest threads of a trial, over the same span as its account of CPU time; not scaled to its measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Threads {
    /// Seconds of the span.
    pub span_s: f64,
    /// Requests that the load issued in that span.
    pub asked: u64,
    /// The busiest of the threads that issue the load, which also run inline layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<BusyThread>,
    /// The busiest of the system's own threads: a thread of its helper programs, or one that serves it in this
    /// process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helper: Option<BusyThread>,
    /// The busiest kernel thread; its name shows the kind of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<BusyThread>,
    /// Number of voluntary context switches of the system's own threads: they wait, and each wait requires a
    /// wake-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// How often the scheduler preempted these threads to run another task.
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
    /// Seconds for which the thread could run but had no CPU; 0 if unknown, and for kernel threads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_s: f64,
}

fn is_zero(seconds: &f64) -> bool {
    *seconds <= 0.0
}
