//! Kinds of work: large and small reads and writes, and actions on files, as people distinguish them.

use cryptbench_record::{Operation, Pattern, Workload};

use crate::quantity::binary_bytes;

/// Requests up to this size are small, bytes: where the time of a request weighs more than its bytes.
pub(crate) const SMALL: u64 = 16 << 10;

/// Requests from this size on are large, bytes.
pub(crate) const LARGE: u64 = 256 << 10;

/// Sizes of requests, and work that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Large,
    Medium,
    Small,
    Files,
}

impl Class {
    pub(crate) fn of(w: &Workload) -> Self {
        match w.block_size {
            _ if !w.is_of_requests() => Self::Files,
            size if size >= LARGE => Self::Large,
            size if size <= SMALL => Self::Small,
            _ => Self::Medium,
        }
    }

    /// `large`, to stand before what is done.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Large => "large",
            Self::Medium => "medium",
            Self::Small => "small",
            Self::Files => "",
        }
    }

    /// How requests of this class lie in most profiles.
    pub(crate) fn usual_pattern(self) -> Pattern {
        match self {
            Self::Large => Pattern::Sequential,
            _ => Pattern::Random,
        }
    }
}

/// What is done: `reads`, `writes`, `creating files`.
pub(crate) fn action(w: &Workload) -> &'static str {
    let of_files = w.pattern == Pattern::Files;
    match w.operation {
        Operation::Read if of_files => "reading files",
        Operation::Create => "creating files",
        Operation::Stat => "listing files",
        Operation::Rename => "renaming files",
        Operation::Delete => "deleting files",
        Operation::Unlock => "opening",
        Operation::Read => "reads",
        Operation::Write => "writes",
        Operation::Mixed | Operation::Unknown(_) => "mixed requests",
    }
}

/// The kind of a workload: `large reads`, `creating files`.
pub(crate) fn kind(w: &Workload) -> String {
    match Class::of(w).word() {
        "" => action(w).to_owned(),
        size => format!("{size} {}", action(w)),
    }
}

/// The kinds of these workloads in the order of the profile, each with its workloads.
pub(crate) fn kinds<'a>(
    workloads: impl IntoIterator<Item = &'a Workload>,
) -> Vec<(String, Vec<&'a Workload>)> {
    let mut kinds: Vec<(String, Vec<&Workload>)> = Vec::new();
    for workload in workloads {
        let name = kind(workload);
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(workload),
            None => kinds.push((name, vec![workload])),
        }
    }
    kinds
}

/// What large and small mean in these workloads: `Large: 1 MiB in sequence. Small: 4 KiB at random.`
pub(crate) fn sizes_explained(workloads: &[Workload]) -> String {
    let of = |class: Class, name: &str, otherwise: &str| {
        let all: Vec<&Workload> = workloads.iter().filter(|w| Class::of(w) == class).collect();
        let first = all.first()?;
        let alike =
            |w: &&Workload| (w.block_size, &w.pattern) == (first.block_size, &first.pattern);
        let how = match first.pattern {
            Pattern::Sequential => "in sequence",
            _ => "at random",
        };
        Some(match all.iter().all(alike) {
            true => format!("{name}: {} {how}.", binary_bytes(first.block_size)),
            false => format!("{name}: {otherwise}."),
        })
    };
    let parts =
        [of(Class::Large, "Large", "256 KiB or more"), of(Class::Small, "Small", "16 KiB or less")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
