//! One row per workload and arm: the results of the trials.

use cryptbench_record::{Cell, CpuCost, Estimate, Latency, Record, Verdict};

use super::key::Keys;
use super::{Fields, Table, collect};

pub(super) fn table(record: &Record, cells: &[Cell]) -> Table {
    let keys = Keys::of(record);
    let confidence = record.plan.confidence;
    collect(row(&keys, confidence, &blank()), cells.iter().map(|c| row(&keys, confidence, c)))
}

fn row(keys: &Keys<'_>, confidence: f64, cell: &Cell) -> Fields {
    // The values of a cell without trials are zeros that were not measured.
    let measured = |value: f64| (cell.trials > 0).then_some(value);
    let mut row = keys.row(&cell.workload, &cell.arm);
    row.integer("trials", Some(cell.trials));
    row.real("bandwidth_bytes_per_s", measured(cell.bandwidth));
    row.real("requests_per_s", measured(cell.iops));
    row.real("latency_p50_us", measured(cell.latency.p50_us));
    row.real("latency_p99_us", cell.latency.p99_us);
    row.real("latency_p999_us", cell.latency.p999_us);
    row.real("cpu_process_s_per_gib", measured(cell.cpu.process_s_per_gib));
    row.real("cpu_machine_s_per_gib", measured(cell.cpu.machine_s_per_gib));
    row.real("cpu_attributed_s_per_gib", cell.cpu.attributed_s_per_gib);
    row.real("cpu_machine_percent", measured(cell.cpu.machine_percent));
    row.real("joules_per_gib", cell.cpu.joules_per_gib);
    row.real("battery_joules_per_gib", cell.cpu.battery_joules_per_gib);
    row.real("device_bytes_per_byte", cell.device_ratio);
    row.truth("cached", cell.cached);
    row.real("noise_of_trial_fraction", cell.noise_floor);
    row.real("noise_of_mean_fraction", cell.noise_of_mean);
    let kept = |value: fn(&Estimate) -> f64| cell.kept.as_ref().map(value);
    row.real("kept_ratio", kept(|e| e.ratio));
    row.real("kept_low_ratio", kept(|e| e.low));
    row.real("kept_high_ratio", kept(|e| e.high));
    row.real("confidence_fraction", cell.kept.as_ref().map(|_| confidence));
    row.real("hodges_lehmann_ratio", kept(|e| e.hodges_lehmann));
    row.real("signed_rank_low_ratio", cell.kept.as_ref().and_then(|e| e.signed_rank_low));
    row.real("signed_rank_high_ratio", cell.kept.as_ref().and_then(|e| e.signed_rank_high));
    row.real("p_value", kept(|e| e.p_value));
    row.real("p_holm", kept(|e| e.p_holm));
    row.integer("pairs", cell.kept.as_ref().map(|e| e.pairs));
    let verdict = cell.verdict.as_ref();
    row.text("verdict", verdict.map(Verdict::word));
    row.real("verdict_percent", verdict.and_then(percent));
    row.integer("pairs_needed", verdict.and_then(pairs_needed));
    row
}

fn percent(verdict: &Verdict) -> Option<f64> {
    match verdict {
        Verdict::Costs { percent }
        | Verdict::Gains { percent }
        | Verdict::LikelyCosts { percent }
        | Verdict::LikelyGains { percent } => Some(*percent),
        Verdict::Equivalent { within_percent } => Some(*within_percent),
        Verdict::WithinNoise { noise_percent } => Some(*noise_percent),
        Verdict::Inconclusive { .. } | Verdict::Cached | Verdict::TooFewPairs => None,
    }
}

fn pairs_needed(verdict: &Verdict) -> Option<u32> {
    match verdict {
        // The maximum value means that the number of pairs is too large to count.
        Verdict::Inconclusive { more_pairs } => Some(*more_pairs).filter(|n| *n < u32::MAX),
        _ => None,
    }
}

/// A cell that contains nothing.
fn blank() -> Cell {
    Cell {
        workload: String::new(),
        arm: String::new(),
        trials: 0,
        bandwidth: 0.0,
        iops: 0.0,
        latency: Latency::default(),
        cpu: CpuCost::default(),
        device_ratio: None,
        cached: false,
        noise_floor: None,
        noise_of_mean: None,
        kept: None,
        verdict: None,
    }
}
