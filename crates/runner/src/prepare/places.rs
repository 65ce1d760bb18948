//! The placement of files on the disk: compared files are spread over the same regions.

use std::collections::BTreeMap;

use cryptbench_system::resource::{Journal, Reserve, Scratch, allocate_in_turn};
use cryptbench_system::{self as system, ArmSpec, Attachment, Target, container_path};

use super::PreparedTarget;
use super::active_range::ActiveRange;
use crate::RunError;
use crate::decide::Plan;
use crate::decide::storage::partitions;

/// Allocates the scratch files alternately with the containers of the arms on the same device and, if they share a
/// file system, alternately with each other. `size` is the size of the active range in bytes.
///
/// # Errors
/// [`RunError::System`] if there is not enough space.
pub(super) fn allocate(
    plan: &Plan,
    size: u64,
    plain: &PreparedTarget,
    encrypted: &[PreparedTarget],
    journal: &Journal,
) -> Result<Reserve, RunError> {
    let reserve = Reserve::default();
    let mut scratch: Vec<&Scratch> = made(plain).into_iter().collect();
    let mut taken = size;
    if let Some(beside) = made(plain) {
        for arm in plan.arms.systems().iter().filter(|arm| is_container(arm)) {
            let free = plain.target.free().saturating_sub(taken);
            let len = system::find(arm.system)?.footprint(size, free);
            let path = container_path(&plain.inside, &plan.run_id, arm);
            reserve.add(path, len, beside, journal)?;
            taken += len;
        }
    }
    let mut elsewhere = BTreeMap::<_, Vec<&Scratch>>::new();
    for target in encrypted {
        match target.target.ground.number == plain.target.ground.number {
            true => scratch.extend(made(target)),
            false => elsewhere.entry(target.target.ground.number).or_default().extend(made(target)),
        }
    }
    for together in elsewhere.values() {
        allocate_in_turn(together, &Reserve::default())?;
    }
    allocate_in_turn(&scratch, &reserve)?;
    Ok(reserve)
}

/// Reserves the partitions of a disk for the arms that are set up on them.
pub(super) fn give_partitions(plan: &Plan, plain: &mut PreparedTarget, reserve: &Reserve) {
    let partitions = plain.range.as_mut().map(ActiveRange::take_partitions).unwrap_or_default();
    let arms = plan.arms.systems().iter().filter(|arm| partitions::is_on_one(arm));
    for (arm, (partition, claimed)) in arms.zip(partitions) {
        let path = container_path(&plain.inside, &plan.run_id, arm);
        reserve.give(path, partition, claimed);
    }
}

/// A note for readers about arms whose data is in a different region of the disk from plain storage's data.
pub(super) fn note(
    arms: &[ArmSpec],
    plain: &PreparedTarget,
    encrypted: &[PreparedTarget],
) -> Option<String> {
    let beside = |number: usize| {
        encrypted.get(number).is_some_and(|encrypted| {
            made(plain).is_some()
                && made(encrypted).is_some()
                && encrypted.target.ground.number == plain.target.ground.number
        })
    };
    let lies_elsewhere = |arm: &&ArmSpec| match arm.target {
        Target::Encrypted(number) => !beside(number),
        Target::Plain if plain.target.existing.is_some() => partitions::is_on_one(arm),
        Target::Plain => system::find(arm.system)
            .is_ok_and(|s| s.attachment() == Attachment::Mounted && !s.is_container()),
    };
    let labels: Vec<&str> =
        arms.iter().filter(lies_elsewhere).map(|arm| arm.label.as_str()).collect();
    (!labels.is_empty()).then(|| {
        format!(
            "Stored in a different region from plain storage: {}. If that region is faster or slower, the figures \
             include the difference, but their intervals do not: they are valid only for these regions.",
            labels.join(", ")
        )
    })
}

pub(super) fn made(target: &PreparedTarget) -> Option<&Scratch> {
    target.range.as_ref().and_then(ActiveRange::made)
}

fn is_container(arm: &ArmSpec) -> bool {
    arm.target == Target::Plain && system::find(arm.system).is_ok_and(system::System::is_container)
}
