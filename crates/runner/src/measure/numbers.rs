//! Converts counters and histograms into the values of a record.

use cryptbench_load::Sample;
use cryptbench_os::counters::Passed;
use cryptbench_record::{DeviceMoved, Percentiles, Samples};
use hdrhistogram::Histogram;

/// Number of requests that a trial needs for a percentile (docs/methodology.md).
const FOR_P99: u64 = 1_000;
const FOR_P999: u64 = 10_000;

/// The measured share of the time covered by the machine-wide counters, which include the ramp.
pub(super) fn share(elapsed_s: f64, passed: &Passed) -> f64 {
    (elapsed_s / passed.wall_s).min(1.0)
}

/// Scales the device's counters, which include the ramp, to the share of measured bytes.
pub(super) fn scaled(d: DeviceMoved, measured: u64, total: u64) -> DeviceMoved {
    let part =
        |n: u64| if total == 0 { n } else { (n as f64 * measured as f64 / total as f64) as u64 };
    DeviceMoved {
        read_bytes: part(d.read_bytes),
        written_bytes: part(d.written_bytes),
        reads: part(d.reads),
        writes: part(d.writes),
    }
}

pub(super) fn percentiles(h: &Histogram<u64>) -> Percentiles {
    let us = |ns: u64| ns as f64 / 1000.0;
    let at = |q: f64, needed: u64| (h.len() >= needed).then(|| us(h.value_at_quantile(q)));
    Percentiles {
        mean_us: h.mean() / 1000.0,
        p50_us: us(h.value_at_quantile(0.5)),
        p99_us: at(0.99, FOR_P99),
        p999_us: at(0.999, FOR_P999),
        max_us: us(h.max()),
    }
}

/// Offsets and latencies of individual requests, if any were kept.
pub(super) fn samples(kept: &[Sample]) -> Option<Samples> {
    (!kept.is_empty()).then(|| Samples {
        offset: kept.iter().map(|s| s.offset).collect(),
        latency_us: kept.iter().map(|s| s.latency as f32 / 1000.0).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_enough_requests() {
        let mut h = Histogram::<u64>::new(3).unwrap();
        h.record_n(100_000, 999).unwrap();
        assert_eq!(percentiles(&h).p99_us, None);
        h.record(100_000).unwrap();
        assert!((percentiles(&h).p99_us.unwrap() - 100.0).abs() < 0.2);
        assert_eq!(percentiles(&h).p999_us, None);
        h.record_n(100_000, 9_000).unwrap();
        assert!(percentiles(&h).p999_us.is_some());
    }

    #[test]
    fn counters_are_scaled_to_the_measured_part() {
        let d = DeviceMoved { read_bytes: 200, written_bytes: 0, reads: 20, writes: 0 };
        assert_eq!(scaled(d, 50, 100).read_bytes, 100);
        assert_eq!(scaled(d, 0, 0).read_bytes, 200);
    }
}
