//! All observations, by kind of machine and by workload, with each name stored once.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use cryptbench_record::Node;
use cryptbench_stats::Effect;

use crate::report::{Damaged, Failed, Kind};
use crate::{Facts, Failure, Found, Observed};

/// The contents of the files in a fleet's directory, file by file.
#[derive(Debug, Default)]
pub struct Fleet {
    pub(crate) members: Vec<Member>,
    pub(crate) kinds: Vec<Kind>,
    kind_numbers: HashMap<Kind, usize>,
    /// Identifier and label of each workload, in the order of their first appearance.
    pub(crate) workloads: Vec<(String, String)>,
    workload_numbers: HashMap<String, usize>,
    /// Indexed by kind and workload.
    pub(crate) points: BTreeMap<(usize, usize), Vec<Point>>,
    pub(crate) failures: BTreeMap<Node, Failure>,
    pub(crate) damaged: Vec<Damaged>,
    pub(crate) cached: usize,
}

/// One record's machine.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) started: String,
    pub(crate) partial: bool,
    pub(crate) is_rate_limited: bool,
    /// Whether it has any cell.
    pub(crate) measured: bool,
    pub(crate) facts: Facts,
}

/// One record's data on one cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Number of its member.
    pub(crate) member: usize,
    pub(crate) effect: Effect,
}

impl Fleet {
    /// Extracts the data of the file `found` at `path`. This is the expensive part, which can run on any thread.
    pub fn observe(path: PathBuf, found: Found) -> Result<Observed, (PathBuf, Found)> {
        match found {
            Found::Record(record) => Ok(Observed::of(&path, &record)),
            other => Err((path, other)),
        }
    }

    /// Adds a file.
    pub fn add(&mut self, observed: Result<Observed, (PathBuf, Found)>) {
        match observed {
            Ok(observed) => self.add_machine(observed),
            Err((_, Found::Failure(failure))) => {
                self.failures.insert(failure.node.clone(), *failure);
            }
            Err((path, Found::Damaged(why))) => self.damaged.push(Damaged { path, why }),
            Err((path, Found::Record(record))) => self.add_machine(Observed::of(&path, &record)),
        }
    }

    fn add_machine(&mut self, observed: Observed) {
        let (member, measured) = (self.members.len(), !observed.cells.is_empty());
        for cell in observed.cells {
            let kind = Kind {
                cpu_model: observed.facts.cpu_model.clone(),
                driver: cell.driver,
                disk_model: observed.facts.disk_model.clone(),
                kernel: observed.facts.kernel.clone(),
                arm: cell.arm,
                arm_label: cell.arm_label,
                at_once: observed.node.at_once,
            };
            let next = self.kinds.len();
            let kind = *self.kind_numbers.entry(kind).or_insert_with_key(|kind| {
                self.kinds.push(kind.clone());
                next
            });
            let next = self.workloads.len();
            let workload = *self.workload_numbers.entry(cell.workload).or_insert_with_key(|id| {
                self.workloads.push((id.clone(), cell.workload_label));
                next
            });
            let point = Point { member, effect: cell.effect };
            self.points.entry((kind, workload)).or_default().push(point);
        }
        self.cached += observed.cached;
        let Observed { node, started, partial, is_rate_limited, facts, .. } = observed;
        self.members.push(Member { node, started, partial, is_rate_limited, measured, facts });
    }

    /// Keeps only the newest record of each machine in each cell, so that a machine measured twice counts once.
    /// Returns the number of records that have no cells left.
    pub(crate) fn keep_newest(&mut self) -> usize {
        let mut used = vec![false; self.members.len()];
        let members = &self.members;
        for points in self.points.values_mut() {
            points.sort_by(|a, b| {
                let key = |p: &Point| {
                    let Member { node, started, .. } = &members[p.member];
                    (&node.name, &node.machine, started, p.member)
                };
                key(a).cmp(&key(b))
            });
            let is_same = |a: &Point, b: &Point| {
                let [a, b] = [a, b].map(|p| &members[p.member].node);
                a.name == b.name && a.machine == b.machine
            };
            // If a machine has several runs, the last run, which is the newest, is kept.
            let mut kept: Vec<Point> = Vec::with_capacity(points.len());
            for point in points.drain(..) {
                match kept.last_mut() {
                    Some(last) if is_same(last, &point) => *last = point,
                    _ => kept.push(point),
                }
            }
            for point in &kept {
                used[point.member] = true;
            }
            *points = kept;
        }
        // A record that has never had cells is empty, not superseded.
        let mut newest: HashMap<(&str, &str), &str> = HashMap::new();
        for Member { node, started, .. } in members {
            let known = newest.entry((&node.name, &node.machine)).or_default();
            *known = (*known).max(started);
        }
        let is_older = |m: &Member| newest[&(&*m.node.name, &*m.node.machine)] > &*m.started;
        members.iter().zip(used).filter(|(m, used)| !used && is_older(m)).count()
    }

    pub(crate) fn failed(&self) -> Vec<Failed> {
        let measured = |node: &Node| self.members.iter().any(|m| m.measured && m.node == *node);
        let left = self.failures.values().filter(|f| !measured(&f.node));
        left.map(|f| Failed { node: f.node.name.clone(), why: f.why.clone() }).collect()
    }
}
