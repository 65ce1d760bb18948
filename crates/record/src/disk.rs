//! The requests that reached the disk during a trial, the reason if they are unknown, and the activity of other
//! programs.

use serde::{Deserialize, Serialize};

use crate::{ArmRole, Record, Trial, Workload};

/// The counters of the underlying device over a span of time, not scaled to the measured time of a trial. Values
/// that the system does not count are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiskCounts {
    /// Length of the span in seconds. For a trial, it covers all its slices, including the requests that fill and
    /// drain their queues.
    pub span_s: f64,
    /// Requests that the load issued in the span.
    pub asked: u64,
    /// Their bytes.
    pub asked_bytes: u64,
    /// Reads that the device completed.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Seconds from the submission of a read to the device's queue until its completion, summed over all reads.
    pub read_s: f64,
    /// Writes that the device completed.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Seconds from submission to completion, summed over all writes.
    pub write_s: f64,
    /// Seconds in which at least one request was in flight; on Linux, counted in clock ticks.
    pub busy_s: f64,
    /// Requests in flight when the span began, which do not belong to the trial; summed over the slices of a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// Reads merged into an adjacent read before they reached the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_reads: Option<u64>,
    /// Writes merged into an adjacent write before they reached the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_writes: Option<u64>,
    /// Discards that the device completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discards: Option<u64>,
    /// Their bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded_bytes: Option<u64>,
    /// Flushes of the device's cache; if the device is a partition, those of the whole disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Seconds that flushes took, summed over all flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_s: Option<f64>,
}

impl DiskCounts {
    /// Reads and writes at the device for each request of the load.
    pub fn per_request(&self) -> Option<f64> {
        ratio((self.reads + self.writes) as f64, self.asked as f64)
    }

    /// Bytes read and written at the device for each byte of the load.
    pub fn per_byte(&self) -> Option<f64> {
        ratio(self.bytes() as f64, self.asked_bytes as f64)
    }

    /// Bytes of a read or write at the device, on average.
    pub fn mean_bytes(&self) -> Option<f64> {
        ratio(self.bytes() as f64, (self.reads + self.writes) as f64)
    }

    /// Reads and writes in flight at the device, on average over the span.
    pub fn in_flight(&self) -> Option<f64> {
        ratio(self.read_s + self.write_s, self.span_s)
    }

    /// Reads in flight at the device, on average over the span.
    pub fn reads_in_flight(&self) -> Option<f64> {
        ratio(self.read_s, self.span_s)
    }

    /// Writes in flight at the device, on average over the span.
    pub fn writes_in_flight(&self) -> Option<f64> {
        ratio(self.write_s, self.span_s)
    }

    /// Share of the span in which the disk had nothing to do, 0 to 1.
    pub fn idle_share(&self) -> Option<f64> {
        Some((1.0 - ratio(self.busy_s, self.span_s)?).max(0.0))
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    /// The counters with the time that the load's requests take at the measured rate as their span. The span of the
    /// slices also includes the time in which queues fill and drain and counters are read, which is half of the span if
    /// there are many small requests.
    pub fn at_rate(&self, requests_per_s: f64) -> Self {
        let span_s = ratio(self.asked as f64, requests_per_s).filter(|span_s| span_s.is_finite());
        Self { span_s: span_s.unwrap_or(self.span_s), ..*self }
    }

    /// These counters without the requests of `others`, which are scaled to this span; never negative.
    pub fn without(&self, others: &Self) -> Self {
        let Some(part) = ratio(self.span_s, others.span_s) else { return *self };
        let less = |all: u64, of: u64| all.saturating_sub((of as f64 * part).round() as u64);
        let less_s = |all: f64, of: f64| (all - of * part).max(0.0);
        Self {
            reads: less(self.reads, others.reads),
            read_bytes: less(self.read_bytes, others.read_bytes),
            read_s: less_s(self.read_s, others.read_s),
            writes: less(self.writes, others.writes),
            written_bytes: less(self.written_bytes, others.written_bytes),
            write_s: less_s(self.write_s, others.write_s),
            busy_s: less_s(self.busy_s, others.busy_s),
            flushes: self.flushes.zip(others.flushes).map(|(all, of)| less(all, of)),
            ..*self
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Why the requests that reach the underlying disk of a target are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Uncounted {
    /// An overlay of several file systems; it does not reveal their devices.
    Overlay,
    /// The disk is in another machine, or in this virtual machine's host.
    Network,
    /// A file system in memory.
    Memory,
    /// A program serves the file system.
    Program,
    /// The file system spans several devices.
    SeveralDevices,
    /// A page cache is between the file system and the disk, and the device above it also counts requests
    /// served from the cache.
    Cached,
    /// The device has no counters, or this user cannot read them.
    Off,
    /// A reason from a later version, or none.
    #[serde(other)]
    Unknown,
}

/// Maximum ratio of the bytes that plain storage's device transfers to the bytes requested. If the ratio is higher,
/// other programs must have caused it.
const MOST_OF_PLAIN: f64 = 1.2;

/// Evidence that other programs used the disk while a workload was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Disturbed {
    /// The disk transferred this many bytes per byte requested by plain storage, although plain storage itself adds no
    /// bytes.
    PlainMoved(f64),
    /// Before the run, the disk served other programs with this many bytes per requested byte.
    Before(f64),
}

impl Record {
    /// Evidence that other programs used the disk in the trials of `workload` on `arm`, if there is any. Other programs
    /// used the disk so much that the disk counters cannot be trusted, although [`DiskCounts::without`] subtracts their
    /// activity before the run.
    pub fn disk_disturbed(&self, workload: &str, arm: &str) -> Option<Disturbed> {
        let workload_of = self.plan.workloads.iter().find(|w| w.id == workload)?;
        let role = |t: &Trial| self.plan.arms.iter().find(|a| a.id == t.arm).map(|a| a.role);
        let is_plain = |t: &&Trial| matches!(role(t), Some(ArmRole::Plain | ArmRole::PlainAgain));
        let of_workload = |t: &&Trial| t.block.is_some() && t.workload == workload;
        let trials = || self.trials.iter().filter(of_workload);
        let moved = sum(trials().filter(is_plain)).per_byte().unwrap_or(0.0);
        if self.reaches_the_disk(workload_of) && moved > MOST_OF_PLAIN {
            return Some(Disturbed::PlainMoved(moved));
        }
        let own = sum(trials().filter(|t| t.arm == arm));
        let others = self.idle_disk_of(arm)?;
        let part = ratio(own.span_s, others.span_s)?;
        let moved = ratio(others.bytes() as f64 * part, own.asked_bytes as f64)?;
        (moved > MOST_OF_PLAIN - 1.0).then_some(Disturbed::Before(moved))
    }

    /// Whether requests to plain storage reach the disk unchanged: a page cache merges them and reads ahead, and
    /// work on files also accesses directories.
    pub fn reaches_the_disk(&self, workload: &Workload) -> bool {
        self.target.engine.direct && workload.is_of_requests() && !workload.stdio
    }

    /// The activity of an arm's disk before the run, while the run did not use it.
    pub fn idle_disk_of(&self, arm: &str) -> Option<&DiskCounts> {
        let place = self.target.places().find(|place| place.arm == arm);
        place.map_or(&self.target.idle_disk, |place| &place.idle_disk).as_ref()
    }
}

/// The sum of the disk counters of all these trials.
fn sum<'a>(trials: impl Iterator<Item = &'a Trial>) -> DiskCounts {
    trials.filter_map(|t| t.measured.disk).sum()
}

impl std::iter::Sum for DiskCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        let together = |a: Self, b: Self| Self {
            span_s: a.span_s + b.span_s,
            asked: a.asked + b.asked,
            asked_bytes: a.asked_bytes + b.asked_bytes,
            reads: a.reads + b.reads,
            read_bytes: a.read_bytes + b.read_bytes,
            read_s: a.read_s + b.read_s,
            writes: a.writes + b.writes,
            written_bytes: a.written_bytes + b.written_bytes,
            write_s: a.write_s + b.write_s,
            busy_s: a.busy_s + b.busy_s,
            queued: both(a.queued, b.queued),
            merged_reads: both(a.merged_reads, b.merged_reads),
            merged_writes: both(a.merged_writes, b.merged_writes),
            discards: both(a.discards, b.discards),
            discarded_bytes: both(a.discarded_bytes, b.discarded_bytes),
            flushes: both(a.flushes, b.flushes),
            flush_s: a.flush_s.zip(b.flush_s).map(|(a, b)| a + b),
        };
        all.reduce(together).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arm, Engine, Machine, Observation, PairedTarget, Plan, Target};

    /// 32 requests of 4 KiB, which become 40 disk requests of 8 KiB in half a second, in flight for 0.3 s each.
    fn counts() -> DiskCounts {
        DiskCounts {
            span_s: 0.5,
            asked: 32,
            asked_bytes: 32 * 4096,
            reads: 30,
            read_bytes: 30 * 8192,
            read_s: 9.0,
            writes: 10,
            written_bytes: 10 * 8192,
            write_s: 3.0,
            busy_s: 0.4,
            flushes: Some(7),
            ..DiskCounts::default()
        }
    }

    #[test]
    fn figures_follow_from_the_counts() {
        let found = counts();
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
        assert!(close(found.per_request(), 1.25) && close(found.per_byte(), 2.5));
        assert!(close(found.mean_bytes(), 8192.0) && close(found.in_flight(), 24.0));
        assert!(close(found.reads_in_flight(), 18.0) && close(found.writes_in_flight(), 6.0));
        assert!(close(found.idle_share(), 0.2));
        assert_eq!(DiskCounts::default().in_flight(), None);
        assert_eq!(DiskCounts { asked: 0, ..found }.per_request(), None);
        // The kernel counts a tick in full.
        assert!(close(DiskCounts { busy_s: 0.6, ..found }.idle_share(), 0.0));
    }

    #[test]
    fn the_edges_of_slices_make_no_queue_shorter() {
        // The 32 requests took a quarter of a second; in the rest of the span nothing was requested.
        let found = counts().at_rate(128.0);
        assert_eq!((found.in_flight(), found.idle_share()), (Some(48.0), Some(0.0)));
        assert_eq!(found.per_request(), counts().per_request());
        assert_eq!(counts().at_rate(0.0), counts(), "nothing was measured");
        assert_eq!(counts().at_rate(f64::NAN), counts());
    }

    #[test]
    fn what_others_ask_for_is_taken_off_by_the_time() {
        let others = DiskCounts {
            span_s: 1.0,
            reads: 20,
            read_bytes: 20 * 4096,
            writes: 400,
            busy_s: 0.1,
            flushes: Some(2),
            ..DiskCounts::default()
        };
        let found = counts().without(&others);
        assert_eq!((found.reads, found.writes, found.flushes), (20, 0, Some(6)));
        assert_eq!(found.read_bytes, 30 * 8192 - 10 * 4096);
        assert!((found.busy_s - 0.35).abs() < 1e-12);
        assert_eq!(
            counts().without(&DiskCounts::default()),
            counts(),
            "nothing is known of others"
        );
    }

    fn record(plain_read: u64, idle_read: u64) -> Record {
        let arm = |id: &str, role| Arm { id: id.to_owned(), role, ..Arm::default() };
        let trial = |arm: &str, read_bytes| Trial {
            arm: arm.to_owned(),
            workload: "w".to_owned(),
            block: Some(0),
            measured: Observation {
                disk: Some(DiskCounts { read_bytes, ..counts() }),
                ..Observation::default()
            },
            ..Trial::default()
        };
        let idle =
            |read_bytes| Some(DiskCounts { span_s: 0.5, read_bytes, ..DiskCounts::default() });
        let place =
            PairedTarget { arm: "b".to_owned(), idle_disk: idle(0), ..PairedTarget::default() };
        let plan = Plan {
            arms: vec![arm("p", ArmRole::Plain), arm("a", ArmRole::Encrypted)],
            workloads: vec![Workload { id: "w".to_owned(), ..Workload::default() }],
            ..Plan::default()
        };
        let engine = Engine { direct: true, ..Engine::default() };
        let paired = Some(place);
        let target = Target { idle_disk: idle(idle_read), paired, engine, ..Target::default() };
        let trials = vec![trial("p", plain_read), trial("a", 1 << 20), trial("b", 1 << 20)];
        Record {
            schema: crate::SCHEMA.to_owned(),
            program_version: String::new(),
            run_id: String::new(),
            started: String::new(),
            elapsed_s: 0.0,
            partial: false,
            plan,
            machine: Machine::default(),
            target,
            trials,
            stops: Vec::new(),
            notes: Vec::new(),
            evidence: Vec::new(),
            in_ram: None,
            why: None,
            results: None,
            node: None,
            title: None,
        }
    }

    #[test]
    fn other_programs_are_seen_by_what_plain_moves_and_by_what_moved_before() {
        let asked = counts().asked_bytes;
        let written = counts().written_bytes;
        let quiet = record(asked - written, 0);
        assert_eq!(quiet.disk_disturbed("w", "a"), None, "however much the arm itself moves");
        let busy = record(2 * asked - written, 0);
        assert_eq!(busy.disk_disturbed("w", "a"), Some(Disturbed::PlainMoved(2.0)));
        let before = record(asked - written, asked / 2);
        assert_eq!(before.disk_disturbed("w", "a"), Some(Disturbed::Before(0.5)));
        assert_eq!(before.disk_disturbed("w", "b"), None, "on another disk");
        assert_eq!(before.disk_disturbed("other", "a"), None);
        let mut buffered = record(2 * asked - written, 0);
        buffered.target.engine.direct = false;
        assert_eq!(buffered.disk_disturbed("w", "a"), None, "its cache reads ahead");
    }

    #[test]
    fn reasons_of_later_versions_are_read() {
        let read = |words: &str| serde_json::from_str::<Uncounted>(words).unwrap();
        assert_eq!(read("\"several-devices\""), Uncounted::SeveralDevices);
        assert_eq!(read("\"in-orbit\""), Uncounted::Unknown);
    }
}
