//! Kinds of work: large and small reads and writes, and actions on files, as users distinguish them.

use cryptbench_estimate::class::Class;
use cryptbench_record::{Operation, Pattern, Workload};

use crate::quantity::binary_bytes;

/// `large`, to precede the operation.
pub fn size_word(class: Class) -> &'static str {
    match class {
        Class::Large => "large",
        Class::Medium => "medium",
        Class::Small => "small",
        Class::Files => "",
    }
}

/// The operation: `reads`, `writes`, `creating files`.
pub fn action(w: &Workload) -> &'static str {
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
pub fn kind(w: &Workload) -> String {
    match Class::of(w) {
        Class::Files => action(w).to_owned(),
        class => format!("{} {}", size_word(class), action(w)),
    }
}

/// The kinds of these workloads in the order of the profile, each with its workloads.
pub fn kinds<'a>(
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

/// The meaning of large and small in these workloads: `Large: 1 MiB in sequence. Small: 4 KiB at random.`
pub fn sizes_explained(workloads: &[Workload]) -> String {
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
