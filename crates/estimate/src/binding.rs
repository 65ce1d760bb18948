//! What holds an arm back in a workload: what reached the disk below it, beside plain storage and its curve.

use cryptbench_catalog::BUILTIN;
use cryptbench_record::{
    Arm, ArmRole, CurvePoint, DiskCounts, Operation, Pattern, Record, Trial, Workload,
};
use cryptbench_stats::bottleneck::{
    Asked, Bottleneck, Curve, Disk, Factors, Flow, Point, bottleneck,
};
use cryptbench_stats::median;

use crate::arms::plain_arm;
use crate::lookup::Lookup;

/// An arm in a workload, beside plain storage.
#[derive(Clone, Debug)]
pub struct Binding {
    /// What was asked of both, and how fast they were.
    pub asked: Asked,
    /// What reached the disk, if it counts and nobody else used it.
    pub disk: Option<AtDisk>,
    /// What holds the arm back; `None` if that is not explained.
    pub bottleneck: Option<Bottleneck>,
}

/// What reached the disk from plain storage and from the arm.
#[derive(Clone, Copy, Debug)]
pub struct AtDisk {
    /// From plain storage.
    pub plain: Flow,
    /// From the arm.
    pub arm: Flow,
    /// The parts of what the arm loses.
    pub factors: Factors,
    /// Speed of plain storage with as many requests in flight as the arm has, as a share of its speed
    /// with all of them; `None` without a curve.
    pub plain_with_so_many: Option<f64>,
}

impl Binding {
    /// Whether the arm loses enough to ask why.
    pub fn loses(&self) -> bool {
        self.asked.plain_rate / self.asked.rate > LEAST_LOSS
    }
}

/// A loss by less than this factor is not explained.
const LEAST_LOSS: f64 = 1.03;

/// The bindings of a record: each workload of requests, and each arm but plain storage and its repetition.
pub fn bindings<'a>(lookup: &Lookup<'a>) -> Vec<(&'a Workload, &'a Arm, Binding)> {
    let record = lookup.record;
    let curves = [Operation::Read, Operation::Write].map(|of| (curve(record, &of), of));
    let mut found = Vec::new();
    for workload in record.plan.workloads.iter().filter(|w| w.is_of_requests()) {
        let Some((curve, _)) = curves.iter().find(|(_, of)| *of == workload.operation) else {
            continue;
        };
        for arm in record.plan.arms.iter().filter(|arm| is_asked_of(arm)) {
            let binding = binding(lookup, workload, arm, curve);
            found.extend(binding.map(|binding| (workload, arm, binding)));
        }
    }
    found
}

fn is_asked_of(arm: &Arm) -> bool {
    !matches!(arm.role, ArmRole::Plain | ArmRole::PlainAgain)
}

/// What holds `arm` back in `workload`. `None` without trials of both.
fn binding(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm, curve: &Curve) -> Option<Binding> {
    let record = lookup.record;
    let plain = plain_arm(record)?;
    let rate = |w: &Workload, arm: &Arm| {
        lookup.cell(w, arm).map(|c| c.iops).filter(|rate| *rate > 0.0 && rate.is_finite())
    };
    let alone = record.plan.workloads.iter().find(|w| {
        w.in_flight() == 1
            && (&w.operation, &w.pattern, w.block_size)
                == (&workload.operation, &workload.pattern, workload.block_size)
    });
    let plain_rate = rate(workload, plain)?;
    let work = |arm: &Arm| work_s(&lookup.trials.of_cell(&workload.id, &arm.id));
    let asked = Asked {
        depth: f64::from(workload.in_flight()),
        bytes: workload.block_size as f64,
        reads: workload.operation == Operation::Read,
        rate: plain_rate * lookup.ratio(workload, arm)?,
        plain_rate,
        alone: alone.and_then(|w| {
            let plain = rate(w, plain)?;
            Some((plain * lookup.ratio(w, arm)?, plain))
        }),
        work_s: work(arm).zip(work(plain)).map(|(arm, plain)| arm - plain),
        busiest_thread: busiest_thread(&lookup.trials.of_cell(&workload.id, &arm.id), arm),
        cipher_s: cipher_s(record, workload, arm),
    };
    let disk = at_disk(lookup, workload, arm, curve);
    let of_disk = disk.map(|disk| Disk { plain: disk.plain, arm: disk.arm, curve });
    Some(Binding { asked, disk, bottleneck: bottleneck(&asked, of_disk) })
}

/// What reached the disk. `None` if it does not count, or if others used it.
fn at_disk(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm, curve: &Curve) -> Option<AtDisk> {
    let record = lookup.record;
    let plain = plain_arm(record)?;
    let disturbed = |arm: &Arm| record.disk_disturbed(&workload.id, &arm.id).is_some();
    if disturbed(arm) || disturbed(plain) {
        return None;
    }
    let (plain, arm) = (flow(lookup, &workload.id, plain)?, flow(lookup, &workload.id, arm)?);
    let with = |flow: &Flow| curve.rate(flow.in_flight, plain.bytes);
    Some(AtDisk {
        plain,
        arm,
        factors: Factors::of(&plain, &arm)?,
        plain_with_so_many: with(&arm).zip(with(&plain)).map(|(some, all)| some / all),
    })
}

/// Seconds that processors work on a request: the load, the system's programs and the kernel.
fn work_s(trials: &[&Trial]) -> Option<f64> {
    let (mut seconds, mut requests) = (0.0, 0.0);
    for trial in trials {
        seconds += trial.measured.cpu_attributed_s()?;
        requests += trial.measured.ios as f64;
    }
    (requests > 0.0).then(|| seconds / requests)
}

/// The speed of plain storage in one direction, by what reached its disk.
fn curve(record: &Record, operation: &Operation) -> Curve {
    Curve::new(measured(record, operation).into_iter().map(|(_, point)| point).collect())
}

/// What was measured of plain storage in one direction, each depth and size once: its place in the record, and what reached
/// the disk, as the middle of its passes.
fn measured<'a>(record: &'a Record, operation: &Operation) -> Vec<(&'a CurvePoint, Point)> {
    let all = record.why.iter().flat_map(|why| &why.curve);
    let all: Vec<_> = all.filter(|p| p.operation == *operation).collect();
    let alike = |a: &CurvePoint, b: &CurvePoint| {
        (a.block_size, a.depth, &a.pattern) == (b.block_size, b.depth, &b.pattern)
    };
    let is_first = |(i, p): &(usize, &&CurvePoint)| !all[..*i].iter().any(|q| alike(q, p));
    let firsts = all.iter().enumerate().filter(is_first).map(|(_, first)| *first);
    let point = |first: &'a CurvePoint| {
        let passes: Vec<_> =
            all.iter().filter(|p| alike(p, first)).filter_map(|p| p.disk).collect();
        let middle = |of: &dyn Fn(&DiskCounts) -> Option<f64>| {
            median(&passes.iter().filter_map(of).collect::<Vec<_>>())
        };
        let rate = |disk: &DiskCounts| Some((disk.reads + disk.writes) as f64 / disk.span_s);
        let point = Point {
            in_flight: middle(&DiskCounts::in_flight)?,
            bytes: middle(&DiskCounts::mean_bytes)?,
            rate: middle(&rate)?,
        };
        Some((first, point))
    };
    firsts.filter_map(point).collect()
}

/// Plain storage's speed at random by number in flight: direction, bytes, and points by depth.
pub fn by_depth(record: &Record) -> Vec<(Operation, u64, Vec<Point>)> {
    let of = |operation: Operation| {
        let random = measured(record, &operation).into_iter();
        let mut random: Vec<_> = random.filter(|(p, _)| p.pattern == Pattern::Random).collect();
        random.sort_by_key(|(p, _)| p.depth);
        let bytes = random.first()?.0.block_size;
        Some((operation, bytes, random.into_iter().map(|(_, point)| point).collect()))
    };
    [Operation::Read, Operation::Write].into_iter().filter_map(of).collect()
}

/// Share of the time in which the busiest thread of an arm worked. The thread that issues the load is one of them only
/// where the arm's cipher works in it.
fn busiest_thread(trials: &[&Trial], arm: &Arm) -> Option<f64> {
    let shares = trials.iter().filter_map(|trial| {
        let threads = trial.measured.threads.as_ref()?;
        let load = threads.load.as_ref().filter(|_| arm.system == BUILTIN.name);
        let all = [load, threads.helper.as_ref(), threads.kernel.as_ref()];
        all.into_iter().flatten().filter_map(|thread| threads.share(thread)).reduce(f64::max)
    });
    median(&shares.collect::<Vec<_>>())
}

/// Seconds that the arm's cipher takes for a request on one processor.
fn cipher_s(record: &Record, workload: &Workload, arm: &Arm) -> Option<f64> {
    let ciphers = &record.why.as_ref()?.ciphers;
    let own = ciphers
        .iter()
        .find(|c| Some(&c.cipher) == arm.cipher.as_ref() && Some(c.data_unit) == arm.data_unit)?;
    Some(match workload.operation {
        Operation::Read => own.seconds(workload.block_size, 0),
        _ => own.seconds(0, workload.block_size),
    })
}

/// What reached the disk in the trials of one cell, without what other programs ask of it.
fn flow(lookup: &Lookup<'_>, workload: &str, arm: &Arm) -> Option<Flow> {
    let trials = lookup.trials.of_cell(workload, &arm.id);
    let counted = trials
        .iter()
        .map(|t: &&Trial| t.measured.disk_while_measured())
        .collect::<Option<Vec<_>>>()?;
    let mut counts: DiskCounts = counted.into_iter().sum();
    if let Some(others) = lookup.record.idle_disk_of(&arm.id) {
        counts = counts.without(others);
    }
    Some(Flow {
        rate: counts.asked as f64 / counts.span_s,
        in_flight: counts.in_flight()?,
        per_request: counts.per_request()?,
        bytes: counts.mean_bytes()?,
    })
}
