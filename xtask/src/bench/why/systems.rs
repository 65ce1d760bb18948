//! `cargo xtask bench why --of RECORD`: shows how each choice of a run passes on requests, and its bottleneck.

use std::path::{Path, PathBuf};

use cryptbench_answer::names::Names;
use cryptbench_estimate::binding::{Bound, bindings};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Operation, Pattern};
use cryptbench_stats::bottleneck::Flow;

use super::Named;

/// Bytes of the table's small and large requests.
const SMALL: u64 = 4 << 10;
const LARGE: u64 = 1 << 20;

/// Prints a row for each choice of these records.
pub fn run(records: &[PathBuf]) -> anyhow::Result<()> {
    println!(
        "| choice | small reads at the disk | large reads become | small writes become | causes, by workloads |"
    );
    println!("|---|--:|--:|--:|---|");
    for path in records {
        of_record(path)?;
    }
    Ok(())
}

fn of_record(path: &Path) -> anyhow::Result<()> {
    let record = cryptbench_record::read(path)?;
    let bindings = bindings(&Lookup::of(&record));
    let names = Names::of(&record.plan);
    for arm in &record.plan.arms {
        let own: Vec<&Bound<'_>> = bindings.iter().filter(|(_, a, _)| a.id == arm.id).collect();
        if !own.is_empty() {
            println!("{}", row(names.arm(arm), &own));
        }
    }
    Ok(())
}

fn row(name: &str, own: &[&Bound<'_>]) -> String {
    let of = |operation, pattern, bytes: u64, most: bool, told: &dyn Fn(u32, &Flow) -> String| {
        let alike = own.iter().filter(|(w, _, b)| {
            (&w.operation, &w.pattern, w.block_size) == (&operation, &pattern, bytes)
                && b.disk.is_some()
        });
        let depth = |bound: &&&Bound<'_>| bound.0.in_flight();
        let found = if most { alike.max_by_key(depth) } else { alike.min_by_key(depth) };
        found.map_or("not known".to_owned(), |(w, _, b)| {
            told(w.in_flight(), &b.disk.expect("chosen for it").arm)
        })
    };
    let at_disk = |depth: u32, flow: &Flow| format!("{:.1} of {depth}", flow.in_flight);
    let becomes =
        |_: u32, flow: &Flow| format!("{:.1} × {:.0} KiB", flow.per_request, flow.bytes / 1024.0);
    format!(
        "| {} | {} | {} | {} | {} |",
        name,
        of(Operation::Read, Pattern::Random, SMALL, true, &at_disk),
        of(Operation::Read, Pattern::Sequential, LARGE, true, &becomes),
        of(Operation::Write, Pattern::Random, SMALL, false, &becomes),
        causes(own)
    )
}

/// `pieces 3, added time 2, no loss 3`.
fn causes(own: &[&Bound<'_>]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for (_, _, binding) in own {
        let words = match &binding.bottleneck {
            Some(found) => Named::of(&found.cause).words(),
            None if binding.loses() => "not explained",
            None => "no loss",
        };
        match counted.iter_mut().find(|(known, _)| *known == words) {
            Some((_, number)) => *number += 1,
            None => counted.push((words, 1)),
        }
    }
    counted.sort_by_key(|(words, number)| {
        (matches!(*words, "not explained" | "no loss"), usize::MAX - number)
    });
    let told: Vec<_> = counted.iter().map(|(words, number)| format!("{words} {number}")).collect();
    told.join(", ")
}
