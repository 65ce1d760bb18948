//! The bottleneck of an arm in a workload: derived from the requests that reached its underlying disk, compared with
//! plain storage and its curve.

use cryptbench_record::{
    Arm, BusyThread, CurvePoint, DiskCounts, Operation, Pattern, Record, Threads, Trial, Verdict,
    Why, Workload,
};
use cryptbench_stats::bottleneck::{
    Asked, Bottleneck, CUT, Cause, Curve, Disk, Factors, Flow, LEAST_LOSS, MORE, Point, ReadsFirst,
    bottleneck,
};
use cryptbench_stats::median;

use crate::arms::{compared, plain_arm};
use crate::cpu::processors;
use crate::lookup::Lookup;

/// An arm in a workload, compared with plain storage.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The requests issued to the arm and to plain storage, and their speeds.
    pub asked: Asked,
    /// The requests that reached the disk, if the disk counts requests and no other program used it.
    pub disk: Option<AtDisk>,
    /// Whether the loss is claimed: a loss due to chance or noise has no cause that could be found.
    pub is_certain: bool,
    /// The bottleneck; `None` if the loss is not explained.
    pub bottleneck: Option<Bottleneck>,
}

/// The requests that reached the disk, of plain storage and of the arm.
#[derive(Clone, Copy, Debug)]
pub struct AtDisk {
    /// From plain storage.
    pub plain: Flow,
    /// From the arm.
    pub arm: Flow,
    /// The parts into which the arm's loss is divided.
    pub factors: Factors,
    /// Speed of plain storage at the arm's number of requests in flight, as a share of its speed at the full queue
    /// depth; `None` if there is no curve.
    pub plain_with_so_many: Option<f64>,
}

impl Binding {
    /// Whether the arm's loss is large and certain enough to look for its cause.
    pub fn loses(&self) -> bool {
        self.is_certain && self.asked.plain_rate / self.asked.rate > LEAST_LOSS
    }
}

/// A workload, an arm, and the arm's bottleneck in this workload.
pub type Bound<'a> = (&'a Workload, &'a Arm, Binding);

/// The bindings of a record: each workload of requests in one direction, and each arm that shares plain storage's disk.
pub fn bindings<'a>(lookup: &Lookup<'a>) -> Vec<Bound<'a>> {
    let record = lookup.record;
    let is_elsewhere = |arm: &Arm| {
        record.target.places().any(|place| place.on_another_disk && place.arm == arm.id)
    };
    let arms: Vec<_> =
        compared(&record.plan.arms).into_iter().filter(|arm| !is_elsewhere(arm)).collect();
    let mut curves: Vec<(&Operation, &Pattern, Curve)> = Vec::new();
    let mut found = Vec::new();
    for workload in record.plan.workloads.iter().filter(|w| w.is_of_requests()) {
        let (operation, pattern) = (&workload.operation, &workload.pattern);
        if !matches!(operation, Operation::Read | Operation::Write) {
            continue;
        }
        let known = curves.iter().position(|(o, p, _)| (*o, *p) == (operation, pattern));
        let known = known.unwrap_or_else(|| {
            curves.push((operation, pattern, curve(lookup, operation, pattern)));
            curves.len() - 1
        });
        for arm in &arms {
            let binding = binding(lookup, workload, arm, &curves[known].2);
            found.extend(binding.map(|binding| (workload, *arm, binding)));
        }
    }
    found
}

/// The bottleneck of `arm` in `workload`. `None` unless both the arm and plain storage have trials.
fn binding(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm, curve: &Curve) -> Option<Binding> {
    let record = lookup.record;
    let plain = plain_arm(record)?;
    let rate = |w: &Workload, arm: &Arm| {
        lookup.cell(w, arm).map(|c| c.iops).filter(|rate| *rate > 0.0 && rate.is_finite())
    };
    let alone = record.plan.workloads.iter().find(|w| w.in_flight() == 1 && is_alike(w, workload));
    let (plain_rate, own_rate) = (rate(workload, plain)?, rate(workload, arm)?);
    let trials = |arm: &Arm| lookup.trials.of_cell(&workload.id, &arm.id);
    let work = |arm: &Arm| work_s(&trials(arm));
    let more_work_s = work(arm).zip(work(plain)).map(|(arm, plain)| arm - plain);
    let work_s = more_work_s.filter(|s| *s > 0.0);
    let busiest_thread = busiest(&trials(arm), arm);
    // Work that the load thread also does for plain storage is not part of an inline arm's work.
    let own_work = busiest_thread.map(|busy| busy.works / own_rate);
    let issuing = match is_inline(arm) {
        true => busiest(&trials(plain), arm).map(|busy| busy.works / plain_rate),
        false => Some(0.0),
    };
    let disk = at_disk(lookup, workload, arm, curve);
    let reads_first = alone.filter(|_| disk.is_some() && workload.operation == Operation::Write);
    let asked = Asked {
        depth: f64::from(workload.in_flight()),
        bytes: workload.block_size as f64,
        reads: workload.operation == Operation::Read,
        rate: own_rate,
        plain_rate,
        alone: alone.and_then(|w| rate(w, arm).zip(rate(w, plain))),
        pieces_alone: disk.and_then(|disk| pieces_alone(lookup, workload, arm, &disk.arm)),
        work_s,
        unshared_work_s: work_s.map(|work_s| {
            let one = own_work.zip(issuing).map_or(0.0, |(own, issuing)| own - issuing);
            one.max(work_s / processors(record)).min(work_s)
        }),
        reads_first: reads_first.and_then(|alone| reads_first_of(lookup, workload, alone, arm)),
        busiest_thread: busiest_thread.map(|busy| busy.works),
        waits: busiest_thread.map_or(0.0, |busy| busy.waits),
        processors: work(arm).map(|work_s| own_rate * work_s / processors(record)),
        cipher_s: cipher_s(record, workload, arm),
    };
    let of_disk = disk.map(|disk| Disk { plain: disk.plain, arm: disk.arm, curve });
    let verdict = lookup.cell(workload, arm).and_then(|cell| cell.verdict.as_ref());
    let is_certain = matches!(verdict, None | Some(Verdict::Costs { .. } | Verdict::Cached));
    // The speed of a cache is neither the disk's nor the CPU's, so no other cause applies.
    let is_cached = matches!(verdict, Some(Verdict::Cached));
    let may_be = |found: &Bottleneck| !is_cached || matches!(found.cause, Cause::Cache { .. });
    let bottleneck = bottleneck(&asked, of_disk).filter(|found| is_certain && may_be(found));
    Some(Binding { asked, disk, is_certain, bottleneck })
}

/// The disk requests per second of `arm` in a workload with the same direction and pattern, at queue depth 1, whose
/// requests it splits into pieces of the size in `flow`.
fn pieces_alone(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm, flow: &Flow) -> Option<f64> {
    let is_meant = |w: &&Workload| {
        (w.in_flight(), &w.operation, &w.pattern) == (1, &workload.operation, &workload.pattern)
    };
    let pieces = |w| {
        let alone = self::flow(lookup, w, arm)?;
        let is_cut = alone.per_request >= CUT && (alone.bytes / flow.bytes - 1.0).abs() < 0.1;
        is_cut.then_some(alone.rate * alone.per_request)
    };
    lookup.record.plan.workloads.iter().filter(is_meant).find_map(pieces)
}

/// Whether two workloads differ at most in the number of requests in flight.
pub fn is_alike(a: &Workload, b: &Workload) -> bool {
    let asked = |w: &Workload| (w.block_size, w.file_bytes, w.read_percent, w.fresh_file, w.stdio);
    let how =
        |w: &Workload| (w.operation.clone(), w.pattern.clone(), w.flush.clone(), w.content.clone());
    asked(a) == asked(b) && how(a) == how(b)
}

/// The requests that reached the disk. `None` if requests are not counted, if a page cache is in front of the disk, or
/// if other programs used the disk.
fn at_disk(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm, curve: &Curve) -> Option<AtDisk> {
    let of = |arm| flow(lookup, workload, arm);
    let (plain, arm) = (of(plain_arm(lookup.record)?)?, of(arm)?);
    let with = |flow: &Flow| Flow { bytes: plain.bytes, per_request: 1.0, ..*flow }.on(curve);
    Some(AtDisk {
        plain,
        arm,
        factors: Factors::of(&plain, &arm)?,
        plain_with_so_many: with(&arm).zip(with(&plain)).map(|(some, all)| some / all),
    })
}

/// CPU seconds per request, spent by the load, the system's programs and the kernel.
fn work_s(trials: &[&Trial]) -> Option<f64> {
    let (mut seconds, mut requests) = (0.0, 0.0);
    for trial in trials {
        seconds += trial.measured.cpu_attributed_s()?;
        requests += trial.measured.ios as f64;
    }
    (requests > 0.0).then(|| seconds / requests)
}

/// The speed of plain storage in one direction and pattern, by the requests that reached its disk: as measured before
/// the trials or, if that measurement is missing, in the trials. For sizes that were measured only in other patterns,
/// those patterns are used.
fn curve(lookup: &Lookup<'_>, operation: &Operation, pattern: &Pattern) -> Curve {
    let record = lookup.record;
    let Some(why) = &record.why else { return Curve::default() };
    let all = measured(why, operation);
    let has_own = |size| all.iter().any(|(p, _)| p.pattern == *pattern && p.block_size == size);
    let is_meant = |p: &CurvePoint| p.pattern == *pattern || !has_own(p.block_size);
    let looked_at = all.iter().filter(|(p, _)| is_meant(p)).map(|(_, flow)| flow.point());
    let own = record.plan.workloads.iter();
    let is_new = |w: &&Workload| {
        let alike = |(p, _): &(&CurvePoint, Flow)| {
            (p.block_size, p.depth, &p.pattern) == (w.block_size, w.in_flight(), pattern)
        };
        (&w.operation, &w.pattern) == (operation, pattern) && !all.iter().any(alike)
    };
    let own = own.filter(is_new);
    let in_trials = own.filter_map(|w| Some(flow(lookup, w, plain_arm(record)?)?.point()));
    Curve::new(looked_at.chain(in_trials).collect())
}

/// The measurements of plain storage in one direction, one per depth and size: each with its position in the record,
/// and with the requests that reached the disk as the median over the passes.
fn measured<'a>(why: &'a Why, operation: &Operation) -> Vec<(&'a CurvePoint, Flow)> {
    let all: Vec<_> = why.curve.iter().filter(|p| p.operation == *operation).collect();
    let alike = |a: &CurvePoint, b: &CurvePoint| {
        (a.block_size, a.depth, &a.pattern) == (b.block_size, b.depth, &b.pattern)
    };
    let is_first = |(i, p): &(usize, &&CurvePoint)| !all[..*i].iter().any(|q| alike(q, p));
    let firsts = all.iter().enumerate().filter(is_first).map(|(_, first)| *first);
    let flow = |first: &'a CurvePoint| {
        // The rate is that of the measured time, like the flow of a cell: the span also contains the filling and
        // draining of the queue.
        let while_measured = |p: &CurvePoint| Some(p.disk?.at_rate(p.iops()));
        let passes: Vec<_> =
            all.iter().filter(|p| alike(p, first)).filter_map(|p| while_measured(p)).collect();
        let middle = |of: &dyn Fn(&DiskCounts) -> Option<f64>| {
            median(&passes.iter().filter_map(of).collect::<Vec<_>>())
        };
        let rate = |disk: &DiskCounts| Some((disk.reads + disk.writes) as f64 / disk.span_s);
        let flow = Flow {
            rate: middle(&rate)?,
            in_flight: middle(&DiskCounts::in_flight)?,
            per_request: 1.0,
            bytes: middle(&DiskCounts::mean_bytes)?,
            busy: middle(&|disk| busy(disk, first.depth))?,
        };
        Some((first, flow))
    };
    firsts.filter_map(flow).collect()
}

/// Plain storage's speed for random requests by number in flight: direction, bytes, and points by depth.
pub fn by_depth(record: &Record) -> Vec<(Operation, u64, Vec<Point>)> {
    let of = |operation: Operation| {
        let random = measured(record.why.as_ref()?, &operation).into_iter();
        let mut random: Vec<_> = random.filter(|(p, _)| p.pattern == Pattern::Random).collect();
        random.sort_by_key(|(p, _)| p.depth);
        let bytes = random.first()?.0.block_size;
        let point =
            |flow: Flow| Point { in_flight: flow.in_flight, bytes: flow.bytes, rate: flow.rate };
        Some((operation, bytes, random.into_iter().map(|(_, flow)| point(flow)).collect()))
    };
    [Operation::Read, Operation::Write].into_iter().filter_map(of).collect()
}

/// Share of the time in which the disk has a request, of `depth` in flight. The kernel counts this in ticks, with an
/// error of a tenth for short requests. With at most one request in flight, this share is the mean number in flight.
fn busy(counts: &DiskCounts, depth: u32) -> Option<f64> {
    let in_flight = counts.in_flight()?;
    let at_once = f64::from(depth) * counts.per_request()?.max(1.0);
    let most = in_flight.min(1.0);
    Some((1.0 - counts.idle_share()?).clamp((in_flight / at_once).min(most), most))
}

/// Share of the time in which the busiest load thread worked on plain storage. If this share is 1, the thread was
/// measured instead of the disk.
pub fn asking(lookup: &Lookup<'_>, workload: &Workload) -> Option<f64> {
    let plain = plain_arm(lookup.record)?;
    let trials = lookup.trials.of_cell(&workload.id, &plain.id);
    Some(busy_share(&trials, |threads| [threads.load.as_ref(), None])?.works)
}

/// How busy a thread was, as shares of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Busy {
    works: f64,
    /// It could run but had no CPU.
    waits: f64,
}

/// The shares of an arm's busiest thread. An inline arm works in the thread that issues the load, and in no other
/// thread: other threads serve the disk below the arm, as they do for plain storage. In other arms, the load thread only
/// issues requests.
fn busiest(trials: &[&Trial], arm: &Arm) -> Option<Busy> {
    busy_share(trials, |threads| match is_inline(arm) {
        true => [threads.load.as_ref(), None],
        false => [threads.helper.as_ref(), threads.kernel.as_ref()],
    })
}

fn is_inline(arm: &Arm) -> bool {
    arm.attachment.as_deref() == Some("inline")
}

/// The reads before each write of an arm, if any, and the disk time of a plain write if the arm's write follows
/// its reads: more requests than the queue depth are then in flight. `alone`: at queue depth 1; `at once`: at
/// the queue depth.
fn reads_first_of(
    lookup: &Lookup<'_>,
    workload: &Workload,
    alone: &Workload,
    arm: &Arm,
) -> Option<ReadsFirst> {
    let plain = plain_arm(lookup.record)?;
    let counts = |w: &Workload, arm: &Arm| cell_counts(lookup, w, arm);
    let alone = (counts(alone, arm)?, counts(alone, plain)?);
    reads_before(&counts(workload, arm)?, &counts(workload, plain)?, (&alone.0, &alone.1))
}

/// The reads before each write, from the counters of the trials of the arm and of plain storage, each also at queue
/// depth 1.
fn reads_before(
    arm: &[DiskCounts],
    plain: &[DiskCounts],
    (arm_alone, plain_alone): (&[DiskCounts], &[DiskCounts]),
) -> Option<ReadsFirst> {
    let each = |part: f64, disk: &DiskCounts| Some(part / disk.asked as f64);
    let reads = |disk: &DiskCounts| each(disk.reads as f64, disk);
    let per_request = middle(arm, &reads)? - middle(plain, &reads)?;
    if per_request < MORE - 1.0 {
        return None;
    }
    let in_flight = middle(arm_alone, &DiskCounts::writes_in_flight)?;
    let writes = middle(arm_alone, &|disk| each(disk.writes as f64, disk))?;
    let at_disk_s = middle(plain_alone, &|disk| each(disk.write_s, disk))?;
    Some(ReadsFirst {
        per_request,
        bytes: middle(arm, &|disk| Some(disk.read_bytes as f64 / disk.reads as f64))?,
        seconds: middle(arm, &|disk| each(disk.read_s, disk))?,
        written_later_s: if in_flight > writes.max(1.0) { at_disk_s } else { 0.0 },
    })
}

/// The median of the trials' counts: if another program interrupted a trial, that trial's queue and request times are
/// not typical of the arm.
fn middle(counts: &[DiskCounts], of: &dyn Fn(&DiskCounts) -> Option<f64>) -> Option<f64> {
    median(&counts.iter().filter_map(of).filter(|n| n.is_finite()).collect::<Vec<_>>())
}

fn busy_share(
    trials: &[&Trial],
    own: impl Fn(&Threads) -> [Option<&BusyThread>; 2],
) -> Option<Busy> {
    let shares = trials.iter().filter_map(|trial| {
        let threads = trial.measured.threads.as_ref()?;
        // The share is relative to the measured time: between slices, no requests are issued and the threads are idle.
        let share = |seconds: f64| seconds / threads.asked as f64 * trial.iops();
        let shares = |thread: &BusyThread| Busy {
            works: share(thread.cpu_s),
            waits: share(thread.waited_s),
        };
        let all = |busy: &Busy| busy.works + busy.waits;
        let shares = own(threads).into_iter().flatten().map(shares);
        shares.filter(|busy| all(busy).is_finite()).max_by(|a, b| all(a).total_cmp(&all(b)))
    });
    let shares: Vec<Busy> = shares.collect();
    let middle = |of: fn(&Busy) -> f64| median(&shares.iter().map(of).collect::<Vec<_>>());
    Some(Busy { works: middle(|busy| busy.works)?, waits: middle(|busy| busy.waits)? })
}

/// CPU seconds of the arm's cipher per request.
fn cipher_s(record: &Record, workload: &Workload, arm: &Arm) -> Option<f64> {
    let ciphers = &record.why.as_ref()?.ciphers;
    let own = ciphers
        .iter()
        .find(|c| Some(&c.cipher) == arm.cipher.as_ref() && Some(c.data_unit) == arm.data_unit)?;
    Some(match workload.operation {
        Operation::Read => own.seconds(workload.block_size, 0),
        _ => own.seconds(0, workload.block_size),
    })
}

/// The disk requests in the trials of one cell, without those from other programs. `None` as for [`at_disk`].
fn flow(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Option<Flow> {
    let trials = lookup.trials.of_cell(&workload.id, &arm.id);
    flow_of(&trials, &cell_counts(lookup, workload, arm)?, workload.in_flight())
}

/// The disk counters of each trial of a cell. `None` as for [`at_disk`].
fn cell_counts(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Option<Vec<DiskCounts>> {
    let record = lookup.record;
    let is_known =
        record.reaches_the_disk(workload) && record.disk_disturbed(&workload.id, &arm.id).is_none();
    let trials = lookup.trials.of_cell(&workload.id, &arm.id);
    counts_of(&trials, record.idle_disk_of(&arm.id)).filter(|_| is_known)
}

/// The disk counters of each trial, minus the activity of `others`.
fn counts_of(trials: &[&Trial], others: Option<&DiskCounts>) -> Option<Vec<DiskCounts>> {
    let of = |trial: &&Trial| {
        let counts = trial.measured.disk?;
        // Other programs were active during the whole span, not only during the measured time.
        Some(others.map_or(counts, |others| counts.without(others)).at_rate(trial.iops()))
    };
    trials.iter().map(of).collect()
}

fn flow_of(trials: &[&Trial], counts: &[DiskCounts], depth: u32) -> Option<Flow> {
    Some(Flow {
        rate: median(&trials.iter().map(|trial| trial.iops()).collect::<Vec<_>>())?,
        in_flight: middle(counts, &DiskCounts::in_flight)?,
        per_request: middle(counts, &DiskCounts::per_request)?,
        bytes: middle(counts, &DiskCounts::mean_bytes)?,
        busy: middle(counts, &|disk| busy(disk, depth))?,
    })
}

#[cfg(test)]
mod tests {
    use cryptbench_record::Observation;

    use super::*;

    /// 1000 requests in half a second; the span is twice as long, and in the rest of it nothing happens.
    fn trial() -> Trial {
        let busy = |cpu_s| Some(BusyThread { cpu_s, ..BusyThread::default() });
        let (load, helper, kernel) = (busy(0.48), busy(0.2), busy(0.35));
        let threads =
            Threads { span_s: 1.0, asked: 1000, load, helper, kernel, ..Threads::default() };
        let measured = Observation {
            ios: 1000,
            elapsed_s: 0.5,
            disk: Some(counts()),
            threads: Some(threads),
            ..Observation::default()
        };
        Trial { measured, ..Trial::default() }
    }

    fn counts() -> DiskCounts {
        DiskCounts {
            span_s: 1.0,
            asked: 1000,
            reads: 1000,
            read_bytes: 4_096_000,
            read_s: 4.0,
            ..DiskCounts::default()
        }
    }

    #[test]
    fn an_inline_arm_is_as_busy_as_the_load_and_others_as_their_own_threads() {
        let share = |attachment: &str| {
            let arm = Arm { attachment: Some(attachment.to_owned()), ..Arm::default() };
            busiest(&[&trial()], &arm).map(|busy| busy.works)
        };
        // Whatever the name of the arm: a delay of known length fills the same thread as a cipher.
        assert_eq!(share("inline"), Some(0.96));
        assert_eq!(share("mounted"), Some(0.7));
        let mut waits = trial();
        let threads = waits.measured.threads.as_mut().unwrap();
        threads.helper.as_mut().unwrap().waited_s = 0.25;
        // The helper works less than the kernel's thread, but is never idle for longer.
        let found = busiest(&[&waits], &Arm::default());
        assert_eq!(found, Some(Busy { works: 0.4, waits: 0.5 }));
    }

    #[test]
    fn what_reached_the_disk_is_told_over_the_time_that_was_measured() {
        // In the third, another program used the CPU: requests stayed at the disk for long.
        let mut stopped = trial();
        stopped.measured.disk = Some(DiskCounts { read_s: 80.0, ..counts() });
        let flow = |trials: &[&Trial]| flow_of(trials, &counts_of(trials, None)?, 8);
        let trials = [&trial(), &trial(), &stopped];
        let flow_of_three = flow(&trials).unwrap();
        let found = (flow_of_three.rate, flow_of_three.in_flight, flow_of_three.per_request);
        assert_eq!(found, (2000.0, 8.0, 1.0));
        assert_eq!(flow(&[&trial(), &Trial::default()]), None, "one does not count");
        let point = CurvePoint {
            operation: Operation::Read,
            block_size: 4096,
            depth: 8,
            ios: 1000,
            elapsed_s: 0.5,
            disk: Some(counts()),
            ..CurvePoint::default()
        };
        let why = Why { curve: vec![point], ..Why::default() };
        let (_, flow) = measured(&why, &Operation::Read)[0];
        assert_eq!((flow.rate, flow.in_flight, flow.busy), (2000.0, 8.0, 1.0));
    }

    #[test]
    fn writes_that_wait_for_reads_are_told_from_those_that_are_written_later() {
        let writes = |write_s| DiskCounts {
            span_s: 1.0,
            asked: 1000,
            writes: 1000,
            written_bytes: 4_096_000,
            write_s,
            ..DiskCounts::default()
        };
        let reads = |write_s| DiskCounts {
            reads: 2000,
            read_bytes: 8_192_000,
            read_s: 0.25,
            ..writes(write_s)
        };
        let plain = [writes(0.5)];
        let found = |arm: &[DiskCounts]| reads_before(arm, &plain, (arm, &plain));
        let expected = ReadsFirst {
            per_request: 2.0,
            bytes: 4096.0,
            seconds: 0.25e-3,
            written_later_s: 0.5e-3,
        };
        // More of them are in flight at the disk than the queue depth: nobody waits there for them.
        assert_eq!(found(&[reads(10.0)]), Some(expected));
        let waited = ReadsFirst { written_later_s: 0.0, ..expected };
        assert_eq!(found(&[reads(0.9)]), Some(waited));
        assert_eq!(found(&plain), None);
        let few = DiskCounts { reads: 100, ..reads(10.0) };
        assert_eq!(found(&[few]), None, "others read now and then");
    }
}
