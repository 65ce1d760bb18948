//! The result of a fleet's records: the predicted cost on another machine of each kind, and the missing, damaged or
//! outlying machines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cryptbench_stats::{Effect, Heterogeneity, Pooled, pool};
use cryptbench_text::shown;
use serde::Serialize;

use crate::fleet::{Fleet, Point};
use crate::outliers::{Outlier, outliers};

/// Version of the document that `fleet report --json` prints.
pub const SCHEMA: &str = "cryptbench.fleet-report/1";

/// The result of a fleet's records.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Confidence of all intervals, such as 0.95.
    pub confidence: f64,
    /// Records that were read.
    pub records: usize,
    /// Machines that these are of.
    pub machines: usize,
    /// Records of interrupted runs; their trials are valid, but there are fewer trials than planned.
    pub partial: usize,
    /// Number of records that were replaced by newer records from the same machine.
    pub superseded: usize,
    /// Cells that were served from a cache and are omitted.
    pub cached_cells: usize,
    /// Machines whose plain storage is rate-limited, for example by a cloud quota, which hides the cost of
    /// encryption.
    pub rate_limited: Vec<String>,
    /// Files that are not valid records; they are omitted.
    pub damaged: Vec<Damaged>,
    /// Machines that could not measure.
    pub failed: Vec<Failed>,
    /// Machines in the given list that did not write a file.
    pub missing: Vec<String>,
    /// The groups of machines of one kind with one encryption configuration, with the largest first.
    pub groups: Vec<Group>,
    /// Machines that differ from the others in their group, with the largest difference first.
    pub outliers: Vec<Outlier>,
}

/// The common properties of the machines in a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Kind {
    /// CPU model.
    pub cpu_model: String,
    /// Disk model or, for storage without a disk, the file system.
    pub disk_model: String,
    /// Kernel name, release and architecture.
    pub kernel: String,
    /// Identifier of the arm: system, cipher and settings.
    pub arm: String,
    /// The arm's name for users.
    pub arm_label: String,
    /// The cipher implementation in use, such as `xts-aes-vaes-avx2`; empty if unknown.
    pub driver: String,
    /// Number of machines that measured in parallel, if a plan compares such numbers.
    pub at_once: Option<u32>,
}

/// The machines of one kind with one encryption configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Their common properties.
    #[serde(flatten)]
    pub kind: Kind,
    /// Their number.
    pub machines: usize,
    /// One row for each workload.
    pub rows: Vec<Row>,
}

/// One workload in a group. All ratios are relative to plain storage on the same machine: 0.9 means 90 % of its speed.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Identifier of the workload.
    pub workload: String,
    /// The workload's name for users.
    pub label: String,
    /// Number of machines with this workload.
    pub machines: usize,
    /// The pooled cost; absent if there are fewer than five machines.
    #[serde(flatten)]
    pub pooled: Option<Share>,
    /// The individual machines, if they are not pooled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// All machines one by one.
    #[serde(skip)]
    pub each: Vec<Member>,
}

/// Shares of plain speed, pooled over machines.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Share {
    /// Lower end of the prediction interval for the next machine.
    pub next_low_ratio: f64,
    /// Upper end of the prediction interval for the next machine.
    pub next_high_ratio: f64,
    /// Geometric mean over the machines of this kind.
    pub mean_ratio: f64,
    /// Lower end of its interval.
    pub low_ratio: f64,
    /// Upper end of its interval.
    pub high_ratio: f64,
    /// Standard deviation between machines, in log units.
    pub between_sd: f64,
    /// Share of the variance due to differences between machines, 0 to 1; the remainder is measurement error.
    pub between_fraction: f64,
    /// How the variance between machines was estimated: `reml` or `paule-mandel`.
    pub method: &'static str,
}

/// One machine of a group that is too small to be pooled.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    /// Its name.
    pub node: String,
    /// Its share of plain speed.
    pub ratio: f64,
    /// Standard error of the logarithm of that share.
    pub standard_error: f64,
}

/// JSON must be UTF-8, but a path need not be.
fn as_shown<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(path))
}

/// A file that is not a record.
#[derive(Clone, Debug, Serialize)]
pub struct Damaged {
    /// The file.
    #[serde(serialize_with = "as_shown")]
    pub path: PathBuf,
    /// Its defect.
    pub why: String,
}

/// A machine that could not measure.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// Its name.
    pub node: String,
    /// Why.
    pub why: String,
}

impl From<Pooled> for Share {
    fn from(pooled: Pooled) -> Self {
        Self {
            next_low_ratio: pooled.next_low.exp(),
            next_high_ratio: pooled.next_high.exp(),
            mean_ratio: pooled.mean.exp(),
            low_ratio: pooled.low.exp(),
            high_ratio: pooled.high.exp(),
            between_sd: pooled.between.sqrt(),
            between_fraction: pooled.share_between,
            method: match pooled.method {
                Heterogeneity::Reml => "reml",
                Heterogeneity::PauleMandel => "paule-mandel",
            },
        }
    }
}

impl Report {
    /// Groups, pools and evaluates the records. An `expected` machine is missing if it wrote neither a record nor a
    /// failure.
    pub fn of(mut fleet: Fleet, expected: &[String], confidence: f64) -> Self {
        let superseded = fleet.keep_newest();
        let mut pooled = vec![Vec::new(); fleet.kinds.len()];
        for ((kind, workload), points) in &fleet.points {
            pooled[*kind].push((*workload, pool(&effects(points), confidence)));
        }
        let outliers = outliers(&fleet, &pooled);
        let mut groups: Vec<Group> =
            (0..fleet.kinds.len()).map(|kind| group(&fleet, kind, &pooled[kind])).collect();
        groups.sort_by(|a, b| b.machines.cmp(&a.machines).then_with(|| a.kind.cmp(&b.kind)));
        let failed = fleet.failed();
        let names: BTreeSet<&str> = fleet.members.iter().map(|m| m.node.name.as_str()).collect();
        let there = |node: &String| {
            let told = failed.iter().map(|f| f.node.as_str());
            names.iter().copied().chain(told).any(|name| is_called(name, node))
        };
        let limited: BTreeSet<&String> =
            fleet.members.iter().filter(|m| m.is_rate_limited).map(|m| &m.node.name).collect();
        let machines: BTreeSet<_> =
            fleet.members.iter().map(|m| (&m.node.name, &m.node.machine)).collect();
        Self {
            schema: SCHEMA,
            confidence,
            records: fleet.members.len(),
            machines: machines.len(),
            partial: fleet.members.iter().filter(|m| m.partial).count(),
            superseded,
            cached_cells: fleet.cached,
            rate_limited: limited.into_iter().cloned().collect(),
            missing: expected.iter().filter(|node| !there(node)).cloned().collect(),
            damaged: fleet.damaged,
            failed,
            groups,
            outliers,
        }
    }

    /// The groups that were pooled.
    pub fn pooled(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|g| g.rows.iter().any(|r| r.pooled.is_some()))
    }

    /// The groups that have too few machines for pooling.
    pub fn small(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|g| g.rows.iter().all(|r| r.pooled.is_none()))
    }
}

pub(crate) fn effects(points: &[Point]) -> Vec<Effect> {
    points.iter().map(|p| p.effect).collect()
}

/// Whether a machine that calls itself `name` is `node` in a list, which may omit the domain.
fn is_called(name: &str, node: &str) -> bool {
    let short =
        |long: &str, short: &str| long.strip_prefix(short).is_some_and(|r| r.starts_with('.'));
    name == node || short(name, node) || short(node, name)
}

fn group(fleet: &Fleet, kind: usize, pooled: &[(usize, Option<Pooled>)]) -> Group {
    let row = |(workload, pooled): &(usize, Option<Pooled>)| {
        let points = &fleet.points[&(kind, *workload)];
        let member = |p: &Point| Member {
            node: fleet.members[p.member].node.name.clone(),
            ratio: p.effect.value.exp(),
            standard_error: p.effect.variance.sqrt(),
        };
        let (id, label) = fleet.workloads[*workload].clone();
        let each: Vec<Member> = points.iter().map(member).collect();
        Row {
            workload: id,
            label,
            machines: points.len(),
            pooled: pooled.map(Share::from),
            members: if pooled.is_some() { Vec::new() } else { each.clone() },
            each,
        }
    };
    let rows: Vec<Row> = pooled.iter().map(row).collect();
    // On slow disks, different machines may lack different workloads.
    let points = pooled.iter().flat_map(|(workload, _)| &fleet.points[&(kind, *workload)]);
    let machines: BTreeSet<usize> = points.map(|point| point.member).collect();
    Group { kind: fleet.kinds[kind].clone(), machines: machines.len(), rows }
}

#[cfg(test)]
mod tests {
    use super::is_called;

    #[test]
    fn a_list_may_leave_the_domain_out() {
        assert!(is_called("node1", "node1") && is_called("node1.example.org", "node1"));
        assert!(is_called("node1", "node1.example.org"));
        assert!(!is_called("node11", "node1") && !is_called("node1", "node11"));
    }
}
