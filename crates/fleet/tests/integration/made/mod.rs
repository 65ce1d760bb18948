//! Records of machines whose costs are known.

use std::fs;
use std::path::Path;

use cryptbench_record::{
    Arm, ArmRole, Device, Engine, Machine, Node, Observation, Operation, Pattern, Percentiles,
    Plan, Record, Results, SCHEMA, Scratch, Target, Trial, Workload,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

pub const ARM: &str = "dm-crypt/aes-256-xts";
pub const WORKLOADS: [&str; 2] = ["rand-read-4k-q1", "seq-read-1m-q1"];

/// Standard normal deviates (Box & Muller 1958).
pub struct Normal(ChaCha8Rng);

impl Normal {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn next(&mut self) -> f64 {
        let (a, b): (f64, f64) = (self.0.random(), self.0.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// A kind of machine.
#[derive(Clone, Copy)]
pub struct Kind {
    pub cpu: &'static str,
    pub driver: &'static str,
    pub disk: &'static str,
    /// The mean over such machines of ln(E/P) of each workload.
    pub cost: [f64; 2],
    /// Its standard deviation between machines.
    pub between: f64,
}

pub const FAST: Kind = Kind {
    cpu: "Fast CPU 9000",
    driver: "xts-aes-vaes-avx512",
    disk: "NVMe One",
    cost: [-0.10, -0.22],
    between: 0.02,
};

/// One machine of a kind: `pairs` blocks, each trial with `noise` in log units.
pub fn record(normal: &mut Normal, name: &str, kind: &Kind, (pairs, noise): (u32, f64)) -> Record {
    let own = kind.cost.map(|cost| cost + kind.between * normal.next());
    measured(name, kind, pairs, |w, is_encrypted| {
        let effect = if is_encrypted { own[w] } else { 0.0 };
        10_000.0 * (effect + noise * normal.next()).exp()
    })
}

/// One machine of a kind: `pairs` blocks, with the requests per second that `rate` gives to each trial of a workload,
/// encrypted or not.
pub fn measured(
    name: &str,
    kind: &Kind,
    pairs: u32,
    mut rate: impl FnMut(usize, bool) -> f64,
) -> Record {
    let arm = |id: &str, role, system: &str| Arm {
        id: id.to_owned(),
        label: id.to_owned(),
        role,
        system: system.to_owned(),
        ..Arm::default()
    };
    let mut encrypted = arm(ARM, ArmRole::Encrypted, "dm-crypt");
    encrypted.label = "LUKS2 AES-256".to_owned();
    encrypted.kernel_tier = Some(kind.driver.to_owned());
    let workload = |id: &str| Workload {
        id: id.to_owned(),
        label: id.replace('-', " "),
        operation: Operation::Read,
        pattern: Pattern::Random,
        block_size: 4096,
        queue_depth: 1,
        headline: "iops".to_owned(),
        ..Workload::default()
    };
    let plan = Plan {
        profile: "made".to_owned(),
        workloads: WORKLOADS.map(workload).into(),
        arms: vec![
            arm("plain", ArmRole::Plain, "plain"),
            arm("plain-again", ArmRole::PlainAgain, "plain"),
            encrypted,
        ],
        trial_s: 0.5,
        min_pairs: 3,
        max_pairs: pairs,
        target_half_width: 0.013,
        confidence: 0.95,
        ..Plan::default()
    };
    let mut trials = Vec::new();
    for (w, id) in WORKLOADS.iter().enumerate() {
        for block in 0..pairs {
            for arm in ["plain", "plain-again", ARM] {
                let ios = rate(w, arm == ARM);
                trials.push(Trial {
                    sequence: trials.len() as u32,
                    block: Some(block),
                    workload: (*id).to_owned(),
                    arm: arm.to_owned(),
                    at_s: trials.len() as f64,
                    // A whole number of requests, as long as they took.
                    measured: Observation {
                        elapsed_s: 5000.0 / ios,
                        ios: 5000,
                        bytes: 5000 * 4096,
                        latency: Percentiles {
                            mean_us: 1e6 / ios,
                            p50_us: 1e6 / ios,
                            ..Percentiles::default()
                        },
                        cpu_process_s: 0.1,
                        cpu_machine_s: 0.1,
                        ..Observation::default()
                    },
                });
            }
        }
    }
    let machine = Machine {
        cpu_model: kind.cpu.to_owned(),
        cpus: 8,
        cpu_features: ["aes", "avx2", "vaes"].map(str::to_owned).into(),
        memory_bytes: 64 << 30,
        kernel: "Linux 6.12.1 x86_64".to_owned(),
        os: "Debian GNU/Linux 13 (trixie)".to_owned(),
        ..Machine::default()
    };
    let device = Device {
        name: "nvme0n1".to_owned(),
        model: Some(kind.disk.to_owned()),
        size_bytes: 1 << 40,
        rotational: false,
        logical_block_size: 512,
        physical_block_size: 4096,
        scheduler: "none".to_owned(),
        write_cache: "write back".to_owned(),
    };
    Record {
        schema: SCHEMA.to_owned(),
        program_version: "0.1.0".to_owned(),
        run_id: format!("run-{name}"),
        started: "2026-01-02T03:04:05Z".to_owned(),
        elapsed_s: 60.0,
        partial: false,
        plan,
        machine,
        target: Target {
            directory: "/var/tmp".to_owned(),
            filesystem: "ext4".to_owned(),
            source: "/dev/nvme0n1p2".to_owned(),
            device: Some(device),
            scratch: Scratch {
                size_bytes: 1 << 30,
                size_reason: "made".to_owned(),
                extents: Some(1),
            },
            engine: Engine { name: "io_uring".to_owned(), direct: true, ..Engine::default() },
            ..Target::default()
        },
        trials,
        stops: Vec::new(),
        notes: Vec::new(),
        evidence: Vec::new(),
        in_ram: None,
        why: None,
        node: Some(Node {
            name: name.to_owned(),
            machine: format!("{name:0>16}"),
            boot: "00000001".to_owned(),
            plan: "0123456789abcdef".to_owned(),
            at_once: None,
        }),
        title: None,
        // Nothing was answered by a cache, and that is all that pooling asks.
        results: Some(Results::default()),
    }
}

/// Writes a record as its machine would.
pub fn leave(directory: &Path, record: &Record) {
    let shared = cryptbench_fleet::Shared::open(directory).unwrap();
    shared.leave(record.node.as_ref().unwrap(), &cryptbench_record::to_json(record)).unwrap();
}

pub fn damage(directory: &Path, name: &str, text: &str) {
    fs::write(directory.join(name), text).unwrap();
}
