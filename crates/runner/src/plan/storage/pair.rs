//! Checks the targets that a user prepared: whether they are separate, and what distinguishes them
//! besides encryption.

use std::collections::BTreeSet;

use cryptbench_os::FileIdentity;
use cryptbench_os::storage::is_encrypted;
use cryptbench_text::shown;

use super::Target;
use super::block::Tree;
use crate::RunError;

/// Refuses targets that cannot be a pair.
pub(super) fn check(plain: &Target, encrypted: &Target) -> Result<(), RunError> {
    let refuse = |problem: &str| {
        Err(RunError::Target { path: encrypted.path.clone(), problem: problem.to_owned() })
    };
    if are_one(plain, encrypted) {
        return refuse("is named as the plain and as the encrypted place: name two different ones");
    }
    let file_and_device = (plain.kind() == "file") != (encrypted.kind() == "file");
    if plain.existing.is_some() != encrypted.existing.is_some() || file_and_device {
        return refuse(
            "a directory, a file and a device cannot be paired with each other, because a file system lies between: \
             name two directories, two devices, or two files",
        );
    }
    if plain.existing.is_some() && shares(plain, encrypted) {
        return refuse("overlaps the plain place: a write to one would destroy the other");
    }
    Ok(())
}

/// Refuses two encrypted targets that are not separate.
pub(super) fn check_others(before: &Target, encrypted: &Target) -> Result<(), RunError> {
    let problem = if are_one(before, encrypted) {
        "is named twice: name each encrypted place once".to_owned()
    } else if encrypted.existing.is_some() && shares(before, encrypted) {
        format!("overlaps {}: a write to one would destroy the other", shown(&before.path))
    } else {
        return Ok(());
    };
    Err(RunError::Target { path: encrypted.path.clone(), problem })
}

/// Whether two targets are the same directory, file or device, by whichever names.
fn are_one(one: &Target, other: &Target) -> bool {
    let identity = |target: &Target| FileIdentity::reached_by(&target.path).ok();
    one.path == other.path
        || (identity(one).is_some() && identity(one) == identity(other))
        || one.existing.as_ref().is_some_and(|e| e.is_at(&other.path))
}

/// Whether one of two devices is built on the other.
fn shares(plain: &Target, encrypted: &Target) -> bool {
    let (Some(a), Some(b)) = (&plain.node, &encrypted.node) else { return false };
    let files = plain.kind() == "file" && encrypted.kind() == "file";
    let tree = Tree::this();
    let (of_a, of_b) = (tree.files(a), tree.files(b));
    // Through a single loop device they are separate partitions of it.
    let by_two = of_a.iter().any(|(file, by)| of_b.get(file).is_some_and(|other| other != by));
    !files && (by_two || tree.stack(a).contains(b) || tree.stack(b).contains(a))
}

/// Whether the new files of both use space of the same file system.
pub(super) fn share_room(plain: &Target, encrypted: &Target) -> bool {
    plain.existing.is_none()
        && (plain.number == encrypted.number
            || (plain.node.is_some() && plain.node == encrypted.node))
}

/// Caveats for readers of the comparison, in sentences.
pub(super) fn caveats(plain: &Target, encrypted: &Target) -> Vec<String> {
    let mut notes = Vec::new();
    let (a, b) = (shown(&plain.path), shown(&encrypted.path));
    if plain.existing.is_none() && plain.number == encrypted.number {
        notes.push(match is_encrypted(&encrypted.path) {
            true if !is_encrypted(&plain.path) => format!(
                "{a} and {b} lie on the same mount; the file system says that it encrypts what is in {b}."
            ),
            true => format!(
                "Warning: the file system says that it encrypts what is in {a}, which was named as plain."
            ),
            false => format!(
                "Warning: {a} and {b} lie on the same mount ({}), and its file system encrypts neither by itself: \
                 perhaps nothing was encrypted, and plain was compared with plain.",
                plain.in_words()
            ),
        });
    }
    notes.push(placement(plain, encrypted));
    notes
}

/// How the positions of the two targets affect the comparison.
fn placement(plain: &Target, encrypted: &Target) -> String {
    let tree = Tree::this();
    let (a, b) = (shown(&plain.path), shown(&encrypted.path));
    let unknown = |target: &Target| {
        format!(
            "The device below {} is not known here, so {a} and {b} may lie on different devices: \
             a difference between two devices would look like a cost of encryption.",
            shown(&target.path)
        )
    };
    let (Some(below_a), Some(below_b)) = (&plain.node, &encrypted.node) else {
        return unknown(if plain.node.is_none() { plain } else { encrypted });
    };
    let (disks_a, disks_b) = (tree.disks(below_a), tree.disks(below_b));
    let names = |disks: &BTreeSet<String>| match disks.is_empty() {
        true => below_a.name(),
        false => disks.iter().cloned().collect::<Vec<_>>().join(" and "),
    };
    if below_a != below_b && (disks_a.is_empty() || disks_b.is_empty()) {
        return unknown(if disks_a.is_empty() { plain } else { encrypted });
    }
    if disks_a != disks_b {
        return format!(
            "Warning: {a} lies on {} and {b} on {}: a difference between these devices looks like a cost of \
             encryption. Prepare both on one device, or measure the pair with their roles exchanged too.",
            names(&disks_a),
            names(&disks_b)
        );
    }
    if below_a == below_b || (plain.kind() == "file" && encrypted.kind() == "file") {
        return format!(
            "{a} and {b} are stored in the same file system on {}, each in files of its own, whose places it chose \
             itself and which cannot be exchanged between blocks.",
            names(&disks_a)
        );
    }
    let start = |target: &Target| {
        let node = target.node.as_ref().filter(|node| node.is_partition());
        node.map_or(String::new(), |node| format!(" from {} GB on", node.start() / 1_000_000_000))
    };
    format!(
        "{a} ({}{}) and {b} ({}{}) lie on the same disk, {}, in different places, which cannot be exchanged between \
         blocks: the zones of a rotating disk differ by up to half in speed, those of flash in how they were written.",
        below_a.name(),
        start(plain),
        below_b.name(),
        start(encrypted),
        names(&disks_a)
    )
}
