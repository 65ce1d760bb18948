//! The partitions that a run makes on a disk that it overwrites: one for requests to plain storage, then one for each
//! arm that is set up on a partition.

use cryptbench_system::resource::{Partitions, has_partitions};
use cryptbench_system::{self as system, ArmSpec};
use cryptbench_text::human;

use super::{MIB, Target};
use crate::RunError;

/// Minimum default size of plain storage's partition.
const SMALLEST: u64 = 16 * MIB;

/// The size in bytes of the partition on which `arm` is set up, for requests over `len` bytes; `None` if it is not set
/// up on one.
fn of_arm(arm: &ArmSpec, len: u64) -> Option<u64> {
    system::find(arm.system).ok()?.partition(arm, len)
}

/// Whether `arm` is set up on a partition if a disk is overwritten.
pub(crate) fn is_on_one(arm: &ArmSpec) -> bool {
    of_arm(arm, MIB).is_some()
}

/// Bytes of each partition if plain storage has `len`; none if no arm is set up on a partition.
pub(super) fn lens(arms: &[ArmSpec], len: u64) -> Vec<u64> {
    let mut all: Vec<u64> = arms.iter().filter_map(|arm| of_arm(arm, len)).collect();
    if !all.is_empty() {
        all.insert(0, len);
    }
    all
}

/// The size of plain storage's partition, at most `size` bytes for `reason`, so that all partitions fit on `target`. If
/// the size was `asked` for, it is not changed.
///
/// # Errors
/// [`RunError::Target`] if the partitions do not fit, or if the disk has partitions.
pub(super) fn fit(
    target: &Target,
    arms: &[ArmSpec],
    (size, reason): (u64, String),
    least: u64,
    asked: bool,
) -> Result<(u64, String), RunError> {
    if lens(arms, size).is_empty() {
        return Ok((size, reason));
    }
    let refuse = |problem| Err(RunError::Target { path: target.path.clone(), problem });
    if target.existing.as_ref().is_some_and(|existing| existing.has_partitions) {
        return refuse(has_partitions(&target.path));
    }
    let space = |size| Partitions::space(&lens(arms, size));
    let mut fitting = size;
    while !asked && space(fitting) > target.free() && fitting / 2 >= least.max(SMALLEST) {
        fitting = fitting / 2 / MIB * MIB;
    }
    if space(fitting) > target.free() {
        let count = lens(arms, fitting).len();
        return refuse(format!(
            "has {}, but {count} partitions for these choices need {}: reduce --size, choose fewer systems, or use a \
             larger disk",
            human(target.free()),
            human(space(fitting))
        ));
    }
    match fitting < size {
        true => Ok((fitting, "so that a partition for each choice fits on the disk".to_owned())),
        false => Ok((size, reason)),
    }
}
