//! Reports how busy the machine's CPUs are during a run.

use std::sync::Arc;
use std::time::Duration;

use cryptbench_os::machine::processor_time;
use serde_json::json;

use crate::log::Kind;
use crate::measurement::Measurement;

/// Time between two readings. A reading takes about 20 µs, so its cost is too small to measure.
const EVERY: Duration = Duration::from_secs(2);

/// Adds a `cpu` event to the log at intervals during a run. Never returns.
pub(crate) async fn watch(measurement: Arc<Measurement>) {
    let mut before = None;
    loop {
        tokio::time::sleep(EVERY).await;
        if !measurement.is_running() {
            before = None;
            continue;
        }
        let now = processor_time();
        if let (Some((busy, all)), Some((busy_before, all_before))) = (now, before) {
            let passed = u64::saturating_sub(all, all_before);
            if passed > 0 {
                let share = u64::saturating_sub(busy, busy_before) as f64 / passed as f64;
                let event = json!({ "event": "cpu", "busy": share });
                measurement.log().add(Kind::Passing("cpu"), &event);
            }
        }
        before = now;
    }
}
