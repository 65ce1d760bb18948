//! Measures, before the first trial, the data that explains costs: plain storage by queue depth and request size,
//! ciphers in RAM, and the page cache's memory.

use std::time::{Duration, Instant};

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_cipher::{Layout, Tier};
use cryptbench_load::{Amount, Direction, Job, Operation, Pattern, Work};
use cryptbench_os::files::{forget, with_direct};
use cryptbench_os::machine::memory_available;
use cryptbench_record::{self as record, CipherSpeed, CurvePoint, DiskCounts, MemoryCost, Why};
use cryptbench_stats::{median, quantile};

use super::Claimed;
use crate::decide::Plan;
use crate::decide::arms::Arms;
use crate::{Halt, RunError};

/// Share of a run's time that all points together may use.
const SHARE: f64 = 0.04;

/// Maximum and minimum time of one point.
const MOST: Duration = Duration::from_millis(75);
const LEAST: Duration = Duration::from_millis(10);

/// A point is omitted if its queue takes this many times as long as the point may take.
const LONG: f64 = 10.0;

/// How often each point is measured.
const PASSES: u32 = 2;

/// Time for each direction of a cipher, and bytes per call: the size of a second-level cache.
const CIPHER: Duration = Duration::from_millis(5);
const CIPHER_BYTES: usize = 64 << 10;

/// Maximum number of ciphers: a run may compare dozens, but all measurements together may take at most a third of a
/// second.
const MOST_CIPHERS: usize = 30;

/// Reads into the page cache, which measure the cost of its memory: bytes per read, maximum and minimum number of
/// reads, number of repeated reads, and time for the first ones.
const INTO_CACHE: u64 = 4 << 20;
const MOST_READS: u64 = 64;
const FEWEST_READS: u64 = 4;
const READ_AGAIN: u64 = 8;
const INTO_CACHE_S: f64 = 0.1;

/// The quantile that shows slow reads: memory that the host backs is allocated before memory that the host has
/// reclaimed.
const DEAR: f64 = 0.75;

/// Pattern, bytes and queue depth of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point(bool, u64, u32);

/// Sequential requests of several sizes at queue depth 1; random 4 KiB requests at several queue depths; sequential
/// requests at a higher queue depth. On a slow disk there is not enough time for all of them, so the fastest come
/// first. When the sizes came last, they were never measured.
fn points() -> Vec<Point> {
    let by_depth = [1, 2, 4, 8, 16, 32].map(|depth| Point(true, 4 << 10, depth));
    let by_size = |depth| [16, 64, 128, 256, 1024].map(|kib: u64| Point(false, kib << 10, depth));
    by_size(1).into_iter().chain(by_depth).chain(by_size(8)).collect()
}

/// Time limits for a point and for all points of a run; `None` if that is too little for a result.
fn lengths(plan: &record::Plan, points: usize) -> Option<(Duration, Duration)> {
    let trials = plan.fixed_trials().map(|trials| f64::from(trials) * plan.trial_s);
    let whole = Duration::from_secs_f64(trials.unwrap_or(plan.budget_s).min(plan.budget_s) * SHARE);
    let each = whole.checked_div(points as u32 * PASSES)?.min(MOST);
    // The time between two points also counts.
    let each = each.mul_f64(0.8);
    (each >= LEAST).then_some((each, whole))
}

impl Claimed<'_> {
    /// Measures the data that explains costs, if the plan includes it and there is enough time.
    pub(super) fn why(&mut self, recorded: &record::Plan) -> Result<Option<Why>, Halt> {
        let range = self.plain.range.as_ref();
        let is_direct = range.is_some_and(|range| range.mode() == IoMode::Direct);
        if !self.plan.why || !is_direct || !matches!(self.plan.arms, Arms::Systems(_)) {
            return Ok(None);
        }
        let curve = self.curve(recorded)?;
        let ciphers = ciphers(&recorded.arms, self.plan.tier);
        let memory = if curve.is_some() { self.memory()? } else { None };
        Ok(curve.map(|curve| Why { curve, ciphers, memory }))
    }

    /// The cost of memory for the page cache: of memory that was free, and then of the same pages, just released.
    /// `None` on a slow disk or in a small file.
    fn memory(&mut self) -> Result<Option<MemoryCost>, Halt> {
        let direct = self.plain.io_target();
        let Some(reads) = reads_into_cache(self.pace.read, direct.extent.len) else {
            return Ok(None);
        };
        let Ok(file) = with_direct(&direct.file, false) else { return Ok(None) };
        let io_target = IoTarget { file, mode: IoMode::Buffered, ..direct };
        let found = self.memory_cost(&io_target, reads);
        forget(&io_target.file);
        // On some systems, `with_direct` changes the flag of the open file itself and thus affects all requests.
        with_direct(&io_target.file, true)
            .map_err(|source| RunError::Storage { act: "bypass the page cache again", source })?;
        found
    }

    fn memory_cost(
        &mut self,
        io_target: &IoTarget,
        reads: u64,
    ) -> Result<Option<MemoryCost>, Halt> {
        let job = Job {
            amount: Amount::Bytes(INTO_CACHE),
            ..Job::new(Operation::Read, Pattern::Sequential, 1 << 20, 1)
        };
        let mut costs = |reads: u64| {
            forget(&io_target.file);
            let mut found = Vec::new();
            for at in 0..reads {
                let offset = io_target.extent.offset + at * INTO_CACHE;
                let extent = Extent { offset, len: INTO_CACHE };
                let part = IoTarget { extent, ..io_target.clone() };
                let measured = self.engine.run(&part, &job, self.stop)?;
                if measured.interrupted {
                    return Err(Halt::Interrupted);
                }
                let mib = measured.total_bytes as f64 / 1_048_576.0;
                found.push(measured.cpu.as_secs_f64() / mib);
            }
            Ok(found)
        };
        let (free, reused) = (costs(reads)?, costs(reads.min(READ_AGAIN))?);
        Ok(quantile(&free, DEAR).zip(median(&reused)).map(|(free_s_per_mib, reused_s_per_mib)| {
            MemoryCost { free_s_per_mib, reused_s_per_mib }
        }))
    }

    fn curve(&mut self, recorded: &record::Plan) -> Result<Option<Vec<CurvePoint>>, Halt> {
        let operations = operations(self.plan);
        let mut all: Vec<(Operation, Point)> = points()
            .into_iter()
            .flat_map(|point| operations.iter().map(move |operation| (*operation, point)))
            .collect();
        let Some((each, whole)) = lengths(recorded, all.len()).filter(|_| !all.is_empty()) else {
            return Ok(None);
        };
        let (began, mut curve) = (Instant::now(), Vec::new());
        for pass in 0..PASSES {
            for (number, (operation, point)) in all.iter().enumerate() {
                self.go_on()?;
                // A slow disk's requests take longer than a point should.
                if began.elapsed() + each > whole {
                    return Ok(Some(curve));
                }
                if self.takes(*point) > each.mul_f64(LONG) {
                    continue;
                }
                let seed = recorded.seed ^ ((u64::from(pass) << 32) + number as u64 + 1);
                curve.push(self.point(pass, *operation, *point, (each, seed))?);
            }
            all.reverse();
        }
        Ok(Some(curve))
    }

    /// Minimum duration of a queue of a point's requests.
    fn takes(&self, Point(_, block_size, depth): Point) -> Duration {
        let bytes = block_size as f64 * f64::from(depth);
        let queue_s = (bytes / self.pace.read.min(self.pace.write)).max(self.pace.request_s);
        Duration::try_from_secs_f64(queue_s).unwrap_or(Duration::MAX)
    }

    fn point(
        &mut self,
        pass: u32,
        operation: Operation,
        Point(is_random, block_size, depth): Point,
        (each, seed): (Duration, u64),
    ) -> Result<CurvePoint, Halt> {
        let pattern = if is_random { Pattern::Random } else { Pattern::Sequential };
        let amount = Amount::Time { ramp: each / 5, duration: each - each / 5 };
        let job = Job { amount, seed, ..Job::new(operation, pattern, block_size, depth) };
        let io_target = self.plain.io_target();
        self.counters.use_device(self.plain.counted_by);
        let before = self.counters.counted(self.plain.counted_by);
        let measured = self.engine.run(&io_target, &job, self.stop)?;
        let now = self.counters.counted(self.plain.counted_by);
        if measured.interrupted {
            return Err(Halt::Interrupted);
        }
        if operation == Operation::Write {
            let flushed = io_target.file.sync_data();
            flushed
                .map_err(|source| RunError::Storage { act: "flush the scratch file", source })?;
        }
        let asked = measured.total_bytes / block_size;
        let disk = before.zip(now).map(|(before, now)| now.since(&before));
        Ok(CurvePoint {
            pass,
            operation: operation.as_str().to_owned().into(),
            pattern: if is_random { record::Pattern::Random } else { record::Pattern::Sequential },
            block_size,
            depth,
            elapsed_s: measured.elapsed.as_secs_f64(),
            ios: measured.ios,
            latency_us: measured.latency.mean() / 1e3,
            disk: disk.map(|disk| DiskCounts::of(&disk, asked, measured.total_bytes)),
        })
    }
}

/// Number of [`INTO_CACHE`]-byte reads into the page cache for a file of `len` bytes on a disk that reads `rate` bytes
/// per second; `None` if too few fit.
fn reads_into_cache(rate: f64, len: u64) -> Option<u64> {
    let in_time = (rate * INTO_CACHE_S) as u64;
    // Does not use memory that other programs need.
    let spare = memory_available().map_or(u64::MAX, |available| available / 4);
    let reads = (in_time.min(len).min(spare) / INTO_CACHE).min(MOST_READS);
    (reads >= FEWEST_READS).then_some(reads)
}

/// The directions of a plan's time-based requests.
fn operations(plan: &Plan) -> Vec<Operation> {
    let works = plan.workloads.iter().filter_map(|workload| match &workload.work {
        Work::Block(work) => Some(work.direction),
        Work::Files(_) | Work::Unlock(_) => None,
    });
    let directions: Vec<_> = works.collect();
    let is_only_read = plan.storage.is_only_read();
    [Operation::Read, Operation::Write]
        .into_iter()
        .filter(|operation| match operation {
            Operation::Read => directions.iter().any(|direction| *direction != Direction::Write),
            Operation::Write => {
                !is_only_read && directions.iter().any(|direction| direction.writes())
            }
        })
        .collect()
}

/// The speed in RAM of the ciphers of these arms, as far as this program implements them.
fn ciphers(arms: &[record::Arm], tier: Tier) -> Vec<CipherSpeed> {
    let mut found: Vec<CipherSpeed> = Vec::new();
    for arm in arms {
        let (Some(cipher), Some(data_unit)) = (&arm.cipher, arm.data_unit) else { continue };
        let is_new = found.iter().all(|f| (&f.cipher, f.data_unit) != (cipher, data_unit));
        if is_new && found.len() < MOST_CIPHERS {
            found.extend(speed(cipher, data_unit, tier));
        }
    }
    found
}

/// Bytes per second of AES-256-XTS in RAM; infinite if that is unknown.
pub(super) fn cipher_rate(tier: Tier) -> f64 {
    speed("aes-256-xts", 4096, tier).map_or(f64::INFINITY, |speed| speed.encrypt_bytes_per_s)
}

fn speed(name: &str, data_unit: u32, tier: Tier) -> Option<CipherSpeed> {
    let info = cryptbench_cipher::find(name).ok()?;
    let key: Vec<u8> = (0..info.key_bytes).map(|i| i as u8).collect();
    let layout = Layout { data_unit: data_unit as usize, tweak_step: 1 };
    let cipher = info.with_key(&key, layout, tier).ok()?;
    let mut data = vec![0; CIPHER_BYTES.next_multiple_of(data_unit as usize)];
    let len = data.len() as f64;
    let mut rate = |act: &dyn Fn(&mut [u8])| {
        // The best of a few measurements, because interruptions only make them longer.
        let (began, mut best) = (Instant::now(), f64::INFINITY);
        while best.is_infinite() || began.elapsed() < CIPHER {
            let at = Instant::now();
            act(&mut data);
            best = best.min(at.elapsed().as_secs_f64());
        }
        len / best
    };
    Some(CipherSpeed {
        cipher: name.to_owned(),
        data_unit,
        kernel: cipher.tier().to_owned(),
        encrypt_bytes_per_s: rate(&|data| cipher.encrypt_in_place(0, data)),
        decrypt_bytes_per_s: rate(&|data| cipher.decrypt_in_place(0, data)),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use cryptbench_load::Profile;
    use cryptbench_record::Event;

    use super::*;
    use crate::Request;
    use crate::decide::decide;
    use crate::look::look;
    use crate::recorder::Recorder;
    use crate::time::RunTime;

    fn plan(budget_s: f64, trials: Option<(u32, f64)>) -> record::Plan {
        let (min_pairs, max_pairs) = trials.map_or((6, 200), |(trials, _)| (trials, trials));
        let trial_s = trials.map_or(0.3, |(_, trial_s)| trial_s);
        let workload =
            |id: &str| record::Workload { id: id.to_owned(), ..record::Workload::default() };
        let workloads = vec![workload("a"), workload("b")];
        let arms = vec![record::Arm::default(), record::Arm::default()];
        record::Plan {
            budget_s,
            trial_s,
            min_pairs,
            max_pairs,
            workloads,
            arms,
            ..record::Plan::default()
        }
    }

    const PROFILE: &str = r#"
name = "tiny"
description = "One kind of request."
[[workload]]
id = "w"
label = "read 4 KiB"
operation = "read"
pattern = "random"
block_size = "4KiB"
queue_depth = 1
headline = "iops"
"#;

    /// The measurements of a 20 s run on a directory before its trials; `None` without direct I/O.
    fn looked(wants_why: bool) -> Option<Option<Why>> {
        let place = tempfile::tempdir().unwrap();
        let profile = Profile::from_toml(PROFILE, "a test").unwrap();
        let mut request = Request::of(place.path(), profile);
        request.target.size = Some(32 << 20);
        request.selection.systems.push("plain".to_owned());
        (request.budget, request.seed) = (Some(Duration::from_secs(20)), Some(1));
        request.why = wants_why;
        let plan = decide(&request, &look(&request)).unwrap();
        let stop = AtomicBool::new(false);
        let time = RunTime::begin(&stop);
        let claimed = Claimed::claim(&plan, &time).unwrap();
        let mut found = None;
        let mut watch = |event: &Event| {
            if let Event::Why(why) = event {
                found = Some((**why).clone());
            }
        };
        let mut recorder = Recorder::begin(&plan, &claimed, "0", &mut watch).unwrap();
        let prepared = claimed.prepare(&mut recorder);
        assert!(prepared.halt.is_none());
        let range = prepared.claimed.plain.range.as_ref().unwrap();
        let is_direct = range.mode() == IoMode::Direct;
        // It is disabled for a while, and every later request needs it.
        #[cfg(target_os = "linux")]
        if is_direct {
            let flags = rustix::fs::fcntl_getfl(&*range.io_target().file).unwrap();
            assert!(flags.contains(rustix::fs::OFlags::DIRECT), "{flags:?}");
        }
        drop(prepared);
        drop(recorder);
        is_direct.then_some(found)
    }

    #[test]
    fn plain_is_looked_at_by_depth_and_size_there_and_back() {
        let Some(found) = looked(true) else { return eprintln!("SKIPPED: no direct I/O here") };
        let Why { curve, memory, .. } = found.unwrap();
        if let Some(MemoryCost { free_s_per_mib, reused_s_per_mib }) = memory {
            assert!(free_s_per_mib > 0.0 && reused_s_per_mib > 0.0, "{memory:?}");
        }
        let all = points();
        // A busy machine may need longer than the share of a run that all points may take.
        assert!(curve.len() >= all.len() / 2 && curve.len() <= 2 * all.len(), "{}", curve.len());
        let there = all.iter().map(|point| (0, *point));
        let back = all.iter().rev().map(|point| (1, *point));
        for (found, (pass, Point(is_random, block_size, depth))) in
            curve.iter().zip(there.chain(back))
        {
            assert_eq!((found.pass, found.block_size, found.depth), (pass, block_size, depth));
            assert_eq!(found.pattern == record::Pattern::Random, is_random);
            assert_eq!(found.operation, record::Operation::Read);
            assert!(found.ios > 0 && found.elapsed_s > 0.0 && found.latency_us > 0.0, "{found:?}");
            if let Some(disk) = found.disk {
                assert!(disk.asked >= found.ios && disk.span_s >= found.elapsed_s, "{found:?}");
            }
        }
        assert_eq!(looked(false), Some(None), "nobody asked");
    }

    #[test]
    fn a_slow_disk_is_known_by_size_and_by_depth() {
        let first = &points()[..8];
        assert!(first.contains(&Point(false, 1 << 20, 1)) && first.contains(&Point(true, 4096, 4)));
    }

    #[test]
    fn all_points_take_a_small_part_of_a_run() {
        let n = 2 * points().len();
        for budget_s in [30.0, 60.0, 120.0, 3600.0] {
            let (each, whole) = lengths(&plan(budget_s, None), n).unwrap();
            assert!(each >= LEAST && each <= MOST, "{budget_s}: {each:?}");
            assert!(whole.as_secs_f64() <= 0.05 * budget_s, "{budget_s}: {whole:?}");
            assert!((each * PASSES * n as u32) < whole, "{budget_s}: {each:?} of {whole:?}");
        }
        assert_eq!(lengths(&plan(10.0, None), n), None, "too short to tell anything");
        // A fixed number of trials: their own time counts, not a limit.
        assert_eq!(lengths(&plan(1e6, Some((3, 0.02))), n), None);
        assert!(lengths(&plan(1e6, Some((30, 2.0))), n).is_some());
    }

    #[test]
    fn the_page_cache_is_not_read_into_on_a_slow_disk_or_in_a_small_file() {
        assert_eq!(reads_into_cache(30e6, 1 << 30), None);
        assert_eq!(reads_into_cache(3e9, 8 << 20), None);
        assert_eq!(reads_into_cache(200e6, 1 << 30), Some(4));
        assert!(reads_into_cache(3e9, 1 << 30).is_none_or(|reads| (4..=64).contains(&reads)));
    }

    #[test]
    fn a_cipher_of_ours_has_a_speed_and_another_none() {
        let arm = |cipher: Option<&str>, data_unit| record::Arm {
            cipher: cipher.map(str::to_owned),
            data_unit,
            ..record::Arm::default()
        };
        let tier = cryptbench_cipher::tier().unwrap();
        let arms = [
            arm(None, None),
            arm(Some("aes-256-xts"), Some(512)),
            arm(Some("aes-256-xts"), Some(512)),
            arm(Some("aes-256-gcm"), Some(4096)),
            arm(Some("serpent-xts"), Some(4096)),
        ];
        let found = ciphers(&arms, tier);
        let named: Vec<_> = found.iter().map(|f| (&f.cipher[..], f.data_unit)).collect();
        let expected = [("aes-256-xts", 512), ("serpent-xts", 4096)];
        let expected: Vec<_> = expected
            .into_iter()
            .filter(|(name, _)| cryptbench_cipher::find(name).is_ok())
            .collect();
        assert_eq!(named, expected);
        assert!(found[0].encrypt_bytes_per_s > 1e6 && !found[0].kernel.is_empty());
    }
}
