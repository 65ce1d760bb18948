//! HD Tune's chart: speed over the surface with access times as dots, and the figures next to it.

use std::collections::BTreeSet;

use cryptbench_estimate::compatibility::mean;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Headline, Pattern, Samples, Workload};
use cryptbench_stats::{median, quantile};

use super::{Chosen, chosen};
use crate::quantity::{NONE, headline, megabytes, percent};
use crate::reading::reading;
use crate::wording::Sign;

/// Maximum number of encrypted arms that are drawn next to plain.
const MOST_ARMS: usize = 4;

/// Number of points of a curve whose samples leave no gaps.
const EVEN_POINTS: u64 = 100;

/// Maximum number of dots of one arm; with more, the dots would merge.
const MOST_DOTS: usize = 200;

/// The share of dots that must lie within the scale; a few slow outliers are drawn at the end of the scale.
const DOTS_WITHIN: f64 = 0.99;

/// The chart of one sampled workload.
pub struct Curve<'a> {
    /// The workload that reads the surface.
    pub workload: &'a Workload,
    /// The random workload whose access times are the dots.
    pub access: Option<&'a Workload>,
    /// Plain first.
    pub arms: Vec<ArmCurve<'a>>,
    /// Arms for which there was no room.
    pub left_out: usize,
    /// Bytes from the start of the surface to the end of the read data.
    pub extent: u64,
    /// The largest speed of all arms in bytes per second, above 0.
    pub fastest: f64,
    /// Access time at the end of the scale in microseconds; above 0 if there are dots.
    pub slowest_us: f64,
    /// HD Tune's figures: a name, and a value for each arm of `arms`.
    pub figures: Vec<(String, Vec<String>)>,
}

/// One arm.
pub struct ArmCurve<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Offset in bytes and speed in bytes per second (median over trials), ascending offsets.
    pub points: Vec<(u64, f64)>,
    /// The lowest and the highest speed at each of these offsets, if there are several trials.
    pub between: Vec<(u64, [f64; 2])>,
    /// Offset in bytes and access time in microseconds.
    pub dots: Vec<(u64, f64)>,
    /// Smallest, mean and largest speed of the curve, bytes per second.
    pub range: [f64; 3],
}

/// The chart, unless no workload was sampled.
pub fn curve<'a>(lookup: &Lookup<'a>) -> Option<Curve<'a>> {
    let workload = lookup.workloads().iter().find(|w| is_surface(lookup, w))?;
    let Chosen { arms, left_out } = chosen(lookup, MOST_ARMS);
    let places = Places::of(lookup, workload)?;
    let access = access_workload(lookup, &arms);
    let arms: Vec<ArmCurve<'a>> = arms
        .into_iter()
        .map(|arm| {
            let speeds = speeds(lookup, workload, arm, &places);
            let median = |(at, v): &(u64, Vec<f64>)| Some((*at, median(v)?));
            let points: Vec<_> = speeds.iter().filter_map(median).collect();
            let ends = |(at, v): &(u64, Vec<f64>)| {
                let fold = |f: fn(f64, f64) -> f64| v.iter().copied().reduce(f);
                (v.len() > 1).then_some((*at, [fold(f64::min)?, fold(f64::max)?]))
            };
            let between = speeds.iter().filter_map(ends).collect();
            let speeds: Vec<f64> = points.iter().map(|(_, v)| *v).collect();
            let fold = |f: fn(f64, f64) -> f64| speeds.iter().copied().reduce(f).unwrap_or(0.0);
            let range = [fold(f64::min), mean(&speeds).unwrap_or(0.0), fold(f64::max)];
            let dots = access.map_or_else(Vec::new, |w| dots(lookup, w, arm));
            ArmCurve { arm, points, between, dots, range }
        })
        .collect();
    let fastest = arms.iter().map(|a| a.range[2]).fold(0.0, f64::max);
    let times: Vec<f64> = arms.iter().flat_map(|a| a.dots.iter().map(|(_, us)| *us)).collect();
    let last_dot = arms.iter().flat_map(|a| a.dots.iter().map(|(at, _)| *at)).max().unwrap_or(0);
    let figures = figures(lookup, workload, &arms);
    (fastest > 0.0).then(|| Curve {
        workload,
        access,
        left_out,
        extent: places.end.max(last_dot.saturating_add(1)),
        fastest,
        slowest_us: quantile(&times, DOTS_WITHIN).unwrap_or(0.0),
        figures,
        arms,
    })
}

/// Whether a workload covers the surface, either at sampled offsets or completely while it takes samples.
fn is_surface(lookup: &Lookup<'_>, workload: &Workload) -> bool {
    workload.pattern == Pattern::Sampled
        || workload.pattern == Pattern::Sequential
            && samples(lookup, workload, None).next().is_some()
}

/// The first offsets of the curve's samples, in ascending order.
struct Places {
    starts: Vec<u64>,
    end: u64,
}

impl Places {
    /// Uses the offsets of all trials of all arms. A gap between two requests starts a new sample.
    fn of(lookup: &Lookup<'_>, workload: &Workload) -> Option<Self> {
        let offsets: BTreeSet<u64> =
            samples(lookup, workload, None).flat_map(|s| s.offset.iter().copied()).collect();
        let end = offsets.last()?.saturating_add(workload.block_size);
        let mut starts: Vec<u64> = Vec::new();
        let mut next = None;
        for offset in offsets {
            if next != Some(offset) {
                starts.push(offset);
            }
            next = Some(offset.saturating_add(workload.block_size));
        }
        // Samples from a complete read are spread out, and each sample counts for the points on both sides.
        let first = *starts.first()?;
        if starts.len() == 1 || workload.pattern == Pattern::Sequential {
            let step = ((end - first) / EVEN_POINTS).max(1);
            let evenly = (0..EVEN_POINTS).map(|i| first + i * step);
            starts = evenly.take_while(|at| *at < end).collect();
        }
        Some(Self { starts, end })
    }

    fn index(&self, offset: u64) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }
}

/// The samples of the measured trials of a workload, of one arm or of all arms.
fn samples<'a>(
    lookup: &Lookup<'a>,
    workload: &'a Workload,
    arm: Option<&'a Arm>,
) -> impl Iterator<Item = &'a Samples> {
    lookup
        .record
        .trials
        .iter()
        .filter(move |t| t.workload == workload.id && t.block.is_some())
        .filter(move |t| arm.is_none_or(|arm| t.arm == arm.id))
        .filter_map(|t| t.measured.samples.as_ref())
}

/// Speeds at each offset in each trial: bytes divided by latency, times the requests in flight.
fn speeds(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arm: &Arm,
    places: &Places,
) -> Vec<(u64, Vec<f64>)> {
    let in_flight = f64::from(workload.in_flight().max(1));
    let mut speeds: Vec<Vec<f64>> = vec![Vec::new(); places.starts.len()];
    for samples in samples(lookup, workload, Some(arm)) {
        let mut sums = vec![(0_u32, 0.0_f64); places.starts.len()];
        for (offset, us) in samples.offset.iter().zip(&samples.latency_us) {
            let (n, time) = &mut sums[places.index(*offset)];
            *n += 1;
            *time += f64::from(*us);
        }
        for (i, (n, us)) in sums.into_iter().enumerate() {
            let bytes = f64::from(n) * workload.block_size as f64;
            let speed = in_flight * bytes / (us / 1e6);
            if n > 0 && speed.is_finite() {
                speeds[i].push(speed);
            }
        }
    }
    places.starts.iter().copied().zip(speeds).collect()
}

/// The random workload whose headline is a time, and for which most arms have samples. If there are several such
/// workloads, the workload with the smallest requests.
fn access_workload<'a>(lookup: &Lookup<'a>, arms: &[&'a Arm]) -> Option<&'a Workload> {
    let sampled = |w: &'a Workload| {
        arms.iter().filter(|a| samples(lookup, w, Some(a)).next().is_some()).count()
    };
    lookup
        .workloads()
        .iter()
        .filter(|w| w.figure() == Some(Headline::Latency) && !is_surface(lookup, w))
        .map(|w| (sampled(w), w))
        .filter(|(n, _)| *n > 0)
        .max_by_key(|(n, w)| (*n, std::cmp::Reverse(w.block_size)))
        .map(|(_, w)| w)
}

fn dots(lookup: &Lookup<'_>, workload: &Workload, arm: &Arm) -> Vec<(u64, f64)> {
    let all: Vec<(u64, f64)> = samples(lookup, workload, Some(arm))
        .flat_map(|s| s.offset.iter().copied().zip(s.latency_us.iter().map(|us| f64::from(*us))))
        .filter(|(_, us)| us.is_finite())
        .collect();
    let step = all.len().div_ceil(MOST_DOTS).max(1);
    all.into_iter().step_by(step).collect()
}

/// Transfer rates of the curve, access times, burst rate and CPU usage.
fn figures(
    lookup: &Lookup<'_>,
    workload: &Workload,
    arms: &[ArmCurve<'_>],
) -> Vec<(String, Vec<String>)> {
    let mut rows: Vec<(String, Vec<String>)> = ["minimum", "average", "maximum"]
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            let speed = |a: &ArmCurve<'_>| match a.points.is_empty() {
                true => NONE.to_owned(),
                false => megabytes(a.range[i]),
            };
            (name.to_owned(), arms.iter().map(speed).collect())
        })
        .collect();
    for other in lookup.workloads().iter().filter(|w| w.id != workload.id) {
        let value = |a: &ArmCurve<'_>| {
            let reading = reading(lookup, other, a.arm);
            let cell = lookup.cell(other, a.arm).filter(|c| c.trials > 0);
            let number = cell.map_or_else(|| NONE.to_owned(), |c| headline(other, c));
            match reading.and_then(|r| r.mark) {
                Some(Sign::Cached) => format!("{number} c"),
                _ => number,
            }
        };
        rows.push((other.label.clone(), arms.iter().map(value).collect()));
    }
    let usage = |a: &ArmCurve<'_>| {
        lookup
            .cell(workload, a.arm)
            .filter(|c| c.trials > 0)
            .map(|c| c.cpu.attributed_percent.unwrap_or(c.cpu.machine_percent))
            .map_or_else(|| NONE.to_owned(), percent)
    };
    rows.push(("CPU usage".to_owned(), arms.iter().map(usage).collect()));
    rows
}
