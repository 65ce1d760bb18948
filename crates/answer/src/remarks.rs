//! Important facts about the machine, and names for the sources of CPU and energy figures.

use cryptbench_catalog::{BUILTIN_MOUNTED, Family, find};
use cryptbench_estimate::accounting::{HOT, Heat, clock_change, flushed_late, heat};
use cryptbench_estimate::disturbance::{Disturbance, OTHERS, PRESSED};
use cryptbench_record::{Arm, ArmRole, Operation, Record};

use crate::quantity::{fraction, latency, percent};
use crate::wording::list;

/// Maximum number of arms listed individually in a remark.
const MOST_NAMED: usize = 8;

/// The parts of [`Split::seconds`](cryptbench_estimate::accounting::Split::seconds).
pub const PARTS: [&str; 4] = ["load generator", "helper programs", "kernel threads", "other"];

/// Energy in the order of `Split::joules_per_gib`: the CPU packages (RAPL), then the whole machine (from its
/// batteries).
pub const ENERGY: [&str; 2] = ["J/GiB", "battery J/GiB"];

/// Conditions of the machine that could have changed the results, in sentences; usually none.
pub fn remarks(record: &Record) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(record.machine.emulated.as_ref().map(|by| {
        format!("EMULATED by {by}: this shows what works, not how fast it is on hardware.")
    }));
    remarks.extend(record.target.emulated.as_ref().map(|e| {
        format!(
            "EMULATED: the disk is the model {} (parameters {}), not hardware: costs hold for a device that behaves \
             like it.",
            e.model, e.parameters
        )
    }));
    let Disturbance { trials: all, crowded, short_of_memory, stolen } = Disturbance::of(record);
    if crowded.trials > 0 {
        remarks.push(format!(
            "In {} other programs used more than {} of the CPUs, and tasks waited for a CPU more than {} of the time \
             (up to {}).",
            of_trials(crowded.trials, all),
            fraction(OTHERS),
            fraction(PRESSED),
            fraction(crowded.worst),
        ));
    }
    if short_of_memory.trials > 0 {
        remarks.push(format!(
            "In {} tasks waited for memory more than {} of the time (up to {}): the machine was short of it.",
            of_trials(short_of_memory.trials, all),
            fraction(PRESSED),
            fraction(short_of_memory.worst),
        ));
    }
    remarks.extend(stolen.map(|share| {
        format!(
            "The hypervisor stole {} of CPU time: other guests compete, and runs at other times may differ.",
            fraction(share)
        )
    }));
    let Heat { hottest, trials } = heat(record);
    if trials > 0 {
        remarks.push(format!(
            "The CPU reached {hottest:.0} °C ({} at {HOT:.0} °C or more): it may have throttled itself.",
            of_trials(trials, all),
        ));
    }
    remarks.extend(clocks(record));
    remarks.extend(flushes(record));
    remarks.extend(memory(record));
    remarks.extend(transport(record));
    remarks
}

/// How requests reached this program's own mount, and the cost of this transport compared with the others
/// (docs/benchmarks-internals.md). No remark is needed if the arms of the run used different transports.
fn transport(record: &Record) -> Option<String> {
    let own = |arm: &&Arm| arm.system == BUILTIN_MOUNTED.name && arm.role == ArmRole::Encrypted;
    let mut ways = record.plan.arms.iter().filter(own).map(|arm| arm.settings.get("transport"));
    let way = ways.next()??;
    if ways.any(|other| other != Some(way)) {
        return None;
    }
    let costs = match way.as_str() {
        "ublk" => {
            "as a ublk device, which uses about a third of the CPU time that many small requests take through /dev/fuse"
        }
        "io-uring" => {
            "through FUSE over io_uring and a loop device, which uses about half of the CPU time that many small \
             requests take through /dev/fuse. A ublk device uses a third (Linux 6.5 with ublk_drv)"
        }
        "fuse" => {
            "through /dev/fuse and a loop device. For many small requests, FUSE over io_uring uses half of the CPU \
             time (Linux 6.14), a ublk device a third (Linux 6.5 with ublk_drv)"
        }
        _ => return None,
    };
    Some(format!("Requests reach cryptbench's own mount {costs}."))
}

/// The arms whose reads are slowed because the host reclaimed memory.
fn memory(record: &Record) -> Option<String> {
    let cost = record.why.as_ref()?.memory?;
    let seconds = cost.taken_back()?;
    // If the host must first reclaim memory, allocations are slow as well.
    record.machine.is_of_a_hypervisor().then_some(())?;
    let reads = record.plan.workloads.iter().any(|w| w.operation != Operation::Write);
    // Only writes show that an arm is above a page cache; arms that encrypt file by file are always above a page cache.
    let flushed: Vec<&str> = flushed_late(record).iter().map(|a| a.id.as_str()).collect();
    let is_cached = |arm: &&Arm| {
        let by_file = || find(&arm.system).is_some_and(|of| of.family == Family::Files);
        flushed.contains(&&*arm.id) || by_file()
    };
    let arms = record.plan.arms.iter().filter(is_cached);
    let arms: Vec<&str> = arms.map(|arm| arm.label.as_str()).collect();
    if arms.is_empty() || !reads {
        return None;
    }
    Some(format!(
        "The host of this virtual machine reclaims free memory: reading a MiB through the page cache takes {} longer \
         if its memory was free than if it was just in use. Large reads of {} include that time. On a machine with \
        little free memory they would be faster.",
        latency(1e6 * seconds),
        list(&arms, MOST_NAMED)
    ))
}

/// The arms whose writes went to a page cache, and the effect on their speed.
fn flushes(record: &Record) -> Option<String> {
    let arms: Vec<&str> = flushed_late(record).iter().map(|a| a.label.as_str()).collect();
    let (whose, them) = match arms[..] {
        [] => return None,
        [one] => (one.to_owned(), "it"),
        [..] => (list(&arms, MOST_NAMED), "them"),
    };
    Some(format!(
        "Writes of {whose} end in a page cache below {them}, although direct I/O was requested. Their time includes \
         writing that cache to the device; their latencies do not."
    ))
}

fn of_trials(n: usize, all: usize) -> String {
    if n == all { format!("all {n} trials") } else { format!("{n} of {all} trials") }
}

/// The arm whose clock rate differs most from plain's.
fn clocks(record: &Record) -> Option<String> {
    let (arm, change) = clock_change(record)?;
    let way = if change < 0.0 { "slower" } else { "faster" };
    Some(format!(
        "The CPUs ran {} {way} with {} than with plain: the clock may account for part of the difference.",
        percent(100.0 * change.abs()),
        arm.label
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_counted_as_people_do() {
        assert_eq!(of_trials(3, 3), "all 3 trials");
        assert_eq!(of_trials(3, 30), "3 of 30 trials");
    }
}
