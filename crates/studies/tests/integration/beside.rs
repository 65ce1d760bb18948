//! A record next to the published devices: which device is the most similar, and the losses of both.

use cryptbench_record::Record;
use cryptbench_studies::beside::beside;
use cryptbench_studies::{Files, Letter, replay};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;

/// A record of one sequential read of 1 MiB: two blocks on plain storage at `plain` MiB/s and encrypted at `encrypted`.
fn record(pattern: &str, plain: u64, encrypted: u64) -> Record {
    let latency =
        json!({"mean_us": 1.0, "p50_us": 1.0, "p99_us": null, "p999_us": null, "max_us": 1.0});
    let trial = |i: u32, arm: &str, speed: u64| {
        json!({"sequence": i, "block": i / 2, "workload": "w", "arm": arm, "at_s": 0.0, "elapsed_s": 1.0,
            "ios": speed, "bytes": speed * MIB, "latency": latency, "cpu_process_s": 0.0, "cpu_machine_s": 0.0})
    };
    let arm = |id: &str, role: &str| json!({"id": id, "label": id, "role": role, "system": id});
    let value: Value = json!({
        "schema": "cryptbench.record/1", "program_version": "0", "run_id": "r", "started": "", "elapsed_s": 1.0,
        "partial": false,
        "plan": {"profile": "p", "workloads": [{"id": "w", "label": "read 1 MiB", "operation": "read",
            "pattern": pattern, "block_size": MIB, "queue_depth": 4, "headline": "bandwidth"}],
            "arms": [arm("plain", "plain"), arm("enc", "encrypted")], "seed": 1, "budget_s": 1.0, "trial_s": 1.0,
            "min_pairs": 2, "max_pairs": 2, "target_half_width": 0.03, "confidence": 0.95},
        "machine": {"cpu_model": "", "cpus": 1, "cpu_features": [], "memory_bytes": 1, "kernel": "", "os": "",
            "idle_baseline": 0.0, "load_average": 0.0},
        "target": {"directory": "", "filesystem": "", "mount_options": "", "source": "",
            "scratch": {"size_bytes": 1, "size_reason": ""}, "engine": {"name": "threads", "direct": true}},
        "trials": [trial(0, "plain", plain), trial(1, "enc", encrypted),
            trial(2, "enc", encrypted), trial(3, "plain", plain)],
        "stops": [], "notes": []
    });
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_nearest_device_by_plain_speed_comes_first() {
    let studies = replay(&Files::published(), &[]).unwrap();
    let near = |plain| beside(&record("sequential", plain, plain / 2), &studies);
    // ATTO's plain reads of 1 MB: SSD 503.19, flash 342.86.
    let found = near(500);
    assert_eq!((found[0].study, found[0].device.as_str()), (Letter::A, "ssd"));
    assert_eq!(found.len(), 3, "B, C and D published nothing alike");
    let cell = &found[0].cells[0];
    assert_eq!((cell.ours, cell.theirs), (500.0, 503.19));
    assert!((found[0].distance - (503.19f64 / 500.0).ln()).abs() < 1e-12);
    assert!((cell.our_drops[0].1 - 50.0).abs() < 1e-9);
    assert!((cell.their_drops[0].1 - 15.4).abs() < 0.05, "{:?}", cell.their_drops);
    assert_eq!(near(360)[0].device, "flash");
}

#[test]
fn random_requests_are_beside_nothing() {
    let studies = replay(&Files::published(), &[]).unwrap();
    assert!(beside(&record("random", 500, 400), &studies).is_empty());
}
