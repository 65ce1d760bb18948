//! Fits what a run sets up to the speed of disk and cipher. What takes too long becomes smaller, or is left out with the
//! budget that has time for it.

use cryptbench_load::{FileUse, Rates, Work, WorkloadSpec};
use cryptbench_system::{ArmSpec, find};

use super::sizes::least_scratch;

const MIB: u64 = 1 << 20;

/// Share of the budget that setting up may take; and as long as no system is up.
pub(crate) const SHARE: f64 = 0.25;
pub(crate) const FIRST_SHARE: f64 = 0.6;

/// The smallest file that is measured, and the one below which a note says what that hides.
pub(crate) const LEAST: u64 = 8 * MIB;
pub(crate) const SMALL: u64 = 64 * MIB;

/// Bytes that are written for headers, tables and the journal of a container's file system.
const OVERHEAD: u64 = 22 * MIB;

/// Seconds for the programs of a system on an idle machine, and the requests that wait for the disk meanwhile.
const PROGRAMS_S: f64 = 0.5;
const REQUESTS: f64 = 30.0;

/// How often the bytes of a file pass the cipher until they are stored, where a system is half as fast as this program.
const PASSES: f64 = 2.0;

/// Budgets to advise, in seconds.
const BUDGETS: [f64; 14] = [
    30.0, 60.0, 120.0, 180.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0, 7200.0, 14400.0,
    28800.0,
];

/// How fast storage and processor are; unknown is as fast as can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Bytes per second of large writes and reads.
    pub(crate) write: f64,
    pub(crate) read: f64,
    /// Seconds of a small request, of the slower kind; and of a small read.
    pub(crate) request_s: f64,
    pub(crate) read_s: f64,
    /// Seconds of a small new file.
    pub(crate) file_s: f64,
    /// Bytes per second of AES-256-XTS in RAM.
    pub(crate) cipher: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            write: f64::INFINITY,
            read: f64::INFINITY,
            request_s: 0.0,
            read_s: 0.0,
            file_s: 0.0,
            cipher: f64::INFINITY,
        }
    }
}

impl Pace {
    /// For work that only reads, or that also writes.
    fn rates(&self, writes: bool) -> Rates {
        Rates {
            read: self.read,
            write: self.write,
            request_s: if writes { self.request_s } else { self.read_s },
            files: 1.0 / self.file_s,
            unlock_s: 0.0,
        }
    }

    /// Seconds for `bytes` that pass a cipher so often on their way to the disk.
    fn sealed_s(&self, bytes: u64, passes: f64) -> f64 {
        bytes as f64 * (1.0 / self.write + passes / self.cipher)
    }
}

/// Seconds to set up the arms of a system for a range of `len` bytes, with room for `files` bytes of new files.
pub(crate) fn system_s(arms: &[ArmSpec], len: u64, files: u64, pace: &Pace) -> f64 {
    let each = |arm: &ArmSpec| {
        let Ok(system) = find(arm.system) else { return 0.0 };
        if !system.makes_a_disk() {
            return 0.0;
        }
        let container = match (system.is_container(), system.has_files()) {
            (true, true) => system.filled(len, files) + OVERHEAD,
            (true, false) => system.filled(len, files),
            (false, _) => 0,
        };
        let programs = PROGRAMS_S + REQUESTS * pace.request_s;
        pace.sealed_s(container, 1.0) + pace.sealed_s(len, PASSES) + programs
    };
    arms.iter().map(each).sum()
}

/// The most bytes from `least` to `most`, whole MiB, for which `takes` is at most `seconds`; `least` if there are none.
pub(crate) fn size(least: u64, most: u64, seconds: f64, takes: impl Fn(u64) -> f64) -> u64 {
    if takes(most) <= seconds {
        return most;
    }
    let (mut fits, mut not) = (least / MIB, most / MIB);
    while not > fits + 1 {
        let middle = u64::midpoint(fits, not);
        match takes(middle * MIB) <= seconds {
            true => fits = middle,
            false => not = middle,
        }
    }
    (fits * MIB).max(least)
}

/// Bytes that the range must have for any of these workloads.
pub(crate) fn least_for_any(workloads: &[WorkloadSpec]) -> u64 {
    let each = workloads.iter().map(|w| least_scratch(std::slice::from_ref(w)));
    each.min().unwrap_or(0).max(LEAST)
}

/// Seconds that a trial of `timed_s` takes on a range of `len` bytes; infinite if that is too small.
pub(crate) fn trial_s(work: &WorkloadSpec, timed_s: f64, len: u64, pace: &Pace) -> f64 {
    let (needs, writes) = match &work.work {
        Work::Block(block) => match block.file {
            FileUse::Scratch(bytes) => (bytes.unwrap_or(0), block.direction.writes()),
            FileUse::Fresh(_) => (0, true),
        },
        Work::Files(_) | Work::Unlock(_) => (0, true),
    };
    match needs > len {
        true => f64::INFINITY,
        false => work.work.seconds(timed_s, len, &pace.rates(writes)),
    }
}

/// The budget to advise where at least `seconds` are needed and `budget_s` was too little.
pub(crate) fn enough(seconds: f64, budget_s: f64) -> f64 {
    let least = seconds.max(budget_s * 1.2);
    BUDGETS.into_iter().find(|budget| *budget >= least).unwrap_or_else(|| {
        let hours = (least / 3600.0).ceil();
        if hours.is_finite() { hours * 3600.0 } else { BUDGETS[BUDGETS.len() - 1] }
    })
}

/// A budget as `--budget` takes it.
pub(crate) fn as_option(budget_s: f64) -> String {
    let s = budget_s.round() as u64;
    match s {
        _ if s.is_multiple_of(3600) => format!("--budget {}h", s / 3600),
        _ if s.is_multiple_of(60) => format!("--budget {}m", s / 60),
        _ => format!("--budget {s}s"),
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_load::Profile;
    use cryptbench_system::Selection;

    use super::*;

    fn arms(name: &str) -> Vec<ArmSpec> {
        let of = find(name).unwrap().arms(&Selection::default()).unwrap();
        vec![of.last().unwrap().clone()]
    }

    fn disk(mb_s: f64, requests: f64) -> Pace {
        let rate = mb_s * 1e6;
        Pace {
            write: rate,
            read: rate,
            request_s: 1.0 / requests,
            read_s: 1.0 / requests,
            file_s: 0.0,
            cipher: 1e9,
        }
    }

    #[test]
    fn the_file_is_as_large_as_its_time_and_never_smaller_than_the_least() {
        let takes = |len: u64| len as f64 / 5e6;
        assert_eq!(size(LEAST, 512 * MIB, 30.0, takes), 143 * MIB);
        assert_eq!(size(LEAST, 512 * MIB, 1.0, takes), LEAST);
        assert_eq!(size(LEAST, 512 * MIB, 300.0, takes), 512 * MIB);
        assert_eq!(size(600 * MIB, 512 * MIB, 1.0, takes), 600 * MIB);
    }

    #[test]
    fn a_fast_machine_sets_all_up_in_its_share() {
        let fast = disk(500.0, 5000.0);
        let both = system_s(&arms("builtin-mounted"), 512 * MIB, 0, &fast)
            + system_s(&arms("gocryptfs"), 512 * MIB, 0, &fast);
        assert!(both < SHARE * 120.0 / 2.0, "{both}");
    }

    #[test]
    fn one_system_is_in_reach_of_the_default_run_on_a_slow_card_and_on_a_slow_processor() {
        let slow_cpu = Pace { cipher: 35e6, ..disk(200.0, 1000.0) };
        for pace in [disk(5.0, 500.0), disk(1.0, 500.0), disk(60.0, 60.0), slow_cpu] {
            let fill = LEAST as f64 / pace.write;
            let takes = fill + system_s(&arms("gocryptfs"), LEAST, 0, &pace);
            assert!(takes < FIRST_SHARE * 120.0, "{pace:?}: {takes}");
        }
        let takes = system_s(&arms("dm-crypt"), 64 * MIB, 0, &slow_cpu);
        assert!(takes < FIRST_SHARE * 120.0 / 2.0, "{takes}");
    }

    #[test]
    fn work_on_a_file_that_does_not_fit_takes_for_ever_and_deep_queues_take_long() {
        let quick = Profile::named("quick").unwrap().workloads;
        let of = |id: &str, mb_s| {
            let work = quick.iter().find(|w| w.id == id).unwrap();
            trial_s(work, 0.1, LEAST, &disk(mb_s, 500.0))
        };
        assert!((20.0..30.0).contains(&of("seq-write-1m-q8", 1.0)));
        assert!(of("seq-write-1m-q8", 500.0) < 0.2 && of("rand-read-4k-q1", 1.0) < 0.2);
        let files = Profile::named("small-files").unwrap().workloads;
        let large = files.iter().find(|w| w.id == "read-one-file").unwrap();
        assert!(trial_s(large, 0.1, LEAST, &disk(1.0, 500.0)).is_infinite());
        assert_eq!(least_for_any(&quick), LEAST);
    }

    #[test]
    fn budgets_to_advise_are_round_and_larger() {
        let of = |seconds, budget| as_option(enough(seconds, budget));
        assert_eq!(of(10.0, 30.0), "--budget 1m");
        assert_eq!(of(400.0, 120.0), "--budget 10m");
        assert_eq!(of(20_000.0, 30.0), "--budget 8h");
        assert_eq!(of(100_000.0, 30.0), "--budget 28h");
    }
}
