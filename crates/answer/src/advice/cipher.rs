//! The fastest cipher on this CPU, by the CPU time that each cipher adds to its layer.

use cryptbench_estimate::chain::{Chain, chains};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Operation};

use crate::quantity::digits;
use crate::wording::list;

/// Number of ciphers listed in addition to the fastest.
const MOST_NAMED: usize = 5;

/// A cipher's CPU time per byte in nanoseconds, with its interval.
struct Cost<'a> {
    arm: &'a Arm,
    ns: f64,
    low: f64,
    high: f64,
}

/// Compares the inline ciphers over one layer, in the workload with the largest requests that all of them ran.
pub(super) fn fastest(lookup: &Lookup<'_>, arms: &[&Arm]) -> Option<String> {
    let chains = chains(lookup);
    let inline = |c: &&Chain<'_>| {
        c.arm.attachment.as_deref() == Some("inline") && arms.iter().any(|a| a.id == c.arm.id)
    };
    let chains: Vec<&Chain<'_>> = chains.iter().filter(inline).collect();
    let workload = chains
        .first()?
        .rows
        .iter()
        .map(|row| row.workload)
        .filter(|w| w.is_of_requests())
        // Reads are used, because a layer may copy data before encrypting it: the cipher would then find the data in
        // the CPU's cache.
        .max_by_key(|w| {
            (w.block_size, std::cmp::Reverse(w.in_flight()), w.operation == Operation::Read)
        })?;
    let mut costs: Vec<Cost<'_>> = chains
        .iter()
        .filter_map(|chain| {
            let row = chain.rows.iter().find(|row| row.workload.id == workload.id)?;
            let change = &row.cpu.as_ref()?.steps[1].change;
            let ns = |s: f64| 1e9 * s / workload.block_size as f64;
            let (low, high) = (ns(change.low), ns(change.high));
            Some(Cost { arm: chain.arm, ns: ns(change.mean), low, high })
        })
        .filter(|cost| cost.low > 0.0)
        .collect();
    // If all arms have the same cipher, only in different layouts, no cipher is called the fastest.
    if costs.windows(2).all(|pair| pair[0].arm.cipher == pair[1].arm.cipher) {
        return None;
    }
    costs.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let (first, rest) = costs.split_first()?;
    let words =
        |c: &Cost<'_>| format!("{} ns [{}, {}]", digits(c.ns), digits(c.low), digits(c.high));
    // If the intervals of two ciphers overlap, neither cipher is reported as faster.
    let tied: Vec<&str> =
        rest.iter().filter(|c| c.low <= first.high).map(|c| c.arm.label.as_str()).collect();
    let slower: Vec<String> = rest
        .iter()
        .filter(|c| c.low > first.high)
        .map(|c| format!("{} {}", c.arm.label, words(c)))
        .collect();
    let slower: Vec<&str> = slower.iter().map(String::as_str).collect();
    let tied = match tied.len() {
        0 => String::new(),
        _ => format!(", indistinguishable from {}", list(&tied, MOST_NAMED)),
    };
    let beside = match slower.len() {
        0 if rest.is_empty() => return None,
        0 => String::new(),
        _ => format!("; {}", list(&slower, MOST_NAMED)),
    };
    Some(format!(
        "The fastest cipher on this CPU: {} uses {} of CPU time per byte in {}{tied}{beside}.",
        first.arm.label,
        words(first),
        workload.label,
    ))
}
