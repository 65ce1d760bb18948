//! The supported options of a job file.

/// The name of each option, with its aliases.
const OPTIONS: &[(&str, &[&str])] = &[
    ("rw", &["readwrite"]),
    ("rwmixread", &[]),
    ("rwmixwrite", &[]),
    ("bs", &["blocksize"]),
    ("iodepth", &[]),
    ("numjobs", &[]),
    ("size", &[]),
    ("io_size", &["io_limit"]),
    ("runtime", &["timeout"]),
    ("time_based", &[]),
    ("ramp_time", &[]),
    ("direct", &[]),
    ("buffered", &[]),
    ("ioengine", &[]),
    ("fsync", &[]),
    ("fdatasync", &[]),
    ("end_fsync", &[]),
    ("sync", &[]),
    ("rate", &[]),
    ("rate_iops", &[]),
    ("random_distribution", &[]),
    ("norandommap", &[]),
    ("buffer_compress_percentage", &[]),
    ("zero_buffers", &[]),
    ("refill_buffers", &[]),
    ("invalidate", &[]),
    ("overwrite", &[]),
    ("randrepeat", &[]),
    ("group_reporting", &[]),
    ("thread", &[]),
    ("stonewall", &["wait_for_previous"]),
    ("name", &[]),
    ("description", &[]),
    ("kb_base", &[]),
    ("filename", &[]),
    ("directory", &[]),
];

/// The canonical name of an option; `None` if it is not supported.
pub(super) fn find(word: &str) -> Option<&'static str> {
    let found = OPTIONS.iter().find(|(name, aliases)| *name == word || aliases.contains(&word));
    found.map(|(name, _)| *name)
}

/// All names, for messages.
pub(super) fn names() -> String {
    OPTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The canonical names, in the order of the table.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().map(|(name, _)| *name)
}
