//! Records made of what matters here. From JSON, so that fields that records gain are their defaults.

use cryptbench_record::Record;
use serde_json::json;

/// What a record shows.
#[derive(Clone, Debug)]
pub struct Made {
    /// Of January 2026.
    pub day: u32,
    /// Speed of that day: both arms share it.
    pub level: f64,
    /// Share of plain speed that the encrypted arm keeps.
    pub kept: f64,
    pub pairs: u32,
    pub cpu: &'static str,
    pub device: &'static str,
    pub kernel: &'static str,
    pub block_size: u64,
    pub direct: bool,
    /// The set of arms that the program chose.
    pub set: Option<&'static str>,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            day: 1,
            level: 1.0,
            kept: 0.8,
            pairs: 6,
            cpu: "Imaginary 1",
            device: "sda",
            kernel: "Linux 6.1",
            block_size: 4096,
            direct: true,
            set: None,
        }
    }
}

/// Two workloads on plain and encrypted storage; trials differ by a thousandth.
pub fn record(made: &Made) -> Record {
    let mut trials = Vec::new();
    for workload in ["read", "write"] {
        for pair in 0..made.pairs {
            for (arm, share) in [("plain", 1.0), ("enc", made.kept)] {
                let noise =
                    1.0 + 0.001 * f64::from(pair % 3) - 0.001 * f64::from(trials.len() as u32 % 2);
                let ios = (1e6 * made.level * share * noise).round();
                trials.push(json!({
                    "sequence": trials.len(), "block": pair, "workload": workload, "arm": arm, "at_s": 0.0,
                    "elapsed_s": 10.0, "ios": ios as u64, "bytes": ios as u64 * made.block_size,
                    "latency": { "mean_us": 9.0, "p50_us": 9.0, "p99_us": null, "p999_us": null, "max_us": 9.0 },
                    "cpu_process_s": 0.0, "cpu_machine_s": 0.0,
                }));
            }
        }
    }
    let workload = |id: &str| {
        json!({
            "id": id, "label": format!("seq. {id}"), "operation": id, "pattern": "sequential",
            "block_size": made.block_size, "queue_depth": 1, "headline": "bandwidth",
        })
    };
    let arm = |id: &str, role: &str| json!({ "id": id, "label": id, "role": role, "system": id });
    let text = json!({
        "schema": cryptbench_record::SCHEMA, "program_version": "0.1.0", "run_id": format!("run-{:02}", made.day),
        "started": format!("2026-01-{:02}T00:00:00Z", made.day), "elapsed_s": 60.0, "partial": false,
        "plan": {
            "profile": "quick", "workloads": [workload("read"), workload("write")],
            "set": made.set, "arms": [arm("plain", "plain"), arm("enc", "encrypted")], "seed": 1, "budget_s": 60.0, "trial_s": 1.0,
            "min_pairs": 6, "max_pairs": 6, "target_half_width": 0.03, "confidence": 0.95,
        },
        "machine": {
            "cpu_model": made.cpu, "cpus": 2, "cpu_features": ["aes"], "memory_bytes": 1u64 << 30, "kernel": made.kernel,
            "os": "Debian", "idle_baseline": 0.0, "load_average": 0.0,
        },
        "target": {
            "directory": "/mnt", "filesystem": "ext4", "mount_options": "rw", "source": format!("/dev/{}", made.device),
            "device": {
                "name": made.device, "size_bytes": 1u64 << 40, "rotational": false, "logical_block_size": 512,
                "physical_block_size": 4096, "scheduler": "none", "write_cache": "write back",
            },
            "scratch": { "size_bytes": 1u64 << 30, "size_reason": "asked" },
            "engine": { "name": "io_uring", "direct": made.direct },
        },
        "trials": trials, "stops": [], "notes": [],
    });
    serde_json::from_value(text).expect("a record")
}
