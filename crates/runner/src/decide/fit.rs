//! Fits the set-up of a run to the speed of disk and cipher. Work that takes too long is reduced, or dropped with a
//! note on the budget that would suffice.

use cryptbench_load::{FileUse, Rates, Work, WorkloadSpec};
use cryptbench_system::{ArmSpec, System, find};

use super::arms::makes_a_disk;
use super::sizes::least_scratch;

const MIB: u64 = 1 << 20;

/// Size of the smallest file that is measured, and the size below which a note warns about caches.
pub(crate) const LEAST: u64 = 8 * MIB;
pub(crate) const SMALL: u64 = 64 * MIB;

/// Bytes that are written for headers, tables and the journal of a container's file system.
const OVERHEAD: u64 = 22 * MIB;

/// Seconds that a system's programs need on an idle machine, and the number of their requests that wait for the disk.
const PROGRAMS_S: f64 = 0.5;
const REQUESTS: f64 = 30.0;

/// Number of times that a file's bytes pass through the cipher before they are stored, for a system half as fast as
/// this program.
const PASSES: f64 = 2.0;

/// Speed of storage and CPU; a speed that is unknown counts as unlimited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Bytes per second of large writes and reads.
    pub(crate) write: f64,
    pub(crate) read: f64,
    /// Seconds per small request of the slower kind, and per small read.
    pub(crate) request_s: f64,
    pub(crate) read_s: f64,
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
            cipher: f64::INFINITY,
        }
    }
}

impl Pace {
    /// The speed for work that only reads, or that also writes.
    fn rates(&self, writes: bool) -> Rates {
        Rates {
            read: self.read,
            write: self.write,
            request_s: if writes { self.request_s } else { self.read_s },
            // The time for small files is measured separately.
            files: f64::INFINITY,
            unlock_s: 0.0,
        }
    }

    /// Seconds for `bytes` that pass through the cipher `passes` times on their way to the disk.
    fn sealed_s(&self, bytes: u64, passes: f64) -> f64 {
        bytes as f64 * (1.0 / self.write + passes / self.cipher)
    }
}

/// Seconds to set up the arms of a system for a range of `len` bytes, with room for `files` bytes of new files
/// and `free` bytes of free space.
pub(crate) fn system_s(arms: &[ArmSpec], len: u64, (files, free): (u64, u64), pace: &Pace) -> f64 {
    let systems =
        arms.iter().filter(|arm| makes_a_disk(arm)).filter_map(|arm| find(arm.system).ok());
    let each = |system: &System| {
        let container = match (system.is_container(), system.has_files()) {
            (true, true) => system.filled(len, files, free) + OVERHEAD,
            (true, false) => system.filled(len, files, free),
            (false, _) => 0,
        };
        let programs = PROGRAMS_S + REQUESTS * pace.request_s;
        pace.sealed_s(container, 1.0) + pace.sealed_s(len, PASSES) + programs
    };
    systems.map(each).sum()
}

/// The largest number of bytes from `least` to `most`, in whole MiB, for which `takes` is at most `seconds`;
/// `least` if there is none.
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

/// Duration of a trial of `timed_s` seconds on a range of `len` bytes; infinite if the range is too small.
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

#[cfg(test)]
mod tests {
    use cryptbench_load::Profile;
    use cryptbench_system::Selection;

    use super::*;
    use crate::decide::limits::{FIRST_PLANNED, SET_UP_PLANNED};

    /// No new files, and much free space.
    const ROOM: (u64, u64) = (0, 1 << 40);

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
        let both = system_s(&arms("builtin-mounted"), 512 * MIB, ROOM, &fast)
            + system_s(&arms("gocryptfs"), 512 * MIB, ROOM, &fast);
        assert!(both < SET_UP_PLANNED * 120.0 / 2.0, "{both}");
    }

    #[test]
    fn one_system_is_in_reach_of_the_default_run_on_a_slow_card_and_on_a_slow_processor() {
        let slow_cpu = Pace { cipher: 35e6, ..disk(200.0, 1000.0) };
        for pace in [disk(5.0, 500.0), disk(1.0, 500.0), disk(60.0, 60.0), slow_cpu] {
            let fill = LEAST as f64 / pace.write;
            let takes = fill + system_s(&arms("gocryptfs"), LEAST, ROOM, &pace);
            assert!(takes < FIRST_PLANNED * 120.0, "{pace:?}: {takes}");
        }
        let takes = system_s(&arms("dm-crypt"), 64 * MIB, ROOM, &slow_cpu);
        assert!(takes < FIRST_PLANNED * 120.0 / 2.0, "{takes}");
    }

    /// Set-up fills the whole container, which reserves space for files even if none was requested.
    #[test]
    fn new_files_take_the_room_that_their_container_has() {
        let disk = disk(5.0, 500.0);
        let takes = |files, free| system_s(&arms("dm-crypt"), LEAST, (files, free), &disk);
        let few = takes(0, 1 << 40);
        let many = 300 * MIB;
        assert!(takes(many, 1 << 40) - few > 480.0 * MIB as f64 / 5e6);
        assert!(takes(MIB, 1 << 40) - few < 4.0 * MIB as f64 / 5e6, "of few files as well");
        assert!(takes(MIB, 0) - few < 64.0 * MIB as f64 / 5e6);
        let mounted = |files| system_s(&arms("builtin-mounted"), LEAST, (files, 1 << 40), &disk);
        assert!(mounted(1) - mounted(0) < 1.0, "it keeps none");
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
}
