//! The special properties of the measured target, in sentences: what a reader must know first.

use cryptbench_record::{Limits, PlaceKind, Record, Target};

use crate::quantity::{binary_bytes, duration, fraction};

/// Warnings about the target and the container, usually none.
pub(crate) fn said(record: &Record) -> Vec<String> {
    let mut said = about(&record.target.filesystem, &kinds(&record.target));
    said.extend(granted(&record.machine.limits, Some(record.elapsed_s)));
    said
}

/// The special properties of a record's target; for records of earlier versions they are derived from the file
/// system's type.
fn kinds(target: &Target) -> Vec<PlaceKind> {
    match (target.place.is_empty(), target.filesystem.as_str()) {
        (true, "tmpfs" | "ramfs") => vec![PlaceKind::Memory],
        _ => target.place.clone(),
    }
}

/// The special properties of a target with this file system, in sentences; empty for a file system on a disk.
pub fn about(filesystem: &str, kinds: &[PlaceKind]) -> Vec<String> {
    let file = kinds.iter().find_map(|kind| match kind {
        PlaceKind::InFile { file, filesystem } => Some((file.as_str(), filesystem.as_str())),
        _ => None,
    });
    let name = match (filesystem, file) {
        ("", Some((_, below))) => below,
        (filesystem, _) => filesystem,
    };
    let has = |wanted: &PlaceKind| kinds.contains(wanted);
    let mut said = Vec::new();
    if has(&PlaceKind::Memory) {
        let memory = file.map_or(filesystem, |(_, below)| below);
        said.push(format!(
            "{memory} is memory, not a disk: these figures say nothing about disks."
        ));
        return said;
    }
    if let Some((file, below)) = file {
        let below = if below.is_empty() { String::new() } else { format!(" on {below}") };
        said.push(format!(
            "The disk is the file {file}{below}: every figure includes the cost of that file system."
        ));
    }
    let compresses = kinds.iter().find_map(|kind| match kind {
        PlaceKind::Compresses { how } => Some(how),
        _ => None,
    });
    match (compresses, has(&PlaceKind::CopiesOnWrite)) {
        (Some(how), copies) => {
            let copies = if copies { " and copies on write" } else { "" };
            said.push(format!(
                "{name} compresses ({how}){copies}: less data than was written reaches the disk, unless it is random."
            ));
        }
        (None, true) => {
            said.push(format!("{name} copies on write: overwritten data gets a new location."));
        }
        (None, false) => {}
    }
    if has(&PlaceKind::Network) {
        said.push(format!("{name}: every figure includes the server and the network."));
    }
    if has(&PlaceKind::Host) {
        said.push(format!(
            "{name}: every figure includes the host's file system and the path to it."
        ));
    }
    if has(&PlaceKind::NoDirectIo) {
        said.push(format!(
            "{name} does not support direct I/O: every figure includes the page cache."
        ));
    }
    if has(&PlaceKind::Layers) {
        said.push(format!("{name}: the layers of a container, through which the disk is reached."));
    }
    said
}

/// The resources of a container, and how long it was throttled in a run of `elapsed_s`; `None` without a CPU limit.
pub fn granted(limits: &Limits, elapsed_s: Option<f64>) -> Option<String> {
    let cpus = limits.cpus?;
    let memory = limits
        .memory_bytes
        .map_or_else(String::new, |bytes| format!(" and {} of memory", binary_bytes(bytes)));
    let waited = match (limits.throttled_s, elapsed_s) {
        (Some(seconds), Some(all)) if seconds >= 0.05 && all > 0.0 => format!(
            "; it was throttled for {}, {} of the run",
            duration(seconds),
            fraction(seconds / all)
        ),
        _ => String::new(),
    };
    Some(format!(
        "This container may use {} CPUs{memory}{waited}: every figure includes that limit.",
        cpus_in_words(cpus)
    ))
}

/// `, limited to 0.2 CPUs and 96 MiB by its container`
pub(crate) fn limits_in_words(limits: &Limits) -> String {
    let cpus = limits.cpus.map(|cpus| format!("{} CPUs", cpus_in_words(cpus)));
    let memory = limits.memory_bytes.map(|bytes| format!("{} of memory", binary_bytes(bytes)));
    let all: Vec<String> = cpus.into_iter().chain(memory).collect();
    let throttled = limits
        .throttled_s
        .map_or_else(String::new, |seconds| format!(" (throttled for {seconds:.1} s)"));
    match all.is_empty() {
        true => String::new(),
        false => format!(", limited to {} by its container{throttled}", all.join(" and ")),
    }
}

/// `0.2`, `1.5`, `2`
pub fn cpus_in_words(cpus: f64) -> String {
    let text = format!("{cpus:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_one_sentence_each() {
        let compresses = PlaceKind::Compresses { how: "compress=zstd".to_owned() };
        let file = |filesystem: &str| PlaceKind::InFile {
            file: "/x/img".to_owned(),
            filesystem: filesystem.to_owned(),
        };
        for (filesystem, kinds, part) in [
            ("tmpfs", vec![PlaceKind::Memory], "tmpfs is memory, not a disk"),
            ("ext4", vec![file("tmpfs"), PlaceKind::Memory], "tmpfs is memory, not a disk"),
            (
                "btrfs",
                vec![compresses, PlaceKind::CopiesOnWrite],
                "compresses (compress=zstd) and copies",
            ),
            ("btrfs", vec![PlaceKind::CopiesOnWrite], "btrfs copies on write"),
            ("ext4", vec![file("xfs")], "the file /x/img on xfs"),
            ("nfs4", vec![PlaceKind::Network], "the server and the network"),
            ("virtiofs", vec![PlaceKind::Host], "the host's"),
            ("overlay", vec![PlaceKind::Layers], "layers"),
            ("fuse.x", vec![PlaceKind::NoDirectIo], "fuse.x does not support direct I/O"),
        ] {
            let said = about(filesystem, &kinds);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].contains(part), "{said:?}");
        }
        assert_eq!(about("ext4", &[]), Vec::<String>::new());
    }

    #[test]
    fn a_limit_on_processors_is_said_with_what_it_cost() {
        let limits =
            Limits { memory_bytes: Some(96 << 20), cpus: Some(0.2), throttled_s: Some(1.4) };
        let said = granted(&limits, Some(20.0)).unwrap();
        for part in ["0.2 CPUs and 96 MiB of memory", "throttled for 1.4 s", "7", "every figure"] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
        assert_eq!(granted(&Limits { cpus: None, ..limits }, Some(20.0)), None);
        assert!(limits_in_words(&limits).contains("limited to 0.2 CPUs and 96 MiB of memory"));
        assert_eq!(limits_in_words(&Limits::default()), "");
    }
}
