//! Devices that are only read: the remaining work and arms, and notes for the reader.

use cryptbench_catalog::{PAIRED, PLAIN};
use cryptbench_load::{BlockWork, FileUse, Profile, Work, WorkloadSpec};
use cryptbench_record as record;
use cryptbench_system::{ArmSpec, Attachment, find};
use cryptbench_text::{human, shown};

use super::Target;
use crate::RunError;
use crate::decide::arms::Arms;
use crate::look::InUse;

/// Removes work that writes or creates files from `profile`, because of `option`; states this in a remark.
///
/// # Errors
/// [`RunError::Usage`] if nothing is left.
pub fn only_reads(mut profile: Profile, option: &str) -> Result<Profile, RunError> {
    let all = profile.workloads.len();
    profile.workloads.retain(|workload| reads(&workload.work));
    if profile.workloads.is_empty() {
        return Err(RunError::Usage(format!(
            "{option} reads only existing data, and no workload of profile {} does that: choose another profile",
            profile.name
        )));
    }
    let left_out = all - profile.workloads.len();
    if left_out > 0 {
        profile.remarks.push(format!(
            "{left_out} of {all} workloads of the profile were left out, because they do more than read."
        ));
    }
    profile.buffered = false;
    Ok(profile)
}

/// Whether the work only reads existing data.
pub(crate) fn reads(work: &Work) -> bool {
    let reads = |work: &BlockWork| {
        !work.direction.writes() && !work.stdio && matches!(work.file, FileUse::Scratch(_))
    };
    matches!(work, Work::Block(work) if reads(work))
}

/// Notes for the reader about a device in use, in sentences.
pub(super) fn in_use_notes(in_use: &InUse, stretch: u64) -> Vec<String> {
    let record::InUse { system, cipher, sector_size, offset_bytes, size_bytes, .. } = &in_use.facts;
    let (mapped, below) = (shown(&in_use.mapped), shown(&in_use.below));
    vec![
        format!(
            "{mapped} is {system}, {cipher} with {sector_size}-byte sectors. Plain is its underlying device, \
             {below}, from byte {offset_bytes} on: the same {}, read without decryption. Both were opened read-only, \
             and nothing was written to them.",
            human(*size_bytes)
        ),
        format!(
            "In each repeat the choices read different, adjacent regions of {}, chosen at random each time, so that no \
             choice finds data in the drive's cache that another has just read. On both devices, regions that were \
             discarded (TRIM) or never written are read faster than regions that contain data.",
            human(stretch)
        ),
    ]
}

/// Notes for the reader about a device that is only read, in sentences.
pub(super) fn only_read_note(target: &Target) -> String {
    format!(
        "{} was only read; nothing was written to it. The ciphers decrypted its existing contents; this takes as long \
         as decrypting real ciphertext. Regions that were discarded (TRIM) or never written are read faster than \
         regions that contain data.",
        shown(&target.path)
    )
}

/// Refuses anything that could write to devices that are only read.
pub(super) fn check_reads(arms: &Arms, workloads: &[WorkloadSpec]) -> Result<(), RunError> {
    let refuse = |what: &str| {
        Err(RunError::Usage(format!(
            "devices in use and devices measured with --read-only are only read, but {what}"
        )))
    };
    let Arms::Systems(arms) = arms else {
        return refuse("the volumes to open must be created first: choose another profile");
    };
    let reads_there = |arm: &ArmSpec| match arm.system {
        name if [PLAIN.name, PAIRED.name].contains(&name) => true,
        // Inline systems run in this process, on the existing bytes.
        name => find(name).is_ok_and(|s| !s.makes_a_disk() && s.attachment() == Attachment::Inline),
    };
    if let Some(arm) = arms.iter().find(|arm| !reads_there(arm)) {
        return refuse(&format!("{} writes: omit this system", arm.label));
    }
    match workloads.iter().find(|workload| !reads(&workload.work)) {
        Some(workload) => {
            refuse(&format!("workload {:?} does more than read: omit this workload", workload.id))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_profile_only_what_reads_is_left() {
        let profile = only_reads(Profile::named("quick").unwrap(), "--existing").unwrap();
        let ids: Vec<&str> = profile.workloads.iter().map(|w| w.id.as_str()).collect();
        assert_eq!(ids.len(), 4);
        assert!(profile.workloads.iter().all(|w| reads(&w.work)), "{ids:?}");
        assert!(profile.remarks.iter().any(|r| r.starts_with("4 of 8 workloads")));
        let why = only_reads(Profile::named("mount").unwrap(), "--existing").unwrap_err();
        insta::assert_snapshot!(why, @"--existing reads only existing data, and no workload of profile mount does that: choose another profile");
    }
}
