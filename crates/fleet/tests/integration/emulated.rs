//! Sixteen emulated nodes of three kinds, whose costs are known: are they in the prediction intervals, and how wide are these?

use std::path::PathBuf;

use cryptbench_devices::{Engine, Model, Operation, Request};
use cryptbench_fleet::{Fleet, Found, Report};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::made::{Kind, Normal, measured};

/// Requests of each workload: random reads of 4 KiB and of 64 KiB, one in flight.
const SIZES: [u64; 2] = [4096, 65536];
/// Requests in one trial.
const REQUESTS: u32 = 40;
const PAIRS: u32 = 10;
/// Fleets, each of sixteen nodes.
const FLEETS: u32 = 150;
/// How much machines of a kind differ in the time that encryption takes, in log units.
const SPREAD: f64 = 0.15;

/// A kind: its device's model, its machines, and the seconds that encryption adds to each request on a typical one.
struct Emulated {
    kind: Kind,
    model: Model,
    machines: usize,
    adds_s: [f64; 2],
}

fn three_kinds() -> [Emulated; 3] {
    let of = |name: &'static str, machines, adds_s: [f64; 2]| Emulated {
        kind: Kind {
            cpu: "CPU",
            driver: "xts-aes-aesni",
            disk: name,
            cost: [0.0; 2],
            between: 0.0,
        },
        model: Model::named(name).unwrap(),
        machines,
        adds_s,
    };
    [
        of("nvme", 6, [20e-6, 40e-6]),
        of("sata-ssd", 5, [40e-6, 80e-6]),
        of("hdd-7200", 5, [5e-3, 5e-3]),
    ]
}

/// A device, and the time that has passed on it.
struct Device {
    engine: Engine,
    now: f64,
    offsets: ChaCha8Rng,
    places: u64,
}

impl Device {
    fn new(model: &Model, seed: u64) -> Self {
        let engine = Engine::new(model, model.capacity_bytes);
        let places = model.capacity_bytes.min(1 << 30) / SIZES[1];
        Self { engine, now: 0.0, offsets: ChaCha8Rng::seed_from_u64(seed), places }
    }

    /// Requests per second, where each takes `adds_s` more than the device does.
    fn rate(&mut self, bytes: u64, adds_s: f64, requests: u32) -> f64 {
        let began = self.now;
        for _ in 0..requests {
            let offset = self.offsets.random_range(0..self.places) * SIZES[1];
            let request = Request {
                operation: Operation::Read,
                offset,
                bytes,
                arrival_s: self.now,
                continues: false,
            };
            self.now = self.engine.submit(&request) + adds_s;
        }
        f64::from(requests) / (self.now - began)
    }
}

impl Emulated {
    /// Seconds of a request of each workload on the device alone.
    fn alone_s(&self) -> [f64; 2] {
        SIZES.map(|bytes| 1.0 / Device::new(&self.model, 1).rate(bytes, 0.0, 20_000))
    }

    /// One machine, and its true cost of each workload.
    fn machine(&self, alone_s: [f64; 2], name: &str, normal: &mut Normal) -> (Found, [f64; 2]) {
        let own = (SPREAD * normal.next()).exp();
        let adds_s = self.adds_s.map(|adds| adds * own);
        let cost = [0, 1].map(|w| -(adds_s[w] / alone_s[w]).ln_1p());
        let mut device = Device::new(&self.model, (normal.next() * 1e9) as i64 as u64);
        let record = measured(name, &self.kind, PAIRS, |w, is_encrypted| {
            device.rate(SIZES[w], if is_encrypted { adds_s[w] } else { 0.0 }, REQUESTS)
        });
        (Found::Record(Box::new(record)), cost)
    }
}

/// Mean and standard deviation over the machines of a kind, from many.
fn truth(kind: &Emulated, alone_s: f64, adds_s: f64) -> (f64, f64) {
    let mut normal = Normal::new(kind.machines as u64);
    let costs: Vec<f64> =
        (0..20_000).map(|_| -(adds_s * (SPREAD * normal.next()).exp() / alone_s).ln_1p()).collect();
    let mean = costs.iter().sum::<f64>() / costs.len() as f64;
    let squares: f64 = costs.iter().map(|c| (c - mean).powi(2)).sum();
    (mean, (squares / costs.len() as f64).sqrt())
}

/// The true model knows mean and spread of its kind, so its interval is 1.96 standard deviations to either side. From five
/// machines, measured without any error, Student's interval is 1.42 times as wide in the median fleet, and from six 1.32 times;
/// in a single fleet it varies with the machines that happen to be there. The bound of 1.5 is for the median fleet: the mean
/// over fleets is 1.46 without any error, and was 1.502 here for one kind of five with the errors of trials.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are for the documentation")]
fn known_costs_lie_in_the_prediction_intervals_which_are_little_wider_than_the_truth() {
    let kinds = three_kinds();
    let alone: Vec<[f64; 2]> = kinds.iter().map(Emulated::alone_s).collect();
    let truths: Vec<[(f64, f64); 2]> = kinds
        .iter()
        .zip(&alone)
        .map(|(kind, alone_s)| [0, 1].map(|w| truth(kind, alone_s[w], kind.adds_s[w])))
        .collect();
    let mut normal = Normal::new(17);
    let (mut means, mut next, mut of) = (0, 0, 0);
    let mut widths = [const { Vec::new() }; 3];
    for fleet_number in 0..FLEETS {
        let mut fleet = Fleet::default();
        for (i, (kind, alone_s)) in kinds.iter().zip(&alone).enumerate() {
            for m in 0..kind.machines {
                let name = format!("node{i}{m}");
                let (found, _) = kind.machine(*alone_s, &name, &mut normal);
                fleet.add(Fleet::observe(PathBuf::from(name), found));
            }
        }
        let report = Report::of(fleet, &[], 0.95);
        assert_eq!((report.machines, report.groups.len()), (16, 3));
        for (i, (kind, alone_s)) in kinds.iter().zip(&alone).enumerate() {
            let is_its = |g: &&cryptbench_fleet::Group| g.kind.disk_model == kind.kind.disk;
            let group = report.groups.iter().find(is_its).unwrap();
            let (_, another) = kind.machine(*alone_s, "next", &mut normal);
            for (w, row) in group.rows.iter().enumerate() {
                let share = row.pooled.unwrap();
                let held = share.next_low_ratio.ln()..share.next_high_ratio.ln();
                let (mean, sd) = truths[i][w];
                if fleet_number == 0 {
                    assert!(held.contains(&mean), "{}: {mean} not in {held:?}", kind.kind.disk);
                }
                means += u32::from(held.contains(&mean));
                next += u32::from(held.contains(&another[w]));
                of += 1;
                widths[i].push((held.end - held.start) / (2.0 * 1.96 * sd));
            }
        }
    }
    let widths = widths.map(|mut of| {
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    });
    let percent = |n: u32| 100.0 * f64::from(n) / f64::from(of);
    println!(
        "means {:.1} %, next machines {:.1} %, widths {widths:.2?}",
        percent(means),
        percent(next)
    );
    assert!(percent(means) >= 99.0 && (91.0..=99.0).contains(&percent(next)));
    assert!(widths.iter().all(|width| *width <= 1.5), "{widths:?}");
    // What is far narrower than the truth can hold nothing.
    assert!(widths.iter().all(|width| *width >= 1.0), "{widths:?}");
}
