//! Reports how busy the machine's processors are during a run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::log::Kind;
use crate::measurement::Measurement;

/// Time between two readings. Reading `/proc/stat` takes some 20 µs, so its cost is too small to
/// measure.
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
        let now = std::fs::read_to_string("/proc/stat").ok().and_then(|text| times(&text));
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

/// Busy ticks and all ticks of all processors together, from the first line of `/proc/stat`
/// (proc_stat(5)). `idle` and `iowait` count as idle; `user` and `nice` already include `guest` and
/// `guest_nice`.
fn times(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|n| n.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((all - idle, all))
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn waiting_for_storage_is_no_work_and_guests_count_once() {
        let stat = "cpu  100 5 20 800 50 3 2 1 40 0\ncpu0 1 1 1 1\n";
        assert_eq!(times(stat), Some((131, 981)));
        for text in ["", "cpu  1 2 3\n", "intr 1\n", "cpu  a b c d e\n"] {
            assert_eq!(times(text), None, "{text}");
        }
    }
}
