//! Measures how busy all CPUs are while fio runs: this includes the cost of a request outside the known
//! programs, such as the loop device's workers and interrupts.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// Time in seconds after the start of fio in which it prepares and warms up (`--ramp_time`).
const START: f64 = 0.25;

/// Busy CPU time per second of real time, while the fio process that was just started measures for `seconds`.
pub fn during(seconds: f64) -> anyhow::Result<f64> {
    std::thread::sleep(Duration::from_secs_f64(START));
    let (start, before) = (Instant::now(), total()?);
    std::thread::sleep(Duration::from_secs_f64((seconds - 0.15).max(0.1)));
    let busy = total()? - before;
    Ok(busy / start.elapsed().as_secs_f64())
}

/// CPU time in seconds, since the machine started, in which CPUs were not idle.
fn total() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let ticks = busy_ticks(&stat).context("/proc/stat")?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// proc_stat(5): user nice system idle iowait irq softirq steal. Steal time is not counted.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    [0, 1, 2, 5, 6].iter().map(|&i| fields.get(i).copied()).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn idle_waiting_and_stolen_time_is_not_busy() {
        let stat = "cpu  1 20 300 4000 50000 600000 7000000 80000000 9 9\ncpu0 1 1 1 1\n";
        assert_eq!(super::busy_ticks(stat), Some(7_600_321));
        assert_eq!(super::busy_ticks("cpu  1 2 3\n"), None);
    }
}
