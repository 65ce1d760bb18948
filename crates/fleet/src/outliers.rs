//! Machines that differ from the others in their group, and the likely reason.

use std::collections::BTreeMap;

use cryptbench_stats::{FAMILY_LEVEL, Pooled, holm, pool, residual_p};
use serde::Serialize;

use crate::fleet::{Fleet, Point};
use crate::reasons::{Usual, reasons};
use crate::report::{Kind, effects};

/// A machine that differs from the others in its group.
#[derive(Clone, Debug, Serialize)]
pub struct Outlier {
    /// Its name.
    pub node: String,
    /// Identifier of the arm on which the machine differs most.
    pub arm: String,
    /// The arm's name for users.
    pub arm_label: String,
    /// The workload in which the machine differs most.
    pub workload: String,
    /// The workload's name for users.
    pub label: String,
    /// Its share of plain speed.
    pub ratio: f64,
    /// The value of the others.
    pub usual_ratio: f64,
    /// p-value for "this machine is like the others", with Holm's correction over all machines and cells in the report.
    pub p_holm: f64,
    /// Number of cells in which the machine is an outlier.
    pub cells: usize,
    /// The differences, with the most informative first; empty if the record does not show any.
    pub reasons: Vec<String>,
}

/// A machine in a cell, to be compared with a pool.
struct Test {
    member: usize,
    /// The machine's own kind, and the kind with which the machine is compared; often the same.
    kinds: (usize, usize),
    workload: usize,
    value: f64,
    usual: f64,
    p: f64,
}

/// Pooled costs by kind: each workload with its pooled cost, if there are enough machines.
type Pools = [Vec<(usize, Option<Pooled>)>];

/// The outliers over all groups, with the largest difference first.
///
/// A machine in a small group is compared with the large group that differs only in the kernel or the cipher driver.
/// The comparison detects a node that has lost its fast driver.
pub(crate) fn outliers(fleet: &Fleet, pools: &Pools) -> Vec<Outlier> {
    let mut tests = Vec::new();
    for ((kind, workload), points) in &fleet.points {
        let of = |kind: usize| {
            let found = pools[kind].iter().find(|(w, _)| w == workload);
            found.and_then(|(_, pooled)| *pooled)
        };
        let test = |against: usize, usual: f64| {
            move |(point, p): (&Point, f64)| Test {
                member: point.member,
                kinds: (*kind, against),
                workload: *workload,
                value: point.effect.value,
                usual,
                p,
            }
        };
        if let Some(own) = of(*kind) {
            let p = residual_p(&effects(points)).expect("it was pooled");
            tests.extend(points.iter().zip(p).map(test(*kind, own.mean)));
            continue;
        }
        let kin = (0..fleet.kinds.len())
            .filter(|other| is_kin(&fleet.kinds[*kind], &fleet.kinds[*other]))
            .filter_map(|other| Some((other, without_outliers(fleet, (other, *workload))?)))
            .max_by_key(|(_, pooled)| pooled.machines);
        if let Some((against, pooled)) = kin {
            let judged = points.iter().map(|point| (point, pooled.p_of_next(point.effect)));
            tests.extend(judged.map(test(against, pooled.mean)));
        }
    }
    let adjusted = holm(&tests.iter().map(|t| t.p).collect::<Vec<_>>());
    let mut by_member: BTreeMap<usize, Vec<(&Test, f64)>> = BTreeMap::new();
    for (test, p) in tests.iter().zip(adjusted).filter(|(_, p)| *p < FAMILY_LEVEL) {
        by_member.entry(test.member).or_default().push((test, p));
    }
    let mut usual = BTreeMap::new();
    let mut found: Vec<Outlier> =
        by_member.into_values().map(|tests| outlier(fleet, &tests, &mut usual)).collect();
    let distance = |o: &Outlier| (o.ratio / o.usual_ratio).ln().abs();
    found.sort_by(|a, b| distance(b).total_cmp(&distance(a)).then_with(|| a.node.cmp(&b.node)));
    found
}

/// The pool of a kind without outliers, because these would widen the pool for all machines that are compared with it.
fn without_outliers(fleet: &Fleet, cell: (usize, usize)) -> Option<Pooled> {
    let all = effects(fleet.points.get(&cell)?);
    let p = cryptbench_stats::outliers(&all)?;
    let like: Vec<_> =
        all.iter().zip(p).filter(|(_, p)| *p >= FAMILY_LEVEL).map(|(effect, _)| *effect).collect();
    pool(&like, 0.95)
}

fn is_kin(a: &Kind, b: &Kind) -> bool {
    let what = |k: &Kind| (k.cpu_model.clone(), k.disk_model.clone(), k.arm.clone(), k.at_once);
    what(a) == what(b) && a != b
}

/// Describes one machine by the cells in which it is an outlier; `usual` contains the usual values of each kind.
fn outlier(fleet: &Fleet, tests: &[(&Test, f64)], usual: &mut BTreeMap<usize, Usual>) -> Outlier {
    let distance = |t: &Test| (t.value - t.usual).abs();
    let farthest = |a: &&(&Test, f64), b: &&(&Test, f64)| distance(a.0).total_cmp(&distance(b.0));
    let (worst, p_holm) = tests.iter().max_by(farthest).expect("at least one cell");
    let (own, against) = worst.kinds;
    let usual = usual.entry(against).or_insert_with(|| {
        let points = &fleet.points[&(against, worst.workload)];
        Usual::of(points.iter().map(|p| &fleet.members[p.member].facts))
    });
    let (kind, other) = (&fleet.kinds[own], &fleet.kinds[against]);
    let (workload, label) = fleet.workloads[worst.workload].clone();
    let member = &fleet.members[worst.member];
    Outlier {
        node: member.node.name.clone(),
        arm: kind.arm.clone(),
        arm_label: kind.arm_label.clone(),
        workload,
        label,
        ratio: worst.value.exp(),
        usual_ratio: worst.usual.exp(),
        p_holm: *p_holm,
        cells: tests.len(),
        reasons: reasons(&member.facts, (&kind.driver, &other.driver), usual),
    }
}
