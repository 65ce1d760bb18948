//! The studies' conclusions on records whose costs are known.

use cryptbench_record::{KindOfDevice, Record};
use cryptbench_studies::Letter;
use cryptbench_studies::here::{Tested, Told, conclusions};
use serde_json::{Value, json};

/// Blocks of each workload.
const BLOCKS: u32 = 6;

/// A rotating disk, with sequential reads and writes of two block sizes. An encrypted arm keeps `small` and `large`
/// of plain speed, alternately higher and lower by up to `noise` from block to block.
fn record(small: f64, large: f64, noise: f64) -> Record {
    let latency =
        json!({"mean_us": 1.0, "p50_us": 1.0, "p99_us": null, "p999_us": null, "max_us": 1.0});
    let sizes = [(4096_u64, small), (1 << 20, large)];
    let id = |operation: &str, block: u64| format!("{operation}-{block}");
    let (mut workloads, mut trials) = (Vec::new(), Vec::new());
    for operation in ["read", "write"] {
        for (block, kept) in sizes {
            workloads.push(json!({"id": id(operation, block), "label": id(operation, block), "operation": operation,
                "pattern": "sequential", "block_size": block, "queue_depth": 4, "headline": "bandwidth"}));
            for i in 0..2 * BLOCKS {
                let is_plain = i % 2 == 0;
                let off = if (i / 2) % 2 == 0 { 1.0 + noise } else { 1.0 - noise };
                let ios = 100_000.0 * if is_plain { 1.0 } else { kept * off };
                trials.push(json!({"sequence": trials.len(), "block": i / 2, "workload": id(operation, block),
                    "arm": if is_plain { "plain" } else { "enc" }, "at_s": 0.0, "elapsed_s": 1.0,
                    "ios": ios as u64, "bytes": ios as u64 * block, "latency": latency, "cpu_process_s": 0.0,
                    "cpu_machine_s": 0.0}));
            }
        }
    }
    let arm = |id: &str, role: &str| json!({"id": id, "label": id, "role": role, "system": id});
    let value: Value = json!({
        "schema": "cryptbench.record/1", "program_version": "0", "run_id": "r", "started": "", "elapsed_s": 1.0,
        "partial": false,
        "plan": {"profile": "atto", "workloads": workloads,
            "arms": [arm("plain", "plain"), arm("enc", "encrypted")], "seed": 1, "budget_s": 1.0, "trial_s": 1.0,
            "min_pairs": 2, "max_pairs": 2, "target_half_width": 0.03, "confidence": 0.95},
        "machine": {"cpu_model": "", "cpus": 1, "cpu_features": [], "memory_bytes": 1, "kernel": "", "os": "",
            "idle_baseline": 0.0, "load_average": 0.0},
        "target": {"directory": "", "filesystem": "", "mount_options": "", "source": "",
            "device": {"name": "sda", "size_bytes": 1, "rotational": true, "logical_block_size": 512,
                "physical_block_size": 512, "scheduler": "", "write_cache": ""},
            "scratch": {"size_bytes": 1, "size_reason": ""}, "engine": {"name": "threads", "direct": true}},
        "trials": trials, "stops": [], "notes": []
    });
    serde_json::from_value(value).unwrap()
}

fn told(tested: &[Tested], id: &str) -> Told {
    tested.iter().find(|t| t.id == id).unwrap_or_else(|| panic!("{id} was not tested")).told
}

#[test]
fn a_disk_that_loses_what_study_a_says_bears_it_out() {
    let tested = conclusions(Some(Letter::A), &[(&record(0.3, 0.6, 0.001), &[])]);
    for id in ["hdd-small-speed", "hdd-large-speed", "small-suffer-more", "writes-like-reads"] {
        assert_eq!(told(&tested, id), Told::Holds, "{id}");
    }
    assert_eq!(told(&tested, "archive-negligible"), Told::DoesNotHold);
    let small = tested.iter().find(|t| t.id == "hdd-small-speed").unwrap();
    assert!(small.parts[0].figure.starts_with("70 % lost (70 to 70)"), "{:?}", small.parts);
    assert!(tested.iter().all(|t| !t.id.starts_with("ssd")), "it is no SSD");
    assert!(tested.iter().all(|t| t.id != "fastest-cipher"), "nothing was measured in RAM");
}

/// Conclusions on kinds of devices that are tested if the record has this kind.
fn tested_on(kind: Option<&str>, by_owner: bool) -> Vec<&'static str> {
    let mut record = record(0.8, 0.9, 0.001);
    record.target.device_kind =
        Some(KindOfDevice { kind: kind.map(ToOwned::to_owned), why: "made".to_owned(), by_owner });
    let tested = conclusions(Some(Letter::A), &[(&record, &[])]);
    let mut of_kinds: Vec<_> = tested.iter().filter_map(|t| t.id.split('-').next()).collect();
    of_kinds.retain(|kind| ["flash", "ssd", "hdd"].contains(kind));
    of_kinds.dedup();
    of_kinds
}

#[test]
fn conclusions_on_a_kind_of_device_are_tested_on_that_kind_only() {
    for (kind, expected) in [
        (Some("usb-stick"), &["flash"][..]),
        (Some("sata-ssd"), &["ssd"]),
        (Some("nvme"), &["ssd"]),
        (Some("hdd"), &["hdd"]),
        // Study A had no such device, although the kernel reports that the disk rotates.
        (Some("sshd"), &[]),
        (Some("memory-card"), &[]),
        (Some("virtual"), &[]),
        (Some("holographic"), &[]),
        (None, &[]),
    ] {
        assert_eq!(tested_on(kind, false), expected, "{kind:?}");
        assert_eq!(tested_on(kind, true), expected, "{kind:?}, said by the owner");
    }
}

#[test]
fn a_disk_that_loses_otherwise_does_not_and_noise_tells_nothing() {
    let tested = conclusions(None, &[(&record(0.9, 0.6, 0.001), &[])]);
    assert_eq!(told(&tested, "hdd-small-speed"), Told::DoesNotHold);
    assert_eq!(told(&tested, "hdd-large-speed"), Told::Holds);
    assert_eq!(told(&tested, "small-suffer-more"), Told::DoesNotHold);
    let noisy = conclusions(None, &[(&record(0.3, 0.6, 0.3), &[])]);
    assert_eq!(told(&noisy, "hdd-small-speed"), Told::CannotBeTold);
}
