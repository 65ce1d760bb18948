//! Every estimate as a table, for readers who prefer numbers to charts.

use cryptbench_answer::picture::MOST_LISTED;
use cryptbench_answer::quantity::{NONE, cpu, digits, fraction, kept, latency, percent, rate};
use cryptbench_answer::wording::verdict_words;
use cryptbench_catalog::Presentation;
use cryptbench_record::{Cell, Estimate};
use maud::{Markup, html};

use super::trials::to_trials;
use super::{Detail, Section, View, scrolling};

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    if view.lookup.cells.is_empty()
        || view.workloads().len() > MOST_LISTED
        || view.record.plan.form() == Presentation::Unlock
        || view.detail >= Detail::Least
    {
        return None;
    }
    let content = html! {
            p.about {
                "Rates are medians over the trials; latencies are medians of the trials' percentiles; CPU \
                 time is summed over the trials. HL is the Hodges–Lehmann estimate with its signed-rank \
                 interval, which is robust to outliers. p is given before and after Holm's correction."
            }
            (scrolling("All numbers by workload and choice", &table(view)))
    };
    let finding = "Every estimate with its checks, latency and CPU time";
    Some(Section::text("numbers", "All numbers", finding, content))
}

fn table(view: &View<'_>) -> Markup {
    html! {
        table.numbers {
            thead {
                tr {
                    th rowspan="2" scope="col" { "Choice" }
                    th.number rowspan="2" scope="col" { "Trials" }
                    th.number rowspan="2" scope="col" { "MB/s" }
                    th.number rowspan="2" scope="col" { "IOPS" }
                    th.group colspan="4" scope="colgroup" { "% of plain speed" }
                    th rowspan="2" scope="col" { "Verdict" }
                    th.group colspan="3" scope="colgroup" { "Latency" }
                    th.group colspan="3" scope="colgroup" { "CPU" }
                    th.number rowspan="2" scope="col" { "Device / asked" }
                }
                tr {
                    th.number scope="col" { "mean (t)" }
                    th.number scope="col" { "HL" }
                    th.number scope="col" { "p" }
                    th.number scope="col" { "Holm" }
                    th.number scope="col" { "median" }
                    th.number scope="col" { "p99" }
                    th.number scope="col" { "p99.9" }
                    th.number scope="col" { "process s/GiB" }
                    th.number scope="col" { "machine s/GiB" }
                    th.number scope="col" { "machine" }
                }
            }
            @for workload in view.workloads() {
                tbody {
                    tr.workload {
                        th colspan="16" scope="rowgroup" {
                            (workload.label)
                            @if let Some(noise) = noise(view, &workload.id) {
                                span.interval { " noise " (noise) }
                            }
                        }
                    }
                    @for arm in view.arms() {
                        @if let Some(cell) = view.cell(workload, arm) {
                            tr { th scope="row" { (arm.label) } (fields(view, cell)) }
                        }
                    }
                }
            }
        }
    }
}

fn noise(view: &View<'_>, workload: &str) -> Option<String> {
    let cell = view.lookup.cells.iter().find(|c| c.workload == workload)?;
    cell.noise_of_mean.map(fraction)
}

fn fields(view: &View<'_>, cell: &Cell) -> Markup {
    let measured = cell.trials > 0;
    let shown = |text: String| if measured { text } else { NONE.to_owned() };
    let microseconds = |us: Option<f64>| us.map_or_else(|| NONE.to_owned(), latency);
    let estimate = |f: &dyn Fn(&Estimate) -> String| cell.kept.as_ref().map_or(NONE.to_owned(), f);
    html! {
        td.number { (to_trials(view, cell, &cell.trials.to_string())) }
        td.number { (shown(digits(cell.bandwidth / 1e6))) }
        td.number { (shown(rate(cell.iops))) }
        td.number { (estimate(&kept)) }
        td.number { (estimate(&robust)) }
        td.number { (estimate(&|e| p_value(e.p_value))) }
        td.number { (estimate(&|e| p_value(e.p_holm))) }
        td { (cell.verdict.as_ref().map_or_else(|| NONE.to_owned(), verdict_words)) }
        td.number { (microseconds(Some(cell.latency.p50_us).filter(|us| *us > 0.0))) }
        td.number { (microseconds(cell.latency.p99_us)) }
        td.number { (microseconds(cell.latency.p999_us)) }
        td.number { (shown(cpu(cell.cpu.process_s_per_gib))) }
        td.number { (shown(cpu(cell.cpu.machine_s_per_gib))) }
        td.number { (shown(percent(cell.cpu.machine_percent))) }
        td.number { (cell.device_ratio.map_or_else(|| NONE.to_owned(), |r| format!("{r:.2}"))) }
    }
}

/// The Hodges-Lehmann estimate with its own interval.
fn robust(e: &Estimate) -> String {
    match e.signed_rank_low.zip(e.signed_rank_high) {
        Some((low, high)) => kept(&Estimate { ratio: e.hodges_lehmann, low, high, ..*e }),
        None => format!("{:.0}", e.hodges_lehmann * 100.0),
    }
}

fn p_value(p: f64) -> String {
    match p {
        p if !p.is_finite() => NONE.to_owned(),
        p if p < 0.0005 => "<0.001".to_owned(),
        p if p < 0.0995 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}
