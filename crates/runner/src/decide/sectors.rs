//! Leaves out work whose requests are not whole sectors, because direct I/O does not accept such requests.

use cryptbench_load::{Profile, Work, WorkloadSpec};
use cryptbench_text::human;

use super::storage::{Buffered, Storage};
use crate::RunError;

/// Removes requests from `profile` whose size is not a multiple of the storage's sector, and states this in a
/// remark.
///
/// # Errors
/// [`RunError::Usage`] if nothing is left.
pub(super) fn whole(
    mut profile: Profile,
    storage: &Storage,
    buffered: Buffered,
) -> Result<Profile, RunError> {
    let sector = storage.sector();
    if buffered != Buffered::No || sector <= 1 {
        return Ok(profile);
    }
    let all = profile.workloads.len();
    let (kept, left): (Vec<WorkloadSpec>, Vec<WorkloadSpec>) =
        profile.workloads.into_iter().partition(|w| is_whole(&w.work, sector));
    profile.workloads = kept;
    if left.is_empty() {
        return Ok(profile);
    }
    let (its, were) = if left.len() == 1 { ("its", "was") } else { ("their", "were") };
    let why = format!(
        "{its} requests of {} are not multiples of this disk's {sector}-byte sectors, as direct I/O requires",
        sizes(&left)
    );
    if profile.workloads.is_empty() {
        return Err(RunError::Usage(format!(
            "no workload of profile {} can run here: {why}; use --buffered to measure through the page cache",
            profile.name
        )));
    }
    profile.remarks.push(format!(
        "{} of {all} workloads {were} left out: {why}. --buffered measures such requests through the page cache.",
        left.len()
    ));
    Ok(profile)
}

fn is_whole(work: &Work, sector: u64) -> bool {
    match work {
        Work::Block(block) => block.stdio || block.block_size.is_multiple_of(sector),
        Work::Files(_) | Work::Unlock(_) => true,
    }
}

/// `512 B to 2 KiB`
fn sizes(left: &[WorkloadSpec]) -> String {
    let mut sizes: Vec<u64> = left
        .iter()
        .filter_map(|w| match &w.work {
            Work::Block(block) => Some(block.block_size),
            Work::Files(_) | Work::Unlock(_) => None,
        })
        .collect();
    sizes.sort_unstable();
    match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) if first < last => {
            format!("{} to {}", human(*first), human(*last))
        }
        (Some(only), _) => human(*only),
        (None, _) => String::new(),
    }
}
