//! Checks the targets that a user prepared: whether they are separate, and their differences other than
//! encryption.

use std::collections::BTreeSet;

use cryptbench_text::shown;

use super::Target;
use crate::RunError;
use crate::look::Below;

/// Refuses targets that cannot be a pair.
pub(super) fn check(plain: &Target, encrypted: &Target) -> Result<(), RunError> {
    let refuse = |problem: &str| {
        Err(RunError::Target { path: encrypted.path.clone(), problem: problem.to_owned() })
    };
    if are_one(plain, encrypted) {
        return refuse("is both the plain and the encrypted location: specify two different ones");
    }
    let file_and_device = plain.is_file() != encrypted.is_file();
    if plain.existing.is_some() != encrypted.existing.is_some() || file_and_device {
        return refuse(
            "a directory, a file and a device cannot be paired with each other, because the comparison would include \
             the cost of a file system on only one side: specify two directories, two devices, or two files",
        );
    }
    if plain.existing.is_some() && shares(plain, encrypted) {
        return refuse(
            "overlaps the plain location: writing to one would destroy data on the other",
        );
    }
    Ok(())
}

/// Refuses two encrypted targets that are not separate.
pub(super) fn check_others(before: &Target, encrypted: &Target) -> Result<(), RunError> {
    let problem = if are_one(before, encrypted) {
        "is specified twice: specify each encrypted location once".to_owned()
    } else if encrypted.existing.is_some() && shares(before, encrypted) {
        format!("overlaps {}: writing to one would destroy data on the other", shown(&before.path))
    } else {
        return Ok(());
    };
    Err(RunError::Target { path: encrypted.path.clone(), problem })
}

/// Whether two targets are the same directory, file or device, under any names.
fn are_one(one: &Target, other: &Target) -> bool {
    let identity = |target: &Target| target.ground.identity;
    let number = |target: &Target| target.existing.as_ref().map(|e| e.identity.number);
    one.path == other.path
        || (identity(one).is_some() && identity(one) == identity(other))
        || (number(one).is_some() && number(one) == number(other))
}

/// Whether one of two devices is built on the other.
fn shares(plain: &Target, encrypted: &Target) -> bool {
    let (Some(a), Some(b)) = (below(plain), below(encrypted)) else { return false };
    let files = plain.is_file() && encrypted.is_file();
    // If both use the same loop device, they are separate partitions of it.
    let by_two = a
        .files
        .iter()
        .any(|(file, by)| b.files.iter().any(|(other, by_other)| other == file && by_other != by));
    !files && (by_two || a.stack.contains(&b.name) || b.stack.contains(&a.name))
}

/// Whether the new files of both use space in the same file system.
pub(super) fn share_room(plain: &Target, encrypted: &Target) -> bool {
    plain.existing.is_none()
        && (plain.ground.number == encrypted.ground.number
            || (below(plain).is_some() && name(plain) == name(encrypted)))
}

fn below(target: &Target) -> Option<&Below> {
    target.ground.below.as_ref()
}

fn name(target: &Target) -> Option<&str> {
    below(target).map(|below| below.name.as_str())
}

/// Caveats for readers of the comparison, in sentences.
pub(super) fn caveats(plain: &Target, encrypted: &Target) -> Vec<String> {
    let mut notes = Vec::new();
    let (a, b) = (shown(&plain.path), shown(&encrypted.path));
    if plain.existing.is_none() && plain.ground.number == encrypted.ground.number {
        notes.push(match encrypted.ground.is_encrypted {
            true if !plain.ground.is_encrypted => format!(
                "{a} and {b} are on the same mount; the file system reports that it encrypts {b}."
            ),
            true => format!(
                "Warning: the file system reports that it encrypts {a}, which was specified as plain."
            ),
            false => format!(
                "Warning: {a} and {b} are on the same mount ({}), whose file system itself encrypts neither: possibly \
                 nothing was encrypted, and plain was compared with plain.",
                plain.in_words()
            ),
        });
    }
    notes.push(placement(plain, encrypted));
    notes
}

/// How the positions of the two targets affect the comparison.
fn placement(plain: &Target, encrypted: &Target) -> String {
    let (a, b) = (shown(&plain.path), shown(&encrypted.path));
    let unknown = |target: &Target| {
        format!(
            "The device that holds {} is unknown, so {a} and {b} may be on different devices: a difference between the \
             devices would look like a cost of encryption.",
            shown(&target.path)
        )
    };
    let (Some(below_a), Some(below_b)) = (below(plain), below(encrypted)) else {
        return unknown(if below(plain).is_none() { plain } else { encrypted });
    };
    let (disks_a, disks_b) = (&below_a.disks, &below_b.disks);
    let names = |disks: &BTreeSet<String>| match disks.is_empty() {
        true => below_a.name.clone(),
        false => disks.iter().cloned().collect::<Vec<_>>().join(" and "),
    };
    let is_one = below_a.name == below_b.name;
    if !is_one && (disks_a.is_empty() || disks_b.is_empty()) {
        return unknown(if disks_a.is_empty() { plain } else { encrypted });
    }
    if disks_a != disks_b {
        return format!(
            "Warning: {a} is on {} and {b} is on {}: a difference between these devices looks like a cost of \
             encryption. Prepare both on one device, or also measure the pair with the roles swapped.",
            names(disks_a),
            names(disks_b)
        );
    }
    if is_one || (plain.is_file() && encrypted.is_file()) {
        return format!(
            "{a} and {b} are stored in separate files of the same file system on {}. The file system chose their \
             locations on the disk, so they cannot be swapped between repeats.",
            names(disks_a)
        );
    }
    let start = |below: &Below| match below.is_partition {
        true => format!(" from {} GB on", below.start / 1_000_000_000),
        false => String::new(),
    };
    format!(
        "{a} ({}{}) and {b} ({}{}) are in different regions of the same disk, {}, and cannot be swapped between \
         repeats. On a hard disk, zones differ in speed by up to a factor of two; on flash, speed \
         depends on how a region was written.",
        below_a.name,
        start(below_a),
        below_b.name,
        start(below_b),
        names(disks_a)
    )
}
