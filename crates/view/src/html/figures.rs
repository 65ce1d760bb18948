//! The charts, one per workload and question, with a common legend.

use cryptbench_answer::picture::MOST_CHARTED;
use cryptbench_answer::quantity::{
    NONE, cpu, digits, headline, headline_value, is_time, kept, thousands, value_words,
};
use cryptbench_answer::wording::{measure_words, verdict_words};
use cryptbench_catalog::Presentation;
use cryptbench_estimate::arms::{compared, drawn, plain_arm};
use cryptbench_estimate::cpu::Measure;
use cryptbench_estimate::device::moves_bytes;
use cryptbench_record::{Arm, ArmRole, Cell, Headline, Workload};
use cryptbench_stats::{median, quantile};
use maud::{Markup, html};

use super::{Detail, Figure, Part, Section, View};
use crate::drawing::{
    Bar, Bars, Drawing, Drift, Entry, Ladder, Mark, Percentiles, Series, arm_role,
};

pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let many = view.workloads().len() > MOST_CHARTED;
    // For unlocking, the familiar picture shows everything, because there is no throughput.
    let openings = view.record.plan.form() == Presentation::Unlock;
    let nothing = view.workloads().is_empty() || view.record.trials.is_empty();
    if view.detail >= Detail::NoCharts || nothing || many || openings {
        return Vec::new();
    }
    let more: [fn(&View<'_>) -> Option<Section>; 4] = [throughput, cpu_time, latency, over_time];
    let more = more.into_iter().filter(|_| view.draws()).filter_map(|section| section(view));
    speed_kept(view).into_iter().chain(more).collect()
}

/// A section with one chart for each workload that has data.
fn multiples(
    view: &View<'_>,
    id: &'static str,
    (heading, finding): (&str, &str),
    about: &Markup,
    chart: impl Fn(&Workload) -> Option<Drawing>,
) -> Option<Section> {
    let figure = |w: &Workload| Some(Figure { caption: w.label.clone(), drawing: chart(w)? });
    let figures: Vec<Figure> = view.workloads().iter().filter_map(figure).collect();
    let about = html! {
        p.about { (about) " The numbers are in " a href="#numbers" { "the table" } "." }
    };
    let any = !figures.is_empty();
    let content = vec![Part::Text(about), Part::Charts(figures)];
    any.then(|| Section::new(id, heading, finding, content))
}

/// CPU time per GiB of plain storage, and of the arms with the lowest and the highest CPU time.
fn cpu_finding(view: &View<'_>) -> String {
    let measure = Measure::of(view.record);
    let mean = |arm: &Arm| {
        let cells = view.workloads().iter().filter(|w| moves_bytes(w));
        let all: Vec<f64> = cells
            .filter_map(|w| view.cell(w, arm).filter(|c| c.trials > 0))
            .map(|c| measure.seconds_per_gib(c))
            .filter(|s| s.is_finite())
            .collect();
        cryptbench_stats::mean(&all)
    };
    let encrypted = view.arms().iter().filter(|arm| arm.role == ArmRole::Encrypted);
    let costs: Vec<f64> = encrypted.filter_map(mean).collect();
    let plain = plain_arm(view.record).and_then(mean);
    let ends = (costs.iter().copied().reduce(f64::min), costs.iter().copied().reduce(f64::max));
    match (plain, ends) {
        (Some(plain), (Some(least), Some(most))) => {
            let range = match cpu(least) == cpu(most) {
                true => cpu(least),
                false => format!("{} to {}", cpu(least), cpu(most)),
            };
            format!("{range} s per GiB encrypted, {} plain, on average", cpu(plain))
        }
        _ => String::new(),
    }
}

fn speed_kept(view: &View<'_>) -> Option<Section> {
    let arms = compared(view.arms());
    let bars = |workload: &Workload| -> Vec<Bar> {
        arms.iter()
            .filter_map(|arm| {
                let cell = view.cell(workload, arm)?;
                let estimate = cell.kept.as_ref();
                let words = cell.verdict.as_ref().map_or_else(|| NONE.to_owned(), verdict_words);
                let more = estimate.map_or_else(String::new, |_| words.clone());
                let (text, role) = (estimate.map_or(words, kept), arm_role(view.arms(), arm));
                Some(Bar {
                    more,
                    value: estimate.map(|e| e.ratio * 100.0),
                    interval: estimate.map(|e| (e.low * 100.0, e.high * 100.0)),
                    ..Bar::new(&arm.label, text, role, 0.0)
                })
            })
            .collect()
    };
    let all: Vec<Bar> = view.workloads().iter().flat_map(&bars).collect();
    if all.iter().all(|bar| bar.value.is_none()) {
        return None;
    }
    let end = Bars::end_for(&all, 104.0);
    let about = html! {
        "Percent of plain speed; the whiskers are the interval, the shaded band is the noise of the \
         disk, the line is plain. All charts have the same scale."
    };
    multiples(
        view,
        "fig-kept",
        ("Plain and encrypted", "A chart for each workload, with the noise of the disk"),
        &about,
        |workload| {
            let noise = plain_arm(view.record).and_then(|p| view.cell(workload, p)?.noise_of_mean);
            let bars = Bars {
                title: format!("Percent of plain speed, {}", workload.label),
                rows: bars(workload),
                end,
                reference: Some(100.0),
                band: noise.map(|n| (100.0 * (1.0 - n), 100.0 / (1.0 - n))),
                tick: &|v| format!("{v:.0}"),
            };
            Some(bars.draw())
        },
    )
}

fn throughput(view: &View<'_>) -> Option<Section> {
    let about = html! {
        "Median of the trials; the whiskers span the middle half of them. Each chart has its own scale"
        @if view.workloads().iter().any(is_time) { "; for times, shorter is better" }
        "."
    };
    let words = ("fig-rate", "Throughput", "Speed of each workload");
    own_scales(view, words, "Throughput", &about, |workload, arm, cell| {
        let scale = rate_scale(view, workload);
        let rate = |bandwidth: f64, iops: f64| headline_value(workload, bandwidth, iops) / scale;
        let rates: Vec<f64> = view
            .record
            .trials_of(&workload.id, &arm.id)
            .into_iter()
            .map(|(_, t)| rate(t.bandwidth(), t.iops()))
            .filter(|v| v.is_finite())
            .collect();
        let middle = quantile(&rates, 0.25).zip(quantile(&rates, 0.75));
        let words = |v: f64| value_words(workload, v * scale);
        Some(Amount {
            value: rate(cell.bandwidth, cell.iops),
            text: headline(workload, cell),
            more: middle.map_or_else(String::new, |(low, high)| {
                format!("middle half of the trials {} to {}", words(low), words(high))
            }),
            interval: middle,
        })
    })
}

fn cpu_time(view: &View<'_>) -> Option<Section> {
    let measure = Measure::of(view.record);
    let value = |cell: &Cell| measure.seconds_per_gib(cell);
    if view.lookup.cells.iter().all(|c| value(c) == 0.0 || value(c).is_nan()) {
        return None;
    }
    let about = html! {
        "CPU-seconds per GiB transferred: " (measure_words(measure)) ". Each chart has its own scale."
    };
    let finding = cpu_finding(view);
    let words = ("fig-cpu", "CPU time", finding.as_str());
    own_scales(view, words, "CPU-seconds per GiB", &about, |workload, _, cell| {
        moves_bytes(workload).then(|| Amount {
            value: value(cell),
            text: format!("{} s/GiB", cpu(value(cell))),
            more: String::new(),
            interval: None,
        })
    })
}

/// The tooltip of a bar that starts at 0 and uses the scale of its chart.
struct Amount {
    value: f64,
    text: String,
    more: String,
    interval: Option<(f64, f64)>,
}

/// One chart per workload, each with its own scale and with a bar for each arm that has an amount. `title`
/// describes the amount to readers who do not see the chart.
fn own_scales(
    view: &View<'_>,
    (id, heading, finding): (&'static str, &str, &str),
    title: &str,
    about: &Markup,
    amount: impl Fn(&Workload, &Arm, &Cell) -> Option<Amount>,
) -> Option<Section> {
    multiples(view, id, (heading, finding), about, |workload| {
        let rows: Vec<Bar> = drawn(view.arms())
            .into_iter()
            .filter_map(|arm| {
                let cell = view.cell(workload, arm).filter(|c| c.trials > 0)?;
                let Amount { value, text, more, interval } = amount(workload, arm, cell)?;
                let role = arm_role(view.arms(), arm);
                Some(Bar { more, interval, ..Bar::new(&arm.label, text, role, value) })
            })
            .collect();
        let bars = Bars {
            title: format!("{title}, {}", workload.label),
            end: Bars::end_for(&rows, 0.0),
            rows,
            reference: None,
            band: None,
            tick: &compact,
        };
        (!bars.rows.is_empty()).then(|| bars.draw())
    })
}

fn latency(view: &View<'_>) -> Option<Section> {
    let about = html! {
        "Median (●, number), 99th percentile (▲) and 99.9th (❘) of request latency on a logarithmic \
         axis. Percentiles that are based on too few requests are left out."
    };
    multiples(
        view,
        "fig-latency",
        ("Latency", "Median, 99th and 99.9th percentile"),
        &about,
        |workload| {
            let rows: Vec<Ladder> = drawn(view.arms())
                .into_iter()
                .filter_map(|arm| {
                    let l = view.cell(workload, arm).filter(|c| c.trials > 0)?.latency;
                    let median = Some(l.p50_us).filter(|v| *v > 0.0);
                    Some(Ladder {
                        label: arm.label.clone(),
                        values: [median, l.p99_us, l.p999_us],
                        role: arm_role(view.arms(), arm),
                    })
                })
                .filter(|row| row.values.iter().any(Option::is_some))
                .collect();
            let title = format!("Latency percentiles, {}", workload.label);
            (!rows.is_empty()).then(|| Percentiles { title, rows }.draw())
        },
    )
}

/// Maximum number of marks for one arm in a chart over time. If there would be more, only whole trials are
/// drawn.
const MOST_MARKS: usize = 600;

fn over_time(view: &View<'_>) -> Option<Section> {
    let legend = drawn_over_time(view);
    let about = html! {
        "Every measured trial or slice at the time it ran, in percent of the plain median; minutes since the start. "
        "A slope or a step that all choices share is drift; it affects plain and encrypted alike and cancels out."
    };
    multiples(
        view,
        "fig-trials",
        ("Trials over time", "Each trial at the time it ran, which shows drift"),
        &about,
        |workload| {
            let plain = plain_arm(view.record)?;
            let rates = |arm: &Arm| -> Vec<(f64, f64)> {
                let trials = view.record.trials_of(&workload.id, &arm.id);
                let slices: usize = trials.iter().map(|(_, trial)| trial.course().len()).sum();
                match slices > MOST_MARKS {
                    true => trials.into_iter().map(|(_, t)| (t.at_s, t.iops())).collect(),
                    false => trials.into_iter().flat_map(|(_, t)| t.course()).collect(),
                }
            };
            let finite = |v: &f64| v.is_finite() && *v > 0.0;
            let middle = median(
                &rates(plain).into_iter().map(|(_, r)| r).filter(finite).collect::<Vec<_>>(),
            )?;
            let series = legend
                .iter()
                .map(|(arm, mark)| Series {
                    entry: Entry {
                        name: arm.label.clone(),
                        role: arm_role(view.arms(), arm),
                        mark: *mark,
                    },
                    points: rates(arm)
                        .into_iter()
                        .map(|(at, r)| (at, 100.0 * r / middle))
                        .collect(),
                })
                .collect();
            let title = format!("Trials over time, {}", workload.label);
            Drift { title, series }.draw()
        },
    )
}

/// The arms shown over time: both measurements of plain storage, and as many others as can be distinguished.
fn drawn_over_time<'a>(view: &View<'a>) -> Vec<(&'a Arm, Mark)> {
    let mut encrypted = [Mark::Disc, Mark::Triangle, Mark::Cross].into_iter();
    view.arms()
        .iter()
        .filter_map(|arm| match arm.role {
            ArmRole::Plain | ArmRole::PlainAgain => Some((arm, Mark::Ring)),
            ArmRole::NullLayer => Some((arm, Mark::Cross)),
            ArmRole::Encrypted => Some((arm, encrypted.next()?)),
        })
        .collect()
}

/// The divisor for a headline value on its axis, so that the axis has the same unit as the numbers.
fn rate_scale(view: &View<'_>, workload: &Workload) -> f64 {
    let plain = plain_arm(view.record).and_then(|plain| view.cell(workload, plain));
    let value = plain.map_or(1.0, |c| headline_value(workload, c.bandwidth, c.iops));
    match workload.figure() {
        Some(Headline::Iops | Headline::Files) => 1.0,
        _ if !is_time(workload) => 1e6,
        _ if value < 1e-3 => 1e-6,
        _ if value < 1.0 => 1e-3,
        _ => 1.0,
    }
}

/// An axis number: `250`, `50k`, `0.25`.
pub(crate) fn compact(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        size if size >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        size if size >= 1e3 => thousands(value),
        _ => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let written = digits((value * 1000.0).round() / 1000.0);
    match written.contains('.') {
        true => written.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => written,
    }
}
