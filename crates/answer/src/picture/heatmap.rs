//! iozone's heat maps: percentage difference from plain by file size and record size, with one map per operation.

use cryptbench_estimate::compatibility::{best, mean};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::series::series_name;
use cryptbench_record::{Arm, Workload};

use super::{Chosen, chosen};
use crate::reading::reading;
use crate::wording::Sign;

/// Maximum number of encrypted arms with maps; each has as many maps as there are operations.
const MOST_ARMS: usize = 2;

/// The maps of all arms that are compared.
pub struct Heatmap<'a> {
    /// All arms except plain; the maps compare these arms with plain.
    pub arms: Vec<ArmMaps<'a>>,
    /// Arms for which there was no room.
    pub left_out: usize,
}

/// The maps of one arm.
pub struct ArmMaps<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The maps, one per operation, in the order of the profile.
    pub maps: Vec<Map>,
}

/// One operation.
pub struct Map {
    /// The common part of the labels.
    pub operation: String,
    /// Ascending, bytes: the rows.
    pub files: Vec<u64>,
    /// Ascending, bytes: the columns.
    pub records: Vec<u64>,
    /// Row after row.
    pub cells: Vec<Option<Difference>>,
}

/// One cell of a map.
#[derive(Clone, Copy)]
pub struct Difference {
    /// Difference from plain speed, as a percentage of plain speed; negative values are slower.
    pub percent: f64,
    /// The verdict's mark, if the verdict has one.
    pub mark: Option<Sign>,
}

impl Map {
    /// The cells of one row.
    pub fn row(&self, file: usize) -> &[Option<Difference>] {
        let columns = self.records.len();
        &self.cells[file * columns..(file + 1) * columns]
    }

    /// Smallest, mean and largest percentage difference.
    pub fn range(&self) -> Option<[f64; 3]> {
        let all: Vec<f64> = self.cells.iter().flatten().map(|d| d.percent).collect();
        let least = all.iter().copied().reduce(f64::min)?;
        Some([least, mean(&all)?, best(&all)?])
    }

    /// The mark, if all cells have the same mark, which is then printed once instead of in each cell.
    pub fn common_mark(&self) -> Option<Sign> {
        let mut marks = self.cells.iter().flatten().map(|d| d.mark);
        let first = marks.next()??;
        marks.all(|mark| mark == Some(first)).then_some(first)
    }

    /// The meaning of [`Self::common_mark`], to follow the name of the operation.
    pub fn common_words(&self) -> Option<&'static str> {
        match self.common_mark() {
            Some(Sign::Cached) => Some("all served from a cache"),
            Some(Sign::Costs) => Some("all slower"),
            Some(Sign::Gains) => Some("all faster"),
            _ => None,
        }
    }
}

/// The maps, unless there is no encrypted arm with a measured cell.
pub fn heatmap<'a>(lookup: &Lookup<'a>) -> Option<Heatmap<'a>> {
    let Chosen { arms, left_out } = chosen(lookup, MOST_ARMS);
    let mut operations: Vec<(String, Vec<&Workload>)> = Vec::new();
    for workload in lookup.workloads() {
        let name = series_name(&workload.label);
        match operations.iter_mut().find(|(n, _)| *n == name) {
            Some((_, group)) => group.push(workload),
            None => operations.push((name, vec![workload])),
        }
    }
    let arms: Vec<ArmMaps<'a>> = arms
        .into_iter()
        .skip(1)
        .map(|arm| {
            let maps = operations.iter().map(|(name, group)| map(lookup, arm, name, group));
            ArmMaps { arm, maps: maps.filter(|m| m.range().is_some()).collect() }
        })
        .filter(|of_arm| !of_arm.maps.is_empty())
        .collect();
    (!arms.is_empty()).then_some(Heatmap { arms, left_out })
}

fn map(lookup: &Lookup<'_>, arm: &Arm, operation: &str, group: &[&Workload]) -> Map {
    let scratch = lookup.record.target.scratch.size_bytes;
    let file = |w: &Workload| w.file_bytes.unwrap_or(scratch);
    let ascending = |size: &dyn Fn(&Workload) -> u64| {
        let mut sizes: Vec<u64> = group.iter().map(|w| size(w)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let (files, records) = (ascending(&file), ascending(&|w| w.block_size));
    let mut cells = vec![None; files.len() * records.len()];
    for workload in group {
        let row = files.partition_point(|f| *f < file(workload));
        let column = records.partition_point(|r| *r < workload.block_size);
        let reading = reading(lookup, workload, arm);
        cells[row * records.len() + column] = reading.and_then(|r| {
            let percent = 100.0 * (r.ratio? - 1.0);
            percent.is_finite().then_some(Difference { percent, mark: r.mark })
        });
    }
    Map { operation: operation.to_owned(), files, records, cells }
}
