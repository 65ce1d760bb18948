//! Compares two sets cell by cell: the ratio of their means with Welch's interval, and the verdict.
//!
//! The runs of the two sets were not interleaved. A verdict therefore describes two series of runs, but not why they
//! differ; [`sentences`] states this with every result. The logarithms of the values are compared, so that the interval
//! of a difference becomes the interval of a ratio of geometric means ([`cryptbench_stats::unpaired`]).

mod pairing;
mod percent;
mod sentences;

use cryptbench_stats::{FAMILY_LEVEL, equivalent_unpaired, estimate_unpaired, holm};
use serde::Serialize;

use crate::cell::{Cell, Format, Key, Measure, Set};
use crate::estimator::Estimator;
pub use percent::{Percent, SeriesNoise};
pub use sentences::sentences;

/// The parameters of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The quantity to compare. By default each cell uses the first of bandwidth, IOPS and latency that all its runs
    /// have; for small requests, IOPS come first.
    pub measure: Option<Measure>,
    /// A figure in addition to the ratio of geometric means.
    pub estimator: Option<Estimator>,
    /// Confidence of the intervals, as a fraction.
    pub confidence: f64,
    /// Margin of equivalence, as a fraction: cells that are shown to differ by less than this margin are called
    /// equivalent.
    pub margin: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { measure: None, estimator: None, confidence: 0.95, margin: 0.03 }
    }
}

/// The result of comparing two sets.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Always true: runs that were not interleaved cannot be paired afterwards.
    pub unpaired: bool,
    /// The first set, the baseline.
    pub a: Side,
    /// The second set.
    pub b: Side,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Family-wise significance level of the verdicts, after Holm's correction over the cells.
    pub level: f64,
    /// The margin of equivalence, as a fraction.
    pub margin: f64,
    /// The requested figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimator: Option<Estimator>,
    /// Cells that both sets have.
    pub cells: Vec<Compared>,
    /// Cells that both sets have, but without the requested measure.
    pub without_measure: Vec<String>,
    /// Cells that are only in the first set.
    pub only_a: Vec<String>,
    /// Cells that are only in the second set.
    pub only_b: Vec<String>,
    /// Mean percentage over all cells, by study C's method; requires at least two cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<Percent>,
}

/// A summary of one set.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// The name given by the user.
    pub label: String,
    /// The formats found.
    pub formats: Vec<Format>,
    /// Number of files.
    pub files: usize,
    /// Number of cells.
    pub cells: usize,
    /// Smallest and largest number of runs per cell.
    pub runs: (usize, usize),
    /// The set's remarks.
    pub remarks: Vec<String>,
    /// The differences between identical series of this set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<SeriesNoise>,
}

/// A cell that both sets have.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The measured work, as the first set records it.
    pub key: Key,
    /// The measured work in words, from its key.
    pub name: String,
    /// The name of the work for users: the name in the record, otherwise `name`.
    pub title: String,
    /// The quantity compared.
    pub measure: Measure,
    /// The first set's runs.
    pub a: Values,
    /// The second set's runs.
    pub b: Values,
    /// Geometric mean of the second set divided by that of the first.
    pub ratio: f64,
    /// The interval of the ratio; absent if either side has fewer than 3 runs, or if all runs of a side are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The runs of one cell.
#[derive(Clone, Debug, Serialize)]
pub struct Values {
    /// Number of runs.
    pub runs: usize,
    /// Geometric mean, in the measure's unit.
    pub mean: f64,
    /// The figure of the requested estimator, in the measure's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// The value of each run.
    pub values: Vec<f64>,
}

/// A ratio's interval and p-values.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Interval {
    /// Lower end (Welch).
    pub low: f64,
    /// Upper end (Welch).
    pub high: f64,
    /// p-value for "no difference" (Welch), before Holm's correction.
    pub p_value: f64,
    /// p-value after Holm's correction over the cells.
    pub p_holm: f64,
    /// Estimate of the ratio that is robust against a few outliers (Hodges-Lehmann).
    pub hodges_lehmann: f64,
    /// Lower and upper end of this estimate's rank-sum interval, if there are enough runs for one.
    pub rank_sum: Option<(f64, f64)>,
}

/// The verdict on a cell. Slower and faster refer to the second set; a longer latency counts as slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Slower, and statistically significant after Holm's correction.
    Slower,
    /// Faster, and statistically significant after Holm's correction.
    Faster,
    /// Shown to differ by less than the margin (two one-sided Welch tests at 5 %).
    Equivalent,
    /// The difference between the sets is no larger than the differences between runs within each set.
    NotToldApart,
    /// Either side has fewer than 3 runs: there is only a ratio.
    NoInterval,
    /// All runs of a side have the same printed value, because the resolution is too coarse (iozone's short runs last
    /// only a few microseconds, the resolution of its clock). Such values hide the variation, so the role of chance
    /// cannot be assessed.
    TooCoarse,
    /// The record states that the data came from a cache.
    Cached,
}

/// Compares `b` with the baseline `a`.
pub fn compare(a: &Set, b: &Set, options: Options) -> Comparison {
    let pairing = pairing::pair(&a.cells, &b.cells);
    let names = |cells: &[&Cell]| cells.iter().map(|c| c.called()).collect();
    let mut cells = Vec::new();
    let mut without_measure = Vec::new();
    let formats = [a, b].map(|s| s.formats.first().copied().unwrap_or(Format::Record));
    for (x, y) in &pairing.both {
        match measure(x, y, options.measure) {
            Some(measure) => cells.push(compared(x, y, measure, formats, options)),
            None => without_measure.push(x.called()),
        }
    }
    correct(&mut cells, options.margin);
    let (of_a, of_b): (Vec<&Cell>, Vec<&Cell>) = pairing.both.iter().copied().unzip();
    Comparison {
        unpaired: true,
        a: side(a, percent::noise(&of_a)),
        b: side(b, percent::noise(&of_b)),
        confidence: options.confidence,
        level: FAMILY_LEVEL,
        margin: options.margin,
        estimator: options.estimator,
        percent: percent::percent(&cells),
        cells,
        without_measure,
        only_a: names(&pairing.only_a),
        only_b: names(&pairing.only_b),
    }
}

fn side(set: &Set, noise: Option<SeriesNoise>) -> Side {
    let runs = || set.cells.iter().map(|c| c.runs.len());
    Side {
        label: set.label.clone(),
        formats: set.formats.clone(),
        files: set.files.len(),
        cells: set.cells.len(),
        runs: (runs().min().unwrap_or(0), runs().max().unwrap_or(0)),
        remarks: set.remarks.clone(),
        noise,
    }
}

/// For requests up to this size, the number of requests is compared instead of the bytes, as in the answer of a run.
const SMALL: u64 = 16 << 10;

fn measure(a: &Cell, b: &Cell, asked: Option<Measure>) -> Option<Measure> {
    let mut all = [Measure::Bandwidth, Measure::Iops, Measure::Latency];
    if a.key.block_size.is_some_and(|size| size <= SMALL) {
        all.swap(0, 1);
    }
    let has = |m: &Measure| a.runs.iter().chain(&b.runs).all(|r| r.value(*m).is_some());
    all.into_iter().filter(|m| asked.is_none_or(|asked| asked == *m)).find(has)
}

fn compared(
    a: &Cell,
    b: &Cell,
    measure: Measure,
    formats: [Format; 2],
    options: Options,
) -> Compared {
    let values =
        |cell: &Cell| -> Vec<f64> { cell.runs.iter().filter_map(|r| r.value(measure)).collect() };
    let (x, y) = (values(a), values(b));
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v.ln()).collect() };
    let mean = |values: &[f64]| logs(values).iter().sum::<f64>() / values.len() as f64;
    let estimate = estimate_unpaired(&logs(&x), &logs(&y), options.confidence);
    let interval = estimate.map(|e| Interval {
        low: e.low.exp(),
        high: e.high.exp(),
        p_value: e.p_value,
        p_holm: e.p_value,
        hodges_lehmann: e.hodges_lehmann.exp(),
        rank_sum: e.rank_sum.map(|(low, high)| (low.exp(), high.exp())),
    });
    let ratio = (mean(&y) - mean(&x)).exp();
    let of = |values: Vec<f64>, format: Format| Values {
        runs: values.len(),
        mean: mean(&values).exp(),
        figure: options.estimator.and_then(|e| e.of(&values, measure, format)),
        values,
    };
    let coarse = [&x, &y].iter().any(|v| v.windows(2).all(|pair| pair[0] == pair[1]));
    let (interval, verdict) = match (interval, a.cached || b.cached) {
        (interval, true) => (interval, Verdict::Cached),
        (None, false) => (None, Verdict::NoInterval),
        (Some(_), false) if coarse => (None, Verdict::TooCoarse),
        (interval, false) => (interval, Verdict::NotToldApart),
    };
    Compared {
        name: a.key.to_string(),
        title: a.called(),
        key: a.key.clone(),
        measure,
        a: of(x, formats[0]),
        b: of(y, formats[1]),
        ratio,
        interval,
        verdict,
    }
}

/// Applies Holm's correction over the eligible cells and sets the verdicts.
fn correct(cells: &mut [Compared], margin: f64) {
    let mut open: Vec<&mut Compared> =
        cells.iter_mut().filter(|c| c.verdict == Verdict::NotToldApart).collect();
    let p: Vec<f64> = open.iter().map(|c| c.interval.map_or(1.0, |i| i.p_value)).collect();
    for (cell, p_holm) in open.iter_mut().zip(holm(&p)) {
        let Some(interval) = &mut cell.interval else { continue };
        interval.p_holm = p_holm;
        let slower = (cell.ratio < 1.0) != (cell.measure == Measure::Latency);
        let logs = |v: &Values| v.values.iter().map(|v| v.ln()).collect::<Vec<_>>();
        cell.verdict = match (p_holm < FAMILY_LEVEL, slower) {
            (true, true) => Verdict::Slower,
            (true, false) => Verdict::Faster,
            (false, _)
                if equivalent_unpaired(&logs(&cell.a), &logs(&cell.b), margin.ln_1p(), 0.05) =>
            {
                Verdict::Equivalent
            }
            (false, _) => Verdict::NotToldApart,
        };
    }
}
